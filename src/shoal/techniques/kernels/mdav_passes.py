"""The passes of :mod:`shoal.techniques.kernels.mdav` over all records in numpy: the same answers where nothing is compiled."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def _squared(points: FloatArray, start: int, stop: int, to: FloatArray) -> FloatArray:
    """Squared distances to a point, added up dimension by dimension as the loops do."""
    out: FloatArray = (points[0, start:stop] - to[0]) ** 2
    for j in range(1, len(points)):
        out += (points[j, start:stop] - to[j]) ** 2
    return out


def chunk(points: FloatArray, start: int, stop: int, to: FloatArray, out: FloatArray) -> None:
    """Squared distances of records start..stop to a point, into the first places of ``out``."""
    out[: stop - start] = _squared(points, start, stop, to)


def farthest(points: FloatArray, ids: IntArray, n: int, to: FloatArray) -> int:
    """Position of the record farthest from a point; of equal ones the record that came first."""
    return _first(_squared(points, 0, n, to), ids)


def nearest(points: FloatArray, ids: IntArray, n: int, to: FloatArray, k: int, found: IntArray) -> int:
    """Positions of the ``k`` records nearest to a point, nearest first; returns the position of the farthest."""
    far = _squared(points, 0, n, to)
    if n > 4 * k:
        some = np.flatnonzero(far <= np.partition(far, k - 1)[k - 1])
    else:
        some = np.arange(n)
    found[: min(k, n)] = some[np.lexsort((ids[some], far[some]))[:k]]
    return _first(far, ids)


def lower(points: FloatArray, n: int, to: FloatArray, near: FloatArray) -> None:
    """``near`` becomes the smaller of itself and the squared distance to a point."""
    np.minimum(near[:n], _squared(points, 0, n, to), out=near[:n])


def closest_other(points: FloatArray, n: int, to: FloatArray, itself: int) -> float:
    """The squared distance from a point to the nearest record but one."""
    far = _squared(points, 0, n, to)
    far[itself] = np.inf
    return float(far.min())


def first_least(near: FloatArray, ids: IntArray, n: int) -> int:
    """Position of the smallest distance; of equal ones the record that came first."""
    return _first(-near[:n], ids)


def _first(values: FloatArray, ids: IntArray) -> int:
    """Position of the largest value; of equal ones the record that came first."""
    equal = np.flatnonzero(values == values.max())
    return int(equal[np.argmin(ids[equal])])
