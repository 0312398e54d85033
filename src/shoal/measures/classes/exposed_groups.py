"""Who is exposed: the groups with most unique people, an invented person, and shares in smaller groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.errors import UsageError
from shoal.kernels.group import sum_by
from shoal.kernels.text import canonical_text
from shoal.measures.classes.missing import adds_up
from shoal.model.counts.classes import ClassCounts

MOST_VALUES = 50
"""Columns with more values than this make no groups that one would name."""


@dataclass(frozen=True)
class ExposedGroup:
    """A group of people: those with one value of one column; how many there are, and how many of them are one of a kind."""

    column: str
    group: str
    people: int
    unique: int

    @property
    def share(self) -> float:
        return self.unique / self.people


def most_exposed_groups(counts: ClassCounts, *, least: int, most: int = 8) -> list[ExposedGroup]:
    """The groups with the largest share, largest first; only groups of at least ``least`` people.

    >>> import pyarrow as pa
    >>> names = (pa.array(["f", "m"]), pa.array([30, 40]))
    >>> c = ClassCounts((1, 1, 4), columns=("sex", "age"), codes=([0, 0, 1], [0, 1, 1]), categories=names)
    >>> [(h.column, h.group, h.people, h.unique) for h in most_exposed_groups(c, least=2)]
    [('sex', 'f', 2, 2), ('age', '40', 5, 1), ('sex', 'm', 4, 0)]
    """
    if not adds_up(counts) or not counts.codes or not counts.categories:
        return []
    alone = np.where(counts.sizes == 1, 1, 0)
    found: list[ExposedGroup] = []
    for name, codes, values in zip(counts.columns, counts.codes, counts.categories, strict=True):
        if not 2 <= len(values) <= MOST_VALUES:
            continue
        names = ["missing", *canonical_text(values).to_pylist()]
        people, unique = (sum_by(codes + 1, part, len(names)) for part in (counts.sizes, alone))
        found += [ExposedGroup(name, names[i], int(people[i]), int(unique[i])) for i in np.flatnonzero(people >= least)]
    return sorted(found, key=lambda h: (-h.share, -h.people, h.column, h.group))[:most]


TRIES = 200


@dataclass(frozen=True)
class InventedPerson:
    """Values by column, and how many people of the table share them up to each; None if fewer than may be shown."""

    values: tuple[tuple[str, str], ...]
    crowds: tuple[int | None, ...]


def invented_person(counts: ClassCounts, *, least: int, rng: np.random.Generator) -> InventedPerson | None:
    """A person who is not in the table; None where no such combination of common values was found.

    >>> import pyarrow as pa
    >>> names = (pa.array(["f", "m"]), pa.array(["nurse", "cook"]))
    >>> c = ClassCounts((5, 5), columns=("sex", "job"), codes=([0, 1], [0, 1]), categories=names)
    >>> one = invented_person(c, least=5, rng=np.random.default_rng(1))
    >>> sorted(v for _, v in one.values) in (["cook", "f"], ["m", "nurse"]), one.crowds[1]
    (True, None)
    """
    if not adds_up(counts) or not counts.codes or not counts.categories:
        return None
    common = []
    for codes, values in zip(counts.codes, counts.categories, strict=True):
        people = sum_by(codes + 1, counts.sizes, len(values) + 1)[1:]
        common.append(np.flatnonzero(people >= least))
    if any(not len(some) for some in common):
        return None
    order = sorted(range(len(common)), key=lambda j: len(counts.categories[j]))
    for _ in range(TRIES):
        drawn = [int(rng.choice(some)) for some in common]
        crowds, here = [], np.ones(counts.n_classes, dtype=bool)
        for j in order:
            here &= counts.codes[j] == drawn[j]
            crowds.append(int(counts.sizes[here].sum()))
        if crowds[-1] == 0:
            said = tuple((counts.columns[j], str(canonical_text(counts.categories[j])[drawn[j]])) for j in order)
            return InventedPerson(said, tuple(n if n >= least else None for n in crowds))
    return None


def unique_shares(counts: ClassCounts, sizes: Sequence[int]) -> list[float]:
    r"""Expected share who are one of a kind in a group of each size, drawn by chance from everybody, nobody twice.

    Anyone who is in a class of :math:`n_c` of :math:`N` people is alone in a group of :math:`g` with chance

    .. math:: \binom{N - n_c}{g - 1} \Big/ \binom{N - 1}{g - 1},

    and the share is its mean over everybody. At :math:`g = N` it is the share that is one of a kind now; in a group of one
    everybody is.

    >>> [round(share, 9) for share in unique_shares(ClassCounts((1, 1, 2)), (1, 2, 4))]
    [1.0, 0.833333333, 0.5]
    """
    n, times = np.unique(np.asarray(counts.sizes, dtype=np.int64), return_counts=True)
    total = int((n * times).sum())
    wrong = [g for g in sizes if not 1 <= g <= total]
    if wrong:
        raise UsageError(f"a group has 1 to {total:,} people; found {wrong[0]}.", hint="Ask for a smaller group.")
    weights = n * times / total
    out = []
    for g in sizes:
        possible = total - n >= g - 1
        few = n[possible]
        others = (total - few).tolist()  # outside the person's class
        ways = [math.lgamma(m + 1) - math.lgamma(m - g + 2) for m in others]
        log = np.array(ways) - math.lgamma(total) + math.lgamma(total - g + 1)
        out.append(float(min(1.0, (weights[possible] * np.exp(np.minimum(log, 0.0))).sum())))
    return out
