r"""The probability that all are unique, from published power sums alone.

With cell probabilities p let :math:`\mu=\sum_i p_i\delta_{p_i}`: a probability on :math:`[0,p_{max}]` whose moments are the power
sums :math:`S_{r+1}=\int x^r d\mu`. Up to six people, Newton's identities give :math:`k!\,e_k(p)` itself. Beyond,

.. math:: k!\,e_k(p)=k!\,[z^k]\,e^{K(z)},\qquad K(z)=\int \frac{\ln(1+xz)}{x}\,d\mu(x),

and :math:`\ln(1+xz)/x` is completely monotone in x. So among all :math:`\mu` with the given moments K(z) is smallest and largest,
at every z > 0, at the two principal representations (Chebyshev, Markov, Krein): measures with a handful of points, found by
Gauss quadrature. The answer is evaluated at both, and they are the ends of the interval. Sums that were rounded are allowed to
vary within their rounding; the two extreme measures then come from a linear programme.

Takes    S_2 … S_m, the group size; what else is known: the largest cell, the number of cells, the rounding of the sums
Returns  Estimate: exact up to a group of m; else B while the sums leave at most 10 % open and no cell is all but certain to
         be taken, C beyond
Source   METHODS §3.4, §33; Krein & Nudelman 1977, ch. III (principal representations)
Differs  METHODS' truncated saddlepoint is replaced: its 3 % does not hold for many equal cells with k p_max above 0.3
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from shoal.errors import UsageError
from shoal.model.estimate import Estimate
from shoal.prediction.distribution import Floats, fraction, whole
from shoal.prediction.group.uniform import log_uniform
from shoal.prediction.summaries.moment_problem import log_coefficient, principal, rounded_extremes

_OPEN = math.log(1.1)
_AS_EXACT = 1e-7
"""Sums known better than this are taken as exact: the programme could not tell them apart."""


def uniqueness_from_power_sums(
    sums: Sequence[float],
    group_size: int,
    *,
    p_max: float | None = None,
    cells: int | None = None,
    error: float | Sequence[float] = 0.0,
    method: Literal["extremes", "saddlepoint"] = "extremes",
) -> Estimate:
    r"""P(all unique) from power sums :math:`S_2,\dots,S_m`, :math:`S_r=\sum p^r`.

    Parameters
    ----------
    sums : sequence of float
        S_2 first.
    p_max : float, optional
        An upper bound of the largest cell; else :math:`p_{max}\le S_m^{1/m}` is used.
    cells : int, optional
        The number of cells: nothing is likelier than with equal cells.
    error : float or one per sum
        The relative half-width within which each sum is known, when it was rounded.
    method : {"extremes", "saddlepoint"}
        ``saddlepoint`` gives METHODS' truncated series as the value, inside the same interval.

    Examples
    --------
    >>> s = [95.0 ** (1 - r) for r in range(2, 7)]
    >>> print(uniqueness_from_power_sums(s, group_size=5))
    0.898557 (exact, k! e_k from the power sums)
    >>> e = uniqueness_from_power_sums(s, group_size=20)
    >>> round(e.value, 6), e.grade
    (0.116149, 'B')
    >>> e = uniqueness_from_power_sums(s, group_size=20, error=0.005)
    >>> e.grade, e.low < 0.116149 < e.high
    ('B', True)
    """
    s = np.concatenate(([1.0], _power_sums(sums)))
    k = whole(group_size, what="group_size")
    loose = _errors(error, s.size - 1)
    _consistent(s, loose)
    largest = _largest(s, p_max, loose)
    top = 0.0 if cells is None else log_uniform(k, whole(cells, what="cells", least=1))
    if k <= 1:
        return Estimate.exact(1.0, method="a group of at most one", log_value=0.0)
    if method not in ("extremes", "saddlepoint"):
        raise UsageError(f"method '{method}' is not known.", hint="Methods: extremes, saddlepoint.")
    if k <= s.size and not loose.any() and method == "extremes":
        return newton(s, k)
    if k == 2:
        pair, half = float(s[1]), float(s[1] * loose[0])
        return Estimate(1 - pair, max(0.0, 1 - pair - half), 1 - max(0.0, pair - half), level=1.0, method="1 - S_2", grade="B")
    ends = rounded_extremes(s, loose, largest, k) if loose.max(initial=0.0) > _AS_EXACT else principal(s, largest)
    found = [log_coefficient(points, k) for points in ends]
    low, high = sorted(min(top, log_value) for log_value, _ in found)
    answer = _between(low, high, max(strain for _, strain in found), f"power sums up to S_{s.size}: both extreme distributions")
    return answer if method == "extremes" else _by_series(s, k, answer)


def newton(s: Floats, k: int) -> Estimate:
    r"""k! e_k exactly, :math:`j\,e_j=\sum_{r\le j}(-1)^{r-1}e_{j-r}S_r`, with what rounding may have cost.

    >>> print(newton(np.array([1.0, 0.38, 0.162]), 3))
    0.184 (exact, k! e_k from the power sums)
    """
    b, size = [1.0], [1.0]  # b_j = j! e_j, and the same sum without signs
    for j in range(1, k + 1):
        falling = [math.perm(j - 1, r - 1) for r in range(1, j + 1)]
        b.append(math.fsum((-1.0) ** (r - 1) * falling[r - 1] * b[j - r] * float(s[r - 1]) for r in range(1, j + 1)))
        size.append(math.fsum(falling[r - 1] * size[j - r] * float(s[r - 1]) for r in range(1, j + 1)))
    value, slack = min(1.0, max(0.0, b[k])), 1e-15 * size[k]
    name = "k! e_k from the power sums"
    if slack <= 1e-9 * value:
        return Estimate.exact(value, method=name, log_value=math.log(value))
    note = ("the terms nearly cancel: the sums would have to be known to more digits",)
    return Estimate(value, max(0.0, value - slack), min(1.0, value + slack), level=1.0, method=name, grade="C", notes=note)


def truncated_saddlepoint(s: Floats, k: int) -> float | None:
    """ln of k! e^K / (z^k sqrt(2 pi v)) at the first z with z K'(z) = k; None when there is none."""
    r = np.arange(1, s.size + 1)
    sign = np.where(r % 2 == 1, 1.0, -1.0)

    def slope(z: float) -> float:  # z K'(z)
        return float((sign * s * z**r).sum())

    def spread(z: float) -> float:  # z K' + z² K''
        return float((sign * r * s * z**r).sum())

    z = 0.0
    step = k / 64
    while slope(z + step) < k:
        z += step
        if spread(z) <= 0 or z > 64 * k:
            return None
    low, high = z, z + step
    for _ in range(80):
        z = 0.5 * (low + high)
        low, high = (z, high) if slope(z) < k else (low, z)
    v = spread(z)
    if v <= 0:
        return None
    cumulant = float((sign * s * z**r / r).sum())
    return math.lgamma(k + 1) + cumulant - k * math.log(z) - 0.5 * math.log(2 * math.pi * v)


