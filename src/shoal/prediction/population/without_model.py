r"""What a sample shows of its population for any population: ranges that need no model.

A class of F people shows j of them in a sample at rate :math:`\pi` with the binomial chance. So the numbers of classes seen once,
twice … :data:`SEEN` times, and more often, have means that are linear in the numbers of classes of the population by their size.
All populations are considered whose means make the observed numbers plausible: as Poisson counts, the likelihood is at most
:data:`DROP` below the greatest, with each count's likelihood scaled so that alone it has the exact limits of a Poisson count. The
least and the most that any of them gives are two linear programs (concave terms are replaced by tangents, which only widens).

Takes    the sizes of the sample's classes, and the population
Returns  ranges at 95 %: uniques of the population, records unique in both, records named correctly; unique share of a later group
Source   Skinner & Elliot 2002 and Good 1953 (lookalikes); Kuusela & Stark 2017 (strict bounds). How often they hold:
         ``benchmarks/coverage_board``, ``benchmarks/interval_coverage``
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from shoal.prediction.distribution import Floats
from shoal.prediction.population.class_size_models import SampledClasses

ONE_BY_ONE = "Intervals are for people sampled one by one, each equally likely; weights, strata and clusters are not covered."
"""The sampling that every interval about a population takes for granted."""
LEVEL = 0.95
DROP = 1.92
"""Half of the 95 % point of chi-squared with one degree of freedom."""
SEEN = 5
"""Classes of up to this many people in the sample are counted by their size, larger ones together."""
TANGENTS = np.linspace(-4.2, 4.2, 15)
"""Where each count's likelihood has a tangent, in standard deviations from the count."""
NOISE = 2.24
"""Standard deviations of chance beyond the mean: 97.5 % on each side."""
Range = tuple[float, float]


def lookalikes(pairs: int, threes: int, c: float, tail: float) -> Range:
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


