r"""Does a fitted population give the sample that was observed? A model that does not is refuted, and its intervals are not used.

Under the fit each combination is a gamma-mixed Poisson count, independent of the others. So the numbers of classes seen once,
twice … :data:`~.without_model.SEEN` times in samples of the fitted population have known means and covariances; no sample need
be simulated. The observed numbers are held against them by the quadratic distance, with the 1 % point of chi-squared. So is the
table of every two columns, with people drawn from the fitted population; the 1 % is shared by the tables.

Poisson counts let people of rare combinations meet. In the real table they may never do (one household per address), and a small
sample looks the same either way: then intervals are widened by what this would change, or, if it is much, no model is used.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from shoal.prediction.distribution import Floats
from shoal.prediction.population.model_choice import Fit
from shoal.prediction.population.models import DRAWS, Shares
from shoal.prediction.population.sample import Ints, Sample
from shoal.prediction.population.without_model import SEEN

FAR, NEARER = 15.09, 6.0
"""The 1 % point of chi-squared with five degrees of freedom; the difference of distances from which a sample tells two models
apart: it is 20 times as likely under one as under the other."""
SLIGHT = 0.05
"""Share of people by which intervals are widened if people of rare combinations may never meet; above, no model is used."""
TAIL, FEW = 0.01, 5.0
"""Chance that pair tables refute a population that is right; expected people below which pairs of values are taken together."""
WORDS = ("one person", "two people", "three people", "four people", "five people")


def refutation(s: Sample, fit: Fit) -> str:
    """Why the sample refutes the fitted population; empty if it does not."""
    expected, spread = seen_moments(s.people, fit.every, fit.shape)
    if _distance(s, expected, spread) <= FAR:
        return _refuted_by_pairs(s, fit)
    observed = np.array([np.count_nonzero(s.sizes == j) for j in range(1, SEEN + 1)])
    worst = int(np.argmax(np.abs(observed - expected) / np.sqrt(s.effect * np.diag(spread) + 0.5)))
    return (
        f"the fitted population would give {expected[worst]:,.0f} classes of {WORDS[worst]} in such a sample; "
        f"{observed[worst]:,} were observed"
    )


def never_meet(s: Sample, fit: Fit, others: int) -> float:
    """By how much the unique share of ``others`` of the population would be larger if people of rare combinations never met.

    0 if the sample rules that out: its numbers of classes by size are nearer to those of the fitted population by :data:`NEARER`
    than to those of one in which no two people share a combination of at most one person on average. A fitted mean is itself
    uncertain, so a falling part of the combinations of one to two people counts as rare, too.
    """
    every, mean = fit.every, s.population * fit.every.at
    mass, rare = every.numbers * every.at, mean <= 1
    often = replace(every, at=every.at[~rare], numbers=every.numbers[~rare], drawn=False)
    expected, spread = seen_moments(s.people, every, fit.shape)
    apart = seen_moments(s.people, often, fit.shape)[0]
    apart[0] += s.people * float(mass[rare].sum())
    if _distance(s, apart, spread) - _distance(s, expected, spread) >= NEARER:
        return 0.0
    met = -np.expm1(-(fit.shape + 1) * np.log1p(others * every.at / fit.shape))
    return float((mass * np.clip(2 / mean - 1, 0.0, 1.0) * met).sum())


def _distance(s: Sample, expected: Floats, spread: Floats) -> float:
    """The quadratic distance of the numbers of classes by size from those expected."""
    gap = np.array([np.count_nonzero(s.sizes == j) for j in range(1, SEEN + 1)]) - expected
    whole = s.effect * spread + np.diag(np.full(SEEN, 0.5))  # counts are whole: half a class is not evidence
    return float(gap @ np.linalg.solve(whole, gap))


def _refuted_by_pairs(s: Sample, fit: Fit) -> str:
    """Why the pair tables of the sample refute the fitted population; empty if they do not."""
    from shoal.kernels.scipy.stats import chi2

    pairs = list(itertools.combinations(range(s.columns), 2))
    drawn = fit.population.draw(DRAWS, np.random.default_rng(0))
    share = fit.population.share(drawn)
    for i, j in pairs:
        far, kinds = pair_distance(s, fit.shape, drawn, share, (i, j))
        if kinds > 1 and far > float(chi2.ppf(1 - TAIL / len(pairs), kinds - 1)):
            return f"columns {i + 1} and {j + 1} occur together in other numbers than in samples of the fitted population"
    return ""


def pair_distance(s: Sample, shape: float, drawn: Ints, share: Floats, pair: tuple[int, int]) -> tuple[float, int]:
    """The squared distance of two columns' counts from those of the fitted population, and how many counts were compared.

    Pairs of values that expect fewer than :data:`FEW` people are taken together. The variance of a count is that of the
    gamma-mixed counts of its combinations, and of the draws that the expected counts are estimated by.
    """
    i, j = pair
    observed = s.pair(i, j).ravel()
    place, draws = drawn[:, i] * s.levels[j] + drawn[:, j], len(drawn)
    expected = s.people * np.bincount(place, minlength=observed.size) / draws
    extra = s.people**2 * np.bincount(place, weights=share, minlength=observed.size) / draws / shape
    kind = np.where(expected >= FEW, np.cumsum(expected >= FEW), 0)
    gap, mean, more = (np.bincount(kind, weights=x) for x in (observed - expected, expected, extra))
    variance = s.effect * mean * (1 + s.people / draws) + more + 0.5
    return float((gap**2 / variance).sum()), int(np.count_nonzero(mean))


def seen_moments(people: int, fitted: Shares, shape: float) -> tuple[Floats, Floats]:
    """Means and covariances of the numbers of classes that a sample of so many people shows once, twice … ``SEEN`` times."""
    from shoal.kernels.scipy.stats import nbinom

    mean = people * fitted.at
    chance = np.array([nbinom.pmf(j, shape, shape / (shape + mean)) for j in range(1, SEEN + 1)])
    parts = chance * fitted.numbers
    expected = parts.sum(axis=1)
    spread = np.diag(expected) - parts @ chance.T
    if fitted.drawn:  # the sums themselves are estimated by draws from the model
        spread = spread + parts.shape[1] * np.cov(parts)
    return expected, spread
