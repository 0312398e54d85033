"""Who is hit hardest: in which groups of people the share that is one of a kind is largest.

Takes    ClassCounts with codes and categories; everybody is in one class
Keeps    the share of a group lies between 0 and 1; over all groups of a column the uniques add up to all uniques
Cost     one pass over the classes per column
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.kernels.group import sum_by
from shoal.kernels.text import canonical_text
from shoal.measures.classes.missing import adds_up
from shoal.model.counts.classes import ClassCounts

MOST_VALUES = 50
"""Columns with more values than this make no groups that one would name."""


@dataclass(frozen=True)
class Hit:
    """A group of people: those with one value of one column; how many there are, and how many of them are one of a kind."""

    column: str
    group: str
    people: int
    unique: int

    @property
    def share(self) -> float:
        return self.unique / self.people


def hit_hardest(counts: ClassCounts, *, least: int, most: int = 8) -> list[Hit]:
    """The groups with the largest share, largest first; only groups of at least ``least`` people.

    >>> import pyarrow as pa
    >>> names = (pa.array(["f", "m"]), pa.array([30, 40]))
    >>> c = ClassCounts((1, 1, 4), columns=("sex", "age"), codes=([0, 0, 1], [0, 1, 1]), categories=names)
    >>> [(h.column, h.group, h.people, h.unique) for h in hit_hardest(c, least=2)]
    [('sex', 'f', 2, 2), ('age', '40', 5, 1), ('sex', 'm', 4, 0)]
    """
    if not adds_up(counts) or not counts.codes or not counts.categories:
        return []
    alone = np.where(counts.sizes == 1, 1, 0)
    found: list[Hit] = []
    for name, codes, values in zip(counts.columns, counts.codes, counts.categories, strict=True):
        if not 2 <= len(values) <= MOST_VALUES:
            continue
        names = ["missing", *canonical_text(values).to_pylist()]
        people, unique = (sum_by(codes + 1, part, len(names)) for part in (counts.sizes, alone))
        found += [Hit(name, names[i], int(people[i]), int(unique[i])) for i in np.flatnonzero(people >= least)]
    return sorted(found, key=lambda h: (-h.share, -h.people, h.column, h.group))[:most]
