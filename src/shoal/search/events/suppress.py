"""Leave out as few records as it takes, or give them a new pseudonym, until every requirement on known records holds.

Takes    distinct pairs of a trace and a point with the records of each, the requirements, the records that may go
Returns  the pairs, perhaps in more traces, and which of them stay; None if more would have to go
Keeps    when it ends, no requirement is missed: a pair that goes lowers what others share, so all is looked at again until
         nothing changes. It ends, because pairs only go and traces only split
Differs  greedy: in each trace points are taken up from the most popular on (local suppression as in Chen et al. 2013)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from shoal.measures.events.knowledge import Asked, Linked, Mask, Shown, most_known, numbered, people_asked, safe_limit
from shoal.model.counts.classes import IntArray
from shoal.model.requirement import MOST_SETS, InferredPlace, KnownLength, KnownRecords, Unicity


@dataclass(frozen=True, eq=False, repr=False)
class Pairs:
    """Distinct pairs of a trace and a point, the records of each, and the person of each trace (never falling); what else is
    published of each pair, if a requirement is about it."""

    trace: IntArray
    point: IntArray
    rows: IntArray
    owner: IntArray
    shown: Shown | None = None

    def linked(self, asked: Asked, alive: Mask) -> Linked:
        """The traces that fit what a requirement says is known."""
        return Linked.fitting(asked, self.trace, self.point, self.owner, alive, self.shown)


def suppressed(
    pairs: Pairs, asked: Sequence[Asked], allowed: int, *, split: bool = False, hopeless: Callable[[Mask], bool] = lambda _: False
) -> tuple[Pairs, Mask] | None:
    """Which pairs stay so that everything asked holds and at most ``allowed`` records go; None if more would have to, or if it is
    ``hopeless`` that no other pairs stay than these.

    With ``split``, points of a trace that too few people share become a trace of their own; they go only if that is not enough.

    >>> pairs = Pairs(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 2]), np.ones(5, np.int64), np.arange(3))
    >>> suppressed(pairs, [KnownRecords(2, 2)], 1)[1].tolist(), suppressed(pairs, [KnownRecords(2, 2)], 0)
    ([True, True, True, True, False], None)
    """
    alive = np.ones(len(pairs.trace), dtype=np.bool_)
    while True:
        before = int(alive.sum()), len(pairs.owner)
        for r in sorted(asked, key=lambda r: (isinstance(r, Unicity), type(r) is not KnownRecords, getattr(r, "records", 0))):
            if isinstance(r, Unicity):
                alive = _unicity(pairs, alive, r, allowed)
            else:
                pairs, alive = _hold(pairs, alive, r, getattr(r, "records", most_known(asked)), allowed, hopeless, split=split)
            if not alive.any() or _count_gone(pairs, alive) > allowed or hopeless(alive):
                return None
        if (int(alive.sum()), len(pairs.owner)) == before:
            return pairs, alive


def too_rare(pairs: Pairs, asked: Sequence[Asked]) -> Mask:
    """The pairs that go for any plan with these points, because of how few people have them: a part of those that go at last."""
    every = np.ones(len(pairs.trace), dtype=np.bool_)
    return ~_settle(pairs, every, people_asked(asked), None)


def too_many(pairs: Pairs, alive: Mask, records: int) -> bool:
    """Whether the sets of so many records are more than are counted one by one."""
    return Linked.of(pairs.trace, pairs.point, pairs.owner, alive).sets(records) > MOST_SETS


def _count_gone(pairs: Pairs, alive: Mask) -> int:
    return int(pairs.rows[~alive].sum())


def _rare(pairs: Pairs, alive: Mask, k: int) -> Mask:
    """Without the points of fewer than k people, and without so many traces of a person at a point that the others there do not
    hide that person; quick, and most of what goes at a fine granularity."""
    out = alive.copy()
    index = np.flatnonzero(alive)
    width = int(pairs.owner.max(initial=0)) + 1
    both = pairs.point[index] * width + pairs.owner[pairs.trace[index]]
    group, times = np.unique(both, return_counts=True)
    most = most_each(group // width, times, k)
    over = group[times > most]
    if not len(over):
        return out
    hit = np.isin(both, over)
    index, both = index[hit], both[hit]
    order = np.lexsort((_shuffle(len(alive))[index], both))
    index, both = index[order], both[order]
    turn = np.arange(len(index)) - np.searchsorted(both, both)  # 0, 1, … for the traces of one person at one point
    out[index[turn >= most[np.searchsorted(group, both)]]] = False
    return out


@lru_cache(1)
def _shuffle(n: int) -> IntArray:
    """A fixed random order: which of a person's traces keep a point says nothing of them."""
    return np.random.default_rng(0).permutation(n)


