"""People whom a few known columns find, against a count by hand."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pytest

from shoal.measures.subsets import column_sets
from shoal.measures.subsets.column_sets import ColumnSets, known_columns


def by_hand(columns: dict[str, list[int]], people: list[int], names: tuple[str, ...]) -> int:
    there = defaultdict(set)
    for row, who in zip(zip(*(columns[n] for n in names), strict=True), people, strict=True):
        there[row].add(who)
    return len({next(iter(who)) for who in there.values() if len(who) == 1})


@pytest.mark.parametrize("several", [False, True])
def test_every_set_is_counted_exactly(several: bool) -> None:
    draw = np.random.default_rng(7)
    columns = {name: draw.integers(-1, top, 200).tolist() for name, top in (("a", 5), ("b", 40), ("c", 3), ("d", 90))}
    people = draw.integers(0, 80, 200) if several else np.arange(200)
    seen = known_columns(columns, people if several else None)
    assert seen.people == len(set(people.tolist()))
    assert Counter(map(len, seen.found)) == {1: 4, 2: 6, 3: 4}
    for size in (1, 2, 3):
        for names in combinations(columns, size):
            assert seen.found[names] == by_hand(columns, people.tolist(), names), names
    assert seen.all_columns == by_hand(columns, people.tolist(), tuple(columns))
    worst, found = seen.worst(without=["d"])
    assert found == max(n for names, n in seen.found.items() if "d" not in names)
    assert "d" not in worst


def test_of_equally_bad_sets_the_smallest_is_the_worst() -> None:
    found = column_sets.KnownColumns(9, {("a", "b"): 3, ("z",): 3, ("b", "c"): 3}, 9)
    assert (found.worst(), found.worst(without=["z"])) == ((("z",), 3), (("a", "b"), 3))
    assert found.worst(without=["a"]) == (("z",), 3)


def test_the_budget_is_kept_to_the_last_record() -> None:
    """Five columns have 20 sets of two and three; a set costs its records and a constant. Four are always put together."""
    columns = {name: [i % (2 + j) for i in range(30)] for j, name in enumerate("abcde")}
    exact = (30 + column_sets.A_SET) * 20
    assert known_columns(columns, budget=exact).left_out == ()
    for budget in (exact - 1, 0):
        assert known_columns(columns, budget=budget).left_out == ("a",), "the one that tells least apart"


def test_all_columns_together_may_find_more_than_any_three() -> None:
    """Every combination of four answers once, and one twice: three columns find nobody."""
    rows = [*range(16), 5]
    seen = known_columns({name: [row >> j & 1 for row in rows] for j, name in enumerate("abcd")})
    assert (seen.worst()[1], seen.all_columns) == (0, 15)


def test_a_third_column_finds_the_last_person() -> None:
    """Person 0 is found by a record of its own; person 1 only where z tells it from the other record of 0."""
    seen = known_columns({"x": [0, 0, 1], "y": [0, 0, 1], "z": [0, 1, 0]}, np.array([0, 1, 0]))
    assert (seen.found["x", "y"], seen.found["x", "y", "z"]) == (1, 2)


def test_fixed_columns_are_counted_although_another_column_finds_as_many() -> None:
    columns = {"a": [0] * 4, "b": [0, 1, 2, 3], "q1": [0, 0, 1, 1], "q2": [0, 1, 0, 1]}
    assert ColumnSets(columns, fixed=("q1", "q2")).count().found["a", "q1", "q2"] == 4


def test_too_many_sets_are_capped_and_named() -> None:
    draw = np.random.default_rng(7)
    columns = {f"c{i}": draw.integers(0, 2 + i, 100) for i in range(30)}
    seen = known_columns(columns, budget=5100 * 200)
    assert len(seen.left_out) + len({n for names in seen.found if len(names) == 3 for n in names}) == 30
    assert "c29" not in seen.left_out
    assert sum(len(names) > 1 for names in seen.found) <= 200
    assert {names[0] for names in seen.found if len(names) == 1} == set(columns)


def test_where_sets_are_left_out_all_columns_are_the_limit() -> None:
    """Three bits find nobody alone, and everybody together; the four columns that are put together find one."""
    bits = {f"bit{j}": [row >> j & 1 for row in range(8)] for j in range(3)}
    ones = {f"one{j}": [int(row == 0) for row in range(8)] for j in range(4)}
    every, some = known_columns(bits | ones), known_columns(bits | ones, budget=1)
    assert (every.worst()[1], every.left_out, every.at_most) == (8, (), 8)
    assert (some.worst()[1], some.left_out, some.at_most) == (1, tuple(bits), 8)
    assert ColumnSets(bits | ones, budget=1).count(["one0"]).at_most == 8
    assert ColumnSets(bits | ones, budget=1).count(["one0"], together=False).all_columns == 0, "it was not wanted"
    assert known_columns(ones).at_most == 1


def test_a_record_about_nobody_is_one_person() -> None:
    seen = known_columns({"a": [0, 0, 1, 1, 2]}, np.array([3, 3, -1, -1, -1]))
    assert (seen.people, seen.found["a",]) == (4, 2), "the person 3, and whoever the last record is about"


def test_no_column_finds_nobody() -> None:
    assert known_columns({}).worst() == ((), 0)


@pytest.mark.parametrize("several", [False, True])
def test_sets_that_are_counted_again_without_some_columns_are_those_of_the_others(
    several: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(3)
    columns = {f"c{i}": draw.integers(0, 2 + 4 * i, 300) for i in range(12)}
    people = draw.integers(-1, 90, 300) if several else None
    sets, counted = ColumnSets(columns, people, budget=5_300 * 40), []
    count_pair = ColumnSets._count_pair
    monkeypatch.setattr(ColumnSets, "_count_pair", lambda *a: counted.append(a[1]) or count_pair(*a))
    for out in ((), ("c11",), ("c11", "c3", "c10"), ("c11", "c3", "c10")):
        others = known_columns({name: codes for name, codes in columns.items() if name not in out}, people, budget=5_300 * 40)
        counted.clear()
        again = sets.count(out)
        assert (again.people, again.found, again.left_out) == (others.people, others.found, others.left_out)
        assert again.all_columns == (0 if out and not others.left_out else others.all_columns)
    assert not counted, "every set was known"


def test_pairs_with_many_values_are_counted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_sets, "SMALL", 1)
    test_every_set_is_counted_exactly(True)
    test_every_set_is_counted_exactly(False)


def test_pairs_are_counted_in_a_table_of_all_pairs_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_sets, "compiled_pays", lambda rows: True)
    test_every_set_is_counted_exactly(False)
    test_sets_that_are_counted_again_without_some_columns_are_those_of_the_others(False, monkeypatch)


@pytest.mark.parametrize("above", [0, 1])
def test_the_table_of_pairs_has_a_limit(above: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five values beside two are ten pairs, of four records: 2.5 for each."""
    monkeypatch.setattr(column_sets, "compiled_pays", lambda rows: True)
    monkeypatch.setattr(column_sets, "LARGEST_TALLY", 10 - above)
    first, second = np.array([4, 0, 4, 0]), np.array([1, 0, 1, 1])
    shared = ColumnSets({"a": first, "b": second})._share_codes(first, second, 2)
    assert (shared is None) == bool(above)
    if shared is not None:
        assert [part.tolist() for part in shared] == [[0, 2], [0, 0]]


@pytest.mark.parametrize("several", [False, True])
def test_beside_fixed_columns_only_sets_that_may_find_more_are_counted(several: bool) -> None:
    """``age`` shows everything that ``band`` and ``sex`` show: with it and one other column, no third one finds anybody."""
    draw = np.random.default_rng(5)
    age = draw.integers(0, 20, 200)
    columns = {"age": age, "band": age // 5, "sex": age % 2, **{f"c{i}": draw.integers(0, 2 + i, 200) for i in range(4)}}
    people = draw.integers(0, 90, 200) if several else None
    every, fixed = known_columns(columns, people).found, ("age", "band", "sex")
    sets = ColumnSets(columns, people, fixed=fixed)
    sets._kept = {"age", "band", "sex"}  # as in a later round
    sets._counted = {s: n for s, n in every.items() if set(s) <= set(fixed)}
    some = sets.count().found
    assert all(every[s] == n for s, n in some.items())
    left = {s for s in every if s not in some}
    assert left == {(*two, f"c{i}") for two in combinations(fixed, 2) for i in range(4)}
    for s in left:
        assert every[s] <= every["age", s[2]], "the pair with age comes first"
