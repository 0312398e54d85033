"""Round, human bands for numbers: widths of 1, 2 or 5 times a power of ten that divide one another, with open ends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from shoal.hierarchies.builders.codes import Flat
from shoal.hierarchies.builders.number.intervals import Intervals, number_text
from shoal.hierarchies.rule import Rule
from shoal.kernels.numbers import numbers_of

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
