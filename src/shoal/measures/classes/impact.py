r"""What an attacker may learn, weighed by what it is worth: chance times impact.

From the class of a person an attacker guesses its most common value of a sensitive column, and is right with the largest share
of a value in the class (1 where all are alike, never below one over the size of the class). With a weight :math:`w_s` for each
column, a person's expected impact is :math:`\sum_sw_s\max_vp(v\mid c)`. *Without the table* the guess is the most common value of
all: :math:`\sum_sw_s\max_vp(v)`. The difference is what the classes add.

Takes    ClassCounts with sensitive columns, and a weight of at least 0 per column (any unit; 0 leaves a column out)
Keeps    without ≤ mean ≤ max ≤ worth, the sum of the weights
Source   Harel, Shabtai, Rokach & Elovici 2012 (M-score: weights of values); risk as chance times impact
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.errors import UsageError
from shoal.model.counts.classes import ClassCounts, FloatArray, SensitiveCounts


@dataclass(frozen=True)
class Impact:
    """``mean`` and ``max`` expected impact of a person, ``without`` the table, ``worth``: all is known; ``chances`` by column."""

    mean: float
    max: float
    without: float
    worth: float
    chances: Mapping[str, float]
    """Mean chance that the value of a column is guessed."""
    weights: Mapping[str, float]

    @property
    def sentence(self) -> str:
        return (
            f"Chance times impact: {self.mean:.4g} of {self.worth:.4g} for a person on average, {self.max:.4g} at worst; "
            f"{self.without:.4g} by guessing without the table."
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "mean": self.mean,
            "max": self.max,
            "without": self.without,
            "worth": self.worth,
            "chances": dict(self.chances),
            "weights": dict(self.weights),
            "sentence": self.sentence,
        }


def impact(counts: ClassCounts, weights: Mapping[str, float]) -> Impact:
    """Expected impact over all members of all classes.

    >>> ill = SensitiveCounts.from_dense("ill", [[2, 0], [1, 1]])
    >>> found = impact(ClassCounts((2, 2), sensitive={"ill": ill}), {"ill": 4})
    >>> found.mean, found.max, found.without, found.worth
    (3.0, 4.0, 3.0, 4.0)
    """
    checked = _checked(counts, weights)
    sizes = np.asarray(counts.sizes, dtype=np.float64)
    each = np.zeros(len(sizes))
    without, chances = 0.0, {}
    for name, weight in checked.items():
        chance = guessed(counts.sensitive[name], len(sizes))
        chances[name] = float((sizes * chance).sum() / sizes.sum())
        each += weight * chance
        without += weight * _most_common(counts.sensitive[name])
    mean = float((sizes * each).sum() / sizes.sum())
    return Impact(mean, float(each.max()), without, math.fsum(checked.values()), chances, checked)


def guessed(found: SensitiveCounts, classes: int) -> FloatArray:
    """For each class the largest share of one value.

    >>> guessed(SensitiveCounts.from_dense("ill", [[2, 0], [1, 3]]), 2).tolist()
    [1.0, 0.75]
    """
    most, total = np.zeros(classes), np.zeros(classes)
    np.maximum.at(most, found.classes, found.counts)
    np.add.at(total, found.classes, found.counts)
    return np.divide(most, total, out=np.zeros(classes), where=total > 0)


def _most_common(found: SensitiveCounts) -> float:
    _, place = np.unique(found.values, return_inverse=True)
    totals = np.bincount(place.ravel(), weights=found.counts)
    return float(totals.max() / totals.sum())


def _checked(counts: ClassCounts, weights: Mapping[str, float]) -> dict[str, float]:
    out = {}
    for name, weight in weights.items():
        if name not in counts.sensitive:
            raise UsageError(f"an impact is given for '{name}', which is not sensitive.", hint="Name it with --sensitive, too.")
        value = float(weight)
        if not math.isfinite(value) or value < 0:
            raise UsageError("an impact is a number of at least 0.", hint="For example diagnosis=5,income=1.")
        out[name] = value
    if not any(out.values()):
        raise UsageError("no impact is above 0.", hint="For example diagnosis=5,income=1.")
    return out
