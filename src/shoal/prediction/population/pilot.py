"""What a pilot says of a questionnaire: the share of respondents who would be one of a kind, from a fitted population.

A combination with fitted share p, f people in a pilot of m, has a share :math:`pG` with G Gamma(a + f, a + mp). Among n
respondents it is given by exactly one of them :math:`E[xe^{-x}]`, :math:`x=npG`, times, which is
:math:`np\frac AB\big(\frac B{B+np}\big)^{A+1}` with A = a + f, B = a + mp. Summed over all combinations, seen or not, and divided
by n this is the expected unique share, moved half way to the share seen in the pilot. The interval is made as in :mod:`.risk`;
the more people are asked, the more of the interval of the unique people of the population is added to it. If the model is outside
its limits, the interval is the one without a model. As many respondents as the pilot has people, or fewer, need no model: what
parts of the pilot show is counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shoal.model.estimate import Estimate, Grade
from shoal.prediction.distribution import Floats
from shoal.prediction.population.fit_check import SLIGHT, never_meet, refutation, seen_moments
from shoal.prediction.population.model_choice import ENOUGH, Fit, choose, grade_of
from shoal.prediction.population.models import MOST_CELLS, combinations
from shoal.prediction.population.risk import OUTSIDE, Z, assembled_risk, counted_classes
from shoal.prediction.population.sample import Sample
from shoal.prediction.population.without_model import KNOWN, LEVEL, rarefied_share, unique_share_range

RANDOM = "the pilot is taken as drawn at random from those who will be asked"


@dataclass(frozen=True, eq=False, repr=False)
class Pilot:
    """A fitted pilot: ``unique(n)`` is the expected share of n respondents who are one of a kind, with its interval."""

    sample: Sample
    fit: Fit
    design: str = ""
    """What speaks against people sampled one by one, each equally likely; empty if nothing is known."""

    @classmethod
    def of(
        cls, codes: Sequence[Any], sizes: Any, population: int, *, model: str = "auto", seed: int = 0, design: str = ""
    ) -> Pilot:
        """From a code per class and column, and the sizes of the classes of the pilot."""
        s = Sample.of(codes, sizes, max(population, int(np.asarray(sizes).sum())))
        return cls(s, choose(s, model, seed=seed), design)

    def __repr__(self) -> str:
        return f"<Pilot of {self.people:,} people, model {self.fit.model}>"

    @property
    def people(self) -> int:
        return self.sample.people

    @cached_property
    def refutation(self) -> str:
        """Why the pilot refutes the fitted population; empty if it does not."""
        return refutation(self.sample, self.fit)

    @property
    def grade(self) -> Grade:
        """B if the model is inside its limits, is not refuted, and pairs show how many look alike."""
        pairs = int((self.sample.sizes == 2).sum())
        few = pairs < KNOWN and bool((self.sample.sizes == 1).any())
        return "C" if few or self.refutation or self.design else grade_of(self.sample, self.fit)

    def unique(self, respondents: int) -> Estimate:
        """Expected share of ``respondents`` who are one of a kind, within the range that needs no model."""
        method = f"pilot of {self.people:,} people, fitted population ({self.fit.model})"
        if respondents <= 1:
            return Estimate.exact(float(respondents), method="at most one person")
        if respondents <= self.people and self.people >= ENOUGH and not self.design:
            low, middle, high = rarefied_share(counted_classes(self.sample), respondents)
            counted = f"pilot of {self.people:,} people, counted in its parts"
            return Estimate(middle, low, high, level=LEVEL, method=counted, grade="B", notes=(RANDOM,))
        middle = self._share(self.fit.shape, self.fit.mean, respondents)
        spread = Z * self._deviation(respondents)
        least, most = unique_share_range(counted_classes(self.sample), respondents)
        least, most, grade = max(least - spread, 0.0), min(most + spread, 1.0), self.grade
        notes: tuple[str, ...] = (RANDOM,)
        if grade == "B":
            ends = [self._share(a, m, respondents) for a in self.fit.shape_range for m in (self.fit.kept, self.fit.left_out)]
            chance = math.hypot(spread, Z * self._deviation(self.people))
            more, (below, above) = never_meet(self.sample, self.fit, respondents), self._beyond(respondents)
            low, high = min(*ends, middle) - chance - below, max(*ends, middle) + chance + above + more
            if more > SLIGHT or low > most or high < least:
                grade = "C"
            else:
                least, most = max(least, low), min(most, high)
        if self.design:
            notes = (*notes, self.design)
        elif grade == "C":
            notes = (*notes, f"the model is refuted: {self.refutation}. {OUTSIDE}" if self.refutation else OUTSIDE)
        middle = min(max(middle, least), most)
        return Estimate(middle, least, most, level=LEVEL, method=method, grade=grade, notes=notes)

    def _share(self, a: float, means: Floats, n: int) -> float:
        """The model's share among n respondents, moved (in log odds) by half of what the pilot's own share differs from it: the
        model is smoother than a population, the pilot's share is subject to chance."""
        s = self.sample
        pair = (int((s.sizes == 1).sum()), s.people * self._of_model(a, means, s.people))
        seen, own = (_log_odds((ones + 0.5) / (s.people + 1)) for ones in pair)
        shift = (seen - own) / 2
        return 1 / (1 + math.exp(-_log_odds(self._of_model(a, means, n)) - shift))

    @cached_property
    def _everybody(self) -> Estimate:
        """Unique people of the population by the model."""
        return assembled_risk(self.sample, self.fit, limits=False).population_uniques

    def _beyond(self, n: int) -> tuple[float, float]:
        """How far the share of n people can be off because the pilot is smaller: for everybody as much as the number of unique
        people of the population, nothing for as many as the pilot has, in proportion between them."""
        s, e = self.sample, self._everybody
        part = (n - s.people) / (s.population - s.people) / s.population
        return part * (e.value - e.low), part * (e.high - e.value)

    def _deviation(self, n: int) -> float:
        """Standard deviation of the share among n people, by chance alone."""
        expected, spread = seen_moments(n, self.fit.every, self.fit.shape)
        variance = spread[0, 0] - (expected[0] - 2 * expected[1]) ** 2 / n  # their number is given
        return math.sqrt(max(float(variance), 1.0)) / n

    def _of_model(self, a: float, means: Floats, n: int) -> float:
        s, every = self.sample, self.fit.every
        unseen = _alone(a, a + s.people * every.at, n * every.at)
        here = means / s.people
        seen = _alone(a + s.sizes, a + means, n * here) - _alone(a, a + means, n * here)
        return min(1.0, max(0.0, float((every.numbers * unseen).sum() + seen.sum()) / n))

    @cached_property
    def joint(self) -> Floats | None:
        """Expected share of every combination, one axis per column; None where there are too many to list."""
        s, a = self.sample, self.fit.shape
        if s.cells > MOST_CELLS:
            return None
        table = self.fit.population.share(combinations(s.levels)).reshape(s.levels)
        inside = tuple(s.codes.T)
        shares = table.copy()
        shares *= a / (a + s.people * table)
        shares[inside] = table[inside] * (a + s.sizes) / (a + s.people * table[inside])
        out: Floats = shares / shares.sum()
        return out

    def to_json(self) -> dict[str, Any]:
        return {
            "people": self.people,
            "model": self.fit.model,
            "scores": dict(self.fit.scores),
            "weights": dict(self.fit.weights),
            "refused": dict(self.fit.refused),
            "refutation": self.refutation or None,
        }


def _alone(index: Any, rate: Any, mean: Floats) -> Floats:
    """E[x e^-x] for x = mean times a Gamma(index, rate)."""
    out: Floats = mean * index / rate * np.exp(-(index + 1) * np.log1p(mean / rate))
    return out


def _log_odds(share: float) -> float:
    inside = min(max(share, 1e-9), 1 - 1e-9)
    return math.log(inside / (1 - inside))
