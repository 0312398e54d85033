"""Traces: the distinct points of each person, and the people at each point."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, EmptyTableError, InternalError
from shoal.model.counts.classes import IntArray

People = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class Traces:
    """Person u was at the points ``point[start[u]:start[u + 1]]``, each once, those that fewest people share first; at point p
    were the people ``visitor[first[p]:first[p + 1]]``, in order.

    >>> t = Traces.of([0, 0, 1, 1, 1], [0, 1, 1, 2, 2])
    >>> t.n_people, t.n_points, t.lengths.tolist(), t.popularity.tolist()
    (2, 3, [2, 2], [1, 2, 1])
    """

    start: IntArray
    point: npt.NDArray[np.int32]
    first: IntArray
    visitor: People

    @classmethod
    def of(cls, person: npt.ArrayLike, point: npt.ArrayLike) -> Traces:
        """From a person and a point per record, numbered from 0 without a gap; a pair that occurs twice counts once."""
        who, where = np.asarray(person), np.asarray(point)
        if not len(who):
            raise EmptyTableError("no record names a person and a point, so nothing can be measured.")
        people, points = int(who.max()) + 1, int(where.max()) + 1
        keys = where.astype(np.int64)
        keys *= people
        keys += who
        made = cls.of_keys(keys, people)
        if made.n_points != points:
            raise InternalError(f"of {points} points some have no record.")
        return made

    @classmethod
    def of_keys(cls, keys: IntArray, people: int) -> Traces:
        """From one number per record, point · people + person, in memory that is used up: besides ``keys`` about 12 bytes per
        record. Points that do not occur get no number."""
        keys.sort()
        keys = _distinct(keys)
        visitor, by_point = np.empty(len(keys), np.int32), np.empty(len(keys), np.int32)
        last, points = -1, 0
        for part in _blocks(len(keys)):
            where, who = np.divmod(keys[part], people)
            new = np.diff(where, prepend=last) > 0
            visitor[part] = who
            by_point[part] = points - 1 + np.cumsum(new)
            last, points = int(where[-1]), points + int(new.sum())
        popularity = _numbers(by_point, points)
        order = np.argsort(popularity, kind="stable")
        rank = np.empty(points, np.int64)
        rank[order] = np.arange(points)
        for part in _blocks(len(keys)):
            keys[part] = visitor[part].astype(np.int64) * points + rank[by_point[part]]
        del by_point
        keys.sort()
        point = np.empty(len(keys), np.int32)
        for part in _blocks(len(keys)):
            point[part] = order[keys[part] % points]
        lengths = _numbers(visitor, people)
        if not lengths.all():
            raise InternalError(f"of {people} people some have no record.")
        return cls(_starts(lengths), point, _starts(popularity), visitor)

    def __repr__(self) -> str:
        return f"<Traces of {self.n_people:,} people at {self.n_points:,} points>"

    @property
    def n_people(self) -> int:
        return len(self.start) - 1

    @property
    def n_points(self) -> int:
        return len(self.first) - 1

    @property
    def n_pairs(self) -> int:
        """Distinct pairs of a person and a point."""
        return len(self.point)

    def people_in_blocks(self) -> Iterator[tuple[int, int]]:
        """Ranges of people that together have about :data:`BLOCK` points."""
        low = 0
        while low < self.n_people:
            high = int(np.searchsorted(self.start, self.start[low] + BLOCK, side="right")) - 1
            high = max(high, low + 1)
            yield low, high
            low = high

    @cached_property
    def lengths(self) -> IntArray:
        """Distinct points of each person."""
        return np.diff(self.start)

    @cached_property
    def popularity(self) -> IntArray:
        """People at each point."""
        return np.diff(self.first)


BLOCK = 4_000_000
"""Records that are looked at together: what is kept beside the arrays stays small."""


def _blocks(n: int) -> Iterator[slice]:
    return (slice(a, min(a + BLOCK, n)) for a in range(0, n, BLOCK))


def _distinct(keys: IntArray) -> IntArray:
    """Sorted numbers, each once, written over the old ones."""
    kept, last = 0, -1
    for part in _blocks(len(keys)):
        block = keys[part]
        new = block[np.diff(block, prepend=last) > 0]
        last = int(block[-1])
        keys[kept : kept + len(new)] = new
        kept += len(new)
    return keys[:kept]


def _numbers(codes: npt.NDArray[np.int32], n: int) -> IntArray:
    """How often each of the codes 0 … n − 1 occurs."""
    out = np.zeros(n, dtype=np.int64)
    for part in _blocks(len(codes)):
        out += np.bincount(codes[part], minlength=n)
    return out


def _starts(lengths: npt.NDArray[np.int64]) -> IntArray:
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)


def moments_of(name: str, texts: Any, rows: IntArray) -> Any:
    """Timestamps of the distinct texts of a column; ``rows`` are the records of each. With a zone: in UTC.

    >>> import pyarrow as pa
    >>> moments_of("t", pa.array(["2024-03-04T08:10:00.5+01:00"]), np.array([1])).to_pylist()
    [datetime.datetime(2024, 3, 4, 7, 10, 0, 500000)]
    >>> moments_of("t", pa.array(["2164-10-23 9:05"]), np.array([1])).to_pylist()
    [datetime.datetime(2164, 10, 23, 9, 5)]
    """
    import pyarrow as pa

    read = [_moment(t) for t in texts.to_pylist()]
    wrong = np.array([r is None for r in read], dtype=np.bool_)
    if wrong.any():
        raise DataError(
            f"column '{name}' holds text, and {int(wrong.sum()):,} of its {len(read):,} distinct values "
            f"({int(rows[wrong].sum()):,} records) are not times.",
            hint=f"Say how they are written (--read dates={name}:%d/%m/%Y) or which texts mean missing (--read null=…).",
            column=name,
        )
    return pa.array(read, pa.timestamp("us"))


_SHORT_HOUR = re.compile(r"(\d{4}-\d{2}-\d{2}[ T])(\d:)")
"""An hour of one digit, as spreadsheets and hospitals write it: 2164-10-23 9:05."""


def _moment(text: str) -> datetime.datetime | None:
    try:
        found = datetime.datetime.fromisoformat(_SHORT_HOUR.sub(r"\g<1>0\2", text.strip(), count=1))
    except ValueError:
        return None
    return found if found.tzinfo is None else found.astimezone(datetime.UTC).replace(tzinfo=None)
