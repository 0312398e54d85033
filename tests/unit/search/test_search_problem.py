"""A problem's columns and blocks against what the counts and hierarchies say, value by value."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

from search_oracle import random_table
from shoal.model.counts.classes import ClassCounts
from shoal.model.hierarchy import Hierarchy, Level
from shoal.search.kernels import entries as dense
from shoal.search.problem import column_blocks
from shoal.search.problem.column import joins_missing
from shoal.search.problem.column_blocks import without_column
from shoal.search.problem.problem import Problem, build_problem


def values_of(problem: Problem) -> list[list[str | None]]:
    """The original value of each column in each cell."""
    texts = [[*(c.hierarchy.leaves[i] for i in c.leaves[:-1]), None] for c in problem.columns]
    return [[texts[j][code] for code in codes] for j, codes in enumerate(problem.codes)]


def values_in(counts: ClassCounts) -> list[list[str | None]]:
    known = [k.to_pylist() for k in counts.categories]
    return [[None if c < 0 else known[j][c] for c in codes.tolist()] for j, codes in enumerate(counts.codes)]


@pytest.mark.parametrize("largest", [column_blocks.LARGEST_KEY, 1])
def test_codes_are_the_values_of_the_counts(largest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever blocks they are packed in: separate ones, or all columns in one."""
    monkeypatch.setattr(column_blocks, "LARGEST_KEY", largest)
    monkeypatch.setattr(column_blocks, "WIDTH", 12)
    several = 0
    for seed in range(12):
        table = random_table(seed, missing=bool(seed % 2))
        counts = table.counts()
        problem = build_problem(counts, table.hierarchies())
        assert values_of(problem) == values_in(counts)
        for j, column in enumerate(problem.columns):
            records = np.bincount(problem.codes[j], weights=counts.sizes, minlength=len(column.leaves))
            assert column.records.tolist() == records.tolist()
        several += len(problem.blocks) > 1
    assert several > 6 if largest > 1 else several == 0


def test_cells_of_the_population_follow_those_of_the_sample() -> None:
    for seed in range(6):
        table = random_table(seed, missing=seed % 2 == 0, population=True)
        counts, whole = table.counts(), table.counts(table.population)
        problem = build_problem(counts, table.hierarchies(), population=whole)
        cells = list(zip(*values_of(problem), strict=True))
        assert cells[: problem.n_base] == list(zip(*values_in(counts), strict=True))
        people = dict(zip(zip(*values_in(whole), strict=True), whole.sizes.tolist(), strict=True))
        assert dict(zip(cells, problem.measures[problem.population_at].tolist(), strict=True)) == people
        assert not problem.measures[0, problem.n_base :].any()


def test_without_a_column_the_others_are_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_blocks, "WIDTH", 12)
    for seed in range(6):
        table = random_table(seed)
        problem = build_problem(table.counts(), table.hierarchies())
        for gone in range(len(problem.columns)):
            rest = problem.columns[:gone] + problem.columns[gone + 1 :]
            smaller = dataclasses.replace(problem, columns=rest, blocks=without_column(problem.blocks, gone))
            assert sorted(j for b in smaller.blocks for j in b.columns) == list(range(len(rest)))
            assert values_of(smaller) == [v for j, v in enumerate(values_of(problem)) if j != gone]


def test_labels_of_no_value_and_values_of_no_record_have_no_group() -> None:
    """A level may name groups that hold no leaf, a hierarchy leaves that nobody has, the counts categories that nobody has."""
    none = Level(np.array([3, 0, 1, 0]), ("x", "y", "nobody", "z"))
    top = Level(np.zeros(4, np.int32), ("*",))
    tree = Hierarchy("c", ("a", "b", "c", "d"), (Level(np.arange(4), ("a", "b", "c", "d")), none, top))
    counts = ClassCounts((2, 3, 4), ("c",), [[-1, 1, 2]], [pa.array(["unknown", "d", "a"])])
    for low in (0, 1, 2):
        column = build_problem(counts, {"c": tree}, bounds={"c": (low, None)}).columns[0]
        assert column.leaves.tolist() == [0, 3, -1]
        assert column.records.tolist() == [4.0, 3.0, 2.0]
        groups = [[0, 1, 2], [1, 0, 2], [0, 0, 0]]  # a is in z, d in x; missing values stay apart until the top
        covered = [[1.0, 1.0, 1.0], [1.0, 2.0, 1.0], [4.0, 4.0, 4.0]]
        assert column.groups.tolist() == groups[low:]
        assert column.covered.tolist() == covered[low:]
        assert column.cards == (3, 3, 1)[low:]
        assert column.heights == (0, 1, 2)[low:]


@pytest.mark.parametrize("tabled", [1, 9, 10, 11])
def test_dense_codes_by_table_and_by_sorting(tabled: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "TABLED", tabled)
    for keys in ([7, 3, 7, 9, 0], [9], [4, 4, 4, 4]):
        present, codes = dense.dense_codes(np.array(keys), 10)
        assert present.tolist() == sorted(set(keys))
        assert present[codes].tolist() == keys
        assert codes.dtype == np.int32


@pytest.mark.parametrize(
    ("width", "largest", "packed"),
    [
        (11, 10**6, [(0, 2), (1,)]),
        (12, 10**6, [(0, 1), (2,)]),
        (24, 10**6, [(0, 1, 2)]),
        (3, 10**6, [(0,), (1,), (2,)]),
        (12, 24, [(0, 1), (2,)]),
        (12, 23, [(2, 0, 1)]),
    ],
)
def test_columns_share_a_block_up_to_its_width(
    width: int, largest: int, packed: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns of four, three and two values, all combinations of which occur; a column wider than a block has one of its own."""
    monkeypatch.setattr(column_blocks, "WIDTH", width)
    monkeypatch.setattr(column_blocks, "LARGEST_KEY", largest)
    digits = [d.astype(np.int32) - np.int32(1) for d in np.unravel_index(np.arange(24), (4, 3, 2))]
    blocks = column_blocks.make_blocks(digits, [4, 3, 2])
    assert [b.columns for b in blocks] == packed
    for block in blocks:
        assert [row.tolist() for row in block.combinations[:, block.codes]] == [digits[j].tolist() for j in block.columns]


def test_missing_values_are_published_with_others_only_under_a_star_above_the_values() -> None:
    named = Hierarchy.from_rows("c", [["a", "low", "all"], ["b", "low", "all"]])
    starred = Hierarchy.from_rows("c", [["a", "*", "*"], ["b", "*", "*"]])
    a_star = Hierarchy.from_rows("c", [["*", "x"]])
    assert [joins_missing(named, level) for level in range(3)] == [False, False, False]
    assert [joins_missing(starred, level) for level in range(3)] == [False, True, True]
    assert [joins_missing(a_star, level) for level in range(2)] == [False, False]
    counts = ClassCounts((2, 3), ("c",), [[-1, 0]], [pa.array(["a"])])
    groups = {
        top: build_problem(counts, {"c": tree}).columns[0].groups.tolist() for top, tree in (("all", named), ("*", starred))
    }
    assert groups == {"all": [[0, 1], [0, 1], [0, 1]], "*": [[0, 1], [0, 0], [0, 0]]}
