"""Groups of near records, by MDAV or V-MDAV, and what they lose.

Takes    numbers, one row per column; k
Returns  a group number per record; each record's group mean or median
Keeps    groups of at least k; the same to the last tie whether records are compared one by one or searched in a tree
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.kernels.jit import HAVE_NUMBA
from shoal.techniques.group.one_column import end_groups, ends_high

MANY_PAIRS = 2e9
"""Distances, n²/k, beyond which near records are searched in a tree: the same groups, though its loops take longer to compile."""

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def near_groups(values: FloatArray, k: int, *, method: str = "mdav", gamma: float = 0.2) -> IntArray:
    """Group number of each record; ``values`` has one row per column. Columns are standardised.

    >>> near_groups(np.array([[1.0, 2.0, 10.0, 11.0]]), 2).tolist()
    [0, 0, 1, 1]
    """
    sorts = method == "mdav" and len(values) == 1
    return groups_of(values if sorts else standardised(values), k, method, gamma)


def groups_of(points: FloatArray, k: int, method: str, gamma: float) -> IntArray:
    """Group number of each record, of columns that are standardised; MDAV overwrites ``points``."""
    if method == "mdav" and len(points) == 1:
        return _sorted_groups(points[0], k)
    kernel = _loops(points.shape[1], k)
    if method == "mdav":
        return np.asarray(kernel.mdav(points, k))
    plain = np.asarray(kernel.mdav(points.copy(), k))
    groups = np.asarray(kernel.v_mdav(points.copy(), k, gamma))
    for large in np.flatnonzero(np.bincount(groups) >= 2 * k):  # the last few records joined it: in two it loses less
        members = np.flatnonzero(groups == large)
        parts = np.asarray(_loops(len(members), k).mdav(np.ascontiguousarray(points[:, members]), k))
        groups[members] = np.where(parts == 0, large, groups.max() + parts)
    groups = np.unique(groups, return_inverse=True)[1]
    return plain if _lost(points, plain) < _lost(points, groups) else groups


def _loops(n: int, k: int) -> Any:
    """The loops for so many records, compiled on first use."""
    from shoal.techniques.kernels import mdav

    if not HAVE_NUMBA or n * n / k <= MANY_PAIRS:
        return mdav
    from shoal.techniques.kernels import mdav_tree

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
    return _lost(standardised(values), groups)


def _lost(points: FloatArray, groups: IntArray) -> float:
    total = float((points**2).sum())
    return float(((points - published(points, groups, "mean")) ** 2).sum()) / total if total else 0.0


def published(values: FloatArray, groups: IntArray, publish: str) -> FloatArray:
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
