r"""Singletons when group and cells grow together (k = aN, N to infinity), and formulas of the sources that no product code uses.

Per cell, with :math:`q_i=a\alpha_ie^{-a\alpha_i}`: mean :math:`\sum f_iq_i`, variance
:math:`\sum f_iq_i(1-q_i)-\tfrac1a(\sum f_iq_i(1-a\alpha_i))^2` (METHODS §4.3, corrected).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shoal.model.estimate import Estimate
from shoal.prediction import Zipf
from shoal.prediction.attributes.rounding import expansion


def mean_limit(a: float, alpha: Sequence[float] = (1.0,), share: Sequence[float] = (1.0,)) -> float:
    """Singletons per cell for ``a`` people per cell; ``share[i]`` of the cells have ``alpha[i]`` times the average.

    >>> round(mean_limit(1.0, (0.5, 1.5), (0.5, 0.5)), 10)
    0.318980285
    """
    x, f = _groups(a, alpha, share)
    return float((f * x * np.exp(-x)).sum())


def variance_limit(a: float, alpha: Sequence[float] = (1.0,), share: Sequence[float] = (1.0,)) -> float:
    """Variance of the number of singletons per cell.

    >>> round(variance_limit(0.5), 10), round(variance_limit(0.5, (0.5, 1.5), (0.5, 0.5)), 10)
    (0.1653105394, 0.1652609713)
    """
    x, f = _groups(a, alpha, share)
    q = x * np.exp(-x)
    return float((f * q * (1 - q)).sum() - (f * q * (1 - x)).sum() ** 2 / a)


def covariance_limit(a: float, alpha: Sequence[float], share: Sequence[float]) -> float:
    """Covariance per cell between the singletons of two groups of cells.

    >>> round(covariance_limit(1.5, (0.5, 1.5), (0.5, 0.5)), 9)
    0.004375817
    """
    x, f = _groups(a, alpha, share)
    q = f * x * (1 - x) * np.exp(-x)
    return float(-q[0] * q[1] / a)


def linear_density_mean(a: float, slope: float) -> float:
    r"""Singletons per cell for the density :math:`1+\gamma(x-\tfrac12)`, :math:`|\gamma|\le2` (example 5.8).

    >>> round(linear_density_mean(1, 1), 10), round(linear_density_mean(1, 2), 10)
    (0.3519705892, 0.2969970751)
    """
    g = slope
    if abs(g) < 1e-4:
        return a * math.exp(-a)
    return math.exp(-a) * ((a + 1) / (g * a) * 2 * math.sinh(a * g / 2) - math.cosh(a * g / 2))


def linear_density_variance(a: float, slope: float) -> float:
    """Variance per cell for the linear density, by quadrature of the limit formula.

    >>> round(linear_density_variance(1, 2), 8)
    0.2010669
    """
    g = slope
    nodes, weights = np.polynomial.legendre.leggauss(80)
    x = a * (1 + g * nodes / 2)
    q = x * np.exp(-x)
    w = weights / 2
    return float((w * q * (1 - q)).sum() - (w * q * (1 - x)).sum() ** 2 / a)


def linear_density_kappa(slope: float) -> float:
    """Kullback–Leibler distance of the linear density to the uniform, in nats.

    >>> round(linear_density_kappa(1), 10), round(linear_density_kappa(2), 10)
    (0.0427916442, 0.1931471806)
    """
    g = abs(slope)
    if g < 1e-2:
        return g * g / 24 + g**4 / 960
    low = 1 - g / 2
    lower = low * low * math.log(low) if low > 0 else 0.0
    return ((1 + g / 2) ** 2 * math.log1p(g / 2) - lower) / (2 * g) - 0.5


def kappa_of_largest_mean(kappa: float) -> float:
    r"""The a that maximises :math:`ae^{-a}(1+a(a-2)\kappa)`: 1 while kappa stays below 0.26028, then :math:`2+\sqrt{4-1/\kappa}`.

    >>> kappa_of_largest_mean(0.1), round(kappa_of_largest_mean(0.3), 4)
    (1.0, 2.8165)
    """
    if kappa <= 0.25:
        return 1.0
    other = 2 + math.sqrt(4 - 1 / kappa)

    def value(a: float) -> float:
        return a * math.exp(-a) * (1 + a * (a - 2) * kappa)

    return 1.0 if value(1.0) >= value(other) else other


def _groups(a: float, alpha: Sequence[float], share: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    x, f = a * np.asarray(alpha, dtype=float), np.asarray(share, dtype=float)
    assert abs(f.sum() - 1) <= 1e-9
    assert abs((x * f).sum() - a) <= 1e-9 * max(1, a)
    return x, f


def joint_exponent(c1: float, d1: int, c2: float, d2: int) -> float:
    """The source's single exponent for two attributes; it matches only the corner cells and bounds nothing.

    >>> round(joint_exponent(0.4, 100, 1.0, 50), 7)
    0.6755854
    """
    return (c1 * math.log(d1) + c2 * math.log(d2)) / (math.log(d1) + math.log(d2))


def hard_threshold_share(laws: Sequence[Zipf], people: int, *, k: int = 2) -> float:
    """Share of people in cells that *expect* fewer than k people, for several attributes."""
    cells = laws[0].distribution.expanded()
    for law in laws[1:]:
        cells = np.multiply.outer(cells, law.distribution.expanded()).ravel()
    return float(cells[cells * people < k].sum())


def groups_expansion(f2: float, f3: float, width: float, group_size: int) -> tuple[float, float, float]:
    r"""Shares of people alone, in pairs and in threes to second order in the width."""
    k = group_size
    one, two = (k - 1) * width * f2, (k - 1) * (k - 2) * width**2 * f3
    return 1 - one + two / 2, one - two, two / 2


def variance_expansion(f2: float, width: float, group_size: int) -> float:
    r"""First order of the variance of the number of unique people, :math:`2k(k-1)\Delta\int f^2`."""
    k = group_size
    return 2 * k * (k - 1) * width * f2


def excess_probability(people: int, excess: float) -> float:
    """P(the share of unique people exceeds its expectation by ``excess``) is at most exp(-n excess²/2) (McDiarmid).

    >>> round(excess_probability(32561, 0.01), 9)
    0.19631201
    """
    return math.exp(-people * max(0.0, excess) ** 2 / 2)


def normal_power_integral(covariance: object, power: int) -> float:
    """Integral of a power of the density of a multivariate normal.

    >>> round(normal_power_integral([[1, 0.3, 0.2], [0.3, 2, 0.5], [0.2, 0.5, 1.5]], 2), 12)
    0.013935306424
    """
    sigma = np.asarray(covariance, dtype=np.float64)
    d, m = sigma.shape[0], power
    return float(m ** (-d / 2) * (2 * math.pi) ** (-d * (m - 1) / 2) * np.linalg.det(sigma) ** (-(m - 1) / 2))


def normal_expansion(covariance: object, widths: Sequence[float], group_size: int, *, order: int = 2) -> Estimate:
    """Expected unique people for normals rounded to boxes, by the expansion in the volume of a box."""
    squares, cubes = (normal_power_integral(covariance, m) for m in (2, 3))
    return expansion(squares, cubes, math.prod(widths), group_size, order=order)


def simulation_runs(probability: float, *, relative: float = 0.1, z: float = 1.96) -> tuple[float, float]:
    """Runs and expected hits for a simulated probability with relative half-width ``relative``."""
    runs = z * z * (1 - probability) / (relative * relative * probability)
    return runs, runs * probability


def uniform_share(places: int, people: int, records: float) -> float:
    """Expected share of unique people when all d^s cells are equal."""
    return math.exp((people - 1) * math.log1p(-math.exp(-records * math.log(places))))


def split_cost(weights: Sequence[float], values: Sequence[float]) -> float:
    """The loss that a split of cells over columns minimises."""
    return float(sum(w / d for w, d in zip(weights, values, strict=True)))
