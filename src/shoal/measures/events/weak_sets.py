"""Loops over the sets of points of each trace: how many people fit each of them, and what they have in common. Compiled with
numba where it is installed.

A trace is what one pseudonym shows; ``owner`` is its person. Traces are numbered so that those of a person follow each other,
and the traces at a point stand in order, so the people among them are counted in one walk.
"""

from __future__ import annotations

from typing import NamedTuple

from shoal.kernels.jit import lean_njit
from shoal.measures.events.sets import LOPSIDED, Points, common, find
from shoal.model.counts.classes import BoolArray, CodeArray, FloatArray, IntArray


@lean_njit
def most_each(points: Points, out: IntArray) -> None:
    """``out[p]``: the most traces that one person has at point p."""
    for p in range(len(out)):
        run, last = 0, -1
        out[p] = 1
        for i in range(points.first[p], points.first[p + 1]):
            if points.owner[points.visitor[i]] != last:
                last, run = points.owner[points.visitor[i]], 0
            run += 1
            out[p] = max(out[p], run)


@lean_njit
def share(known: CodeArray, n: int, traces: CodeArray, low: int, high: int, owner: IntArray, enough: int) -> int:
    """One over the largest share that a person has in the traces that are both in ``known[:n]`` and in ``traces[low:high]``,
    rounded down: as many people as hide there. With ``enough`` traces it is known to be large, and not counted further.

    If everybody has one trace, it is the number of people. Somebody who has most of the traces is not hidden among the others.
    """
    shared, longest, run, last, i = 0, 1, 0, -1, 0
    lopsided = high - low > LOPSIDED * n
    while i < n and low < high and shared < enough:
        if lopsided:
            low = find(traces, low, high, known[i])
            if low == high:
                break
        a, b = known[i], traces[low]
        if a == b:
            if owner[a] != last:
                last, run = owner[a], 0
            run += 1
            shared += 1
            longest = max(longest, run)
        i += a <= b
        low += b <= a
    return shared if shared >= enough else shared // longest


PEOPLE, ABSENT, SHARE, VALUES, DISTANCE, PLACES, AFTER = range(7)
"""What is judged of the traces that fit: people; people without one more point; the surest sensitive value; different values; how
far the values are from those of all traces; the surest place of the trace, or after a known point, that is not of a known point.
In all of them more is safer: a share and a distance are negative."""


class Question(NamedTuple):
    """What is judged (``test``) of sets of up to ``m`` known points. Nobody has more than ``most[p]`` traces at point p.

    ``value[i]``, ``value_first[t] <= i < value_first[t + 1]``, are the values of trace t; ``whole`` as :class:`.Linked` has it.
    """

    m: int
    test: int
    most: IntArray
    value_first: IntArray
    value: IntArray
    whole: FloatArray


class Room(NamedTuple):
    """Room to work in: for each depth the traces that fit (``fits``), how many they are (``sizes``) and which point was added
    (``at``); a 0 for each value, place or point (``seen``), which is there again at the end. ``strong`` remembers pairs of points
    that enough people share, as far as it has places (a power of two): many traces have the same pairs."""

    fits: CodeArray
    at: IntArray
    sizes: IntArray
    seen: FloatArray
    strong: IntArray


