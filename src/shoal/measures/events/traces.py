"""Traces: the distinct points of each person, and the people at each point."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.errors import EmptyTableError, InternalError
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
        who, where = np.asarray(person, dtype=np.int64), np.asarray(point, dtype=np.int64)
        if not len(who):
            raise EmptyTableError("no record names a person and a point, so nothing can be measured.")
        people, points = int(who.max()) + 1, int(where.max()) + 1
        by_point, by_person = np.divmod(np.unique(where * people + who), people)
        lengths, popularity = np.bincount(by_person), np.bincount(by_point)
        if not (lengths.all() and popularity.all()):
            raise InternalError(f"of {people} people and {points} points some have no record.")
        order = np.lexsort((by_point, popularity[by_point], by_person))
        return cls(
            _starts(lengths),
            by_point[order].astype(np.int32),
            _starts(popularity),
            by_person.astype(np.int32),
        )

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

    @cached_property
    def lengths(self) -> IntArray:
        """Distinct points of each person."""
        return np.diff(self.start)

    @cached_property
    def popularity(self) -> IntArray:
        """People at each point."""
        return np.diff(self.first)


def _starts(lengths: npt.NDArray[np.int64]) -> IntArray:
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
