"""Leave out as few records as it takes, until every requirement on known records holds.

Takes    distinct pairs of a trace and a point with the records of each, the requirements, the records that may go
Returns  the pairs that stay; None where more would have to go
Keeps    when it ends, no requirement is missed: a pair that goes lowers what others share, so all is looked at again until
         nothing changes. It ends, because pairs only go
Differs  greedy: in each trace points are taken up from the most popular on (local suppression as in Chen et al. 2013)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
import numpy.typing as npt

from shoal.measures.events.traces import Traces
from shoal.model.counts.classes import FloatArray, IntArray
from shoal.model.requirement import MOST_SETS, KnownRecords, Unicity
from shoal.search.kernels import weak_sets

Asked = KnownRecords | Unicity


@dataclass(frozen=True, eq=False, repr=False)
class Pairs:
    """Distinct pairs of a trace and a point, the records of each, and the person of each trace (never falling)."""

    trace: IntArray
    point: IntArray
    rows: IntArray
    owner: IntArray


def suppressed(pairs: Pairs, asked: Sequence[Asked], allowed: int) -> Mask | None:
    """Which pairs stay so that everything asked holds and at most ``allowed`` records go; None where more would have to.

    >>> pairs = Pairs(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 2]), np.ones(5, np.int64), np.arange(3))
    >>> suppressed(pairs, [KnownRecords(2, 2)], 1).tolist(), suppressed(pairs, [KnownRecords(2, 2)], 0)
    ([True, True, True, True, False], None)
    """
    alive = np.ones(len(pairs.trace), dtype=np.bool_)
    while True:
        before = int(alive.sum())
        for r in sorted(asked, key=lambda r: (isinstance(r, Unicity), r.records)):
            alive = _known(pairs, alive, r, allowed) if isinstance(r, KnownRecords) else _unicity(pairs, alive, r, allowed)
            if not alive.any() or _gone(pairs, alive) > allowed:
                return None
        if int(alive.sum()) == before:
            return alive


def too_many(pairs: Pairs, alive: Mask, records: int) -> bool:
    """Whether the sets of so many records are more than are counted one by one."""
    return Linked.of(pairs.trace, pairs.point, pairs.owner, alive).sets(records) > MOST_SETS


def _gone(pairs: Pairs, alive: Mask) -> int:
    return int(pairs.rows[~alive].sum())


def _rare(pairs: Pairs, alive: Mask, k: int) -> Mask:
    """Without the points of fewer than k people; quick, and most of what goes at a fine granularity."""
    index = np.flatnonzero(alive)
    people = pairs.owner[pairs.trace[index]]
    both = np.unique(pairs.point[index] * (int(people.max()) + 1) + people)
    visited = np.bincount(both // (int(people.max()) + 1), minlength=int(pairs.point.max()) + 1)
    out = alive.copy()
    out[index[visited[pairs.point[index]] < k]] = False
    return out


def _known(pairs: Pairs, alive: Mask, asked: KnownRecords, allowed: int) -> Mask:
    """Until every set of up to m records is shared by k people, or too much is gone."""
    alive = _rare(pairs, alive, asked.k)
    which: IntArray | None = None
    while alive.any() and _gone(pairs, alive) <= allowed and asked.records > 1:
        linked = Linked.of(pairs.trace, pairs.point, pairs.owner, alive)
        if linked.sets(asked.records) > MOST_SETS:
            return np.zeros_like(alive)
        traces = np.unique(pairs.trace[alive])
        mark = linked.weak(asked.records, asked.k, which if which is None else np.searchsorted(traces, which))
        if not mark.any():
            break
        gone = linked.pair[mark]
        alive = alive.copy()
        alive[gone] = False
        alive = _rare(pairs, alive, asked.k)
        which = _touched(pairs, alive, np.unique(pairs.point[gone]))
    return alive


def _touched(pairs: Pairs, alive: Mask, points: IntArray) -> IntArray:
    """Traces that hold one of these points: only their sets may have become weaker."""
    held = np.zeros(int(pairs.point.max()) + 1, dtype=np.bool_)
    held[points] = True
    out: IntArray = np.unique(pairs.trace[alive & held[pairs.point]])
    return out


def _unicity(pairs: Pairs, alive: Mask, asked: Unicity, allowed: int) -> Mask:
    """Until few enough are singled out: in the traces where that costs fewest records, no set stays one person's only."""
    while alive.any() and _gone(pairs, alive) <= allowed:
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


Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Linked:
    """Traces with their people; ``pair[i]`` is the place in the caller's list of the i-th pair of ``traces``."""

    traces: Traces
    owner: IntArray
    pair: IntArray

    @classmethod
    def of(cls, trace: IntArray, point: IntArray, owner: IntArray, alive: Mask) -> Linked:
        """From distinct pairs, those that are alive; ``owner`` of each trace, in their order never falling."""
        index = np.flatnonzero(alive)
        traces, t = np.unique(trace[index], return_inverse=True)
        p = np.unique(point[index], return_inverse=True)[1]
        popularity = np.bincount(p)
        order = np.lexsort((p, popularity[p], t))  # as Traces has them
        return cls(Traces.of(t, p), owner[traces], index[order])

    def sets(self, s: int) -> int:
        """Sets of one size up to s, over all traces: the size that has most."""
        lengths, times = np.unique(self.traces.lengths, return_counts=True)
        both = [(int(n), int(c)) for n, c in zip(lengths, times, strict=True)]
        return max(sum(comb(n, m) * c for n, c in both) for m in range(1, s + 1))

    def weak(self, m: int, k: int, which: IntArray | None = None) -> Mask:
        """Pairs (in the order of the traces) to leave out so that fewer than k people share no set of up to m."""
        t = self.traces
        mark = np.zeros(t.n_pairs, dtype=np.bool_)
        chosen = np.arange(t.n_people) if which is None else which
        weak_sets.mark_weak(t.start, t.point, t.first, t.visitor, self.owner, chosen, m, k, *self._rooms(m), mark)
        return mark

    def alone(self, s: int) -> FloatArray:
        """For each trace the share of its sets of s points that are one person's only."""
        t = self.traces
        out = np.zeros(t.n_people)
        weak_sets.alone_shares(t.start, t.point, t.first, t.visitor, self.owner, s, *self._rooms(s), out)
        return out

    def _rooms(self, m: int) -> tuple[npt.NDArray[np.int32], IntArray, IntArray]:
        most = int(self.traces.popularity.max())
        return np.empty((m + 1, most), np.int32), np.empty(m + 1, np.int64), np.empty(m + 1, np.int64)
