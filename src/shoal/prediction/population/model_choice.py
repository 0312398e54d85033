"""Which models, and how far to trust them: fit with a fifth of the people left out, five times, and see who is predicted best.

The people are dealt into :data:`FOLDS` parts, by class and not by row. Each model is fitted without each part. No model is
picked: they are averaged, with the weights under which the average gives the left-out people the greatest likelihood (stacking).
The counts of the population vary around the average by a gamma factor; its shape *a* is the one under which the left-out counts
(gamma-mixed Poisson, empty combinations included) are most likely, with the range that loses less than 1.92. What a model learned
by heart does not help it here.

Each record has two means: with itself in the fit (*kept*: too sure that its combination is common) and without (*left out*: too
sure that it is rare). The value is taken between them, and both bound the interval.

Source   Wolpert 1992, Yao et al. 2018 (stacking)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.errors import UsageError
from shoal.model.estimate import Grade
from shoal.prediction.distribution import Floats
from shoal.prediction.population import models
from shoal.prediction.population.crowd import LEAST, MOST
from shoal.prediction.population.latent_class import MOST_CLASSES, MOST_VALUES, latent_class
from shoal.prediction.population.models import Model, Shares
from shoal.prediction.population.sample import Ints, Sample

MODELS = ("independent", "tree", "two-way", "latent-class")
AVERAGE = "average"
FOLDS = 5
DROP = 1.92
"""Half of the 95 % point of chi-squared with one degree of freedom."""
LEAST_WEIGHT = 0.01
"""A model with less weight is left out of the average."""
FEWEST = 50
"""People that a sample must have for a fit."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted population: expected people per class with itself (``kept``) and without (``left_out``), the shape and its range.

    ``model`` is the one named, or "average" with the ``weights`` of each. ``scores`` is the log-likelihood of the left-out
    people, per person, of the average and of each model; ``refused`` why others were not fitted.
    """

    model: str
    kept: Floats
    left_out: Floats
    shape: float
    shape_range: tuple[float, float]
    scores: dict[str, float]
    refused: dict[str, str]
    weights: dict[str, float]
    every: Shares
    population: Model

    @property
    def mean(self) -> Floats:
        """Between the two means of each class, on the logarithmic scale."""
        out: Floats = np.sqrt(self.kept * self.left_out)
        return out


def choose(s: Sample, model: str = "auto", *, seed: int = 0) -> Fit:
    """Fit the named model, or average all of them."""
    if model not in ("auto", AVERAGE, *MODELS):
        raise UsageError(f"model '{model}' does not exist.", hint=f"Models: auto, {', '.join(MODELS)}.")
    if s.people < FEWEST:
        hint = f"Fit a sample of at least {FEWEST}; the class sizes alone can be given with classes or frequencies."
        raise UsageError(f"{s.people} people are too few to fit a population.", hint=hint)
    held = deal(s.sizes, np.random.default_rng(seed))
    refused: dict[str, str] = {name: why for name in MODELS if (why := _why_not(s, name))}
    if model in refused:
        raise UsageError(f"the model '{model}' cannot be fitted here: {refused[model]}.", hint="Leave the choice to 'auto'.")
    wanted = [name for name in MODELS if name not in refused and model in ("auto", AVERAGE, name)]
    fits = [[_fit(s.without(h), name, seed) for name in wanted] for h in held]
    each = [np.stack([m.share(s.codes[h > 0]) for m in part]) for part, h in zip(fits, held, strict=True)]
    shares = np.concatenate(each, axis=1)
    people = np.concatenate([h[h > 0] for h in held])
    weights = stacked(shares, people)
    parts = [Shares.of(models.average(part, weights), s, np.random.default_rng(seed)) for part in fits]
    shape, bounds = likeliest_shape(parts, held, s.effect)
    left_out = s.people * sum((p.observed * h for p, h in zip(parts, held, strict=True)), np.zeros(s.sizes.size)) / s.sizes
    whole = models.average([_fit(s, name, seed) for name in wanted], weights)
    every = Shares.of(whole, s, np.random.default_rng(seed))
    scores = dict(zip(wanted, (np.log(shares) @ people / s.people).tolist(), strict=True))
    name = AVERAGE if len(wanted) > 1 else wanted[0]
    scores |= {name: float(np.log(weights @ shares) @ people / s.people)} if len(wanted) > 1 else {}
    used = {name: float(w) for name, w in zip(wanted, weights, strict=True) if w > 0}
    return Fit(name, s.people * every.observed, left_out, shape, bounds, scores, refused, used, every, whole)


def stacked(shares: Floats, people: Ints, rounds: int = 200) -> Floats:
    """Weights of models (rows) under which their average gives the left-out people the greatest likelihood."""
    weights = np.full(len(shares), 1.0 / len(shares))
    for _ in range(rounds):
        parts = weights[:, None] * shares
        weights = (parts / parts.sum(axis=0)) @ people / people.sum()
    weights = np.where(weights < LEAST_WEIGHT, 0.0, weights)
    out: Floats = weights / weights.sum()
    return out


def deal(sizes: Ints, rng: np.random.Generator) -> list[Ints]:
    """The people of each class dealt at random into parts of equal size: how many of each class are in each part."""
    owner = np.repeat(np.arange(sizes.size), sizes)
    part = rng.permutation(owner.size) % FOLDS
    return [np.bincount(owner[part == j], minlength=sizes.size).astype(np.int64) for j in range(FOLDS)]


def _why_not(s: Sample, name: str) -> str:
    """Why a model is not fitted; empty where it is."""
    if name == "tree" and s.columns < 2:
        return "one column has no pairs"
    if name == "two-way" and s.columns < 3:
        return "two columns are a tree already" if s.columns == 2 else "one column has no pairs"
    if name == "two-way" and s.cells > models.MOST_CELLS:
        return f"more than {models.MOST_CELLS:,} combinations"
    if name == "latent-class" and s.columns < 2:
        return "one column has no hidden groups"
    if name == "latent-class" and (s.sizes.size > MOST_CLASSES or sum(s.levels) > MOST_VALUES):
        return f"more than {MOST_CLASSES:,} classes or {MOST_VALUES:,} values"
    return ""


def _fit(s: Sample, name: str, seed: int) -> Model:
    if name == "latent-class":
        return latent_class(s, seed)
    return {"independent": models.independent, "tree": models.tree, "two-way": models.two_way}[name](s)


def likeliest_shape(parts: Sequence[Shares], held: Sequence[Ints], effect: float = 1.0) -> tuple[float, tuple[float, float]]:
    """The shape of greatest likelihood of the left-out counts, and the range that loses at most ``effect`` times DROP."""
    from shoal.kernels.scipy import optimize

    def value(log_a: float) -> float:
        return sum(log_likelihood(math.exp(log_a), p, h) for p, h in zip(parts, held, strict=True))

    low, high = math.log(LEAST), math.log(MOST)
    fit = optimize.minimize_scalar(lambda x: -value(x), bounds=(low, high), method="bounded", options={"xatol": 1e-3})
    at, top = float(fit.x), -float(fit.fun)

    def gap(x: float) -> float:
        return value(x) - top + DROP * effect

    least = optimize.brentq(gap, low, at, xtol=1e-2) if gap(low) < 0 else low
    most = optimize.brentq(gap, at, high, xtol=1e-2) if gap(high) < 0 else high
    return math.exp(at), (math.exp(float(least)), math.exp(float(most)))


def log_likelihood(a: float, shares: Shares, counts: Ints) -> float:
    """Log-likelihood of counts by combination, empty ones included, as gamma-mixed Poisson counts of this shape."""
    from shoal.kernels.scipy.special import gammaln

    people, seen = int(counts.sum()), counts > 0
    f, mean = counts[seen], people * shares.observed[seen]
    listed = gammaln(f + a) - gammaln(a) - gammaln(f + 1) + f * (np.log(mean) - np.log(a + mean))
    return float(listed.sum() - a * (shares.numbers * np.log1p(people * shares.at / a)).sum())


ENOUGH = 500
"""People from which a fit is graded B."""


PER_VALUE = 5
"""People per value of the column with most values from which a fit is graded B; below, a model's intervals failed."""


