"""Sequences: the places of each person in order of time, as a pseudonym of s records shows them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.kernels.group import group_codes
from shoal.model.counts.classes import IntArray


@dataclass(frozen=True, eq=False)
class Sequences:
    """``place[i]`` is the place of record i; records stand by person, then time (then place)."""

    person: IntArray
    place: IntArray

    @classmethod
    def of(cls, person: IntArray, time: IntArray | None, place: IntArray, records: IntArray) -> Sequences:
        """From distinct (person, time, place) with their numbers of records; without a time the order is that of the places."""
        order = np.lexsort((place, np.zeros_like(person) if time is None else time, person))
        times = records[order]
        return cls(np.repeat(person[order], times), np.repeat(place[order], times))

    def following(self) -> tuple[IntArray, IntArray]:
        """Consecutive places of the same person."""
        same = self.person[:-1] == self.person[1:]
        return self.place[:-1][same], self.place[1:][same]

    def random_pairs(self, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Two different records of each person who has two, in random order: pairs where the order of records is not known."""
        start = np.flatnonzero(np.concatenate(([True], self.person[1:] != self.person[:-1])))
        length = np.diff(np.concatenate((start, [len(self.person)])))
        start, length = start[length > 1], length[length > 1]
        one = (rng.random(len(start)) * length).astype(np.int64)
        other = (rng.random(len(start)) * (length - 1)).astype(np.int64)
        other += other >= one
        return self.place[start + one], self.place[start + other]

    def alone(self, s: int, k: int = 2) -> tuple[float, int]:
        """Of the people with at least s records: the share whose first s places in order fewer than k people have, and how many
        people these are (share 0 without any).

        >>> found = Sequences(np.array([0, 0, 1, 1, 2]), np.array([3, 4, 3, 5, 3]))
        >>> found.alone(1), found.alone(2), found.alone(3)
        ((0.0, 3), (1.0, 2), (0.0, 0))
        """
        start = np.flatnonzero(np.concatenate(([True], self.person[1:] != self.person[:-1])))
        length = np.diff(np.concatenate((start, [len(self.person)])))
        start = start[length >= s]
        if not len(start):
            return 0.0, 0
        ids = group_codes([self.place[start + j].astype(np.int32) for j in range(s)]).ids
        return float((np.bincount(ids)[ids] < k).mean()), len(start)
