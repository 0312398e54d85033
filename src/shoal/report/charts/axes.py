"""Scales and axes: round numbers, horizontal words, light lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shoal.report.charts.marks import Mark, line, text
from shoal.report.numbers import compact


def nice(value: float) -> float:
    """The next round number at or above a value, for the end of an axis.

    >>> nice(0.278), nice(0.999), nice(1234), nice(0)
    (0.3, 1.0, 1500.0, 1.0)
    """
    if value <= 0:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(value))
    return next(float(f"{step * unit:.3g}") for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * unit >= value * (1 - 1e-12))


def steps(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers between two ends.

    >>> steps(0, 100), steps(0, 7), steps(0, 0.25, 3)
    ([0.0, 20.0, 40.0, 60.0, 80.0, 100.0], [0.0, 2.0, 4.0, 6.0], [0.0, 0.1, 0.2])
    """
    if high <= low:
        return [low]
    unit = 10.0 ** math.floor(math.log10((high - low) / most))
    wide = next(unit * s for s in (1, 2, 5, 10, 20) if (high - low) / (unit * s) <= most * (1 + 1e-9))
    first = math.ceil(low / wide - 1e-9)
    last = math.floor(high / wide + 1e-9)
    return [float(f"{i * wide:.10g}") for i in range(first, last + 1)]


def powers(low: float, high: float, most: int = 7) -> list[float]:
    """Round numbers on a logarithmic axis.

    >>> powers(1, 10000), powers(2, 50)
    ([1.0, 10.0, 100.0, 1000.0, 10000.0], [2.0, 5.0, 10.0, 20.0, 50.0])
    """
    tens = range(math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9) + 1)
    every = -(-len(tens) // most)
    found = [10.0**n for n in tens[::every] if low * (1 - 1e-9) <= 10.0**n <= high * (1 + 1e-9)]
    if len(found) >= 3:
        return found
    return [m * 10.0**n for n in tens for m in (1, 2, 5) if low * (1 - 1e-9) <= m * 10.0**n <= high * (1 + 1e-9)] or [low]


@dataclass(frozen=True)
class Scale:
    """Numbers to places along an axis."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        if self.high <= self.low:
            return (self.start + self.end) / 2
        if self.log:
            part = (math.log(max(value, 1e-300)) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        else:
            part = (value - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * part

    def ticks(self, most: int = 6) -> list[float]:
        return powers(self.low, self.high, most) if self.log else steps(self.low, self.high, most)


def left_axis(
    scale: Scale, ticks: Sequence[float], left: float, right: float, title: str, say: Callable[[float], str] = compact
) -> list[Mark]:
    """Light lines with their numbers at the left; the title stands above, upright."""
    marks = [text(8, min(scale.start, scale.end) - 26, title, "t-soft", anchor="start")]
    for value in ticks:
        y = scale(value)
        marks += [line(left, y, right, y, "grid"), text(left - 8, y + 4, say(value), anchor="end")]
    return marks


def bottom_axis(
    scale: Scale, ticks: Sequence[float], floor: float, title: str, say: Callable[[float], str] = compact
) -> list[Mark]:
    """The base line with numbers and the title below."""
    low, high = sorted((scale.start, scale.end))
    marks = [line(low, floor, high, floor, "axis")]
    marks += [text(scale(value), floor + 18, say(value)) for value in ticks]
    return [*marks, text((low + high) / 2, floor + 38, title, "t-soft")]
