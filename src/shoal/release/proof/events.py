"""The second opinion on an event table: every set of known records listed and counted, from the written file alone.

Takes    a file, its pseudonym (or none), time and places; perhaps the column of the person behind a pseudonym
Returns  EventFacts: for s = 1, 2, … the fewest people who share a set of up to s records, and the share of people alone
Keeps    shares no code with the measures and the search: sets are listed and sorted here, intersected there
Cost     linear in the number of sets; more than :data:`~shoal.model.requirement.MOST_SETS` of one size and nothing is claimed
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, pairwise
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import UsageError, VerificationError
from shoal.model.requirement import MOST_SETS, KnownRecords, Requirement, Unicity, Verdict
from shoal.release.proof.read import header, rows

Ints = npt.NDArray[np.int64]
BLOCK = 4_000_000
"""Sets that are listed at a time."""


@dataclass(frozen=True)
class EventFacts:
    """What known records reveal in a written file.

    ``smallest[s]`` is the fewest people who share a set of up to s records of one trace. A person with several traces that have
    the set is more likely than the others to be meant: then it is one over that person's share of these traces, rounded down.
    ``alone[s]`` is the share of the sets of s records (of all records, in a shorter trace) that are one person's, averaged over
    the traces. A trace is what stands under one pseudonym (each record, where none is published).
    """

    records: int
    traces: int
    people: int
    points: int
    longest: int
    smallest: Mapping[int, int]
    alone: Mapping[int, float]

    def to_json(self) -> dict[str, Any]:
        return {
            "records": self.records,
            "traces": self.traces,
            "people": self.people,
            "points": self.points,
            "longest": self.longest,
            "smallest": {str(s): k for s, k in sorted(self.smallest.items())},
            "alone": {str(s): share for s, share in sorted(self.alone.items())},
        }


def recount_events(path: Path, *, unit: str | None, points: Sequence[str], known: int, person: str | None = None) -> EventFacts:
    """Count a written event table again, for up to ``known`` known records.

    Parameters
    ----------
    unit : str or None
        The pseudonym; without it each record stands alone.
    points : sequence of str
        The columns that tell a point: time and places, as they are published.
    person : str, optional
        The person behind each pseudonym, where the file has it: then people are counted, not pseudonyms.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> f = pathlib.Path(tempfile.mkdtemp()) / "t.csv"
    >>> _ = f.write_text("who,where\\n1,a\\n1,b\\n2,a\\n2,b\\n3,a\\n")
    >>> facts = recount_events(f, unit="who", points=["where"], known=2)
    >>> facts.smallest, facts.alone
    ({1: 2, 2: 2}, {1: 0.0, 2: 0.0})
    """
    columns = [*([unit] if unit else []), *([person] if person else []), *points]
    return facts_of_rows(rows(path, columns), unit=unit is not None, person=person is not None, known=known)


def facts_of_rows(records: Iterable[tuple[Any, ...]], *, unit: bool, person: bool, known: int) -> EventFacts:
    """The same from records: pseudonym and person first, where there are such columns, then what tells the point."""
    names: dict[Any, int] = {}
    people: dict[Any, int] = {}
    places: dict[Any, int] = {}
    trace, owner, point = [], [], []
    for i, record in enumerate(records):
        named = record[0] if unit else i
        whose = record[int(unit)] if person else named
        trace.append(names.setdefault(named, len(names)))
        owner.append(people.setdefault(whose, len(people)))
        point.append(places.setdefault(record[int(unit) + int(person) :], len(places)))
    if not trace:
        raise VerificationError("the written file holds no record.")
    return _facts(np.array(trace), np.array(owner), np.array(point), known)


def _facts(trace: Ints, owner: Ints, point: Ints, known: int) -> EventFacts:
    whose = np.full(int(trace.max()) + 1, -1)
    whose[trace] = owner
    if not (whose[trace] == owner).all():
        raise VerificationError("a pseudonym of the written file stands for two people.")
    width = int(point.max()) + 1
    shown = np.unique(trace * width + point)
    found = _Shown(shown % width, np.bincount(shown // width), whose)
    smallest: dict[int, int] = {}
    alone: dict[int, float] = {}
    least, share = len(whose), np.zeros(len(whose))
    for s in range(1, known + 1):
        least = min(least, _sets(found, s, share))
        smallest[s], alone[s] = least, round(float(share.mean()), 12) + 0.0
    longest = int(found.lengths.max())
    return EventFacts(len(trace), len(whose), int(owner.max()) + 1, width, longest, smallest, alone)


@dataclass(frozen=True, eq=False, repr=False)
class _Shown:
    """The points of each trace, in order, one trace after the other; and the person of each trace."""

    points: Ints
    lengths: Ints
    whose: Ints

    @property
    def trace(self) -> Ints:
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @property
    def after(self) -> Ints:
        """How many points of its trace come after each point."""
        ends = np.cumsum(self.lengths)
        return np.repeat(ends, self.lengths) - 1 - np.arange(len(self.points))


def _sets(shown: _Shown, s: int, share: npt.NDArray[np.float64]) -> int:
    """The fewest people who share a set of s points: one over the largest share of one person in the traces that have it.

    ``share`` becomes, for each trace with so many points, the share of its sets that are one person's; a shorter trace keeps the
    share of its whole, which it got when s was its length.
    """
    longer = shown.lengths >= s
    total = sum(comb(int(n), s) for n in shown.lengths[longer])
    if total > MOST_SETS:
        raise VerificationError(
            f"{total:,} sets of {s} records would have to be counted; at most {MOST_SETS:,} are.",
            hint="Ask for fewer known records, renew pseudonyms, or let people have fewer records.",
        )
    fewest, people = len(shown.whose), int(shown.whose.max()) + 1
    single = np.zeros(len(share))
    for heads in _blocks(shown, s):
        ids, traces = _listed(shown, heads, s)
        both, times = np.unique(ids * people + shown.whose[traces], return_counts=True)
        held = both // people
        most = np.zeros(int(held[-1]) + 1, dtype=np.int64)
        np.maximum.at(most, held, times)
        fewest = min(fewest, int((np.bincount(ids) // most).min()))
        single += np.bincount(traces[np.bincount(held)[ids] == 1], minlength=len(single))
    share[longer] = single[longer] / np.array([comb(int(n), s) for n in shown.lengths[longer]], dtype=np.float64)
    return fewest


def _blocks(shown: _Shown, size: int) -> Iterator[Ints]:
    """The points that can be the smallest of a set, in blocks of about :data:`BLOCK` sets; equal points are in one block, so all
    that share a set are in it together."""
    after = shown.after
    ways = np.array([comb(n, size - 1) for n in range(int(after.max()) + 1)], dtype=np.float64)[after]
    begun = np.bincount(shown.points, weights=ways)
    block = np.floor(np.concatenate(([0.0], np.cumsum(begun)[:-1])) / BLOCK).astype(np.int64)
    of_head = block[shown.points]
    for number in np.unique(block).tolist():
        heads = np.flatnonzero((of_head == number) & (ways > 0))
        if len(heads):
            yield heads


def _listed(shown: _Shown, heads: Ints, size: int) -> tuple[Ints, Ints]:
    """Every set that begins with one of these points: a number per set, equal for equal sets, and the trace it was found in."""
    after, trace = shown.after, shown.trace
    lines, traces = [], []
    for n in np.unique(after[heads]).tolist():
        own = heads[after[heads] == n]
        picks = _picks(n, size - 1)
        rest = shown.points[own[:, None, None] + 1 + picks[None]]
        first = np.broadcast_to(shown.points[own][:, None, None], (len(own), len(picks), 1))
        lines.append(np.concatenate((first, rest), axis=2).reshape(-1, size))
        traces.append(np.repeat(trace[own], len(picks)))
    return _numbered(np.concatenate(lines)), np.concatenate(traces)


def _picks(n: int, size: int) -> Ints:
    """All ways to take ``size`` of n places."""
    ways = comb(n, size)
    flat = np.fromiter(chain.from_iterable(combinations(range(n), size)), dtype=np.int64, count=ways * size)
    return flat.reshape(ways, size)


def _numbered(lines: Ints) -> Ints:
    """Equal lines get the same number, counted from 0."""
    ids: Ints = np.unique(lines[:, 0], return_inverse=True)[1]
    for column in lines.T[1:]:
        ids = np.unique(ids * (int(column.max()) + 1) + column, return_inverse=True)[1]
    return ids


PARTS = {"night": 0, "morning": 1, "afternoon": 2, "evening": 3}
BLANK = "*"


def recount_uses(path: Path, *, unit: str | None, time: str | None, place: Sequence[str]) -> dict[str, float]:
    """What anybody can count of the uses in a written file: records, records per pseudonym, and trips between the places of
    one column."""
    columns = [c for c in (unit, time, *place) if c is not None]
    named = Counter(record[0] if unit else i for i, record in enumerate(rows(path, columns)))
    out = {"records": float(named.total()), "records per person": named.total() / len(named)}
    if time is not None and len(place) == 1:
        out["trips"] = float(recount_trips(path, unit=unit, time=time, place=place).total())
    return out


def recount_trips(path: Path, *, unit: str | None, time: str | None, place: Sequence[str]) -> Counter[tuple[Any, ...]]:
    """Trips by origin and destination in a written file: consecutive records of a pseudonym at two places; records at the same
    time have no order, and blank places tell no trip. Without a time each record is a trip, its places origin and destination."""
    if time is None:
        return Counter(record for record in rows(path, place) if BLANK not in record)
    out: Counter[tuple[Any, ...]] = Counter()
    by: dict[Any, list[tuple[Any, ...]]] = {}
    for i, record in enumerate(rows(path, [*([unit] if unit else []), time, *place])):
        by.setdefault(record[0] if unit else i, []).append(record[bool(unit) :])
    for own in by.values():
        times = Counter(r[0] for r in own)
        ordered = sorted(own, key=lambda r: (_moment(r[0]), str(r[1:])))
        for a, b in pairwise(ordered):
            if a[1:] != b[1:] and BLANK not in (*a[1:], *b[1:]) and times[a[0]] == times[b[0]] == 1:
                out[*a[1:], *b[1:]] += 1
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
    return [r.judged(_found(r, facts)) for r in requirements]


def _found(asked: Requirement, facts: EventFacts) -> float:
    match asked:
        case KnownRecords():
            return facts.smallest[asked.records]
        case Unicity():
            return facts.alone[asked.records]
    raise UsageError(f"'{asked.name}' says nothing of an event table.", hint="Ask for known[2]>=5 or unicity[4]<=0.05.")
