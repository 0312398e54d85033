"""Loops of local recoding: greedy clusters of classes, and moving classes between clusters.

A *point* is a class of the base counts. Clusters publish, per column, either a set of values, a range, or a node of a tree.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import njit, plain, up_to
from shoal.model.counts.classes import BoolArray as Flags
from shoal.model.counts.classes import CodeArray as Codes
from shoal.model.counts.classes import FloatArray as Floats
from shoal.model.counts.classes import IntArray as Ints

SLACK = 1e-9
"""What a cost may be above a bound, relative to it, before a point is given up: more than the bound is rounded by."""


@njit
def gather_members(
    points: Codes, starts: Ints, ranges: Flags, price: Floats, records: Ints, sizes: Ints, k: int, order: Ints, label: Ints,
    base: int,
) -> int:  # fmt: skip
    """Greedy clusters of at least k members (k-member): from a seed, add the point that raises the cluster's cost least.

    ``points[x, j]`` is a code; a set costs ``price[j]`` for each value beyond the first, a range for each step of its width.
    Seeds are taken in the given order; the last cluster may stay too small. Labels start at ``base``; returns the next one.
    """
    n, m = points.shape
    inside = np.zeros(starts[m], dtype=np.bool_)
    low, high = np.zeros(m, dtype=np.int32), np.zeros(m, dtype=np.int32)
    alive = order.copy()
    place = np.empty(n, dtype=np.int64)
    for i in range(n):
        place[order[i]] = i
    left = n
    cluster = base
    for s in range(n):
        seed = order[s]
        if label[seed] >= 0:
            continue
        inside[:] = False
        for j in range(m):
            inside[starts[j] + points[seed, j]] = True
            low[j] = high[j] = points[seed, j]
        cost = 0.0
        mass, members = float(records[seed]), sizes[seed]
        label[seed] = cluster
        left = _drop(alive, place, seed, left)
        while members < k and left > 0:
            x = _nearest(points, starts, ranges, price, records, alive, left, inside, low, high, mass, cost)
            cost = _widen(points, x, starts, ranges, price, inside, low, high, cost)
            mass += records[x]
            members += sizes[x]
            label[x] = cluster
            left = _drop(alive, place, x, left)
        cluster += 1
    return cluster


@njit
def _nearest(
    points: Codes, starts: Ints, ranges: Flags, price: Floats, records: Ints, alive: Ints, left: int, inside: Flags,
    low: Codes, high: Codes, mass: float, cost: float,
) -> int:  # fmt: skip
    """The first of the ``left`` points of ``alive`` that raises the cost of a cluster least."""
    best, chosen, most = np.inf, -1, np.inf
    for i in range(left):
        x = alive[i]
        total = cost
        for j in range(points.shape[1]):
            v = points[x, j]
            if ranges[j]:
                if v > high[j]:
                    total += price[j] * (v - high[j])
                elif v < low[j]:
                    total += price[j] * (low[j] - v)
            elif not inside[starts[j] + v]:
                total += price[j]
            if total > most:
                break
        rise = (mass + records[x]) * total - mass * cost
        if rise < best:
            best, chosen = rise, x
            most = (best + mass * cost) / (mass + 1.0) * (1.0 + SLACK)
    return chosen


@njit
def _widen(
    points: Codes, x: int, starts: Ints, ranges: Flags, price: Floats, inside: Flags, low: Codes, high: Codes, cost: float
) -> float:
    """Take a point's values into a cluster; its cost per record."""
    for j in range(points.shape[1]):
        v = points[x, j]
        if ranges[j]:
            cost += price[j] * (max(0, v - high[j]) + max(0, low[j] - v))
            low[j], high[j] = min(low[j], v), max(high[j], v)
        elif not inside[starts[j] + v]:
            cost += price[j]
            inside[starts[j] + v] = True
    return cost


@njit
def _drop(alive: Ints, place: Ints, x: int, left: int) -> int:
    """Take x out of the first ``left`` entries of ``alive``."""
    at = place[x]
    last = alive[left - 1]
    alive[at] = last
    place[last] = at
    alive[left - 1] = x
    place[x] = left - 1
    return left - 1


