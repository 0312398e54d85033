"""Dates and times: day, month, quarter, year, decade; and age bands from a date of birth.

Takes    level names in rising order, for ISO dates and timestamps (typed columns, or text in that form)
Returns  levels whose labels are ``2024-02``, ``2024-Q1``, ``2024``, ``2020s``
Keeps    periods nest; weeks do not nest in months, so they may only come last
"""

from __future__ import annotations

import calendar
import dataclasses
import datetime as dt
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from shoal.errors import DataError, HierarchyError, UsageError
from shoal.hierarchies.builders.numbers import Intervals, interval_labels
from shoal.hierarchies.rule import Generalize, Rule, register_rule
from shoal.hierarchies.values import is_text, texts_of
from shoal.kernels.text import Pattern
from shoal.model.plan import Step
from shoal.steps import Cut, Prefix, evaluate

_PREFIXES = {"minute": 16, "hour": 13, "day": 10, "month": 7, "year": 4}
_YEARS = {"5 years": 5, "decade": 10, "20 years": 20, "century": 100}
ORDER = ("minute", "hour", "day", "month", "quarter", "half-year", "year", "5 years", "decade", "20 years", "century")
"""Levels that nest, from fine to coarse; ``week`` may stand last instead."""

_FORMS = {
    "iso": Pattern(r"(\d{4})-(\d{2})-(\d{2})([ T]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?)?", re.ASCII),
    "ymd": Pattern(r"((?:18|19|20|21)\d{2})[/.]?(\d{2})[/.]?(\d{2})", re.ASCII),
    "year last": Pattern(r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})( \d{1,2}:.*)?", re.ASCII),
}
_ISO = Pattern(r"\d{4}-\d{2}-\d{2}([ T]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?)?", re.ASCII)


@register_rule
@dataclass(frozen=True)
class Dates(Rule):
    """Level i is the period ``levels[i−1]`` that holds the date.

    >>> h = Dates(("month", "quarter", "year", "decade")).over("born", ["1987-02-28", "1987-03-01", "1991-12-31"])
    >>> [level.labels for level in h.levels[1:4]]
    [('1987-02', '1987-03', '1991-12'), ('1987-Q1', '1991-Q4'), ('1987', '1991')]
    >>> h.levels[4].labels
    ('1980s', '1990s')
    """

    levels: tuple[str, ...] = ("month", "quarter", "year", "decade")
    low: int | None = None  # first and last year of the cut points
    high: int | None = None
    form: str = ""  # how texts are written: "" is YYYY-MM-DD; ymd, dmy, mdy; "year last" if day and month cannot be distinguished
    kind: ClassVar[str] = "dates"

    def __post_init__(self) -> None:
        if self.form not in ("", "ymd", "dmy", "mdy", "year last"):
            raise HierarchyError(f"date form '{self.form}' is not known.", hint="Use ymd, dmy or mdy.")
        known = [name for name in self.levels if name != "week"]
        unknown = [name for name in known if name not in ORDER]
        if unknown:
            raise HierarchyError(f"date level '{unknown[0]}' is not known.", hint=f"Levels: {', '.join(ORDER)}, week.")
        ranks = [ORDER.index(name) for name in known]
        if ranks != sorted(set(ranks)):
            raise HierarchyError("the date levels do not rise.", hint=f"Give them in this order: {', '.join(ORDER)}.")
        if "week" in self.levels and (self.levels[-1] != "week" or any(r > ORDER.index("day") for r in ranks)):
            raise HierarchyError("weeks do not nest in months.", hint="Let week be the last level, after day at most.")

    @property
    def inner(self) -> int:
        return len(self.levels)

    def fit(self, column: str, values: Any, counts: Any = None) -> Dates:
        texts = [iso_text(t, self.form) for t in texts_of(column, values)]
        check_dates(column, texts)
        on_text = self.on_text or is_text(values) or bool(self.form)
        if (self.low is not None and self.high is not None) or not texts:
            return dataclasses.replace(self, on_text=on_text)
        years = [int(t[:4]) for t in texts]
        low, high = min(years) // 10 * 10, max(years) // 10 * 10 + 9  # whole decades: not the oldest person's year
        low = self.low if self.low is not None else low
        high = self.high if self.high is not None else high
        return dataclasses.replace(self, low=low, high=high, on_text=on_text)

    def labels(self, column: str, texts: Sequence[str], level: int) -> list[str | None]:
        days = [iso_text(t, self.form) for t in texts]
        texts_of = evaluate(self._period(column, level, None), days).texts()
        return [label if _ISO.fullmatch(day) else None for day, label in zip(days, texts_of, strict=True)]

    def _inner_step(self, column: str, level: int, missing_label: str | None) -> Step:
        if self.form or self.on_text:
            return Generalize.of(column, self, level, missing_label=missing_label)
        return self._period(column, level, missing_label)

    def _period(self, column: str, level: int, missing_label: str | None) -> Step:
        name = self.levels[level - 1]
        if name in _PREFIXES and missing_label is None:
            return Prefix(column, _PREFIXES[name], "")
        if self.low is None or self.high is None:
            raise UsageError(f"the date levels of '{column}' have no range yet.", hint="Call rule.fit(column, values) first.")
        starts, labels = zip(*_periods(name, self.low, self.high), strict=True)
        end = _after(name, self.high).isoformat()
        points = (*starts, end)
        return Cut(column, points, (f"before {points[0]}", *labels, f"from {end}"), "left", missing_label)


