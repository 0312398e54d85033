"""Who fits what somebody knows of a person: the traces behind each requirement of an event table.

Takes    distinct pairs of a trace and a point, the people behind the traces, and what is published of each pair besides
Returns  the lowest number of any set of known records, and the pairs to leave out so that it is not below a limit
Keeps    one count for all requirements (:mod:`.weak_sets`). They differ in which traces fit a known record: those at its point;
         of these those with as many points (``length``); those at points near it (``near``); without those at one point more
         (``absent``). Limits on a sensitive column look at the values of the traces that fit
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import UsageError
from shoal.measures.events import weak_sets
from shoal.measures.events.sets import Points, subsets
from shoal.measures.events.traces import Traces
from shoal.model.compare import slack
from shoal.model.counts.classes import FloatArray, IntArray
from shoal.model.requirement import (
    AlphaK,
    DistinctDiversity,
    InferredPlace,
    KnownAbsence,
    KnownLength,
    KnownRecords,
    NearRecords,
    Requirement,
    TCloseness,
    Unicity,
)

Mask = npt.NDArray[np.bool_]
Sensitive = AlphaK | DistinctDiversity | TCloseness
Asked = KnownRecords | NearRecords | Unicity | Sensitive | InferredPlace
MOST_NEAR = 200_000_000
"""Traces in the lists of those near a point, over all points; a table with more is refused."""


def numbered(codes: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct codes (none below 0) in order, and the number of each among them; without a sort if they are not far apart.

    >>> [x.tolist() for x in numbered(np.array([7, 2, 7]))]
    [[2, 7], [1, 0, 1]]
    """
    if int(codes.max(initial=0)) > 4 * len(codes) + 1000:
        values, number = np.unique(codes, return_inverse=True)
        return values, number.astype(np.int64)
    there = np.zeros(int(codes.max(initial=0)) + 1, dtype=np.bool_)
    there[codes] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[codes]


def distinct(codes: IntArray) -> IntArray:
    """The distinct codes (none below 0) in order: as ``np.unique``, which hashes them where it only lists them, and is slower.

    >>> distinct(np.array([7, 2, 7])).tolist(), distinct(np.array([7 << 40, 2])).tolist()
    ([2, 7], [2, 7696581394432])
    """
    if int(codes.max(initial=0)) > 4 * len(codes) + 1000:
        in_order = np.sort(codes)
        return in_order[np.diff(in_order, prepend=-1) > 0]
    there = np.zeros(int(codes.max(initial=0)) + 1, dtype=np.bool_)
    there[codes] = True
    return np.flatnonzero(there)


def most_known(asked: Iterable[Requirement]) -> int:
    """The most known records that are asked about; 0 without any."""
    return max((getattr(r, "records", 0) for r in asked), default=0)


def people_asked(asked: Iterable[Requirement]) -> int:
    """The people who must share known records; 1 if no requirement asks for any."""
    return max((r.k for r in asked if isinstance(r, KnownRecords)), default=1)


def of_events(asked: Requirement) -> Asked:
    """The requirement itself, if it can be asked of an event table."""
    if not isinstance(asked, Asked) or (isinstance(asked, TCloseness) and asked.distance != "equal"):
        hint = "Ask for known[2]>=5, absent[2]>=5, length[2]>=5, near[2, 1h]>=5, unicity[4]<=0.05, home[2]<=0.5, work[2]<=0.5, "
        hint += "next[2]<=0.5; with one of the first four also alpha[column]<=0.5, distinct[column]>=2 or t[column, equal]<=0.2 "
        hint += "(docs/events.md)."
        raise UsageError(f"'{asked.name}' says nothing of an event table.", hint=hint)
    return asked


@dataclass(frozen=True, eq=False, repr=False)
class Shown:
    """What is published of each pair beside its point: its time as a number (``dated``: in microseconds; None: only equal
    ones are near), its place as text or as coordinates, and the codes of each sensitive column (below 0: missing)."""

    moment: FloatArray | None = None
    dated: bool | None = None
    places: tuple[Any, ...] = ()
    values: Mapping[str, IntArray] = field(default_factory=dict)

    def take(self, index: IntArray) -> Shown:
        """Of these pairs only."""
        moment = None if self.moment is None else self.moment[index]
        return Shown(moment, self.dated, tuple(p[index] for p in self.places), {n: v[index] for n, v in self.values.items()})


