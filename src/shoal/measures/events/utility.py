"""What an event table is used for, before and after: records per person, trips, profiles of time, people per place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.model.counts.classes import IntArray

HOUR, DAY = 3_600_000_000, 86_400_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Log:
    """Records of each person or pseudonym (``who``) in order: their moment (µs, None without times) and place (None without).

    Places of two logs that are compared have the same codes; moments say no more than what is published of them.
    """

    who: IntArray
    moment: IntArray | None
    place: IntArray | None

    @property
    def records(self) -> IntArray:
        """Records of each."""
        return np.unique(self.who, return_counts=True)[1]


@dataclass(frozen=True)
class Compared:
    """A number before and after, and the share of the whole that agrees (None where there is no such share)."""

    name: str
    sentence: str
    before: float
    after: float
    kept: float | None


def compare_logs(before: Log, after: Log, *, hours: bool, days: bool, trips: bool) -> tuple[Compared, ...]:
    """Every comparison that the published columns allow; ``hours``, ``days`` and ``trips``: whether the hour of a
    record, its weekday, and which record of a person came after which are published.

    >>> one = Log(np.array([0, 0, 1, 1]), None, np.array([0, 1, 0, 1]))
    >>> two = Log(np.array([0, 0, 1]), None, np.array([0, 1, 0]))
    >>> for c in compare_logs(one, two, hours=False, days=False, trips=True):
    ...     print(c.name, c.before, c.after, c.kept)
    records 4.0 3.0 0.75
    records per person 2.0 1.5 None
    trips 2.0 1.0 0.5
    people per place 2.0 2.0 0.75
    """
    out = [
        Compared("records", "records in all", float(len(before.who)), float(len(after.who)), len(after.who) / len(before.who)),
        Compared(
            "records per person",
            "records per person (before), per pseudonym (after), in the mean",
            float(before.records.mean()),
            float(after.records.mean()),
            None,
        ),
    ]
    if before.place is not None and after.place is not None:
        out += [_trips(before, after)] if trips else []
        out.append(_supports(before, after))
    if before.moment is not None and after.moment is not None:
        out += [_profile("hour of the day", before.moment // HOUR % 24, after.moment // HOUR % 24, 24)] if hours else []
        out += [_profile("weekday", (before.moment // DAY + 3) % 7, (after.moment // DAY + 3) % 7, 7)] if days else []
    return tuple(out)


def _trips(before: Log, after: Log) -> Compared:
    """Origin–destination counts: consecutive records of one person or pseudonym at two different places."""
    size = int(max(_most(before.place), _most(after.place))) + 1
    one, two = _flows(before, size), _flows(after, size)
    keys = np.union1d(one[0], two[0])
    a, b = np.zeros(len(keys)), np.zeros(len(keys))
    a[np.searchsorted(keys, one[0])] = one[1]
    b[np.searchsorted(keys, two[0])] = two[1]
    kept = None if a.sum() == 0 else float(np.minimum(a, b).sum() / a.sum())
    words = "trips: consecutive records at two different places; kept: of the counts by origin and destination"
    return Compared("trips", words, float(a.sum()), float(b.sum()), kept)


def _most(codes: IntArray | None) -> int:
    return 0 if codes is None or not len(codes) else int(codes.max())


def _flows(log: Log, size: int) -> tuple[IntArray, IntArray]:
    place = log.place if log.place is not None else np.empty(0, dtype=np.int64)
    same = (log.who[:-1] == log.who[1:]) & (place[:-1] != place[1:])
    found = np.unique(place[:-1][same] * size + place[1:][same], return_counts=True)
    return found[0], found[1]


def _supports(before: Log, after: Log) -> Compared:
    """People at each place (or with each item): how many there are, and how much of the counts is kept."""
    one, two = _visitors(before), _visitors(after)
    size = max(len(one), len(two))
    a, b = np.pad(one, (0, size - len(one))), np.pad(two, (0, size - len(two)))
    words = "places (or items) that occur; kept: of the people counted at each (pseudonyms, after)"
    return Compared(
        "people per place", words, float((a > 0).sum()), float((b > 0).sum()), float(np.minimum(a, b).sum() / a.sum())
    )


def _visitors(log: Log) -> IntArray:
    place = log.place if log.place is not None else np.empty(0, dtype=np.int64)
    both = np.unique(place * (int(log.who.max()) + 1) + log.who)
    return np.bincount(both // (int(log.who.max()) + 1))


def _profile(name: str, before: IntArray, after: IntArray, size: int) -> Compared:
    """Shares of the records by hour or weekday: the largest share, and how much the two profiles overlap."""
    a = np.bincount(before, minlength=size) / len(before)
    b = np.bincount(after, minlength=size) / len(after)
    words = f"largest share of the records in one {name}; kept: how far the two profiles agree"
    return Compared(name, words, float(a.max()), float(b.max()), float(np.minimum(a, b).sum()))
