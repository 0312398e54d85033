"""Populations whose records, held side by side, would describe a handful of people.

Two records of nested populations tell about the people in between; a whole and its published parts tell about the rest; two
periods of one population, or two ways to write its name, tell about who came and went. What lies between must be nobody, or
enough people to be published themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from shoal.errors import RequirementError
from shoal.registry.population import Population
from shoal.registry.summary import MIN_POPULATION

MIN_CHANGE = 100
"""People by which a population must have changed before it is published anew, as a later version or for another period."""
Known = tuple[Population, int]
"""A published population and its number of people."""


@lru_cache(maxsize=100_000)
def written(text: str) -> tuple[str, ...]:
    """The parts of a place's name as people read them: letters and digits only, small and capital alike.

    >>> written("UK/St. Helens") == written("uk/st helens")
    True
    """
    return tuple("".join(c for c in part.casefold() if c.isalnum()) for part in text.split("/"))


def same_people(one: Population, other: Population) -> bool:
    """Whether two names mean one population, perhaps in different periods.

    >>> same_people(Population.parse("NL/Utrecht@2021"), Population.parse("NL/utrecht@2021-11"))
    True
    """
    return written(one.place) == written(other.place) and set(one.filters) == set(other.filters)


def refuse(population: Population, people: int, published: Sequence[Known]) -> None:
    """Raise where a record about ``population`` could be differenced with the published ones of the same quasi-identifier."""
    for other, size in published:
        least = _least_difference(population, other)
        if abs(size - people) < least:
            raise RequirementError(
                f"population '{other}' was published and differs by fewer than {least:,} people.",
                hint="Publish one of the two only: together they would describe the small difference.",
            )
    around = [*published, (population, people)]
    for whole, size in around:
        if _within(population, whole):
            for parts in _partitions(whole, around):
                _refuse_rest(whole, size, parts)


def _refuse_rest(whole: Population, size: int, parts: Sequence[int]) -> None:
    if len(parts) > 1 and 0 < size - sum(parts) < MIN_POPULATION:
        raise RequirementError(
            f"'{whole}' without its {len(parts)} published parts would leave fewer than {MIN_POPULATION:,} people.",
            hint="Leave out one of the parts, or join the smallest part with another: the rest could be computed.",
        )


def _least_difference(one: Population, other: Population) -> int:
    """People by which two populations must differ; 0 where neither lies within the other. Periods do not matter."""
    if same_people(one, other):
        return MIN_CHANGE
    return MIN_POPULATION if _within(one, other) or _within(other, one) else 0


def _within(inner: Population, outer: Population) -> bool:
    here, around = written(inner.place), written(outer.place)
    return here[: len(around)] == around and set(outer.filters) <= set(inner.filters)


def _partitions(whole: Population, known: Sequence[Known]) -> Iterator[list[int]]:
    """Sizes of published parts of a whole that cannot overlap: places inside it, or values of one more filter ``key=value``."""
    base, depth = written(whole.place), len(written(whole.place))
    places: dict[tuple[str, ...], int] = {}
    values: dict[str, dict[str, int]] = {}
    for p, size in known:
        here = written(p.place)
        if p.period != whole.period or here[:depth] != base:
            continue
        if len(here) > depth and p.filters == whole.filters:
            places[here] = size
        more = set(p.filters) - set(whole.filters)
        if len(here) == depth and len(more) == 1 and len(p.filters) == len(whole.filters) + 1:
            key, equals, value = next(iter(more)).partition("=")
            if equals:
                values.setdefault(key, {})[value] = size
    yield [size for here, size in places.items() if not any(here[:i] in places for i in range(depth + 1, len(here)))]
    yield from (list(of.values()) for of in values.values())
