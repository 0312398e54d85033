"""Risk of every record in the population, and what it adds up to, from a fitted model.

Takes    the classes of a sample with a code per column, and the size of the population it was drawn from at random
Returns  :class:`PopulationRisk`
Keeps    1/crowd_high ≤ risk ≤ 1/f; unique is 0 for nobody, and 0 < unique ≤ 1 where f = 1. The expected people of the population
         who look like the sample uniques add up to the number that needs no model (Skinner & Elliot), if ten pairs show it
Source   METHODS §33; Skinner & Holmes 1998; Skinner & Shlomo 2008; sums as in sdcMicro's modRisk (both global risks)
How often the intervals hold: ``benchmarks/coverage_board``, ``benchmarks/population_risk``.
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
from shoal.prediction.population.design import Design
from shoal.prediction.population.fit_check import SLIGHT, never_meet, refutation
from shoal.prediction.population.model_choice import Fit, choose, grade_of, rare
from shoal.prediction.population.sample import Ints, Sample
from shoal.prediction.population.without_model import KNOWN, LEVEL, lookalikes, model_free_ranges, poisson_limits

Z = 1.96
STEPS = (0.05, 0.1, 0.2, 0.5)
"""Risks at and above which records are counted."""
OUTSIDE = "The interval is the one that holds without a model."


@dataclass(frozen=True)
class Calibration:
    """Per rate how many intervals held of how many, and by which factor each interval was widened."""

    held: Mapping[float, tuple[int, int]]
    factors: Mapping[str, float]

    @property
    def coverage(self) -> float:
        """Share of the intervals of all subsamples that held."""
        return sum(held for held, _ in self.held.values()) / sum(tried for _, tried in self.held.values())

    def to_json(self) -> dict[str, Any]:
        rates = [{"rate": rate, "held": held, "tried": tried} for rate, (held, tried) in self.held.items()]
        return {"coverage": self.coverage, "rates": rates, "factors": dict(self.factors)}


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
    weights: Mapping[str, float] | None = None
    refused: Mapping[str, str] | None = None
    refutation: str = ""
    """Why the sample refutes the fitted population; empty if it does not."""
    calibration: Calibration | None = None
    """How often the intervals held on subsamples of the sample, if that was tried."""

    def __repr__(self) -> str:
        text = f"{self.people:,} of {self.population:,} people, model {self.model}"
        return f"<PopulationRisk of {text}: mean {self.mean:.4g}, largest {self.max:.4g}>"

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
            "weights": dict(self.weights or {}),
            "refused": dict(self.refused or {}),
            "refutation": self.refutation or None,
            "calibration": None if self.calibration is None else self.calibration.to_json(),
        }


def population_risk(
    codes: Sequence[Any],
    sizes: Any,
    population: int,
    *,
    model: str = "auto",
    seed: int = 0,
    limits: bool = True,
    design: Design | None = None,
) -> PopulationRisk:
    """Risk per class of a sample, by a model of how the columns depend on each other.

    Parameters
    ----------
    codes : sequence of arrays of int
        For each column the code of each class; -1 is a missing value, one value of its own. In the order of the values where
        they have one.
    sizes : array of int
        People of the sample in each class.
    population : int
        People of the population, from which the sample was drawn at random: with equal chances, or by the ``design``.
    model : {"auto", "independent", "tree", "two-way", "latent-class"}
        "auto" averages them, with the weights of the highest held-out likelihood.
    seed : int
        For dealing people into parts; the same seed gives the same numbers, in any order of the rows.
    limits : bool
        False lets a model that is not refuted state its own interval outside its limits, too: for calibration only.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> age, sex = rng.integers(0, 40, 400), rng.integers(0, 2, 400)
    >>> classes, sizes = np.unique(np.stack([age, sex]), axis=1, return_counts=True)
    >>> r = population_risk(list(classes), sizes, 4_000)
    >>> 0.01 < r.mean < 0.03
    True
    """
    s = Sample.of(codes, sizes, population, design)
    if s.people == s.population:
        return _count_sample(s)
    return assembled_risk(s, choose(s, model, seed=seed), limits=limits)


def assembled_risk(s: Sample, fit: Fit, *, limits: bool = True) -> PopulationRisk:
    """The risk of a sample from a fit of it."""
    f, rate = s.sizes, s.rates
    totals = Totals.of(s)
    mean, a = totals.scaled(s, fit.shape, fit.mean), fit.shape
    risk = crowd.match_chance(a, mean, f, rate)
    unique = np.where(f == 1, crowd.unique_chance(a, mean, f, rate), 0.0)
    alone = f == 1
    ends = [(fit.shape, totals.scaled(s, fit.shape, means)) for means in (fit.kept, fit.left_out)]
    ends += [(shape, totals.scaled(s, shape, fit.mean, side)) for shape in fit.shape_range for side in (-1, 1)]

    def uniques(shape: float, means: Floats) -> float:
        return float(crowd.unique_chance(shape, means[alone], f[alone], rate[alone]).sum())

    def matches(shape: float, means: Floats) -> float:
        return float((f * crowd.match_chance(shape, means, f, rate)).sum())

    why = f"fitted population ({fit.model})"
    chance = s.effect * float((unique * (1 - unique)).sum())
    tau = _range_of([uniques(*x) for x in ((a, mean), *ends)], chance, int(alone.sum()), why)
    variance = s.effect * float((f**2 * risk * np.maximum(1 / f - risk, 0)).sum())
    right = _range_of([matches(*x) for x in ((a, mean), *ends)], variance, float(f.size), why)
    alive = [_scale(x, s, unique, sign) for x, sign in ((tau.low, -1), (tau.value, 0), (tau.high, 1))]
    whole = Estimate(alive[1], min(alive), max(alive), level=LEVEL, method=why)
    refuted, more = refutation(s, fit), never_meet(s, fit, s.population) if limits else 0.0
    firm = not limits or (grade_of(s, fit) == "B" and more <= SLIGHT)
    wider = [replace(e, high=e.high + more * n) for e, n in ((tau, s.people), (right, s.people), (whole, s.population))]
    (tau, right, whole), refuted = _without_contradiction(s, firm, refuted, *wider)
    low, high = _crowd_ends(s, fit, totals, mean, known=right.grade != "C")
    back = np.empty_like(s.order)
    back[s.order] = np.arange(s.order.size)
    return PopulationRisk(
        *(fit.model, s.people, s.population),
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
        weights=fit.weights,
        refused=fit.refused,
        refutation=refuted,
    )


def _crowd_ends(s: Sample, fit: Fit, totals: Totals, mean: Floats, *, known: bool) -> tuple[Floats, Floats]:
    """The range of the crowds. Of a value that one person has, no model tells how common it is: then, and if the model is not
    ``known`` to fit, it reaches to the largest class of which a sample plausibly shows so few people."""
    widest = fit.shape_range[0]  # how far the model is off is itself uncertain, and so is whether a record counts in its own fit
    few = np.minimum(totals.scaled(s, widest, fit.left_out, -1), mean)
    many = np.maximum(totals.scaled(s, widest, fit.kept, 1), mean)
    low = crowd.crowd_range(widest, few, s.sizes, s.rates, LEVEL)[0]
    high = crowd.crowd_range(widest, many, s.sizes, s.rates, LEVEL)[1]
    sizes, place = np.unique(s.sizes, return_inverse=True)
    limits = np.array([poisson_limits(int(f), (1 - LEVEL) / 2)[1] / s.rates.min() for f in sizes])
    largest = np.minimum(np.ceil(limits), s.population - s.people + sizes)[place]
    unknown = rare(s) | (not known)
    return np.where(unknown, s.sizes, low), np.where(unknown, np.maximum(high, largest), high)


def _without_contradiction(s: Sample, firm: bool, refuted: str, *found: Estimate) -> tuple[tuple[Estimate, ...], str]:
    """The estimates within the ranges that need no model. Of a model that is refuted or outside its limits the value stays, in
    the range without a model. A model whose interval does not meet that range is refuted, too."""
    ranges = model_free_ranges(counted_classes(s), s.design)
    apart = any(e.high < low or e.low > high for e, (low, high) in zip(found, ranges, strict=True))
    if apart and not refuted:
        refuted = "its interval lies outside the range that the class sizes alone leave plausible"
    firm = firm and not refuted
    out = []
    for e, (low, high) in zip(found, ranges, strict=True):
        details = {"without_a_model": [low, high]}
        if firm:
            low, high = max(low, e.low), min(high, e.high)
        value = min(max(e.value, low), high)
        notes = () if firm else (f"the model is refuted: {refuted}. {OUTSIDE}" if refuted else OUTSIDE,)
        out.append(replace(e, value=value, low=low, high=high, grade="B" if firm else "C", notes=notes, details=details))
    return tuple(out), refuted


@dataclass(frozen=True)
class Totals:
    """How many people of the population look like the sample's classes of one, and like its larger classes, and were not
    sampled: with its range, without a model (Skinner & Elliot; Good)."""

    ones: tuple[float, float, float]
    others: tuple[float, float, float]

    @classmethod
    def of(cls, s: Sample) -> Totals:
        if s.design is not None:
            return cls.by_design(s, s.design)
        seen, odds, tail = counted_classes(s), (1 - s.rate) / s.rate, (1 - LEVEL) / 2
        threes = int(seen.numbers[seen.sizes == 3].sum())
        low, high = lookalikes(seen.n2, threes, 2 * odds, tail)
        most = float(s.population - s.people)
        large = seen.sizes > 2
        people = float((seen.sizes * seen.numbers)[large].sum())
        chance = Z * math.sqrt(float((seen.sizes**2 * seen.numbers)[large].sum()) + Z**2)
        rest = (max(people - chance, 0.0) * odds, people * odds, (people + chance) * odds)
        ones = (low, 2 * odds * seen.n2, high) if seen.n2 >= KNOWN else (low, math.nan, high)
        return cls((min(ones[0], most), min(ones[1], most), min(ones[2], most)), rest)

    @classmethod
    def by_design(cls, s: Sample, design: Design) -> Totals:
        """The same for units with chances of their own."""
        pairs, threes, each = design.pairs()
        low, high = lookalikes(pairs, threes, each, (1 - LEVEL) / 2)
        most, parts = float(s.population - s.people), design.unseen(2)
        people, chance = float(parts.sum()), Z * math.sqrt(design.variance(parts) + (Z * float(design.weight.max())) ** 2)
        ones = pairs * each if pairs >= KNOWN else math.nan
        return cls((min(low, most), min(ones, most), min(high, most)), (max(people - chance, 0.0), people, people + chance))

    def scaled(self, s: Sample, shape: float, means: Floats, side: int = 0) -> Floats:
        """The means of each class, those of one person and of more each times a factor, so that the expected crowds add up to
        the totals; on one side, to the end of their range. A total that is not known well only limits the model's own."""
        out = means.copy()
        for here, total in ((s.sizes == 1, self.ones), (s.sizes > 1, self.others)):
            if not here.any():
                continue
            f, m = s.sizes[here], means[here]
            own = float((crowd.expected_crowd(shape, m, f, s.rates[here]) - f).sum())
            goal = total[1 + side] if side else total[1]
            if math.isnan(goal):
                goal = min(max(own, total[0]), total[2])
            out[here] = m * _factor(shape, m, f, s.rates[here], goal)
        return out


