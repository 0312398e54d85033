"""The records that count for one asker: those of trusted keys, or all where nobody was named. The others are named."""

from __future__ import annotations

from collections.abc import Mapping

from shoal.registry.answer.answer import one_of
from shoal.registry.answer.source import KeptReadings, Neighbours, RecordSource
from shoal.registry.records.population import Population
from shoal.registry.records.record import Record

_MOST_NEIGHBOURS = 60


class View:
    """What one asker sees of a registry; ``trust`` are the keys that count for it, None means everybody."""

    def __init__(self, source: RecordSource, kept: KeptReadings, trust: Mapping[str, int] | None) -> None:
        self._source, self._kept = source, kept
        self.trust = trust
        self._keys = None if trust is None else frozenset(trust)
        self._aside: set[str] = set()
        self._codings: dict[str, list[tuple[str, ...]]] = {}

    def topic(self, codes: tuple[str, ...], population: str) -> tuple[Record, ...]:
        """Current records about one topic that count."""
        found = self._source.topic(codes, population)
        if self._keys is None:
            return tuple(found)
        self._aside |= {r.holder for r in found if r.key not in self._keys}
        return tuple(r for r in found if r.key in self._keys)

    def codings(self, population: Population) -> list[tuple[str, ...]]:
        """Quasi-identifiers of current records about a population, anybody's; read once for a question."""
        if population.key not in self._codings:
            self._codings[population.key] = self._source.codings(str(population))
        return self._codings[population.key]

    def neighbours(self, codes: tuple[str, ...], area: str) -> Neighbours:
        """Populations of an area with a record of the same attributes that counts."""
        return self._kept.neighbours(codes, area, self._keys)

    def siblings(self, codes: tuple[str, ...], people: Population) -> list[Record]:
        """One record for each population of the same area and period; spread evenly where there are many."""
        near = self.neighbours(codes, people.area).all
        alike = sorted({p for p, _ in near if p != people.key and Population.parse(p).period == people.period})
        every = -(-len(alike) // _MOST_NEIGHBOURS) or 1
        return [one_of(found) for p in alike[::every] if (found := self.topic(codes, p))]

    def size_of(self, people: Population) -> int | None:
        """How many people a population has, as far as any record about it tells."""
        for codes in self.codings(people):
            if found := self.topic(codes, str(people)):
                return one_of(found).summary.size
        return None

    def notes(self) -> list[str]:
        """Who was set aside on the way to the answer."""
        names = ", ".join(sorted(self._aside))
        return [f"Set aside, because nobody you trust endorses them: records of {names}."] if names else []
