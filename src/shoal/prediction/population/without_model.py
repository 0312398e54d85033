r"""What a sample says of its population whatever the population is like: ranges that need no model.

A class of F people shows j of them in a sample at rate :math:`\pi` so often that :math:`(F-j)` summed over the classes with j
is, in expectation, :math:`(j+1)\frac{1-\pi}\pi` times the number of classes with j + 1. So the people who look like somebody
who is alone in the sample, but were not drawn, are estimated from the classes of two.

Takes    the sizes of the sample's classes, and the population
Returns  a range at a level, for the uniques of the population, records unique in both, and records named correctly
Source   Skinner & Elliot 2002; Good 1953. How often they hold: ``benchmarks/interval_coverage``, ``benchmarks/population_risk``
"""

from __future__ import annotations

import math

import numpy as np  # noqa: F401  (the examples below)

from shoal.prediction.population.class_size_models import SampledClasses

LEVEL = 0.95


def lookalikes(pairs: int, threes: int, c: float, tail: float) -> tuple[float, float]:
    """Least and most people of the population who look like a sample unique, with ``tail`` on either side.

    Two ways, the wider of them: the logarithm with Student's quantile and the variance of classes of three; and the exact limits
    of the number of pairs, with the number of people a Poisson count around c times it. The first alone does not hold where
    pairs are few.
    """
    from shoal.kernels.scipy.special import stdtrit
    from shoal.kernels.scipy.stats import poisson

    low, high = poisson_limits(pairs, tail / 2)
    least, most = float(poisson.ppf(tail / 2, c * low)) if low else 0.0, float(poisson.ppf(1 - tail / 2, c * high))
    if pairs:
        wide = -float(stdtrit(max(pairs - 1, 1), tail)) * math.sqrt((1 + 1 / c + 1.5 * threes / pairs) / pairs)
        half = math.exp(min(wide, 700.0))
        least, most = min(least, c * pairs / half), max(most, c * pairs * half)
    return least, most


def uniques_range(s: SampledClasses, *, level: float = 0.95) -> tuple[float, float]:
    """Least and most uniques of the population that the sample leaves plausible, for any classes of the population.

    The classes of one and of two people are taken as Poisson counts with their exact limits; the lower end combines two limits,
    each with half of its tail, so the level is kept when pairs are few.

    >>> sizes, numbers = np.array([1, 2]), np.array([120, 25])
    >>> [round(x) for x in uniques_range(SampledClasses(sizes, numbers, 170, 145, 120, 25, 340))]
    [39, 287]
    """
    pi, tail = s.people / s.population, (1 - level) / 2
    c = 2 * (1 - pi) / pi
    low = poisson_limits(s.n1, tail / 2)[0] - c * poisson_limits(s.n2, tail / 2)[1]
    high = poisson_limits(s.n1, tail)[1]
    return max(0.0, low / pi), min(high / pi, float(s.population - s.people + s.n1))


def poisson_limits(count: int, tail: float) -> tuple[float, float]:
    """Exact limits of the mean of a Poisson count: below the first, or above the second, the count has at most the chance
    ``tail`` on that side.

    >>> [round(x, 3) for x in poisson_limits(0, 0.025)], [round(x, 3) for x in poisson_limits(10, 0.025)]
    ([0.0, 3.689], [4.795, 18.39])
    """
    from shoal.kernels.scipy.special import gammaincinv

    return float(gammaincinv(count, tail)) if count else 0.0, float(gammaincinv(count + 1, 1 - tail))


def alone_range(s: SampledClasses, *, level: float = LEVEL) -> tuple[float, float]:
    """Least and most records that are unique in the sample and in the population.

    Anyone who is alone in the sample and not in the population has somebody who looks alike, so no more are mistaken than there
    are lookalikes.

    >>> sizes, numbers = np.array([1, 2]), np.array([120, 25])
    >>> [round(x) for x in alone_range(SampledClasses(sizes, numbers, 170, 145, 120, 25, 340))]
    [22, 120]
    """
    return max(0.0, s.n1 - _most_lookalikes(s, (1 - level) / 2)), float(s.n1)


def right_matches_range(s: SampledClasses, *, level: float = LEVEL) -> tuple[float, float]:
    """Least and most records named correctly when everybody is matched: f/F, summed over the classes.

    Of the classes of one, at least :math:`n_1^2/(n_1+R)` with R lookalikes (Jensen), at most all. Of each larger class F lies
    between limits of a Poisson count f, for all classes at once.

    >>> sizes, numbers = np.array([1, 400]), np.array([10, 50])
    >>> [round(x, 1) for x in right_matches_range(SampledClasses(sizes, numbers, 20_010, 60, 10, 0, 40_020))]
    [24.5, 42.5]
    """
    rate, tail = s.people / s.population, (1 - level) / 4
    low, high = (s.n1**2 / (s.n1 + _most_lookalikes(s, tail)) if s.n1 else 0.0), float(s.n1)
    for f, number in zip(s.sizes.tolist(), s.numbers.tolist(), strict=True):
        if f > 1:
            most = min(poisson_limits(f, tail / s.classes)[1] / rate, float(s.population))
            least = max(poisson_limits(f, tail / s.population)[0] / rate, float(f))
            low, high = low + number * f / max(most, float(f)), high + number * f / least
    return low, high


def unique_share_range(ones: int, people: int, others: int, *, level: float = LEVEL) -> tuple[float, float]:
    r"""Least and most share of ``others`` who will be one of a kind among themselves, where ``ones`` of ``people`` are.

    Of n people it is :math:`s(n)=E(1-p)^{n-1}`, p the share of a person's combination: s falls with n, and by Jensen's inequality
    s(n) lies between s(m) and :math:`s(m)^{(n-1)/(m-1)}`. The end of s(m) is that of a Poisson count.

    >>> [round(x, 2) for x in unique_share_range(50, 100, 100)], [round(x, 2) for x in unique_share_range(50, 100, 199)]
    ([0.37, 0.66], [0.14, 0.66])
    """
    low, high = (min(x / people, 1.0) for x in poisson_limits(ones, (1 - level) / 2))
    power = (others - 1) / (people - 1)
    return min(low, low**power), max(high, high**power)


def _most_lookalikes(s: SampledClasses, tail: float) -> float:
    """Most people of the population who look like somebody who is alone in the sample, and are not in it."""
    rate = s.people / s.population
    threes = int(s.numbers[s.sizes == 3].sum())
    return min(lookalikes(s.n2, threes, 2 * (1 - rate) / rate, tail)[1], float(s.population - s.people))
