"""Multivariate microaggregation: near records form groups of at least k and are published as their mean.

Takes    numeric columns, k ≥ 2; columns are standardised first (mean 0, deviation 1), so that units do not matter
Returns  a whole-column step; every published combination of these columns is shared by at least k records
Keeps    MDAV: groups of k to 2k − 1; V-MDAV: the same, sizes following the data (a group that the last records fill is split),
         unless MDAV loses less: then its groups
Cost     O(n²/k) distances, far fewer from a tree where there are many records of few columns; O(n) memory. MDAV of one column
         sorts instead (:mod:`shoal.transform.group.one_column`)
Source   Domingo-Ferrer and Torra 2005 (MDAV); Solanas and Martínez-Ballesté 2006 (V-MDAV)
Differs  between k and 2k − 1 records left at the end form a group of their own (some tables in print spread the last few)

Missing values: records with the same columns present are grouped among themselves; where fewer than k share a pattern of
missing values, their cells are suppressed (become missing). Where fewer than k records are then without any value, the smallest
group joins them, so that these too are at least k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, PolicyError
from shoal.kernels.jit import HAVE_NUMBA
from shoal.model.plan import ColumnStep, Publishes, register_step
from shoal.transform.columns import need_group, numbers, with_numbers
from shoal.transform.group.one_column import centred, end_groups, ends_high, spilled

MANY_PAIRS = 2e9
"""Distances, n²/k, beyond which near records are searched in a tree: the same groups, though its loops take longer to compile."""
FEW_COLUMNS = 6
"""Columns of which a tree spares most distances."""
MOST_PAIRS = 4e11
"""Distances that are computed at most, where no tree spares them: about an hour."""
MOST_CELLS = 8_000_000
"""Numbers that are held, at some 100 bytes each."""

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@register_step
@dataclass(frozen=True)
class Microaggregate(ColumnStep):
    """Publish ``column`` and ``others`` as the mean (or median) of groups of at least ``k`` near records.

    A code declared missing stays as it is, and records with different codes are in different groups; where fewer than ``k`` have
    the same codes, their cells become missing.

    >>> import pyarrow as pa
    >>> t = pa.table({"x": [1.0, 2.0, 10.0, 11.0], "y": [1.0, 1.0, 5.0, 5.0]})
    >>> Microaggregate("x", others=("y",), k=2).run(t, 0)["x"].to_pylist()
    [1.5, 1.5, 10.5, 10.5]
    """

    others: tuple[str, ...] = ()
    k: int = 3
    method: Literal["mdav", "v-mdav"] = "mdav"
    gamma: float = 0.2
    publish: Literal["mean", "median"] = "mean"
    kind: ClassVar[str] = "microaggregate"
    truthful: ClassVar[bool] = False
    publishes: ClassVar[Publishes] = "numbers"
    draws: ClassVar[bool] = False
    splits_by_codes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.method not in ("mdav", "v-mdav") or self.publish not in ("mean", "median"):
            raise PolicyError("microaggregation knows the methods mdav and v-mdav and publishes mean or median.")
        if self.k < 2:
            raise PolicyError(f"microaggregation needs k of at least 2; found {self.k}.")

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column, *self.others)

    def streamed(self, rows: Any, spill: Any, seed: int) -> Any:
        """One column by sorting on disk. None for several: near records are searched in memory, and too many are refused before
        any is held."""
        if self._sorts:
            return spilled(rows, spill, self.column, self.k, self.publish)
        self._need_few(sum(t.num_rows for t in rows()))
        return None

    @property
    def _sorts(self) -> bool:
        """Whether the groups are found by sorting, not by distances."""
        return not self.others and self.method == "mdav"

    def _need_few(self, n: int) -> None:
        cells = n * len(self.columns)
        searched = self._sorts or (HAVE_NUMBA and len(self.columns) <= FEW_COLUMNS)
        if (n * n / self.k > MOST_PAIRS and not searched) or cells > MOST_CELLS:
            raise DataError(
                f"microaggregation compares all records: {n:,} records of {len(self.columns)} columns are too many.",
                hint="Take mdav, groups or quantiles for one column, fewer columns, or a part of the table at a time.",
            )

    def run(self, table: Any, seed: int, codes: Sequence[IntArray] = ()) -> Any:
        self._need_few(table.num_rows)
        found = [numbers(table, name) for name in self.columns]
        values = np.array([x for x, _ in found])
        present = np.array([p for _, p in found])
        coded = np.array(codes) if len(codes) else np.zeros(present.shape, dtype=np.int64)
        together = f"the table of columns {', '.join(map(repr, self.columns))}" if self.others else f"column '{self.column}'"
        need_group(self.k, int(present.any(axis=0).sum()), together)
        pattern = np.where(present, -1, coded).T
        smallest: IntArray | None = None
        for code in np.unique(pattern, axis=0):
            rows = np.flatnonzero((pattern == code).all(axis=1))
            used = np.flatnonzero(present[:, rows[0]])
            if not len(used) and not coded[:, rows[0]].any():
                continue
            if len(rows) < self.k:
                present[:, rows], coded[:, rows] = False, 0
                continue
            if not len(used):
                smallest = rows if smallest is None or len(rows) < len(smallest) else smallest
                continue
            inside = values[np.ix_(used, rows)]
            groups = near_groups(inside, self.k, method=self.method, gamma=self.gamma)
            made = centred(inside[0], self.k, self.publish)[None] if self._sorts else _published(inside, groups, self.publish)
            values[np.ix_(used, rows)] = made
            found_here = rows[groups == np.argmin(np.bincount(groups))]
            smallest = found_here if smallest is None or len(found_here) < len(smallest) else smallest
        if smallest is not None and 0 < (~(present | (coded > 0)).any(axis=0)).sum() < self.k:
            present[:, smallest], coded[:, smallest] = False, 0
        for i, name in enumerate(self.columns):
            table = with_numbers(table, name, values[i], present[i])
        if len(codes):
            for kept, given in zip(coded, codes, strict=True):
                given[:] = kept
        return table


def near_groups(values: FloatArray, k: int, *, method: str = "mdav", gamma: float = 0.2) -> IntArray:
    """Group number of each record; ``values`` has one row per column. Columns are standardised.

    >>> near_groups(np.array([[1.0, 2.0, 10.0, 11.0]]), 2).tolist()
    [0, 0, 1, 1]
    """
    if method == "mdav" and len(values) == 1:
        return _sorted_groups(values[0], k)
    kernel, points = _loops(values.shape[1], k), np.array(standardised(values))
    if method == "mdav":
        return np.asarray(kernel.mdav(points, k))
    plain = np.asarray(kernel.mdav(points.copy(), k))
    groups = np.asarray(kernel.v_mdav(points.copy(), k, gamma))
    for large in np.flatnonzero(np.bincount(groups) >= 2 * k):  # the last few records joined it: in two it loses less
        members = np.flatnonzero(groups == large)
        parts = np.asarray(_loops(len(members), k).mdav(np.ascontiguousarray(points[:, members]), k))
        groups[members] = np.where(parts == 0, large, groups.max() + parts)
    groups = np.unique(groups, return_inverse=True)[1]
    return plain if lost_share(values, plain) < lost_share(values, groups) else groups


def _loops(n: int, k: int) -> Any:
    """The loops for so many records, compiled on first use."""
    from shoal.transform.kernels import mdav

    if not HAVE_NUMBA or n * n / k <= MANY_PAIRS:
        return mdav
    from shoal.transform.kernels import mdav_tree

    return mdav_tree


def _sorted_groups(x: FloatArray, k: int) -> IntArray:
    """MDAV's groups of one column; number 0 is the one that it forms first."""
    order = np.argsort(x, kind="stable")
    cuts = end_groups(x[order], k)
    names = np.arange(len(cuts) - 1)
    out = np.empty(len(x), dtype=np.int64)
    out[order] = np.repeat(names[::-1] if ends_high(x[order]) else names, np.diff(cuts))
    return out


