"""What is there: populations with the attributes known about them, and what to ask next where nothing is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from shoal.errors import nearest
from shoal.registry.records.population import Population


class Shelf(Protocol):
    """What can be listed."""

    def topics(self, text: str = "", *, limit: int = 1000) -> Iterable[tuple[str, tuple[str, ...]]]: ...


@dataclass(frozen=True)
class Listed:
    """A population and the quasi-identifiers that records are about."""

    population: str
    codings: tuple[tuple[str, ...], ...]


def populations(source: Shelf, text: str = "", *, limit: int = 50) -> list[Listed]:
    """Populations whose name contains the text, small and capital letters alike, in order of their names."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for population, codes in source.topics(text, limit=limit * 40):
        found.setdefault(population, []).append(codes)
    return [Listed(p, tuple(sorted(set(found[p])))) for p in sorted(found)[:limit]]


def next_steps(source: Shelf, codes: tuple[str, ...], people: Population) -> list[str]:
    """Sentences about what is known nearby: other periods, other attributes, places of a like name."""
    return list(_steps(source, codes, people))


def _steps(source: Shelf, codes: tuple[str, ...], people: Population) -> Iterator[str]:
    here = [
        x
        for x in populations(source, f"{people.place}@")
        if Population.parse(x.population).place.casefold() == people.place.casefold()
    ]
    for listed in here[:3]:
        known = "; ".join(",".join(c) for c in listed.codings[:4])
        if Population.parse(listed.population) == people:
            yield f"Of {listed.population} is known: {known}."
        else:
            yield f"Known is {listed.population} ({known})."
    if here:
        return
    last = people.place.rpartition("/")[2]
    alike = [x.population for x in populations(source, last, limit=3)] if len(last) > 2 else []
    if not alike:
        country = people.place.partition("/")[0]
        names = {Population.parse(p).place.rpartition("/")[2]: p for p, _ in source.topics(f"{country}/", limit=5000)}
        close = nearest(last, names)
        alike = [names[close]] if close else []
    if alike:
        yield f"Did you mean {', '.join(alike)}?"
    yield "See what is there: shoal registry list, shoal registry search NAME."