@register_rule
@dataclass(frozen=True)
class Ages(Rule):
    """Age bands at a reference day, from a date of birth.

    A person is ``a`` years old when the ``a``-th birthday has come (29 February: on 1 March of other years).

    >>> h = Ages("2024-06-30", (10, 20), top=90).over("born", ["2001-06-30", "2004-07-01", "1930-01-01"])
    >>> h.levels[1].labels
    ('90+', '20-29', '10-19')
    """

    reference: str = ""
    widths: tuple[int, ...] = (5, 10, 20)
    top: int | None = 90
    bottom: int | None = None
    kind: ClassVar[str] = "ages"

    def __post_init__(self) -> None:
        if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", str(self.reference), re.ASCII):
            raise HierarchyError("age bands need a reference day such as 2024-12-31.")
        dt.date.fromisoformat(self.reference)
        self._bands  # noqa: B018  (checks the widths)

    @property
    def _bands(self) -> Intervals:
        top = self.top if self.top is not None else 120
        return Intervals(self.widths, top=top, bottom=self.bottom if self.bottom is not None else 0, integer=True)

    @property
    def inner(self) -> int:
        return len(self.widths)

    def fit(self, column: str, values: Any, counts: Any = None) -> Ages:
        check_dates(column, texts_of(column, values))
        return dataclasses.replace(self, on_text=self.on_text or is_text(values))

    def _inner_step(self, column: str, level: int, missing_label: str | None) -> Cut:
        ages = self._bands.points(level)
        labels = interval_labels(ages, integer=True)
        if self.bottom is None:
            labels = ("born later", *labels[1:])
        points = tuple(self._first_younger(int(a)).isoformat() for a in reversed(ages))
        return Cut(column, points, tuple(reversed(labels)), "left", missing_label)

    def _first_younger(self, age: int) -> dt.date:
        """The first day of birth of people who are not yet ``age`` on the reference day."""
        day = dt.date.fromisoformat(self.reference)
        year = day.year - age
        if (day.month, day.day) == (2, 29) and not calendar.isleap(year):
            return dt.date(year, 3, 1)
        return dt.date(year, day.month, day.day) + dt.timedelta(days=1)


