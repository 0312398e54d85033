"""Dates that are written as texts or eight digits: the day, or that there is no such day."""

from __future__ import annotations

import datetime
import re
from functools import lru_cache

from shoal.find.values.dates import CACHED

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
        found = form.fullmatch(text.strip())
        if found:
            days = [d for order in orders if (d := _day(*(int(found[i]) for i in order))) is not None]
            return (days[0] if len(set(days)) == 1 else float("nan")), not days
    return float("nan"), False


def _day(year: int, month: int, day: int) -> float | None:
    try:
        return float((datetime.date(year, month, day) - EPOCH).days)
    except ValueError:
        return None
