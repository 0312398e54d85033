"""Whom do a few known columns find? Every set of up to three columns of a table, counted record by record.

Takes    a code per record for each column, and who the records are about, where people have several
Returns  for each set the number of people who are the only ones with their values; the worst set of each size
Keeps    exact for the columns that were counted; a set never finds fewer people than a part of it
Cost     one grouping of the records per set; at most ``BUDGET`` cells. Where that is not enough, only the columns that find most
         people alone are put together, and ``left_out`` names the others
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.kernels.group import group_codes
from shoal.model.counts.classes import IntArray

LARGEST = 3
"""Columns that somebody is taken to know: colleagues and neighbours know a few."""
BUDGET = 20_000_000
"""Records times sets that are counted, about a second; a set costs as much as ``A_SET`` records beside its own."""
A_SET = 5_000
FEWEST = 4
"""Columns that are put together however many records there are."""


@dataclass(frozen=True)
class KnownColumns:
    """``found`` people of ``people`` for every set of columns that was counted, and for all columns together."""

    people: int
    found: Mapping[tuple[str, ...], int]
    all_columns: int
    left_out: tuple[str, ...] = ()
    """Columns that were counted alone only, because there are too many sets."""

    def worst(self, without: Collection[str] = ()) -> tuple[tuple[str, ...], int]:
        """The set that finds most people, the smallest of several; of the columns that are not in ``without``."""
        sets = [(c, n) for c, n in self.found.items() if not any(name in without for name in c)]
        return min(sets, key=lambda s: (-s[1], len(s[0]), s[0]), default=((), 0))

    def share(self, found: int) -> float:
        return found / self.people if self.people else 0.0


def known_columns(columns: Mapping[str, npt.ArrayLike], people: IntArray | None = None, *, budget: int = BUDGET) -> KnownColumns:
    """Count the people whom any one, two or three of the columns find, and those whom all find together.

    ``people`` numbers who each record is about: somebody is found where all records with the same values are theirs.

    >>> seen = known_columns({"sex": [0, 0, 1, 1], "town": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> seen.worst(), seen.found["ill",], seen.all_columns
    ((('sex', 'town'), 4), 1, 4)
    """
    codes = {name: np.ascontiguousarray(given, dtype=np.int32) for name, given in columns.items()}
    records = len(next(iter(codes.values()))) if codes else 0
    if not records:
        return KnownColumns(0, {}, 0)
    who = np.arange(records, dtype=np.int64) if people is None else people
    total = records if people is None else len(np.unique(people))
    alone: dict[tuple[str, ...], int] = {(name,): _found(own, who, people is not None) for name, own in codes.items()}
    kept = _affordable(codes, alone, records, budget)
    found = dict(alone)
    for first, second in combinations(kept, 2):
        both = group_codes([codes[first], codes[second]])
        found[first, second] = _found(both.ids, who, people is not None)
        for third in kept[kept.index(second) + 1 :]:
            if found[first, second] == total:
                found[first, second, third] = total
                continue
            ids = group_codes([both.ids, codes[third]], [both.n, int(codes[third].max()) + 1]).ids
            found[first, second, third] = _found(ids, who, people is not None)
    everything = _found(group_codes(list(codes.values())).ids, who, people is not None)
    return KnownColumns(total, found, everything, tuple(n for n in codes if n not in kept))


def _affordable(codes: Mapping[str, Any], alone: Mapping[tuple[str, ...], int], records: int, budget: int) -> Sequence[str]:
    """The columns whose sets are counted, in the order of the table: all of them, or those that tell most apart."""
    n = len(codes)
    while n > FEWEST and (records + A_SET) * (comb(n, 2) + comb(n, 3)) > budget:
        n -= 1
    if n == len(codes):
        return list(codes)
    ranked = sorted(codes, key=lambda name: (-alone[name,], -int(codes[name].max()), name))[:n]
    return [name for name in codes if name in ranked]


def _found(ids: Any, who: IntArray, several: bool) -> int:
    """People who are the only ones in some class."""
    if not several:
        return int((np.bincount(ids - min(int(ids.min()), 0)) == 1).sum())
    ids = ids - min(int(ids.min()), 0)
    first = np.zeros(int(ids.max()) + 1, dtype=np.int64)
    first[ids] = who
    mixed = np.bincount(ids, weights=who != first[ids], minlength=len(first)) > 0
    there = np.bincount(ids, minlength=len(first)) > 0
    return len(np.unique(first[there & ~mixed]))
