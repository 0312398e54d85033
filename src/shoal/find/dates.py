"""Dates, times, months and years in the spellings of real files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from shoal.find.finding import remembered
from shoal.find.vocabulary import alternatives, folded, ranked
from shoal.kernels.text import Pattern

CACHED = 1 << 16
"""Texts whose reading is kept: the columns of a wide table hold the same few."""
MONTHS, WEEKDAYS = ranked("calendar", "month"), ranked("calendar", "weekday")
_MONTH_WORDS = frozenset(m for names in MONTHS for m in names)
_LETTERS = re.compile(r"[^\d\s.,/()\-]+")
_MONTH = "#"
"""The sign that stands for the name of a month while a text is compared with the forms."""
_HALF, _ZONE = r"([ap]\.?\s?m\.?|上午|下午|午前|午後|오전|오후)", r"(z|(utc|gmt|[a-z]{3,4})?([+-]\d{1,2}(:?\d{2})?)?)"
_TIME = rf"([t ]+({_HALF} ?)?\d{{1,2}}[:h.]\d{{2}}([:.]\d{{2}}(\.\d+)?)?\s*{_HALF}?\s*{_ZONE})?"
_D, _M, _Y = r"(0?[1-9]|[12]\d|3[01])", r"(0?[1-9]|1[0-2])", r"(1[6-9]\d{2}|2[0-4]\d{2})"
_ANY_Y = r"(1[2-9]\d{2}|2[0-6]\d{2})"
"""Years of a whole date, also as Islamic, Persian and Buddhist calendars count them."""
_ROMAN = r"(i{1,3}|iv|vi{0,3}|ix|xi{0,2})"
_FORMS = tuple(
    Pattern(form)
    for form in (
        rf"{_ANY_Y}([-/.]|\. ){_M}\2{_D}{_TIME}",
        rf"{_D}([-/. ]){_M}\2({_ANY_Y}|\d{{2}}){_TIME}",
        rf"{_D}([-/. ]){_ROMAN}\2({_Y}|\d{{2}})",
        rf"({alternatives('calendar', 'week')})\.? ?\d{{1,2}}[ ./-]+({_Y}|\d{{2}})",
        r"(\D{0,2}\d{1,4}|\D{2}元)[年년] ?\d{1,2}[月월]( ?\d{1,2}[日일])?.{0,10}",
        rf"{_M}([-/.]){_D}\2({_Y}|\d{{2}}){_TIME}",
        rf"{_D}[-/. ]*{_MONTH}\.?[-/., ]*({_Y}|\d{{2}}){_TIME}",
        rf"{_MONTH}\.? {_D}(st|nd|rd|th)?,? {_Y}{_TIME}",
        rf"{_MONTH}\.?[-/ ]({_Y}|\d{{2}})",
        rf"{_Y}[-/]({_M}|q[1-4]|w\d{{1,2}}|{_MONTH})",
        rf"{_M}/{_Y}",
        rf"{_Y}-{_M}-{_D}[-_]\d{{2}}-\d{{2}}(-\d{{2}})?",
        rf"{_D}\.{_M}\.",
        rf"{_Y} ?(q|t|quarter )[1-4]|(q|t)[1-4][ /-]?{_Y}",
        r"([01]?\d|2[0-4])[:h][0-5]\d([:.][0-5]\d(\.\d+)?)?( ?[ap]\.?m\.?)?|([01]?\d|2[0-3])(\.[0-5]\d){2}",
    )
)
_INSIDE = Pattern(
    rf"(?<!\d)\d{{1,2}}\W{{0,3}}((st|nd|rd|th|de|of)\W)?{_MONTH}\W{{0,3}}(de |of )?(1[89]|20|25)\d{{2}}(?!\d)"
    rf"|{_MONTH}\W{{0,2}}(\d{{1,2}}\D{{1,4}})?(1[89]|20|25)\d{{2}}(?!\d)|\d{{1,4}}[年년] ?\d{{1,2}}[月월]"
    rf"|(?<!\d)((18|19|20|25)\d{{2}}[-/.](0?[1-9]|1[0-2])[-/.](0?[1-9]|[12]\d|3[01])|\d{{1,2}}[-/.]\d{{1,2}}[-/.](18|19|20|25)\d{{2}})"
    r"(?!\d)"
)
_COMPACT = Pattern(r"(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(\d{4,6})?")
_COMPACT_LAST = Pattern(r"(0?[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(19|20)\d{2}|(0?[1-9]|[12]\d|3[01])(0[1-9]|1[0-2])(19|20)\d{2}")


@lru_cache(maxsize=CACHED)
def written_as_date(text: str) -> bool:
    """Whether a text is a date, time or month as people and programs write it.

    >>> [written_as_date(t) for t in ("2195-05-17 7:39", "03/06/1940", "12-Mar-98", "Mar 5, 2020", "5:07", "17.51.16", "45-54")]
    [True, True, True, True, True, True, False]
    >>> [written_as_date(t) for t in ("2026/05/08 4:48 p. m. EEST", "2021. 11. 5 오후 3:12", "2023/5/1 上午 10:22:33 GMT+8")]
    [True, True, True]
    """
    plain = _mark_months(text)
    return any(c.isdecimal() for c in plain) and any(form.fullmatch(plain) for form in _FORMS)


@lru_cache(maxsize=CACHED)
def holds_date(text: str) -> bool:
    """Whether a text contains a date finer than a year: with signs between its parts, or with the name of a month.

    >>> [holds_date(t) for t in ("born on 4 May 1965", "seen 2020-03-14", "may come 12 times", "1965")]
    [True, True, False, False]
    """
    return any(c.isdecimal() for c in text) and _INSIDE.search(_mark_months(text)) is not None


def _mark_months(text: str) -> str:
    """A folded text with a sign in the place of each name of a month."""
    return _LETTERS.sub(lambda match: _MONTH if match.group() in _MONTH_WORDS else match.group(), folded(text.strip()))


def compact_date(text: str) -> bool:
    """Whether eight digits (with a time, twelve or fourteen) are a day: 20200131, and with the year last 01312020.

    >>> compact_date("20200131"), compact_date("20201331"), compact_date("01312020"), compact_date("1312020")
    (True, False, True, True)
    """
    if not 7 <= len(text) <= 14:
        return False
    return _COMPACT.fullmatch(text) is not None or _COMPACT_LAST.fullmatch(text) is not None


def unix_times(numbers: npt.NDArray[np.float64]) -> bool:
    """Whether numbers are seconds or milliseconds since 1970, from 1986 to 2036.

    >>> unix_times(np.array([1.7e9, 1.71e9])), unix_times(np.array([1.7e12])), unix_times(np.array([1.7e9, 5.0]))
    (True, True, False)
    """
    low, high = float(np.min(numbers)), float(np.max(numbers))
    return any(unit * 500_000_000 <= low <= high <= unit * 2_100_000_000 for unit in (1, 1_000))


@remembered
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
