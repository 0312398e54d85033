"""MDAV and V-MDAV: groups of near records in several dimensions.

Records not yet in a group stand side by side, one array per dimension, so that a pass over distances runs at the speed of
memory; a record that joins a group is overwritten by the last one. Ties go to the record that came first. Many records are
searched in a tree instead (:mod:`shoal.techniques.kernels.mdav_tree`) that finds the same groups: sums are made one number after
the other, as its loops make them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def mdav(points: FloatArray, k: int) -> IntArray:
    """Group of each record; ``points`` (one row per dimension) is overwritten. All groups have k to 2k − 1 members."""
    n = points.shape[1]
    ids, group = np.arange(n), np.full(n, -1, np.int64)
    total = np.zeros(len(points))
    g = 0
    while n >= 2 * k:
        if g % 64 == 0:  # forget what rounding has added to the running sums
            total = np.cumsum(points[:, :n], axis=1)[:, -1]
        far = points[:, _first(_squared_distances(points[:, :n], total / n), ids)].copy()
        distances = _squared_distances(points[:, :n], far)
        opposite = points[:, _first(distances, ids)].copy()
        both = n >= 3 * k
        n = _take(points, ids, n, _nearest(distances, ids, k), total, group, g)
        g += 1
        if both:
            n = _take(points, ids, n, _nearest(_squared_distances(points[:, :n], opposite), ids, k), total, group, g)
            g += 1
    group[ids[:n]] = g
    return group


def v_mdav(points: FloatArray, k: int, gamma: float) -> IntArray:
    """Groups of k to 2k − 1 members, before the last few join the nearest: a group takes in its nearest free record while that
    is nearer to the group than ``gamma`` times its distance to the other free records. ``points`` is overwritten."""
    n = points.shape[1]
    everything, middle = points.copy(), np.cumsum(points, axis=1)[:, -1] / n
    ids, group = np.arange(n), np.full(n, -1, np.int64)
    total = np.zeros(len(points))
    g = 0
    while n >= k:
        far = points[:, _first(_squared_distances(points[:, :n], middle), ids)].copy()
        nearest = _nearest(_squared_distances(points[:, :n], far), ids, k)
        members = ids[nearest]
        n = _take(points, ids, n, nearest, total, group, g)
        near = np.full(n, np.inf)  # squared distance of each free record to the group
        for member in members if k > 1 else ():
            np.minimum(near, _squared_distances(points[:, :n], everything[:, member]), out=near)
        size = k
        while size < 2 * k - 1 and n > 0:
            best = _first(-near[:n], ids)
            candidate = points[:, best].copy()
            others = _squared_distances(points[:, :n], candidate)
            others[best] = np.inf
            if not near[best] < gamma * gamma * others.min():
                break
            near[best] = near[n - 1]
            n = _take(points, ids, n, np.array([best]), total, group, g)
            size += 1
            np.minimum(near[:n], _squared_distances(points[:, :n], candidate), out=near[:n])
        g += 1
    settled = group.copy()
    for i in ids[:n]:  # the last ones, fewer than k, join the group of the nearest record that has one
        distances = _squared_distances(everything, everything[:, i])
        group[i] = settled[np.argmin(np.where(settled >= 0, distances, np.inf))]
    return group


def _squared_distances(points: FloatArray, to: FloatArray) -> FloatArray:
    """Squared distances to a point, added up dimension by dimension as the loops of the tree do."""
    out: FloatArray = (points[0] - to[0]) ** 2
    for j in range(1, len(points)):
        out += (points[j] - to[j]) ** 2
    return out


def _first(values: FloatArray, ids: IntArray) -> int:
    """Position of the largest value; of equal ones the record that came first."""
    equal = np.flatnonzero(values == values.max())
    return int(equal[np.argmin(ids[equal])])


def _nearest(distances: FloatArray, ids: IntArray, k: int) -> IntArray:
    """Positions of the ``k`` nearest records, nearest first."""
    n = len(distances)
    some = np.flatnonzero(distances <= np.partition(distances, k - 1)[k - 1]) if n > 4 * k else np.arange(n)
    return np.asarray(some[np.lexsort((ids[some], distances[some]))[:k]])


def _take(points: FloatArray, ids: IntArray, n: int, chosen: IntArray, total: FloatArray, group: IntArray, g: int) -> int:
    """Put the found positions into group ``g`` and close the gaps; returns how many records remain."""
    group[ids[chosen]] = g
    for position in chosen:
        total -= points[:, position]
    for position in np.sort(chosen)[::-1]:  # from the back, so that the last record is never one that leaves
        n -= 1
        ids[position] = ids[n]
        points[:, position] = points[:, n]
    return n
