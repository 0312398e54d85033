"""Words of column names that point to one of the 18 Safe Harbor classes, beyond the finder's, and words that speak against it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from shoal.find.name_words import folded, raw_words, words_of
from shoal.find.topics import expanded, found_in
from shoal.find.vocabulary import sections, tagged, word_set

LIST = "safe_harbor"
_PARTS = {word: int(most) for word, most in tagged(LIST, "part of a date").items()}
"""The largest number of a month, week or day, by the word for it."""
_DATED = word_set(LIST, "date or event")
_DURATIONS = word_set(LIST, "duration, count or kind")
_BIRTH = word_set(LIST, "birth")
_YEARS = word_set(LIST, "year")
_ZIPS = word_set(LIST, "zip")
_PLACES = word_set(LIST, "small place")
_AGES = word_set(LIST, "age")
_AGE_ONLY = word_set(LIST, "age only")
_COUNTED = word_set(LIST, "amount")
_MEASURED = word_set(LIST, "measure or kind")


_SPLIT = [
    (int(section.removeprefix("class ")), tuple(entry.text.split()))
    for section, entries in sections(LIST).items()
    if section.startswith("class ")
    for entry in entries
]
_BEGINNINGS = [(item, pattern) for item, pattern in _SPLIT if pattern[0].endswith("*")]
_PATTERNS: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
"""Patterns by their first word, so that a name looks at few of them."""
for _item, _pattern in _SPLIT:
    _PATTERNS.setdefault(_pattern[0].lstrip("="), []).append((_item, _pattern))


@lru_cache(maxsize=50_000)
def _all(name: str) -> frozenset[str]:
    return frozenset((*raw_words(name), *words_of(name), *expanded(name), "".join(words_of(name))))


@lru_cache(maxsize=50_000)
def _starting(word: str) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Patterns whose first part a word fits."""
    begun = (p for p in _BEGINNINGS if word.startswith(p[1][0][:-1]))
    return (*begun, *_PATTERNS.get(word, ()))


def item_of(name: str) -> int | None:
    """The class that a name points to; None where none does.

    >>> item_of("mrno"), item_of("car_reg"), item_of("sn"), item_of("mother"), item_of("mother_age"), item_of("systolic")
    (8, 12, 13, 1, None, None)
    """
    found = set()
    for said in {words_of(name), raw_words(name)}:
        near = [p for word in said for p in _starting(word)]
        found |= {item for item, pattern in near if found_in(said, pattern)}
    return min(found, default=None)


def measured(name: str) -> bool:
    """Whether a name says a number, size or kind of something rather than the thing: ``city_size``, ``device_type``."""
    return bool(_all(name) & _MEASURED)


def counted(name: str) -> bool:
    """Whether a name says an amount or a count, of which every row may have its own."""
    return bool(_all(name) & _COUNTED)


def birth(name: str) -> bool:
    """Whether a name says birth: a day or year of it, not a weight, order or place."""
    said = _all(name)
    return bool(said & _BIRTH) and not said & word_set(LIST, "not a birth date")


def dated(name: str) -> bool:
    """Whether a name says a date or an event that has one, and no length of time, count or kind."""
    said = _all(name)
    return bool(said & _DATED) and not said & _DURATIONS


def part_of_date(name: str) -> int:
    """The largest number of a month, week or day, where a name says one; 0 where it says none or a length of time."""
    said = _all(name)
    return 0 if said & _DURATIONS else max((_PARTS[w] for w in said if w in _PARTS), default=0)


def yearly(name: str) -> bool:
    """Whether a name says a year."""
    return bool(_all(name) & _YEARS)


def zipped(name: str) -> bool:
    """Whether a name says a ZIP code."""
    return bool(_all(name) & _ZIPS) and not measured(name)


def placed(name: str) -> bool:
    """Whether a name says a place smaller than a state."""
    return bool(_all(name) & _PLACES)


def region(name: str) -> bool:
    """Whether a name says a region, which may hold several states."""
    return bool(_all(name) & word_set(LIST, "region")) and not placed(name)


def aged(name: str) -> bool:
    """Whether a name says years of age; ``years_of_service`` does not."""
    said = set(words_of(name))
    return bool(said & _AGES) and (bool(said & (_AGES - {"yrs", "years", "yo"})) or said <= _AGE_ONLY)


_PER_YEAR = {"month": 12.0, "day": 365.25, "week": 52.18}


def per_year(name: str) -> float:
    """How many units of an age make a year.

    >>> per_year("age_months"), per_year("age")
    (12.0, 1.0)
    """
    said = _all(name)
    units = {tag for word, tag in tagged(LIST, "unit of age").items() if word in said}
    return next((number for unit, number in _PER_YEAR.items() if unit in units), 1.0)


STATES = word_set("places", "us state")
"""States and territories of the United States, by name and by two letters."""
LARGE = word_set("places", "us region")
"""Regions and divisions of the census, which hold several states."""
KINDS = word_set("places", "kind of place")
"""Words for kinds of places, which name none."""
LARGE_WORDS = word_set(LIST, "large place")
"""Words of names that say a place as large as a state."""


def as_large_as_a_state(words: Iterable[str], values: Iterable[str]) -> bool:
    """Whether a column of places stays: it is named a state or country and holds none smaller, or all values are states.

    >>> as_large_as_a_state(["home"], ["CA", "NY"]), as_large_as_a_state(["region"], ["Midwest"]), as_large_as_a_state([], ["x"])
    (True, True, False)
    """
    plain = {folded(v.strip()) for v in values}
    if plain and all(v in STATES or v in LARGE for v in plain):
        return True
    named = any(w in LARGE_WORDS for w in words)
    return named and len(plain) <= 300 and not any(re.fullmatch(r"\d{5,}(-\d+)?", v) for v in plain)


def kinds_of_places(values: Iterable[str]) -> bool:
    """Whether the values are kinds of places (urban, rural), not names of places.

    >>> kinds_of_places(["urban", "Small town"]), kinds_of_places(["Cook"])
    (True, False)
    """
    allowed = KINDS | {"or", "and", "area", "of"}
    said = [set(re.split(r"[^a-z]+", folded(v))) - {""} for v in values]
    return all(words and words <= allowed for words in said)
