"""Rounding, and top and bottom coding, with limits that can be taken from the data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, UsageError
from shoal.hierarchies.builders.number.bands import FARTHEST
from shoal.hierarchies.values import counts_of
from shoal.steps import Clamp, Round
from shoal.transform.columns import FloatArray, distinct_numbers, need_group


def round_to(column: str, base: float) -> Round:
    """Round to the nearest multiple of ``base``, halves away from zero.

    >>> round_to("pay", 100).base
    100
    """
    return Round(column, base)


def top_bottom(
    column: str,
    values: Any = None,
    counts: Any = None,
    *,
    low: float | None = None,
    high: float | None = None,
    people: int | None = None,
    share: float | None = None,
) -> Clamp:
    """Top and bottom coding: numbers beyond the limits are published as the limit.

    Give the limits, or let them be taken from the data so that at least ``people`` records (or a ``share`` of them) lie at
    each end; limits are then rounded inwards, to steps of at most 1/20 of the range, finer where more than half as many again
    records would be coded.

    >>> top_bottom("age", high=90).high
    90
    >>> top_bottom("pay", [str(v) for v in range(1001)], share=0.05)
    Clamp(column='pay', low=50.0, high=950.0)
    """
    if people is None and share is None:
        if low is None and high is None:
            raise UsageError(f"the coding of '{column}' needs low=, high=, people= or share=.")
        return Clamp(column, low, high)
    x = distinct_numbers(column, values)
    w = counts_of(x, counts)
    n = int(w.sum())
    wanted = people if people is not None else math.ceil((share or 0.0) * n)
    if wanted < 1:
        raise UsageError(
            f"the coding of '{column}' needs at least one record at each end.", hint="Such as share=0.01 or people=5."
        )
    if len(x) and float(x.max()) / 2 - float(x.min()) / 2 > FARTHEST:
        raise DataError(
            f"the numbers of column '{column}' lie too far apart.", hint="Give the limits: low=, high=.", column=column
        )
    need_group(2 * wanted, n, f"column '{column}'")
    order = np.argsort(x, kind="stable")
    x, below = x[order], np.cumsum(w[order])
    first = _past(x[int(np.searchsorted(below, wanted))], np.inf)
    last = _past(x[int(np.searchsorted(below, n - wanted, side="right"))], -np.inf)
    step = float(x[-1] - x[0]) / 20
    unit = 10.0 ** math.floor(math.log10(step)) if step > 0 else 1.0
    bottom = _inwards(x, w[order], first, unit)
    top = -_inwards(-x, w[order], -last, unit)
    if bottom > top:
        raise DataError(
            f"the middle of column '{column}' is too narrow for this coding.",
            hint="Code fewer people at each end.",
            column=column,
        )
    return Clamp(column, bottom, top)


def _past(x: float, side: float) -> float:
    """``x``, or the next double where it may stand for a whole number on that side of it."""
    return float(np.nextafter(x, side)) if abs(x) >= 2.0**53 else float(x)


def _inwards(x: FloatArray, w: npt.NDArray[np.int64], limit: float, unit: float) -> float:
    """``limit`` rounded up to a multiple of ``unit``, or of a tenth, a hundredth … of it, until few more records lie below."""
    most = 1.5 * float(w[x <= limit].sum())
    for _ in range(12):
        shown = float(f"{math.ceil(limit / unit) * unit if unit > 0 else limit:.12g}")  # without the last digits of a double
        out = shown if shown >= limit else limit
        if float(w[x <= out].sum()) <= most:
            return out + 0.0
        unit /= 10
    return limit + 0.0
