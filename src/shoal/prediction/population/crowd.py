r"""How many people of the population share the combination of a record: gamma-mixed Poisson counts around a model.

A combination with share p expects :math:`\lambda=np` people in the sample, times a factor G of mean 1 and variance 1/a that says
what the model misses. With f people in the sample, G is Gamma(a + f, a + λ) and the others in the population,
:math:`F-f`, are negative binomial: index a + f, mean :math:`(a+f)c/(a+\lambda)`, :math:`c=\lambda(1-\pi)/\pi`. So

.. math:: P(F=f)=\Big(\frac{b}{b+c}\Big)^{a+f},\quad E[1/F]=\int_0^1t^{f-1}\Big(\frac b{b+c(1-t)}\Big)^{a+f}dt,\quad b=a+\lambda.

As a grows, these are the Poisson risks of Skinner & Holmes. a is fitted in :mod:`.choose`.

Source   Skinner & Holmes 1998; Elamir & Skinner 2006; Bethlehem, Keller & Pannekoek 1990 (the gamma factor)
"""

from __future__ import annotations

import numpy as np

from shoal.prediction.distribution import Floats
from shoal.prediction.population.sample import Ints

LEAST, MOST = 1e-3, 1e4
"""Where the shape a is looked for; beyond the upper end the counts are Poisson."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)


def unique_chance(a: float, mean: Floats, f: Ints, rate: Floats | float) -> Floats:
    """P(F = f): nobody else of the population has the combination."""
    b, c = a + mean, mean * (1 - rate) / rate
    out: Floats = np.exp((a + f) * (np.log(b) - np.log(b + c)))
    return out


def match_chance(a: float, mean: Floats, f: Ints, rate: Floats | float) -> Floats:
    """E[1/F]: the chance to name the right person of those who share the combination."""
    b, c = a + mean, mean * (1 - rate) / rate
    out = np.empty(mean.shape)
    one = f == 1
    if bool(one.any()):
        x = np.log1p(c[one] / b[one])
        out[one] = np.where(c[one] > 0, b[one] / np.maximum(c[one], 1e-300) * -np.expm1(-a * x) / a, 1.0)
    rest = ~one
    if bool(rest.any()):
        out[rest] = _by_quadrature(a, b[rest], c[rest], f[rest])
    return np.clip(out, 0.0, 1.0 / f)


def _by_quadrature(a: float, b: Floats, c: Floats, f: Ints) -> Floats:
    """The integral with t = 1 - s in powers that follow the peak: y = log(1 + c s / b)."""
    top = np.log1p(c / b)
    total = np.zeros(b.shape)
    for piece in range(4):  # the integrand falls like exp(-(a + f - 1) y): most of it lies in the first pieces
        lo, hi = top * (piece / 4) ** 2, top * ((piece + 1) / 4) ** 2
        y = lo[:, None] + (hi - lo)[:, None] * (_NODES + 1) / 2
        s = np.expm1(y) * (b / np.maximum(c, 1e-300))[:, None]
        log_t = np.log(np.maximum(1 - s, 1e-300))
        h = np.exp((f - 1)[:, None] * log_t - (a + f - 1)[:, None] * y) * (b / np.maximum(c, 1e-300))[:, None]
        total += (h * _WEIGHTS).sum(axis=1) * (hi - lo) / 2
    return np.where(c > 0, total, 1.0 / f)


def crowd_range(a: float, mean: Floats, f: Ints, rate: Floats | float, level: float) -> tuple[Floats, Floats]:
    """Least and most people of the population who share the combination, with half of ``1 - level`` on either side."""
    from shoal.kernels.scipy.stats import nbinom

    b, c = a + mean, mean * (1 - rate) / rate
    tail = (1 - level) / 2
    low, high = (nbinom.ppf(q, a + f, b / (b + c)) for q in (tail, 1 - tail))
    return f + np.maximum(low, 0), f + np.maximum(high, 0)


def expected_crowd(a: float, mean: Floats, f: Ints, rate: Floats | float) -> Floats:
    """E[F]."""
    out: Floats = f + (a + f) * mean * (1 - rate) / rate / (a + mean)
    return out
