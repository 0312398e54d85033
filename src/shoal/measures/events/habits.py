"""What is telling without knowing particular records: rare places, hours and weekdays, and where a person mostly is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from shoal.kernels.group import group_codes
from shoal.measures.events.traces import Traces
from shoal.measures.events.unicity import SetSizes
from shoal.model.counts.classes import IntArray

FEW = 5
"""Nothing is said of an hour or weekday with fewer people."""
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