RARE = 0.1
"""Share of those alone in the sample who have a value that nobody else of it has, above which no model tells how rare."""
FIRM, OPEN, GAIN = 2.0, 1.0, 0.1
"""A shape from which the model misses little; below, it must predict held-out people so much better than independence, each.
Below the second shape the gamma factor varies by more than its mean: the model leaves nearly everything open."""


def grade_of(s: Sample, fit: Fit) -> Grade:
    """B where the intervals were seen to hold: enough people, and of each value, and a model that explains what it must."""
    people = s.people / s.effect
    enough = people >= ENOUGH and people >= PER_VALUE * max(s.levels) and not (s.design is not None and s.design.mixed)
    return "B" if enough and _explains(s, fit) and rare_share(s) <= RARE else "C"


def _explains(s: Sample, fit: Fit) -> bool:
    """A model of dependence that leaves little open, or does much better than independence: dependence that no pair of columns
    shows is not predicted, and then the shape of what is left open decides alone."""
    if fit.model == "independent":
        return s.columns == 1
    gain = fit.scores[fit.model] - fit.scores.get("independent", fit.scores[fit.model])
    return fit.shape >= FIRM or (fit.shape >= OPEN and gain >= GAIN)


def rare_share(s: Sample) -> float:
    """Share of the people who are alone in the sample that have a value which nobody else of it has, in some column."""
    alone = s.sizes == 1
    return float(rare(s)[alone].mean()) if alone.any() else 0.0


def rare(s: Sample) -> npt.NDArray[np.bool_]:
    """The classes of one person with a value that nobody else of the sample has, in some column."""
    out = np.zeros(s.sizes.size, dtype=np.bool_)
    for j, levels in enumerate(s.levels):
        people = np.bincount(s.codes[:, j], weights=s.sizes, minlength=levels)
        out |= people[s.codes[:, j]] == 1
    return out
