"""Populations whose records, held side by side, would describe a handful of people.

Two records of nested populations tell about the people in between; a whole and its published parts tell about the rest; two
periods of one population, or two ways to write its name, tell about who came and went. What lies between must be nobody, or
enough people to be published themselves. Names are all there is to compare: two names for one group are not always seen.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations

from shoal.errors import RequirementError
from shoal.registry.records.population import Population
from shoal.registry.records.summary import MIN_POPULATION

MIN_CHANGE = 100
"""People by which a population must have changed before it is published again, as a later version or for another period."""
Known = tuple[Population, int]
"""A published population and its number of people."""
_RANGE = re.compile(r"(\d+)\s*-\s*(\d+)\Z|(\d+)\s*\+\Z")
_MOST_WORDS = 12
_ALIKE = {"birth/year": "age/years", "birth/decade": "age/10y"}
"""Codings that tell the same of a person, up to a birthday."""
_WORDS = {"saint": "st", "sankt": "st", "sint": "st", "the": "", "of": "", "city": "", "county": "", "gemeente": "", "stadt": ""}
"""Words of a name that people write or leave out."""
_LETTERS = str.maketrans({"ø": "o", "ð": "d", "þ": "th", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i"})


@lru_cache(maxsize=100_000)
def written(text: str) -> tuple[str, ...]:
    """The parts of a place's name as people read them: letters and digits only, without accents, small and capital alike.

    >>> written("UK/St. Helens") == written("uk/saint helens"), written("DE/München") == written("DE/Muenchen")
    (True, True)
    """
    return tuple(_read(part) for part in text.split("/"))


def _read(name: str) -> str:
    """One name. Umlauts are dropped with their transcriptions (ü, ue, u), so that none of the ways to write it is missed."""
    words = re.findall(r"[^\W_]+", name.casefold())
    text = "".join(_WORDS.get(word, word) for word in words) or "".join(words)
    plain = "".join(c for c in unicodedata.normalize("NFD", text.translate(_LETTERS)) if not unicodedata.combining(c))
    for pair, letter in (("ae", "a"), ("oe", "o"), ("ue", "u"), ("aa", "a"), ("ss", "s")):
        plain = plain.replace(pair, letter)
    return plain


@lru_cache(maxsize=100_000)
def filters(population: Population) -> frozenset[tuple[str, str]]:
    """Filters as name and value, however they are spelt; a bare word has no value.

    >>> sorted(filters(Population.parse("NL@2021;Women;age=18 - 64")))
    [('age', '18-64'), ('women', '')]
    """
    pairs = (f.partition("=") for f in population.filters)
    return frozenset((written(name)[0], "".join(value.casefold().split())) for name, _, value in pairs)


def same_people(one: Population, other: Population) -> bool:
    """Whether two names mean one population, perhaps in different periods.

    >>> same_people(Population.parse("NL/Utrecht@2021;women"), Population.parse("NL/utrecht@2021-11;Women"))
    True
    """
    return _same_place(written(one.place), written(other.place)) and filters(one) == filters(other)


def one_name(one: Population, other: Population) -> bool:
    """Whether two names are of one population in one time: spelt otherwise, with or without the places between.

    >>> a, b = Population.parse("DE/München@2021"), Population.parse("DE/Bayern/Muenchen@2021-06")
    >>> one_name(a, b), one_name(a, Population.parse("DE/München@2022"))
    (True, False)
    >>> one_name(Population.parse("US/CA/Orange@2010"), Population.parse("US/FL/Orange@2010"))
    False
    """
    here, there = written(one.place), written(other.place)
    return same_people(one, other) and one.overlaps(other) and (here == there or len(here) != len(there))


def _same_place(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two places may be one: the same name in the same country, with anything between them."""
    return one == other or (len(one) > 1 and len(other) > 1 and (one[0], one[-1]) == (other[0], other[-1]))


def same_question(codes: tuple[str, ...]) -> tuple[str, ...]:
    """A quasi-identifier as differencing sees it: anyone who has the year of birth has the age.

    >>> same_question(("birth/year", "sex")) == same_question(("age/years", "sex"))
    True
    """
    return tuple(sorted(_ALIKE.get(code, code) for code in codes))


def related(one: Population, other: Population) -> bool:
    """Whether two populations may share people, as far as their places tell."""
    here, there = written(one.place), written(other.place)
    shorter = min(len(here), len(there))
    return here[:shorter] == there[:shorter]


def refuse(population: Population, people: int, published: Sequence[Known]) -> None:
    """Raise where a record about ``population`` could be differenced with the published ones of the same quasi-identifier."""
    for other, size in published:
        nested = _within(population, other) or _within(other, population)  # periods do not matter
        least = MIN_CHANGE if same_people(population, other) else MIN_POPULATION if nested else 0
        if abs(size - people) < least:
            hint = "Publish one of the two only: together they would describe the small difference."
            raise RequirementError(f"population '{other}' was published and differs by fewer than {least:,} people.", hint=hint)
    around = [*published, (population, people)]
    for whole, size in around:
        if _within(population, whole):
            for parts in _partitions(whole, around):
                _refuse_rest(whole, size, parts)


def _refuse_rest(whole: Population, size: int, parts: Sequence[int]) -> None:
    if len(parts) > 1 and 0 < size - sum(parts) < MIN_POPULATION:
        what = f"'{whole}' without its {len(parts)} published parts would leave fewer than {MIN_POPULATION:,} people."
        hint = "Leave out one of the parts, or join the smallest part with another: the rest could be computed."
        raise RequirementError(what, hint=hint)


def _within(inner: Population, outer: Population) -> bool:
    """Whether the names say that everybody of ``inner`` belongs to ``outer``: a place inside, and every filter as narrow."""
    here, around = written(inner.place), written(outer.place)
    mine = filters(inner)
    return here[: len(around)] == around and all(f in mine or any(_narrower(g, f) for g in mine) for f in filters(outer))


def _narrower(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether one range of values lies within another: age=20-29 within age=18-64, age=70+ within age=65+."""
    inner, outer = _range(one[1]), _range(other[1])
    return one[0] == other[0] and inner is not None and outer is not None and outer[0] <= inner[0] and inner[1] <= outer[1]


def _range(value: str) -> tuple[float, float] | None:
    match = _RANGE.match(value)
    if not match:
        return None
    low, high, alone = match.groups()
    return (float(alone), float("inf")) if alone else (float(low), float(high))


def _partitions(whole: Population, known: Sequence[Known]) -> Iterator[list[int]]:
    """Sizes of published parts of a whole that need not overlap: places inside it, values of one more filter, or words.

    Words (``women``, ``men``) may overlap or not; every two or three of them are taken as parts.
    """
    base, own = written(whole.place), filters(whole)
    depth = len(base)
    places: dict[tuple[str, ...], int] = {}
    values: dict[str, dict[str, int]] = {}
    for p, size in known:
        here, more = written(p.place), filters(p) - own
        if here[:depth] != base or not own <= filters(p) or not p.overlaps(whole):
            continue
        if len(here) > depth and not more:
            places[here] = size
        elif len(here) == depth and len(more) == 1:
            ((name, value),) = more
            values.setdefault(name if value else "", {})[value or name] = size
    words = list(values.pop("", {}).values())[:_MOST_WORDS]
    yield [size for here, size in places.items() if not any(here[:i] in places for i in range(depth + 1, len(here)))]
    yield from (list(of.values()) for of in values.values())
    yield from (list(some) for many in (2, 3) for some in combinations(words, many))
