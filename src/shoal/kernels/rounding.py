"""Rounding to multiples of a base, in double precision and in the same order of operations as the SQL of every engine."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

NUDGE = 1 + 2.0**-51
"""A number this close below a half counts as one: 37.245 is a half of 0.01 although its double lies a little below."""


FINE, WHOLE = 2.0**50, 2.0**52
"""Steps up to which the nudge is smaller than a half; steps from which a double has no fraction and is taken as it is."""


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
