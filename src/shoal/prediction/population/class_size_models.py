"""Models of class sizes in a population, each fitted to a sample's class sizes.

Each takes :class:`SampledClasses` and returns (population uniques, parameters), or raises :class:`NoFit` with the reason: a
model that cannot be fitted is never reported as zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.errors import ShoalError

Fit = tuple[float, dict[str, float]]


class NoFit(ShoalError):
    """Why a model could not be fitted."""


@dataclass(frozen=True)
class SampledClasses:
    """Class sizes with their numbers, people n, classes u, classes of one and two, and the population N."""

    sizes: np.ndarray[Any, np.dtype[np.int64]]
    numbers: np.ndarray[Any, np.dtype[np.int64]]
    people: int
    classes: int
    n1: int
    n2: int
    population: int


def zayatz(s: SampledClasses, cells: int | None) -> Fit:
    """n1/pi times P(population unique | sample unique), class sizes taken as in the sample."""
    if s.n1 == 0:
        raise NoFit("no class of the sample has one person")
    n, total = s.people, s.population
    # P(exactly one of a class of j is sampled) = j n/N prod_{i<j-1} (N-n-i)/(N-1-i)
    log_rest = [_log_none_else(total, n, int(j)) for j in s.sizes]
    weighted = s.numbers * s.sizes * (n / total) * np.exp(log_rest)
    chance = float(s.n1 * (n / total) / weighted.sum())
    return s.n1 * chance * total / n, {"p_unique": chance}


def _log_none_else(total: int, n: int, j: int) -> float:
    """ln of the chance that none of the j - 1 others of a class is sampled, when one of it is."""
    left = total - n
    if j - 1 > left:
        return -math.inf
    if j <= 10_000:
        i = np.arange(j - 1, dtype=np.float64)
        return float((np.log(left - i) - np.log(total - 1 - i)).sum())
    return _log_ratio(left - j + 2.0, j - 1.0) - _log_ratio(total - j + 1.0, j - 1.0)


def ewens(s: SampledClasses, cells: int | None) -> Fit:
    """theta from the expected number of classes; uniques N theta/(theta+N-1)."""
    theta = _ewens_theta(s.people, s.classes)
    return ewens_uniques(theta, s.population), {"theta": theta}


def ewens_uniques(theta: float, population: int) -> float:
    """Expected classes of one under Ewens' formula.

    >>> ewens_uniques(25, 1000)
    24.4140625
    """
    return population * theta / (theta + population - 1)


def pitman(s: SampledClasses, cells: int | None) -> Fit:
    """Maximum likelihood of the two-parameter Ewens–Pitman law."""
    from shoal.kernels.scipy import optimize

    if s.classes == s.people:
        raise NoFit("every class of the sample has one person")
    if s.classes == 1:
        raise NoFit("the sample has one class")
    likelihood = _pitman_likelihood(s)
    best, at = -math.inf, (0.0, 0.0)
    for alpha0 in (0.05, 0.3, 0.6, 0.9):
        start = (math.log(alpha0 / (1 - alpha0)), math.log(max(1.0, _ewens_theta(s.people, s.classes) * (1 - alpha0))))
        fit = optimize.minimize(
            lambda x: -likelihood(_logistic(x[0]), math.exp(min(x[1], 60.0))),
            start,
            method="Nelder-Mead",
            options={"xatol": 1e-9, "fatol": 1e-9 + 1e-13 * s.people, "maxiter": 4000},
        )
        if -fit.fun > best:
            best, at = -float(fit.fun), (float(fit.x[0]), float(fit.x[1]))
    alpha, total = _logistic(at[0]), math.exp(min(at[1], 60.0))
    theta = total - alpha
    if alpha < 1e-4 or best <= likelihood(1e-9, _ewens_theta(s.people, s.classes) + 1e-9) + 1e-9:
        theta = _ewens_theta(s.people, s.classes)
        return ewens_uniques(theta, s.population), {"alpha": 0.0, "theta": theta}
    if alpha > 1 - 1e-6:
        raise NoFit("the likelihood has no inner maximum (alpha tends to 1)")
    return pitman_uniques(alpha, theta, s.population), {"alpha": alpha, "theta": theta}


def pitman_uniques(alpha: float, theta: float, population: int) -> float:
    """Expected classes of one under the Ewens–Pitman law.

    >>> round(pitman_uniques(0.4, 25, 1000), 4)
    108.298
    """
    n = population
    log_value = math.log(n) + _log_ratio(theta + n, alpha - 1) + math.lgamma(theta + 1) - math.lgamma(theta + alpha)
    return math.exp(log_value)


def snb(s: SampledClasses, cells: int | None) -> Fit:
    """Shifted negative binomial class sizes, by moments on classes, uniques and people."""
    pi = s.people / s.population
    if s.n1 == 0:
        raise NoFit("no class of the sample has one person")
    if s.classes == s.people:
        raise NoFit("every class of the sample has one person")
    from shoal.kernels.scipy import optimize

    def gap(logit: float) -> float:
        solved = _snb_alpha(logit, s, pi)
        return math.nan if solved is None else solved[2]

    grid = np.linspace(-14, 14, 281)
    low = gap(grid[0])
    for i in range(grid.size - 1):
        high = gap(grid[i + 1])
        if low * high < 0:
            root = float(optimize.brentq(gap, grid[i], grid[i + 1], xtol=1e-13))
            solved = _snb_alpha(root, s, pi)
            if solved is not None:
                alpha, k, _ = solved
                beta = 1 / (1 + math.exp(-root))
                return k * beta**alpha, {"classes": k, "alpha": alpha, "beta": beta}
        low = high
    raise NoFit("the moment equations have no solution")


def poisson_gamma(s: SampledClasses, cells: int | None) -> Fit:
    """Gamma cell rates with the sample's overdispersion."""
    if cells is None:
        raise NoFit("the number of possible combinations (cells) was not given")
    if cells < s.classes:
        raise NoFit("fewer possible combinations than classes in the sample")
    mean = s.people / cells
    variance = float((s.numbers * s.sizes.astype(np.float64) ** 2).sum()) / cells - mean * mean
    beta = cells * (variance - mean) / s.people**2
    if beta <= 0:
        raise NoFit("class sizes vary no more than by chance")
    return poisson_gamma_uniques(cells, beta, s.population), {"beta": beta, "alpha": 1 / (cells * beta)}


