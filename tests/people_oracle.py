"""Slow definitions of numbers over people who may have several rows: sets of rows in plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import Any

Row = dict[str, Any]


class Everybody:
    """Who is in which class: rows without an id together are one more person."""

    def __init__(self, rows: Sequence[Row], quasi: Sequence[str], unit: str) -> None:
        self.rows = list(rows)
        self.members: dict[Any, set[Any]] = defaultdict(set)
        self.classes: dict[Any, set[Any]] = defaultdict(set)
        for row in rows:
            key = tuple(row[c] for c in quasi)
            self.members[key].add(row[unit])
            self.classes[row[unit]].add(key)

    @property
    def people(self) -> int:
        return len(self.classes)

    @property
    def memberships(self) -> int:
        return sum(len(m) for m in self.members.values())

    @property
    def k(self) -> int:
        return min(len(m) for m in self.members.values())

    def smallest(self, person: Any) -> int:
        return min(len(self.members[key]) for key in self.classes[person])

    def at(self, size: int) -> int:
        """People in at least one class of at most so many."""
        return sum(self.smallest(p) <= size for p in self.classes)

    @property
    def mean_risk(self) -> float:
        return sum(1 / self.smallest(p) for p in self.classes) / self.people

    def above(self, threshold: float) -> int:
        return sum(1 / self.smallest(p) > threshold for p in self.classes)

    def alike(self, person: Any) -> int:
        """People with exactly the same set of classes."""
        return sum(self.classes[other] == self.classes[person] for other in self.classes)

    @property
    def unique_by_set(self) -> int:
        return sum(self.alike(p) == 1 for p in self.classes)

    @property
    def k_of_sets(self) -> int:
        return min(self.alike(p) for p in self.classes)


def without_missing(rows: Sequence[Row], quasi: Sequence[str]) -> list[Row]:
    return [r for r in rows if all(r[c] is not None for c in quasi)]


def people_lacking(rows: Sequence[Row], quasi: Sequence[str], unit: str) -> int:
    return len({r[unit] for r in rows if any(r[c] is None for c in quasi)})


class Linked:
    """People with their own attributes and rows of other tables, as (own, list of rows) by person; sharing by the definition."""

    def __init__(self, people: dict[Any, tuple[Any, list[Any]]]) -> None:
        self.people = people

    def fits(self, person: Any, own: Any, rows: Sequence[Any]) -> bool:
        """Whether a person has these attributes, and each of these rows at least as often."""
        has = Counter(self.people[person][1])
        return bool(self.people[person][0] == own) and all(has[r] >= n for r, n in Counter(rows).items())

    def sharing(self, person: Any, known: int | None) -> int:
        """The fewest people whom something fits that an attacker may know of this person."""
        own, rows = self.people[person]
        if known is None:
            return sum(o == own and Counter(r) == Counter(rows) for o, r in self.people.values())
        choices = [c for n in range(min(known, len(rows)) + 1) for c in combinations(rows, n)]
        return min(sum(self.fits(q, own, c) for q in self.people) for c in choices)

    def largest(self, k: int, known: int | None) -> set[Any]:
        """The most people who can stay: every subset is tried."""
        for size in range(len(self.people), 0, -1):
            for some in combinations(self.people, size):
                rest = Linked({p: self.people[p] for p in some})
                if all(rest.sharing(p, known) >= k for p in some):
                    return set(some)
        return set()
