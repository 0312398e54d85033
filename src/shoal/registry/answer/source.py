"""Where a query reads from, and what is kept of it between questions."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from shoal.registry.answer.answer import one_of
from shoal.registry.records.notice import Notice
from shoal.registry.records.population import Population
from shoal.registry.records.record import Record
from shoal.registry.records.trust import Statement


class Catalogue(Protocol):
    """The notices of what a query reads from."""

    def current(self, text: str = "", *, limit: int = 1000) -> list[Notice]: ...


class RecordSource(Protocol):
    """What a query reads from: a store or a mirror."""

    @property
    def notices(self) -> Catalogue: ...
    def topic(self, codes: Sequence[str], population: str) -> list[Record]: ...
    def topics(self, text: str = "", *, limit: int = 1000) -> list[tuple[str, tuple[str, ...]]]: ...
    def codings(self, population: str) -> list[tuple[str, ...]]: ...
    def neighbours(
        self, codes: Sequence[str], area: str, *, limit: int = 500, keys: Collection[str] | None = None
    ) -> list[tuple[str, float]]: ...
    def holders(self, population: str, *, limit: int = 100) -> list[str]: ...
    def namesakes(self, holder: str, key: str) -> bool: ...
    def statements(self) -> list[Statement]: ...
    def head(self) -> tuple[int, str]: ...
    def reading(self) -> AbstractContextManager[None]: ...


class Neighbours:
    """Population and κ of the records of one area, and between which values they lie.

    Kept as one text and one array: half a million pairs of their own would be looked through at each collection of garbage,
    and every question would wait for it.
    """

    def __init__(self, sources: list[tuple[str, float]]) -> None:
        self._names, self._kappas = "\n".join(p for p, _ in sources), array("d", (k for _, k in sources))
        self.low, self.high = min(self._kappas, default=0.0), max(self._kappas, default=0.0)

    def __len__(self) -> int:
        return len(self._kappas)

    @property
    def all(self) -> list[tuple[str, float]]:
        """Each record's population and κ."""
        return list(zip(self._names.split("\n"), self._kappas, strict=True)) if self._kappas else []


class KeptReadings:
    """What many answers need, read once per state of the log."""

    def __init__(self, source: RecordSource) -> None:
        self._source = source
        self._head = ""
        self._near: dict[tuple[tuple[str, ...], str, frozenset[str] | None], Neighbours] = {}
        self._names: dict[tuple[str, str], bool] = {}
        self._said: list[Statement] | None = None

    def fresh(self) -> None:
        """Forget what was read before the log grew."""
        _, head = self._source.head()
        if head != self._head or len(self._near) + len(self._names) > 10_000:
            self._near, self._names, self._said, self._head = {}, {}, None, head

    def neighbours(self, codes: tuple[str, ...], area: str, keys: frozenset[str] | None = None) -> Neighbours:
        """Those of some keys only, or of all."""
        kept = self._near.get((codes, area, keys))
        if kept is None:
            kept = self._near[codes, area, keys] = Neighbours(self._source.neighbours(codes, area, keys=keys))
        return kept

    def namesakes(self, holder: str, key: str) -> bool:
        kept = self._names.get((holder, key))
        if kept is None:
            kept = self._names[holder, key] = self._source.namesakes(holder, key)
        return kept

    def statements(self) -> list[Statement]:
        if self._said is None:
            self._said = self._source.statements()
        return self._said


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
        records = self._source.topic(codes, population)
        if self._keys is None:
            return tuple(records)
        self._aside |= {r.holder for r in records if r.key not in self._keys}
        return tuple(r for r in records if r.key in self._keys)

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
        return [one_of(records) for p in alike[::every] if (records := self.topic(codes, p))]

    def size_of(self, people: Population) -> int | None:
        """How many people a population has, according to any record about it."""
        for codes in self.codings(people):
            if records := self.topic(codes, str(people)):
                return one_of(records).summary.size
        return None

    def notes(self) -> list[str]:
        """Who was set aside on the way to the answer."""
        names = ", ".join(sorted(self._aside))
        return [f"Set aside, because nobody you trust endorses them: records of {names}."] if names else []