def _between(log_low: float, log_high: float, strain: float, name: str) -> Estimate:
    slack = 1e-6 if strain <= 2.0 else 0.2
    log_low, log_high = log_low - slack, min(0.0, log_high + slack)
    fine = log_high - log_low <= _OPEN and strain <= 2.0
    note = () if fine else ("the power sums leave much open for a group of this size",)
    log_value = 0.5 * (max(log_low, log_high - 2.0) + log_high)
    return Estimate(
        math.exp(log_value),
        math.exp(log_low),
        math.exp(log_high),
        level=1.0,
        method=name,
        grade="B" if fine else "C",
        log_value=log_value,
        notes=note,
    )


def _by_series(s: Floats, k: int, answer: Estimate) -> Estimate:
    """The truncated series as the value; B where it lies within 3 % of what the sums allow."""
    log_value = truncated_saddlepoint(s, k)
    if log_value is None:
        note: tuple[str, ...] = ("the series of power sums has no saddlepoint for this group: only pairs were used",)
        log_value = -0.5 * k * (k - 1) * float(s[1])
        name, fine = "exp(-C(k,2) S_2)", False
    else:
        name, note = f"saddlepoint of power sums up to S_{s.size}", answer.notes
        fine = answer.grade == "B" and 0.97 * answer.high <= math.exp(log_value) <= 1.03 * answer.low
    value = math.exp(min(0.0, log_value))
    ends = min(value, answer.low), max(value, answer.high)
    return Estimate(value, *ends, level=1.0, method=name, grade="B" if fine else "C", log_value=log_value, notes=note)


def _largest(s: Floats, p_max: float | None, loose: Floats) -> float:
    """The upper end of the cells: what was said, never more than the last sum allows."""
    m = s.size
    implied = math.pow(min(1.0, float(s[-1]) * (1.0 + float(loose[-1]))), 1.0 / m)
    if p_max is None:
        return implied
    stated = fraction(p_max, what="p_max")
    least = float(s[1]) * (1.0 - float(loose[0]))
    if stated < least * (1.0 - 1e-9):
        raise UsageError(
            f"the largest cell cannot hold {stated:.6g}: S_2 = {s[1]:.6g} is a mean of the cells.", hint="Check p_max and S_2."
        )
    return min(max(stated, least), implied)


def _errors(error: float | Sequence[float], number: int) -> Floats:
    given = np.asarray(error, dtype=np.float64)
    loose = np.broadcast_to(given, (number,)) if given.ndim == 0 else given
    if loose.shape != (number,) or not bool(np.all((loose >= 0) & np.isfinite(loose))):
        raise UsageError("error is the relative half-width of the power sums: one number of at least 0, or one per sum.")
    return loose


def _power_sums(sums: Sequence[float]) -> Floats:
    s = np.asarray(list(sums), dtype=np.float64)
    if s.size == 0 or not bool(np.all(np.isfinite(s))) or bool(np.any(s <= 0)) or bool(np.any(s > 1)):
        raise UsageError("power sums S_2, S_3, … lie above 0 and up to 1.", hint="Give S_2 first.")
    return s


def _consistent(s: Floats, loose: Floats) -> None:
    """S_2² ≤ S_3 ≤ S_2 and so on, as far as the rounding leaves no doubt."""
    low, high = s[1:] * (1.0 - loose), s[1:] * (1.0 + loose)
    if bool(np.any(low[1:] > high[:-1] * (1 + 1e-12))) or (s.size > 2 and max(0.0, low[0]) ** 2 > high[1] * (1 + 1e-6)):
        raise UsageError("these power sums belong to no distribution.", hint="S_2² ≤ S_3 ≤ S_2, and so on down.")
