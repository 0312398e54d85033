"""With how many people does a person share some known records? Over every set of s records where that is affordable; over random
sets for the people where it is not.

Takes    traces, a number s of known records
Returns  how often n people share the known records (a histogram), and what that rests on
Keeps    memory linear in the records; work below a budget, also with one trace of a million records

Loops over traces: how many people were at all of some points. Compiled with numba where it is installed.

The people at a point stand in order, so the people at two points are found by walking both lists, or by looking each person of a
short list up in a long one.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels.group import group_codes
from shoal.kernels.jit import HAVE_NUMBA, lean_njit
from shoal.measures.events.traces import Traces
from shoal.model.counts.classes import CodeArray, FloatArray, IntArray

LOPSIDED = 16
"""A list this many times longer than the other is searched, not walked."""


class Points(NamedTuple):
    """The points of each trace, the traces at each point, and whose they are: ``point[i]``, ``start[t] <= i < start[t + 1]``, are
    the points of trace t, the rarest first, ``visitor[i]``, ``first[p] <= i < first[p + 1]``, the traces at point p in order,
    ``owner`` the person of each trace; empty if each is a person."""

    start: IntArray
    point: CodeArray
    first: IntArray
    visitor: CodeArray
    owner: IntArray

    @classmethod
    def of(cls, traces: Traces) -> Points:
        return cls(traces.start, traces.point, traces.first, traces.visitor, np.empty(0, np.int64))


@lean_njit
def find(people: CodeArray, low: int, high: int, person: int) -> int:
    """The first place in ``people[low:high]`` that is not before ``person``."""
    while low < high:
        middle = (low + high) >> 1
        if people[middle] < person:
            low = middle + 1
        else:
            high = middle
    return low


@lean_njit
def common(known: CodeArray, n: int, people: CodeArray, low: int, high: int, out: CodeArray, keep: bool) -> int:
    """How many of ``known[:n]`` are in ``people[low:high]``; with ``keep`` they are written to ``out`` (may be ``known``)."""
    shared, i = 0, 0
    if (high - low) > LOPSIDED * n:
        for i in range(n):
            low = find(people, low, high, known[i])
            if low == high:
                break
            if people[low] == known[i]:
                if keep:
                    out[shared] = known[i]
                shared += 1
        return shared
    while i < n and low < high:
        a, b = known[i], people[low]
        if a == b:
            if keep:
                out[shared] = a
            shared += 1
        i += a <= b
        low += b <= a
    return shared


@lean_njit
def _copy(people: CodeArray, low: int, n: int, out: CodeArray) -> None:
    for i in range(n):
        out[i] = people[low + i]


@lean_njit
def walk(points: Points, people: IntArray, picks: IntArray, room: CodeArray, out: CodeArray) -> None:
    """Draw d learns the points ``picks[d]`` of person ``people[d]`` one by one (−1: no more); ``out[d, j]`` is how many people
    were at the first j + 1 of them."""
    start, point, first, visitor, _ = points
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
def whole_loop(points: Points, people: IntArray, room: CodeArray, out: CodeArray) -> None:
    """``out[d]``: how many people were at every point of person ``people[d]``."""
    start, point, first, visitor, _ = points
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
def owners(traces: CodeArray, n: int, owner: IntArray, enough: int) -> int:
    """How many people the first n of some traces belong to; ``enough`` at most."""
    number, last = 0, -1
    for i in range(n):
        if owner[traces[i]] != last:
            last = owner[traces[i]]
            number += 1
            if number == enough:
                break
    return number


@lean_njit
def subsets(
    points: Points, people: IntArray, s: int, rooms: CodeArray, at: IntArray, sizes: IntArray, hist: FloatArray, alone: FloatArray
) -> None:
    """Every set of s points of each trace d of ``people`` (its only set, if it has fewer): ``hist[n]`` gains the share of its
    sets that n traces have, ``alone[d]`` the share of those that are one person's. Sets are built rarest point first; once one
    person is left, all larger sets are that person's alone."""
    start, point, first, visitor, owner = points
    several = len(owner) > 0
    for d in range(len(people)):
        base = start[people[d]]
        n = start[people[d] + 1] - base
        size = min(s, n)
        weight = 1.0 / choose(n, size)
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
            keep = several or not last
            if depth == 0:
                left = high - low
                if left > 1 and keep:
                    _copy(visitor, low, left, rooms[0])
            else:
                left = common(rooms[depth - 1], sizes[depth - 1], visitor, low, high, rooms[depth], keep)
            if left == 1 or (several and owners(rooms[depth], left, owner, 2) == 1):
                share = weight * choose(n - 1 - at[depth], size - 1 - depth)
                hist[1] += share
                alone[d] += share
            elif last:
                hist[left] += weight
            else:
                sizes[depth] = left
                depth += 1
                at[depth] = at[depth - 1]


