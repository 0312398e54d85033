"""Words of column names that point to one of the 18 Safe Harbor classes, beyond the finder's, and words that speak against it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from shoal.find.name_words import raw_words, words_of
from shoal.find.topics import expanded, found_in
from shoal.find.vocabulary import folded, phrases, sections, tagged, word_set

LIST = "safe_harbor"
_PARTS = {word: int(most) for word, most in tagged(LIST, "part of a date").items()}
"""The largest number of a month, week or day, by the word for it."""
_AGES = word_set(LIST, "age")
_AGE_ONLY = word_set(LIST, "age only")


_SPLIT = [
    (int(section.removeprefix("class ")), words)
    for section in sections(LIST)
    if section.startswith("class ")
    for words in phrases(LIST, section)
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
    items = set()
    for way in {words_of(name), raw_words(name)}:
        near = [p for word in way for p in _starting(word)]
        items |= {item for item, pattern in near if found_in(way, pattern)}
    return min(items, default=None)


def says(name: str, section: str, *, unless: str = "") -> bool:
    """Whether a name has a word of a section of the list, and none of another section that speaks against it.

    >>> says("admit_dt", "date or event"), says("birth_weight", "birth", unless="not a birth date")
    (True, False)
    """
    name_words = _all(name)
    return bool(name_words & word_set(LIST, section)) and not (unless and name_words & word_set(LIST, unless))


def quantified(name: str) -> bool:
    """Whether a name says how much, how many or how long: ``days_in_hospital``, ``n_visits``; a bare ``number`` does not."""
    things = any(len(w) > 3 and w.endswith("s") for w in raw_words(name))
    return says(name, "quantity") or (things and bool(_all(name) & {"n", "num", "number", "nr"}))


def part_of_date(name: str) -> int:
    """The largest number of a month, week or day, where a name says one; 0 where it says none or a length of time."""
    return 0 if says(name, "duration, count or kind") else max((_PARTS[w] for w in _all(name) if w in _PARTS), default=0)


def aged(name: str) -> bool:
    """Whether a name says years of age; ``years_of_service`` does not."""
    name_words = set(words_of(name))
    return bool(name_words & _AGES) and (bool(name_words & (_AGES - {"yrs", "years", "yo"})) or name_words <= _AGE_ONLY)


_PER_YEAR = {"month": 12.0, "day": 365.25, "week": 52.18}


def per_year(name: str) -> float:
    """How many units of an age make a year.

    >>> per_year("age_months"), per_year("age")
    (12.0, 1.0)
    """
    name_words = _all(name)
    units = {tag for word, tag in tagged(LIST, "unit of age").items() if word in name_words}
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
    word_sets = [set(re.split(r"[^a-z]+", folded(v))) - {""} for v in values]
    return all(words and words <= allowed for words in word_sets)
