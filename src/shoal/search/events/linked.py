"""What pseudonyms show: pairs of a trace and a point, and the person of each trace."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
import numpy.typing as npt

from shoal.measures.events.traces import Traces
from shoal.model.counts.classes import FloatArray, IntArray
from shoal.search.kernels import weak_sets

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