def form_of(texts: Sequence[str]) -> str:
    """How all texts write their dates: ``iso, ymd, dmy, mdy``, ``year last`` (day or month first is unknown); or empty.

    >>> form_of(["2024-02-28"]), form_of(["20240228", "19991231"]), form_of(["28/02/2024"]), form_of(["2/3/2024"]), form_of(["7"])
    ('iso', 'ymd', 'dmy', 'year last', '')
    """
    for form, pattern in _FORMS.items():
        matches = [pattern.fullmatch(t) for t in texts]
        parts = [(int(m[1]), int(m[2])) if form == "year last" else (int(m[3]), int(m[2])) for m in matches if m]
        if len(parts) < len(texts) or not all(1 <= max(p) <= 31 and 1 <= min(p) <= 12 for p in parts):
            continue
        if form != "year last":
            return form if all(month <= 12 for _, month in parts) else ""
        if all(a <= 12 for a, _ in parts) and all(b <= 12 for _, b in parts):
            return form
        if all(b <= 12 for _, b in parts):
            return "dmy"
        return "mdy" if all(a <= 12 for a, _ in parts) else ""
    return ""


def iso_text(text: str, form: str) -> str:
    """A date of a form as YYYY-MM-DD; a text of another form as it is.

    >>> iso_text("3/12/1984", "dmy"), iso_text("12/3/1984", "mdy"), iso_text("19841203", "ymd"), iso_text("1984-12-03 8:30", "")
    ('1984-12-03', '1984-12-03', '1984-12-03', '1984-12-03 08:30')
    """
    if not form:
        return f"{text[:11]}0{text[11:]}" if text[12:13] == ":" else text  # 8:30 is 08:30
    match = _FORMS["ymd" if form == "ymd" else "year last"].fullmatch(text)
    if match is None:
        return text
    one, two, three = match[1], match[2], match[3]
    if form == "ymd":
        return f"{one}-{two}-{three}"
    day, month = (two, one) if form == "mdy" else (one, two)
    return f"{three}-{int(month):02d}-{int(day):02d}"


def check_dates(column: str, texts: Sequence[str]) -> None:
    """Refuse texts that are not ISO dates or timestamps: counted, never shown."""
    wrong = sum(1 for t in texts if not _ISO.fullmatch(t))
    if wrong:
        what = f"column '{column}' must hold dates; {wrong} of {len(texts)} distinct values are not."
        raise DataError(what, hint="Write dates as YYYY-MM-DD, or treat the column as codes.", column=column)


def _periods(name: str, low: int, high: int) -> Iterator[tuple[str, str]]:
    """First day and label of each period from year ``low`` to year ``high``."""
    if name in ("day", "week"):
        day = dt.date(low, 1, 1)
        day -= dt.timedelta(days=day.weekday() if name == "week" else 0)
        while day.year <= high:
            year, week, _ = day.isocalendar()
            yield day.isoformat(), f"{year}-W{week:02d}" if name == "week" else day.isoformat()
            day += dt.timedelta(days=7 if name == "week" else 1)
    elif name in _YEARS:
        width = _YEARS[name]
        for year in range(low // width * width, high + 1, width):
            yield f"{max(year, 1):04d}-01-01", f"{year}s" if name == "decade" else f"{year}-{year + width - 1}"
    else:
        parts, mark = {"year": (1, ""), "half-year": (2, "-H"), "quarter": (4, "-Q"), "month": (12, "-")}[name]
        for year in range(low, high + 1):
            for part in range(parts):
                number = "" if name == "year" else f"{part + 1:02d}" if name == "month" else str(part + 1)
                yield f"{year:04d}-{part * 12 // parts + 1:02d}-01", f"{year:04d}{mark}{number}"


def _after(name: str, high: int) -> dt.date:
    """The day after the last period up to year ``high``."""
    width = _YEARS.get(name, 1)
    day = dt.date(min(high // width * width + width, 9999), 1, 1)
    return day + dt.timedelta(days=-day.weekday() % 7 if name == "week" else 0)
