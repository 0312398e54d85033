"""Which sets of columns identify, and which are safe? All sets up to a size, without those whose answer follows.

A set that singles out many does so with any column more; a set that keeps everybody in groups of k does so with any column less.
So the smallest identifying sets and the largest safe sets say it all, and supersets of an identifying set need not be counted.

Takes    ClassCounts over all the columns, sizes that add up
Keeps    every set of at most ``up_to`` columns that is not listed has a smallest identifying set inside it
Source   source 001 §2 (α-quasi-identifiers, levelwise search); Mannila & Toivonen 1997
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from shoal.errors import UsageError
from shoal.kernels.group import group_codes, sum_by
from shoal.model.counts.classes import ClassCounts, IntArray

MOST_COLUMNS = 20
NARROW = 2**15
"""So many classes are numbered in two bytes."""


@dataclass(frozen=True)
class ColumnSet:
    """Some columns together: combinations that occur, smallest group, members that are alone."""

    columns: tuple[str, ...]
    classes: int
    k: int
    unique: int

    def to_json(self) -> dict[str, Any]:
        return {"columns": list(self.columns), "classes": self.classes, "k": self.k, "unique": self.unique}


@dataclass(frozen=True)
class Lattice:
    """``counted`` sets, the smallest of them that single out at least ``alpha`` of all, the largest whose groups hold ``k``."""

    members: int
    alpha: float
    k: int
    up_to: int
    counted: tuple[ColumnSet, ...]
    identifying: tuple[ColumnSet, ...]
    safe: tuple[ColumnSet, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "alpha": self.alpha,
            "k": self.k,
            "up_to": self.up_to,
            "sets_counted": len(self.counted),
            "smallest_identifying": [s.to_json() for s in self.identifying],
            "largest_safe": [s.to_json() for s in self.safe],
        }


def column_sets(counts: ClassCounts, *, up_to: int, alpha: float = 0.05, k: int = 5) -> Lattice:
    """Walk the sets level by level; supersets of an identifying set are not counted.

    >>> c = ClassCounts((1, 1, 2), columns=("a", "b"), codes=([0, 0, 1], [0, 1, 1]))
    >>> found = column_sets(c, up_to=2, alpha=0.5, k=2)
    >>> [s.columns for s in found.identifying], [s.columns for s in found.safe]
    ([('a', 'b')], [('a',)])
    """
    if not up_to >= 1:
        raise UsageError(f"sets have at least one column; found {up_to}.", hint="Ask for example for up to 3.")
    if not 0 < alpha <= 1 or k < 2:
        raise UsageError("alpha lies above 0 and at most at 1, k is at least 2.", hint="For example alpha=0.05, k=5.")
    if len(counts.columns) > MOST_COLUMNS:
        raise UsageError(f"{len(counts.columns)} columns have too many sets.", hint=f"Name at most {MOST_COLUMNS}.")
    if not counts.adds_up:
        raise UsageError("people are in several classes, so sets cannot be added up.", hint="Count rows, or one row per person.")
    cards = [int(c.max()) + 1 for c in counts.codes]
    found: dict[tuple[int, ...], ColumnSet] = {}
    open_sets: dict[tuple[int, ...], tuple[IntArray, int]] = {(): (np.zeros(counts.n_classes, np.int64), 1)}
    identifying: list[tuple[int, ...]] = []
    last = min(up_to, len(cards))
    for level in range(1, last + 1):
        following: dict[tuple[int, ...], tuple[IntArray, int]] = {}
        extended = frozenset(open_sets)
        for base in sorted(extended):
            ids, n = open_sets.pop(base)  # a level of a large table fills gigabytes: what is done is freed
            for j in range(base[-1] + 1 if base else 0, len(cards)):
                places = (*base, j)
                if any(part not in extended for part in combinations(places, level - 1)):
                    continue  # an identifying set lies inside
                grouping = group_codes([ids, counts.codes[j]], [n, cards[j]])
                sizes = sum_by(grouping.ids, counts.sizes, grouping.n)
                one = ColumnSet(tuple(counts.columns[i] for i in places), grouping.n, int(sizes.min()), int((sizes == 1).sum()))
                found[places] = one
                if one.unique >= alpha * counts.n_members:
                    identifying.append(places)
                elif level < last:
                    following[places] = (grouping.ids.astype(np.int16 if grouping.n <= NARROW else np.int32), grouping.n)
        open_sets = following
    safe = [p for p, one in found.items() if one.k >= k]
    largest = [p for p in safe if not any(set(p) < set(q) for q in safe)]
    order = [found[p] for p in sorted(found, key=lambda p: (len(p), p))]
    return Lattice(
        counts.n_members, alpha, k, up_to, tuple(order), tuple(found[p] for p in identifying), tuple(found[p] for p in largest)
    )
