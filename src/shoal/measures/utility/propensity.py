"""Can a model tell released records from original ones? The propensity score mean squared error (pMSE).

A logistic regression learns which of the two tables a record is from. pMSE is how far its scores are from the share of released
records; 0 if it learns nothing. Its expected value for records drawn anew from the distribution of the original is known, so the
ratio to it says whether the distance is more than that.

Takes    features of original and released records, one row each
Source   Woo, Reiter, Oganian and Karr 2009; Snoke, Raab, Nowok, Dibben and Slavkovic 2018 (expected value and standard deviation)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.errors import DataError
from shoal.model.counts.classes import FloatArray

ROUNDS = 50
RIDGE = 1e-6
"""A trace of shrinkage: perfect separation has no finite maximum."""


@dataclass(frozen=True)
class Propensity:
    """``pmse`` lies between 0 and c(1 − c) for a share c of released records; ``ratio`` is about 1 for records drawn anew."""

    pmse: float
    most: float
    expected: float
    deviation: float
    parameters: int
    records: int

    @property
    def ratio(self) -> float:
        """pMSE over its expected value for records drawn anew from the original."""
        return self.pmse / self.expected if self.expected > 0 else 0.0

    @property
    def standardized(self) -> float:
        """Standard deviations above the expected value."""
        return (self.pmse - self.expected) / self.deviation if self.deviation > 0 else 0.0


def propensity(before: FloatArray, after: FloatArray) -> Propensity:
    """Fit the scores and compare them with the share of released records.

    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(500, 2))
    >>> same = propensity(x, x)
    >>> round(same.pmse, 9), same.parameters
    (0.0, 3)
    >>> round(propensity(x, x + 100).pmse, 3)
    0.25
    """
    if not len(before) or not len(after):
        raise DataError("propensity scores need records on both sides.", hint="Check what was released.")
    x = np.vstack((before, after))
    spread = x.std(axis=0)
    x = x[:, spread > 0]
    x = np.column_stack((np.ones(len(x)), (x - x.mean(axis=0)) / x.std(axis=0)))
    x = x[:, _independent(x)]
    y = np.concatenate((np.zeros(len(before)), np.ones(len(after))))
    c = len(after) / len(y)
    score = _scores(x, y)
    width = x.shape[1]
    expected = (width - 1) * (1 - c) ** 2 * c / len(y)
    deviation = np.sqrt(2 * (width - 1)) * (1 - c) ** 2 * c / len(y)
    pmse = float(((score - c) ** 2).mean())
    return Propensity(pmse if pmse > 1e-15 else 0.0, c * (1 - c), expected, float(deviation), width, len(y))


def _independent(x: FloatArray) -> list[int]:
    """Columns that are not combinations of those before them (pivots of a Cholesky factor of the Gram matrix)."""
    gram = x.T @ x / len(x)
    kept: list[int] = []
    for j in range(x.shape[1]):
        if kept:
            inner = gram[np.ix_(kept, kept)]
            rest = gram[j, j] - gram[kept, j] @ np.linalg.solve(inner, gram[kept, j])
        else:
            rest = gram[j, j]
        if rest > 1e-8 * max(1.0, gram[j, j]):
            kept.append(j)
    return kept


def _scores(x: FloatArray, y: FloatArray) -> FloatArray:
    """Logistic regression by Newton's method with halved steps; fitted probabilities."""
    weight = np.zeros(x.shape[1])
    penalty = RIDGE * np.eye(x.shape[1])
    penalty[0, 0] = 0.0
    best = _likelihood(x, y, weight)
    for _ in range(ROUNDS):
        p = 1.0 / (1.0 + np.exp(-np.clip(x @ weight, -500, 500)))
        slope = x.T @ (y - p) - len(y) * penalty @ weight
        curve = (x * (p * (1 - p))[:, None]).T @ x + len(y) * penalty
        step = np.linalg.lstsq(curve, slope, rcond=None)[0]
        size = 1.0
        while size > 1e-4 and _likelihood(x, y, weight + size * step) < best:
            size /= 2
        new = _likelihood(x, y, weight + size * step)
        if new < best or size <= 1e-4:
            break
        weight, gain, best = weight + size * step, new - best, new
        if gain < 1e-10 * max(1.0, abs(best)):
            break
    out: FloatArray = 1.0 / (1.0 + np.exp(-np.clip(x @ weight, -500, 500)))
    return out


def _likelihood(x: FloatArray, y: FloatArray, weight: FloatArray) -> float:
    z = x @ weight
    return float((y * z - np.logaddexp(0.0, z)).sum() - 0.5 * len(y) * RIDGE * (weight[1:] @ weight[1:]))
