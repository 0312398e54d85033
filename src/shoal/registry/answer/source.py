"""Where a query reads from, and what is kept of it between questions."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from shoal.registry.records.notice import Notice
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

    def __init__(self, found: list[tuple[str, float]]) -> None:
        self._names, self._kappas = "\n".join(p for p, _ in found), array("d", (k for _, k in found))
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
        found = self._near.get((codes, area, keys))
        if found is None:
            found = self._near[codes, area, keys] = Neighbours(self._source.neighbours(codes, area, keys=keys))
        return found

    def namesakes(self, holder: str, key: str) -> bool:
        found = self._names.get((holder, key))
        if found is None:
            found = self._names[holder, key] = self._source.namesakes(holder, key)
        return found

    def statements(self) -> list[Statement]:
        if self._said is None:
            self._said = self._source.statements()
        return self._said
