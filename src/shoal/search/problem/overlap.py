"""People who are in several classes: how many different people a joined class holds.

The sizes of base classes cannot be added up when a person is in more than one of them. With ``pairs`` (class, person) for every
class a person is in, joined classes are counted exactly. Without, a safe lower bound is used: the largest part, or the sum less
the table's whole excess (person–class pairs beyond one per person), whichever is more. Both only grow when classes are
joined, so the laws of k hold. The average risk and the uniques are over people, each once, by the smallest class of theirs
that is published; where the pairs are not known, over memberships.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.errors import UsageError
from shoal.model.counts.classes import ClassCounts, IntArray

Pairs = tuple[npt.ArrayLike, npt.ArrayLike]


@dataclass(frozen=True, eq=False)
class Overlap:
    """Pairs of people who are in several classes (None where they are not known), and the excess."""

    classes: IntArray | None
    people: IntArray | None
    excess: int
    n_classes: int

    def members(self, reps: npt.NDArray[np.int32], gid: npt.NDArray[np.int32], sums: IntArray, parts: IntArray) -> IntArray:
        """Different people in each group of some cells, or a lower bound.

        ``reps`` names a base class inside each cell, ``gid`` its group; ``parts`` are the cells' sizes, ``sums`` the groups'.
        """
        if self.classes is None or self.people is None:
            largest = np.zeros(len(sums), dtype=np.int64)
            np.maximum.at(largest, gid, parts)
            return np.maximum(largest, sums - self.excess)
        cell = np.full(max(self.n_classes, int(reps.max(initial=0)) + 1), -1, dtype=np.int64)
        cell[reps] = np.arange(len(reps))
        at = cell[self.classes]
        inside = at >= 0
        n_people = int(self.people.max(initial=0)) + 1
        key = np.sort(gid[at[inside]].astype(np.int64) * n_people + self.people[inside])
        again = key[1:][key[1:] == key[:-1]] // n_people
        out: IntArray = sums - np.bincount(again, minlength=len(sums))
        return out

    def everybody(
        self, reps: npt.NDArray[np.int32], gid: npt.NDArray[np.int32], members: IntArray, kept: npt.NDArray[np.bool_]
    ) -> dict[int, int] | None:
        """People by the size of the smallest group of theirs that is kept, each once; None where the pairs are not known.

        ``members`` are the different people of each group.
        """
        if self.classes is None or self.people is None:
            return None
        cell = np.full(max(self.n_classes, int(reps.max(initial=0)) + 1), -1, dtype=np.int64)
        cell[reps] = np.arange(len(reps))
        at = cell[self.classes]
        inside = at >= 0
        group, person = gid[at[inside]].astype(np.int64), self.people[inside]
        once = np.unique(group * (int(self.people.max(initial=0)) + 1) + person)
        several = np.bincount(once // (int(self.people.max(initial=0)) + 1), minlength=len(members))
        smallest = np.full(int(self.people.max(initial=-1)) + 1, np.iinfo(np.int64).max)
        np.minimum.at(smallest, person[kept[group]], members[group[kept[group]]])
        found = np.bincount(members[kept], weights=(members - several)[kept]).astype(np.int64)
        out = {size: int(n) for size, n in enumerate(found.tolist()) if n}
        for size, n in zip(*np.unique(smallest[smallest < np.iinfo(np.int64).max], return_counts=True), strict=True):
            out[int(size)] = out.get(int(size), 0) + int(n)
        return out


def find_overlap(counts: ClassCounts, pairs: Pairs | None) -> Overlap | None:
    """None where every person is in one class only."""
    if pairs is not None:
        classes, people = (np.asarray(x, dtype=np.int64) for x in pairs)
        if len(classes) != len(people) or (len(classes) and not 0 <= classes.min() <= classes.max() < counts.n_classes):
            raise UsageError(
                "the pairs of class and person do not fit the counts.", hint="Give one class number and one person each."
            )
        size = np.bincount(classes, minlength=counts.n_classes)
        if not np.array_equal(size, counts.sizes):
            raise UsageError("the pairs of class and person do not add up to the class sizes.", hint="List every pair once.")
        _, code, times = np.unique(people, return_inverse=True, return_counts=True)
        several = times[code] > 1
        if not several.any():
            return None
        return Overlap(classes[several], code[several], 0, counts.n_classes)
    excess = 0 if counts.n_people is None else counts.n_members - counts.n_people
    return Overlap(None, None, excess, counts.n_classes) if excess > 0 else None
