"""Where a fitted population may state an interval of its own: the limits within which its intervals were seen to hold."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.model.estimate import Grade
from shoal.prediction.population.fitted.choose import Fit
from shoal.prediction.population.fitted.sample import Sample

ENOUGH = 500
"""People from which a fit is graded B."""
PER_VALUE = 10
"""People per value of the column with most values from which a fit is graded B; below five, a model's intervals failed."""
RARE = 0.1
"""Share of those alone in the sample who have a value that nobody else of it has, above which no model tells how rare."""
FIRM, GAIN = 2.0, 0.1
"""A shape from which the model misses little; below, it must foretell left-out people so much better than independence, each."""


def grade_of(s: Sample, fit: Fit) -> Grade:
    """B where the intervals were seen to hold: enough people, and of each value, and a model that explains what it must."""
    enough = s.people >= ENOUGH and s.people >= PER_VALUE * max(s.levels)
    return "B" if enough and _explains(s, fit) and rare_share(s) <= RARE else "C"


def _explains(s: Sample, fit: Fit) -> bool:
    """A model of dependence that leaves little open, or does much better than independence: dependence that no pair of columns
    shows is not foretold, and then the shape of what is left open decides alone."""
    if fit.model == "independent":
        return s.columns == 1
    gain = fit.scores[fit.model] - fit.scores.get("independent", fit.scores[fit.model])
    return fit.shape >= FIRM or gain >= GAIN


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