def standardised(values: FloatArray) -> FloatArray:
    """Mean 0 and deviation 1 in each row; a constant row becomes 0. Scaled first by a power of two: squares stay finite."""
    values, _ = scaled(values)
    centred = values - values.mean(axis=1, keepdims=True)
    deviation = centred.std(axis=1, keepdims=True)
    return np.asarray(np.divide(centred, deviation, out=np.zeros_like(centred), where=deviation > 0))


def scaled(values: FloatArray) -> tuple[FloatArray, IntArray]:
    """Each row divided by the power of two 2^e that brings its largest number below 1, and e: exact but for denormals."""
    exponent = np.frexp(np.abs(values).max(axis=1, keepdims=True, initial=0.0))[1].astype(np.int64)
    return np.ldexp(values, -exponent), exponent


def lost_share(values: FloatArray, groups: IntArray) -> float:
    """Information loss SSE/SST of standardised columns, between 0 and 1."""
    z = standardised(values)
    total = float((z**2).sum())
    return float(((z - _published(z, groups, "mean")) ** 2).sum()) / total if total else 0.0


def _published(values: FloatArray, groups: IntArray, publish: str) -> FloatArray:
    """Each value's group mean or (lower) median."""
    count = np.bincount(groups)
    values, exponent = scaled(values)
    out = np.empty_like(values)
    for i, row in enumerate(values):
        if publish == "mean":
            order = np.argsort(groups, kind="stable")
            start = row[order][np.concatenate([[0], np.cumsum(count)[:-1]])]  # a member: keeps digits of far-away numbers
            centre = start + np.bincount(groups, row - start[groups]) / count
        else:
            order = np.lexsort((row, groups))
            centre = row[order][np.concatenate([[0], np.cumsum(count)[:-1]]) + (count - 1) // 2]
        out[i] = centre[groups]
    return np.ldexp(out, exponent)
