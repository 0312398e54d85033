"""One quasi-identifier of a search problem: its codes, and the group of each code at each level.

Keeps    a code at level l has one group at each higher level
Missing  a missing value stays missing (a group of its own that covers one leaf) at every level until the hierarchy
         reaches the single group labelled ``*``, which says nothing and therefore also holds the missing values. The
         plan must then publish missing values under that label (:func:`missing_label`); everywhere else they stay missing.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import HierarchyGapError, UsageError
from shoal.kernels.text import canonical_text
from shoal.model.counts.classes import MISSING, ClassCounts, CodeArray, FloatArray, IntArray
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import SUPPRESSED


def joins_missing(hierarchy: Hierarchy, level: int) -> bool:
    """Whether missing values are published with all others at this level: it, or one below it, is the single group ``*``.

    >>> h = Hierarchy.from_rows("sex", [["f", "*"], ["m", "*"]])
    >>> joins_missing(h, 0), joins_missing(h, 1)
    (False, True)
    """
    return level >= first_joined(hierarchy)


def first_joined(hierarchy: Hierarchy) -> int:
    """The lowest level with the single group ``*``, above the values themselves; one beyond the highest where there is none."""
    single = (level for level in range(1, hierarchy.height + 1) if hierarchy.levels[level].labels == (SUPPRESSED,))
    return next(single, hierarchy.height + 1)


def missing_label(hierarchy: Hierarchy, level: int) -> str | None:
    """The label under which a missing value is published at this level, or None where it stays missing."""
    return hierarchy.levels[level].labels[0] if joins_missing(hierarchy, level) else None


@dataclass(frozen=True, eq=False)
class Column:
    """One quasi-identifier: its codes and, for each level within the bounds, the group of each.

    Code ``i`` is the leaf ``leaves[i]`` of the hierarchy; the last code (leaf −1) is the missing value.
    """

    name: str
    hierarchy: Hierarchy
    leaves: IntArray
    records: FloatArray  # records of each code
    groups: npt.NDArray[np.int32]  # (levels, codes)
    cards: tuple[int, ...]  # groups at each level, one for missing values included even where none is missing
    covered: FloatArray  # (levels, codes): leaves below the group of a code
    heights: tuple[int, ...]  # the level of the hierarchy at each level here

    @property
    def height(self) -> int:
        return len(self.cards) - 1


def build_column(
    name: str,
    hierarchy: Hierarchy,
    bound: tuple[int | None, int | None],
    leaf_of: IntArray,
    digits: npt.NDArray[np.int32],
    records: FloatArray,
) -> tuple[Column, npt.NDArray[np.int32]]:
    """A column within level bounds, and the code of each digit given.

    ``leaf_of`` is the leaf of each digit, then −1 for the missing value; ``digits`` are those that occur, any number of times,
    ``records`` those of each.
    """
    mine = leaf_of[digits]
    present = np.zeros(hierarchy.n_leaves + 1, dtype=np.bool_)  # leaves, then the missing value
    present[mine] = True
    present[-1] = True  # has a code, whether it occurs or not
    leaves = np.flatnonzero(present)
    leaves[-1] = MISSING
    codes = (present.cumsum(dtype=np.int32) - np.int32(1))[mine]
    low, high = _level_bounds(name, hierarchy, bound)
    groups, cards, covered = _levels(hierarchy, leaves, range(low, high + 1))
    column = Column(
        name=name,
        hierarchy=hierarchy,
        leaves=leaves,
        records=np.bincount(codes, weights=records, minlength=len(leaves)).astype(np.float64, copy=False),
        groups=groups,
        cards=cards,
        covered=covered,
        heights=tuple(range(low, high + 1)),
    )
    return column, codes


def leaf_positions(name: str, categories: Any, codes: CodeArray, weights: IntArray, hierarchy: Hierarchy) -> IntArray:
    """Leaf of the hierarchy of each cell, −1 for a missing value; an error where the hierarchy has a gap."""
    return leaves_of_categories(name, categories, codes, weights, hierarchy)[codes]


def leaves_of_categories(
    name: str, categories: Any, codes: npt.NDArray[np.integer[Any]], weights: npt.NDArray[Any], hierarchy: Hierarchy
) -> IntArray:
    """Leaf of each category, then −1 for the missing value; −2 where the hierarchy has none and no cell needs it."""
    texts = canonical_text(categories).to_pylist()
    place = np.array([*(hierarchy.position.get(t, -2) for t in texts), MISSING], dtype=np.int64)
    if (place == -2).any():
        gaps = place[codes] == -2
        values = np.unique(codes[gaps])
        if len(values):
            what = f"hierarchy '{name}' does not cover {len(values)} values of the data ({int(weights[gaps].sum())} records)."
            hint = "Extend the hierarchy, or have it built from the data. See error.values."
            raise HierarchyGapError(what, hint=hint, column=name, values=tuple(texts[i] for i in values))
    return place


def up_to(column: Column, level: int) -> Column:
    """The same column with higher levels allowed."""
    heights = tuple(range(column.heights[0], level + 1))
    groups, cards, covered = _levels(column.hierarchy, column.leaves, range(column.heights[0], level + 1))
    return dataclasses.replace(column, groups=groups, cards=cards, covered=covered, heights=heights)


def _levels(hierarchy: Hierarchy, leaves: IntArray, within: range) -> tuple[npt.NDArray[np.int32], tuple[int, ...], FloatArray]:
    """For each level: the group of each code, numbered densely; the number of groups; the leaves below the group of a code.

    The last code is the missing value.
    """
    levels = slice(within.start, within.stop)
    through, starts, leaf_counts = hierarchy.labels_through
    labels = through[levels].take(leaves[:-1], axis=1)
    seen = np.zeros(len(leaf_counts) + 1, dtype=np.int32)
    seen[labels] = 1
    below = seen.cumsum(dtype=np.int32) - seen  # labels below each one that occur, of all levels
    before = below[starts]
    present = (before[1:] - before[:-1])[levels]
    joined = np.arange(within.start, within.stop) >= first_joined(hierarchy)
    groups, covered = np.empty((len(labels), len(leaves)), dtype=np.int32), np.empty((len(labels), len(leaves)))
    np.subtract(below[labels], before[levels, None], out=groups[:, :-1])
    groups[:, -1] = np.where(joined, 0, present)
    covered[:, :-1] = leaf_counts[labels]
    covered[:, -1] = np.where(joined, hierarchy.n_leaves, 1)
    return groups, tuple(np.maximum(present + ~joined, 1).tolist()), covered


def _level_bounds(name: str, hierarchy: Hierarchy, bound: tuple[int | None, int | None]) -> tuple[int, int]:
    low = 0 if bound[0] is None else bound[0]
    high = hierarchy.height if bound[1] is None else bound[1]
    if not 0 <= low <= high <= hierarchy.height or low != int(low) or high != int(high):
        what = f"levels {low} to {high} are asked for '{name}', whose hierarchy has levels 0 to {hierarchy.height}."
        raise UsageError(what, hint="Give a lowest and a highest level inside the hierarchy.", column=name)
    return int(low), int(high)


Pairs = tuple[npt.ArrayLike, npt.ArrayLike]


@dataclass(frozen=True, eq=False)
class Overlap:
    """Pairs of people who are in several classes (None where they are not known), and the excess."""

    classes: IntArray | None
    people: IntArray | None
    excess: int
    n_classes: int

    def members(self, reps: npt.NDArray[np.int32], gid: npt.NDArray[np.int32], sums: IntArray, parts: IntArray) -> IntArray:
        """Different people in each group of some cells, or a lower bound.

        ``reps`` names a base class inside each cell, ``gid`` its group; ``parts`` are the cells' sizes, ``sums`` the groups'.
        """
        if self.classes is None or self.people is None:
            largest = np.zeros(len(sums), dtype=np.int64)
            np.maximum.at(largest, gid, parts)
            return np.maximum(largest, sums - self.excess)
        cell = np.full(max(self.n_classes, int(reps.max(initial=0)) + 1), -1, dtype=np.int64)
        cell[reps] = np.arange(len(reps))
        at = cell[self.classes]
        inside = at >= 0
        n_people = int(self.people.max(initial=0)) + 1
        key = np.sort(gid[at[inside]].astype(np.int64) * n_people + self.people[inside])
        again = key[1:][key[1:] == key[:-1]] // n_people
        out: IntArray = sums - np.bincount(again, minlength=len(sums))
        return out

    def everybody(
        self, reps: npt.NDArray[np.int32], gid: npt.NDArray[np.int32], members: IntArray, kept: npt.NDArray[np.bool_]
    ) -> dict[int, int] | None:
        """People by the size of the smallest group of theirs that is kept, each once; None where the pairs are not known.

        ``members`` are the different people of each group.
        """
        if self.classes is None or self.people is None:
            return None
        cell = np.full(max(self.n_classes, int(reps.max(initial=0)) + 1), -1, dtype=np.int64)
        cell[reps] = np.arange(len(reps))
        at = cell[self.classes]
        inside = at >= 0
        group, person = gid[at[inside]].astype(np.int64), self.people[inside]
        once = np.unique(group * (int(self.people.max(initial=0)) + 1) + person)
        several = np.bincount(once // (int(self.people.max(initial=0)) + 1), minlength=len(members))
        smallest = np.full(int(self.people.max(initial=-1)) + 1, np.iinfo(np.int64).max)
        np.minimum.at(smallest, person[kept[group]], members[group[kept[group]]])
        people = np.bincount(members[kept], weights=(members - several)[kept]).astype(np.int64)
        out = {size: int(n) for size, n in enumerate(people.tolist()) if n}
        for size, n in zip(*np.unique(smallest[smallest < np.iinfo(np.int64).max], return_counts=True), strict=True):
            out[int(size)] = out.get(int(size), 0) + int(n)
        return out


def find_overlap(counts: ClassCounts, pairs: Pairs | None) -> Overlap | None:
    """None where every person is in one class only."""
    if pairs is not None:
        classes, people = (np.asarray(x, dtype=np.int64) for x in pairs)
        if len(classes) != len(people) or (len(classes) and not 0 <= classes.min() <= classes.max() < counts.n_classes):
            hint = "Give one class number and one person each."
            raise UsageError("the pairs of class and person do not fit the counts.", hint=hint)
        size = np.bincount(classes, minlength=counts.n_classes)
        if not np.array_equal(size, counts.sizes):
            raise UsageError("the pairs of class and person do not add up to the class sizes.", hint="List every pair once.")
        _, code, times = np.unique(people, return_inverse=True, return_counts=True)
        several = times[code] > 1
        if not several.any():
            return None
        return Overlap(classes[several], code[several], 0, counts.n_classes)
    excess = 0 if counts.n_people is None else counts.n_members - counts.n_people
    return Overlap(None, None, excess, counts.n_classes) if excess > 0 else None
