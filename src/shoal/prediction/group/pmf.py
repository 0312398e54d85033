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

import numpy as np

from shoal.errors import InternalError
from shoal.prediction.distribution import Distribution, Floats
from shoal.prediction.group.binomial import stirling
from shoal.prediction.group.tilt import Complex

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
