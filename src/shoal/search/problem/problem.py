"""A search problem in arrays: counts, hierarchies and bounds become codes, level maps and blocks of columns.

Takes    ClassCounts with codes, a Hierarchy per quasi-identifier, optional level bounds and a population
Returns  Problem: read-only arrays that every search of this room works on
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, InternalError, UsageError
from shoal.kernels.group import group_codes
from shoal.model.counts.classes import MISSING, ClassCounts, CodeArray, IntArray
from shoal.model.hierarchy import Hierarchy
from shoal.search.problem.column import Column, Overlap, Pairs, build_column, find_overlap, leaf_positions, leaves_of_categories
from shoal.search.problem.column_blocks import Block, make_blocks

Bounds = Mapping[str, tuple[int | None, int | None]]
Node = tuple[int, ...]
"""One level per column: a node of the lattice."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything a search needs to know about the table."""

    counts: ClassCounts
    columns: tuple[Column, ...]
    blocks: tuple[Block, ...]
    measures: npt.NDArray[np.int64]  # (sums, cells): records; then members, population where they differ
    members_at: int
    population_at: int  # −1 where no population was given
    overlap: Overlap | None  # where people are in several classes
    n_base: int  # the first cells are the classes of ``counts``; the rest occur in the population only
    n_records: int

    @property
    def n_cells(self) -> int:
        return int(self.measures.shape[1])

    @cached_property
    def codes(self) -> npt.NDArray[np.int32]:
        """The code of each column in each cell: (columns, cells)."""
        out = np.empty((len(self.columns), self.n_cells), dtype=np.int32)
        for block in self.blocks:
            for j, codes in zip(block.columns, block.combinations, strict=True):
                np.take(codes, block.codes, out=out[j], mode="clip")  # every code fits; without a mode a copy would be made
        return out

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns)

    @property
    def heights(self) -> tuple[int, ...]:
        return tuple(c.height for c in self.columns)

    @property
    def n_nodes(self) -> int:
        product = 1
        for h in self.heights:
            product *= h + 1
        return product

    def levels(self, node: Sequence[int]) -> dict[str, int]:
        """Levels of the hierarchies at a node."""
        return {c.name: c.heights[int(level)] for c, level in zip(self.columns, node, strict=True)}

    def node(self, levels: Mapping[str, int]) -> tuple[int, ...]:
        """The node with these levels of the hierarchies."""
        return tuple(c.heights.index(levels[c.name]) for c in self.columns)


def build_problem(
    counts: ClassCounts,
    hierarchies: Mapping[str, Hierarchy],
    *,
    bounds: Bounds | None = None,
    population: ClassCounts | None = None,
    people: Pairs | None = None,
) -> Problem:
    """Match categories to hierarchy leaves and lay everything out in arrays."""
    if not counts.columns:
        raise UsageError("no quasi-identifier is given to generalize.", hint="Give at least one column the role quasi.")
    if not counts.codes or not counts.categories:
        raise InternalError("a search needs class counts with codes and categories.")
    lacking = [c for c in counts.columns if c not in hierarchies]
    if lacking:
        hint = "Give each quasi-identifier a hierarchy, or let one be built."
        raise UsageError(f"no hierarchy is given for: {', '.join(lacking)}.", hint=hint)
    unknown = sorted(set(bounds or {}) - set(counts.columns))
    if unknown:
        hint = f"Columns: {', '.join(counts.columns)}."
        raise UsageError(f"levels are bounded for '{unknown[0]}', which is not a quasi-identifier.", hint=hint, column=unknown[0])
    extra = _population_cells(counts, population, hierarchies)
    overlap = find_overlap(counts, people)
    measures, members_at, population_at = _measures(counts, extra, apart=overlap is not None)
    columns, blocks = _lay_out(*_digits(counts, hierarchies, extra), measures[0], counts.columns, hierarchies, bounds or {})
    return Problem(
        counts=counts,
        columns=columns,
        blocks=blocks,
        measures=measures,
        members_at=members_at,
        population_at=population_at,
        overlap=overlap,
        n_base=counts.n_classes,
        n_records=counts.n_records,
    )