def _factor(shape: float, means: Floats, f: Ints, rate: Floats, goal: float) -> float:
    """The factor of the means under which the expected number of others of the population is the goal."""
    low, high = math.log(1e-9), math.log(1e9)
    for _ in range(50):
        middle = (low + high) / 2
        if float((crowd.expected_crowd(shape, math.exp(middle) * means, f, rate) - f).sum()) < goal:
            low = middle
        else:
            high = middle
    return math.exp((low + high) / 2)


def counted_classes(s: Sample) -> SampledClasses:
    """The sizes of the sample's classes, without what they are."""
    sizes, numbers = np.unique(s.sizes, return_counts=True)
    ones, twos = (int(numbers[sizes == j].sum()) for j in (1, 2))
    return SampledClasses(sizes, numbers, s.people, s.sizes.size, ones, twos, s.population)


def _range_of(values: list[float], variance: float, most: float, method: str) -> Estimate:
    """The first value; from the least to the greatest of all, and chance beyond both."""
    middle = values[0]
    chance = Z * math.sqrt(variance + Z**2 / 4)  # score limits of a mean: they hold where few are expected, too
    counts = _plausible_counts(min(values), max(values), variance / middle if middle > 0 else 0.0)
    low = min(min(values) + Z**2 / 2 - chance, middle, counts[0])
    high = max(max(values) + Z**2 / 2 + chance, counts[1])
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


def _scale(uniques: float, s: Sample, unique: Floats, side: int) -> float:
    """Unique people of the population when each was sampled at the rate of its class; chance of the sample on the given side."""
    rate, varies = s.rate, s.effect
    if s.design is not None and float(unique.sum()) > 0:
        weighted = unique / s.rates
        rate = float(unique.sum() / weighted.sum())
        varies *= rate * float((weighted / s.rates).sum() / weighted.sum())
    out = (uniques + side * Z * math.sqrt(uniques * (1 - rate) * varies)) / rate
    return min(max(out, 0.0), float(s.population))


def _count_sample(s: Sample) -> PopulationRisk:
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