@njit
def join_nearest(
    failing: Ints, blocks: Ints, reach: int, starts: Ints, begin: Ints, values: Ints, ranges: Flags, low: Ints, high: Ints,
    width: Floats, price: Floats, records: Ints, cost: Floats, target: Ints, touched: Flags,
) -> None:  # fmt: skip
    """Each failing cluster not yet touched joins the cluster of its block, at most ``reach`` away, with the least rise in cost.

    ``values[begin[j, a] : begin[j, a + 1]]`` are the codes of cluster a in column j, which ``starts[j]`` lays out in one row of
    marks; a range has ``low[j, a]`` and ``high[j, a]``. ``cost`` is the price per record of each cluster.
    """
    m, n = width.shape
    mine = np.zeros(starts[m], dtype=np.bool_)
    for a in failing:
        if touched[a]:
            continue
        for j in range(m):
            for at in range(begin[j, a], begin[j, a + 1]):
                mine[starts[j] + values[at]] = True
        best, chosen = np.inf, -1
        for b in range(max(0, a - reach), min(n, a + reach + 1)):
            if b == a or touched[b] or blocks[b] != blocks[a]:
                continue
            both, before = float(records[b] + records[a]), records[b] * cost[b]
            joined, good = 0.0, True
            for j in range(m):
                if ranges[j]:
                    wide = float(max(high[j, a], high[j, b]) - min(low[j, a], low[j, b]) + 1)
                else:
                    shared = 0
                    for at in range(begin[j, b], begin[j, b + 1]):
                        shared += mine[starts[j] + values[at]]
                    wide = width[j, b] + width[j, a] - shared
                joined += price[j] * (wide - 1.0)
                if both * joined - before - records[a] * cost[a] > best:
                    good = False
                    break
            if good:
                rise = both * joined - before - records[a] * cost[a]
                if rise < best:
                    best, chosen = rise, b
        for j in range(m):
            for at in range(begin[j, a], begin[j, a + 1]):
                mine[starts[j] + values[at]] = False
        if chosen >= 0:
            target[a] = target[chosen] = chosen
            touched[a] = touched[chosen] = True


@njit
def settle(
    label: Ints, points: Codes, groups: Codes, offsets: Ints, price: Floats, records: Ints, sizes: Ints,
    first: Ints, levels: Ints, mass: Floats, members: Ints, cost: Floats,
) -> None:  # fmt: skip
    """Lowest common ancestors of each cluster: level per column, records, members and cost per record."""
    n, m = points.shape
    for a in range(len(first)):
        first[a] = -1
        mass[a] = 0.0
        members[a] = 0
        cost[a] = 0.0
    for x in range(n):
        a = label[x]
        mass[a] += records[x]
        members[a] += sizes[x]
        if first[a] < 0:
            first[a] = x
            for j in range(m):
                levels[a, j] = 0
        else:
            for j in range(m):
                level = levels[a, j]
                while groups[offsets[j, level] + points[first[a], j]] != groups[offsets[j, level] + points[x, j]]:
                    level += 1
                levels[a, j] = level
    for a in range(len(first)):
        if first[a] >= 0:
            for j in range(m):
                cost[a] += price[offsets[j, levels[a, j]] + points[first[a], j]]


@njit
def _host(
    x: int, skip: int, limit: float, points: Codes, groups: Codes, offsets: Ints, price: Floats, records: Ints,
    first: Ints, levels: Ints, mass: Floats, cost: Floats,
) -> tuple[int, float]:  # fmt: skip
    """The cluster that takes point x at the least additional cost below ``limit``, and that cost; −1 where there is none."""
    m = points.shape[1]
    best, chosen = limit, -1
    own = float(records[x])
    for b in range(len(first)):
        if b == skip or mass[b] == 0.0 or own * cost[b] >= best:
            continue
        total = cost[b]
        both = mass[b] + own
        good = True
        for j in range(m):
            level = levels[b, j]
            p, q = points[first[b], j], points[x, j]
            at = offsets[j, level]
            if groups[at + p] != groups[at + q]:
                before = price[at + p]
                while groups[at + p] != groups[at + q]:
                    level += 1
                    at = offsets[j, level]
                total += price[at + p] - before
                if both * total - mass[b] * cost[b] >= best:
                    good = False
                    break
        if good:
            rise = both * total - mass[b] * cost[b]
            if rise < best:
                best, chosen = rise, b
    return chosen, best


