"""Texts as numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError
from shoal.kernels.arrow import ArrowValues, as_doubles, to_numpy


def numbers_of(column: str, texts: Any) -> npt.NDArray[np.float64]:
    """Texts (or a pyarrow array) as numbers; a text that is none is counted, never shown.

    >>> numbers_of("age", ["1", "2.5"]).tolist()
    [1.0, 2.5]
    """
    if not len(texts):
        return np.zeros(0)
    typed = _typed_numbers(texts)
    if typed is not None:
        return typed
    if hasattr(texts, "null_count"):
        texts = texts.to_pylist()
    try:
        out = np.asarray(texts, dtype=np.str_).astype(np.float64)
    except ValueError:
        out = np.full(len(texts), np.nan)
    wrong = int((~np.isfinite(out)).sum())
    if wrong:
        wrong = sum(1 for t in texts if not _is_number(t))
        what = f"column '{column}' must hold numbers; {wrong} of {len(texts)} distinct values are not."
        raise DataError(what, hint="Correct them, or treat the column as categories.", column=column)
    return out


def _typed_numbers(values: ArrowValues) -> npt.NDArray[np.float64] | None:
    """A numeric pyarrow array without missing or infinite values as floats; None for anything else."""
    if not hasattr(values, "null_count"):
        return None
    import pyarrow as pa

    kind = values.type
    if values.null_count or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return None
    doubles = as_doubles(values)
    out = to_numpy(doubles.combine_chunks() if isinstance(doubles, pa.ChunkedArray) else doubles)
    return out if np.isfinite(out).all() else None


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


NUDGE = 1 + 2.0**-51
"""A number this close below a half counts as one: 37.245 is a half of 0.01 although its double lies a little below."""


FINE, WHOLE = 2.0**50, 2.0**52
"""Steps up to which the nudge is smaller than a half; steps from which a double has no fraction and is taken as it is."""

INT64, UINT64, DECIMAL = (-(2**63), 2**63 - 1), (0, 2**64 - 1), (1 - 10**38, 10**38 - 1)
"""The least and the largest whole number of a column; decimals hold whole numbers in memory that do not all fit in int64."""


def rounding_parts(base: float) -> tuple[float, float]:
    """``base`` as a fraction of whole numbers, from its decimal spelling: 0.1 is 1/10.

    >>> rounding_parts(0.25), rounding_parts(5.0)
    ((1.0, 4.0), (5.0, 1.0))
    """
    exact = Fraction(repr(float(base)))
    return float(exact.numerator), float(exact.denominator)


def to_multiple(x: npt.ArrayLike, base: float) -> npt.NDArray[np.float64]:
    """The nearest multiple of ``base``, halves away from zero: sign(x) · ⌊|x|·q/p·(1 + 2⁻⁵¹) + ½⌋ · p / q with base = p/q.

    From 2⁵⁰ steps on without the factor, from 2⁵² on the double itself: it is whole.

    >>> to_multiple([2.5, -2.5, 37.245], 1).tolist(), to_multiple([37.245, 1.005, 0.15], 0.01).tolist()
    ([3.0, -3.0, 37.0], [37.25, 1.01, 0.15])
    """
    p, q = rounding_parts(base)
    values = np.asarray(x, dtype=np.float64)
    scaled = np.abs(values) * q / p
    steps = np.where(scaled < FINE, np.floor(scaled * NUDGE + 0.5), np.where(scaled < WHOLE, np.floor(scaled + 0.5), scaled))
    size = steps * p / q
    return np.asarray(np.where(values < 0, 0.0 - size, size))


def to_whole_multiple(x: npt.NDArray[np.int64], base: int) -> npt.NDArray[np.int64]:
    """:func:`nearest_multiple` of each of many whole numbers.

    >>> to_whole_multiple(np.array([2**60 + 4, -25, 2**63 - 1]), 10).tolist()
    [1152921504606846980, -30, 9223372036854775800]
    """
    low, high = INT64
    half = (base + 1) // 2
    rest = np.fmod(x, base)
    least = x - rest
    up = (rest >= half) & (least <= high - base)
    down = (rest <= -half) & (least >= low + base)
    return np.asarray(least + base * (up.astype(np.int64) - down))


def nearest_multiple(x: int, base: int, limits: tuple[int, int] = INT64) -> int:
    """The nearest multiple of ``base``, halves away from zero; one step nearer to zero where that lies beyond the limits.

    >>> nearest_multiple(2**60 + 4, 10), nearest_multiple(-25, 10), nearest_multiple(2**63 - 1, 10)
    (1152921504606846980, -30, 9223372036854775800)
    """
    size = (2 * abs(x) + base) // (2 * base) * base
    out = -size if x < 0 else size
    if limits[0] <= out <= limits[1]:
        return out
    return out + base if x < 0 else out - base
