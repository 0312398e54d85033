"""An event table as the search sees it: the records of people as codes, and the choices that a plan may take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from shoal.errors import UsageError
from shoal.measures.events.knowledge import Asked, Mask, Shown, numbered, people_asked
from shoal.measures.events.traces import CYCLES, UNITS, time_length
from shoal.measures.events.unicity import trips_of
from shoal.model.counts.classes import FloatArray, IntArray
from shoal.model.hierarchy import Hierarchy
from shoal.search.events.suppress import Pairs, most_shown

NEVER, EVERY = "never", "every record"
NEEDED = "as needed"
"""A renewal: a new pseudonym for the records of a trace that too few people share with its others. After another renewal:
``7 days or as needed``."""
CUT = "cut"
"""A place level: each place as far up its hierarchy as the known records ask for, no further."""
LOCAL = "local"
"""A place level: exact in every record that can show it, ``*`` in the others."""
DAYS, RECORDS, GAP = "days", "records", "gap"


@dataclass(frozen=True)
class Shape:
    """One way to publish: width of time, level of place, most records per person (0: all), renewal of the pseudonym."""

    time: str
    place: str
    most: int = 0
    renew: str = NEVER

    def to_json(self) -> dict[str, Any]:
        return {"time": self.time, "place": self.place, "most_records": self.most, "renew": self.renew}

    @property
    def words(self) -> str:
        parts = [f"time {self.time}", f"place {self.place}"]
        parts += [f"at most {self.most:,} records per person"] if self.most else []
        parts += [] if self.renew == NEVER else [f"a new pseudonym: {self.renew}"]
        return ", ".join(parts)

    @property
    def splits(self) -> bool:
        """Whether traces are split where too few people share their records."""
        return self.renew.endswith(NEEDED)

    @property
    def regular(self) -> str:
        """The renewal without what is split as needed."""
        return self.renew.removesuffix(NEEDED).removesuffix(" or ") or NEVER


@dataclass(frozen=True)
class Weights:
    """How much each use counts: the detail of times and places, trips from place to place, and links between all records of a
    person; 0 if a table does not have it."""

    time: float = 1.0
    place: float = 2.0
    trips: float = 2.0
    links: float = 1.0

    def mean(self, losses: Losses) -> float:
        """The weighted mean of the losses."""
        both = [(self.time, losses.time), (self.place, losses.place), (self.trips, losses.trips), (self.links, losses.links)]
        return sum(w * x for w, x in both) / sum(w for w, _ in both)


@dataclass(frozen=True)
class Losses:
    """What is lost of each use, 0 to 1, over all records: those that are not published lose everything."""

    time: float
    place: float
    trips: float
    links: float


@dataclass(frozen=True, eq=False, repr=False)
class EventProblem:
    """Complete records, one entry each: ``person``; ``rank`` in the order of time and ``draw``, a random rank, both within the
    person; ``moment`` in microseconds, if times have dates. ``times`` and ``places`` give the codes of the records at each width
    and level (None: left out).

    ``leaf`` is the value of the record's place in ``tree``, for the level ``cut``. ``times`` has hours too, if they are
    timestamps. ``ladder`` has, for the level ``local``, the places of the records with 0, 1, … of their columns blank, the last
    column first; no code stands twice. ``flows``: trips by origin and destination are published beside the records. ``shown``
    tells what else is published of the records at a width of time and a level of place, if a requirement is about it. ``allow``
    and ``allow_people``: the shares of the records, and of the people, that may be left out.
    """

    person: IntArray
    rank: IntArray
    draw: IntArray
    moment: IntArray | None
    times: Mapping[str, Any]
    places: Mapping[str, Any]
    asked: tuple[Asked, ...]
    allow: float
    shapes: tuple[Shape, ...]
    weights: Weights = Weights()
    tree: Hierarchy | None = None
    leaf: IntArray | None = None
    ladder: tuple[IntArray, ...] = ()
    flows: bool = False
    allow_people: float = 0.0
    shown: Callable[[str, str], Shown] | None = None
    losses: dict[tuple[str, str], float] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return len(self.person)

    def with_shapes(self, shapes: tuple[Shape, ...]) -> EventProblem:
        return replace(self, shapes=shapes)

    def column_loss(self, axis: str, choice: str) -> float:
        """The share of the bits of a column that a width or level takes away; 1 if it is left out."""
        key = (axis, choice)
        if key not in self.losses:
            codes = (self.times if axis == "time" else self.places)[choice]
            self.losses[key] = bits_lost(self.detail if axis == "time" else self.places.get("exact"), codes)
        return self.losses[key]

    @cached_property
    def detail(self) -> Any:
        """The finest times that count as detail: hours, because hardly any use needs finer ones; the times as they are if these
        are not timestamps, or all within one hour."""
        hours = self.times.get("hour")
        return self.times.get("exact") if hours is None or (hours == hours[0]).all() else hours

    @cached_property
    def points(self) -> IntArray:
        """The person of each distinct person, time and place: the most records that one pseudonym per person can publish."""
        columns = [c for c in (self.times.get("exact"), self.places.get("exact")) if c is not None]
        people = np.arange(int(self.person.max()) + 1)
        return pairs_of(self.person, people, columns, self.n)[0].trace

    @cached_property
    def trips(self) -> tuple[IntArray, IntArray]:
        """Records of one person that follow each other at two different places: the earlier and the later ones. Records at the
        same time have no order."""
        place, order = self.places.get("exact"), self.times.get("exact")
        return (self.rank[:0], self.rank[:0]) if place is None or order is None else trips_of(self.person, order, place)

    def ordered(self, shape: Shape) -> bool:
        """Whether the published times tell which record of a pseudonym came first: not if the date is missing, except within one
        day."""
        if shape.time in CYCLES:
            return shape.regular == f"1 {DAYS}" and shape.time in WITHIN_DAY
        return self.times.get(shape.time) is not None

    def lost(
        self, shape: Shape, trace: IntArray, alive: Mask, published: IntArray, place: float, blank: IntArray | None
    ) -> Losses:
        """What a plan loses: ``trace`` of each record, whether its point is ``alive``, the trace of each published record, the
        share of the bits of the places of these that is lost, and in how many columns the place of each record is ``blank``."""
        clear = alive if blank is None else alive & (blank == 0)
        coarse = place if blank is None else 0.0
        kept = min(1.0, len(published) / len(self.points))
        time = self.column_loss("time", shape.time)
        return Losses(
            time=1 - kept * (1 - time),
            place=1 - kept * (1 - place),
            trips=self._trips_lost(shape, trace, clear, coarse) if self.weights.trips else 0.0,
            links=links_lost(self.points, published),
        )

    def _trips_lost(self, shape: Shape, trace: IntArray, alive: Mask, coarse: float) -> float:
        return self.flows_lost if self.flows else 1 - self._trips_read(shape, trace, alive) * (1 - coarse)

    @cached_property
    def flows_lost(self) -> float:
        """The share of the trips that no file of flows can count: nobody has more than one in k of the trips of a flow."""
        a, b = self.trips
        place = self.places["exact"]
        k = people_asked(self.asked)
        return 1 - most_shown(place[a] * (int(place.max()) + 1) + place[b], self.person[a], k) / max(1, len(a))

    def _trips_read(self, shape: Shape, trace: IntArray, alive: Mask) -> float:
        """The share of the trips that can still be read: both records under one pseudonym, one after the other."""
        a, b = self.trips
        times = self.times.get(shape.time)
        if not len(a):
            return 1.0
        if times is None or not self.ordered(shape):
            return 0.0
        return float((alive[a] & alive[b] & (trace[a] == trace[b]) & (times[a] != times[b])).mean())


WITHIN_DAY = ("hour of day", "part of day", "weekday and hour", "weekday and part of day")


def bits_lost(exact: Any, codes: Any) -> float:
    """1 − H(codes) / H(exact), over records; 0 for a column with one value.

    >>> bits_lost(np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1])), bits_lost(np.array([0, 1]), None)
    (0.5, 1.0)
    """
    if codes is None:
        return 1.0
    whole = _entropy(exact)
    return 0.0 if whole == 0 else min(1.0, max(0.0, 1.0 - _entropy(codes) / whole))


def _entropy(codes: Any) -> float:
    share = np.bincount(numbered(codes)[1]) / len(codes)
    return float(-(share * np.log2(share)).sum())


def kept_records(problem: EventProblem, shape: Shape) -> Mask:
    """Records within the most that a person may have; which ones is random."""
    return problem.draw < shape.most if shape.most else np.ones(problem.n, dtype=np.bool_)


def traces_of(problem: EventProblem, shape: Shape, keep: Mask) -> tuple[IntArray, IntArray]:
    """The trace of each kept record, numbered so that those of a person follow each other; and the person of each trace."""
    person, rank = problem.person[keep], problem.rank[keep]
    if shape.regular == NEVER:
        chunk = np.zeros(len(person), dtype=np.int64)
    elif shape.regular == EVERY:
        chunk = rank
    else:
        every, unit = renewal(shape.regular)
        if problem.moment is None and unit != RECORDS:
            raise UsageError("a pseudonym is renewed by days, but no date is named.", hint="Name the time, or renew by records.")
        if unit == DAYS:
            chunk = problem.moment[keep] // UNITS["d"] // every  # type: ignore[index]
        else:
            order, chunk = np.lexsort((rank, person)), np.empty(len(person), dtype=np.int64)
            own = person[order]
            if unit == GAP:
                chunk[order] = np.cumsum(np.diff(problem.moment[keep][order], prepend=0) >= every)  # type: ignore[index]
            else:
                chunk[order] = (np.arange(len(own)) - np.searchsorted(own, own)) // every
    chunk = chunk - int(chunk.min(initial=0))
    width = int(chunk.max(initial=0)) + 1
    numbers, trace = numbered(person * width + chunk)
    return trace, numbers // width


def renewal(text: str) -> tuple[int, str]:
    """How often a pseudonym is renewed; after a gap, of so many microseconds or more.

    >>> renewal("20 records"), renewal("7 days"), renewal("2h gap")
    ((20, 'records'), (7, 'days'), (7200000000, 'gap'))
    """
    number, _, unit = text.partition(" ")
    if unit == GAP and (length := time_length(number)):
        return length, unit
    if not (number.isascii() and number.isdigit() and 0 < len(number) < 10 and int(number) and unit in (DAYS, RECORDS)):
        hint = "Write never, 20 records, 7 days, 8h gap, as needed, 7 days or as needed, model 0.05, or every record."
        raise UsageError(f"'{text}' is not a renewal.", hint=hint)
    return int(number), unit


def pairs_of(trace: IntArray, owner: IntArray, columns: list[Any], n: int) -> tuple[Pairs, IntArray]:
    """The distinct pairs of trace and point with their records; and the pair of each record."""
    point = np.zeros(n, dtype=np.int64)
    for codes in columns:
        dense = numbered(codes)[1]
        point = numbered(point * (int(dense.max(initial=0)) + 1) + dense)[1]
    width = int(point.max(initial=0)) + 1
    distinct, which, rows = np.unique(trace * width + point, return_inverse=True, return_counts=True)
    return Pairs(distinct // width, distinct % width, rows.astype(np.int64), owner), which.astype(np.int64)


def links_lost(person: IntArray, trace: IntArray) -> float:
    """The share of the pairs of records of one person that no longer stand under one pseudonym; ``trace`` of the published ones.

    >>> links_lost(np.array([0, 0, 0, 0]), np.array([0, 0, 1, 1]))
    0.6666666666666667
    """
    before, after = _pairs(person), _pairs(trace)
    return 0.0 if before == 0 else 1.0 - after / before


def _pairs(codes: IntArray) -> float:
    n: FloatArray = np.bincount(numbered(codes)[1]).astype(np.float64)
    return float((n * (n - 1)).sum())
