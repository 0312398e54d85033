"""Who is in which classes: from pairs of class and person to counts in which everybody is one.

Takes    one entry per person and class, in any order
Returns  :class:`~shoal.model.counts.classes.PeopleCounts`
Keeps    every person is counted once; a person alone in a class is alone with the whole set
Cost     one sort of the pairs. Sets are compared by 128 bits of hash, so that two different sets of a billion are taken for
         one with a chance below 10⁻²⁰
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.kernels.order import scrambled
from shoal.model.counts.classes import ClassCounts, IntArray, PeopleCounts

_SEEDS = (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03)


@dataclass(frozen=True, eq=False, repr=False)
class Memberships:
    """One entry per person and class: the position of the class, and a number that stands for the person."""

    classes: IntArray
    people: IntArray

    @property
    def n_people(self) -> int:
        """Distinct people."""
        return len(np.unique(self.people))

    def inside(self, keep: npt.NDArray[np.bool_]) -> Memberships:
        """Only the classes marked; they are renumbered."""
        there = keep[self.classes]
        place = np.cumsum(keep) - 1
        return Memberships(place[self.classes[there]], self.people[there])

    def largest(self, of_class: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """For each person the largest number among those of their classes."""
        order, starts = self._by_person()
        out: npt.NDArray[np.float64] = np.maximum.reduceat(of_class[self.classes[order]], starts)
        return out

    def counts(self, sizes: IntArray) -> PeopleCounts:
        """Everybody once: by the smallest of ``sizes`` among their classes, and by the whole set.

        >>> m = Memberships(np.array([0, 1, 0, 2]), np.array([0, 0, 1, 1]))
        >>> p = m.counts(np.array([2, 1, 1]))
        >>> p.sizes.tolist(), p.alike.tolist(), p.members.tolist()
        ([1], [1], [2])
        """
        order, starts = self._by_person()
        classes = self.classes[order]
        smallest = np.minimum.reduceat(sizes[classes], starts)
        alike = _people_alike(classes, starts)
        width = int(alike.max()) + 1
        key, members = np.unique(smallest * width + alike, return_counts=True)
        return PeopleCounts(key // width, key % width, members)

    def _by_person(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        order = np.argsort(self.people, kind="stable")
        people = self.people[order]
        return order, np.flatnonzero(np.append(True, people[1:] != people[:-1]))


def memberships(pairs: ClassCounts, counts: ClassCounts) -> Memberships:
    """Who is in which class of ``counts``, from the classes by person (the first column) and the same columns.

    >>> c = ClassCounts((2, 1), ("q",), ([0, 1],), unit="id", n_people=2)
    >>> m = memberships(ClassCounts((1, 1, 1), ("id", "q"), ([0, 0, 1], [0, 1, 0])), c)
    >>> m.classes.tolist(), m.people.tolist()
    ([0, 1, 0], [0, 0, 1])
    """
    from shoal.kernels.group import group_codes

    both = [np.concatenate((counts.codes[counts.column(n)], pairs.codes[pairs.column(n)])) for n in counts.columns]
    ids = group_codes(both, n_rows=counts.n_classes + pairs.n_classes).ids
    place = np.empty(counts.n_classes, np.int64)
    place[ids[: counts.n_classes]] = np.arange(counts.n_classes)
    return Memberships(place[ids[counts.n_classes :]], pairs.codes[0].astype(np.int64))


def _people_alike(classes: IntArray, starts: npt.NDArray[np.intp]) -> IntArray:
    """For each person the number of people with the same set of classes, themselves among them."""
    hashes = [np.add.reduceat(scrambled(classes.astype(np.uint64) + np.uint64(seed)), starts) for seed in _SEEDS]
    order = np.lexsort(hashes)
    changes = np.logical_or.reduce([h[order][1:] != h[order][:-1] for h in hashes])
    group = np.empty(len(starts), np.int64)
    group[order] = np.cumsum(np.append(0, changes))
    out: IntArray = np.bincount(group)[group]
    return out
