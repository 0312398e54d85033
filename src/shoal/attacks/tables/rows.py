"""Records as they are compared: numbers over their range, categories as codes, and the distance between two (Gower)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.kernels.group import group_codes
from shoal.model.counts.classes import FloatArray, IntArray

BLOCK = 4_000_000
"""Distances held at once."""
Distances = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """Columns of one table, one array each: numbers between 0 and 1 (NaN missing), or codes (−1 missing)."""

    columns: tuple[npt.NDArray[np.float64] | IntArray, ...]

    @property
    def n(self) -> int:
        return len(self.columns[0])

    @property
    def width(self) -> int:
        return len(self.columns)

    def is_number(self, j: int) -> bool:
        return bool(np.issubdtype(self.columns[j].dtype, np.floating))

    def taken(self, rows: IntArray) -> Rows:
        return Rows(tuple(c[rows] for c in self.columns))


def ordered(rows: Rows) -> Rows:
    """The rows in the order of what they hold, so that what is drawn of them does not depend on the order of a file."""
    return rows.taken(np.lexsort(rows.columns))


def drawn(rows: Rows, most: int, rng: np.random.Generator) -> Rows:
    """At most so many rows, drawn without replacement."""
    return rows if rows.n <= most else rows.taken(np.sort(rng.choice(rows.n, size=most, replace=False)))


def alike(a: Rows, b: Rows) -> tuple[IntArray, IntArray, int]:
    """A number for each row of both, the same for rows that are equal in every column, and how many numbers there are.

    >>> a, b, n = alike(Rows((np.array([3, 5]),)), Rows((np.array([5, 5, 4]),)))
    >>> bool(a[1] == b[0] == b[1] != b[2] != a[0]), n
    (True, 3)
    """
    both = group_codes([_codes(x, y) for x, y in zip(a.columns, b.columns, strict=True)])
    return both.ids[: a.n], both.ids[a.n :], both.n


def _codes(a: np.ndarray, b: np.ndarray) -> IntArray:
    """One code per value of two columns; missing numbers are one value."""
    out: IntArray = np.unique(np.concatenate((a, b)), return_inverse=True)[1].astype(np.int64).ravel()
    return out


def distances(a: Rows, b: Rows, use: Sequence[int]) -> Distances:
    """Gower's distance summed over some columns: |difference| over the range for numbers, 0 or 1 for categories.

    A missing value is at no distance from another missing one, and at 1 from everything else.

    >>> x, y = Rows((np.array([0.0, 1.0]), np.array([0, 1]))), Rows((np.array([0.25]), np.array([0])))
    >>> distances(x, y, [0, 1]).tolist()
    [[0.25], [1.75]]
    """
    out = np.zeros((a.n, b.n), dtype=np.float32)
    for j in use:
        x, y = a.columns[j], b.columns[j]
        if a.is_number(j):
            gap = np.abs(x[:, None].astype(np.float32) - y[None, :].astype(np.float32))
            gone = np.isnan(x)[:, None] != np.isnan(y)[None, :]
            out += np.where(gone, np.float32(1.0), np.nan_to_num(np.minimum(gap, np.float32(1.0)), nan=0.0))
        else:
            out += (x[:, None] != y[None, :]).astype(np.float32)
    return out


def nearest(a: Rows, b: Rows, use: Sequence[int], count: int = 1) -> tuple[IntArray, FloatArray]:
    """For each row of ``a`` its ``count`` nearest rows of ``b`` and their distances, nearest first."""
    count = min(count, b.n)
    places, far = np.empty((a.n, count), np.int64), np.empty((a.n, count))
    step = max(1, BLOCK // max(1, b.n))
    for start in range(0, a.n, step):
        part = distances(a.taken(np.arange(start, min(a.n, start + step))), b, use)
        found = np.argsort(part, axis=1, kind="stable")[:, :count] if count > 1 else part.argmin(axis=1)[:, None]
        places[start : start + len(part)] = found
        far[start : start + len(part)] = np.take_along_axis(part, found, axis=1)
    return places, far
