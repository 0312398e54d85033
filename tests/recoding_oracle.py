"""Losses of a recoding from matched records: what the losses of ``shoal compare`` and of the search are held against.

A :class:`Recoding` has one row per original class (records with equal original quasi-identifiers that were published alike).
For each column it says which leaf the class had and which set of leaves was published for it; a suppressed class publishes
everything. Global recoding gives every leaf one set; local recoding may give a leaf several, overlapping ones.

Keeps    0 for the identity; 1 (where it is a share) when everything is suppressed; MI utility + loss = mean entropy
Source   METHODS §20, §22 (2e, 2g, 2h); Iyengar 2002; Gionis & Tassa 2009; Goldberger & Tassa 2010; PEERS (ARX)
Differs  entropy losses take probabilities of the published **set**, not of the original value: only so are they monotone
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def recoding_losses(recoding: Recoding) -> dict[str, float]:
    """Every loss that the recoding allows, by the name of its metric.

    Precision needs hierarchy levels in every column, private information the counts of a sensitive column.

    >>> r = Recoding([1, 1], [ColumnRecoding.from_groups("x", [0, 1], [0, 0])])
    >>> found = recoding_losses(r)
    >>> found["granularity"], found["mutual_information_loss"], "precision" in found
    (1.0, 1.0, False)
    """
    losses: list[Callable[[Recoding], float]] = [granularity, certainty_penalty, arx_loss, monotone_entropy, nonuniform_entropy]
    losses += [mutual_information_utility, mutual_information_loss]
    if all(c.height is not None for c in recoding.columns):
        losses.append(precision)
    if recoding.sensitive is not None:
        losses += [private_information_utility, private_information_loss]
    return {loss.__name__: loss(recoding) for loss in losses}


def granularity(recoding: Recoding) -> float:
    """Mean loss per cell; numbers by width, other values by leaves.

    >>> r = Recoding([1], [ColumnRecoding.from_groups("x", [0], [0, 0, 0, 1, 2, 3, 4, 5])])
    >>> round(granularity(r), 7)
    0.2857143
    """
    return float(np.mean([column_granularity(recoding, c) for c in recoding.columns]))


def column_granularity(recoding: Recoding, column: ColumnRecoding) -> float:
    """Granularity loss of one column."""
    if column.values is not None:
        domain = float(column.values.max() - column.values.min())
        cell = column.span[column.published] / domain if domain > 0 else np.zeros(len(column.leaf))
    else:
        cell = (column.covered - 1) / max(1, column.n_leaves - 1)
    if column.n_leaves == 1:
        return 0.0
    return _mean(recoding, np.where(recoding.suppressed, 1.0, cell))


def certainty_penalty(recoding: Recoding) -> float:
    """Normalised certainty penalty by leaves.

    >>> r = Recoding([3, 1], [ColumnRecoding.from_groups("x", [0, 2], [0, 0, 1])])
    >>> certainty_penalty(r)
    0.375
    """
    cells = [
        _mean(recoding, np.where(recoding.suppressed, 1.0, (c.covered - 1) / (c.n_leaves - 1))) if c.n_leaves > 1 else 0.0
        for c in recoding.columns
    ]
    return float(np.mean(cells))


def arx_loss(recoding: Recoding) -> float:
    """ARX's loss of a recoding.

    >>> r = Recoding([2, 2], [ColumnRecoding.from_groups("x", [0, 2], [0, 0, 1, 2])])
    >>> round(arx_loss(r), 9)
    0.166666667
    """
    return table_loss(attribute_losses(recoding))


def attribute_losses(recoding: Recoding) -> FloatArray:
    """ARX's loss of each column."""
    n = recoding.n_records
    out = []
    for c in recoding.columns:
        d = c.n_leaves
        share = np.where(recoding.suppressed, 1.0, c.covered / d)
        total = float((share * recoding.sizes).sum())
        out.append((total - n / d) / (n - n / d) if d > 1 else 0.0)
    return np.maximum(np.array(out, dtype=np.float64), 0.0)


def table_loss(losses: FloatArray) -> float:
    """Geometric mean of 1 + L over columns, minus 1.

    >>> round(table_loss(np.array([0.0, 1.0])), 6)
    0.414214
    """
    return float(np.expm1(np.log1p(losses).mean()))


def precision(recoding: Recoding) -> float:
    """Sweeney's precision.

    >>> from shoal.model.hierarchy import Hierarchy
    >>> h = Hierarchy.from_rows("x", [["a", "ab", "*"], ["b", "ab", "*"], ["c", "c", "*"]])
    >>> precision(Recoding([1, 1], [ColumnRecoding.from_level(h, [0, 2], 1)]))
    0.5
    """
    cells = []
    for c in recoding.columns:
        if c.height is None:
            raise UsageError(f"precision of '{c.column}' needs hierarchy levels.", hint="Use granularity for local recoding.")
        cells.append(_mean(recoding, np.where(recoding.suppressed, 1.0, c.height[c.published])))
    return 1.0 - float(np.mean(cells))