@dataclass(frozen=True, eq=False, repr=False)
class Linked:
    """Traces with their people; ``pair[i]`` is the place in the caller's list of the i-th pair of ``traces``. Trace
    ``visitor[i]``, ``first[p] <= i < first[p + 1]``, fits the known point p. ``value[i]``, ``value_first[t] <= i <
    value_first[t + 1]``, are the sensitive values of trace t, ``whole`` their shares in all traces. For inferred places they are
    those of trace t, or (``next``) those after point p in trace ``visitor[t]``, and ``whole`` has the place of each point."""

    traces: Traces
    owner: IntArray
    pair: IntArray
    first: IntArray
    visitor: Any
    test: int = weak_sets.PEOPLE
    value_first: IntArray = field(default_factory=lambda: np.zeros(1, np.int64))
    value: IntArray = field(default_factory=lambda: np.zeros(1, np.int64))
    whole: FloatArray = field(default_factory=lambda: np.zeros(1))

    @classmethod
    def of(cls, trace: IntArray, point: IntArray, owner: IntArray, alive: Mask) -> Linked:
        """From distinct pairs, those that are alive; ``owner`` of each trace, in their order never falling."""
        index = np.flatnonzero(alive)
        traces, t = numbered(trace[index])
        p = numbered(point[index])[1]
        made = Traces.of(t, p)  # before the order: its peak of memory is the higher one
        rank = np.empty(int(p.max(initial=-1)) + 1, np.int64)
        rank[np.argsort(np.bincount(p), kind="stable")] = np.arange(len(rank))
        t = t * len(rank) + rank[p]
        del p
        order = np.argsort(t)  # as Traces has them: of each trace the rarest point first
        return cls(made, owner[traces], index[order], made.first, made.visitor)

    @classmethod
    def fitting(cls, asked: Asked, trace: IntArray, point: IntArray, owner: IntArray, alive: Mask, shown: Shown | None) -> Linked:
        """The traces that fit what the requirement says is known."""
        if isinstance(asked, KnownLength):
            lengths = np.bincount(trace[alive], minlength=int(trace.max()) + 1)
            return cls.of(trace, point * (int(lengths.max()) + 1) + lengths[trace], owner, alive)
        made = cls.of(trace, point, owner, alive)
        if isinstance(asked, KnownAbsence):
            return replace(made, test=weak_sets.ABSENT)
        if isinstance(asked, KnownRecords | Unicity):
            return made
        seen = (shown or Shown()).take(made.pair)
        if isinstance(asked, NearRecords):
            return made.near(asked, seen)
        if isinstance(asked, InferredPlace):
            return made.with_places(asked, seen)
        return made.with_values(asked, np.repeat(np.arange(made.traces.n_people), made.traces.lengths), seen.values[asked.column])

    def near(self, asked: NearRecords, shown: Shown) -> Linked:
        """Everybody at a point that is not further away than the requirement says fits."""
        t = self.traces
        some = np.empty(t.n_points, np.int64)
        some[t.point] = np.arange(t.n_pairs)
        moment = np.zeros(t.n_points) if shown.moment is None else shown.moment[some].astype(np.float64)
        if shown.dated is not None and asked.time and shown.dated is not asked.in_time:
            hint = "Write a length such as 1h for dates, a number for numbers."
            raise UsageError(f"'{asked}' does not fit the times, which are {'dates' if shown.dated else 'numbers'}.", hint=hint)
        reach = 0.0 if shown.dated is None else asked.reach
        codes = np.zeros(t.n_points, np.int64)
        spots: list[FloatArray] = []
        for place in (p[some] for p in shown.places):
            if asked.distance > 0 and place.dtype.kind == "f":
                spots.append(place)
                continue
            texts = place.astype(str)
            texts = texts.astype(f"<U{asked.characters}") if asked.characters else texts
            codes = np.unique(codes * t.n_points + np.unique(texts, return_inverse=True)[1], return_inverse=True)[1]
        order = np.lexsort((moment, codes))
        ends = np.flatnonzero(np.diff(codes[order], append=-1))
        lists: list[Any] = [None] * t.n_points
        total = 0
        for group in np.split(order, ends[:-1] + 1):
            low = np.searchsorted(moment[group], moment[group] - reach)
            high = np.searchsorted(moment[group], moment[group] + reach, "right")
            for p, a, b in zip(group.tolist(), low.tolist(), high.tolist(), strict=True):
                near = group[a:b]
                for spot in spots:
                    near = near[np.abs(spot[near] - spot[p]) <= asked.distance + 1e-9]
                lists[p] = np.unique(np.concatenate([t.visitor[t.first[q] : t.first[q + 1]] for q in near.tolist()]))
                total += len(lists[p])
                if total > MOST_NEAR:
                    hint = "Ask for a shorter time, or coarser points."
                    raise UsageError(f"more than {MOST_NEAR:,} records are near each other.", hint=hint)
        first = np.concatenate(([0], np.cumsum([len(x) for x in lists]))).astype(np.int64)
        return replace(self, first=first, visitor=np.concatenate(lists))

    def with_values(self, asked: Sensitive, trace: IntArray, value: IntArray) -> Linked:
        """With the values of each trace, each once. A missing one (below 0) is a value, but not one to be sure of."""
        t = self.traces
        if isinstance(asked, AlphaK):
            trace, value = trace[value >= 0], value[value >= 0]
        width = int(value.max(initial=-1)) + 2
        both = np.unique(trace * width + np.where(value < 0, width - 1, value))
        first = np.searchsorted(both, np.arange(t.n_people + 1) * width)
        share = np.bincount(both % width, minlength=width) / max(1, len(both))
        kinds = {AlphaK: weak_sets.SHARE, DistinctDiversity: weak_sets.VALUES, TCloseness: weak_sets.DISTANCE}
        return replace(self, test=kinds[type(asked)], value_first=first, value=both % width, whole=share)

    def with_places(self, asked: InferredPlace, shown: Shown) -> Linked:
        """With the places that each trace shows as the one asked about; a blank one is not known."""
        t = self.traces
        if len(shown.places) > 1 and not all(p.dtype.kind == "f" for p in shown.places):
            hint = "Leave it out for records with an origin and a destination."
            raise UsageError(f"'{asked}' requires records with one place.", hint=hint)
        trace, spot = np.repeat(np.arange(t.n_people), t.lengths), np.full(t.n_pairs, -1 if not shown.places else 0)
        for place in shown.places:
            texts = place if place.dtype.kind in "iuf" else place.astype(str)
            codes = np.unique(texts, return_inverse=True)[1]
            spot = np.where((spot < 0) | (texts == "*"), -1, spot * (int(codes.max()) + 1) + codes)
        spot = np.unique(np.append(spot, -1), return_inverse=True)[1][:-1] - 1
        whole = np.full(t.n_points, -1.0)
        whole[t.point] = spot
        if asked.kind == "next":
            moment = np.zeros(t.n_pairs) if shown.moment is None or shown.dated is None else shown.moment
            at, place = _after(trace, np.unique(moment, return_inverse=True)[1], spot)
            at = np.argsort(np.argsort(t.point.astype(np.int64) * t.n_people + trace))[at]  # its place among the visitors
            n, test = t.n_pairs, weak_sets.AFTER
        else:
            at, place = _most_frequent(trace, spot, second=asked.kind == "work")
            n, test = t.n_people, weak_sets.PLACES
        width = int(place.max(initial=0)) + 1
        both = np.unique((at * width + place)[place >= 0])
        first = np.searchsorted(both, np.arange(n + 1) * width)
        return replace(self, test=test, value_first=first, value=both % width, whole=whole)

    def sets(self, s: int) -> int:
        """Sets of one size up to s, over all traces: the size that has most."""
        lengths, times = np.unique(self.traces.lengths, return_counts=True)
        both = [(int(n), int(c)) for n, c in zip(lengths, times, strict=True)]
        return max(sum(comb(n, m) * c for n, c in both) for m in range(1, s + 1))

    def weak(self, m: int, limit: float, which: IntArray | None = None) -> Mask:
        """Pairs (in the order of the traces) to leave out so that no set of up to m is below the limit."""
        t = self.traces
        mark = np.zeros(t.n_pairs, dtype=np.bool_)
        chosen = np.arange(t.n_people) if which is None else which
        if m == 2 and self.test == weak_sets.PEOPLE and self.visitor is t.visitor:  # not of records known about
            there = np.zeros(t.n_people, dtype=np.bool_)
            there[chosen] = True
            order = np.argsort(t.popularity, kind="stable")[::-1]  # the points of a trace stand in the opposite one
            count = np.zeros((5, t.n_points), dtype=np.int64)
            weak_sets.mark_weak_pairs(self._points(), self._most(), there, order, float(limit), count, mark)
            return mark
        weak_sets.mark_weak(self._points(), self._question(m), self._room(m), chosen, float(limit), mark)
        return mark

    def lowest(self, m: int) -> float:
        """The lowest number of all sets of up to m points."""
        mark = np.zeros(self.traces.n_pairs, dtype=np.bool_)
        return float(weak_sets.lowest_number(self._points(), self._question(m), self._room(m), mark))

    def alone(self, s: int) -> FloatArray:
        """For each trace the share of its sets of s points that are one person's only."""
        n, room = self.traces.n_people, self._room(s)
        out = np.zeros(n)
        subsets(self._points(), np.arange(n), s, room.fits, room.at, room.sizes, np.zeros(n + 1), out)
        return out

    def _points(self) -> Points:
        return Points(self.traces.start, self.traces.point, self.first, self.visitor, self.owner)

    def _most(self) -> IntArray:
        most = np.empty(self.traces.n_points, dtype=np.int64)
        weak_sets.most_each(self._points(), most)
        return most

    def _question(self, m: int) -> weak_sets.Question:
        return weak_sets.Question(m, self.test, self._most(), self.value_first, self.value, self.whole)

    def _room(self, m: int) -> weak_sets.Room:
        seen = np.zeros(max(self.traces.n_points, len(self.whole)))
        strong = np.zeros(1 << min(22, (4 * self.traces.n_pairs).bit_length()), np.int64)
        fits = np.empty((m + 1, int(np.diff(self.first).max())), np.int32)
        return weak_sets.Room(fits, np.empty(m + 1, np.int64), np.empty(m + 1, np.int64), seen, strong)


