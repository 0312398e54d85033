"""Nested intervals of numbers, with top and bottom coding.

Takes    widths that divide one another, such as 5, 10, 20; optionally ``bottom`` and ``top``, beyond which all is one group
Returns  levels of half-open intervals [a, b), aligned on ``origin``
Keeps    cut points are multiples of the widths: nothing of the data but its range, rounded to the widest interval
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from shoal.errors import HierarchyError, UsageError
from shoal.hierarchies.rule import Rule, register_rule
from shoal.hierarchies.values import is_text, texts_of
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
                raise HierarchyError(
                    f"interval widths {', '.join(map(number_text, self.widths))} are not nested.",
                    hint="Each width must be a multiple of the one before, such as 5, 10, 20.",
                )
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
            raise HierarchyError(
                f"intervals of width {number_text(float(width))} need {end - begin} cut points.",
                hint="Choose wider intervals, or give bottom and top.",
            )
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
