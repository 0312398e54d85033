"""Nested intervals of numbers, with top and bottom coding.

Takes    widths that divide one another, such as 5, 10, 20; optionally ``bottom`` and ``top``, beyond which all is one group
Returns  levels of half-open intervals [a, b), aligned on ``origin``
Keeps    cut points are multiples of the widths: nothing of the data but its range, rounded to the widest interval
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from shoal.errors import EmptyTableError, HierarchyError, UsageError
from shoal.hierarchies.builders.codes import Flat
from shoal.hierarchies.rule import Rule, register_rule
from shoal.hierarchies.values import counts_of, is_text, texts_of
from shoal.kernels.numbers import numbers_of
from shoal.steps import Cut

MAX_POINTS = 100_000


@register_rule
@dataclass(frozen=True)
class Intervals(Rule):
    """Level i joins numbers into intervals of ``widths[i−1]``.

    ``low`` and ``high`` bound the cut points; :meth:`fit` sets them from the data, rounded outwards to the widest interval.
    Values outside them fall into an open interval (``<0``, ``100+``), so that every number has a true label.

    >>> h = Intervals((5, 10, 20), top=90).over("age", ["17", "34", "36", "97"])
    >>> h.levels[1].labels, h.levels[3].labels
    (('15-19', '30-34', '35-39', '90+'), ('0-19', '20-39', '90+'))
    >>> Intervals((0.5,)).over("bmi", ["21.25"]).levels[1].labels
    ('[21, 21.5)',)

    With ``rounded_ends`` the open ends of a level begin at multiples of its width, so that no sliver is left beside them:

    >>> h = Intervals((5, 10, 20), top=90, rounded_ends=True).over("age", ["17", "34", "86", "97"])
    >>> h.levels[2].labels, h.levels[3].labels
    (('10-19', '30-39', '80-89', '90+'), ('0-19', '20-39', '80+'))
    """

    widths: tuple[float, ...] = ()
    top: float | None = None
    bottom: float | None = None
    origin: float = 0.0
    low: float | None = None
    high: float | None = None
    integer: bool | None = None
    rounded_ends: bool = False
    kind: ClassVar[str] = "intervals"

    def __post_init__(self) -> None:
        exact = [Fraction(str(w)) for w in self.widths]
        if any(w <= 0 for w in exact):
            raise HierarchyError("interval widths must be positive numbers.")
        for small, large in pairwise(exact):
            if large <= small or (large / small).denominator != 1:
                hint = "Each width must be a multiple of the one before, such as 5, 10, 20."
                raise HierarchyError(f"interval widths {', '.join(map(number_text, self.widths))} are not nested.", hint=hint)
        if self.top is not None and self.bottom is not None and self.bottom >= self.top:
            raise HierarchyError("the bottom code must lie below the top code.")

    @property
    def inner(self) -> int:
        open_ended = self.top is not None or self.bottom is not None
        return len(self.widths) or int(open_ended)

    def fit(self, column: str, values: Any, counts: Any = None) -> Intervals:
        numbers = numbers_of(column, values if hasattr(values, "null_count") else texts_of(column, values))
        if not len(numbers):
            return dataclasses.replace(self, low=self.low or 0.0, high=self.high if self.high is not None else 0.0, integer=True)
        integer = bool((numbers == np.floor(numbers)).all()) if self.integer is None else self.integer
        step = Fraction(str(self.widths[-1])) if self.widths else Fraction(1)
        origin = Fraction(str(self.origin))
        low, high = self.low, self.high
        if low is None:
            low = float((Fraction(float(numbers.min())) - origin) // step * step + origin)
        if high is None:
            high = float(((Fraction(float(numbers.max())) - origin) // step + 1) * step + origin)
        return dataclasses.replace(self, low=low, high=high, integer=integer, on_text=self.on_text or is_text(values))

    def enough(self, column: str, values: Any) -> Any:
        """The least and the largest number, and one with decimals if there is any.

        >>> import pyarrow as pa
        >>> Intervals((10,)).enough("x", pa.array([3.0, 4.5, 5.0, 1.0, 7.0])).to_pylist()
        [4.5, 1.0, 7.0]
        """
        if not len(values):
            return values
        numbers = numbers_of(column, values)
        decimals = np.flatnonzero(numbers != np.floor(numbers))[:1].tolist()
        return values.take(sorted({int(numbers.argmin()), int(numbers.argmax()), *decimals}))

    def points(self, level: int) -> tuple[float, ...]:
        """Cut points of a level, the open ends included."""
        first = self.bottom if self.bottom is not None else self.low
        last = self.top if self.top is not None else self.high
        if first is None or last is None:
            raise UsageError("the intervals have no range yet.", hint="Call rule.fit(column, values) first.")
        if not self.widths:
            return tuple(p for p in (self.bottom, self.top) if p is not None)
        width, origin = Fraction(str(self.widths[level - 1])), Fraction(str(self.origin))
        if self.rounded_ends:
            first = float(-((origin - Fraction(first)) // width) * width + origin)
            last = float((Fraction(last) - origin) // width * width + origin)
            if first > last:
                return ()
        begin = (Fraction(first) - origin) // width + 1
        end = -((origin - Fraction(last)) // width)  # exclusive: ceil
        if end - begin > MAX_POINTS:
            hint = "Choose wider intervals, or give bottom and top."
            raise HierarchyError(f"intervals of width {number_text(float(width))} need {end - begin} cut points.", hint=hint)
        inside = [float(i * width + origin) for i in range(begin, end)]
        return tuple(sorted({float(first), *(p for p in inside if first < p < last), float(last)}))

    def _inner_step(self, column: str, level: int, missing_label: str | None) -> Cut:
        points = self.points(level)
        whole = bool(self.integer) and all(float(p).is_integer() for p in points)
        return Cut(column, points, interval_labels(points, integer=whole), "left", missing_label)


def interval_labels(points: tuple[float, ...], *, integer: bool, text: Callable[[float], str] | None = None) -> tuple[str, ...]:
    """Labels of the intervals between cut points, open at both ends; ``text`` writes a number, as people do by default.

    >>> interval_labels((0.0, 10.0, 20.0), integer=True)
    ('<0', '0-9', '10-19', '20+')
    >>> interval_labels((-5.0, 0.0), integer=True)
    ('<-5', '[-5, 0)', '>=0')
    """
    if not points:
        return ("*",)
    spell = text or number_text
    dashes = integer and points[0] >= 0
    inner = [_between(a, b, dashes, spell) for a, b in pairwise(points)]
    last = f"{spell(points[-1])}+" if dashes else f">={spell(points[-1])}"
    return (f"<{spell(points[0])}", *inner, last)


def number_text(x: float) -> str:
    """A number as people write it.

    >>> number_text(20.0), number_text(0.5)
    ('20', '0.5')
    """
    return str(int(x)) if float(x).is_integer() and abs(x) < 1e15 else repr(float(x))


def _between(a: float, b: float, dashes: bool, spell: Callable[[float], str]) -> str:
    if not dashes:
        return f"[{spell(a)}, {spell(b)})"
    return spell(a) if b - a == 1 else f"{spell(a)}-{spell(b - 1)}"


FARTHEST = 1e300
"""Half the range up to which round widths are looked for."""
FEW = 7
"""Below this span bands of five would leave one group: whole numbers are joined by twos."""
_LADDERS = {1: (1, 5, 10, 20), 2: (2, 10, 20, 100), 5: (5, 10, 20, 100)}


def number_bands(name: str, values: Any, sizes: Any, k: int) -> Rule:
    """Nested bands of round widths; an open end holds nobody or at least k.

    >>> number_bands("children", [str(n) for n in range(9)], np.array([40, 30, 30, 20, 15, 12, 3, 2, 1]), 5).why
    'numbers: one by one and bands of 2; one group from 5'
    """
    numbers = numbers_of(name, values)
    order = np.argsort(numbers, kind="stable")
    x, below = numbers[order], np.cumsum(sizes[order])
    if len(x) < 3 or x[-1] / 2 - x[0] / 2 > FARTHEST:
        return Flat(why=f"{len(x)} numbers: kept or suppressed")
    low, high = _tails(x, below, k)
    integer = bool((x == np.floor(x)).all())
    widths = ladder(float(high - low), integer)
    bottom, top = _inside(float(low), float(high), widths[0])
    ends: tuple[float | None, float | None] = (bottom, top)
    if top <= bottom or not _tails_fit(x, sizes[order], bottom, top, k):
        widths, ends = ladder(float(x[-1] - x[0]), integer), (None, None)
    else:
        ends = (bottom if x[0] < bottom else None, top if x[-1] >= top else None)
    if integer and widths[0] == 1 and (len(widths) > 1 and ends == (None, None)):
        widths = widths[1:]  # the value itself is level 0 already
    return Intervals(widths, ends[1], ends[0], rounded_ends=True, why=_why(widths, *ends)).fit(name, values)


def _why(widths: Sequence[float], bottom: float | None, top: float | None) -> str:
    single = "one by one" if widths[0] == 1 else ""
    bands = f"bands of {in_words(widths[1:] if single else widths)}" if len(widths) > bool(single) else ""
    parts = [" and ".join(p for p in (single, bands) if p)]
    parts += [f"one group below {number_text(bottom)}"] if bottom is not None else []
    parts += [f"one group from {number_text(top)}"] if top is not None else []
    return f"numbers: {'; '.join(parts)}"


def _tails(x: Any, below: Any, k: int) -> tuple[float, float]:
    """Between which numbers most people are: an open end should hold some."""
    total = int(below[-1])
    tail = max(0.005 * total, 2.0 * k)
    low = x[min(int(np.searchsorted(below, tail)), len(x) - 1)]
    high = x[max(int(np.searchsorted(below, total - tail, side="right")), 0)] if total > 2 * tail else x[-1]
    return (float(x[0]), float(x[-1])) if high <= low else (float(low), float(high))


def ladder(span: float, integer: bool) -> tuple[float, ...]:
    """Round widths that divide one another: about fourteen bands, then fewer.

    >>> ladder(70, True), ladder(7, True), ladder(5, True), ladder(0.7, False)
    ((5, 10, 20), (1, 5), (1, 2), (0.05, 0.1, 0.2))
    """
    first, exponent = _round_width(span / 14, integer)
    if integer and (first, exponent) == (2, 0):
        first = 5  # whole numbers of this span are mostly years of age, which nobody tells by twos
    steps = (1, 2) if integer and (first, exponent) == (1, 0) and span < FEW else _LADDERS[first]
    widths = [float(f"{w}e{exponent}") for w in steps]
    kept = [w for w in widths if w <= span / 1.4] or widths[:1]
    return tuple(int(w) if w.is_integer() and w < 1e15 else w for w in kept)


def _round_width(width: float, integer: bool) -> tuple[int, int]:
    """The largest of 1, 2, 5 × 10^e that does not exceed ``width`` by more than a quarter."""
    if width <= 0 or (integer and width < 1):
        return 1, 0
    exponent = math.floor(math.log10(width * 1.25))
    lead = width * 1.25 / 10.0**exponent
    return max(m for m in (1, 2, 5) if m <= lead), exponent


def _inside(low: float, high: float, width: float) -> tuple[float, float]:
    """The multiples of ``width`` next to ``low`` and ``high``, inwards."""
    unit = Fraction(str(width))
    return float(-(-Fraction(low) // unit) * unit), float(Fraction(high) // unit * unit)


def _tails_fit(x: Any, sizes: Any, bottom: float, top: float, k: int) -> bool:
    """Whether each open end holds nobody or at least k."""
    ends = (int(sizes[x < bottom].sum()), int(sizes[x >= top].sum()))
    return all(n == 0 or n >= k for n in ends)


def in_words(numbers: Sequence[float]) -> str:
    """Numbers as a list in a sentence."""
    words = [number_text(float(n)) for n in numbers]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


@register_rule
@dataclass(frozen=True)
class Quantiles(Rule):
    """Level i has (at most) ``groups[i−1]`` groups of about equal size.

    >>> rule = Quantiles((4, 2)).fit("income", [str(v) for v in range(1, 101)])
    >>> rule.cuts
    ((26.0, 51.0, 76.0), (51.0,))
    """

    groups: tuple[int, ...] = (20, 10, 5)
    min_count: int = 1
    cuts: tuple[tuple[float, ...], ...] | None = None
    integer: bool = False
    kind: ClassVar[str] = "quantiles"

    def __post_init__(self) -> None:
        if any(g < 2 for g in self.groups) or any(a <= b or a % b for a, b in zip(self.groups, self.groups[1:], strict=False)):
            raise HierarchyError("the numbers of quantile groups must divide one another and fall.", hint="Such as 20, 10, 5.")

    @property
    def inner(self) -> int:
        return len(self.groups)

    def fit(self, column: str, values: Any, counts: Any = None) -> Quantiles:
        if self.cuts is not None:
            return self
        known = values if hasattr(values, "null_count") else texts_of(column, values)
        numbers, sizes = numbers_of(column, known), counts_of(known, counts)
        if not len(numbers):
            raise EmptyTableError(f"column '{column}' has no value to take quantiles of.")
        order = np.argsort(numbers, kind="stable")
        numbers, below = numbers[order], np.cumsum(sizes[order])
        integer = bool((numbers == np.floor(numbers)).all())
        wanted = [below[-1] * i / self.groups[0] for i in range(1, self.groups[0])]
        # Cut after the value at which the target rank is reached; cuts of coarser levels are every m-th of the finest.
        after = [min(int(np.searchsorted(below, w)), len(numbers) - 2) for w in wanted] if len(numbers) > 1 else []
        levels, finest = [], _far_enough(after, below, self.min_count)
        for number in self.groups:
            share = self.groups[0] // number
            coarse = set(after[share - 1 :: share])
            levels.append(tuple(roundest(numbers[i], numbers[i + 1], integer) for i in finest if i in coarse))
        return dataclasses.replace(self, cuts=tuple(levels), integer=integer, on_text=self.on_text or is_text(values))

    def _inner_step(self, column: str, level: int, missing_label: str | None) -> Cut:
        if self.cuts is None:
            hint = "Call rule.fit(column, values, counts) first."
            raise UsageError(f"the quantiles of '{column}' are not known yet.", hint=hint)
        points = self.cuts[level - 1]
        return Cut(column, points, interval_labels(points, integer=self.integer), "left", missing_label)


def _far_enough(after: list[int], below: Any, min_count: int) -> list[int]:
    """The cuts that leave at least ``min_count`` records on both sides of each."""
    kept: list[int] = []
    start = 0
    for i in sorted(set(after)):
        if below[i] - start >= min_count and below[-1] - below[i] >= min_count:
            kept.append(i)
            start = below[i]
    return kept


def roundest(a: float, b: float, integer: bool = False) -> float:
    """The number in (a, b] with the fewest digits: a cut point that separates a from b.

    >>> roundest(49_873.0, 51_020.0), roundest(0.31, 0.39), roundest(7.0, 8.0)
    (50000.0, 0.35, 8.0)
    """
    a, b = float(a), float(b)
    if a < 0 < b:
        return 0.0
    power = math.floor(math.log10(b - a)) + 1 if b > a else 0
    for exponent in range(power, power - 20, -1):
        for multiple in (5, 2, 1) if exponent < power else (1,):
            unit = multiple * 10.0**exponent
            if not 0 < unit < math.inf or not math.isfinite(a / unit):
                continue
            edge = round((math.floor(a / unit) + 1) * unit, 12)
            if a < edge <= b:
                return float(math.ceil(edge)) if integer and a < math.ceil(edge) <= b else edge
    return b
