r"""Exact probabilities of a sum of independent cell counts, at any magnitude.

Both "all are unique" and "nobody is unique" are coefficients :math:`[z^k]\prod_i f(p_i z)` of an entire or polynomial
generating function. Tilted by :math:`\lambda` such that the sum has mean k, the coefficient is

.. math:: [z^k]\prod_i f(p_iz) = \lambda^{-k}\prod_i f(\lambda p_i)\; P\Big(\sum_i Y_i=k\Big),

and the last factor is of order :math:`1/\sqrt{2\pi v}`, so a discrete Fourier inversion gives it to nearly full relative
accuracy even when the coefficient itself is 1e-5000. Cells with small :math:`\lambda p` enter through power sums (the Taylor
series of :math:`\ln f`), so the cost is O(N) for them and O(M) each for the others, M about :math:`14\sqrt v`.

Takes    a distribution, a cell function, the count k
Returns  the logarithm of the coefficient and the variance v of the tilted sum
Cost     O(60 N + M · #{cells with lambda p above the cut}); memory O(N)
Source   Daniels 1954 (tilting); METHODS §3.2, §4.10
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.errors import UsageError
from shoal.prediction.distribution import Distribution, Floats

Complex = npt.NDArray[np.complex128]

TERMS = 64
BUDGET = 4e8  # complex products of the direct part; beyond it the saddlepoint is used
MOST_POINTS = 20_000_000
_CHUNK = 1 << 22


@dataclass(frozen=True)
class CellFunction:
    """One cell's generating function f, with f(0) = 1, and its tilted law.

    ``log`` is ln f(x), ``log_rest`` ln f(x) - x for moderate x; ``moments`` the mean and variance of the tilted count at x;
    ``ratio`` is f(xw)/f(x) for w - 1 with w on the unit circle; ``taylor`` the coefficients of ln f; cells with x below ``cut``
    may use them.
    """

    log: Callable[[Floats], Floats]
    log_rest: Callable[[Floats], Floats]
    moments: Callable[[Floats], tuple[Floats, Floats]]
    ratio: Callable[[Floats, Complex], Complex]
    taylor: Floats
    cut: float


def _unique_moments(x: Floats) -> tuple[Floats, Floats]:
    q = x / (1.0 + x)
    return q, q / (1.0 + x)


def _unique_ratio(x: Floats, turn: Complex) -> Complex:
    out: Complex = 1.0 + x / (1.0 + x) * turn
    return out


def _unique_rest(x: Floats) -> Floats:
    """ln(1 + x) - x without cancellation."""
    near = np.minimum(x, 1e-3)
    series = -near * near * (0.5 - near * (1 / 3 - near * (0.25 - near * 0.2)))
    out: Floats = np.where(x < 1e-3, series, np.log1p(x) - x)
    return out


def _crowd_rest(x: Floats) -> Floats:
    """ln(e^x - x) - x."""
    out: Floats = np.log1p(-x * np.exp(-x))
    return out


def _crowd_moments(x: Floats) -> tuple[Floats, Floats]:
    """Poisson(x) without the value 1: mean and variance."""
    e = np.exp(-x)
    d = 1.0 - x * e
    rise = -np.expm1(-x)
    mean = x * rise / d
    return mean, np.maximum((x * rise + x * x) / d - mean * mean, 0.0)


def _crowd_ratio(x: Floats, turn: Complex) -> Complex:
    b = x * np.exp(-x)
    out: Complex = (np.exp(x * turn) - b * (1.0 + turn)) / (1.0 - b)
    return out


def _log_series(coefficients: Floats) -> Floats:
    """Taylor coefficients of ln f from those of f (f_0 = 1): n c_n = n f_n - sum_{j<n} j c_j f_{n-j}."""
    f = coefficients
    c = np.zeros_like(f)
    for n in range(1, f.size):
        j = np.arange(1, n)
        c[n] = f[n] - float((j * c[1:n] * f[n - j]).sum()) / n
    return c


def _crowd_taylor() -> Floats:
    f = np.array([1.0 / math.factorial(j) for j in range(TERMS)])
    f[1] = 0.0
    return _log_series(f)


def _unique_taylor() -> Floats:
    j = np.arange(1, TERMS)
    return np.concatenate(([0.0], np.where(j % 2 == 1, 1.0, -1.0) / j))


# f(z) = 1 + z: a cell holds nobody or one. Radius of ln f: 1.
AT_MOST_ONE = CellFunction(lambda x: np.log1p(x), _unique_rest, _unique_moments, _unique_ratio, _unique_taylor(), 0.5)
# f(z) = e^z - z: a cell holds any number but one. Nearest zero of f at distance 1.374.
NOT_ONE = CellFunction(lambda x: x + _crowd_rest(x), _crowd_rest, _crowd_moments, _crowd_ratio, _crowd_taylor(), 0.65)


@dataclass(frozen=True)
class Tilt:
    """The solved tilt: lambda, the variance of the tilted sum, and the logarithm of all factors but P(sum = k)."""

    scale: float
    variance: float
    log_base: float  # ln k! + sum of ln f(lambda p) - k ln lambda
    distribution: Distribution


def solve(d: Distribution, f: CellFunction, k: int) -> Tilt:
    """Find lambda with tilted mean k: Newton in ln(lambda), kept inside a bracket."""
    d = d.collapsed

    def at(t: float) -> tuple[float, float]:
        mean, variance = f.moments(d.p * math.exp(t))
        return d.total(mean), d.total(variance)

    low, high = -60.0, math.log(k) + 1.0
    t = math.log(k)
    while at(high)[0] < k:
        low, high = high, high + 8.0
        if high > 700.0:
            hint = "Leave these cells out: they hold nobody."
            raise UsageError(f"the answer for {k} people depends on cells with probabilities below 1e-300.", hint=hint)
    variance = 0.0
    for _ in range(200):
        mean, variance = at(t)
        if mean < k:
            low = t
        else:
            high = t
        step = (k - mean) / variance if variance > 0 else math.inf
        if abs(mean - k) <= 1e-11 * k or high - low < 1e-14 * max(1.0, abs(t)):
            break
        t = t + step if low < t + step < high else 0.5 * (low + high)
    scale, above = math.exp(t), t - math.log(k)
    if abs(above) < 2.0:  # the large terms of ln k!, of the product and of k ln(lambda) cancel on paper
        log_base = stirling(k) + k * float(gap(np.array([above]))[0]) + d.total(f.log_rest(d.p * scale))
    else:
        log_base = math.lgamma(k + 1) + d.total(f.log(d.p * scale)) - k * t
    return Tilt(scale, variance, log_base, d)


def affordable(tilt: Tilt, f: CellFunction) -> bool:
    """Whether :func:`log_probability` fits into time and memory; where it does not, the variance is huge."""
    heavy = int(np.count_nonzero(tilt.distribution.p * tilt.scale > f.cut))
    return _points(tilt) <= MOST_POINTS and heavy * _points(tilt) / 2 <= BUDGET


def log_probability(tilt: Tilt, f: CellFunction, k: int) -> float:
    """ln P(sum of tilted counts = k), by Fourier inversion."""
    m = _points(tilt)
    if m > MOST_POINTS:
        raise UsageError(f"the exact way is too long for {k} people.", hint="Leave the method to choose (auto).")
    half = np.arange(m // 2 + 1)
    theta = 2.0 * math.pi * half / m
    log_phi = _light(tilt, f, theta)
    phi = np.exp(log_phi) * _heavy(tilt, f, np.expm1(1j * theta))
    weight = np.where((half == 0) | (2 * half == m), 1.0, 2.0)
    turn = np.exp(-1j * (2.0 * math.pi / m) * ((half * (k % m)) % m))
    value = float((weight * (phi * turn).real).sum()) / m
    return math.log(value) if value > 0 else -math.inf


def _points(tilt: Tilt) -> int:
    return 101 + math.ceil(14.0 * math.sqrt(tilt.variance))


def _light(tilt: Tilt, f: CellFunction, theta: Floats) -> Complex:
    """sum over light cells of ln f(xw) - ln f(x), from power sums of x."""
    d = tilt.distribution
    x = d.p * tilt.scale
    light = x <= f.cut
    out: Complex = np.zeros(theta.size, dtype=np.complex128)
    if not bool(light.any()):
        return out
    x, copies = x[light], d.multiplicity[light]
    power, largest = copies.copy(), float(x.max())
    for j in range(1, TERMS):
        power *= x
        s = float(power.sum())
        if f.taylor[j] != 0.0:
            out += (f.taylor[j] * s) * np.expm1(1j * (j * theta))
        if s * largest < 1e-19 * max(1.0, tilt.variance):
            break
    return out


def _heavy(tilt: Tilt, f: CellFunction, turn: Complex) -> Complex:
    """product over the other cells of f(xw)/f(x)."""
    d = tilt.distribution
    x = d.p * tilt.scale
    heavy = x > f.cut
    x, copies = x[heavy], d.multiplicity[heavy]
    out: Complex = np.ones(turn.size, dtype=np.complex128)
    block = max(1, _CHUNK // max(1, turn.size))
    single = bool(np.all(copies == 1.0))
    for start in range(0, x.size, block):
        part = f.ratio(x[start : start + block, None], turn[None, :])
        if not single:
            with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
                part = np.where(part == 0, 0.0, np.exp(copies[start : start + block, None] * np.log(part)))
        with np.errstate(under="ignore"):
            out *= part.prod(axis=0)
    return out


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
