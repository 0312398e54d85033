"""A sensible hierarchy for a column about which nothing was said, and a sentence that says why."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from shoal.hierarchies.builders.categories import FrequencyMerge
from shoal.hierarchies.builders.codes import Flat, Mask, PrefixCode
from shoal.hierarchies.builders.dates import Dates
from shoal.hierarchies.builders.intervals import Intervals, number_text
from shoal.hierarchies.rule import Rule, register_rule
from shoal.hierarchies.values import counts_of, is_text, texts_of
from shoal.kernels.numbers import numbers_of
from shoal.model.roles import Column

FARTHEST = 1e300
"""Half the range up to which round widths are looked for."""
_LADDERS = {1: (1, 5, 10, 20), 2: (2, 10, 20, 100), 5: (5, 10, 20, 40)}
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)
_YEAR_LAST = re.compile(r"[0-9]{2}[-/.][0-9]{2}[-/.][0-9]{4}", re.ASCII)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:.*)?", re.ASCII)


def infer(column: Column | str, values: Any, counts: Any = None, *, k: int = 5) -> Rule:
    """A rule for a column, from its kind and its values.

    Numbers get nested intervals of round widths with open ends; dates get month, quarter, year, decade; days written with the
    year last are cut from the left, other codes of equal shape masked from the right; categories merge by frequency; what is
    left can only be kept or suppressed. The answer is fitted and its ``why`` says what was seen, without any rare value.

    Parameters
    ----------
    column : Column or str
        Name and, where known, kind.
    values : sequence of str or pyarrow.Array
        Distinct values without missing ones.
    counts : sequence of int, optional
        Records per value.
    k : int
        Groups at the open ends, and named categories, have at least this many records.

    Examples
    --------
    >>> rule = infer("age", [str(a) for a in range(18, 91)], [100] * 73)
    >>> rule.widths, rule.bottom, rule.top
    ((5, 10, 20, 40), 20.0, 90.0)
    >>> rule.why
    'numbers: bands of 5, 10, 20 and 40; one group below 20; one group from 90'
    """
    name, kind = (column, "") if isinstance(column, str) else (column.name, column.kind)
    texts = texts_of(name, values)
    sizes = counts_of(texts, counts)
    if not texts:
        return Flat(why="no value at all: kept or suppressed")
    if kind in ("date", "timestamp") or (kind in ("", "text") and all(_DATE.fullmatch(t) for t in texts)):
        return replace(_dates(texts), on_text=kind == "text").fit(name, texts)
    if kind == "time":
        return PrefixCode((5, 2), why="times of day: to the minute, then the hour")
    if kind in ("integer", "decimal", "float") or (kind in ("", "text") and all(_NUMBER.fullmatch(t) for t in texts)):
        return replace(_numbers(name, values, sizes, k), on_text=kind == "text")
    if kind == "boolean" or len(texts) <= 2:
        return Flat(why=f"{len(texts)} values: kept or suppressed")
    if all(_YEAR_LAST.fullmatch(t) for t in texts):
        return _year_last(texts)
    if _same_shape(texts):
        return Mask(why=f"codes of {len(texts[0])} characters: hidden from the right").fit(name, texts)
    return _categories(name, texts, sizes, k)


@register_rule
@dataclass(frozen=True)
class Infer(Rule):
    """The rule of a policy's ``{}``: decided by :func:`infer` when the values are seen."""

    column_kind: str = ""
    k: int = 5
    kind: ClassVar[str] = "infer"

    @property
    def inner(self) -> int:
        return 0

    def fit(self, column: str, values: Any, counts: Any = None) -> Rule:
        return infer(Column(column, self.column_kind or _kind_of(values)), values, counts, k=self.k)


def _kind_of(values: Any) -> str:
    if not hasattr(values, "null_count"):
        return ""
    import pyarrow as pa

    test, kind = pa.types, values.type
    for name, holds in (
        ("boolean", test.is_boolean(kind)),
        ("integer", test.is_integer(kind)),
        ("float", test.is_floating(kind)),
        ("decimal", test.is_decimal(kind)),
        ("date", test.is_date(kind)),
        ("timestamp", test.is_timestamp(kind)),
        ("time", test.is_time(kind)),
        ("text", is_text(values)),
    ):
        if holds:
            return name
    return ""


def _dates(texts: Sequence[str]) -> Dates:
    if any(len(t) > 10 for t in texts):
        return Dates(("day", "month", "year", "decade"), why="points in time: day, month, year, decade")
    return Dates(why="dates: month, quarter, year, decade")


def _year_last(texts: Sequence[str]) -> Mask:
    """Month and year, then the year, where a first number above 12 shows that it is the day; else the year at once."""
    day_first = any(t[:2] > "12" for t in texts) and all(t[3:5] <= "12" for t in texts)
    if day_first:
        return Mask((7, 4), side="left", fill="", why="days with the year last: month and year, then the year")
    return Mask((4,), side="left", fill="", why="days with the year last: the year")