def _digits(
    counts: ClassCounts, hierarchies: Mapping[str, Hierarchy], extra: _Extra | None
) -> tuple[list[CodeArray], list[IntArray]]:
    """For each column the digits of its cells, −1 for a missing value, and the leaf of each digit, then −1.

    Digits are the categories of the counts or, with a population, the leaves themselves.
    """
    if extra is not None:
        return list(extra.digits), [np.append(np.arange(hierarchies[c].n_leaves), MISSING) for c in counts.columns]
    records = counts.records_by_class
    digits = list(counts.codes)
    leaves = [
        leaves_of_categories(name, counts.categories[j], digits[j], records, hierarchies[name])
        for j, name in enumerate(counts.columns)
    ]
    return digits, leaves


def _lay_out(
    digits: Sequence[CodeArray],
    leaves: Sequence[IntArray],
    records: IntArray,
    names: Sequence[str],
    hierarchies: Mapping[str, Hierarchy],
    bounds: Bounds,
) -> tuple[tuple[Column, ...], tuple[Block, ...]]:
    """Columns and blocks: what a column needs to know of the cells comes from the combinations of its block."""
    columns, blocks, weights = {}, [], records.astype(np.float64)
    for block in make_blocks(digits, [len(of) for of in leaves]):
        sums = np.bincount(block.codes, weights=weights, minlength=block.combinations.shape[1]).astype(np.float64, copy=False)
        codes = []
        for j, mine in zip(block.columns, block.combinations, strict=True):
            name = names[j]
            bound = bounds.get(name, (None, None))
            columns[j], own = build_column(name, hierarchies[name], bound, leaves[j], mine, sums)
            codes.append(own)
        blocks.append(Block(block.columns, np.stack(codes), block.codes))
    return tuple(columns[j] for j in range(len(names))), tuple(blocks)


@dataclass(frozen=True, eq=False)
class _Extra:
    """Population counts: of the classes of the sample, and of the classes that occur in the population only."""

    of_base: IntArray
    digits: npt.NDArray[np.int32]  # (columns, cells): leaves of the sample's classes, then of those only in the population
    sizes: IntArray


def _population_cells(counts: ClassCounts, population: ClassCounts | None, hierarchies: Mapping[str, Hierarchy]) -> _Extra | None:
    if population is None:
        return None
    if set(population.columns) != set(counts.columns):
        hint = f"Count it over: {', '.join(counts.columns)}."
        raise UsageError("the population table is counted over other columns than the sample.", hint=hint)
    base, whole = [], []
    for j, name in enumerate(counts.columns):
        i = population.columns.index(name)
        base.append(leaf_positions(name, counts.categories[j], counts.codes[j], counts.sizes, hierarchies[name]))
        whole.append(leaf_positions(name, population.categories[i], population.codes[i], population.sizes, hierarchies[name]))
    both = np.concatenate([np.stack(base), np.stack(whole)], axis=1)
    inverse = group_codes(list(both)).ids
    n = counts.n_classes
    size_of = np.bincount(inverse[n:], weights=population.sizes, minlength=int(inverse.max()) + 1).astype(np.int64)
    of_base = size_of[inverse[:n]]
    short = of_base < counts.sizes
    if short.any():
        hint = "The population table must contain the people of the sample."
        raise DataError(f"{int(short.sum())} classes have fewer people in the population than in the sample.", hint=hint)
    seen = np.zeros(len(size_of), dtype=np.bool_)
    seen[inverse[:n]] = True
    only, first = np.unique(inverse[n:], return_index=True)
    fresh = ~seen[only]
    digits = np.concatenate([both[:, :n], both[:, n + first[fresh]]], axis=1).astype(np.int32)
    return _Extra(of_base, digits, size_of[only[fresh]])


def _measures(counts: ClassCounts, extra: _Extra | None, *, apart: bool) -> tuple[npt.NDArray[np.int64], int, int]:
    records = counts.records_by_class
    sums = [records]
    members_at = population_at = 0
    if apart or (counts.records is not None and not np.array_equal(records, counts.sizes)):
        members_at = len(sums)
        sums.append(counts.sizes)
    if extra is None:
        return np.ascontiguousarray(np.stack(sums)), members_at, -1
    population_at = len(sums)
    sums = [np.concatenate([s, np.zeros(len(extra.sizes), dtype=np.int64)]) for s in sums]
    sums.append(np.concatenate([extra.of_base, extra.sizes]))
    return np.ascontiguousarray(np.stack(sums)), members_at, population_at
