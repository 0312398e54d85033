r"""The full distribution of the number of singletons.

:math:`P(S=s)` is the coefficient of :math:`u^sz^k` in :math:`k!\prod_i(e^{p_iz}+(u-1)p_iz)`. With :math:`z=k e^{i\theta}` and
:math:`u=e^{i\psi}` both sums are inverted by discrete Fourier transforms over windows that cover all but 1e-17 of the mass.
Cells that expect few people enter through the Taylor series of the logarithm in their power sums.

Returns  P(S = 0..min(k, N)), absolute error about 1e-14
Cost     O(sqrt(k) · sd(S)) per cell that expects more than 0.4 people, O(N) for the others
Source   METHODS §4.9–4.10
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shoal.errors import InternalError, UsageError
from shoal.model.estimate import Estimate
from shoal.prediction.distribution import Distribution, Floats, as_distribution, whole
from shoal.prediction.group import tilt as _tilt
from shoal.prediction.group.tilt import Complex, stirling
from shoal.prediction.group.uniqueness import compare_to_best

if TYPE_CHECKING:
    from shoal.prediction.distribution import Floats


TERMS = 64
CUT = 0.4  # nearest zero of e^z + (u-1)z over |u| = 1 lies at distance 1.10
BUDGET = 5e8


def windows(k: int, sd: float) -> tuple[int, int]:
    """Number of Fourier points for the group size and for the singletons."""
    return 101 + math.ceil(14 * math.sqrt(k)), 41 + math.ceil(18 * sd)


def cost(d: Distribution, k: int, sd: float) -> float:
    """Complex products needed."""
    c = d.collapsed
    m, n = windows(k, sd)
    heavy = c.multiplicity[c.p * k > CUT]
    return float((1 + np.log2(heavy)).sum() + TERMS) * (m / 2) * n


def pmf(d: Distribution, k: int, mean: float, sd: float) -> Floats:
    """P(S = s) for s = 0..min(k, N), for k of at least 2."""
    d = d.collapsed
    m, n = windows(k, sd)
    theta = 2 * math.pi * np.arange(m // 2 + 1) / m
    u: Complex = np.exp(2j * math.pi * np.arange(n) / n)
    phi = _light(d, k, theta, u)
    _times_heavy(phi, d, k, np.exp(1j * theta), u)
    rows = np.arange(m // 2 + 1)
    weight = np.where((rows == 0) | (2 * rows == m), 1.0, 2.0)
    turn = weight * np.exp(-2j * math.pi * ((rows * (k % m)) % m) / m)
    # the other half of theta is the complex conjugate after the second transform: twice the real part
    first: Complex = (turn[:, None] * phi).sum(axis=0)
    law = np.fft.fft(first).real / (m * n)
    law *= math.exp(stirling(k))  # over the Poisson chance of k at its mean k
    out = _unwrap(law, mean, top=min(k, d.occupied))
    if k - 1 < out.size:
        out[k - 1] = 0.0  # the last person cannot be the only one who is not alone
    return out


def _unwrap(law: Floats, mean: float, *, top: int) -> Floats:
    """Place the window around the mean; check the mass; clip rounding below zero."""
    n = law.size
    start = max(0, math.floor(mean) - n // 2)
    places = np.arange(start, start + n)
    out = np.zeros(top + 1)
    inside = places <= top
    out[places[inside]] = law[places[inside] % n]
    if abs(out.sum() - 1.0) > 1e-7 or float(out.min()) < -1e-9:
        raise InternalError("the distribution of singletons does not sum to one.")
    np.clip(out, 0.0, 1.0, out=out)
    return out


def _light(d: Distribution, k: int, theta: Floats, u: Complex) -> Complex:
    """exp of the summed logarithms of the light cells, on the grid theta x u."""
    x = d.p * k
    chosen = x <= CUT
    grid: Complex = np.zeros((theta.size, u.size), dtype=np.complex128)
    if not bool(chosen.any()):
        return np.ones_like(grid)
    x, power = x[chosen], d.multiplicity[chosen].copy()
    taylor = _log_series(u)
    offset = 0.0
    for j in range(1, TERMS):
        power *= x
        s = float(power.sum())
        if j == 1:
            offset = s
        grid += (s * np.exp(1j * j * theta))[:, None] * taylor[j][None, :]
        if s < 1e-19:
            break
    out: Complex = np.exp(grid - offset)
    return out


def _log_series(u: Complex) -> Complex:
    """Taylor coefficients in z of ln(e^z + (u-1)z), one column per u."""
    f = np.zeros((TERMS, u.size), dtype=np.complex128)
    for j in range(TERMS):
        f[j] = 1.0 / math.factorial(j)
    f[1] = u
    c = np.zeros_like(f)
    for n in range(1, TERMS):
        i = np.arange(1, n)
        c[n] = f[n] - (i[:, None] * c[1:n] * f[n - i]).sum(axis=0) / n
    return c


def _times_heavy(phi: Complex, d: Distribution, k: int, w: Complex, u: Complex) -> None:
    """Multiply ``phi`` by the factor of each heavy cell, in place."""
    x = d.p * k
    chosen = x > CUT
    with np.errstate(under="ignore"):
        for x_i, copies in zip(x[chosen].tolist(), d.multiplicity[chosen].tolist(), strict=True):
            b = (x_i * math.exp(-x_i)) * w
            a = np.exp(x_i * (w - 1.0)) - b
            factor = b[:, None] * u[None, :]
            factor += a[:, None]
            power = int(copies)
            while True:
                if power & 1:
                    phi *= factor
                power >>= 1
                if power == 0:
                    break
                factor *= factor


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
        return compare_to_best(d.total(np.log1p(-x * np.exp(-x))), "Poisson product of 1 - kp e^-kp", best)
    if method == "saddlepoint" and best.grade == "A":
        return compare_to_best(_log_saddlepoint(tilt), "saddlepoint", best)
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
