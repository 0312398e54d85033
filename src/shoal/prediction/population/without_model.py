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
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shoal.prediction.distribution import Floats
from shoal.prediction.population.class_size_models import SampledClasses
from shoal.prediction.population.design import Design

ONE_BY_ONE = "Intervals are for people sampled one by one, each equally likely; weights, strata and clusters are not covered."
"""The sampling that every interval about a population takes for granted."""
LEVEL = 0.95
DROP = 1.92
"""Half of the 95 % point of chi-squared with one degree of freedom."""
SEEN = 5
"""Classes of up to this many people in the sample are counted by their size, larger ones together."""
TANGENTS = np.linspace(-4.2, 4.2, 15)
"""Where each count's likelihood has a tangent, in standard deviations from the count."""
FEW = 1e-3
"""An expected count below this is none."""
KNOWN = 10
"""Classes of two people, or groups of lookalikes, from which their number counts as known."""
NOISE = 2.24
"""Standard deviations of chance beyond the mean: 97.5 % on each side."""
Range = tuple[float, float]


def lookalikes(pairs: float, threes: float, c: float, tail: float) -> Range:
    """Least and most people of the population who look like a sample unique, with ``tail`` on either side.

    Two ways, the wider of them: the logarithm with Student's quantile and the variance of classes of three; and the exact limits
    of the number of pairs, with the number of people a Poisson count around c times it. The first alone does not hold if pairs
    are few. Then lookalikes come in groups, too: if classes of three are many, a sample unique has many lookalikes or none.
    """
    from shoal.kernels.scipy.special import stdtrit
    from shoal.kernels.scipy.stats import poisson

    low, high = poisson_limits(pairs, tail / 2)
    each = 1 + 1.5 * c * threes / max(pairs, 1) if few_pairs(pairs, threes) else 1.0
    least, most = (each * float(poisson.ppf(q, c * x / each)) if x else 0.0 for q, x in ((tail / 2, low), (1 - tail / 2, high)))
    if pairs:
        wide = -float(stdtrit(max(pairs - 1, 1), tail)) * math.sqrt((1 + 1 / c + 1.5 * threes / pairs) / pairs)
        half = math.exp(min(wide, 700.0))
        least, most = min(least, c * pairs / half), max(most, c * pairs * half)
    return least, most


def few_pairs(pairs: float, threes: float) -> bool:
    """Whether the lookalikes rest on fewer than :data:`KNOWN` pairs, or vary as much as so few groups of people."""
    return pairs < KNOWN or pairs**2 < 1.5 * KNOWN * threes


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


def poisson_limits(count: float, tail: float) -> Range:
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


def model_free_ranges(s: SampledClasses, design: Design | None = None) -> Ranges:
    r"""The three ranges at 95 %.

    Of the :math:`n_1` records that are unique in the sample, those of classes of F ≥ 2 are not unique in the population. Of the u
    classes of the sample, :math:`\sum(1-f/F)` are not matched correctly. The means of both numbers are bounded over the plausible
    populations, and chance is added.

    With a ``design``, sizes are numbers of sampled units. If people had unequal chances, how the chances are spread over a class
    of the population is not known: the first two ranges then follow from the number of lookalikes alone.

    >>> twins = SampledClasses(np.array([1, 2]), np.array([2094, 453]), 3_000, 2_547, 2094, 453, 10_000)
    >>> found = model_free_ranges(twins)  # every combination belongs to two people: nobody is unique, 1,500 matches are right
    >>> [[round(x, -2) for x in ends] for ends in found]
    [[0.0, 300.0], [1500.0, 1600.0], [0.0, 600.0]]
    """
    from shoal.kernels.scipy.stats import poisson

    seen = Seen.of(s, design)
    sizes, rate = seen.sizes, seen.rate
    shown = seen.chances.sum(axis=0)
    mistaken = np.where(sizes > 1, seen.chances[0], 0.0)
    wrong, varies = _wrong_matches(sizes, rate, shown)
    ranges = seen.extremes([x / sizes for x in (mistaken, wrong, (sizes == 1).astype(np.float64), varies)])
    tail = (1 - LEVEL) / 4
    most_uniques = min(ranges[2][1], float(s.population - s.people + s.n1))
    least_uniques = max(ranges[2][0] - (poisson_limits(seen.double, tail)[1] / rate if seen.double else 0.0), 0.0)
    uniques = (min(least_uniques, most_uniques), most_uniques)
    if design is not None and not design.equal:
        return _from_lookalikes(s, design, uniques)
    times = seen.spread[0]
    noise = NOISE * math.sqrt(ranges[3][1] * max(seen.spread))
    least = s.n1 - times * float(poisson.ppf(1 - tail, ranges[0][1] / times))
    most = s.n1 - max(times * float(poisson.ppf(tail, ranges[0][0] / times)) - seen.double, 0.0)
    named = (s.classes - ranges[1][1] - noise, s.classes - max(ranges[1][0] - noise, 0.0))
    here = (max(least, 0.0), float(most))
    return Ranges(here, (max(named[0], here[0], 0.0), named[1]), uniques)