STEPS = 100_000_000 if HAVE_NUMBA else 1_000_000
"""Steps along lists of people that counting every set may take; beyond, sets are drawn."""
DRAWS = 100_000 if HAVE_NUMBA else 10_000
"""Random sets, at most, for one number of known records."""
FEWEST_DRAWS = 2_000


@dataclass(frozen=True, eq=False)
class Sets:
    """``hist[n]``: how many people (in the mean over their sets of known records) share those with n people, themselves included.

    ``counted`` people had every set counted; of the other ``drawn_people``, ``draws`` random sets were looked at, of which
    ``alone`` were one person's only.
    """

    hist: FloatArray
    counted: int
    counted_alone: float
    drawn_people: int = 0
    draws: int = 0
    alone: int = 0

    @property
    def people(self) -> int:
        return self.counted + self.drawn_people

    @property
    def exact(self) -> bool:
        return self.drawn_people == 0


def sets_of(traces: Traces, s: int, rng: np.random.Generator, *, steps: int = STEPS, draws: int = DRAWS) -> Sets:
    """Sets of s known records of everybody who has at least s."""
    enough = np.flatnonzero(traces.lengths >= s)
    if s == 1:
        return _single(traces)
    counted, rest = _split(enough, _cost(traces, s)[enough], steps)
    hist = _every_set(traces, counted, s)
    return _with_draws(traces, hist, len(counted), rest, draws, rng, lambda who: walks(traces, who, s, rng)[:, -1])


def whole_sets(traces: Traces, people: IntArray, rng: np.random.Generator, *, steps: int = STEPS, draws: int = DRAWS) -> Sets:
    """The sets when all records of each of these people are known."""
    rarest = traces.popularity[traces.point[traces.start[:-1]]]
    cost = np.where(rarest > 1, rarest * (traces.lengths - 1.0), 1.0)[people]
    counted, rest = _split(people, cost, steps)
    hist = np.bincount(whole(traces, counted), minlength=traces.n_people + 1).astype(np.float64)
    return _with_draws(traces, hist, len(counted), rest, draws, rng, lambda who: whole(traces, who), once=True)


def walks(traces: Traces, people: IntArray, s: int, rng: np.random.Generator) -> npt.NDArray[np.int32]:
    """For each of these people, s records become known in random order (all of a shorter trace): how many people share the first
    1, 2, … s of them."""
    picks = random_orders(traces.lengths[people], s, rng)
    out = np.empty((len(people), s), np.int32)

    def part(low: int, high: int) -> None:
        walk(Points.of(traces), people[low:high], picks[low:high], _room(traces), out[low:high])

    _in_parts(part, np.ones(len(people)))
    return out


def whole(traces: Traces, people: IntArray) -> npt.NDArray[np.int32]:
    """How many people were at every point of each of these people."""
    out = np.empty(len(people), np.int32)

    def part(low: int, high: int) -> None:
        whole_loop(Points.of(traces), people[low:high], _room(traces), out[low:high])

    _in_parts(part, np.ones(len(people)))
    return out


