"""Risk of every record in the population, and what it adds up to, from a fitted model.

Takes    the classes of a sample with a code per column, and the size of the population it was drawn from at random
Returns  :class:`PopulationRisk`
Keeps    1/crowd_high ≤ risk ≤ 1/f; unique is 0 for nobody, and 0 < unique ≤ 1 where f = 1
Source   METHODS §33; Skinner & Holmes 1998; Skinner & Shlomo 2008; sums as in sdcMicro's modRisk (both global risks)
How often the intervals hold: ``benchmarks/population_risk``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.model.estimate import Estimate
from shoal.prediction.distribution import Floats
from shoal.prediction.population import crowd
from shoal.prediction.population.class_size_models import SampledClasses
from shoal.prediction.population.model_choice import Fit, choose, grade_of, rare
from shoal.prediction.population.sample import Ints, Sample
from shoal.prediction.population.without_model import alone_range, right_matches_range, uniques_range

LEVEL = 0.95
Z = 1.96
STEPS = (0.05, 0.1, 0.2, 0.5)
"""Risks at and above which records are counted."""
OUTSIDE = "the model is outside its limits here: the interval is the one that holds without a model"


@dataclass(frozen=True, eq=False, repr=False)
class PopulationRisk:
    """Per class, in the order given: ``risk`` (chance to name the right person, E[1/F]), ``unique`` (chance that nobody else in
    the population has the combination; 0 where two of the sample have it), ``crowd`` (expected people) and its 95 % range.

    ``sample_uniques_alone``: records that are unique in sample and population. ``right_matches``: people correctly named
    when everybody is matched. ``population_uniques``: unique people of the population, sampled or not.
    """

    model: str
    people: int
    population: int
    sizes: Ints
    risk: Floats
    unique: Floats
    crowd: Floats
    crowd_low: Floats
    crowd_high: Floats
    sample_uniques_alone: Estimate
    right_matches: Estimate
    population_uniques: Estimate
    shape: float | None = None
    shape_range: tuple[float, float] | None = None
    scores: Mapping[str, float] | None = None
    refused: Mapping[str, str] | None = None

    def __repr__(self) -> str:
        said = f"{self.people:,} of {self.population:,} people, model {self.model}"
        return f"<PopulationRisk of {said}: mean {self.mean:.4g}, largest {self.max:.4g}>"

    @property
    def mean(self) -> float:
        """Mean risk of a record."""
        return self.right_matches.value / self.people

    @property
    def max(self) -> float:
        return float(self.risk.max())

    @property
    def above(self) -> dict[float, int]:
        """Records whose risk is at least 5, 10, 20, 50 %."""
        return {step: int(self.sizes[self.risk >= step].sum()) for step in STEPS}

    def to_json(self) -> dict[str, Any]:
        """Numbers of records only: no class, no value."""
        return {
            "model": self.model,
            "mean": self.mean,
            "max": self.max,
            "above": {f"{step:g}": n for step, n in self.above.items()},
            "sample_uniques_alone": self.sample_uniques_alone.to_json(),
            "right_matches": self.right_matches.to_json(),
            "population_uniques": self.population_uniques.to_json(),
            "shape": self.shape,
            "shape_range": None if self.shape_range is None else list(self.shape_range),
            "scores": dict(self.scores or {}),
            "refused": dict(self.refused or {}),
        }


def population_risk(codes: Sequence[Any], sizes: Any, population: int, *, model: str = "auto", seed: int = 0) -> PopulationRisk:
    """Risk per class of a sample, by a model of how the columns depend on each other.

    Parameters
    ----------
    codes : sequence of arrays of int
        For each column the code of each class; -1 is a missing value, one value of its own. In the order of the values where
        they have one.
    sizes : array of int
        People of the sample in each class.
    population : int
        People of the population, from which the sample was drawn at random with equal chances.
    model : {"auto", "independent", "tree", "two-way", "copula"}
        "auto" keeps the model with the highest held-out likelihood.
    seed : int
        For dealing people into parts; the same seed gives the same numbers, in any order of the rows.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> age, sex = rng.integers(0, 40, 400), rng.integers(0, 2, 400)
    >>> classes, sizes = np.unique(np.stack([age, sex]), axis=1, return_counts=True)
    >>> r = population_risk(list(classes), sizes, 4_000)
    >>> 0.01 < r.mean < 0.03
    True
    """
    s = Sample.of(codes, sizes, population)
    if s.people == s.population:
        return _counted(s)
    return _assembled(s, choose(s, model, seed=seed))


def _assembled(s: Sample, fit: Fit) -> PopulationRisk:
    f, rate, mean, a = s.sizes, s.rate, fit.mean, fit.shape
    risk = crowd.match_chance(a, mean, f, rate)
    widest = fit.shape_range[0]  # how far the model is off is itself uncertain, and so is whether a record counts in its own fit
    low = crowd.crowd_range(widest, np.minimum(fit.left_out, mean), f, rate, LEVEL)[0]
    low = np.where(rare(s), f, low)  # of a value that one person has, no model tells how common it is
    high = crowd.crowd_range(widest, np.maximum(fit.kept, mean), f, rate, LEVEL)[1]
    unique = np.where(f == 1, crowd.unique_chance(a, mean, f, rate), 0.0)
    alone = f == 1

    def uniques(shape: float, means: Floats) -> float:
        return float(crowd.unique_chance(shape, means[alone], f[alone], rate).sum())

    def matches(shape: float, means: Floats) -> float:
        return float((f * crowd.match_chance(shape, means, f, rate)).sum())

    why = f"fitted population ({fit.model})"
    tau = _ranged(uniques, fit, float((unique * (1 - unique)).sum()), int(alone.sum()), why)
    right = _ranged(matches, fit, float((f**2 * risk * np.maximum(1 / f - risk, 0)).sum()), float(f.size), why)
    alive = [_scaled(x, s, sign) for x, sign in ((tau.low, -1), (tau.value, 0), (tau.high, 1))]
    whole = Estimate(alive[1], min(alive), max(alive), level=LEVEL, method=why)
    tau, right, whole = _inside_their_limits(s, fit, tau, right, whole)
    back = np.empty_like(s.order)
    back[s.order] = np.arange(s.order.size)
    return PopulationRisk(
        fit.model,
        s.people,
        s.population,
        sizes=f[back],
        risk=risk[back],
        unique=unique[back],
        crowd=crowd.expected_crowd(a, mean, f, rate)[back],
        crowd_low=low[back],
        crowd_high=high[back],
        sample_uniques_alone=tau,
        right_matches=right,
        population_uniques=whole,
        shape=fit.shape,
        shape_range=fit.shape_range,
        scores=fit.scores,
        refused=fit.refused,
    )


def _inside_their_limits(s: Sample, fit: Fit, *found: Estimate) -> tuple[Estimate, ...]:
    """The estimates as the model gives them where it is inside its limits; else its values in the ranges that need no model.

    A model whose interval does not meet the range without a model is outside its limits, too.
    """
    sizes, numbers = np.unique(s.sizes, return_counts=True)
    ones, twos = (int(numbers[sizes == j].sum()) for j in (1, 2))
    seen = SampledClasses(sizes, numbers, s.people, s.sizes.size, ones, twos, s.population)
    ranges = (alone_range(seen, level=LEVEL), right_matches_range(seen, level=LEVEL), uniques_range(seen, level=LEVEL))
    apart = any(e.high < low or e.low > high for e, (low, high) in zip(found, ranges, strict=True))
    if not apart and grade_of(s, fit) == "B":
        return found
    return tuple(
        replace(e, low=min(e.value, low), high=max(e.value, high), grade="C", notes=(OUTSIDE,))
        for e, (low, high) in zip(found, ranges, strict=True)
    )


def _ranged(value: Any, fit: Fit, variance: float, most: float, method: str) -> Estimate:
    """From the low end of the fit with each record itself to the high end of the fit without it, and chance beyond both."""
    shapes = (fit.shape_range[0], fit.shape, fit.shape_range[1])
    middle = value(fit.shape, fit.mean)
    ends = [middle, *(value(a, means) for a in shapes for means in (fit.kept, fit.left_out))]
    chance = Z * math.sqrt(variance + Z**2 / 4)  # score limits of a mean: they hold where few are expected, too
    counts = _plausible_counts(min(ends), max(ends), variance / middle if middle > 0 else 0.0)
    low = min(min(ends) + Z**2 / 2 - chance, middle, counts[0])
    high = max(max(ends) + Z**2 / 2 + chance, counts[1])
    return Estimate(middle, max(0.0, low), max(middle, min(most, high)), level=LEVEL, method=method)


def _plausible_counts(least: float, most: float, ratio: float) -> tuple[float, float]:
    """What may be counted where means between ``least`` and ``most`` are expected, with ``ratio`` of variance to mean below 1.

    Binomial counts of that ratio. The limits of a mean alone do not hold for what is counted: where two are expected there is
    nobody in one of seven samples.
    """
    from shoal.kernels.scipy.stats import binom

    share = min(max(1 - ratio, 1e-6), 1.0)
    draws = [max(math.ceil(mean / share), 1) for mean in (least, most)]
    tail = (1 - LEVEL) / 2
    low, high = binom.ppf(tail, draws[0], least / draws[0]), binom.ppf(1 - tail, draws[1], most / draws[1])
    return float(max(low, 0.0)), float(high)


def _scaled(uniques: float, s: Sample, side: int) -> float:
    """Unique people of the population when a share ``rate`` of them was sampled; chance of the sample on the given side."""
    out = (uniques + side * Z * math.sqrt(uniques * (1 - s.rate))) / s.rate
    return min(max(out, 0.0), float(s.population))


def _counted(s: Sample) -> PopulationRisk:
    """The sample is the population: everything is counted."""
    back = np.empty_like(s.order)
    back[s.order] = np.arange(s.order.size)
    f = s.sizes[back]
    size = f.astype(np.float64)
    alone = Estimate.exact(float((f == 1).sum()), method="counted")
    right = Estimate.exact(float(f.size), method="counted")
    return PopulationRisk(
        "counted", s.people, s.population, f, 1 / size, (f == 1).astype(float), size, size, size, alone, right, alone
    )
