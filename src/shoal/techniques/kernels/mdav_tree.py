"""MDAV of many records: the groups of :mod:`shoal.techniques.kernels.mdav`, to the last tie, from a tree.

A pass over all records becomes a search in a tree of those that have no group yet, so that the time no longer grows with the
square of the records; with many columns a search sees much of the tree, and little is gained.

Records stand in leaves of :data:`LEAF`. Every node knows the smallest box around the records that are still in it, how far they
reach from a centre, and which of them came first; so a search passes by what lies too far away, or too near. Boxes bound
distances as they are computed, dimension by dimension and rounded each time: what is found is what a pass over all records
finds. Of equal distances the record that came first is meant. Nodes are numbered as in a heap: 1 is the root, 2i and 2i + 1 are
the children of i, and the leaves are the last ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels.jit import njit

LEAF = 16
SLACK = 1.0 + 1e-12
"""Reach is a sum of two rounded lengths: a little more is allowed for."""
NONE = np.iinfo(np.int64).max


class Tree(NamedTuple):
    """``slots``: the records, one row each, in the order of the leaves; ``ids``: which record stands in each slot; ``where``: the
    slot of each record; ``held``: how many records each leaf still has. Of each node ``box`` has the low and the high corner and,
    at the end, the largest distance of a record from ``centre``; ``first`` the record that came first."""

    slots: FloatArray
    ids: IntArray
    where: IntArray
    held: IntArray
    box: FloatArray
    first: IntArray
    centre: FloatArray


@njit
def plant(points: FloatArray, centre: FloatArray) -> Tree:
    """The tree of ``points`` (one row per dimension)."""
    d, n = points.shape
    slots, ids = np.empty((n, d)), np.empty(n, np.int64)
    for i in range(n):
        ids[i] = i
        for j in range(d):
            slots[i, j] = points[j, i]
    leaves = 1
    while leaves * LEAF < n:
        leaves *= 2
    level, span = 1, leaves * LEAF
    while span > LEAF:
        for node in range(level):
            start, stop = node * span, min((node + 1) * span, n)
            if start + span // 2 < stop:
                _part(slots, ids, start, stop, start + span // 2, _widest(slots, start, stop))
        level, span = 2 * level, span // 2
    where, held = np.empty(n, np.int64), np.zeros(leaves, np.int64)
    for i in range(n):
        where[ids[i]] = i
    for leaf in range(leaves):
        held[leaf] = max(0, min(LEAF, n - leaf * LEAF))
    box, first = np.empty((2 * leaves, 2 * d + 1)), np.empty(2 * leaves, np.int64)
    tree = Tree(slots, ids, where, held, box, first, np.empty(d))
    look_from(tree, centre)
    return tree


@njit
def _widest(slots: FloatArray, start: int, stop: int) -> int:
    best, width = 0, -1.0
    for j in range(slots.shape[1]):
        low = high = slots[start, j]
        for i in range(start, stop):
            low, high = min(low, slots[i, j]), max(high, slots[i, j])
        if high - low > width:
            best, width = j, high - low
    return best


@njit
def _part(slots: FloatArray, ids: IntArray, start: int, stop: int, middle: int, column: int) -> None:
    """Records with smaller numbers before ``middle``, those with larger ones from there on (Hoare's selection)."""
    low, high = start, stop - 1
    while low < high:
        pivot = slots[(low + high) // 2, column]
        i, j = low, high
        while i <= j:
            while slots[i, column] < pivot:
                i += 1
            while slots[j, column] > pivot:
                j -= 1
            if i <= j:
                _swap(slots, ids, i, j)
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@njit
def _swap(slots: FloatArray, ids: IntArray, i: int, j: int) -> None:
    ids[i], ids[j] = ids[j], ids[i]
    for c in range(slots.shape[1]):
        slots[i, c], slots[j, c] = slots[j, c], slots[i, c]


@njit
def look_from(tree: Tree, centre: FloatArray) -> None:
    """Recompute every node, and its reach from ``centre``: searches from near there are the quickest."""
    for j in range(len(centre)):
        tree.centre[j] = centre[j]
    leaves = len(tree.held)
    for leaf in range(leaves):
        _know_leaf(tree.slots, tree.ids, tree.held, tree.box, tree.first, tree.centre, leaf)
    for node in range(leaves - 1, 0, -1):
        _know_parent(tree.box, tree.first, node)


@njit
def _know_leaf(
    slots: FloatArray, ids: IntArray, held: IntArray, box: FloatArray, first: IntArray, centre: FloatArray, leaf: int
) -> None:
    node, start, d = len(held) + leaf, leaf * LEAF, len(centre)
    first[node], reach = NONE, -1.0
    for j in range(d):
        box[node, j], box[node, d + j] = np.inf, -np.inf
    for i in range(start, start + held[leaf]):
        first[node] = min(first[node], ids[i])
        reach = max(reach, _squared_distances(slots, i, centre))
        for j in range(d):
            box[node, j], box[node, d + j] = min(box[node, j], slots[i, j]), max(box[node, d + j], slots[i, j])
    box[node, 2 * d] = np.sqrt(reach) if reach >= 0 else -1.0


@njit
def _know_parent(box: FloatArray, first: IntArray, node: int) -> bool:
    """What a node knows, from its children; whether it changed."""
    one, other, d = 2 * node, 2 * node + 1, box.shape[1] // 2
    least = min(first[one], first[other])
    changed = bool(least != first[node])
    first[node] = least
    for j in range(2 * d + 1):
        new = min(box[one, j], box[other, j]) if j < d else max(box[one, j], box[other, j])
        if new != box[node, j]:
            box[node, j], changed = new, True
    return changed


@njit
def leave(tree: Tree, i: int) -> None:
    """Record ``i`` leaves; the last one of its leaf takes its slot."""
    slot = tree.where[i]
    leaf = slot // LEAF
    tree.held[leaf] -= 1
    last = leaf * LEAF + tree.held[leaf]
    _swap(tree.slots, tree.ids, slot, last)
    tree.where[tree.ids[slot]], tree.where[tree.ids[last]] = slot, last
    _know_leaf(tree.slots, tree.ids, tree.held, tree.box, tree.first, tree.centre, leaf)
    node = (len(tree.held) + leaf) // 2
    while node >= 1 and _know_parent(tree.box, tree.first, node):
        node //= 2


@njit
def _squared_distances(slots: FloatArray, i: int, to: FloatArray) -> float:
    out = 0.0
    for j in range(len(to)):
        d = slots[i, j] - to[j]
        out += d * d
    return out


@njit
def _at_least(box: FloatArray, node: int, to: FloatArray) -> float:
    """No record of the node is nearer; infinite where it has none."""
    out, dimensions = 0.0, len(to)
    for j in range(dimensions):
        d = max(0.0, box[node, j] - to[j], to[j] - box[node, dimensions + j])
        out += d * d
    return out


@njit
def _at_most(box: FloatArray, node: int, to: FloatArray, away: float) -> float:
    """No record of the node is farther from a point that is ``away`` from the centre; −1 where it has none."""
    out, dimensions = 0.0, len(to)
    reach = box[node, 2 * dimensions]
    if reach < 0:
        return -1.0
    for j in range(dimensions):
        d = max(abs(box[node, j] - to[j]), abs(box[node, dimensions + j] - to[j]))
        out += d * d
    reach = (reach + away) * SLACK
    return float(min(out, reach * reach))


@njit
def nearest(tree: Tree, to: FloatArray, k: int, chosen: IntArray, near: FloatArray) -> int:
    """The ``k`` records nearest to a point into ``chosen``, nearest first, and their squared distances; how many there are."""
    slots, ids, box, first, leaves = tree.slots, tree.ids, tree.box, tree.first, len(tree.held)
    size, depth = 0, 1
    waiting, bound = np.empty(64, np.int64), np.empty(64)
    waiting[0], bound[0] = 1, _at_least(box, 1, to)
    while depth:
        depth -= 1
        node, least = waiting[depth], bound[depth]
        if size == k and (least > near[k - 1] or (least == near[k - 1] and first[node] > chosen[k - 1])):
            continue
        if node < leaves:
            one, other = 2 * node, 2 * node + 1
            a, b = _at_least(box, one, to), _at_least(box, other, to)
            if b < a or (b == a and first[other] < first[one]):
                one, other, a, b = other, one, b, a
            if b < np.inf:
                waiting[depth], bound[depth] = other, b
                depth += 1
            if a < np.inf:
                waiting[depth], bound[depth] = one, a
                depth += 1
            continue
        start = (node - leaves) * LEAF
        for p in range(start, start + tree.held[node - leaves]):
            size = _put_in(ids[p], _squared_distances(slots, p, to), k, size, chosen, near)
    return size


@njit
def _put_in(i: int, d: float, k: int, size: int, chosen: IntArray, near: FloatArray) -> int:
    """Among the ``k`` nearest so far, if it is one of them; how many they are now."""
    if size == k and (d > near[k - 1] or (d == near[k - 1] and i > chosen[k - 1])):
        return size
    size = min(size + 1, k)
    j = size - 1
    while j > 0 and (near[j - 1] > d or (near[j - 1] == d and chosen[j - 1] > i)):
        chosen[j], near[j] = chosen[j - 1], near[j - 1]
        j -= 1
    chosen[j], near[j] = i, d
    return size


@njit
def farthest(tree: Tree, to: FloatArray) -> tuple[int, int]:
    """The record farthest from a point (−1 where none is left), and how many leaves were looked into."""
    slots, ids, box, first, leaves = tree.slots, tree.ids, tree.box, tree.first, len(tree.held)
    depth, looked = 1, 0
    away = 0.0
    for j in range(len(to)):
        away += (to[j] - tree.centre[j]) ** 2
    away = np.sqrt(away)
    where, best = -1, -1.0
    waiting, bound = np.empty(64, np.int64), np.empty(64)
    waiting[0], bound[0] = 1, _at_most(box, 1, to, away)
    while depth:
        depth -= 1
        node, most = waiting[depth], bound[depth]
        if most < 0 or most < best or (most == best and first[node] > where):
            continue
        if node < leaves:
            one, other = 2 * node, 2 * node + 1
            a, b = _at_most(box, one, to, away), _at_most(box, other, to, away)
            if b > a or (b == a and first[other] < first[one]):
                one, other, a, b = other, one, b, a
            waiting[depth], bound[depth] = other, b
            waiting[depth + 1], bound[depth + 1] = one, a
            depth += 2
            continue
        looked += 1
        start = (node - leaves) * LEAF
        for p in range(start, start + tree.held[node - leaves]):
            d = _squared_distances(slots, p, to)
            if d > best or (d == best and ids[p] < where):
                where, best = ids[p], d
    return where, looked


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@njit
def _point(points: FloatArray, i: int) -> FloatArray:
    out = np.empty(len(points))
    for j in range(len(points)):
        out[j] = points[j, i]
    return out


@njit
def mdav(points: FloatArray, k: int) -> IntArray:
    """Group of each record; ``points`` has one row per dimension and is overwritten."""
    dimensions, n = points.shape
    tree = plant(points, np.zeros(dimensions))
    slot, record = np.arange(n), np.arange(n)  # where each record stands among ``points``, and which one stands there
    group = np.full(n, -1, np.int64)
    chosen, near = np.empty(max(k, 1), np.int64), np.empty(max(k, 1))
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
        nearest(tree, far, k, chosen, near)
        n = _take(tree, points, slot, record, n, chosen, total, group, g)
        g += 1
        if both:
            nearest(tree, opposite, k, chosen, near)
            n = _take(tree, points, slot, record, n, chosen, total, group, g)
            g += 1
    for i in range(n):
        group[record[i]] = g
    return group


@njit
def _take(
    tree: Tree, points: FloatArray, slot: IntArray, record: IntArray, n: int, chosen: IntArray, total: FloatArray,
    group: IntArray, g: int,
) -> int:  # fmt: skip
    """Put the found records into group ``g``; the last of ``points`` fill their gaps, as without a tree: sums are then
    the same to the last bit. Returns how many records remain."""
    gaps = np.empty(len(chosen), np.int64)
    for i in range(len(chosen)):
        group[chosen[i]] = g
        gaps[i] = slot[chosen[i]]
        for j in range(len(points)):
            total[j] -= points[j, gaps[i]]
        leave(tree, chosen[i])
    gaps.sort()
    for i in range(len(gaps) - 1, -1, -1):
        n -= 1
        p = gaps[i]
        record[p] = record[n]
        slot[record[p]] = p
        for j in range(len(points)):
            points[j, p] = points[j, n]
    return n