def random_orders(lengths: IntArray, s: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """The first s places of a random order of 0 … n − 1, for each n of ``lengths``; −1 where the order is shorter.

    >>> random_orders(np.array([2, 1]), 3, np.random.default_rng(0)).tolist()
    [[1, 0, -1], [0, -1, -1]]
    """
    out = np.full((len(lengths), s), -1, dtype=np.int64)
    taken = np.empty((len(lengths), 0), dtype=np.int64)
    for j in range(s):
        left = lengths - j
        pick = np.minimum((rng.random(len(lengths)) * left).astype(np.int64), left - 1)
        for i in range(j):  # the pick-th of the places not yet taken; these stand in order
            pick += pick >= taken[:, i]
        out[:, j] = np.where(left > 0, pick, -1)
        taken = np.sort(np.column_stack((taken, np.where(left > 0, pick, np.iinfo(np.int64).max))), axis=1)
    return out


def _single(traces: Traces) -> Sets:
    """One known record: the people at its point."""
    hist: FloatArray = np.zeros(traces.n_people + 1)
    for low, high in traces.people_in_blocks():
        lengths = traces.lengths[low:high]
        shared = traces.popularity[traces.point[traces.start[low] : traces.start[high]]]
        hist += np.bincount(shared, weights=np.repeat(1.0 / lengths, lengths), minlength=len(hist))
    return Sets(hist, traces.n_people, float(hist[1]))


def _cost(traces: Traces, s: int) -> FloatArray:
    """Steps along lists that counting every set of s records takes at most, per person."""
    out: FloatArray = np.empty(traces.n_people)
    for low, high in traces.people_in_blocks():
        start = traces.start[low : high + 1] - traces.start[low]
        after = np.repeat(start[1:], traces.lengths[low:high]) - 1 - np.arange(start[-1])  # points behind this one in its trace
        completions = np.ones(len(after))
        for i in range(s - 1):
            completions *= np.maximum(after - i, 0) / (i + 1)
        shared = traces.popularity[traces.point[traces.start[low] : traces.start[high]]]
        out[low:high] = np.add.reduceat(np.where(shared > 1, shared * completions, 1.0), start[:-1])
    return out


def _split(people: IntArray, cost: FloatArray, steps: int) -> tuple[IntArray, IntArray]:
    """The people whose sets are counted, cheapest first, as far as the budget goes; and the rest. Fewer than half are not
    worth it: then all are drawn."""
    order = np.argsort(cost, kind="stable")
    affordable = int(np.searchsorted(np.cumsum(cost[order]), steps, side="right"))
    if 2 * affordable < len(people):
        affordable = 0
    return np.sort(people[order[:affordable]]), np.sort(people[order[affordable:]])


def _every_set(traces: Traces, people: IntArray, s: int) -> FloatArray:
    parts: dict[int, FloatArray] = {}

    def part(low: int, high: int) -> None:
        hist = np.zeros(traces.n_people + 1)
        rooms = np.empty((s, int(traces.popularity.max())), np.int32)
        at, sizes = np.empty(s, np.int64), np.empty(s, np.int64)
        subsets(Points.of(traces), people[low:high], s, rooms, at, sizes, hist, np.zeros(high - low))
        parts[low] = hist

    _in_parts(part, _cost(traces, s)[people])
    total: FloatArray = sum((parts[low] for low in sorted(parts)), np.zeros(traces.n_people + 1))
    return total


def _with_draws(
    traces: Traces,
    hist: FloatArray,
    counted: int,
    rest: IntArray,
    draws: int,
    rng: np.random.Generator,
    look: Callable[[IntArray], npt.NDArray[np.int32]],
    *,
    once: bool = False,
) -> Sets:
    """The histogram of the people counted, with random sets of the rest laid over it; ``once``: a person has one set only."""
    alone = float(hist[1])
    if not len(rest):
        return Sets(hist, counted, alone)
    affordable = affordable_draws(traces, draws)
    turns = affordable // len(rest)
    if turns and not once:
        who = np.repeat(rest, turns)
    else:
        who = np.sort(rng.choice(rest, size=min(affordable, len(rest)), replace=False))
    drawn = np.bincount(look(who), minlength=len(hist)).astype(np.float64)
    return Sets(hist + drawn * (len(rest) / len(who)), counted, alone, len(rest), len(who), int(drawn[1]))


def affordable_draws(traces: Traces, most: int) -> int:
    """Random sets that the budget allows: each takes about as many steps as there are people at the point of a random record."""
    typical = float(np.square(traces.popularity.astype(np.float64)).sum() / traces.n_pairs)
    return min(most, max(FEWEST_DRAWS, int(STEPS / typical)))


def _room(traces: Traces) -> npt.NDArray[np.int32]:
    return np.empty(int(traces.popularity.max()), np.int32)


def _in_parts(work: Callable[[int, int], None], cost: FloatArray) -> None:
    """Run ``work(low, high)`` over parts of about equal cost, one per core."""
    n, cores = len(cost), min(8, os.cpu_count() or 1)
    if n < 2 * cores or not HAVE_NUMBA:
        work(0, n)
        return
    total = np.cumsum(cost)
    cuts = np.searchsorted(total, total[-1] * np.arange(1, cores) / cores).tolist()
    bounds = sorted({0, *cuts, n})
    with ThreadPoolExecutor(cores) as pool:
        for done in [pool.submit(work, a, b) for a, b in itertools.pairwise(bounds)]:
            done.result()


@dataclass(frozen=True, eq=False)
class Sequences:
    """``place[i]`` is the place of record i; records stand by person, then time (then place)."""

    person: IntArray
    place: IntArray

    @classmethod
    def of(cls, person: IntArray, time: IntArray | None, place: IntArray, records: IntArray) -> Sequences:
        """From distinct (person, time, place) with their numbers of records; without a time the order is that of the places."""
        order = np.lexsort((place, np.zeros_like(person) if time is None else time, person))
        times = records[order]
        return cls(np.repeat(person[order], times), np.repeat(place[order], times))

    def following(self) -> tuple[IntArray, IntArray]:
        """Consecutive places of the same person."""
        same = self.person[:-1] == self.person[1:]
        return self.place[:-1][same], self.place[1:][same]

    def random_pairs(self, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Two different records of each person who has two, in random order: pairs where the order of records is not known."""
        start = np.flatnonzero(np.concatenate(([True], self.person[1:] != self.person[:-1])))
        length = np.diff(np.concatenate((start, [len(self.person)])))
        start, length = start[length > 1], length[length > 1]
        one = (rng.random(len(start)) * length).astype(np.int64)
        other = (rng.random(len(start)) * (length - 1)).astype(np.int64)
        other += other >= one
        return self.place[start + one], self.place[start + other]

    def alone(self, s: int, k: int = 2) -> tuple[float, int]:
        """Of the people with at least s records: the share whose first s places in order fewer than k people have, and how many
        people these are (share 0 without any).

        >>> found = Sequences(np.array([0, 0, 1, 1, 2]), np.array([3, 4, 3, 5, 3]))
        >>> found.alone(1), found.alone(2), found.alone(3)
        ((0.0, 3), (1.0, 2), (0.0, 0))
        """
        start = np.flatnonzero(np.concatenate(([True], self.person[1:] != self.person[:-1])))
        length = np.diff(np.concatenate((start, [len(self.person)])))
        start = start[length >= s]
        if not len(start):
            return 0.0, 0
        ids = group_codes([self.place[start + j].astype(np.int32) for j in range(s)]).ids
        return float((np.bincount(ids)[ids] < k).mean()), len(start)