def _numbers(name: str, values: Any, sizes: Any, k: int) -> Rule:
    numbers = numbers_of(name, values)
    order = np.argsort(numbers, kind="stable")
    x, below = numbers[order], np.cumsum(sizes[order])
    total = int(below[-1])
    if len(x) < 3 or x[-1] / 2 - x[0] / 2 > FARTHEST:
        return Flat(why=f"{len(x)} numbers: kept or suppressed")
    tail = max(0.005 * total, 2.0 * k)  # an open end should hold some people
    low = x[min(int(np.searchsorted(below, tail)), len(x) - 1)]
    high = x[max(int(np.searchsorted(below, total - tail, side="right")), 0)] if total > 2 * tail else x[-1]
    if high <= low:
        low, high = x[0], x[-1]
    integer = bool((x == np.floor(x)).all())
    widths = _ladder(float(high - low), integer)
    bottom, top = _inside(float(low), float(high), widths[0])
    if top <= bottom or not _tails_fit(x, sizes[order], bottom, top, k):
        widths = _ladder(float(x[-1] - x[0]), integer)
        return Intervals(widths, why=f"numbers: bands of {_list(widths)}").fit(name, values)
    why = f"numbers: bands of {_list(widths)}; one group below {number_text(bottom)}; one group from {number_text(top)}"
    return Intervals(widths, top, bottom, why=why).fit(name, values)


def _ladder(span: float, integer: bool) -> tuple[float, ...]:
    """Round widths that divide one another: about fourteen bands, then fewer."""
    first, exponent = _round_width(span / 14, integer)
    widths = [float(f"{w}e{exponent}") for w in _LADDERS[first]]
    if integer and widths[0] == 1:  # the value itself is level 0 already
        widths = [2.0, 4.0, 8.0, 16.0]
    kept = [w for w in widths if w <= span / 1.5] or widths[:1]
    return tuple(int(w) if w.is_integer() and w < 1e15 else w for w in kept)


def _inside(low: float, high: float, width: float) -> tuple[float, float]:
    """The multiples of ``width`` next to ``low`` and ``high``, inwards."""
    unit = Fraction(str(width))
    return float(-(-Fraction(low) // unit) * unit), float(Fraction(high) // unit * unit)


def _tails_fit(x: Any, sizes: Any, bottom: float, top: float, k: int) -> bool:
    """Whether each open end holds nobody or at least k."""
    ends = (int(sizes[x < bottom].sum()), int(sizes[x >= top].sum()))
    return all(n == 0 or n >= k for n in ends)


def _round_width(width: float, integer: bool) -> tuple[int, int]:
    """The largest of 1, 2, 5 × 10^e that does not exceed ``width`` by more than a quarter."""
    if width <= 0 or (integer and width < 1):
        return 1, 0
    exponent = math.floor(math.log10(width * 1.25))
    lead = width * 1.25 / 10.0**exponent
    return max(m for m in (1, 2, 5) if m <= lead), exponent


def _same_shape(texts: Sequence[str]) -> bool:
    """Codes: many values of one length, between 3 and 12 characters, alike in where digits and letters stand."""
    length = len(texts[0])
    if len(texts) < 12 or not 3 <= length <= 12 or any(len(t) != length for t in texts):
        return False
    shapes = {re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "0", t)) for t in texts}
    return len(shapes) == 1 and "0" in next(iter(shapes))


def _categories(name: str, texts: Sequence[str], sizes: Any, k: int) -> Rule:
    total = int(sizes.sum())
    if len(texts) > 50 and len(texts) > total / 2:
        return Flat(why=f"{len(texts)} different values in {total} records: kept or suppressed")
    kept_before = len(texts)
    levels: list[int] = []
    for share in (0.01, 0.05, 0.15):
        need = max(2 * k, math.ceil(share * total))
        named = int((sizes >= need).sum())
        if 0 < named < kept_before and (not levels or need > levels[-1]):
            levels.append(need)
            kept_before = named
    if not levels:
        return Flat(why=f"{len(texts)} categories: kept or suppressed")
    kept = FrequencyMerge(tuple(levels)).fit(name, texts, sizes).kept or ()
    useful = [n for i, n in enumerate(levels) if kept[i] and (i == 0 or kept[i] != kept[i - 1])]
    if not useful:
        return Flat(why=f"{len(texts)} categories: kept or suppressed")
    why = f"{len(texts)} categories: those below {_list(useful)} records joined, level by level"
    return FrequencyMerge(tuple(useful), why=why).fit(name, texts, sizes)


def _list(numbers: Sequence[float]) -> str:
    words = [number_text(float(n)) for n in numbers]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