@njit
def _admit(
    x: int, b: int, points: Codes, groups: Codes, offsets: Ints, price: Floats, records: Ints, sizes: Ints,
    first: Ints, levels: Ints, mass: Floats, members: Ints, cost: Floats,
) -> None:  # fmt: skip
    total = 0.0
    for j in range(points.shape[1]):
        level = levels[b, j]
        while groups[offsets[j, level] + points[first[b], j]] != groups[offsets[j, level] + points[x, j]]:
            level += 1
        levels[b, j] = level
        total += price[offsets[j, level] + points[first[b], j]]
    cost[b] = total
    mass[b] += records[x]
    members[b] += sizes[x]


@njit
def improve(
    label: Ints, points: Codes, groups: Codes, offsets: Ints, price: Floats, records: Ints, sizes: Ints, k: int,
    first: Ints, levels: Ints, mass: Floats, members: Ints, cost: Floats, order: Ints, begin: Ints, inside: Ints,
) -> int:  # fmt: skip
    """One sweep, dearest clusters first: move single points where the rest stays large enough, or dissolve a cluster.

    ``inside[begin[a] : begin[a + 1]]`` are the points of cluster a. Returns the number of clusters that changed.
    """
    changed = 0
    for i in range(len(order)):
        a = order[i]
        if mass[a] == 0.0 or cost[a] <= 0.0:
            continue
        gain, still, moved = 0.0, np.int64(0), False
        for at in range(begin[a], begin[a + 1]):
            x = inside[at]
            if label[x] != a:
                continue
            b, rise = _host(x, a, 2.0 * records[x] * cost[a], points, groups, offsets, price, records, first, levels, mass, cost)
            if b < 0:
                still = np.int64(-(1 << 60))
                continue
            saved = records[x] * cost[a] - rise
            if saved > 1e-9 and members[a] - sizes[x] >= k:
                label[x] = b
                _admit(x, b, points, groups, offsets, price, records, sizes, first, levels, mass, members, cost)
                mass[a] -= records[x]
                members[a] -= sizes[x]
                moved = True
            else:
                gain += saved
                still += sizes[x]
        if still == members[a] and gain > 1e-9:
            mass[a] = 0.0
            members[a] = 0
            for at in range(begin[a], begin[a + 1]):
                x = inside[at]
                if label[x] == a:
                    b, _ = _host(x, a, np.inf, points, groups, offsets, price, records, first, levels, mass, cost)
                    label[x] = b
                    _admit(x, b, points, groups, offsets, price, records, sizes, first, levels, mass, members, cost)
            moved = True
        if moved:
            changed += 1
    return changed


def settle_by_columns(
    label: Ints, points: Codes, groups: Codes, offsets: Ints, price: Floats, records: Ints, sizes: Ints,
    first: Ints, levels: Ints, mass: Floats, members: Ints, cost: Floats,
) -> None:  # fmt: skip
    """What :func:`settle` finds, all clusters at once."""
    n = len(first)
    mass[:], members[:], cost[:] = np.bincount(label, weights=records, minlength=n), 0, 0.0
    np.add.at(members, label, sizes)
    inside = np.argsort(label, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(label[inside]) != 0)) if len(label) else inside
    there = label[inside[starts]]
    first[:] = -1
    first[there] = inside[starts]
    levels[there] = 0
    for j in range(points.shape[1]):
        codes = points[inside, j]
        for level in range(offsets.shape[1]):
            group = groups[offsets[j, level] + codes]
            apart = np.minimum.reduceat(group, starts) != np.maximum.reduceat(group, starts)
            if not apart.any():
                break
            levels[there, j] += apart
        cost[there] += price[offsets[j, levels[there, j]] + codes[starts]]


FEW = up_to(384)
"""Fewer points than these go by numpy, in less time than numba is loaded. In plain Python the loops take 60 times as long."""


