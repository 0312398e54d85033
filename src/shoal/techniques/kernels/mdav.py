"""MDAV and V-MDAV: groups of near records in several dimensions.

Records not yet in a group stand side by side, one array per dimension, so that a pass over distances runs at the speed of
memory; a record that joins a group is overwritten by the last one. Ties go to the record that came first. The passes over all
records stand here in numpy too, with the same answers, for installations where nothing is compiled.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.kernels.jit import HAVE_NUMBA, njit


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


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


CHUNK = 512


@njit
def _chunk(points: FloatArray, start: int, stop: int, to: FloatArray, out: FloatArray) -> None:
    """Squared distances of records start..stop to a point, into the first places of ``out`` (which stays in the cache)."""
    row = points[0]
    c = to[0]
    for i in range(stop - start):
        d = row[start + i] - c
        out[i] = d * d
    for j in range(1, len(points)):
        row = points[j]
        c = to[j]
        for i in range(stop - start):
            d = row[start + i] - c
            out[i] += d * d


@njit
def _farthest(points: FloatArray, ids: IntArray, n: int, to: FloatArray) -> int:
    """Position of the record farthest from a point."""
    out = np.empty(CHUNK)
    where, best = -1, -1.0
    for start in range(0, n, CHUNK):
        stop = min(start + CHUNK, n)
        _chunk(points, start, stop, to, out)
        for i in range(stop - start):
            if out[i] >= best and (out[i] > best or ids[start + i] < ids[where]):
                where, best = start + i, out[i]
    return where


@njit
def _nearest(points: FloatArray, ids: IntArray, n: int, to: FloatArray, k: int, found: IntArray) -> int:
    """Positions of the ``k`` records nearest to a point, nearest first; returns the position of the farthest."""
    out = np.empty(CHUNK)
    near = np.empty(k)
    size = 0
    where, best = -1, -1.0
    for start in range(0, n, CHUNK):
        stop = min(start + CHUNK, n)
        _chunk(points, start, stop, to, out)
        for i in range(stop - start):
            d = out[i]
            if d >= best and (d > best or ids[start + i] < ids[where]):
                where, best = start + i, d
            if size == k and d > near[k - 1]:
                continue
            p = start + i
            if size == k and d == near[k - 1] and ids[p] > ids[found[k - 1]]:
                continue
            if size < k:
                size += 1
            j = size - 1
            while j > 0 and (near[j - 1] > d or (near[j - 1] == d and ids[found[j - 1]] > ids[p])):
                found[j], near[j] = found[j - 1], near[j - 1]
                j -= 1
            found[j], near[j] = p, d
    return where


@njit
def _take(
    points: FloatArray, ids: IntArray, n: int, found: IntArray, count: int, total: FloatArray, group: IntArray, g: int
) -> int:
    """Put ``count`` found positions into group ``g`` and close the gaps; returns how many records remain."""
    for i in range(count):
        group[ids[found[i]]] = g
        for j in range(len(points)):
            total[j] -= points[j, found[i]]
    order = np.sort(found[:count])
    for i in range(count - 1, -1, -1):  # from the back, so that the last record is never one that leaves
        n -= 1
        p = order[i]
        ids[p] = ids[n]
        for j in range(len(points)):
            points[j, p] = points[j, n]
    return n


@njit
def _point(points: FloatArray, i: int) -> FloatArray:
    out = np.empty(len(points))
    for j in range(len(points)):
        out[j] = points[j, i]
    return out


@njit
def mdav(points: FloatArray, k: int) -> IntArray:
    """Group of each record; ``points`` (one row per dimension) is overwritten. All groups have k to 2k − 1 members."""
    n = points.shape[1]
    ids = np.arange(n)
    group = np.full(n, -1, np.int64)
    found = np.empty(max(k, 1), np.int64)
    total = np.zeros(len(points))
    g = 0
    while n >= 2 * k:
        if g % 64 == 0:  # forget what rounding has added to the running sums
            for j in range(len(points)):
                total[j] = points[j, :n].sum()
        far = _point(points, _farthest(points, ids, n, total / n))
        opposite = _point(points, _nearest(points, ids, n, far, k, found))
        both = n >= 3 * k
        n = _take(points, ids, n, found, k, total, group, g)
        g += 1
        if both:
            _nearest(points, ids, n, opposite, k, found)
            n = _take(points, ids, n, found, k, total, group, g)
            g += 1
    for i in range(n):
        group[ids[i]] = g
    return group


@njit
def _lower(points: FloatArray, n: int, to: FloatArray, near: FloatArray) -> None:
    """``near`` becomes the smaller of itself and the squared distance to a point."""
    out = np.empty(CHUNK)
    for start in range(0, n, CHUNK):
        stop = min(start + CHUNK, n)
        _chunk(points, start, stop, to, out)
        for i in range(stop - start):
            if out[i] < near[start + i]:
                near[start + i] = out[i]


@njit
def _closest_other(points: FloatArray, n: int, to: FloatArray, itself: int) -> float:
    out = np.empty(CHUNK)
    best = np.inf
    for start in range(0, n, CHUNK):
        stop = min(start + CHUNK, n)
        _chunk(points, start, stop, to, out)
        for i in range(stop - start):
            if out[i] < best and start + i != itself:
                best = out[i]
    return best


@njit
def _first_least(near: FloatArray, ids: IntArray, n: int) -> int:
    """Position of the smallest distance; of equal ones the record that came first."""
    best = 0
    for i in range(1, n):
        if near[i] < near[best] or (near[i] == near[best] and ids[i] < ids[best]):
            best = i
    return best


@njit
def v_mdav(points: FloatArray, k: int, gamma: float) -> IntArray:
    """Groups of k to 2k − 1 members, before the last few join the nearest: a group takes in its nearest free record while that
    is nearer to the group than ``gamma`` times its distance to the other free records. ``points`` is overwritten."""
    n = points.shape[1]
    everything = points.copy()
    ids = np.arange(n)
    group = np.full(n, -1, np.int64)
    found = np.empty(max(k, 1), np.int64)
    one = np.empty(1, np.int64)
    total = np.zeros(len(points))
    middle = np.empty(len(points))
    for j in range(len(points)):
        middle[j] = points[j].mean()
    g = 0
    while n >= k:
        far = _point(points, _farthest(points, ids, n, middle))
        _nearest(points, ids, n, far, k, found)
        members = ids[found[:k]].copy()
        n = _take(points, ids, n, found, k, total, group, g)
        size = k
        near = np.full(n, np.inf)  # squared distance of each free record to the group
        if 2 * k - 1 > k:
            for m in members:
                _lower(points, n, _point(everything, m), near)
        while size < 2 * k - 1 and n > 0:
            best = _first_least(near, ids, n)
            candidate = _point(points, best)
            if not near[best] < gamma * gamma * _closest_other(points, n, candidate, best):
                break
            one[0] = best
            near[best] = near[n - 1]
            n = _take(points, ids, n, one, 1, total, group, g)
            size += 1
            _lower(points, n, candidate, near)
        g += 1
    _join_rest(everything, ids, n, group)
    return group


@njit
def _join_rest(points: FloatArray, ids: IntArray, n: int, group: IntArray) -> None:
    """The last records, fewer than k, join the group of the nearest record that has one."""
    size = points.shape[1]
    distance = np.empty(size)
    settled = group.copy()
    for i in range(n):
        _chunk(points, 0, size, _point(points, ids[i]), distance)
        best = -1
        for m in range(size):
            if settled[m] >= 0 and (best < 0 or distance[m] < distance[best]):
                best = m
        group[ids[i]] = settled[best]


if not HAVE_NUMBA:  # the passes over all records are the loops that matter
    _chunk, _farthest, _nearest = chunk, farthest, nearest
    _lower, _closest_other, _first_least = lower, closest_other, first_least