def monotone_entropy(recoding: Recoding) -> float:
    """Monotone entropy per cell (times records and columns it is the sum of the sources).

    >>> x = [0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 3, 3]
    >>> r = Recoding([1] * 12, [ColumnRecoding.from_groups("x", x, [0, 0, 1, 1])])
    >>> round(12 * monotone_entropy(r), 7)
    6.0458286
    """
    out = 0.0
    for c in recoding.columns:
        p = recoding.frequencies(c)
        within = _set_entropy(c, p)
        whole = float(-_plogp(p).sum())
        cell = np.where(recoding.suppressed, whole, (c.per_set(p) * within)[c.published])
        out += _mean(recoding, cell)
    return out / len(recoding.columns)


def nonuniform_entropy(recoding: Recoding) -> float:
    """Non-uniform entropy of the whole table, in bits.

    >>> x = [0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 3, 3]
    >>> r = Recoding([1] * 12, [ColumnRecoding.from_groups("x", x, [0, 0, 1, 1])])
    >>> round(nonuniform_entropy(r) / 12, 7)
    0.9792792
    """
    return mutual_information_loss(recoding) * recoding.n_records * len(recoding.columns)


def mutual_information_utility(recoding: Recoding) -> float:
    """Mutual information utility in bits per cell.

    >>> x = [0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 3, 3]
    >>> r = Recoding([1] * 12, [ColumnRecoding.from_groups("x", x, [0, 0, 1, 1])])
    >>> round(mutual_information_utility(r), 7)
    0.9798688
    """
    return max(0.0, float(np.mean([-_mean(recoding, np.log2(recoding.set_mass(c))) for c in recoding.columns])))


def mutual_information_loss(recoding: Recoding) -> float:
    """Mutual information loss in bits per cell.

    >>> r = Recoding([1, 1], [ColumnRecoding.from_groups("x", [0, 1], [0, 0])])
    >>> mutual_information_loss(r)
    1.0
    """
    out = []
    for c in recoding.columns:
        value = recoding.frequencies(c)[c.leaf]
        out.append(-_mean(recoding, np.log2(value / recoding.set_mass(c))))
    return max(0.0, float(np.mean(out)))


def private_information_utility(recoding: Recoding) -> float:
    """Private mutual information utility in bits per cell.

    >>> from shoal.model.counts.classes import SensitiveCounts
    >>> y = SensitiveCounts.from_dense("y", [[2, 1], [1, 1], [0, 3], [2, 2]])
    >>> r = Recoding([3, 2, 3, 4], [ColumnRecoding.from_groups("x", [0, 1, 2, 3], [0, 0, 1, 1])], sensitive=y)
    >>> round(private_information_utility(r) + private_information_loss(r), 6)
    0.979869
    """
    return _sensitive_entropy(recoding) - private_information_loss(recoding)


def private_information_loss(recoding: Recoding) -> float:
    """Private mutual information loss in bits per cell."""
    s = _sensitive(recoding)
    value = s.values.astype(np.int64) + 1
    width = int(value.max()) + 1
    rows = np.bincount(value, weights=s.counts, minlength=width)
    out = []
    for c in recoding.columns:
        table = np.zeros((c.n_leaves, width))
        np.add.at(table, (c.leaf[s.classes], value), s.counts)
        sets = np.add.reduceat(table[c.members], c.starts[:-1], axis=0)
        at = c.published[s.classes]
        share = sets[at, value] / sets[at].sum(axis=1)
        share = np.where(recoding.suppressed[s.classes], rows[value] / rows.sum(), share)
        out.append(-float((np.log2(share) * s.counts).sum() / s.counts.sum()))
    return max(0.0, float(np.mean(out)))


def _sensitive(recoding: Recoding) -> SensitiveCounts:
    if recoding.sensitive is None:
        raise UsageError("private information needs the counts of a sensitive column.", hint="Build the recoding with them.")
    return recoding.sensitive


def _sensitive_entropy(recoding: Recoding) -> float:
    s = _sensitive(recoding)
    p = np.bincount(s.values.astype(np.int64) + 1, weights=s.counts) / s.counts.sum()
    return float(-_plogp(p).sum())


def _set_entropy(column: ColumnRecoding, p: FloatArray) -> FloatArray:
    """Entropy in bits of the original values inside each set."""
    mass = column.per_set(p)
    safe = np.where(mass > 0, mass, 1.0)
    return np.maximum(np.log2(safe) - column.per_set(_plogp(p)) / safe, 0.0)


def _plogp(p: FloatArray) -> FloatArray:
    out: FloatArray = np.where(p > 0, p * np.log2(np.where(p > 0, p, 1.0)), 0.0)
    return out


def _mean(recoding: Recoding, cell: FloatArray) -> float:
    """Mean over records of a number per class."""
    return float((cell * recoding.sizes).sum() / recoding.n_records)
