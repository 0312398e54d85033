"""The probability that all of a group are unique when all cells are equally likely."""

from __future__ import annotations

import math

import numpy as np


def log_uniform(k: int, cells: int) -> float:
    r"""ln of :math:`\pi_u(k,N)=\prod_{i<k}(1-i/N)`; minus infinity when k > N.

    >>> round(math.exp(log_uniform(29, 95)), 14)
    0.008399253214
    """
    if k > cells:
        return -math.inf
    if k <= 1:
        return 0.0
    if k <= 2_000_000:
        return float(np.log1p(-np.arange(1, k, dtype=np.float64) / cells).sum())
    left = float(cells - k)
    if left < 1e5:
        return math.lgamma(cells + 1.0) - math.lgamma(left + 1.0) - k * math.log(cells)
    n = float(cells)
    return -(left + 0.5) * math.log1p(-k / n) - k + (1 / n - 1 / left) / 12 - (n**-3 - left**-3) / 360