def _from_lookalikes(s: SampledClasses, design: Design, uniques: Range) -> Ranges:
    """Records unique in both, and records named correctly, from the most people who were not sampled and look like a sample
    unique, and like larger classes: these are spread so that the fewest are named correctly. Uniques of the population: at most
    those whom the sample uniques stand for, and at least those of them whom pairs do not explain."""
    unseen = lookalikes(*design.pairs(), (1 - LEVEL) / 2)[1]
    parts, floor = design.unseen(2, each=True), float(design.weight.max()) ** 2
    more = float(parts.sum()) + NOISE * math.sqrt(design.variance(parts) + floor)
    large = s.classes - s.n1
    named = (s.n1**2 / (s.n1 + unseen) if s.n1 else 0.0) + (large**2 / (large + more) if large else 0.0)
    alone = max(s.n1 - unseen, 0.0)
    ones = np.where(design.people == 1, design.weights, 0.0)
    middle, wide = float(ones.sum()), NOISE * math.sqrt(design.variance(ones) + floor)
    number, each = design.as_count(design.unseen(1, 1, times_rest=True), 2 * floor)
    ends = (middle - wide - each * poisson_limits(number, (1 - LEVEL) / 4)[1], middle + wide)
    return Ranges(
        (alone, float(s.n1)),
        (max(named - NOISE * math.sqrt(s.classes) / 2, alone, 0.0), float(s.classes)),
        (min(max(uniques[0], ends[0]), uniques[1]), max(min(uniques[1], ends[1]), uniques[0])),
    )


@dataclass(frozen=True, eq=False)
class Seen:
    """Classes of a sample by the number of units that they show, at one rate: ``counts`` of 1, 2 … :data:`SEEN` and more, how
    many times the variance of each is that of a Poisson count, the sizes that classes may have, and what each would show.

    ``total`` is the sum of all sizes; ``double`` the classes of the sample with several people of one unit and nobody else.
    """

    counts: Floats
    spread: Floats
    rate: float
    total: float
    sizes: Floats
    chances: Floats
    double: int

    @classmethod
    def of(cls, s: SampledClasses, design: Design | None = None) -> Seen:
        if design is None:
            counts, spread, rate = np.array(seen_numbers(s), dtype=np.float64), np.ones(SEEN + 1), s.people / s.population
            total, double = float(s.population), 0
        else:
            counts, spread = design.seen(SEEN)
            rate, total = 1 / float(design.weight.max()), s.population * design.members.size / s.people
            double = int(((design.units == 1) & (design.people > 1)).sum())
        sizes = possible_sizes(s.population)
        return cls(counts, spread, rate, total, sizes, seen_chances(sizes, rate), double)

    def extremes(self, targets: Sequence[Floats]) -> list[Range]:
        """Least and most of each target, a value per person of a class of each size."""
        means = self.chances / self.sizes / self.spread[:, None]
        return extremes(means, (self.counts / self.spread).tolist(), targets, self.total)


