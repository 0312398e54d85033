"""Hierarchy: the levels of generalization of one column.

A hierarchy over *leaves* (the values at level 0, as text) gives each leaf a group at each level. It is total (every leaf
has a group at every level) and monotone (two leaves together at one level stay together at every higher one). Numbers, dates
and codes whose domain is not listed have *rules* (``hierarchies/`` builds them) that become a Hierarchy over the values
at hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import HierarchyError
from shoal.model.counts.classes import CodeArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class Level:
    """One level: the group of each leaf, and the label of each group."""

    groups: CodeArray
    labels: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Level: {len(self.groups):,} values in {len(self.labels):,} groups>"

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", np.ascontiguousarray(self.groups, dtype=np.int32))
        object.__setattr__(self, "labels", tuple(self.labels))
        if len(self.groups) and (self.groups.min() < 0 or self.groups.max() >= len(self.labels)):
            raise HierarchyError("a level of the hierarchy has a leaf without a group.")

    @cached_property
    def leaf_counts(self) -> IntArray:
        """Leaves in each group."""
        return np.bincount(self.groups, minlength=len(self.labels)).astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy:
    """Levels of one column, from the values themselves (level 0) upwards.

    >>> h = Hierarchy.from_rows("zip", [["1234", "12**", "*"], ["1299", "12**", "*"], ["2000", "20**", "*"]])
    >>> h.height, h.n_leaves, h.levels[1].labels, h.levels[1].groups.tolist()
    (2, 3, ('12**', '20**'), [0, 0, 1])
    """

    column: str
    leaves: tuple[str, ...]
    levels: tuple[Level, ...]

    def __repr__(self) -> str:
        groups = " → ".join(f"{len(level.labels):,}" for level in self.levels)
        return f"<Hierarchy of {self.column}: {len(self.leaves):,} values, groups per level {groups}>"

    def __post_init__(self) -> None:
        if not self.levels:
            raise HierarchyError(f"hierarchy '{self.column}' has no level.")
        for number, level in enumerate(self.levels):
            if len(level.groups) != len(self.leaves):
                raise HierarchyError(f"level {number} of hierarchy '{self.column}' does not cover every leaf.")
        if len(set(self.leaves)) != len(self.leaves):
            what = f"hierarchy '{self.column}' lists {len(self.leaves) - len(set(self.leaves))} values twice."
            raise HierarchyError(what, hint="Keep one line per value.")
        for number, (low, high) in enumerate(zip(self.levels, self.levels[1:], strict=False), start=1):
            if not _refines(low.groups, high.groups):
                raise HierarchyError(
                    f"hierarchy '{self.column}' is not monotone: level {number} separates values that level {number - 1} joins.",
                    hint="Every group of a level must lie inside one group of the next.",
                )

    @property
    def height(self) -> int:
        """The highest level; level 0 is the value itself."""
        return len(self.levels) - 1

    @property
    def n_leaves(self) -> int:
        return len(self.leaves)

    @cached_property
    def position(self) -> dict[str, int]:
        """Leaf text → its position."""
        return {leaf: i for i, leaf in enumerate(self.leaves)}

    @cached_property
    def labels_through(self) -> tuple[IntArray, IntArray, FloatArray]:
        """The groups of all levels numbered one after the other: of each leaf at each level, (levels, leaves); where the numbers
        of each level begin, and where they end; the leaves in each."""
        starts = np.cumsum([0, *(len(level.labels) for level in self.levels)])
        groups = np.stack([level.groups for level in self.levels]) + starts[:-1, None]
        return groups, starts, np.concatenate([level.leaf_counts for level in self.levels]).astype(np.float64)

    def parents(self, level: int) -> CodeArray:
        """Group at ``level + 1`` of each group at ``level``."""
        low, high = self.levels[level], self.levels[level + 1]
        out = np.zeros(len(low.labels), dtype=np.int32)
        out[low.groups] = high.groups
        return out

    @classmethod
    def from_rows(cls, column: str, rows: Sequence[Sequence[str]]) -> Hierarchy:
        """From one row per leaf: ``[leaf, level 1, level 2, …]`` (ARX's CSV); a row that repeats another is left out.

        >>> Hierarchy.from_rows("sex", [["F", "*"], ["M", "*"], ["F", "*"]]).n_leaves
        2
        """
        if not rows:
            raise HierarchyError(f"hierarchy '{column}' has no rows.")
        width = len(rows[0])
        for number, row in enumerate(rows, start=1):
            if len(row) != width:
                what = f"line {number} of hierarchy '{column}' has {len(row)} fields, the first has {width}."
                raise HierarchyError(what, hint="Give every value the same number of levels.")
        distinct: dict[str, tuple[str, ...]] = {}
        conflicts = sum(distinct.setdefault(row[0], tuple(row)) != tuple(row) for row in rows)
        if conflicts:
            lines, give = ("line", "gives") if conflicts == 1 else ("lines", "give")
            what = f"{conflicts} {lines} of hierarchy '{column}' {give} a value that stands in it already other parents."
            raise HierarchyError(what, hint="Keep one line per value.")
        levels = zip(*distinct.values(), strict=True)
        return cls(column, tuple(distinct), tuple(_level(texts) for texts in levels))

    def to_rows(self) -> list[list[str]]:
        """One row per leaf: the inverse of :meth:`from_rows`."""
        return [[level.labels[level.groups[i]] for level in self.levels] for i in range(self.n_leaves)]

    def to_json(self) -> dict[str, Any]:
        return {
            "column": self.column,
            "leaves": list(self.leaves),
            "levels": [{"groups": level.groups.tolist(), "labels": list(level.labels)} for level in self.levels],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Hierarchy:
        levels = tuple(Level(np.asarray(x["groups"], dtype=np.int32), tuple(x["labels"])) for x in data["levels"])
        return cls(data["column"], tuple(data["leaves"]), levels)


def _level(texts: Sequence[str]) -> Level:
    order: dict[str, int] = {}
    groups = np.fromiter((order.setdefault(t, len(order)) for t in texts), dtype=np.int32, count=len(texts))
    return Level(groups, tuple(order))


def _refines(low: npt.NDArray[np.int32], high: npt.NDArray[np.int32]) -> bool:
    """Whether leaves with the same group in ``low`` always share their group in ``high``."""
    parent = np.full(int(low.max(initial=-1)) + 1, -1, dtype=np.int32)
    parent[low] = high
    return bool((parent[low] == high).all())
