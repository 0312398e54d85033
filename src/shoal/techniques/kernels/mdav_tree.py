"""MDAV and V-MDAV of many records: the groups of :mod:`shoal.techniques.kernels.mdav`, to the last tie, from a tree.

A pass over all records becomes a search in a tree of those that have no group yet, so that the time no longer grows with the
square of the records; with many columns a search sees much of the tree, and little is gained.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.kernels.jit import njit
from shoal.techniques.kernels.mdav import _join_rest, _point
from shoal.techniques.kernels.near_tree import Tree, farthest, leave, look_from, nearest, plant

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@njit
def mdav(points: FloatArray, k: int) -> IntArray:
    """Group of each record; ``points`` has one row per dimension and is overwritten."""
    dimensions, n = points.shape
    tree = plant(points, np.zeros(dimensions))
    slot, record = np.arange(n), np.arange(n)  # where each record stands among ``points``, and which one stands there
    group = np.full(n, -1, np.int64)
    found, near = np.empty(max(k, 1), np.int64), np.empty(max(k, 1))
    total = np.zeros(dimensions)
    g = looked = 0
    while n >= 2 * k:
        if g % 64 == 0:  # forget what rounding has added to the running sums
            for j in range(dimensions):
                total[j] = points[j, :n].sum()
        end, seen = farthest(tree, total / n)
        looked += seen
        if looked > len(tree.held):  # the mean has moved
            look_from(tree, total / n)
            looked = 0
        far = _point(points, slot[end])
        opposite = _point(points, slot[farthest(tree, far)[0]])
        both = n >= 3 * k
        nearest(tree, far, k, found, near)
        n = _take(tree, points, slot, record, n, found, total, group, g)
        g += 1
        if both:
            nearest(tree, opposite, k, found, near)
            n = _take(tree, points, slot, record, n, found, total, group, g)
            g += 1
    for i in range(n):
        group[record[i]] = g
    return group


@njit
def _take(
    tree: Tree, points: FloatArray, slot: IntArray, record: IntArray, n: int, found: IntArray, total: FloatArray,
    group: IntArray, g: int,
) -> int:  # fmt: skip
    """Put the found records into group ``g``; the last of ``points`` fill their gaps, as without a tree: sums are then
    the same to the last bit. Returns how many records remain."""
    gaps = np.empty(len(found), np.int64)
    for i in range(len(found)):
        group[found[i]] = g
        gaps[i] = slot[found[i]]
        for j in range(len(points)):
            total[j] -= points[j, gaps[i]]
        leave(tree, found[i])
    gaps.sort()
    for i in range(len(gaps) - 1, -1, -1):
        n -= 1
        p = gaps[i]
        record[p] = record[n]
        slot[record[p]] = p
        for j in range(len(points)):
            points[j, p] = points[j, n]
    return n


@njit
def v_mdav(points: FloatArray, k: int, gamma: float) -> IntArray:
    """Groups of k to 2k − 1 members, before the last few join the nearest."""
    dimensions, n = points.shape
    middle = np.empty(dimensions)
    for j in range(dimensions):
        middle[j] = points[j].mean()
    tree = plant(points, middle)
    group = np.full(n, -1, np.int64)
    members, near = np.empty(2 * k, np.int64), np.empty(2 * k)
    closest, distance = np.empty(2 * k, np.int64), np.empty(2 * k)  # of each member, the nearest record without a group
    g = 0
    while n >= k:
        end, _ = farthest(tree, middle)
        nearest(tree, _point(points, end), k, members, near)
        for i in range(k):
            group[members[i]] = g
            leave(tree, members[i])
        n -= k
        size, known = k, 0
        while size < 2 * k - 1 and n > 0:
            while known < size:
                _find_closest(tree, points, members, known, closest, distance)
                known += 1
            best = _first_least(distance, closest, size)
            candidate = closest[best]
            if not distance[best] < gamma * gamma * _closest_other(tree, _point(points, candidate), candidate):
                break
            group[candidate] = g
            leave(tree, candidate)
            n -= 1
            for m in range(size):
                if n > 0 and closest[m] == candidate:
                    _find_closest(tree, points, members, m, closest, distance)
            members[size] = candidate
            size += 1
        g += 1
    rest = np.empty(k, np.int64)
    n = 0
    for i in range(len(group)):
        if group[i] < 0:
            rest[n] = i
            n += 1
    _join_rest(points, rest, n, group)
    return group


@njit
def _find_closest(tree: Tree, points: FloatArray, members: IntArray, m: int, closest: IntArray, distance: FloatArray) -> None:
    nearest(tree, _point(points, members[m]), 1, closest[m : m + 1], distance[m : m + 1])


@njit
def _first_least(distance: FloatArray, records: IntArray, n: int) -> int:
    """Position of the smallest distance; of equal ones that of the record that came first."""
    best = 0
    for i in range(1, n):
        if distance[i] < distance[best] or (distance[i] == distance[best] and records[i] < records[best]):
            best = i
    return best


@njit
def _closest_other(tree: Tree, to: FloatArray, itself: int) -> float:
    """The squared distance from a record to the nearest other one; infinite where it is alone."""
    found, near = np.empty(2, np.int64), np.empty(2)
    size = nearest(tree, to, 2, found, near)
    if found[0] != itself:
        return float(near[0])
    return float(near[1]) if size == 2 else np.inf
