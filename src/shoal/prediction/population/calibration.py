"""How often do the intervals of a fitted population hold on this table? The sample is taken as the population, and sampled.

Subsamples at several rates are fitted with the model of the whole sample, and their intervals are compared with what the sample
shows. The intervals of the sample are widened by the factor that the subsamples need; if they held in fewer than 93 % of the
subsamples as they were, the grade is C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.model.estimate import Estimate
from shoal.prediction.population.model_choice import FEWEST
from shoal.prediction.population.risk import Calibration, PopulationRisk, population_risk

RATES = (0.1, 0.2, 0.5)
DRAWS = 6
ENOUGH = 0.93
"""Share of subsamples in which the intervals must hold for a grade above C."""
NAMES = ("sample_uniques_alone", "right_matches", "population_uniques")


def calibrate(
    codes: Sequence[Any], risk: PopulationRisk, *, rates: Sequence[float] = RATES, draws: int = DRAWS, seed: int = 0
) -> PopulationRisk:
    """The risk with intervals widened to the coverage that subsamples of the sample need; ``calibration`` says what was seen.

    Unchanged if the sample is the population, or too small for a subsample of fifty people.
    """
    table, sizes = [np.asarray(c) for c in codes], np.asarray(risk.sizes, dtype=np.int64)
    usable = [rate for rate in rates if round(rate * risk.people) >= FEWEST]
    if risk.model == "counted" or not usable:
        return risk
    rng = np.random.default_rng([seed, risk.people])
    held, gaps = {}, dict.fromkeys(NAMES, 0.0)
    for rate in usable:
        inside = 0
        for _ in range(draws):
            f = rng.multivariate_hypergeometric(sizes, round(rate * risk.people), method="marginals")
            seen = f > 0
            refit = population_risk([c[seen] for c in table], f[seen], risk.people, model=risk.model, seed=seed, limits=False)
            ones = sizes == 1
            truths = (float((ones & (f == 1)).sum()), float((f[seen] / sizes[seen]).sum()), float(ones.sum()))
            for name, truth in zip(NAMES, truths, strict=True):
                gap = _gap(getattr(refit, name), truth)
                inside += gap <= 1
                gaps[name] = max(gaps[name], gap)
        held[rate] = (inside, draws * len(NAMES))
    out = Calibration(held, {name: max(1.0, gap) for name, gap in gaps.items()})
    most = (float((sizes == 1).sum()), float(sizes.size), float(risk.population))
    new: dict[str, Any] = {
        name: _widened(getattr(risk, name), out.factors[name], top, held=out.coverage >= ENOUGH)
        for name, top in zip(NAMES, most, strict=True)
    }
    return replace(risk, **new, calibration=out)


def _gap(e: Estimate, truth: float) -> float:
    """How far the truth lies from the value, in half-widths of the interval on that side."""
    half = e.high - e.value if truth > e.value else e.value - e.low
    off = abs(truth - e.value)
    return off / half if half > 0 else (0.0 if off <= 1e-9 else 1e9)


def _widened(e: Estimate, factor: float, most: float, *, held: bool) -> Estimate:
    if e.grade == "C":  # a range without a model: as wide as the sample alone leaves it
        return e
    low, high = max(0.0, e.value - factor * (e.value - e.low)), min(most, e.value + factor * (e.high - e.value))
    notes = () if factor <= 1 else (f"widened by {factor:.2f}, as subsamples of the sample need",)
    grade = e.grade if held else "C"
    return replace(e, low=low, high=max(high, e.value), grade=grade, notes=(*e.notes, *notes))
