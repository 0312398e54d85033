"""Smallest identifying and largest safe sets against a count of every set."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import UsageError
from shoal.measures.subsets.column_sets import column_sets
from shoal.model.counts.classes import ClassCounts

rows = st.integers(1, 4).flatmap(lambda w: st.lists(st.tuples(*[st.integers(0, 2)] * w), min_size=1, max_size=20))


@settings(max_examples=120, deadline=None)
@given(rows, st.sampled_from([0.05, 0.25, 0.5, 1.0]), st.integers(2, 4), st.integers(1, 5))
def test_equals_a_count_of_every_set(table: list[tuple[int, ...]], alpha: float, k: int, up_to: int) -> None:
    width = len(table[0])
    names = tuple("abcd"[:width])
    base = Counter(table)
    keys = list(base)
    counts = ClassCounts(
        np.array([base[x] for x in keys]), columns=names, codes=[np.array([x[j] for x in keys]) for j in range(width)]
    )
    sizes = {
        s: Counter(tuple(row[j] for j in s) for row in table)
        for r in range(1, min(up_to, width) + 1)
        for s in combinations(range(width), r)
    }
    unique = {s: sum(n == 1 for n in c.values()) for s, c in sizes.items()}
    loud = {s for s, n in unique.items() if n >= alpha * len(table)}
    smallest = {s for s in loud if not any(set(t) < set(s) for t in loud)}
    safe = {s for s, c in sizes.items() if min(c.values()) >= k}
    largest = {s for s in safe if not any(set(s) < set(t) for t in safe)}
    found = column_sets(counts, up_to=up_to, alpha=alpha, k=k)

    def said(sets: set[tuple[int, ...]]) -> set[tuple[str, ...]]:
        return {tuple(names[j] for j in s) for s in sets}

    assert {s.columns for s in found.identifying} == said(smallest)
    assert {s.columns for s in found.safe} == said(largest)
    for s in found.counted:
        places = tuple(names.index(c) for c in s.columns)
        assert (s.unique, s.k, s.classes) == (unique[places], min(sizes[places].values()), len(sizes[places]))


def test_limits_are_refused_and_kept() -> None:
    c = ClassCounts((1, 1, 2), columns=("a", "b"), codes=([0, 0, 1], [0, 1, 1]))
    for words in ({"up_to": 0}, {"up_to": 1, "alpha": 0.0}, {"up_to": 1, "alpha": 1.01}, {"up_to": 1, "k": 1}):
        with pytest.raises(UsageError):
            column_sets(c, **words)
    assert [s.columns for s in column_sets(c, up_to=2, alpha=0.25, k=2).identifying] == [("b",)], "exactly at the limit"
    assert [s.columns for s in column_sets(c, up_to=2, alpha=0.26, k=2).identifying] == [("a", "b")], "just above it"
    assert [s.columns for s in column_sets(c, up_to=2, alpha=1.0, k=2).safe] == [("a",)], "two groups of two"
    twice = ClassCounts((2, 2), columns=("a", "b"), codes=([0, 1], [0, 0]))
    assert [s.columns for s in column_sets(twice, up_to=2, alpha=1.0, k=2).safe] == [("a", "b")], "the largest only"


def test_people_in_several_classes_cannot_be_added_up() -> None:
    table = shoal.open({"id": [1, 1, 2], "a": [0, 1, 1]})
    with pytest.raises(UsageError, match="people are in several classes"):
        column_sets(table.count(("a",), unit="id"), up_to=1)
    assert column_sets(table.count(("a",)), up_to=1).members == 3


def test_so_many_columns_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    c = ClassCounts((1, 1, 2), columns=("a", "b"), codes=([0, 0, 1], [0, 1, 1]))
    monkeypatch.setattr("shoal.measures.subsets.column_sets.MOST_COLUMNS", 2)
    assert column_sets(c, up_to=1).counted
    monkeypatch.setattr("shoal.measures.subsets.column_sets.MOST_COLUMNS", 1)
    with pytest.raises(UsageError, match="2 columns have too many sets"):
        column_sets(c, up_to=1)


@pytest.mark.parametrize("classes", [2**15, 2**15 + 1])
def test_class_numbers_of_two_bytes_hold_to_their_limit(classes: int) -> None:
    a, b = np.arange(2 * classes) % classes, np.arange(2 * classes) // classes
    c = ClassCounts(np.full(2 * classes, 2), columns=("a", "b"), codes=(a, b))
    found = column_sets(c, up_to=2, k=2)
    assert [(s.columns, s.classes, s.k) for s in found.counted] == [
        (("a",), classes, 4), (("b",), 2, 2 * classes), (("a", "b"), 2 * classes, 2),
    ]  # fmt: skip


def test_memory_holds_about_one_level_and_not_the_last() -> None:
    """Of ten columns 120 sets of three are extended (two bytes a class), and 210 of four only counted."""
    rng = np.random.default_rng(5)
    n = 2_000
    c = ClassCounts(np.full(n, 2), columns=tuple("abcdefghij"), codes=[rng.integers(0, 40, n) for _ in range(10)])
    column_sets(c, up_to=1)  # what is loaded on first use is loaded
    tracemalloc.start()
    try:
        found = column_sets(c, up_to=4)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found.counted) == 10 + 45 + 120 + 210
    assert peak < (120 + 45 + 70) * 2 * n, "the last level alone would be 210 arrays"
