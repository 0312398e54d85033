"""Rules for what cannot be: limits of single columns, and of one beside another.

A column is a number, or a day counted from 1970 (``dates``). A rule gives, for rows of such columns, those that break it. Missing
values break nothing.
"""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from shoal.errors import MissingColumnError, UsageError
from shoal.find.dates import CACHED
from shoal.find.name_words import words_of
from shoal.find.vocabulary import sections, word_set
from shoal.model.counts.classes import FloatArray

OLDEST = 120
"""Years nobody has lived much longer than."""
YEAR = 365.2425

Columns = Mapping[str, FloatArray]
_LIMITS: dict[Meaning, tuple[float, float]] = {
    "age": (0, OLDEST),
    "month": (1, 12),
    "percent": (0, 100),
    "latitude": (-90, 90),
    "longitude": (-180, 180),
}
_ORDER: tuple[tuple[Meaning, Meaning, str], ...] = (
    ("birth", "death", "death before birth"),
    ("birth", "admission", "admission before birth"),
    ("birth", "discharge", "discharge before birth"),
    ("admission", "discharge", "discharge before admission"),
    ("admission", "death", "death before admission"),
)
_SAID = re.compile(r"\s*(.+?)\s*(<=|>=|<|>|==?)\s*(.+?)\s*$")
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<=": np.less_equal,
    ">=": np.greater_equal,
    "<": np.less,
    ">": np.greater,
    "=": np.equal,
    "==": np.equal,
}


@dataclass(frozen=True)
class Rule:
    """What cannot be, in words, the columns it looks at, and which rows break it."""

    what: str
    columns: tuple[str, ...]
    broken: Callable[[Columns], Any]
    asked: bool = False
    """Whether somebody asked for it; a rule guessed from names is dropped where most values break it."""


def guessed_rules(numbers: Sequence[str], dates: Sequence[str], years: Sequence[str], today: datetime.date) -> list[Rule]:
    """The rules that follow from the names of columns of numbers, of dates and of years (of birth or death).

    >>> [r.what for r in guessed_rules(["pct"], ["dob"], [], datetime.date(2026, 1, 1))]
    ['below 0 or above 100', 'in the future', 'more than 120 years ago']
    """
    now, this_year = float((today - EPOCH).days), float(today.year)
    out = []
    for name in numbers:
        if name not in years and (limits := _LIMITS.get(meaning_of(name))):
            out.append(Rule(f"below {limits[0]:g} or above {limits[1]:g}", (name,), _outside(name, *limits)))
    by_meaning = {meaning_of(name): name for name in reversed(dates)}
    ended = "death" in by_meaning or any(meaning_of(n) == "death" for n in years)
    for name in (*dates, *years):
        top, least = (this_year, this_year - OLDEST) if name in years else (now, now - OLDEST * YEAR)
        if meaning_of(name) in ("birth", "death"):
            out.append(Rule("in the future", (name,), _outside(name, -np.inf, top)))
        if meaning_of(name) == "birth" and not ended:
            out.append(Rule(f"more than {OLDEST} years ago", (name,), _outside(name, least, np.inf)))
    pairs = [(by_meaning[a], by_meaning[b], rule) for a, b, rule in _ORDER if a in by_meaning and b in by_meaning]
    pairs += [(a, b, "end before start") for a, b in start_and_end(dates)]
    out += [Rule(rule, (a, b), _before(a, b)) for a, b, rule in pairs]
    return out + _ages([n for n in numbers if meaning_of(n) == "age"], by_meaning, now)


def _ages(ages: Sequence[str], dates: Mapping[Meaning, str], now: float) -> list[Rule]:
    """Age against the date of birth: at an admission, where there is one; else nobody can be older than today."""
    birth, admission = dates.get("birth"), dates.get("admission")
    if birth is None:
        return []
    if admission is None:
        return [Rule("birth and age lie in the future", (birth, age), _older_than_today(birth, age, now)) for age in ages]
    return [Rule("age and birth differ by over a year", (birth, admission, a), _other_age(birth, admission, a)) for a in ages]


def said_rule(text: str, numbers: Sequence[str], dates: Sequence[str]) -> Rule:
    """A rule that somebody states, ``age<=120`` or ``admission<=discharge``: rows for which it is false break it."""
    match = _SAID.match(text)
    if not match:
        raise UsageError("a rule compares two sides.", hint="For example age<=120, or admission<=discharge.")
    left, sign, right = match.groups()
    sides = [_side(s, numbers, dates) for s in (left, right)]
    names = tuple(s for s in (left, right) if s in (*numbers, *dates))
    if not names:
        known = ", ".join(itertools.islice((*numbers, *dates), 20))
        raise MissingColumnError("a rule names no column of numbers or dates.", hint=f"Columns: {known}.")
    if any(n in numbers for n in names) and any(n in dates for n in names):
        raise UsageError("a rule compares numbers with dates.", hint="Compare columns of one kind.")

    def broken(columns: Columns) -> Any:
        a, b = (side(columns) for side in sides)
        return ~_COMPARE[sign](a, b) & np.isfinite(a) & np.isfinite(b)

    return Rule(f"not {left} {sign} {right}", names, broken, asked=True)