def uniques_range(s: SampledClasses, *, level: float = LEVEL) -> tuple[float, float]:
    """Least and most uniques of the population from the classes of one and of two people alone: quick, and wider than
    :func:`model_free_ranges`.

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


def poisson_limits(count: int, tail: float) -> Range:
    """Exact limits of the mean of a Poisson count: below the first, or above the second, the count has at most the chance
    ``tail`` on that side.

    >>> [round(x, 3) for x in poisson_limits(0, 0.025)], [round(x, 3) for x in poisson_limits(10, 0.025)]
    ([0.0, 3.689], [4.795, 18.39])
    """
    from shoal.kernels.scipy.special import gammaincinv

    return float(gammaincinv(count, tail)) if count else 0.0, float(gammaincinv(count + 1, 1 - tail))


class Ranges(NamedTuple):
    """Least and most records unique in sample and population, records named correctly, and uniques of the population."""

    alone: Range
    matches: Range
    uniques: Range


def model_free_ranges(s: SampledClasses) -> Ranges:
    r"""The three ranges at 95 %.

    Of the :math:`n_1` records that are unique in the sample, those of classes of F ≥ 2 are not unique in the population. Of the u
    classes of the sample, :math:`\sum(1-f/F)` are not matched correctly. The means of both numbers are bounded over the plausible
    populations, and chance is added.

    >>> twins = SampledClasses(np.array([1, 2]), np.array([2094, 453]), 3_000, 2_547, 2094, 453, 10_000)
    >>> found = model_free_ranges(twins)  # every combination belongs to two people: nobody is unique, 1,500 matches are right
    >>> [[round(x, -2) for x in ends] for ends in found]
    [[0.0, 300.0], [1500.0, 1600.0], [0.0, 600.0]]
    """
    from shoal.kernels.scipy.stats import poisson

    rate, sizes = s.people / s.population, possible_sizes(s.population)
    chances = seen_chances(sizes, rate)
    shown = chances.sum(axis=0)
    mistaken = np.where(sizes > 1, chances[0], 0.0)
    wrong, varies = _wrong_matches(sizes, rate, shown)
    alone = (sizes == 1).astype(np.float64)
    found = extremes(chances / sizes, seen_numbers(s), [x / sizes for x in (mistaken, wrong, alone, varies)], s.population)
    tail = (1 - LEVEL) / 4
    noise = NOISE * math.sqrt(found[3][1])
    least = s.n1 - float(poisson.ppf(1 - tail, found[0][1]))
    most = s.n1 - float(poisson.ppf(tail, found[0][0]))
    named = (s.classes - found[1][1] - noise, s.classes - max(found[1][0] - noise, 0.0))
    here = (max(least, 0.0), float(most))
    most_uniques = min(found[2][1], float(s.population - s.people + s.n1))
    return Ranges(here, (max(named[0], here[0], 0.0), named[1]), (min(found[2][0], most_uniques), most_uniques))


def _wrong_matches(sizes: Floats, rate: float, shown: Floats) -> tuple[Floats, Floats]:
    """Mean and variance, for a class of each size F, of 1 − f/F where f ≥ 1 of it are in the sample, else 0."""
    wrong = np.maximum(shown - rate, 0.0)
    square = 1 - 2 * rate + rate * (1 - rate) / sizes + rate**2 - (1 - shown)
    return wrong, np.maximum(square - wrong**2, 0.0)


def unique_share_range(s: SampledClasses, others: int) -> Range:
    r"""Least and most expected share of ``others`` of the same population who will be unique among themselves.

    A person of a class of F is unique among a share r of the population with the chance :math:`(1-r)^{F-1}`.

    >>> s = SampledClasses(np.array([1, 2]), np.array([50, 25]), 100, 75, 50, 25, 10**6)
    >>> [round(x, 1) for x in unique_share_range(s, 100)], [round(x, 1) for x in unique_share_range(s, 1_000)]
    ([0.4, 0.6], [0.0, 0.2])
    """
    sizes, share = possible_sizes(s.population), min(others / s.population, 1.0)
    chances = seen_chances(sizes, s.people / s.population)
    ((low, high),) = extremes(chances / sizes, seen_numbers(s), [(1 - share) ** (sizes - 1)], s.population)
    return max(low / s.population, 0.0), min(high / s.population, 1.0)


def seen_numbers(s: SampledClasses) -> list[int]:
    """Classes of the sample with 1, 2 … :data:`SEEN` people, and with more."""
    out = [int(s.numbers[s.sizes == j].sum()) for j in range(1, SEEN + 1)]
    return [*out, int(s.numbers[s.sizes > SEEN].sum())]


def possible_sizes(population: int) -> Floats:
    """Sizes of classes: every one up to forty, then by steps of a few percent to the population."""
    large = np.round(np.geomspace(41, max(population, 41), 80))
    sizes = np.unique(np.concatenate([np.arange(1.0, 41.0), large]))
    out: Floats = sizes[sizes <= population]
    return out


def seen_chances(sizes: Floats, rate: float) -> Floats:
    """Chance that a class of each size shows 1, 2 … :data:`SEEN` people, and more: one row each."""
    from shoal.kernels.scipy.stats import binom

    out: Floats = np.array([binom.pmf(j, sizes, rate) for j in range(1, SEEN + 1)] + [binom.sf(SEEN, sizes, rate)])
    return out


def extremes(means: Floats, counts: Sequence[int], targets: Sequence[Floats], total: float) -> list[Range]:
    """Least and most of each target over all x ≥ 0 that add up to ``total`` and make ``counts`` plausible.

    ``means`` has a row per count: its expected value per unit of each x. ``targets`` give a value per unit of each x.
    """
    from shoal.kernels.scipy.optimize import linprog

    cells, kinds = means.shape[1], len(counts)
    rows, limits = [], []
    for j, count in enumerate(counts):
        for height, slope, at in _tangents(count):
            row = np.zeros(cells + kinds)
            row[:cells], row[cells + j] = -slope * total * means[j], 1.0
            rows.append(row)
            limits.append(height - slope * at)
    likelihood = np.concatenate([np.zeros(cells), np.ones(kinds)])
    people = np.concatenate([np.ones(cells), np.zeros(kinds)])[None]
    bounds = [(0.0, None)] * cells + [(None, 0.0)] * kinds

    def solve(cost: Floats, above: Any, limit: Any) -> float | None:
        found = linprog(cost, A_ub=above, b_ub=limit, A_eq=people, b_eq=[1.0], bounds=bounds, method="highs")
        return float(found.fun) if found.status == 0 else None

    above, limit = np.array(rows), np.array(limits)
    best = solve(-likelihood, above, limit)
    every = [(total * float(t.min()), total * float(t.max())) for t in targets]
    if best is None:  # the solver gave up: all that is possible stays plausible
        return every
    above, limit = np.vstack([above, -likelihood]), np.append(limit, best + DROP)
    out = []
    for target, (least, most) in zip(targets, every, strict=True):
        cost = np.concatenate([target, np.zeros(kinds)])
        low, high = solve(cost, above, limit), solve(-cost, above, limit)
        out.append((least if low is None else max(total * low, least), most if high is None else min(-total * high, most)))
    return out


def _tangents(count: int) -> list[tuple[float, float, float]]:
    """Height, slope and place of tangents to the likelihood of the mean of a count, 0 at its greatest."""
    low, high = poisson_limits(count, (1 - LEVEL) / 2)
    if count == 0:
        return [(0.0, -DROP / high, 0.0)]
    out = []
    for at in np.maximum(count + math.sqrt(count) * TANGENTS, 0.01 * count):
        scale = DROP / -_log_likelihood(count, low if at < count else high)
        out.append((scale * _log_likelihood(count, float(at)), scale * (count / float(at) - 1), float(at)))
    return out


def _log_likelihood(count: int, mean: float) -> float:
    return count * math.log(mean / count) - (mean - count)
