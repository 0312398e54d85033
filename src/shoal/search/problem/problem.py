"""A search problem in arrays: counts, hierarchies and bounds become codes, level maps and blocks of columns.

Takes    ClassCounts with codes, a Hierarchy per quasi-identifier, optional level bounds and a population
Returns  Problem: read-only arrays that every search of this room works on
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, InternalError, UsageError
from shoal.model.counts.classes import ClassCounts, IntArray
from shoal.model.hierarchy import Hierarchy
from shoal.search.problem.column import Column, build_column, leaf_positions
from shoal.search.problem.column_blocks import Block, make_blocks
from shoal.search.problem.overlap import Overlap, Pairs, find_overlap

Bounds = Mapping[str, tuple[int | None, int | None]]
Node = tuple[int, ...]
"""One level per column: a node of the lattice."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything a search needs to know about the table."""

    counts: ClassCounts
    columns: tuple[Column, ...]
    codes: npt.NDArray[np.int32]  # (columns, cells)
    blocks: tuple[Block, ...]
    measures: npt.NDArray[np.int64]  # (sums, cells): records; then members, population where they differ
    members_at: int
    population_at: int  # −1 where no population was given
    overlap: Overlap | None  # where people are in several classes
    n_base: int  # the first cells are the classes of ``counts``; the rest occur in the population only
    n_records: int

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
        raise UsageError("there is no quasi-identifier to generalize.", hint="Give at least one column the role quasi.")
    if not counts.codes or not counts.categories:
        raise InternalError("a search needs class counts with codes and categories.")
    lacking = [c for c in counts.columns if c not in hierarchies]
    if lacking:
        raise UsageError(
            f"no hierarchy is given for: {', '.join(lacking)}.",
            hint="Give each quasi-identifier a hierarchy, or let one be built.",
        )
    unknown = sorted(set(bounds or {}) - set(counts.columns))
    if unknown:
        raise UsageError(
            f"levels are bounded for '{unknown[0]}', which is not a quasi-identifier.",
            hint=f"Columns: {', '.join(counts.columns)}.",
            column=unknown[0],
        )
    extra = _population_cells(counts, population, hierarchies)
    records = (counts.sizes if counts.records is None else counts.records).astype(np.float64)
    only_there = [None] * len(counts.columns) if extra is None else extra.leaves
    columns = tuple(
        build_column(counts, j, hierarchies[name], (bounds or {}).get(name, (None, None)), records, more)
        for j, (name, more) in enumerate(zip(counts.columns, only_there, strict=True))
    )
    overlap = find_overlap(counts, people)
    measures, members_at, population_at = _measures(counts, extra, apart=overlap is not None)
    codes = np.ascontiguousarray(np.stack([c.codes for c in columns]))
    return Problem(
        counts=counts,
        columns=columns,
        codes=codes,
        blocks=make_blocks(columns, codes),
        measures=measures,
        members_at=members_at,
        population_at=population_at,
        overlap=overlap,
        n_base=counts.n_classes,
        n_records=counts.n_records,
    )


@dataclass(frozen=True, eq=False)
class _Extra:
    """Population counts: of the classes of the sample, and of the classes that occur in the population only."""

    of_base: IntArray
    leaves: npt.NDArray[np.int64]  # (columns, cells that occur in the population only)
    sizes: IntArray


def _population_cells(counts: ClassCounts, population: ClassCounts | None, hierarchies: Mapping[str, Hierarchy]) -> _Extra | None:
    if population is None:
        return None
    if set(population.columns) != set(counts.columns):
        raise UsageError(
            "the population table is counted over other columns than the sample.",
            hint=f"Count it over: {', '.join(counts.columns)}.",
        )
    base, whole = [], []
    for j, name in enumerate(counts.columns):
        i = population.columns.index(name)
        base.append(leaf_positions(name, counts.categories[j], counts.codes[j], counts.sizes, hierarchies[name]))
        whole.append(leaf_positions(name, population.categories[i], population.codes[i], population.sizes, hierarchies[name]))
    both = np.concatenate([np.stack(base), np.stack(whole)], axis=1)
    _, inverse = np.unique(both, axis=1, return_inverse=True)
    inverse = inverse.reshape(-1)
    n = counts.n_classes
    size_of = np.bincount(inverse[n:], weights=population.sizes, minlength=int(inverse.max()) + 1).astype(np.int64)
    of_base = size_of[inverse[:n]]
    short = of_base < counts.sizes
    if short.any():
        raise DataError(
            f"{int(short.sum())} classes have fewer people in the population than in the sample.",
            hint="The population table must contain the people of the sample.",
        )
    seen = np.zeros(len(size_of), dtype=np.bool_)
    seen[inverse[:n]] = True
    only, first = np.unique(inverse[n:], return_index=True)
    fresh = ~seen[only]
    return _Extra(of_base, np.stack(whole)[:, first[fresh]], size_of[only[fresh]])


def _measures(counts: ClassCounts, extra: _Extra | None, *, apart: bool) -> tuple[npt.NDArray[np.int64], int, int]:
    records = counts.sizes if counts.records is None else counts.records
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
