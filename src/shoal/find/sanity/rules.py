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
from typing import Any

import numpy as np

from shoal.errors import MissingColumnError, UsageError
from shoal.find.sanity.days import EPOCH
from shoal.find.sanity.meaning import Meaning, meaning_of, start_and_end
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
    pairs = [(by_meaning[a], by_meaning[b], said) for a, b, said in _ORDER if a in by_meaning and b in by_meaning]
    pairs += [(a, b, "end before start") for a, b in start_and_end(dates)]
    out += [Rule(said, (a, b), _before(a, b)) for a, b, said in pairs]
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
    found = _SAID.match(text)
    if not found:
        raise UsageError("a rule compares two sides.", hint="For example age<=120, or admission<=discharge.")
    left, sign, right = found.groups()
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
        raise UsageError(
            "a side of a rule is no column of numbers or dates, no number and no date.", hint="For example age<=120."
        ) from None
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
