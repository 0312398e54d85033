"""Loops over the sets of points of each trace: which are shared by too few people. Compiled with numba where it is installed.

A trace is what one pseudonym shows; ``owner`` is its person. Traces are numbered so that those of a person follow each other,
and the traces at a point stand in order, so the people among them are counted in one walk.
"""

from __future__ import annotations

from typing import Any

from shoal.kernels.jit import lean_njit
from shoal.measures.events.sets import choose, common


@lean_njit
def owners(traces: Any, n: int, owner: Any, enough: int) -> int:
    """How many people the first n of some traces belong to; ``enough`` at most."""
    found, last = 0, -1
    for i in range(n):
        if owner[traces[i]] != last:
            last = owner[traces[i]]
            found += 1
            if found == enough:
                break
    return found


@lean_njit
def common_owners(known: Any, n: int, traces: Any, low: int, high: int, owner: Any, enough: int) -> int:
    """How many people the traces belong to that are both in ``known[:n]`` and in ``traces[low:high]``; ``enough`` at most."""
    found, last, i = 0, -1, 0
    while i < n and low < high:
        a, b = known[i], traces[low]
        if a == b and owner[a] != last:
            last = owner[a]
            found += 1
            if found == enough:
                break
        i += a <= b
        low += b <= a
    return found


@lean_njit
def most_each(first: Any, visitor: Any, owner: Any, out: Any) -> None:
    """``out[p]``: the most traces that one person has at point p."""
    for p in range(len(out)):
        run, last = 0, -1
        out[p] = 1
        for i in range(first[p], first[p + 1]):
            if owner[visitor[i]] != last:
                last, run = owner[visitor[i]], 0
            run += 1
            out[p] = max(out[p], run)


@lean_njit
def share(known: Any, n: int, traces: Any, low: int, high: int, owner: Any, enough: int) -> int:
    """One over the largest share that a person has in the traces that are both in ``known[:n]`` and in ``traces[low:high]``,
    rounded down: as many people as hide there. With ``enough`` traces it is known to be large, and not counted further.

    If everybody has one trace, it is the number of people. Somebody who has most of the traces is not hidden among the others.
    """
    found, longest, run, last, i = 0, 1, 0, -1, 0
    while i < n and low < high and found < enough:
        a, b = known[i], traces[low]
        if a == b:
            if owner[a] != last:
                last, run = owner[a], 0
            run += 1
            found += 1
            longest = max(longest, run)
        i += a <= b
        low += b <= a
    return found if found >= enough else found // longest


@lean_njit
def _weak_from(
    base: int, n: int, root: int, m: int, k: int, point: Any, first: Any, visitor: Any, owner: Any, most: Any, rooms: Any,
    at: Any, sizes: Any, mark: Any,
) -> bool:  # fmt: skip
    """Whether fewer than k people (:func:`share`) share a set of up to m points of this trace.

    The root is its rarest point, and no other one is marked. Nobody has more than ``most[p]`` traces at point p: k times as many
    traces are enough.
    """
    p = point[base + root]
    left = first[p + 1] - first[p]
    if left < k * most[p]:
        return True
    if m == 1:
        return False
    each = most[p]
    whole = visitor[first[p] : first[p + 1]]
    sizes[0] = left
    depth = 1
    at[1] = root
    while depth > 0:
        at[depth] += 1
        if at[depth] >= n:
            depth -= 1
            continue
        if mark[base + at[depth]]:
            continue
        p = point[base + at[depth]]
        low, high = first[p], first[p + 1]
        enough = k * min(each, most[p])
        if depth == 1:
            if share(whole, sizes[0], visitor, low, high, owner, enough) < k:
                return True
        elif share(rooms[depth - 1], sizes[depth - 1], visitor, low, high, owner, enough) < k:
            return True
        if depth == m - 1:
            continue
        if depth == 1:
            sizes[1] = common(whole, sizes[0], visitor, low, high, rooms[1], True)
        else:
            sizes[depth] = common(rooms[depth - 1], sizes[depth - 1], visitor, low, high, rooms[depth], True)
        depth += 1
        at[depth] = at[depth - 1]
    return False


@lean_njit
def mark_weak(
    start: Any, point: Any, first: Any, visitor: Any, owner: Any, which: Any, m: int, k: int, most: Any, rooms: Any, at: Any,
    sizes: Any, mark: Any,
) -> None:  # fmt: skip
    """In each of these traces, points to leave out so that every set of up to m of the others is shared by k people now.

    Points are taken up from the most popular to the rarest; one that makes a weak set with those taken up is marked.
    """
    for d in which:
        base = start[d]
        n = start[d + 1] - base
        for root in range(n - 1, -1, -1):
            if _weak_from(base, n, root, m, k, point, first, visitor, owner, most, rooms, at, sizes, mark):
                mark[base + root] = True


@lean_njit
def alone_shares(
    start: Any, point: Any, first: Any, visitor: Any, owner: Any, s: int, rooms: Any, at: Any, sizes: Any, out: Any
) -> None:
    """``out[d]``: the share of the sets of s points of trace d (of its only set, where it has fewer) that are one person's."""
    for d in range(len(out)):
        base = start[d]
        n = start[d + 1] - base
        size = min(s, n)
        alone = 0.0
        depth = 0
        at[0] = -1
        while depth >= 0:
            at[depth] += 1
            if at[depth] > n - size + depth:
                depth -= 1
                continue
            p = point[base + at[depth]]
            low, high = first[p], first[p + 1]
            last = depth == size - 1
            if depth == 0:
                left = high - low
                for i in range(left):
                    rooms[0, i] = visitor[low + i]
                people = owners(rooms[0], left, owner, 2)
            elif last:
                people = common_owners(rooms[depth - 1], sizes[depth - 1], visitor, low, high, owner, 2)
            else:
                left = common(rooms[depth - 1], sizes[depth - 1], visitor, low, high, rooms[depth], True)
                people = owners(rooms[depth], left, owner, 2)
            if people == 1:
                alone += choose(n - 1 - at[depth], size - 1 - depth)
            elif not last:
                sizes[depth] = left
                depth += 1
                at[depth] = at[depth - 1]
        out[d] = alone / choose(n, size)