def _side(text: str, numbers: Sequence[str], dates: Sequence[str]) -> Callable[[Columns], Any]:
    """A column, a number or a date (2020-12-31)."""
    if text in numbers or text in dates:
        return lambda columns: columns[text]
    try:
        value = (
            float((datetime.date.fromisoformat(text) - EPOCH).days) if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text) else float(text)
        )
    except ValueError:
        hint = "For example age<=120."
        raise UsageError("a side of a rule is not a column of numbers or dates, a number or a date.", hint=hint) from None
    return lambda columns: np.float64(value)


def _outside(name: str, low: float, high: float) -> Callable[[Columns], Any]:
    return lambda columns: (columns[name] < low) | (columns[name] > high)


def _before(first: str, second: str) -> Callable[[Columns], Any]:
    return lambda columns: columns[second] < columns[first]


def _older_than_today(birth: str, age: str, now: float) -> Callable[[Columns], Any]:
    return lambda columns: columns[birth] + columns[age] * YEAR > now + 1


def _other_age(birth: str, at: str, age: str) -> Callable[[Columns], Any]:
    """The years lived at a date, whole, and the age said are more than one apart."""

    def broken(columns: Columns) -> Any:
        lived = (columns[at] - columns[birth]) / YEAR
        return (columns[age] < lived - 2) | (columns[age] > lived + 1)

    return broken


EPOCH = datetime.date(1970, 1, 1)
_FORMS = (
    (re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ].*)?"), ((1, 2, 3),)),
    (re.compile(r"(\d{4})(\d{2})(\d{2})"), ((1, 2, 3),)),
    (re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?: .*)?"), ((3, 2, 1),)),
    (re.compile(r"(\d{1,2})[/-](\d{1,2})[/-](\d{4})(?: .*)?"), ((3, 2, 1), (3, 1, 2))),
)


@lru_cache(maxsize=CACHED)
def read_day(text: str) -> tuple[float, bool]:
    """Days since 1970, and whether the text has the form of a date but no such day exists.

    Where day and month could be exchanged the day is not known (NaN); a text of another form is neither.

    >>> read_day("1970-01-11"), read_day("2020-13-01"), read_day("31.12.1969")
    ((10.0, False), (nan, True), (-1.0, False))
    >>> read_day("02/03/2020"), read_day("13/13/2020"), read_day("soon")
    ((nan, False), (nan, True), (nan, False))
    """
    for form, orders in _FORMS:
        match = form.fullmatch(text.strip())
        if match:
            days = [d for order in orders if (d := _day(*(int(match[i]) for i in order))) is not None]
            return (days[0] if len(set(days)) == 1 else float("nan")), not days
    return float("nan"), False


def _day(year: int, month: int, day: int) -> float | None:
    try:
        return float((datetime.date(year, month, day) - EPOCH).days)
    except ValueError:
        return None


Meaning = Literal["", "age", "birth", "death", "admission", "discharge", "month", "percent", "latitude", "longitude"]

_MEANINGS: tuple[Meaning, ...] = (
    "death", "birth", "discharge", "admission", "percent", "latitude", "longitude", "month", "age"
)  # fmt: skip
_ANY = {meaning: word_set("limits", meaning) for meaning in _MEANINGS}
_NOT = {meaning: word_set("limits", f"not {meaning}") for meaning in _MEANINGS if f"not {meaning}" in sections("limits")}


def meaning_of(name: str) -> Meaning:
    """What a column of this name limits its values by; empty where nothing is known.

    >>> [meaning_of(n) for n in ("age", "age_months", "DateOfBirth", "birth weight", "pct_female", "lat", "birth month", "x")]
    ['age', '', 'birth', '', 'percent', 'latitude', 'month', '']
    """
    words = frozenset(words_of(name))
    if "%" in name and not words & _NOT["percent"]:
        return "percent"
    for meaning, any_of in _ANY.items():
        if words & any_of and not words & _NOT.get(meaning, frozenset()):
            return meaning
    return ""


def start_and_end(names: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of columns whose names differ only by start and end.

    >>> start_and_end(["start_date", "end_date", "tax_start", "end"])
    [('start_date', 'end_date')]
    """
    keyed = {words_of(name): name for name in names}
    ends = ("start", "end"), ("begin", "end"), ("beginn", "ende"), ("from", "to"), ("von", "bis"), ("debut", "fin")
    out = []
    for words, name in keyed.items():
        for one, two in ends:
            other = tuple(two if w == one else w for w in words)
            if one in words and other in keyed:
                out.append((name, keyed[other]))
    return out
