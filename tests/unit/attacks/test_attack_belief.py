"""What two releases together make somebody expect: against another way of maximising entropy, and by hand."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from scipy.optimize import minimize

from shoal.attacks import belief
from shoal.attacks.belief import beliefs, expectation
from shoal.attacks.certified import Certified, short
from shoal.attacks.composition import Cells, Shown, changes
from shoal.model.requirement import (
    AlphaK,
    BasicBeta,
    DeltaDisclosure,
    EnhancedBeta,
    EntropyDiversity,
    RecursiveDiversity,
    TCloseness,
)


def shown(people, classes):
    """A release in which base class i is in ``classes[i]``; ``people`` are (base class, value)."""
    found = Counter((classes[b], v) for b, v in people if classes[b] >= 0)
    keys = sorted(found)
    arrays = [np.array([k[i] for k in keys], dtype=np.int64) for i in (0, 1)]
    return Shown(np.array(classes, dtype=np.int64), {"s": Cells(*arrays, np.array([found[k] for k in keys], dtype=np.int64))})


def sizes_of(people, n):
    return np.bincount([b for b, _ in people], minlength=n).astype(np.int64)


def dense(people, n, releases, values):
    of_base, group, value, weight, _ = expectation(sizes_of(people, n), releases, "s")
    table = np.zeros((int(max(group.max(), of_base.max())) + 1, values))
    np.add.at(table, (group, value), weight)
    return table[of_base]


@pytest.mark.parametrize("seed", range(6))
def test_the_expectation_has_the_largest_entropy_of_all_tables_that_agree(seed):
    rng = np.random.default_rng(seed)
    people = [(int(b), int(v)) for b, v in rng.integers(0, [4, 3], (40, 2))]
    one, two = shown(people, [0, 0, 1, 1]), shown(people, [0, 1, 0, 1])
    found = dense(people, 4, (one, two), 3)
    truth = np.zeros((4, 3))
    np.add.at(truth, tuple(np.array(people).T), 1)
    assert found.sum(axis=1) == pytest.approx(truth.sum(axis=1), abs=1e-6)
    for pair in ((0, 1), (2, 3), (0, 2), (1, 3)):
        assert found[list(pair)].sum(axis=0) == pytest.approx(truth[list(pair)].sum(axis=0), abs=1e-6)

    def table(free):
        """Every table with these sums is the truth with two values moved around the square of the four groups."""
        moved = np.array([free[0], free[1], -free[0] - free[1]])
        return truth + np.outer([1, -1, -1, 1], moved)

    def negative_entropy(free):
        t = table(free)
        return 1e6 * -t.min() if t.min() < 0 else float((t * np.log(np.maximum(t, 1e-300))).sum())

    best = minimize(negative_entropy, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-10, "maxiter": 4000})
    assert negative_entropy([found[0, 0] - truth[0, 0], found[0, 1] - truth[0, 1]]) <= best.fun + 1e-5


def test_a_finer_and_a_coarser_release_tell_what_the_finer_tells():
    people = [(0, 0)] * 6 + [(0, 1)] * 2 + [(1, 1)] * 5 + [(1, 2)] * 3
    fine, coarse = shown(people, [0, 1]), shown(people, [0, 0])
    found = dense(people, 2, (fine, coarse), 3)
    assert found == pytest.approx(np.array([[6.0, 2, 0], [0, 5, 3]]), abs=1e-6)
    asked = Certified.of([EntropyDiversity("s", 1.7)])
    assert beliefs(sizes_of(people, 2), sizes_of(people, 2), coarse, [fine], "s", asked).verdict == "holds"


def planted(common=17):
    """Two by two groups, each with a value of its own that rows and columns hide among others."""
    return [(g, v) for g in range(4) for v in range(4) for _ in range(common if v == g else 1)]


ASKED = [
    Certified.of([EntropyDiversity("s", 2.5)]),
    Certified.of([RecursiveDiversity("s", 3.0, 2)]),
    Certified.of([TCloseness("s", 0.45, "equal")]),
    Certified.of([TCloseness("s", 0.3, "ordered")], rank=np.arange(5)),
    Certified.of([TCloseness("s", 0.45, "hierarchical")], rank=np.arange(5), levels=(np.array([2, 0, 0, 1, 1]),)),
]


@pytest.mark.parametrize("asked", ASKED, ids=["entropy", "recursive", "equal", "ordered", "hierarchical"])
def test_two_releases_that_each_meet_what_is_asked_do_not_together(asked):
    people = planted()
    rows, columns, sizes = shown(people, [0, 0, 1, 1]), shown(people, [0, 1, 0, 1]), sizes_of(people, 4)
    found = beliefs(sizes, sizes, rows, [columns], "s", asked)
    assert found.verdict == "broken"
    assert found.rate > 0
    for same in (rows, columns):
        assert beliefs(sizes, sizes, same, [same], "s", asked).verdict == "holds"
    mixed = planted(common=1)
    even = [shown(mixed, c) for c in ([0, 0, 1, 1], [0, 1, 0, 1])]
    assert beliefs(sizes_of(mixed, 4), sizes_of(mixed, 4), even[0], [even[1]], "s", asked).verdict == "holds"


def test_a_release_that_falls_short_by_itself_is_not_the_fault_of_both():
    people = planted()
    alone, sizes = shown(people, [0, 1, 2, 3]), sizes_of(people, 4)
    assert beliefs(sizes, sizes, alone, [alone], "s", Certified.of([EntropyDiversity("s", 1.9)])).verdict == "holds"


def test_newcomers_and_leavers_are_not_taken_for_a_contradiction():
    before = [(0, v) for v in (0, 1) * 5]
    after = [(0, v) for v in (0, 1) * 8]
    old, new = shown(before, [0]), shown(after, [0])
    for first, second, people in ((new, old, after), (old, new, before)):
        found = dense(people, 1, (first, second), 2)
        assert found[0, 0] == pytest.approx(found[0, 1])


def release(classes, *cells):
    """A release in which base class i is in ``classes[i]``; ``cells`` are (class, value, records)."""
    return Shown(np.array(classes), {"s": Cells(*(np.array(part, dtype=np.int64) for part in zip(*cells, strict=True)))})


def weights(sizes, *releases):
    """The weight of each value, by group: those of the base classes first, then those who left."""
    _, group, value, weight, _ = expectation(np.array(sizes), releases, "s")
    return {(int(g), int(v)): float(w) for g, v, w in zip(group, value, weight, strict=True)}


def test_who_left_a_class_is_a_group_of_its_own():
    """Three records, two of them with value 0; two people are still here."""
    found = weights([2], release([0], (0, 0, 2), (0, 1, 1)))
    assert found == pytest.approx({(0, 0): 4 / 3, (0, 1): 2 / 3, (1, 0): 2 / 3, (1, 1): 1 / 3})


def test_newcomers_have_the_shares_of_their_class():
    """Six people have the labels of a class that held three records, two of them with value 0."""
    assert weights([6], release([0], (0, 0, 2), (0, 1, 1))) == pytest.approx({(0, 0): 4.0, (0, 1): 2.0})


def test_who_is_in_one_release_only_has_the_values_of_that_one():
    new = release([0, 1], (0, 0, 1), (0, 1, 1), (1, 5, 3))
    old = release([0, -1], (0, 0, 1), (0, 1, 1), (0, 2, 1))  # one with value 2 left
    found = weights([2, 3], new, old)
    assert found[1, 5] == pytest.approx(3.0)
    assert found[0, 0] == pytest.approx(found[0, 1])
    assert (0, 2) not in found, "the new release rules it out"
    assert sum(found.values()) == pytest.approx(6.0)


ENTROPY = Certified.of([EntropyDiversity("s", 2.5)])


def test_people_are_counted_who_are_in_the_new_release_and_an_earlier_one():
    """Base classes 0 to 3 are planted; all of class 4 have one value, in the new and a third release; class 5 left."""
    people = [*planted(), *[(4, 0)] * 20, *[(5, 1)] * 20]
    new = shown(people, [0, 0, 1, 1, 2, -1])
    old, third = shown(people, [0, 1, 0, 1, -1, 2]), shown(people, [-1, -1, -1, -1, 0, 1])
    records, persons = sizes_of(people, 6), np.array([2, 3, 5, 7, 11, 13])
    found = beliefs(persons, records, new, [old, third], "s", ENTROPY)
    assert found.sentence.startswith("For 17 of 28 people the releases together")
    assert found.verdict == "broken"


def test_what_an_earlier_release_shows_alone_is_not_the_fault_of_both():
    people = planted()
    coarse, fine, sizes = shown(people, [0, 0, 0, 0]), shown(people, [0, 1, 2, 3]), sizes_of(people, 4)
    for first, second in ((coarse, fine), (fine, coarse)):
        assert beliefs(sizes, sizes, first, [second], "s", ENTROPY).verdict == "holds"


def test_leavers_are_not_judged():
    before, after = ([(b, v) for b in (0, 1) for v in (0, 1, 2, 3) * n] for n in (5, 4))
    old, new = shown(before, [0, 1]), shown(after, [0, 1])
    assert beliefs(np.array([16, 16]), np.array([16, 16]), new, [old], "s", ENTROPY).verdict == "holds"


def test_people_may_have_several_records(monkeypatch):
    people, seen = planted(), []
    rows, columns = shown(people, [0, 0, 1, 1]), shown(people, [0, 1, 0, 1])
    monkeypatch.setattr(belief, "expectation", lambda sizes, *more: seen.append(sizes.tolist()) or expectation(sizes, *more))
    found = beliefs(np.array([1, 1, 1, 2]), sizes_of(people, 4), rows, [columns], "s", ENTROPY)
    assert seen == [[20] * 4]
    assert found.sentence.startswith("For 5 of 5 people")


@pytest.mark.parametrize(("most", "verdict"), [(16, "broken"), (15, "not run")])
def test_too_many_cells_are_not_compared(most, verdict, monkeypatch):
    """Two releases of two classes with four values: 16 cells, once for each release."""
    people = planted()
    rows, columns, sizes = shown(people, [0, 0, 1, 1]), shown(people, [0, 1, 0, 1]), sizes_of(people, 4)
    monkeypatch.setattr(belief, "MOST_PAIRS", 2 * most)
    assert beliefs(sizes, sizes, rows, [columns], "s", ENTROPY).verdict == verdict


def test_too_many_base_classes_are_not_compared(monkeypatch):
    one = shown([(b, v) for b in range(30) for v in (0, 1)], [0] * 30)
    sizes = np.full(30, 2)
    for most, verdict in ((60, "holds"), (59, "not run")):
        monkeypatch.setattr(belief, "MOST_PAIRS", most)
        assert beliefs(sizes, sizes, one, [one], "s", Certified.of([EntropyDiversity("s", 2.0)])).verdict == verdict


def test_a_larger_change_must_be_as_diverse_and_close_as_certified():
    before = [(0, v) for v in (0, 1) * 10]
    after = [*before, *[(0, 0)] * 9, (0, 1)]
    old, new = shown(before, [0]), shown(after, [0])
    assert changes(new, old, "s", k=5, distinct=2).verdict == "holds"
    for asked in (
        Certified.of([EntropyDiversity("s", 1.8)]),
        Certified.of([RecursiveDiversity("s", 3.0, 2)]),
        Certified.of([TCloseness("s", 0.2, "equal")]),
    ):
        assert changes(new, old, "s", k=5, distinct=2, asked=asked).verdict == "broken"
        assert changes(old, new, "s", k=5, distinct=2, asked=asked).verdict == "broken", "those who left are read off too"
    assert changes(new, old, "s", k=5, distinct=2, asked=Certified.of([EntropyDiversity("s", 1.3)])).verdict == "holds"


@pytest.mark.parametrize("seed", range(5))
def test_short_equals_the_definitions(seed):
    import math

    rng = np.random.default_rng(seed)
    table = rng.integers(0, 6, (30, 5))
    group, value = np.nonzero(table)
    weight = table[group, value].astype(float)
    whole = np.concatenate([[0], table.sum(axis=0)]).astype(float)
    q = table.sum(axis=0) / table.sum()
    for asked, fails in (
        (Certified.of([EntropyDiversity("s", 2.95)]), lambda p: math.exp(-sum(x * math.log(x) for x in p if x)) < 2.95),
        (Certified.of([RecursiveDiversity("s", 1.0, 2)]), lambda p: max(p) >= sum(sorted(p)[:-1])),
        (Certified.of([TCloseness("s", 0.3, "equal")]), lambda p: sum(abs(p - q)) / 2 > 0.3),
        (Certified.of([TCloseness("s", 0.15, "ordered")], rank=np.arange(6)), lambda p: sum(abs(np.cumsum(p - q))) / 4 > 0.15),
    ):
        found = short(group, value, weight, 30, whole, asked)
        want = [bool(row.sum()) and bool(fails(row / row.sum())) for row in table]
        assert found.tolist() == want
        assert 0 < sum(want) < 30


@pytest.mark.parametrize(
    ("asked", "enough", "more"),
    [
        (lambda x: AlphaK("s", x), 0.75, 0.7499),
        (lambda x: DeltaDisclosure("s", x), math.log(2) + 1e-6, math.log(2)),
        (lambda x: BasicBeta("s", x), 0.5, 0.4999),
        (lambda x: EnhancedBeta("s", x), 0.5, 0.4999),
    ],
)
def test_groups_are_held_against_every_kind_of_requirement(asked, enough, more):
    """Three of four people have a value that half the table has: a share of 0.75, a gain of 0.5; the other share halves."""
    group, value, weight = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([3.0, 1.0, 2.0, 2.0])
    whole = np.array([0.0, 5.0, 5.0])
    assert short(group, value, weight, 2, whole, Certified.of([asked(enough)])).tolist() == [False, False]
    assert short(group, value, weight, 2, whole, Certified.of([asked(more)])).tolist() == [True, False]


def test_an_absent_value_and_a_gain_beyond_its_logarithm_fall_short_of_any_limit():
    group, value, weight = np.array([0, 1, 1]), np.array([0, 0, 1]), np.array([4.0, 17.0, 3.0])
    whole = np.array([0.0, 5.0, 5.0])
    assert short(group, value, weight, 2, whole, Certified.of([DeltaDisclosure("s", 1000)])).tolist() == [True, False]
    assert short(group, value, weight, 2, whole, Certified.of([EnhancedBeta("s", 1000)])).tolist() == [True, True]  # 0.7 > ln 2
    assert short(group, value, weight, 2, whole, Certified.of([BasicBeta("s", 1000)])).tolist() == [False, False]


def test_only_requirements_on_shares_are_certified_of_them():
    from shoal.model.requirement import DistinctDiversity

    assert not Certified.of([DistinctDiversity("s", 2)])
    both = Certified.of([DistinctDiversity("s", 2), TCloseness("s", 0.5), TCloseness("s", 0.5)])
    assert both.requirements == (TCloseness("s", 0.5),)


def missed(asked, weights, whole, *, fitted=0.0, levels=()):
    """Whether a group whose value i has the weight ``weights[i]`` misses a requirement; the first value is the missing one."""
    value = np.arange(len(weights)) - 1
    certified = Certified((asked,), None, levels)
    group, weight = np.zeros(len(weights), np.int64), np.array(weights, dtype=float)
    return bool(short(group, value, weight, 1, np.array(whole, dtype=float), certified, fitted=fitted)[0])


def test_weights_that_were_fitted_may_be_a_little_beyond_their_limit():
    nearly = [0.0, 0.5001, 0.4999]  # as diverse as 2 values but for 4e-8
    assert missed(EntropyDiversity("s", 2.0), nearly, [0, 1, 1])
    assert not missed(EntropyDiversity("s", 2.0), nearly, [0, 1, 1], fitted=1e-6)
    assert not missed(EntropyDiversity("s", 2.0), [0, 1, 1], [0, 1, 1])


def test_the_limit_of_closeness_itself_is_met():
    assert not missed(TCloseness("s", 0.5), [0, 1, 0], [0, 1, 1])
    assert missed(TCloseness("s", 0.49), [0, 1, 0], [0, 1, 1])


def test_recursive_diversity_of_one_value_asks_nothing():
    assert not missed(RecursiveDiversity("s", 0.5, 1), [0, 1, 0], [0, 1, 1])
    assert missed(RecursiveDiversity("s", 0.5, 2), [0, 1, 0], [0, 1, 1])


def test_values_of_one_branch_are_near_each_other():
    """Two branches of two values; the table has one of each of the first branch, and the group one of them only."""
    branches = (np.array([2, 0, 0, 1, 1]),)
    for distance, far in (("equal", 0.5), ("hierarchical", 0.25)):
        for t, beyond in ((far - 0.01, True), (far, False)):
            assert missed(TCloseness("s", t, distance), [0, 1, 0, 0, 0], [0, 1, 1, 0, 0], levels=branches) == beyond


def test_a_table_of_one_value_is_as_near_as_can_be():
    ordered = Certified((TCloseness("s", 0.1, "ordered"),), np.array([0, 1]))
    one = np.array([0])
    assert short(one, one, np.array([3.0]), 1, np.array([0.0, 5.0]), ordered).tolist() == [False]
