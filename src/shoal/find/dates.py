"""Dates, times, months and years in the spellings of real files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from shoal.find.name_words import folded
from shoal.find.vocabulary import ranked
from shoal.kernels.text import Pattern

CACHED = 1 << 16
"""Texts whose reading is kept: the columns of a wide table hold the same few."""
MONTHS, WEEKDAYS = ranked("calendar", "month"), ranked("calendar", "weekday")
_MONTH = "|".join(sorted((m for names in MONTHS for m in names), key=len, reverse=True))
_TIME = r"([t ]+\d{1,2}[:h.]\d{2}([:.]\d{2}(\.\d+)?)?\s*([ap]m|z|[+-]\d{2}:?\d{2})?)?"
_D, _M, _Y = r"(0?[1-9]|[12]\d|3[01])", r"(0?[1-9]|1[0-2])", r"(1[6-9]\d{2}|2[0-4]\d{2})"
_FORMS = tuple(
    Pattern(form)
    for form in (
        rf"{_Y}([-/.]){_M}\2{_D}{_TIME}",
        rf"{_D}([-/. ]){_M}\2({_Y}|\d{{2}}){_TIME}",
        rf"{_M}([-/.]){_D}\2({_Y}|\d{{2}}){_TIME}",
        rf"{_D}[-/. ]*({_MONTH})\.?[-/., ]*({_Y}|\d{{2}}){_TIME}",
        rf"({_MONTH})\.? {_D}(st|nd|rd|th)?,? {_Y}{_TIME}",
        rf"({_MONTH})\.?[-/ ]({_Y}|\d{{2}})",
        rf"{_Y}[-/]({_M}|q[1-4]|w\d{{1,2}}|{_MONTH})",
        rf"{_M}/{_Y}",
        rf"{_Y}-{_M}-{_D}[-_]\d{{2}}-\d{{2}}(-\d{{2}})?",
        rf"{_D}\.{_M}\.",
        rf"{_Y} ?(q|t|quarter )[1-4]|(q|t)[1-4][ /-]?{_Y}",
        r"([01]?\d|2[0-4])[:h][0-5]\d([:.][0-5]\d(\.\d+)?)?( ?[ap]\.?m\.?)?",
    )
)
_BEGINS = frozenset(m[:3] for names in MONTHS for m in names)
_COMPACT = Pattern(r"(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(\d{4,6})?")
_COMPACT_LAST = Pattern(r"(0?[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(19|20)\d{2}|(0?[1-9]|[12]\d|3[01])(0[1-9]|1[0-2])(19|20)\d{2}")


@lru_cache(maxsize=CACHED)
def written_as_date(text: str) -> bool:
    """Whether a text is a date, time or month as people and programs write it.

    >>> [written_as_date(t) for t in ("2195-05-17 7:39", "03/06/1940", "12-Mar-98", "Mar 5, 2020", "5:07", "2019Q3", "45-54")]
    [True, True, True, True, True, True, False]
    """
    plain = folded(text.strip())
    return _may_begin(plain) and any(form.fullmatch(plain) for form in _FORMS)


def _may_begin(plain: str) -> bool:
    """Whether a text begins as one of the forms: with a digit, a month, or the letter of a quarter and its number."""
    return plain[:1].isdecimal() or plain[:3] in _BEGINS or (plain[:1] in ("q", "t") and plain[1:2].isdecimal())


def compact_date(text: str) -> bool:
    """Whether eight digits (with a time, twelve or fourteen) are a day: 20200131, and with the year last 01312020.

    >>> compact_date("20200131"), compact_date("20201331"), compact_date("01312020"), compact_date("1312020")
    (True, False, True, True)
    """
    return _COMPACT.fullmatch(text) is not None or _COMPACT_LAST.fullmatch(text) is not None


def unix_times(numbers: npt.NDArray[np.float64]) -> bool:
    """Whether numbers are seconds or milliseconds since 1970, from 1986 to 2036.

    >>> unix_times(np.array([1.7e9, 1.71e9])), unix_times(np.array([1.7e12])), unix_times(np.array([1.7e9, 5.0]))
    (True, True, False)
    """
    low, high = float(np.min(numbers)), float(np.max(numbers))
    return any(unit * 500_000_000 <= low <= high <= unit * 2_100_000_000 for unit in (1, 1_000))


def date_share(values: Sequence[str], kind: str) -> float:
    """The share of values that are written as dates."""
    if not values:
        return 0.0
    test = compact_date if kind in ("integer", "decimal", "float") else lambda v: written_as_date(v) or compact_date(v)
    return sum(test(v) for v in values) / len(values)


@lru_cache(maxsize=CACHED)
def place_in(names: tuple[tuple[str, ...], ...], text: str) -> int | None:
    """The place of a word in a list of months or weekdays, from 0.

    >>> place_in(MONTHS, "Avril"), place_in(WEEKDAYS, "MONDAY"), place_in(MONTHS, "x")
    (3, 0, None)
    """
    return _places(names).get(folded(text.strip().strip(".")))


@cache
def _places(names: tuple[tuple[str, ...], ...]) -> dict[str, int]:
    return {word: i for i, spelled in enumerate(names) for word in spelled}
