"""Two releases, their sensitive values laid over each other and subtracted: by hand and by slow definition."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.attacks.composition import Cells, Shown, changes, values_left


def shown(people: list[tuple[int, int]], n: int, classes: list[int]) -> Shown:
    """A release in which base class i is in ``classes[i]``; ``people`` are (base class, value)."""
    found = Counter((classes[b], v) for b, v in people if classes[b] >= 0)
    keys = sorted(found)
    arrays = [np.array([k[i] for k in keys], dtype=np.int64) for i in (0, 1)]
    return Shown(np.array(classes[:n], dtype=np.int64), {"s": Cells(*arrays, np.array([found[k] for k in keys], dtype=np.int64))})


def test_the_sets_of_ganta_intersect_to_one_value():
    people = [(b, b) for b in range(4) for _ in range(10)]  # each cell of a 2 × 2 table has one value
    one, two = shown(people, 4, [0, 0, 1, 1]), shown(people, 4, [0, 1, 0, 1])
    sizes = np.full(4, 10)
    found = values_left(sizes, two, [one], "s", distinct=2)
    assert (found.verdict, found.rate) == ("broken", 1.0)
    assert values_left(sizes, one, [one], "s", distinct=2).verdict == "holds"


def test_a_class_that_is_uniform_by_itself_is_not_the_fault_of_two_releases():
    people = [(0, 0)] * 10
    same = shown(people, 1, [0])
    assert values_left(np.array([10]), same, [same], "s").verdict == "holds"


def test_newcomers_leavers_and_exchanges_are_read_off():
    before = [(0, v) for v in (0, 0, 0, 1, 1, 1)]
    old = shown(before, 1, [0])
    for after, verdict in (
        (before, "holds"),
        ([*before, (0, 2)], "broken"),
        (before[:-1], "broken"),
        ([*before[:-1], (0, 2)], "broken"),  # as many as before, but not the same
        ([*before, *[(0, v) for v in (0, 1, 0, 1, 2)]], "holds"),
    ):
        assert changes(shown(after, 1, [0]), old, "s", k=5).verdict == verdict
    many = [*before, *[(0, 2)] * 5]
    assert changes(shown(many, 1, [0]), old, "s", k=5, distinct=2).verdict == "broken"  # five newcomers with one value


def test_subtraction_across_levels_finds_who_was_left_out():
    people = [(0, v) for v in (0, 1, 0, 1, 0)] + [(1, v) for v in (0, 1, 0, 1, 1)] + [(2, 2)] * 2
    coarse, fine = shown(people, 3, [0, 0, 0]), shown(people, 3, [0, 1, -1])
    assert changes(fine, coarse, "s", k=5).verdict == "broken"  # the two whose class was too small
    assert changes(coarse, fine, "s", k=5).verdict == "broken"  # and the other way round
    whole = shown(people[:10], 3, [0, 0, -1])
    assert changes(whole, shown(people[:10], 3, [0, 1, -1]), "s", k=5).verdict == "holds"


def test_one_class_inside_another_leaves_the_rest():
    """Earlier {0} and {1, 2}, now {0, 1} and {2}: subtracting gives class 1, which has one value only."""
    people = [(0, v) for v in (0, 1) * 3] + [(1, 0)] * 6 + [(2, v) for v in (0, 1) * 3]
    old, new = shown(people, 3, [0, 1, 1]), shown(people, 3, [0, 0, 1])
    assert changes(new, old, "s", k=5, distinct=2).verdict == "broken"
    assert changes(new, old, "s", k=5).verdict == "holds"


@st.composite
def waves(draw):
    n = draw(st.integers(1, 5))
    base = st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, 2)), min_size=1, max_size=25)
    classes = st.lists(st.integers(-1, 2), min_size=n, max_size=n)
    return n, draw(base), draw(base), draw(classes), draw(classes)


@given(waves())
@settings(max_examples=300, deadline=None)
def test_values_left_equal_the_slow_definition(wave):
    n, before, after, first, second = wave
    sizes = np.array([sum(b == i for b, _ in after) for i in range(n)])
    sets = [defaultdict(set), defaultdict(set)]
    for side, people, classes in ((0, before, first), (1, after, second)):
        for b, v in people:
            sets[side][classes[b]].add(v)
    told = 0
    for b, _ in after:
        seen = sets[0][first[b]], sets[1][second[b]]
        if first[b] >= 0 and second[b] >= 0 and 0 < len(seen[0] & seen[1]) < min(2, len(seen[0]), len(seen[1])):
            told += 1
    found = values_left(sizes, shown(after, n, second), [shown(before, n, first)], "s")
    assert found.sentence.startswith(f"For {told} of ") or (found.verdict == "not run" and not told)
    assert (found.verdict == "broken") == (told > 0)


@given(waves(), st.integers(1, 4))
@settings(max_examples=300, deadline=None)
def test_every_equal_set_of_classes_is_subtracted(wave, k):
    """Slow definition: all sets of earlier and new classes that cover the same base classes (kept in both) and hang together."""
    n, before, after, first, second = wave
    both = [i for i in range(n) if first[i] >= 0 and second[i] >= 0]
    told = False
    for start in both:
        cells = {start}
        while True:
            more = {j for j in both if any(first[j] == first[i] or second[j] == second[i] for i in cells)}
            if more == cells:
                break
            cells = more
        old = Counter(v for b, v in before if first[b] in {first[i] for i in cells})
        new = Counter(v for b, v in after if second[b] in {second[i] for i in cells})
        if old and new:
            told |= any(0 < sum(d.values()) < k for d in (new - old, old - new))
    found = changes(shown(after, n, second), shown(before, n, first), "s", k=k)
    if told:
        assert found.verdict == "broken"
    same = shown(after, n, second)
    assert changes(same, same, "s", k=k).verdict in ("holds", "not run")


def one_class(*values: int, klass: int = 0) -> Shown:
    return shown([(0, v) for v in values], 1, [klass])


def test_values_that_three_releases_leave():
    """One earlier release has the person, the other not: the one that has counts."""
    sizes, absent = np.array([10]), Shown(np.array([-1]), {"s": Cells(*(np.zeros(0, dtype=np.int64),) * 3)})
    found = values_left(sizes, one_class(0, 1), [one_class(1, 2), absent], "s")
    assert (found.verdict, found.rate) == ("broken", 1.0)
    assert values_left(sizes, one_class(0, 1), [absent], "s").verdict == "not run"
    assert values_left(sizes, one_class(0, 1), [one_class(2, 3)], "s").verdict == "holds", "another value now, or another person"
    two_left = values_left(sizes, one_class(0, 1, 2), [one_class(1, 2, 3)], "s", distinct=3)
    assert (two_left.verdict, two_left.worst) == ("broken", "0 people have one value left")


def test_a_class_inside_another_is_subtracted_in_either_release():
    """Old {0}, {1, 2}, {3}; new {0, 1}, {2, 3}: only new classes have old ones inside, and the other way round."""
    mixed = [(b, v) for b in (0, 2, 3) for v in (0, 1) * 3]
    people = [*mixed, *[(1, 0)] * 6]
    old, new = shown(people, 4, [0, 1, 1, 2]), shown(people, 4, [0, 0, 1, 1])
    assert changes(new, old, "s", k=5, distinct=2).verdict == "broken"
    assert changes(old, new, "s", k=5, distinct=2).verdict == "broken"


def test_a_class_that_lies_in_several_is_not_subtracted_from_one_of_them():
    people = [(b, v) for b in (0, 1) for v in (0, 1, 0, 1, 0)]
    coarse, fine = shown(people, 2, [0, 0]), shown(people, 2, [0, 1])
    assert changes(fine, coarse, "s", k=6).verdict == "holds"
    assert changes(coarse, fine, "s", k=6).verdict == "holds"


def test_missing_values_of_one_class_are_not_values_of_another():
    old = shown([*[(0, v) for v in (0, 1)], *[(1, v) for v in (0, -1, -1, -1)]], 2, [0, 1])
    new = shown([*[(0, v) for v in (0, 1, 1, 1, 1)], *[(1, v) for v in (0,)]], 2, [0, 1])
    found = changes(new, old, "s", k=5)
    assert found.verdict == "broken"
    assert found.rate == 1.0


def test_labels_that_only_one_release_has_are_not_subtracted():
    people = [(0, v) for v in (0, 1) * 3]
    old, new = shown(people, 2, [0, -1]), shown([*people, *[(1, 0)] * 3], 2, [0, 1])
    assert changes(new, old, "s", k=5).verdict == "holds"
    assert changes(old, new, "s", k=5).verdict == "holds"


def test_a_change_of_k_records_is_large_enough():
    old = one_class(0, 1)
    for more, verdict in ((4, "broken"), (5, "holds")):
        assert changes(one_class(0, 1, *[v % 2 for v in range(more)]), old, "s", k=5).verdict == verdict
