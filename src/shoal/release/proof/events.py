"""The second opinion on an event table: every set of known records listed and counted, from the written file alone.

Takes    a file, its pseudonym (or none), time and places; perhaps the column of the person behind a pseudonym
Returns  EventFacts: for s = 1, 2, … the fewest people who share a set of up to s records, and the share of people alone
Keeps    shares no code with the measures and the search: sets are listed and sorted here, intersected there
Cost     linear in the number of sets, which are listed a part at a time; more than :data:`MOST_LISTED` of one size and nothing is
         claimed. Memory: about 28 bytes a record
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import chain, combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import UsageError, VerificationError
from shoal.model.requirement import (
    MOST_SETS,
    InferredPlace,
    KnownAbsence,
    KnownLength,
    KnownRecords,
    NearRecords,
    Requirement,
    Unicity,
    Verdict,
)
from shoal.release.proof.read import coded_columns, header, python_values, rows

Ints = npt.NDArray[np.integer[Any]]
Column = tuple[Ints, Any]
"""The number of the value of each record, and the distinct values (Arrow, or a list)."""
BLOCK = 2_000_000
"""Sets that are listed at a time."""
MOST_LISTED = 2_000_000_000
"""Sets of one size that are listed, of any number of known records."""


@dataclass(frozen=True)
class EventFacts:
    """What known records reveal in a written file.

    ``smallest[s]`` is the fewest people who share a set of up to s records of one trace. A person with several traces that have
    the set is more likely than the others to be meant: then it is one over that person's share of these traces, rounded down.
    ``alone[s]`` is the share of the sets of s records (of all records, in a shorter trace) that are one person's, averaged over
    the traces. A trace is what stands under one pseudonym (each record, where none is published). ``further`` has what the
    requirements on other knowledge ask about, by their names.
    """

    records: int
    traces: int
    people: int
    points: int
    longest: int
    smallest: Mapping[int, int]
    alone: Mapping[int, float]
    further: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "records": self.records,
            "traces": self.traces,
            "people": self.people,
            "points": self.points,
            "longest": self.longest,
            "smallest": {str(s): k for s, k in sorted(self.smallest.items())},
            "alone": {str(s): share for s, share in sorted(self.alone.items())},
            **({"further": dict(sorted(self.further.items()))} if self.further else {}),
        }


def recount_events(
    path: Path, *, unit: str | None, points: Sequence[str], known: int, person: str | None = None,
    asked: Sequence[Requirement] = (), timed: bool = False, values: str = "", counts: str | None = None,
) -> EventFacts:  # fmt: skip
    """Count a written event table again, for up to ``known`` known records, and what else the requirements are about.

    Parameters
    ----------
    unit : str or None
        The pseudonym; without it each record stands alone.
    points : sequence of str
        The columns that tell a point: time and places, as they are published.
    person : str, optional
        The person behind each pseudonym, where the file has it: then people are counted, not pseudonyms.
    asked : sequence of Requirement
        Those on other knowledge than exact records, and on sensitive columns (named in the file with ``values`` before them).
    timed : bool
        Whether the first column of a point is a time.
    counts : str, optional
        The column that states how many records a row stands for.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> f = pathlib.Path(tempfile.mkdtemp()) / "t.csv"
    >>> _ = f.write_text("who,where\\n1,a\\n1,b\\n2,a\\n2,b\\n3,a\\n")
    >>> facts = recount_events(f, unit="who", points=["where"], known=2)
    >>> facts.smallest, facts.alone
    ({1: 2, 2: 2}, {1: 0.0, 2: 0.0})
    """
    sensitive = list(dict.fromkeys(r.sensitive for r in asked if r.sensitive is not None))
    named = [*([unit] if unit else []), *([person] if person else [])]
    records = event_columns(path, [*named, *(f"{values}{c}" for c in sensitive), *points], counts, ids=len(named))
    return _facts_of_columns(records, bool(unit), bool(person), known, asked, timed, sensitive)


def event_columns(path: Path, columns: Sequence[str], counts: str | None, ids: int = 0) -> list[Column]:
    """The columns of a written file as :func:`coded_columns` reads them; a row stands for as many records as the column
    ``counts`` states. Of the first ``ids`` columns the values are not asked for."""
    if counts is None:
        return coded_columns(path, columns, ids=ids)
    *coded, (which, counted) = coded_columns(path, [*columns, counts])
    texts = [str(n) for n in python_values(counted)]
    times = np.array([int(n) if n.isdecimal() and len(n) < 10 else -1 for n in texts], dtype=np.int64)[which]
    if (times < 0).any() or int(times.sum()) > MOST_SETS:
        raise VerificationError("the written file has a row without its number of trips, or too many trips to be counted.")
    return [(np.repeat(codes, times), distinct) for codes, distinct in coded]


def facts_of_rows(
    records: Iterable[tuple[Any, ...]], *, unit: bool, person: bool, known: int, asked: Sequence[Requirement] = (),
    timed: bool = False, sensitive: Sequence[str] = (),
) -> EventFacts:  # fmt: skip
    """The same from records: pseudonym and person first, where there are such columns, then the sensitive values, then what tells
    the point."""
    columns = [numbered(column) for column in zip(*records, strict=True)]
    return _facts_of_columns(columns, unit, person, known, asked, timed, sensitive)


def numbered(values: Iterable[Any]) -> Column:
    """A number for each value, from 0 in the order in which they first occur; and the distinct values."""
    numbers: dict[Any, int] = {}
    codes = np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)
    return codes, list(numbers)


def _facts_of_columns(
    columns: list[Column], unit: bool, person: bool, known: int, asked: Sequence[Requirement], timed: bool,
    sensitive: Sequence[str],
) -> EventFacts:  # fmt: skip
    if not columns or not len(columns[0][0]):
        raise VerificationError("the written file holds no record.")
    n = len(columns[0][0])
    trace = _dense(columns[0][0]) if unit else np.arange(n, dtype=np.int32)
    owner = _dense(columns[int(unit)][0]) if person else trace
    columns[: int(unit) + int(person)] = []
    values, others = columns[: len(sensitive)], columns[len(sensitive) :]
    columns.clear()
    point, places = points_of(others)
    if not any(isinstance(r, NearRecords | InferredPlace) for r in asked):
        others.clear()
        places = list  # the numbers of the points go as soon as they are counted
    shown = _Shown.of(trace, point, owner)
    if not any(r.sensitive is not None for r in asked):
        del trace
    del owner, point  # before sets are listed, which takes most
    facts = _facts(n, shown, known)
    most, further = max((getattr(r, "records", 0) for r in asked), default=0), dict[str, float]()
    for r in asked:
        if r.sensitive is not None:
            codes, distinct = values[list(sensitive).index(r.sensitive)]
            further[r.name] = _sure(shown, most, r, *_with_values(trace, codes, distinct))
        elif isinstance(r, KnownLength):
            further[r.name] = _of_one_length(shown, r.records)
        elif isinstance(r, KnownAbsence):
            further[r.name] = _without_one(shown, r.records)
        elif isinstance(r, NearRecords):
            further[r.name] = _about(shown, r, places(), timed)
        elif isinstance(r, InferredPlace):
            further[r.name] = _largest_inferred(shown, r, places(), timed)
    return replace(facts, further=further)


def points_of(columns: Sequence[Column]) -> tuple[Ints, Callable[[], list[tuple[Any, ...]]]]:
    """The number of the combination of values of each record; and a function that lists the values of each combination."""
    point: Ints = np.zeros(len(columns[0][0]), dtype=np.int32)
    for codes, distinct in columns:
        small = (int(point.max(initial=0)) + 1) * len(distinct) < MOST_NUMBER
        point = point.astype(np.int32 if small else np.int64)
        point *= len(distinct)
        point += codes
        point = _dense(point)

    def values() -> list[tuple[Any, ...]]:
        first = np.empty(int(point.max(initial=-1)) + 1, dtype=np.int64)
        first[point[::-1]] = np.arange(len(point) - 1, -1, -1, dtype=np.int32)  # the last one that is written is the first record
        plain = [(codes[first].tolist(), python_values(distinct)) for codes, distinct in columns]
        return list(zip(*([distinct[c] for c in codes] for codes, distinct in plain), strict=True))

    return point, values


def _dense(codes: Ints) -> Ints:
    """The number of each code (none below 0) among the distinct ones in order, in 32 bits; without a sort if they are close."""
    top = int(codes.max(initial=0))
    if top > 4 * len(codes) + 1000:
        return np.unique(codes, return_inverse=True)[1].astype(np.int32)
    number = np.zeros(top + 1, dtype=np.int32)
    number[codes] = 1
    np.cumsum(number, out=number)
    number -= 1
    return number[codes]


def _in_order(codes: Ints) -> Ints:
    """The places of these codes in the order of the codes, equal ones as they stand."""
    if (codes[1:] >= codes[:-1]).all():
        return np.arange(len(codes), dtype=np.int32)
    out = codes.astype(np.int64)
    out <<= 32
    out |= np.arange(len(codes), dtype=np.int32)
    out.sort()
    out &= MOST_NUMBER - 1
    return out.astype(np.int32)


def _once(in_order: Ints) -> Ints:
    """Sorted numbers, each once, in the memory of the old ones."""
    kept, last = 0, -1
    for low in range(0, len(in_order), BLOCK):
        block = in_order[low : low + BLOCK]
        new = block[np.diff(block, prepend=last) != 0]
        last = int(block[-1])
        in_order[kept : kept + len(new)] = new
        kept += len(new)
    return in_order[:kept]


def _with_values(trace: Ints, codes: Ints, distinct: Any) -> tuple[Ints, Ints, int]:
    """The distinct pairs of a trace and a value, in the order of the traces; 0 is a missing value. And the number of values."""
    numbers: dict[Any, int] = {None: 0}
    number = np.array([numbers.setdefault(v, len(numbers)) for v in python_values(distinct)], dtype=np.int32)
    pairs: Ints = trace.astype(np.int64)
    pairs *= len(numbers)
    pairs += number[codes]
    pairs.sort()
    traces, values = np.divmod(_once(pairs), len(numbers))
    return traces, values, len(numbers)


def _facts(records: int, shown: _Shown, known: int) -> EventFacts:
    smallest: dict[int, int] = {}
    alone: dict[int, float] = {}
    least, share = len(shown.whose), np.zeros(len(shown.whose))
    for s in range(1, known + 1):
        least = min(least, _sets(shown, s, share))
        smallest[s], alone[s] = least, round(float(share.mean()), 12)
    longest, people = int(shown.lengths.max()), int(shown.whose.max()) + 1
    return EventFacts(records, len(share), people, int(shown.points.max()) + 1, longest, smallest, alone)


@dataclass(frozen=True, eq=False, repr=False)
class _Shown:
    """The points of each trace, in order, one trace after the other; how many each has; and the person of each trace."""

    points: Ints
    lengths: Ints
    whose: Ints

    @classmethod
    def of(cls, trace: Ints, point: Ints, owner: Ints) -> _Shown:
        """A point that a trace shows twice counts once; ``owner`` is the person behind each record."""
        whose, width = np.full(int(trace.max()) + 1, -1, dtype=np.int32), int(point.max()) + 1
        whose[trace] = owner
        if any((whose[trace[low : low + BLOCK]] != owner[low : low + BLOCK]).any() for low in range(0, len(trace), BLOCK)):
            raise VerificationError("a pseudonym of the written file stands for two people.")
        keys: Ints = trace.astype(np.int64)
        keys *= width
        keys += point
        keys.sort()
        keys = _once(keys)
        points, lengths = np.empty(len(keys), dtype=np.int32), np.zeros(len(whose), dtype=np.int32)
        for low in range(0, len(keys), BLOCK):
            block = keys[low : low + BLOCK]
            points[low : low + BLOCK] = block % width
            first = int(block[0]) // width
            many = np.bincount(block // width - first)
            lengths[first : first + len(many)] += many.astype(np.int32)
        return cls(points, lengths, whose)

    @cached_property
    def trace(self) -> Ints:
        return np.repeat(np.arange(len(self.lengths), dtype=np.int32), self.lengths)

    @cached_property
    def after(self) -> Ints:
        """How many points of its trace come after each point."""
        start = np.cumsum(self.lengths, dtype=np.int64) - self.lengths
        out = np.repeat((start + self.lengths - 1).astype(np.int32), self.lengths)
        out -= np.arange(len(self.points), dtype=np.int32)
        return out

    @cached_property
    def by_point(self) -> Ints:
        """The places of ``points`` in the order of the points."""
        return _in_order(self.points)

    def sets(self, size: int) -> int:
        """Sets of so many points of one trace, over all traces."""
        return sum(comb(n, size) * many for n, many in enumerate(np.bincount(self.lengths).tolist()))


def _sets(shown: _Shown, s: int, share: npt.NDArray[np.float64]) -> int:
    """The fewest people who share a set of s points: one over the largest share of one person in the traces that have it.

    ``share`` becomes, for each trace with so many points, the share of its sets that are one person's; a shorter trace keeps the
    share of its whole, which it got when s was its length.
    """
    fewest, people = len(shown.whose), int(shown.whose.max()) + 1
    single = np.zeros(len(share), dtype=np.int32)
    for ids, traces in _every_set(shown, s):
        times = most = np.bincount(ids)  # if nobody has two traces, most has one person each time
        if people < len(shown.whose):
            both, each = np.unique(ids * people + shown.whose[traces], return_counts=True)
            most, times = np.zeros(len(most), dtype=np.int64), np.bincount(both // people)
            np.maximum.at(most, both // people, each)
            fewest = min(fewest, int((np.bincount(ids) // most).min()))
        else:
            fewest = min(fewest, int(times.min()))
        which, many = np.unique(traces[times[ids] == 1], return_counts=True)
        single[which] += many.astype(np.int32)
    of_length = np.array([comb(n, s) for n in range(int(shown.lengths.max()) + 1)], dtype=np.float64)
    for low in range(0, len(share), BLOCK):
        lengths = shown.lengths[low : low + BLOCK]
        longer = lengths >= s
        share[low : low + BLOCK][longer] = single[low : low + BLOCK][longer] / of_length[lengths[longer]]
    return fewest


def _every_set(shown: _Shown, s: int, most: int | None = None) -> Iterator[tuple[Ints, Ints]]:
    """Every set of s points of a trace, in parts: a number per set, equal for equal sets, and the trace it was found in."""
    most = MOST_LISTED if most is None else most
    total = shown.sets(s)
    if total > most:
        hint = "Ask for fewer known records, renew pseudonyms, or let people have fewer records."
        raise VerificationError(f"{total:,} sets of {s} records would have to be counted; at most {most:,} are.", hint=hint)
    for heads in _blocks(shown, s):
        yield _list_sets(shown, heads, s)


FEWER_SETS = 5_000_000
"""Sets that are looked at one by one, if knowledge is not of exact records only."""


def _of_one_length(shown: _Shown, records: int) -> int:
    """As exact records, of traces with the same number of points only: the number is a part of each point."""
    keys = shown.points.astype(np.int64) * (int(shown.lengths.max()) + 1) + np.repeat(shown.lengths, shown.lengths)
    alike = _Shown(_dense(keys), shown.lengths, shown.whose)
    return min(_sets(alike, s, np.zeros(len(shown.whose))) for s in range(1, records + 1))


def _without_one(shown: _Shown, records: int) -> int:
    """Traces with a set, without those at the point that most of them have, but not all: somebody there never was at it."""
    fewest, start = len(shown.whose), np.concatenate(([0], np.cumsum(shown.lengths)))
    for s in range(1, records + 1):
        for ids, traces in _every_set(shown, s, FEWER_SETS):
            order = np.argsort(ids, kind="stable")
            for own in np.split(traces[order], np.flatnonzero(np.diff(ids[order])) + 1):
                times = np.unique(np.concatenate([shown.points[start[t] : start[t + 1]] for t in own]), return_counts=True)[1]
                most = int(times[times < len(own)].max(initial=0))
                fewest = min(fewest, (len(own) - most) // int(np.bincount(shown.whose[own]).max()))
    return fewest


def _about(shown: _Shown, asked: NearRecords, points: list[tuple[Any, ...]], timed: bool) -> float:
    """The traces with a point near each of the known ones, by the published times and places."""
    times = _as_numbers([p[0] for p in points] if timed else [0] * len(points), asked.in_time)
    places = list(zip(*(p[int(timed) :] for p in points), strict=True))
    numbers = [_as_numbers(column, False) if asked.distance > 0 else None for column in places]
    texts = [np.array([str(v)[: asked.characters or None] for v in column], dtype=object) for column in places]
    fits: list[set[int]] = []
    at: list[set[int]] = [set() for _ in points]
    for t, p in zip(shown.trace.tolist(), shown.points.tolist(), strict=True):
        at[p].add(t)
    for i in range(len(points)):
        alike = np.abs(times - times[i]) <= asked.reach
        if np.isnan(times[i]):
            alike = np.array([p[0] == points[i][0] for p in points])
        for number, text in zip(numbers, texts, strict=True):
            apart = None if number is None or np.isnan(number).any() else np.abs(number - number[i])
            alike = alike & (text == text[i] if apart is None else apart <= asked.distance + 1e-9)
        fits.append(set[int]().union(*(at[j] for j in np.flatnonzero(alike).tolist())))
    fewest, start = len(shown.whose), np.concatenate(([0], np.cumsum(shown.lengths))).tolist()
    known: set[tuple[int, ...]] = set()
    for t in range(len(shown.lengths)):
        for s in range(1, asked.records + 1):
            known.update(combinations(shown.points[start[t] : start[t + 1]].tolist(), s))
        if len(known) > FEWER_SETS:
            hint = "Ask for fewer known records."
            raise VerificationError(f"more than {FEWER_SETS:,} sets of records would have to be counted.", hint=hint)
    for own in known:
        left = list(set.intersection(*(fits[p] for p in own)))
        fewest = min(fewest, len(left) // int(np.bincount(shown.whose[left]).max()))
    return fewest


def _largest_inferred(shown: _Shown, asked: InferredPlace, points: list[tuple[Any, ...]], timed: bool) -> float:
    """The largest share of the traces with a set of points that have one place in common where they were most, second most, or
    next after one of these points; other than the places of the set."""
    place = [None if BLANK in p[timed:] or not p[timed:] else p[timed:] for p in points]
    numbers = [_as_numbers([p[0] for p in points], dated) for dated in (False, True)] if timed else []
    order = next((n for n in numbers if not np.isnan(n).any()), np.zeros(len(points)))
    have: dict[tuple[int, ...], list[int]] = {}
    places: list[dict[int, set[Any]]] = []
    start = np.concatenate(([0], np.cumsum(shown.lengths))).tolist()
    for t in range(len(shown.lengths)):
        own = shown.points[start[t] : start[t + 1]].tolist()
        places.append(_places_told(own, place, order, asked.kind))
        for s in range(1, asked.records + 1):
            for known in combinations(own, s):
                have.setdefault(known, []).append(t)
        if len(have) > FEWER_SETS:
            hint = "Ask for fewer known records."
            raise VerificationError(f"more than {FEWER_SETS:,} sets of records would have to be counted.", hint=hint)
    worst = 0.0
    for known, traces in have.items():
        for p in known:
            times = Counter(chain.from_iterable(places[t][p] for t in traces))
            most = max((n for v, n in times.items() if v is not None and v not in {place[q] for q in known}), default=0)
            worst = max(worst, most / len(traces))
    return round(worst, 12)


def _places_told(own: list[int], place: Sequence[Any], order: npt.NDArray[np.float64], kind: str) -> dict[int, set[Any]]:
    """The places that a trace tells somebody who knows that a point is in it."""
    if kind != "next":
        often = Counter(place[p] for p in own if place[p] is not None)
        ranked = sorted(often.values(), reverse=True)[kind == "work" :]
        top = {v for v, n in often.items() if ranked and n == ranked[0]}
        return dict.fromkeys(own, top)
    out = {}
    for p in own:
        later = min((order[q] for q in own if order[q] > order[p]), default=order[p])
        out[p] = {place[q] for q in own if q != p and order[q] in (order[p], later)}
    return out


def _as_numbers(values: Sequence[Any], dated: bool) -> npt.NDArray[np.float64]:
    """Published times in microseconds if they are ``dated``, numbers as they are; not a number: anything else."""
    out = []
    for value in values:
        try:
            moment = datetime.fromisoformat(str(value)) if dated else None
            since = None if moment is None else moment.replace(tzinfo=moment.tzinfo or UTC) - EPOCH
            out.append(float(value) if since is None else since / timedelta(microseconds=1))
        except (TypeError, ValueError):
            out.append(np.nan)
    return np.array(out)


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _sure(shown: _Shown, records: int, asked: Requirement, trace: Ints, value: Ints, width: int) -> float:
    """What the traces with a set of up to so many points have of a sensitive column, each value once in a trace: the largest
    share of these traces that has one, the fewest values, or the largest distance from the values of all traces."""
    if asked.kind == "alpha":
        trace, value = trace[value > 0], value[value > 0]
    first = np.searchsorted(trace, np.arange(len(shown.whose) + 1))
    whole = np.bincount(value, minlength=width) / max(1, len(value))
    worst = [0.0] if asked.sign == "<=" else [float(width)]
    for s in range(1, records + 1):
        for ids, traces in _every_set(shown, s):
            many = np.diff(first)[traces]
            place = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
            cells = value[np.repeat(first[traces], many) + place]
            keys, times = np.unique(np.repeat(ids, many) * width + cells, return_counts=True)
            of, what = keys // width, keys % width
            if asked.kind == "alpha":
                worst.append(float((times / np.bincount(ids)[of]).max(initial=0.0)))
            elif asked.sign == ">=":
                worst.append(float(np.bincount(of).min()))
            else:
                share = times / np.bincount(of, weights=times)[of]
                apart = np.bincount(of, weights=np.abs(share - whole[what]) - whole[what])
                worst.append(float((apart.max() + 1) / 2))
    return round(max(worst) if asked.sign == "<=" else min(worst), 12)


def _blocks(shown: _Shown, size: int) -> Iterator[Ints]:
    """The points that can be the smallest of a set, in parts of about :data:`BLOCK` sets; equal points are in one part, so all
    that share a set are in it together."""
    ways = np.array([comb(n, size - 1) for n in range(int(shown.lengths.max()))], dtype=np.float64)
    order, width = shown.by_point, int(shown.points.max()) + 1
    ends = np.cumsum(np.bincount(shown.points, minlength=width))
    begun = np.zeros(width)
    for low in range(0, len(order), BLOCK):
        block = slice(low, low + BLOCK)
        begun += np.bincount(shown.points[block], weights=ways[shown.after[block]], minlength=width)
    part = np.floor(np.concatenate(([0.0], np.cumsum(begun)[:-1])) / BLOCK).astype(np.int64)
    for last in np.flatnonzero(np.diff(part, append=-1)).tolist():
        first = int(np.searchsorted(part, part[last]))
        heads = order[int(ends[first - 1]) if first else 0 : int(ends[last])]
        heads = heads[ways[shown.after[heads]] > 0]
        if len(heads):
            yield heads


def _list_sets(shown: _Shown, heads: Ints, size: int) -> tuple[Ints, Ints]:
    """Every set that begins with one of these points: a number per set, equal for equal sets, and the trace it was found in."""
    lines, traces = [], []
    left = shown.after[heads]
    for n in np.unique(left).tolist():
        own = heads[left == n].astype(np.int64)
        picks = _picks(n, size - 1)
        rest = shown.points[own[:, None, None] + 1 + picks[None]]
        first = np.broadcast_to(shown.points[own][:, None, None], (len(own), len(picks), 1))
        lines.append(np.concatenate((first, rest), axis=2).reshape(-1, size))
        traces.append(np.repeat(shown.trace[own], len(picks)))
    return _number_lines(np.concatenate(lines).astype(np.int64)), np.concatenate(traces)


def _picks(n: int, size: int) -> Ints:
    """All ways to take ``size`` of n places."""
    ways = comb(n, size)
    flat = np.fromiter(chain.from_iterable(combinations(range(n), size)), dtype=np.int64, count=ways * size)
    return flat.reshape(ways, size)


def _number_lines(lines: Ints) -> Ints:
    """Equal lines get the same number, counted from 0."""
    width = int(lines.max()) + 1
    ids: Ints = lines[:, 0]
    for column in lines.T[1:]:
        ids = ids if int(ids.max()) < MOST_CODE // width else np.unique(ids, return_inverse=True)[1]
        ids = ids * width + column
    return np.unique(ids, return_inverse=True)[1]


MOST_CODE, MOST_NUMBER = 2**62, 2**31

PARTS = {"night": 0, "morning": 1, "afternoon": 2, "evening": 3}
BLANK = "*"


def recount_uses(
    path: Path, *, unit: str | None, time: str | None, place: Sequence[str], counts: str | None = None
) -> tuple[dict[str, float], Counter[tuple[Any, ...]]]:
    """What anybody can count of the uses in a written file: records, records per pseudonym, and trips; and the trips by origin
    and destination. These are consecutive records of a pseudonym at two places; records at the same time have no order, and
    blank places tell no trip. With several places each record is a trip, from one to the other."""
    columns = event_columns(path, [c for c in (unit, time, *place) if c is not None], counts, ids=int(unit is not None))
    n = len(columns[0][0])
    trace = _dense(columns.pop(0)[0]) if unit else np.arange(n, dtype=np.int32)
    out = {"records": float(n), "records per person": n / (int(trace.max()) + 1)}
    where, values = points_of(columns[time is not None :]) if place else (trace, list)
    ends = values()
    del values, columns[1:]
    if len(place) != 1:
        return out, Counter({e: m for e, m in zip(ends, np.bincount(where).tolist(), strict=False) if BLANK not in e})
    if time is None:
        return out, Counter()
    shown, times = points_of(columns)
    moments = [_moment(t) for (t,) in times()]
    ranks = {m: i for i, m in enumerate(sorted(set(moments)))}
    when = np.array([ranks[m] for m in moments], dtype=np.int32)[shown]
    del times, columns
    trips = _trips(trace, when, shown, where, np.array([BLANK not in e for e in ends], dtype=np.bool_))
    named = {(*ends[t // len(ends)], *ends[t % len(ends)]): m for t, m in sorted(trips.items())}
    return {**out, "trips": float(sum(trips.values()))}, Counter(named)


def _trips(trace: Ints, when: Ints, shown: Ints, where: Ints, clear: npt.NDArray[np.bool_]) -> Counter[int]:
    """The trips by origin · places + destination, a part of the traces at a time: ``when`` orders records, ``shown`` is the
    published time of each, and only ``clear`` places tell a trip."""
    out: Counter[int] = Counter()
    by_trace = _in_order(trace)
    low = 0
    while low < len(trace):
        high = min(low + BLOCK, len(trace))
        high = int(np.searchsorted(trace, trace[by_trace[high - 1]], "right", sorter=by_trace))
        own = by_trace[low:high]
        own = own[np.lexsort((when[own], trace[own]))]
        t, at, place = trace[own].astype(np.int64), shown[own], where[own].astype(np.int64)
        _, which, many = np.unique(t * (int(shown.max()) + 1) + at, return_inverse=True, return_counts=True)
        sure = clear[place] & (many[which] == 1)
        ends = np.flatnonzero((t[1:] == t[:-1]) & (place[1:] != place[:-1]) & sure[1:] & sure[:-1])
        keys, many = np.unique(place[ends] * len(clear) + place[ends + 1], return_counts=True)
        out.update(dict(zip(keys.tolist(), many.tolist(), strict=True)))
        low = high
    return out


def read_flows(path: Path) -> dict[tuple[Any, ...], int]:
    """The trips of each origin and destination in a file of flows."""
    out = {}
    for *ends, trips in rows(path, header(path)):
        if tuple(ends) in out or not str(trips).isdigit():
            raise VerificationError("the file of flows names a flow twice, or without its trips.")
        out[tuple(ends)] = int(trips)
    return out


def check_flows(path: Path, seen: Mapping[tuple[Any, ...], int] | None, k: int) -> str:
    """Every published flow has at least k trips, and adds none or at least k to those that the records show (``seen``)."""
    flows = read_flows(path)
    added = [n - (seen or {}).get(ends, 0) for ends, n in flows.items()]
    if any(n < k for n in flows.values()) or any(a < 0 or 0 < a < k for a in added):
        raise VerificationError(f"the file of flows tells trips of fewer than {k} people.")
    return f"{len(flows):,} flows have at least {k} trips, and add none or at least {k} to those that the records show"


def _moment(time: Any) -> tuple[float, Any]:
    """What orders published times: numbers as such; parts of the day have names, which stand last after a weekday."""
    if not isinstance(time, str):
        return 0, time
    part = time.split(" ")[-1]
    if part in PARTS:
        return PARTS[part], ""
    try:
        return float(time), ""
    except ValueError:
        return 0, time


def judge_events(requirements: Iterable[Requirement], facts: EventFacts) -> list[Verdict]:
    """Each requirement on known records against what was counted."""
    return [r.judged(_find_share(r, facts)) for r in requirements]


def _find_share(asked: Requirement, facts: EventFacts) -> float:
    if asked.name in facts.further:
        return facts.further[asked.name]
    match asked:
        case KnownRecords() if asked.kind == "known":
            return facts.smallest[asked.records]
        case Unicity():
            return facts.alone[asked.records]
    raise UsageError(f"'{asked.name}' says nothing of an event table.", hint="Ask for known[2]>=5 or unicity[4]<=0.05.")
