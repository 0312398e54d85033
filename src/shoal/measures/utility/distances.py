"""How far are two distributions apart? Shares of the same values, or numbers, before and after.

Keeps    0 for equal distributions; total variation, Hellinger and Kolmogorov–Smirnov between 0 and 1; symmetric
"""

from __future__ import annotations

import numpy as np

from shoal.model.counts.classes import FloatArray


def total_variation(p: FloatArray, q: FloatArray) -> float:
    """Share of the records that would have to change their value: half the sum of the differences.

    >>> total_variation(np.array([0.5, 0.5]), np.array([1.0, 0.0]))
    0.5
    """
    return min(1.0, 0.5 * float(np.abs(p - q).sum()))


def hellinger(p: FloatArray, q: FloatArray) -> float:
    """Hellinger distance; more sensitive to rare values than total variation.

    >>> hellinger(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    1.0
    """
    return min(1.0, float(np.sqrt(0.5 * ((np.sqrt(p) - np.sqrt(q)) ** 2).sum())))


def kolmogorov_smirnov(before: FloatArray, after: FloatArray) -> float:
    """Largest difference between the shares at or below a number; missing numbers are left out.

    >>> kolmogorov_smirnov(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    0.5
    """
    at, one, two = _steps(before, after)
    return float(np.abs(one - two).max()) if len(at) else 0.0


def wasserstein(before: FloatArray, after: FloatArray) -> float:
    """How far the numbers have to be moved on average to turn one distribution into the other.

    >>> wasserstein(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    1.0
    """
    at, one, two = _steps(before, after)
    return float((np.abs(one - two)[:-1] * np.diff(at)).sum()) if len(at) > 1 else 0.0


def _steps(before: FloatArray, after: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The numbers that occur, and the share of each side at or below them."""
    a, b = np.sort(before[np.isfinite(before)]), np.sort(after[np.isfinite(after)])
    if not len(a) or not len(b):
        return np.zeros(0), np.zeros(0), np.zeros(0)
    at = np.unique(np.concatenate((a, b)))
    return at, np.searchsorted(a, at, side="right") / len(a), np.searchsorted(b, at, side="right") / len(b)
