r"""Binomial chances without cancellation, for groups of any size.

With :math:`S(n)=\ln n!-n\ln n+n` and :math:`g(u)=e^u-1-u` the large terms of :math:`\ln\binom kj p^j(1-p)^{k-j}` cancel on paper,

.. math:: \ln P = S(k)-S(j)-S(k-j)-j\,g(\ln\tfrac{kp}j)-(k-j)\,g(\ln\tfrac{k(1-p)}{k-j}),

so that :math:`k=2^{40}` costs no digits (Loader 2000).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shoal.prediction.distribution import Floats


def stirling(n: int) -> float:
    """ln n! - n ln n + n, without the cancellation of large terms.

    >>> round(stirling(10) + 10 * math.log(10) - 10, 9) == round(math.log(math.factorial(10)), 9)
    True
    """
    if n < 32:
        return math.lgamma(n + 1.0) - n * math.log(n) + n if n else 0.0
    return 0.5 * math.log(2 * math.pi * n) + (1 - (1 / 30 - (1 / 105) / n**2) / n**2) / (12 * n)


def gap(u: Floats) -> Floats:
    """e^u - 1 - u, which is r - 1 - ln r for r = e^u."""
    near = np.clip(u, -1e-2, 1e-2)
    series = near * near * (0.5 + near * (1 / 6 + near * (1 / 24 + near * (1 / 120 + near / 720))))
    out: Floats = np.where(np.abs(u) < 1e-2, series, np.expm1(u) - u)
    return out


def binomial(j: int, k: int, p: Floats, log_rest: Floats) -> Floats:
    """P(exactly j of k) for each chance p above 0, with ln(1 - p) given beside it.

    >>> p = np.array([0.3, 1.0])
    >>> with np.errstate(divide="ignore"):
    ...     binomial(2, 5, p, np.log1p(-p)).round(6).tolist()
    [0.3087, 0.0]
    """
    if not 0 <= j <= k:
        return np.zeros_like(p)
    with np.errstate(under="ignore"):
        if j == 0 or j == k:
            return np.asarray(np.exp(k * (np.log(p) if j else log_rest)) if k else np.ones_like(p))
        whole = stirling(k) - stirling(j) - stirling(k - j)
        away = j * gap(np.log(p) - math.log(j / k)) + (k - j) * gap(log_rest - math.log1p(-j / k))
        return np.asarray(np.exp(whole - away))