@lean_njit
def _without_one(points: Points, fits: CodeArray, n: int, d: int, seen: FloatArray) -> float:
    """How many people fit if one point is known that trace d does not have: the one that most of the others have."""
    start, point, owner = points.start, points.point, points.owner
    longest, run, last, most = 1, 0, -1, 0
    for i in range(start[d], start[d + 1]):
        seen[point[i]] = -4e15
    for i in range(n):
        if owner[fits[i]] != last:
            last, run = owner[fits[i]], 0
        run += 1
        longest = max(longest, run)
        for j in range(start[fits[i]], start[fits[i] + 1]):
            seen[point[j]] += 1
            most = max(most, int(seen[point[j]]))
    for i in range(n):
        for j in range(start[fits[i]], start[fits[i] + 1]):
            seen[point[j]] = 0
    for i in range(start[d], start[d + 1]):
        seen[point[i]] = 0
    return float((n - most) // longest)


@lean_njit
def _of_values(question: Question, fits: CodeArray, n: int, d: int, seen: FloatArray) -> float:
    """The values of the traces that fit, each once in a trace: the surest one of those that trace d has, how many there are, or
    how far they are from ``whole``, the shares in all traces."""
    first, value, whole = question.value_first, question.value, question.whole
    total, most, different = 0, 0, 0
    for i in range(n):
        for j in range(first[fits[i]], first[fits[i] + 1]):
            v = value[j]
            total += 1
            different += seen[v] == 0
            seen[v] += 1
    for j in range(first[d], first[d + 1]):
        most = max(most, int(seen[value[j]]))
    far = 0.0
    if question.test == DISTANCE and total:
        for v in range(len(whole)):
            far += abs(seen[v] / total - whole[v]) / 2
    for i in range(n):
        for j in range(first[fits[i]], first[fits[i] + 1]):
            seen[value[j]] = 0
    if question.test == SHARE:
        return -most / n
    return float(different) if question.test == VALUES else -far


@lean_njit
def _of_places(points: Points, question: Question, room: Room, fits: CodeArray, n: int, d: int, root: int, depth: int) -> float:
    """The largest share of the traces that fit that has one place in common which is not the place of a known point: of the
    trace, or after a known point."""
    point, visitor, at, seen = points.point, points.visitor, room.at, room.seen
    value_first, value, spot, base = question.value_first, question.value, question.whole, points.start[d]
    most = 0
    for q in range(depth + 1 if question.test == AFTER else 1):
        p = point[base + (root if q == 0 else at[q])]
        for turn in range(3):
            i = points.first[p]
            for j in range(n):
                t = fits[j]
                if question.test == AFTER:
                    while visitor[i] < fits[j]:
                        i += 1
                    t = i
                for v in range(value_first[t], value_first[t + 1]):
                    if turn == 0:
                        seen[value[v]] += 1
                    elif turn == 2:
                        seen[value[v]] = 0
                    elif seen[value[v]] > most:
                        known = False
                        for r in range(depth + 1):
                            known |= spot[point[base + (root if r == 0 else at[r])]] == value[v]
                        if not known:
                            most = int(seen[value[v]])
    return -most / n


@lean_njit
def _judge(points: Points, question: Question, room: Room, fits: CodeArray, n: int, d: int, root: int, depth: int) -> float:
    """What is judged of the n traces that fit known points of trace d, if it is not the people."""
    if question.test == ABSENT:
        return _without_one(points, fits, n, d, room.seen)
    if question.test >= PLACES:
        return _of_places(points, question, room, fits, n, d, root, depth)
    return _of_values(question, fits, n, d, room.seen)


@lean_njit
def _lowest_from(
    points: Points, question: Question, room: Room, d: int, root: int, limit: float, every: bool, mark: BoolArray
) -> float:
    """The lowest number of a set of up to m points of this trace, if one is below ``limit``; else a number that is not. With
    ``every``, all sets are looked at; otherwise the first one below ``limit`` is enough.

    The root is its rarest point, and no other one is marked. If people are counted, ``limit`` times as many traces are enough as
    anybody has at a point.
    """
    m, counts_people = question.m, question.test == PEOPLE
    point, first, visitor, most = points.point, points.first, points.visitor, question.most
    at, sizes, strong = room.at, room.sizes, room.strong
    base, n = points.start[d], points.start[d + 1] - points.start[d]
    p = point[base + root]
    left = first[p + 1] - first[p]
    each = most[p]
    whole = visitor[first[p] : first[p + 1]]
    lowest = float(left // each) if counts_people else _judge(points, question, room, whole, left, d, root, 0)
    if m == 1 or (lowest < limit and not every):
        return lowest
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
        before = whole if depth == 1 else room.fits[depth - 1]
        if not counts_people or depth < m - 1:
            sizes[depth] = common(before, sizes[depth - 1], visitor, low, high, room.fits[depth], True)
        if counts_people:
            pair = int(point[base + root]) * len(most) + int(p) + 1 if depth == 1 else -1
            place = (pair * 40503 ^ (pair >> 15)) & (len(strong) - 1)
            if depth == 1 and strong[place] == pair:
                number = limit
            else:
                enough = int(min(limit, lowest)) * min(each, most[p]) if every else int(limit) * min(each, most[p])
                number = float(share(before, sizes[depth - 1], visitor, low, high, points.owner, enough))
                if depth == 1 and number >= limit:
                    strong[place] = pair
        else:
            number = _judge(points, question, room, room.fits[depth], sizes[depth], d, root, depth)
        lowest = min(lowest, number)
        if lowest < limit and not every:
            return lowest
        if depth < m - 1:
            depth += 1
            at[depth] = at[depth - 1]
    return lowest


@lean_njit
def mark_weak(points: Points, question: Question, room: Room, which: IntArray, limit: float, mark: BoolArray) -> None:
    """In each of these traces, points to leave out so that no set of up to m of the others is below the limit now.

    Points are taken up from the most popular to the rarest; one that makes a weak set with those taken up is marked.
    """
    for d in which:
        base = points.start[d]
        for root in range(points.start[d + 1] - base - 1, -1, -1):
            if _lowest_from(points, question, room, d, root, limit, False, mark) < limit:
                mark[base + root] = True


@lean_njit
def mark_weak_pairs(
    points: Points, most: IntArray, chosen: BoolArray, order: IntArray, limit: float, count: IntArray, mark: BoolArray
) -> None:
    """:func:`mark_weak` for people who share up to two points, in the chosen traces: at each point, from the most popular to the
    rarest (``order``), its pairs with more popular points are counted in one walk over the traces there.

    ``count`` has five rows of zeros, the first two of them again at the end: for the pair with each point the traces, the most of
    one person, the person of the last trace, how many of that person's came before; and the points of which there is a pair.
    """
    start, point, visitor, owner = points.start, points.point, points.visitor, points.owner
    for p in order:
        low, high = points.first[p], points.first[p + 1]
        wanted = False
        for i in range(low, high):
            wanted |= chosen[visitor[i]]
        if not wanted:
            continue
        alone, pairs = (high - low) // most[p] < limit, 0
        for turn in range(1 if alone else 0, 2):
            for i in range(low, high):
                t = visitor[i]
                if turn == 1 and not chosen[t]:
                    continue
                root = start[t]
                while point[root] != p:
                    root += 1
                mark[root] |= alone
                for j in range(root + 1, start[t] if alone else start[t + 1]):
                    q = point[j]
                    if turn == 1:
                        mark[root] |= not mark[j] and count[0, q] // count[1, q] < limit
                        continue
                    if count[0, q] == 0:
                        count[4, pairs] = q
                        pairs += 1
                    if count[0, q] == 0 or count[2, q] != owner[t]:
                        count[2, q], count[3, q] = owner[t], 0
                    count[0, q] += 1
                    count[3, q] += 1
                    count[1, q] = max(count[1, q], count[3, q])
        for i in range(pairs):
            count[0, count[4, i]] = count[1, count[4, i]] = 0


@lean_njit
def lowest_number(points: Points, question: Question, room: Room, mark: BoolArray) -> float:
    """The lowest number of all sets of up to m points of a trace."""
    lowest = float(len(points.start))
    for d in range(len(points.start) - 1):
        for root in range(points.start[d + 1] - points.start[d]):
            lowest = min(lowest, _lowest_from(points, question, room, d, root, lowest, True, mark))
    return lowest
