"""Recoding: what was published for each original value, class by class, without any data value.

One row per original class (records with equal original quasi-identifiers that were published alike). For each column it
says which leaf the class had and which set of leaves was published for it; a suppressed class publishes everything. Global
recoding gives every leaf one set; local recoding may give a leaf several, overlapping ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.errors import EmptyTableError, InternalError, UsageError
from shoal.model.counts.classes import FloatArray, IntArray, SensitiveCounts
from shoal.model.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class ColumnRecoding:
    """One column of a recoding.

    Parameters
    ----------
    column : str
    leaf : array of int
        Original leaf of each class (0 … n_leaves − 1).
    published : array of int
        Published set of each class.
    members : array of int
        Leaves of all sets, one set after the other.
    starts : array of int
        Start of each set in ``members``, and the end of the last one.
    n_leaves : int
        Leaves of the whole domain, those that never occur included.
    height : array of float, optional
        Level of each set over the height of the hierarchy (0 the value itself, 1 everything), for ``precision``.
    values : array of float, optional
        The number that each leaf stands for, increasing, for numeric losses.
    """

    column: str
    leaf: IntArray
    published: IntArray
    members: IntArray
    starts: IntArray
    n_leaves: int
    height: FloatArray | None = None
    values: FloatArray | None = None

    def __post_init__(self) -> None:
        for name in ("leaf", "published", "members", "starts"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.int64))
        if len(self.leaf) != len(self.published) or len(self.starts) < 2 or int(self.starts[-1]) != len(self.members):
            raise InternalError(f"the recoding of '{self.column}' does not fit together.")
        if not bool(self.inside.all()):
            raise InternalError(f"the recoding of '{self.column}' publishes a set without the original value.")

    @cached_property
    def inside(self) -> npt.NDArray[np.bool_]:
        """Whether the published set of each class holds its original leaf."""
        pairs = np.repeat(np.arange(self.n_sets), np.diff(self.starts)) * self.n_leaves + self.members
        return np.isin(self.published * self.n_leaves + self.leaf, pairs)

    @property
    def n_sets(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def covered(self) -> IntArray:
        """Leaves in the published set of each class."""
        return np.diff(self.starts)[self.published]

    def per_set(self, of_leaf: FloatArray) -> FloatArray:
        """Sum of a number per leaf over each set."""
        out: FloatArray = np.add.reduceat(of_leaf[self.members], self.starts[:-1])
        return out

    @cached_property
    def span(self) -> FloatArray:
        """Width of each set in the numbers its leaves stand for."""
        if self.values is None:
            raise UsageError(f"column '{self.column}' has no numbers.", hint="Use the categorical loss.")
        numbers = self.values[self.members]
        out: FloatArray = np.maximum.reduceat(numbers, self.starts[:-1]) - np.minimum.reduceat(numbers, self.starts[:-1])
        return out

    @classmethod
    def from_groups(
        cls,
        column: str,
        leaf: npt.ArrayLike,
        groups: npt.ArrayLike,
        *,
        height: float | None = None,
        values: npt.ArrayLike | None = None,
    ) -> ColumnRecoding:
        """Global recoding: each leaf belongs to one group, and the group is published.

        >>> r = ColumnRecoding.from_groups("x", leaf=[0, 1, 2, 3], groups=[0, 0, 1, 1])
        >>> r.covered.tolist(), r.n_leaves
        ([2, 2, 2, 2], 4)
        """
        group = np.asarray(groups, dtype=np.int64)
        names, dense = np.unique(group, return_inverse=True)
        members = np.argsort(dense, kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(dense, minlength=len(names)))))
        at = np.asarray(leaf, dtype=np.int64)
        heights = None if height is None else np.full(len(names), height)
        numbers = None if values is None else np.asarray(values, dtype=np.float64)
        return cls(column, at, dense[at], members, starts, len(group), heights, numbers)

    @classmethod
    def from_level(cls, hierarchy: Hierarchy, leaf: npt.ArrayLike, level: int) -> ColumnRecoding:
        """Full-domain recoding to one level of a hierarchy.

        >>> h = Hierarchy.from_rows("x", [["a", "ab", "*"], ["b", "ab", "*"], ["c", "c", "*"]])
        >>> ColumnRecoding.from_level(h, [0, 2], 1).covered.tolist()
        [2, 1]
        """
        share = level / hierarchy.height if hierarchy.height else 0.0
        return cls.from_groups(hierarchy.column, leaf, hierarchy.levels[level].groups, height=share)

    @classmethod
    def from_sets(
        cls,
        column: str,
        leaf: npt.ArrayLike,
        published: npt.ArrayLike,
        sets: Sequence[Sequence[int]],
        n_leaves: int,
        *,
        values: npt.ArrayLike | None = None,
    ) -> ColumnRecoding:
        """Local recoding: the published set of each class is one of ``sets``, which may overlap."""
        members = np.array([x for s in sets for x in s], dtype=np.int64)
        starts = np.concatenate(([0], np.cumsum([len(s) for s in sets])))
        numbers = None if values is None else np.asarray(values, dtype=np.float64)
        as_int = np.asarray(leaf, dtype=np.int64), np.asarray(published, dtype=np.int64)
        return cls(column, *as_int, members, starts, n_leaves, None, numbers)


@dataclass(frozen=True, eq=False)
class Recoding:
    """All columns of a recoding, the records of each original class, and which classes were suppressed.

    ``sensitive`` are the counts of a sensitive column inside the original classes, for the private losses.
    """

    sizes: IntArray
    columns: tuple[ColumnRecoding, ...]
    suppressed: npt.NDArray[np.bool_]
    sensitive: SensitiveCounts | None = None

    def __init__(
        self,
        sizes: npt.ArrayLike,
        columns: Sequence[ColumnRecoding],
        suppressed: npt.ArrayLike | None = None,
        sensitive: SensitiveCounts | None = None,
    ) -> None:
        members = np.asarray(sizes, dtype=np.int64)
        if len(members) == 0:
            raise EmptyTableError("a recoding of no records has no loss.", hint="Check what was recoded.")
        if not columns or any(len(c.leaf) != len(members) for c in columns):
            raise InternalError("the columns of a recoding do not fit its classes.")
        gone = np.zeros(len(members), dtype=np.bool_) if suppressed is None else np.asarray(suppressed, dtype=np.bool_)
        object.__setattr__(self, "sizes", members)
        object.__setattr__(self, "columns", tuple(columns))
        object.__setattr__(self, "suppressed", gone)
        object.__setattr__(self, "sensitive", sensitive)

    @property
    def n_records(self) -> int:
        return int(self.sizes.sum())

    def frequencies(self, column: ColumnRecoding) -> FloatArray:
        """Share of the original records at each leaf."""
        out: FloatArray = np.bincount(column.leaf, weights=self.sizes, minlength=column.n_leaves) / self.n_records
        return out

    def set_mass(self, column: ColumnRecoding) -> FloatArray:
        """For each class the share of original records inside its published set; 1 where it is suppressed."""
        mass = column.per_set(self.frequencies(column))[column.published]
        out: FloatArray = np.where(self.suppressed, 1.0, mass)
        return out
