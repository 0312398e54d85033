"""Loops over traces: how many people were at all of some points. Compiled with numba; with numpy where that is not installed.

The people at a point stand in order, so the people at two points are found by walking both lists, or by looking each person of a
short list up in a long one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels.jit import lean_njit

LOPSIDED = 16
"""A list this many times longer than the other is searched, not walked."""


@lean_njit
def _find(people: Any, low: int, high: int, person: int) -> int:
    """The first place in ``people[low:high]`` that is not before ``person``."""
    while low < high:
        middle = (low + high) >> 1
        if people[middle] < person:
            low = middle + 1
        else:
            high = middle
    return low


@lean_njit
def common(known: Any, n: int, people: Any, low: int, high: int, out: Any, keep: bool) -> int:
    """How many of ``known[:n]`` are in ``people[low:high]``; with ``keep`` they are written to ``out`` (may be ``known``)."""
    found, i = 0, 0
    if (high - low) > LOPSIDED * n:
        for i in range(n):
            low = _find(people, low, high, known[i])
            if low == high:
                break
            if people[low] == known[i]:
                if keep:
                    out[found] = known[i]
                found += 1
        return found
    while i < n and low < high:
        a, b = known[i], people[low]
        if a == b:
            if keep:
                out[found] = a
            found += 1
        i += a <= b
        low += b <= a
    return found


@lean_njit
def _copy(people: Any, low: int, n: int, out: Any) -> None:
    for i in range(n):
        out[i] = people[low + i]


@lean_njit
def walk(start: Any, point: Any, first: Any, visitor: Any, people: Any, picks: Any, room: Any, out: Any) -> None:
    """Draw d learns the points ``picks[d]`` of person ``people[d]`` one by one (−1: no more); ``out[d, j]`` is how many people
    were at the first j + 1 of them."""
    for d in range(len(people)):
        base = start[people[d]]
        n = 0
        for j in range(picks.shape[1]):
            if picks[d, j] >= 0 and n != 1:
                p = point[base + picks[d, j]]
                low, high = first[p], first[p + 1]
                if j == 0:
                    n = high - low
                elif j == 1:
                    q = point[base + picks[d, 0]]
                    from_, to = first[q], first[q + 1]
                    if high - low < to - from_:
                        low, high, from_, to = from_, to, low, high
                    n = to - from_
                    _copy(visitor, from_, n, room)
                    n = common(room, n, visitor, low, high, room, True)
                else:
                    n = common(room, n, visitor, low, high, room, True)
            out[d, j] = n


@lean_njit
def whole(start: Any, point: Any, first: Any, visitor: Any, people: Any, room: Any, out: Any) -> None:
    """``out[d]``: how many people were at every point of person ``people[d]``."""
    for d in range(len(people)):
        base, end = start[people[d]], start[people[d] + 1]
        p = point[base]
        n = first[p + 1] - first[p]
        if n > 1:
            _copy(visitor, first[p], n, room)
        for i in range(base + 1, end):
            if n == 1:
                break
            p = point[i]
            n = common(room, n, visitor, first[p], first[p + 1], room, True)
        out[d] = n


@lean_njit
def choose(n: int, k: int) -> float:
    """n over k, in double precision."""
    out = 1.0
    for i in range(k):
        out = out * (n - i) / (i + 1)
    return out


@lean_njit
def subsets(
    start: Any, point: Any, first: Any, visitor: Any, people: Any, s: int, rooms: Any, at: Any, sizes: Any, hist: Any
) -> None:
    """Every set of s points of each person (who has at least s): ``hist[n]`` gains the share of the person's sets that n people
    share. Sets are built rarest point first; once one person is left, all larger sets are that person's alone."""
    for d in range(len(people)):
        base = start[people[d]]
        n = start[people[d] + 1] - base
        weight = 1.0 / choose(n, s)
        depth = 0
        at[0] = -1
        while depth >= 0:
            at[depth] += 1
            if at[depth] > n - s + depth:
                depth -= 1
                continue
            p = point[base + at[depth]]
            low, high = first[p], first[p + 1]
            last = depth == s - 1
            if depth == 0:
                left = high - low
                if left > 1 and not last:
                    _copy(visitor, low, left, rooms[0])
            else:
                left = common(rooms[depth - 1], sizes[depth - 1], visitor, low, high, rooms[depth], not last)
            if last:
                hist[left] += weight
            elif left == 1:
                hist[1] += weight * choose(n - 1 - at[depth], s - 1 - depth)
            else:
                sizes[depth] = left
                depth += 1
                at[depth] = at[depth - 1]


def walk_by_numpy(start: Any, point: Any, first: Any, visitor: Any, people: Any, picks: Any, out: Any) -> None:
    """:func:`walk` without numba."""
    for d, person in enumerate(people.tolist()):
        left, n = None, 0
        for j, pick in enumerate(picks[d].tolist()):
            if pick >= 0 and n != 1:
                p = point[start[person] + pick]
                there = visitor[first[p] : first[p + 1]]
                left = there if left is None else np.intersect1d(left, there, assume_unique=True)
                n = len(left)
            out[d, j] = n


def whole_by_numpy(start: Any, point: Any, first: Any, visitor: Any, people: Any, out: Any) -> None:
    """:func:`whole` without numba."""
    for d, person in enumerate(people.tolist()):
        left = None
        for p in point[start[person] : start[person + 1]].tolist():
            there = visitor[first[p] : first[p + 1]]
            left = there if left is None else np.intersect1d(left, there, assume_unique=True)
            if len(left) == 1:
                break
        out[d] = 0 if left is None else len(left)