def poisson_gamma_uniques(cells: int, beta: float, population: int) -> float:
    """N (1 + N beta)^-(alpha+1) with alpha = 1/(K beta).

    >>> round(poisson_gamma_uniques(1000, 0.002, 5000), 4)
    137.0506
    """
    alpha = 1 / (cells * beta)
    return population * math.exp(-(alpha + 1) * math.log1p(population * beta))


MODELS: tuple[tuple[str, Callable[[SampledClasses, int | None], Fit]], ...] = (
    ("zayatz", zayatz),
    ("ewens", ewens),
    ("pitman", pitman),
    ("snb", snb),
    ("poisson-gamma", poisson_gamma),
)


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-min(max(x, -40.0), 35.0)))


def _ewens_theta(n: int, u: int) -> float:
    from shoal.kernels.scipy import optimize
    from shoal.kernels.scipy.special import digamma

    if u == n:
        raise NoFit("every class of the sample has one person")
    if u == 1:
        raise NoFit("the sample has one class")

    def gap(t: float) -> float:
        theta = math.exp(t)
        if theta > 1e6:  # the difference of two large digammas, from their series
            return theta * math.log1p(n / theta) + 0.5 * n / (theta + n) - u
        return theta * float(digamma(theta + n) - digamma(theta)) - u

    return math.exp(float(optimize.brentq(gap, -40.0, math.log(n) * 2 + 20, xtol=1e-13)))


def _pitman_likelihood(s: SampledClasses) -> Callable[[float, float], float]:
    """Log-likelihood as a function of alpha and theta + alpha."""
    from shoal.kernels.scipy.special import gammaln

    sizes, numbers = s.sizes.astype(np.float64), s.numbers

    def value(alpha: float, shifted: float) -> float:
        theta = shifted - alpha
        first = _log_rising(shifted, alpha, s.classes - 1)
        second = float(gammaln(theta + s.people) - gammaln(theta + 1))
        third = float((numbers * (gammaln(sizes - alpha) - gammaln(1 - alpha))).sum())
        return first - second + third

    return value


def _log_rising(start: float, step: float, terms: int) -> float:
    """Sum of ln(start + i step) over i < terms; by Stirling's series where they are many."""
    if terms <= 5_000:
        return float(np.log(start + step * np.arange(terms, dtype=np.float64)).sum())
    x = start / step
    y = x + terms
    if x < 1e6:
        return terms * math.log(step) + math.lgamma(y) - math.lgamma(x)
    return (y - 0.5) * math.log1p(terms / x) - terms + terms * math.log(start) + (1 / y - 1 / x) / 12


def _snb_alpha(logit: float, s: SampledClasses, pi: float) -> tuple[float, float, float] | None:
    """For one beta: the alpha that fits classes and people, K, and the gap in the number of uniques."""
    from shoal.kernels.scipy import optimize

    beta = 1 / (1 + math.exp(-logit))
    left = 1 - pi
    d = 1 - (1 - beta) * left
    log_ratio = math.log(beta / d)

    def k_of(alpha: float) -> float:
        return s.classes / (1 - left * math.exp(alpha * log_ratio))

    def gap(t: float) -> float:
        alpha = math.exp(t)
        return k_of(alpha) * pi * (1 + alpha * (1 - beta) / beta) - s.people

    if gap(-20) * gap(20) > 0:
        return None
    alpha = math.exp(float(optimize.brentq(gap, -20, 20, xtol=1e-13)))
    k = k_of(alpha)
    single = k * pi * math.exp(alpha * log_ratio) * (1 + left * alpha * (1 - beta) / d)
    return alpha, k, single - s.n1


def _log_ratio(x: float, shift: float) -> float:
    """ln Gamma(x + shift) - ln Gamma(x), without cancellation for large x."""
    y = x + shift
    if x < 1e6 or y < 1e6:
        return math.lgamma(y) - math.lgamma(x)
    return (y - 0.5) * math.log1p(shift / x) + shift * math.log(x) - shift + (1 / y - 1 / x) / 12