def most_each(point: IntArray, times: IntArray, k: int) -> IntArray:
    """For the people at each point, with so many traces there each, the most that each may keep so that nobody has more than one
    in k of what stays; 0 if fewer than k people are there. Entries of one point follow each other.

    >>> most_each(np.array([0, 0, 0, 1]), np.array([9, 2, 2, 5]), 3).tolist()
    [2, 2, 2, 0]
    """
    if not len(point):
        return times
    order = np.lexsort((times, point))
    p, n = point[order], times[order]
    start = np.flatnonzero(np.concatenate(([True], np.diff(p) != 0)))
    size = np.diff(np.concatenate((start, [len(p)])))
    group = np.repeat(np.arange(len(start)), size)
    place = np.arange(len(p)) - start[group]
    below = np.cumsum(n) - n - (np.cumsum(n) - n)[start][group]  # traces of the people with fewer
    above = size[group] - place  # people with as many or more
    # with at most c each, n[i-1] < c <= n[i], below + above * c stay: enough if that is at least k * c
    cap = np.where(above >= k, n, np.minimum(n, below // np.maximum(k - above, 1)))
    fewer = np.where(place > 0, np.concatenate(([0], n[:-1])), 0)
    best = np.maximum.reduceat(np.where(cap > fewer, cap, 0), start)
    out = np.empty(len(p), dtype=np.int64)
    out[order] = best[group]
    return out


def most_shown(place: IntArray, person: IntArray, k: int) -> int:
    """The most records that can show their place if nobody has more than one in k of those at a place.

    >>> most_shown(np.array([0, 0, 0, 0, 1]), np.array([0, 0, 1, 2, 0]), 3)
    3
    """
    people = int(person.max(initial=0)) + 1
    both, times = np.unique(place * people + person, return_counts=True)
    return int(np.minimum(times, most_each(both // people, times, k)).sum())


def _hold(
    pairs: Pairs, alive: Mask, asked: Asked, records: int, allowed: int, hopeless: Callable[[Mask], bool], *, split: bool
) -> tuple[Pairs, Mask]:
    """Until no set of up to so many records is weak by this requirement, or too much is gone."""
    plain = type(asked) is KnownRecords
    moved: IntArray | None = None  # points of which a pair went or changed its trace since the last look
    away: IntArray | None = None  # points of which a pair went: only there a person may have too large a share now
    while True:
        fewer = _settle(pairs, alive, asked.k, away) if isinstance(asked, KnownRecords) else alive
        gone, alive = pairs.point[alive & ~fewer], fewer
        if not (alive.any() and _count_gone(pairs, alive) <= allowed and (records > 1 or not plain)) or hopeless(alive):
            return pairs, alive
        near, touched = (alive, None) if moved is None or not plain else _touch(pairs, alive, np.concatenate((moved, gone)))
        if not near.any():
            return pairs, alive
        linked = pairs.linked(asked, near)
        if touched is None and linked.sets(records) > MOST_SETS:
            return pairs, np.zeros_like(alive)
        mark = linked.weak(records, safe_limit(asked), touched)
        if not mark.any():
            return pairs, alive
        goes = np.ones_like(mark) if not split else np.zeros_like(mark) if plain else linked.weak(1, safe_limit(asked))
        if isinstance(asked, KnownLength | InferredPlace):
            mark, goes = _shorter(linked, mark, split=split)
        moved, away = pairs.point[linked.pair[mark]], pairs.point[linked.pair[mark & goes]]
        alive = alive.copy()
        alive[linked.pair[mark & goes]] = False
        if (mark & ~goes).any():
            pairs = _split(pairs, linked.pair[mark & ~goes])


def _shorter(linked: Linked, mark: Mask, *, split: bool) -> tuple[Mask, Mask]:
    """Which of the marked pairs change, and which of these go: of a trace that is weak as a whole, because its length is rare
    or its places are those of the others, half with a new pseudonym, or the rarest point."""
    lengths = linked.traces.lengths
    turn = np.arange(len(mark)) - np.repeat(linked.traces.start[:-1], lengths)
    whole = np.repeat(np.add.reduceat(mark, linked.traces.start[:-1], dtype=np.int64) == lengths, lengths)
    length = np.repeat(lengths, lengths)
    some = turn < (np.maximum(length // 2, 1) if split else 1)
    return mark & (some | ~whole), np.full(len(mark), not split) | (length == 1)


def _settle(pairs: Pairs, alive: Mask, k: int, points: IntArray | None) -> Mask:
    """:func:`_rare` until nothing changes, if only of these points pairs went since it was so (None: of any)."""
    while points is None or len(points):
        there = alive if points is None else alive & _among(points, pairs.point)
        gone = there & ~_rare(pairs, there, k) if there.any() else there
        alive, points = alive & ~gone, pairs.point[gone]
    return alive


def _among(chosen: IntArray, codes: IntArray) -> Mask:
    """Which of the codes are among the chosen ones."""
    there = np.zeros(int(codes.max(initial=0)) + 1, dtype=np.bool_)
    there[chosen] = True
    out: Mask = there[codes]
    return out


def _split(pairs: Pairs, moved: IntArray) -> Pairs:
    """These pairs of each trace become a trace of their own, which stands after it."""
    twice = 2 * pairs.trace
    twice[moved] += 1
    numbers, trace = numbered(twice)
    return replace(pairs, trace=trace, owner=pairs.owner[numbers // 2])


def _touch(pairs: Pairs, alive: Mask, points: IntArray) -> tuple[Mask, IntArray]:
    """The traces that hold one of these points, as :class:`Linked` numbers them: only their sets may have become weaker. And the
    pairs at any point of theirs, which are all that is counted for them."""
    hit = _among(pairs.trace[alive & _among(points, pairs.point)], pairs.trace)
    near = alive & _among(pairs.point[alive & hit], pairs.point)
    return near, np.unique(numbered(pairs.trace[near])[1][hit[near]])


def _unicity(pairs: Pairs, alive: Mask, asked: Unicity, allowed: int) -> Mask:
    """Until few enough are singled out: in the traces where that costs fewest records, no set stays one person's only."""
    while alive.any() and _count_gone(pairs, alive) <= allowed:
        linked = Linked.of(pairs.trace, pairs.point, pairs.owner, alive)
        if linked.sets(asked.records) > MOST_SETS:
            return np.zeros_like(alive)
        alone = linked.alone(asked.records)
        if asked.holds(float(alone.mean())):
            break
        mark = linked.weak(asked.records, 2)
        trace = np.repeat(np.arange(linked.traces.n_people), linked.traces.lengths)
        cost = np.bincount(trace, weights=mark * pairs.rows[linked.pair], minlength=len(alone))
        order = np.argsort(-alone / np.maximum(cost, 1), kind="stable")
        left = alone.sum() - np.cumsum(alone[order])
        chosen = np.zeros(len(alone), dtype=np.bool_)
        chosen[order[: int(np.argmax(left <= asked.share * len(alone) + 1e-9)) + 1]] = True
        alive = alive.copy()
        alive[linked.pair[mark & chosen[trace]]] = False
    return alive
