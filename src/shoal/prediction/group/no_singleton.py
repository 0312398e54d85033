r"""The probability that nobody of a group is unique.

:math:`P(S=0)=k!\,[z^k]\prod_i(e^{p_iz}-p_iz)`. Tilted Fourier inversion gives it exactly at any magnitude; the non-negative
convolution and the recursion for equal cells are independent second ways, the saddlepoint the way out for huge tasks.

Takes    a distribution (or N for a uniform one) and a group size
Returns  Estimate with ``log_value``
Cost     O(N) plus O(sqrt(k)) per cell that expects more than about one person
Source   Koot 2012 §5.4; METHODS §4.8–4.10
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from shoal.errors import UsageError
from shoal.model.estimate import Estimate
from shoal.prediction.distribution import Distribution, Floats, as_distribution, whole
from shoal.prediction.group import tilt as _tilt
from shoal.prediction.group.named import beside

Method = Literal["auto", "exact", "convolution", "saddlepoint", "poisson"]


def no_singleton(p: Any, group_size: int, *, method: Method = "auto", normalize: bool = False) -> Estimate:
    r"""P(nobody is unique) among ``group_size`` people; 1 for an empty group, 0 for a group of one.

    ``method="convolution"`` is the non-negative O(N k²) recursion, ``"poisson"`` the source's product
    :math:`\prod(1-kp_ie^{-kp_i})`, ``"saddlepoint"`` its refinement; both come in an interval that holds the exact value.

    >>> round(no_singleton([0.4, 0.3, 0.2, 0.1], group_size=5).value, 12)
    0.183
    >>> f"{no_singleton(95, group_size=300).value:.7e}"
    '1.7758026e-07'
    """
    d = as_distribution(p, normalize=normalize)
    k = whole(group_size, what="group_size")
    if method not in ("auto", "exact", "convolution", "saddlepoint", "poisson"):
        raise UsageError(f"method '{method}' is not known.", hint="Methods: auto, exact, convolution, saddlepoint, poisson.")
    if k == 0:
        return Estimate.exact(1.0, method="an empty group", log_value=0.0)
    if k == 1:
        return Estimate.exact(0.0, method="a group of one", log_value=-math.inf)
    if d.occupied == 1:
        return Estimate.exact(1.0, method="one cell", log_value=0.0)
    if method == "convolution":
        return _exact(_convolution(d, k), "non-negative convolution")
    tilt = _tilt.solve(d, _tilt.NOT_ONE, k)
    if method == "exact" or _tilt.affordable(tilt, _tilt.NOT_ONE):
        best = _exact(tilt.log_base + _tilt.log_probability(tilt, _tilt.NOT_ONE, k), "tilted Fourier inversion")
    else:
        best = _saddlepoint(tilt)
    if method == "poisson":
        x = k * d.p
        return beside(d.total(np.log1p(-x * np.exp(-x))), "Poisson product of 1 - kp e^-kp", best)
    if method == "saddlepoint" and best.grade == "A":
        return beside(_log_saddlepoint(tilt), "saddlepoint", best)
    return best


def no_singleton_table(max_people: int, max_cells: int) -> Floats:
    r"""P(nobody unique) for equal cells, entry [k, N], by the recursion over the first cell's count.

    :math:`\zeta(k,N)=\sum_{j\ne1}\binom kjN^{-j}(1-1/N)^{k-j}\zeta(k-j,N-1)`; all terms are non-negative.

    >>> t = no_singleton_table(4, 3)
    >>> round(float(t[4, 3]), 10), float(t[2, 3]) == 1 / 3
    (0.2592592593, True)
    """
    top, cells = whole(max_people, what="max_people"), whole(max_cells, what="max_cells", least=1)
    table = np.zeros((top + 1, cells + 1))
    table[0, :] = 1.0
    log_factorial = np.array([math.lgamma(j + 1.0) for j in range(top + 1)])
    for n in range(1, cells + 1):
        for k in range(1, top + 1):
            j = np.arange(k + 1)
            log_w = log_factorial[k] - log_factorial[: k + 1] - log_factorial[k::-1]
            if n == 1:
                table[k, n] = 0.0 if k == 1 else 1.0
                continue
            w = np.exp(log_w - j * math.log(n) + (k - j) * math.log1p(-1 / n))
            w[1] = 0.0
            table[k, n] = float((w * table[k - j, n - 1]).sum())
    return table


def _convolution(d: Distribution, k: int) -> float:
    """ln P by convolving Poisson(k p_i) counts without the value 1, cut at k; all terms non-negative."""
    if d.occupied * k * k > 4e10:
        raise UsageError(f"the convolution of {d.occupied} cells for {k} people is too long.", hint="Use method='exact'.")
    j = np.arange(k + 1)
    log_factorial = np.array([math.lgamma(x + 1.0) for x in range(k + 1)])
    total = np.zeros(k + 1)
    total[0] = 1.0
    log_scale = 0.0
    with np.errstate(under="ignore"):
        for p_i in d.expanded().tolist():
            cell = np.exp(j * math.log(k * p_i) - log_factorial - k * p_i)
            cell[1] = 0.0
            total = np.convolve(total, cell)[: k + 1]
            top = float(total.max())
            total /= top
            log_scale += math.log(top)
    log_poisson = k * math.log(k) - k - math.lgamma(k + 1)
    return math.log(float(total[k])) + log_scale - log_poisson if total[k] > 0 else -math.inf


def _log_saddlepoint(tilt: _tilt.Tilt) -> float:
    return tilt.log_base - 0.5 * math.log(2 * math.pi * tilt.variance)


def _saddlepoint(tilt: _tilt.Tilt) -> Estimate:
    """For tasks too large for the exact way: their tilted variance v is huge, and the relative error is of order 1/v."""
    log_value = min(0.0, _log_saddlepoint(tilt))
    value, error = math.exp(log_value), 1.0 / tilt.variance
    ends = value * (1 - error), min(1.0, value * (1 + error))
    return Estimate(value, *ends, method="saddlepoint", grade="B", log_value=log_value)


def _exact(log_value: float, method: str) -> Estimate:
    log_value = min(0.0, log_value)
    return Estimate.exact(math.exp(log_value), method=method, log_value=log_value)
