"""Quantiles that measures, steps and attacks need, without scipy: normal, beta, Student's t, chi-squared.

Scalars by bisection, to about ten digits; normal quantiles of many numbers to the last ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_TINY = 1e-300
_MANY = 100_000
_ABOVE = (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457, 13731.693765509461125,
          1971.5909503065514427, 133.14166789178437745, 3.3871328727963666080)  # fmt: skip
_BELOW = (5226.4952788528545610, 28729.085735721942674, 39307.895800092710610, 21213.794301586595867, 5394.1960214247511077,
          687.18700749205790830, 42.313330701600911252, 1.0)  # fmt: skip
_TAIL_ABOVE = (7.7454501427834140764e-4, 2.27238449892691845833e-2, 2.4178072517745061177e-1, 1.27045825245236838258,
               3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734)  # fmt: skip
_TAIL_BELOW = (1.05075007164441684324e-9, 5.475938084995344946e-4, 1.51986665636164571966e-2, 1.4810397642748007459e-1,
               6.8976733498510000455e-1, 1.6763848301838038494, 2.05319162663775882187, 1.0)  # fmt: skip
_FARTHEST = math.exp(-25.0)
"""Chances below it, which hardly ever occur, are left to the standard library."""


def normal_quantiles(p: FloatArray) -> FloatArray:
    """The standard normal quantile of each chance, strictly between 0 and 1 (Wichura 1988, AS 241).

    >>> normal_quantiles(np.array([0.5, 0.975])).round(6).tolist()
    [0.0, 1.959964]
    """
    q = p - 0.5
    r = 0.180625 - q * q
    with np.errstate(all="ignore"):  # r is of use in the middle only
        out: FloatArray = q * (np.polyval(_ABOVE, r) / np.polyval(_BELOW, r))
    tails = np.flatnonzero(r < 0)
    out[tails] = _tails(p[tails])
    return out


def _tails(p: FloatArray) -> FloatArray:
    """Of chances below 0.075 and above 0.925."""
    chance = np.where(p < 0.5, p, 1 - p)
    r = np.sqrt(-np.log(chance)) - 1.6
    out: FloatArray = np.polyval(_TAIL_ABOVE, r) / np.polyval(_TAIL_BELOW, r) * np.where(p < 0.5, -1.0, 1.0)
    far = np.flatnonzero(chance < _FARTHEST)
    out[far] = list(map(NormalDist().inv_cdf, p[far].tolist()))
    return out


def normal_chances(z: FloatArray) -> FloatArray:
    """The chance that a standard normal number is at most each of these.

    >>> normal_chances(np.array([0.0, 1.96, -40.0])).round(4).tolist()
    [0.5, 0.975, 0.0]
    """
    return np.fromiter((0.5 * math.erfc(x) for x in (-z / math.sqrt(2)).tolist()), dtype=np.float64, count=len(z))


def beta_quantile(a: float, b: float, p: float) -> float:
    """The quantile of a beta distribution with parameters a and b above 0.

    >>> round(beta_quantile(4, 7, 0.025), 4), round(beta_quantile(5, 6, 0.975), 4)
    (0.1216, 0.7376)
    """
    return _bisect(lambda x: beta_chance(a, b, x), p, 1.0)


def t_quantile(p: float, freedom: float) -> float:
    """The upper quantile of Student's t, for p from 1/2 on.

    >>> round(t_quantile(0.975, 10), 6)
    2.228139
    """
    x = beta_quantile(freedom / 2, 0.5, 2 * (1 - p))
    return math.sqrt(freedom * (1 - x) / x)


def chi_squared_quantile(p: float, freedom: int) -> float:
    """The quantile of chi-squared with this many degrees of freedom.

    >>> round(chi_squared_quantile(0.5, 1), 6), round(chi_squared_quantile(0.975, 10), 6)
    (0.454936, 20.483177)
    """
    most = freedom + 2 * math.sqrt(40 * freedom) + 80  # passed with a chance below e⁻⁴⁰ (Laurent & Massart 2000)
    return _bisect(lambda x: chi_squared_chance(x, freedom), p, most)


def chi_squared_chance(x: float, freedom: int) -> float:
    """The chance that chi-squared with this many degrees of freedom is at most x.

    >>> round(chi_squared_chance(20.483177, 10), 6)
    0.975
    """
    return gamma_chance(freedom / 2, x / 2)


def beta_chance(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (DLMF 8.17.22)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_chance(b, a, 1 - x)
    front = math.lgamma(a + b) - math.lgamma(a + 1) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    fraction, c, d = 1.0, 1.0, 0.0
    for n in range(1, _MANY):
        m = n // 2
        top = -(a + m) * (a + b + m) if n % 2 else m * (b - m)
        term = top * x / ((a + n - 1) * (a + n))
        c, d = _away(1 + term / c), 1 / _away(1 + term * d)
        fraction *= c * d
        if abs(c * d - 1) <= 1e-16:
            break
    return math.exp(front) / fraction


def gamma_chance(a: float, x: float) -> float:
    """The regularised lower incomplete gamma function, by its series (DLMF 8.11.4); for x up to about 700."""
    if x <= 0:
        return 0.0
    term = total = 1.0
    n = a
    while term > 1e-17 * total:
        n += 1
        term *= x / n
        total += term
    return math.exp(a * math.log(x) - x - math.lgamma(a + 1)) * total


def _away(x: float) -> float:
    """Not so near to 0 that it cannot be divided by."""
    return x if abs(x) > _TINY else _TINY


def _bisect(chance: Callable[[float], float], p: float, high: float) -> float:
    """Where a rising function of 0 … ``high`` reaches p."""
    low = 0.0
    while True:
        middle = (low + high) / 2
        if not low < middle < high or high - low <= 1e-15 * high:
            return middle
        if chance(middle) < p:
            low = middle
        else:
            high = middle
