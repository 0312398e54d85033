"""How the values of the 18 Safe Harbor classes are written: dates, ZIP codes, number plates, and identifiers inside single cells.

The finder looks at what most values of a column are. The rule asks more: one e-mail address in one cell is one too many, and a
date is a date in any spelling. What is certain by its form is therefore looked for in every value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from shoal.find import checksums
from shoal.find.dates import CACHED, MONTHS, WEEKDAYS, compact_date, holds_date, place_in, written_as_date
from shoal.find.finding import remembered
from shoal.find.identifiers import holds_street
from shoal.find.vocabulary import folded
from shoal.kernels.text import Pattern

MOST = 200_000
"""Distinct values of a column that are looked at one by one, evenly spread over all."""

_DAY, _MONTH, _YEAR = r"(0[1-9]|[12]\d|3[01])", r"(0[1-9]|1[0-2])", r"(19|20)\d{2}"
_PACKED = tuple(
    Pattern(form)
    for form in (
        rf"{_YEAR}{_MONTH}{_DAY}(\d{{4}}|\d{{6}})?",
        rf"{_MONTH}{_DAY}{_YEAR}",
        rf"{_DAY}{_MONTH}{_YEAR}",
        rf"{_YEAR}{_MONTH}",
        rf"{_YEAR}-?(00[1-9]|0[1-9]\d|[12]\d\d|3[0-5]\d|36[0-6])",
    )
)
_SAS = Pattern(r"\d{1,2}[a-z]{3}\d{2,4}:\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?")
_ISO_TIME = Pattern(r"\d{4}-\d{2}-\d{2}[t ]\d{2}:?\d{2}.*")
SHORTEST_PACKED = 6
PACKED_SHARE, PACKED_LEAST = 0.95, 3
"""Digits without signs are dates where this share of at least so many distinct values is one; none has fewer digits."""


class Inside(NamedTuple):
    """A form that is certain in a single cell: its class, what it is, and how it is found."""

    item: int
    what: str
    found: Callable[[str], bool]
    least: float = 0.0
    """Share of values that must have it: 0 where one is enough, more where a check digit can be right by chance."""


def _search(pattern: str) -> Callable[[str], bool]:
    compiled = Pattern(pattern, re.IGNORECASE)
    return lambda text: compiled.search(text) is not None


def _whole(check: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda text: check(re.sub(r"[ .\-]", "", text).upper())


_BYTE = r"(25[0-5]|2[0-4]\d|1?\d?\d)"


def _vehicle(text: str) -> bool:
    return any(checksums.vin(word) for word in re.findall(r"\b[A-HJ-NPR-Z0-9]{17}\b", text.upper()))


CERTAIN: tuple[Inside, ...] = (
    Inside(6, "e-mail addresses", _search(r"[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,24}\b")),
    Inside(
        14,
        "web addresses",
        _search(r"\bhttps?://\S{3}|\bwww\.[a-z0-9-]+\.\S{2}|\b[a-z0-9-]{2,}\.(com|org|net|edu|gov|info|io)/\S"),
    ),
    Inside(7, "social security numbers", _search(r"(?<![\d-])(?!000|666|9)\d{3}([- ])(?!00)\d{2}\1(?!0000)\d{4}(?![\d-])")),
    Inside(12, "vehicle identification numbers", _vehicle),
    Inside(10, "bank account numbers", _whole(checksums.iban), 0.05),
    Inside(13, "device addresses", _search(r"^([0-9a-f]{2}[:-]){5}[0-9a-f]{2}$")),
    Inside(
        15,
        "internet (IP) addresses",
        _search(rf"^([0-9a-f]{{1,4}}:){{7}}[0-9a-f]{{1,4}}$|(?<![\d.]){_BYTE}(\.{_BYTE}){{3}}(?![\d.])"),
    ),
    Inside(
        4,
        "telephone numbers",
        _search(
            r"(?<![\d.])\(?[2-9]\d{2}\)?[-. ][2-9]\d{2}[-. ]\d{4}(?!\d)|\+\d{1,3}[ \d().-]{8,18}"
            r"|(?<!\d)0\d{2,4}[ /-]\d{6,8}(?!\d)"
        ),
    ),
    Inside(2, "street addresses", holds_street),
)
"""Forms that no other value has, looked for in every cell."""


_TELLING = Pattern(r"[\d@:]|www")
"""A sign that every certain form has."""


@remembered
def certain_in(values: Sequence[str]) -> tuple[Inside, float] | None:
    """The first certain form that a value has, with the share of values that have it; None where none has one."""
    parts = [_certain_forms(v) for v in values if _TELLING.search(v)]
    for place, form in enumerate(CERTAIN):
        n = sum(place in forms for forms in parts)
        if n and n >= form.least * len(values):
            return form, n / len(values)
    return None


@lru_cache(maxsize=CACHED)
def _certain_forms(text: str) -> tuple[int, ...]:
    """The places of the certain forms that a text has or holds."""
    return tuple(place for place, form in enumerate(CERTAIN) if form.found(text))


@lru_cache(maxsize=CACHED)
def day_or_month(text: str) -> bool:
    """Whether a text is, or holds, a date finer than a year, with signs or words between its parts.

    >>> [day_or_month(t) for t in ("3/14/2020", "seen 2020-03-14", "Mar 2020", "2020-Q1", "01JAN2020:10:30:00", "2020", "1:2")]
    [True, True, True, True, True, False, False]
    """
    if not any(c.isdigit() for c in text):
        return False
    plain = folded(text.strip())
    if re.fullmatch(r"\d{1,2}:\d{1,2}", plain) and not re.fullmatch(r"([01]?\d|2[0-4]):[0-5]\d", plain):
        return False
    return bool(written_as_date(plain) or holds_date(plain) or _SAS.fullmatch(plain) or _ISO_TIME.fullmatch(plain))


@remembered
def date_share(values: Sequence[str], *, numbers: bool = False) -> float:
    """The share of values that are dates finer than a year, also as bare digits where most of them are.

    ``numbers`` says that all values are numbers, so that only bare digits can be dates.
    """
    if not values:
        return 0.0
    signed = 0.0 if numbers else sum(day_or_month(v) for v in values) / len(values)
    if len(values) >= PACKED_LEAST and sum(len(v) >= SHORTEST_PACKED for v in values) >= PACKED_SHARE * len(values):
        for form in _PACKED:
            share = sum(form.fullmatch(v) is not None for v in values) / len(values)
            if share >= PACKED_SHARE:
                return max(signed, share)
    if all(compact_date(v) for v in values):
        return 1.0
    return signed


@remembered
def month_or_weekday_share(values: Sequence[str]) -> float:
    """The share of values that are names of months or of days of the week (short ones of two letters left out)."""
    if not values:
        return 0.0
    named = [v for v in values if len(v.strip(" .")) > 2]
    n = sum(place_in(MONTHS, v) is not None or place_in(WEEKDAYS, v) is not None for v in named)
    return n / len(values)


DAY_AND_MONTH = Pattern(rf"{_DAY}[-/.]{_MONTH}|{_MONTH}[-/.]{_DAY}")
ZIP9 = Pattern(r"\d{5}-\d{4}")
ZIP5 = Pattern(r"\d{5}")
_PLATES = Pattern(
    r"[a-z]{2}\d{2} ?[a-z]{3}"  # United Kingdom
    r"|[a-z]{2}-?\d{3}-?[a-z]{2}"  # France, Italy
    r"|[a-z]{1,3}[- ][a-z]{1,2} ?\d{1,4}[eh]?"  # Germany
    r"|(\d{2}-[a-z]{2,3}-\d{1,2}|\d-[a-z]{2,3}-\d{2,3}|[a-z]{2}-\d{2,3}-[a-z]{1,2}|[a-z]-\d{3}-[a-z]{2})"  # Netherlands
    r"|\d[a-z]{3}\d{3}|[a-z]{3}[- ]\d{3,4}"  # United States
    r"|\d{4} ?[b-df-hj-np-tv-z]{3}",  # Spain
    re.IGNORECASE,
)


def plate_share(values: Sequence[str]) -> float:
    """The share of values that are written like number plates.

    >>> plate_share(["AB12 CDE", "7ABC123", "M-AB 1234", "hello"])
    0.75
    """
    return sum(_PLATES.fullmatch(v.strip()) is not None for v in values) / max(len(values), 1)


def spread(values: Sequence[str], most: int = MOST) -> list[str]:
    """Values evenly spread over all, each cut to a length in which any identifier shows."""
    step = max(1, -(-len(values) // most))
    return [v[:2_000].strip() for v in values[::step]]