def _most_frequent(trace: IntArray, place: IntArray, *, second: bool) -> tuple[IntArray, IntArray]:
    """The places with most records of each trace; with ``second``, those with most but for one of these."""
    width = int(place.max(initial=0)) + 1
    both, times = np.unique((trace * width + place)[place >= 0], return_counts=True)
    of = both // width
    order = np.lexsort((-times, of))
    start = np.searchsorted(of, of)  # entries of a trace follow each other
    ranked = times[order]
    nth = ranked[np.minimum(start + second, np.searchsorted(of, of, "right") - 1)]
    wanted = (times == nth) & ~(second & (np.bincount(of)[of] == 1))
    return of[wanted], (both % width)[wanted]


def _after(trace: IntArray, time: IntArray, place: IntArray) -> tuple[IntArray, IntArray]:
    """For each pair the places of its trace at the same time and at the next later one: the pair, and a place; several times if
    there are several."""
    width = int(time.max(initial=0)) + 1
    moment, which = np.unique(trace * width + time, return_inverse=True)
    order = np.argsort(which, kind="stable")
    first = np.searchsorted(which[order], np.arange(len(moment) + 1))
    later = np.append(np.diff(moment // width) == 0, False)
    many = np.diff(first)
    many[:-1] += np.where(later[:-1], many[1:], 0)
    many = many[which]
    at = np.repeat(np.arange(len(which)), many)
    turn = np.arange(len(at)) - np.repeat(np.cumsum(many) - many, many)
    other = order[first[which[at]] + turn]
    return at[other != at], place[other[other != at]]


def safe_limit(asked: Asked) -> float:
    """The limit as :meth:`Linked.weak` takes it: more is safer, so that a share and a distance are negative."""
    limit = float(asked.limit)
    return -(limit + slack(limit)) if asked.sign == "<=" else limit


def counted(asked: Asked, lowest: float) -> float:
    """The lowest number as the requirement states it."""
    return abs(lowest) if asked.sign == "<=" else int(lowest)
