"""A search problem in arrays: counts, hierarchies and bounds become codes, level maps and blocks of columns.

Takes    ClassCounts with codes, a Hierarchy per quasi-identifier, optional level bounds and a population
Returns  Problem: read-only arrays that every search of this room works on
Keeps    level maps are monotone; a code at level l has one group at each higher level
Missing  a missing value stays missing (a group of its own that covers one leaf) at every level until the hierarchy
         reaches the single group labelled ``*``, which says nothing and therefore also holds the missing values. The
         plan must then publish missing values under that label (:func:`missing_label`); everywhere else they stay missing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, HierarchyGapError, InternalError, UsageError
from shoal.model.counts.classes import MISSING, ClassCounts, CodeArray, FloatArray, IntArray
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import SUPPRESSED
from shoal.search.problem.blocks import Block, dense_codes, make_blocks

Bounds = Mapping[str, tuple[int | None, int | None]]


def joins_missing(hierarchy: Hierarchy, level: int) -> bool:
    """Whether missing values are published with all others at this level: it, or one below it, is the single group ``*``.

    >>> h = Hierarchy.from_rows("sex", [["f", "*"], ["m", "*"]])
    >>> joins_missing(h, 0), joins_missing(h, 1)
    (False, True)
    """
    return any(x.labels == (SUPPRESSED,) for x in hierarchy.levels[1 : level + 1])


def missing_label(hierarchy: Hierarchy, level: int) -> str | None:
    """The label under which a missing value is published at this level, or None where it stays missing."""
    return hierarchy.levels[level].labels[0] if joins_missing(hierarchy, level) else None


@dataclass(frozen=True, eq=False)
class Column:
    """One quasi-identifier: its codes per cell and, for each level within the bounds, the group of each code.

    Code ``i`` is the leaf ``leaves[i]`` of the hierarchy; the last code (leaf −1) is the missing value.
    """

    name: str
    hierarchy: Hierarchy
    codes: CodeArray
    leaves: IntArray
    records: FloatArray  # records of each code
    groups: npt.NDArray[np.int32]  # (levels, codes)
    cards: tuple[int, ...]  # groups at each level, one for missing values included even where none is missing
    covered: FloatArray  # (levels, codes): leaves below the group of a code
    heights: tuple[int, ...]  # the level of the hierarchy at each level here

    @property
    def height(self) -> int:
        return len(self.cards) - 1

    def values_at(self, level: int) -> int:
        """Different values that the records of the table are published with at a level."""
        return len(np.unique(self.groups[level][self.records > 0]))


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
    overlap: Any  # people.Overlap where people are in several classes, else None
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
    people: Any = None,
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
    from shoal.search.problem.people import find_overlap

    extra = _population_cells(counts, population, hierarchies)
    records = (counts.sizes if counts.records is None else counts.records).astype(np.float64)
    columns = tuple(
        _column(counts, j, hierarchies[name], (bounds or {}).get(name, (None, None)), records, extra)
        for j, name in enumerate(counts.columns)
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


def leaf_positions(name: str, categories: Any, codes: CodeArray, weights: IntArray, hierarchy: Hierarchy) -> IntArray:
    """Leaf of the hierarchy of each cell, −1 for a missing value; an error where the hierarchy has a gap."""
    return leaves_of_categories(name, categories, codes, weights, hierarchy)[codes]


def leaves_of_categories(
    name: str, categories: Any, codes: npt.NDArray[np.integer[Any]], weights: npt.NDArray[Any], hierarchy: Hierarchy
) -> IntArray:
    """Leaf of each category, then −1 for the missing value; −2 where the hierarchy has none and no cell needs it."""
    from shoal.kernels.text import canonical_text

    texts = canonical_text(categories).to_pylist()
    place = np.fromiter((hierarchy.position.get(t, -2) for t in texts), dtype=np.int64, count=len(texts))
    place = np.append(place, MISSING)
    if (place == -2).any():
        gaps = place[codes] == -2
        values = np.unique(codes[gaps])
        if len(values):
            raise HierarchyGapError(
                f"hierarchy '{name}' does not cover {len(values)} values of the data ({int(weights[gaps].sum())} records).",
                hint="Extend the hierarchy, or have it built from the data. See error.values.",
                column=name,
                values=tuple(texts[i] for i in values),
            )
    return place


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


def _column(
    counts: ClassCounts,
    j: int,
    hierarchy: Hierarchy,
    bound: tuple[int | None, int | None],
    records: FloatArray,
    extra: _Extra | None,
) -> Column:
    name = counts.columns[j]
    mine = counts.codes[j].astype(np.intp)
    leaf_of = leaves_of_categories(name, counts.categories[j], mine, records, hierarchy)
    mass = np.bincount(mine + 1, weights=records, minlength=len(leaf_of))  # of the missing value, then of each category
    mass = np.append(mass[1:], mass[0])
    present = np.zeros(hierarchy.n_leaves + 1, dtype=np.bool_)  # leaves, then the missing value
    present[leaf_of[mass > 0]] = True
    if extra is not None:
        present[extra.leaves[j]] = True
    leaves = np.append(np.flatnonzero(present[:-1]), MISSING)
    place = np.zeros(hierarchy.n_leaves + 2, dtype=np.int32)  # leaves, then −2 (a category of no cell), then −1 (missing)
    place[leaves] = np.arange(len(leaves), dtype=np.int32)
    codes = place[leaf_of].take(mine, mode="wrap")
    if extra is not None:
        codes = np.concatenate([codes, place[extra.leaves[j]]])
    low, high = _level_bounds(name, hierarchy, bound)
    groups, cards, covered = _levels(hierarchy, leaves, range(low, high + 1))
    return Column(
        name=name,
        hierarchy=hierarchy,
        codes=codes,
        leaves=leaves,
        records=np.bincount(place[leaf_of], weights=mass, minlength=len(leaves)).astype(np.float64),
        groups=groups,
        cards=cards,
        covered=covered,
        heights=tuple(range(low, high + 1)),
    )


def up_to(column: Column, level: int) -> Column:
    """The same column with higher levels allowed."""
    heights = tuple(range(column.heights[0], level + 1))
    groups, cards, covered = _levels(column.hierarchy, column.leaves, heights)
    return dataclasses.replace(column, groups=groups, cards=cards, covered=covered, heights=heights)


def _levels(
    hierarchy: Hierarchy, leaves: IntArray, levels: Iterable[int]
) -> tuple[npt.NDArray[np.int32], tuple[int, ...], FloatArray]:
    """For each level: the group of each code; the number of groups; the leaves below the group of a code."""
    made = [_groups_at(hierarchy, level, leaves) for level in levels]
    groups = np.ascontiguousarray(np.stack([group for group, _ in made]))
    cards = tuple(int(group.max(initial=0)) + 1 for group, _ in made)
    return groups, cards, np.stack([cover for _, cover in made])


def _groups_at(hierarchy: Hierarchy, level: int, leaves: IntArray) -> tuple[CodeArray, FloatArray]:
    """Group of each code at a level, numbered densely, and the leaves it covers. The last code is the missing value."""
    at = hierarchy.levels[level]
    raw = at.groups[leaves[:-1]]
    present, dense = dense_codes(raw, len(at.labels))
    joined = joins_missing(hierarchy, level)
    group = np.append(dense, np.int32(0 if joined else len(present)))
    return group, np.append(at.leaf_counts[raw].astype(np.float64), float(hierarchy.n_leaves) if joined else 1.0)


def _level_bounds(name: str, hierarchy: Hierarchy, bound: tuple[int | None, int | None]) -> tuple[int, int]:
    low = 0 if bound[0] is None else bound[0]
    high = hierarchy.height if bound[1] is None else bound[1]
    if not 0 <= low <= high <= hierarchy.height or low != int(low) or high != int(high):
        raise UsageError(
            f"levels {low} to {high} are asked for '{name}', whose hierarchy has levels 0 to {hierarchy.height}.",
            hint="Give a lowest and a highest level inside the hierarchy.",
            column=name,
        )
    return int(low), int(high)