def gather_few(
    points: Codes, starts: Ints, ranges: Flags, price: Floats, records: Ints, sizes: Ints, k: int, order: Ints, label: Ints,
    base: int,
) -> int:  # fmt: skip
    """What :func:`gather_members` finds, all points at once: numpy adds the same numbers in the same order.

    The points that are left stand first in ``table``: number, records, values, and what each value would add to the cost.
    """
    left, m, cluster, ranged = len(points), points.shape[1], base, np.flatnonzero(ranges).tolist()
    table, place, paid = np.empty((2 * m + 2, left)), np.empty(left, dtype=np.int64), price[:, None]
    table[0], table[1], table[2 : m + 2], place[order] = order, records[order], points[order].T, np.arange(left)
    own, codes, rises = table[1], table[2 : m + 2], table[m + 2 :]

    def drop(at: int) -> int:
        last = left - 1
        place[int(table[0, last])] = at
        table[:, at] = table[:, last]
        return last

    for seed in order.tolist():
        if label[seed] >= 0:
            continue
        label[seed], cost, mass, members = cluster, 0.0, float(records[seed]), int(sizes[seed])
        at = int(place[seed])
        if members < k:
            low = codes[:, at].tolist()
            high = low.copy()
            np.multiply(codes[:, :left] != codes[:, at : at + 1], paid, out=rises[:, :left])
            for j in ranged:
                rises[j, :left] = price[j] * np.abs(codes[j, :left] - low[j])
        left = drop(at)
        while members < k and left > 0:
            total = np.add.reduce(rises[:, :left], axis=0, initial=cost)
            total *= own[:left] + mass
            total -= mass * cost
            at = int(total.argmin())
            x, more, *rest = table[:, at].tolist()
            for dearer in rest[m:]:
                cost += dearer
            mass += more
            members += int(sizes[int(x)])
            label[int(x)] = cluster
            if members < k:
                rises[:, :left] *= codes[:, :left] != codes[:, at : at + 1]
            left = drop(at)
            for j in ranged if members < k else ():
                if rest[m + j]:
                    low[j], high[j], mine = min(low[j], rest[j]), max(high[j], rest[j]), codes[j, :left]
                    rises[j, :left] = price[j] * (np.maximum(mine - high[j], 0) + np.maximum(low[j] - mine, 0))
        cluster += 1
    return cluster


def improve_few(
    label: Ints, points: Codes, groups: Codes, offsets: Ints, price: Floats, records: Ints, sizes: Ints, k: int,
    first: Ints, levels: Ints, mass: Floats, members: Ints, cost: Floats, order: Ints, begin: Ints, inside: Ints,
) -> int:  # fmt: skip
    """What :func:`improve` finds, all clusters at once. The ``groups`` of two points differ at the levels below their lowest
    common ancestor: so many levels must a cluster be raised to."""
    at_levels, (m, height) = groups[offsets + points[:, :, None]], offsets.shape
    moving = [x for a in order.tolist() for x in inside[begin[a] : begin[a + 1]].tolist()]
    apart = (at_levels[first] != at_levels[moving][:, None]).sum(axis=3).transpose(0, 2, 1)
    raised, prices = dict(zip(moving, apart, strict=True)), price[offsets + points[first][:, :, None]].reshape(-1)
    place = (np.arange(len(first)) * m + np.arange(m)[:, None]) * height
    paid, total = prices[place + levels.T], np.empty((m + 1, len(first)))

    def host(x: int, skip: int, limit: float, *_: object) -> tuple[int, float]:
        own = float(records[x])
        least = own * cost
        total[0] = cost
        np.subtract(prices[place + np.maximum(levels.T, raised[x])], paid, out=total[1:])
        rises = (mass + own) * np.add.accumulate(total)[-1] - mass * cost
        rises[skip] = np.inf
        best, chosen = limit, -1
        near = np.flatnonzero((rises < limit) & (least < limit) & (mass != 0.0))
        for b, rise, bound in zip(near.tolist(), rises[near].tolist(), least[near].tolist(), strict=True):
            if bound < best and rise < best:
                best, chosen = rise, b
        return chosen, best

    def admit(x: int, b: int, *_: object) -> None:
        levels[b] = np.maximum(levels[b], raised[x][:, b])
        paid[:, b] = prices[place[:, b] + levels[b]]
        cost[b] = np.add.accumulate(paid[:, b])[-1]
        mass[b] += records[x]
        members[b] += sizes[x]

    swept = plain(improve, _host=host, _admit=admit)
    return swept(
        label, points, groups, offsets, price, records, sizes, k, first, levels, mass, members, cost, order, begin, inside
    )
