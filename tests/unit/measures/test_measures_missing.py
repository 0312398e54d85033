"""The work of the wildcard rule, and its answer where people are in several classes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from shoal.measures.classes import missing
from shoal.measures.classes.missing import wildcard_sizes
from shoal.model.counts.classes import ClassCounts, PackedCodes, PeopleCounts

ROWS = sorted(product((-1, 0, 1), repeat=3))
SIZES = [1 + (7 * i) % 5 for i in range(len(ROWS))]


def agree(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(x == y or -1 in (x, y) for x, y in zip(a, b, strict=True))


def counts(**more: object) -> ClassCounts:
    codes = [np.array(c) for c in zip(*ROWS, strict=True)]
    return ClassCounts(SIZES, columns=("a", "b", "c"), codes=codes, **more)  # type: ignore[arg-type]


def packed() -> ClassCounts:
    """The same classes as an engine counts them: the digits of 0 to 26 in base 3, each of which stands for a code."""
    table = np.array([-1, 0, 1])
    return ClassCounts(SIZES, ("a", "b", "c"), PackedCodes([np.arange(27, dtype=np.uint64)], (3, 3, 3), (table, table, table)))


@pytest.mark.parametrize("by_engine", [False, True])
def test_patterns_that_share_the_same_columns_are_grouped_once(by_engine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The eight patterns, then the eight sets of columns that two of them share; there are 64 pairs. All columns are shared by
    complete classes only, of which an engine counts no two alike."""
    made, group = [], missing.group_codes
    monkeypatch.setattr(missing, "group_codes", lambda codes, n_rows: (made.append(n_rows), group(codes, n_rows=n_rows))[1])
    found = wildcard_sizes(packed() if by_engine else counts())
    assert len(made) == 1 + 8 - by_engine
    assert found.tolist() == [sum(n for b, n in zip(ROWS, SIZES, strict=True) if agree(a, b)) for a in ROWS]


def test_people_in_several_classes_take_the_largest_class_that_agrees() -> None:
    people = counts(unit="id", n_people=sum(SIZES) - 1, people=PeopleCounts([1], [1], [sum(SIZES) - 1]))
    assert not people.adds_up
    assert wildcard_sizes(people).tolist() == [max(n for b, n in zip(ROWS, SIZES, strict=True) if agree(a, b)) for a in ROWS]


def test_columns_that_lack_nothing_are_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three columns only the second has a code for a missing value; who lacks it is looked up once."""
    words, tables = [np.arange(8, dtype=np.uint64)], (np.arange(2), np.array([-1, 4]), np.arange(2))
    some = ClassCounts([1] * 8, ["a", "b", "c"], PackedCodes(words, (2, 2, 2), tables))
    unpacked, unpack = [], PackedCodes._unpacked
    monkeypatch.setattr(PackedCodes, "_unpacked", lambda self, j: (unpacked.append(j), unpack(self, j))[1])
    assert some.has_missing().tolist() == [True, True, False, False] * 2
    assert some.has_missing() is some.has_missing()
    assert unpacked == [1]
    assert not ClassCounts([1] * 8, ["a", "b", "c"], PackedCodes(words, (2, 2, 2))).has_missing().any(), "digits are codes"
    assert unpacked == [1]
