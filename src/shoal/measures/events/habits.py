"""What is telling without knowing particular records: rare places, hours and weekdays, and where a person mostly is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from shoal.kernels.group import group_codes
from shoal.measures.events.traces import Traces
from shoal.measures.events.unicity import SetSizes
from shoal.model.counts.classes import IntArray

FEW = 5
"""Hours and weekdays with fewer people are not shown."""
HOURS = tuple(f"{h:02d}:00–{h:02d}:59" for h in range(24))
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True)
class RarePlaces:
    """Of all places: how many fewer than ``below`` people visited, the share of people who were at one, and of records there."""

    below: int
    places: int
    of: int
    people: float
    records: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def rare_places(traces: Traces, records: IntArray, thresholds: Sequence[int] = (2, 5, 10)) -> tuple[RarePlaces, ...]:
    """Places by the number of people who were there; ``records`` per place. No place is named.

    >>> found = rare_places(Traces.of([0, 1, 1], [0, 0, 1]), np.array([2, 1]), (2,))[0]
    >>> found.places, found.of, found.people, round(found.records, 3)
    (1, 2, 0.5, 0.333)
    """
    out = []
    person = np.repeat(np.arange(traces.n_people), traces.lengths)
    for k in thresholds:
        rare = traces.popularity < k
        people = len(np.unique(person[rare[traces.point]])) / traces.n_people
        share = float(records[rare].sum() / records.sum())
        out.append(RarePlaces(k, int(rare.sum()), traces.n_points, people, share))
    return tuple(out)


@dataclass(frozen=True)
class Season:
    """The points in an hour of the day or on a weekday: people, points, and the share of points that one person has."""

    name: str
    people: int
    points: int
    alone: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def seasons(traces: Traces, of_point: IntArray, names: Sequence[str]) -> tuple[Season, ...]:
    """What a known record in each season tells, most telling first; seasons with fewer than :data:`FEW` people are left out."""
    person = np.repeat(np.arange(traces.n_people), traces.lengths)
    season = of_point[traces.point]
    out = []
    for i, name in enumerate(names):
        inside = season == i
        people = len(np.unique(person[inside]))
        if people >= FEW:
            points = of_point == i
            out.append(Season(name, people, int(points.sum()), float((traces.popularity[points] == 1).mean())))
    return tuple(sorted(out, key=lambda s: (-s.alone, s.name)))


@dataclass(frozen=True)
class TopPlaces:
    """People by the set of the ``places`` they are at most: the share alone with theirs, and the sizes of the sets.

    ``fewer`` people have fewer places, and count with those they have. Of ``tied`` people another place was as frequent.
    """

    places: int
    unique: float
    sets: SetSizes
    fewer: int
    tied: int

    def to_json(self) -> dict[str, Any]:
        s = self.sets
        sizes = {"min": s.min, "q1": s.q1, "median": s.median, "mean": s.mean, "q3": s.q3}
        return {"places": self.places, "unique": self.unique, "sets": sizes, "fewer": self.fewer, "tied": self.tied}


def top_places(person: IntArray, place: IntArray, records: IntArray, most: int = 3) -> tuple[TopPlaces, ...]:
    """By the 1, 2, … ``most`` places where each person has most records; equally frequent ones in the order of the places.

    >>> both = top_places(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 0]), np.array([5, 2, 1, 3, 9]), 2)
    >>> [round(t.unique, 3) for t in both], both[1].fewer
    ([0.333, 0.333], 1)
    """
    n_people = int(person.max()) + 1
    order = np.lexsort((place, -records, person))
    who, where, often = person[order], place[order], records[order]
    start = np.searchsorted(who, np.arange(n_people))
    rank = np.arange(len(who)) - start[who]
    lengths = np.bincount(who, minlength=n_people)
    columns = np.full((n_people, most), -1, dtype=np.int64)
    inside = rank < most
    columns[who[inside], rank[inside]] = where[inside]
    out = []
    for m in range(1, most + 1):
        sets = np.sort(columns[:, :m], axis=1)
        ids = group_codes([c.astype(np.int32) for c in sets.T]).ids
        sizes = np.bincount(ids)[ids]
        hist = np.bincount(sizes, minlength=n_people + 1).astype(np.float64)
        next_ = start + m
        more = lengths > m
        tied = int((often[next_[more]] == often[next_[more] - 1]).sum())
        out.append(TopPlaces(m, float(hist[1] / n_people), SetSizes.of(hist), int((lengths < m).sum()), tied))
    return tuple(out)


HOUR, DAY = 3_600_000_000, 86_400_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Log:
    """Records of each person or pseudonym (``who``): their moment (µs, None without times) and place (None without); and the
    ``trips`` that they tell, each the number of its origin and destination (None if they tell none).

    Places and trips of two logs that are compared have the same codes; moments say no more than what is published of them. A
    place below 0 is blank.
    """

    who: IntArray
    moment: IntArray | None
    place: IntArray | None
    trips: IntArray | None = None

    @property
    def records(self) -> IntArray:
        """Records of each."""
        return np.unique(self.who, return_counts=True)[1]


def trips_of(who: IntArray, order: IntArray, place: IntArray) -> tuple[IntArray, IntArray]:
    """Consecutive records of one person or pseudonym at two different places: the earlier and the later record of each trip.
    Records at the same time have no order, so they tell no trip; blank places (below 0) do not either.

    >>> [r.tolist() for r in trips_of(np.array([0, 0, 0, 0, 1]), np.array([1, 2, 3, 3, 4]), np.array([0, 1, 2, 0, 0]))]
    [[0], [1]]
    """
    index = np.lexsort((order, who))
    who, order, place = who[index], order[index], place[index]
    one = who[:-1] == who[1:]
    tie = np.concatenate(([False], one & (order[:-1] == order[1:]), [False]))
    alone = ~(tie[:-1] | tie[1:])
    told = one & alone[:-1] & alone[1:] & (place[:-1] != place[1:]) & (place[:-1] >= 0) & (place[1:] >= 0)
    return index[:-1][told], index[1:][told]


@dataclass(frozen=True)
class Compared:
    """A number before and after, the share of the whole that agrees, and the error: the sum of the differences of all counts over
    the sum of the counts before (None without such counts)."""

    name: str
    sentence: str
    before: float
    after: float
    kept: float | None
    error: float | None = None


LARGE = 50
"""Flows with more trips are compared apart: small ones are left out on purpose."""


def compare_logs(before: Log, after: Log, *, hours: bool, days: bool) -> tuple[Compared, ...]:
    """Every comparison that the published columns allow; ``hours`` and ``days``: whether the hour of a record and its weekday are
    published.

    >>> one = Log(np.array([0, 0, 1, 1]), None, np.array([0, 1, 0, 1]), np.array([1, 1]))
    >>> two = Log(np.array([0, 0, 1]), None, np.array([0, 1, 0]), np.array([1]))
    >>> for c in compare_logs(one, two, hours=False, days=False):
    ...     print(c.name, c.before, c.after, c.kept, c.error)
    records 4.0 3.0 0.75 0.25
    records per person 2.0 1.5 None None
    trips 2.0 1.0 0.5 0.5
    people per place 2.0 2.0 0.75 0.25
    """
    shares = (float(len(before.who)), float(len(after.who)))
    out = [
        Compared("records", "records in all", *shares, shares[1] / shares[0], 1 - shares[1] / shares[0]),
        Compared(
            "records per person",
            "records per person (before), per pseudonym (after), in the mean",
            float(before.records.mean()),
            float(after.records.mean()),
            None,
        ),
    ]
    if before.trips is not None and after.trips is not None:
        out += compare_trips(before.trips, after.trips)
    if before.place is not None and after.place is not None:
        out.append(_supports(before, after))
    if before.moment is not None and after.moment is not None:
        out += [_profile("hour of the day", before.moment // HOUR % 24, after.moment // HOUR % 24, 24)] if hours else []
        out += [_profile("weekday", (before.moment // DAY + 3) % 7, (after.moment // DAY + 3) % 7, 7)] if days else []
    return tuple(out)


def compare_trips(
    before: IntArray, after: IntArray, name: str = "trips", name_large: str = f"trips of flows above {LARGE}", where: str = ""
) -> list[Compared]:
    """Trips by origin and destination: all, and those of large flows."""
    keys = np.union1d(before, after)
    a, b = (np.bincount(np.searchsorted(keys, t), minlength=len(keys)) for t in (before, after))
    large = a > LARGE
    words = f"trips by origin and destination{where}"
    out = [_counts(name, words, a, b)]
    if large.any():
        out.append(_counts(name_large, f"{words} that had more than {LARGE}", a[large], b[large]))
    return out


def _counts(name: str, words: str, a: IntArray, b: IntArray) -> Compared:
    """Counts before and after, and their error."""
    total = float(a.sum())
    kept = None if total == 0 else float(np.minimum(a, b).sum() / total)
    error = None if total == 0 else float(np.abs(a - b).sum() / total)
    return Compared(name, words, total, float(b.sum()), kept, error)


def _supports(before: Log, after: Log) -> Compared:
    """People at each place (or with each item): how many there are, and how much of the counts is kept."""
    one, two = _visitors(before), _visitors(after)
    size = max(len(one), len(two))
    a, b = np.pad(one, (0, size - len(one))), np.pad(two, (0, size - len(two)))
    words = "places (or items) that occur; kept, error: of the people counted at each (pseudonyms, after)"
    counts = _counts("people per place", words, a, b)
    return replace(counts, before=float((a > 0).sum()), after=float((b > 0).sum()))


def _visitors(log: Log) -> IntArray:
    clear = np.empty(0, dtype=np.bool_) if log.place is None else log.place >= 0
    if log.place is None or not clear.any():
        return np.zeros(1, dtype=np.int64)
    who, place = log.who[clear], log.place[clear]
    both = np.unique(place * (int(who.max()) + 1) + who)
    return np.bincount(both // (int(who.max()) + 1))


def _profile(name: str, before: IntArray, after: IntArray, size: int) -> Compared:
    """Records by hour or weekday: the largest share, how much the two profiles overlap, and the error of the counts."""
    one, two = np.bincount(before, minlength=size), np.bincount(after, minlength=size)
    a, b = one / len(before), two / len(after)
    words = f"largest share of the records in one {name}; kept: how far the two profiles agree; error: of the counts"
    error = float(np.abs(one - two).sum() / one.sum())
    return Compared(name, words, float(a.max()), float(b.max()), float(np.minimum(a, b).sum()), error)