def _wrong_matches(sizes: Floats, rate: float, shown: Floats) -> tuple[Floats, Floats]:
    """Mean and variance, for a class of each size F, of 1 − f/F where f ≥ 1 of it are in the sample, else 0."""
    wrong = np.maximum(shown - rate, 0.0)
    square = 1 - 2 * rate + rate * (1 - rate) / sizes + rate**2 - (1 - shown)
    return wrong, np.maximum(square - wrong**2, 0.0)


def unique_share_range(s: SampledClasses, others: int, design: Design | None = None) -> Range:
    r"""Least and most expected share of ``others`` of the same population who will be unique among themselves.

    A person of a class of F is unique among a share r of the population with the chance :math:`(1-r)^{F-1}`.

    >>> s = SampledClasses(np.array([1, 2]), np.array([50, 25]), 100, 75, 50, 25, 10**6)
    >>> [round(x, 1) for x in unique_share_range(s, 100)], [round(x, 1) for x in unique_share_range(s, 1_000)]
    ([0.4, 0.6], [0.0, 0.2])
    """
    seen, share = Seen.of(s, design), min(others / s.population, 1.0)
    ((low, high),) = seen.extremes([(1 - share) ** (seen.sizes - 1)])
    return max(low / seen.total, 0.0), min(high / seen.total, 1.0)


def rarefied_share(s: SampledClasses, others: int) -> tuple[float, float, float]:
    r"""Expected share of ``others``, at most as many as the sample, who will be unique among themselves, between its 95 % ends.

    A class of j people shows one in a part r of the sample with the chance :math:`jr(1-r)^{j-1}`: all parts of the sample
    together, without a model. The number of uniques varies by at most its mean, less what follows from the given number of
    people; in the sample, and again among the others.

    >>> s = SampledClasses(np.array([1, 2]), np.array([300, 100]), 500, 400, 300, 100, 10**6)
    >>> [round(x, 2) for x in rarefied_share(s, 500)]
    [0.51, 0.6, 0.69]
    """
    m, rest = s.people, 1 - others / s.people

    def shown(j: Floats) -> Floats:
        out: Floats = j * rest ** np.maximum(j - 1, 0)
        return out

    def variance(value: Floats, before: Floats) -> float:
        linear = float((s.numbers * sizes * (value - before)).sum())
        return max(float((s.numbers * value**2).sum()) - linear**2 / m, 0.0) / m**2

    sizes = s.sizes.astype(np.float64)
    middle = float((s.numbers * shown(sizes)).sum()) / m
    whole = variance((sizes == 1).astype(np.float64), (sizes == 2).astype(np.float64)) * m / others
    few = 1.92 * (1 / m**2 + 1 / others**2)
    wide = 1.96 * math.sqrt(variance(shown(sizes), shown(sizes - 1)) + whole + few)
    return max(middle - wide, 0.0), middle, min(middle + wide, 1.0)


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


def extremes(means: Floats, counts: Sequence[float], targets: Sequence[Floats], total: float) -> list[Range]:
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
        solution = linprog(cost, A_ub=above, b_ub=limit, A_eq=people, b_eq=[1.0], bounds=bounds, method="highs")
        return float(solution.fun) if solution.status == 0 else None

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


def _tangents(count: float) -> list[tuple[float, float, float]]:
    """Height, slope and place of tangents to the likelihood of the mean of a count, 0 at its greatest."""
    low, high = (max(x, 1e-300) for x in poisson_limits(count, (1 - LEVEL) / 2))
    if count < FEW:
        return [(0.0, -DROP / high, 0.0)]
    out = []
    for at in np.maximum(count + math.sqrt(count) * TANGENTS, 0.01 * count):
        scale = DROP / -_log_likelihood(count, low if at < count else high)
        out.append((scale * _log_likelihood(count, float(at)), scale * (count / float(at) - 1), float(at)))
    return out


def _log_likelihood(count: float, mean: float) -> float:
    return count * math.log(mean / count) - (mean - count)
