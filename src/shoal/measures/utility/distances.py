"""How far are two distributions apart? Shares of the same values, or numbers, before and after.

Keeps    0 for equal distributions; total variation, Hellinger and Kolmogorov–Smirnov between 0 and 1; symmetric
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.errors import DataError
from shoal.measures.utility.published import PublishedColumn
from shoal.model.counts.classes import FloatArray, IntArray


def total_variation(p: FloatArray, q: FloatArray) -> float:
    """Share of the records that would have to change their value: half the sum of the differences.

    >>> total_variation(np.array([0.5, 0.5]), np.array([1.0, 0.0]))
    0.5
    """
    return min(1.0, 0.5 * float(np.abs(p - q).sum()))


def hellinger(p: FloatArray, q: FloatArray) -> float:
    """Hellinger distance; more sensitive to rare values than total variation.

    >>> hellinger(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    1.0
    """
    return min(1.0, float(np.sqrt(0.5 * ((np.sqrt(p) - np.sqrt(q)) ** 2).sum())))


def kolmogorov_smirnov(before: FloatArray, after: FloatArray) -> float:
    """Largest difference between the shares at or below a number; missing numbers are left out.

    >>> kolmogorov_smirnov(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    0.5
    """
    at, one, two = _steps(before, after)
    return float(np.abs(one - two).max()) if len(at) else 0.0


def wasserstein(before: FloatArray, after: FloatArray) -> float:
    """How far the numbers have to be moved on average to turn one distribution into the other.

    >>> wasserstein(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    1.0
    """
    at, one, two = _steps(before, after)
    return float((np.abs(one - two)[:-1] * np.diff(at)).sum()) if len(at) > 1 else 0.0


def _steps(before: FloatArray, after: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The numbers that occur, and the share of each side at or below them."""
    a, b = np.sort(before[np.isfinite(before)]), np.sort(after[np.isfinite(after)])
    if not len(a) or not len(b):
        return np.zeros(0), np.zeros(0), np.zeros(0)
    at = np.unique(np.concatenate((a, b)))
    return at, np.searchsorted(a, at, side="right") / len(a), np.searchsorted(b, at, side="right") / len(b)


ROUNDS = 50
RIDGE = 1e-6
"""A trace of shrinkage: perfect separation has no finite maximum."""


@dataclass(frozen=True)
class Propensity:
    """``pmse`` lies between 0 and c(1 − c) for a share c of released records; ``ratio`` is about 1 for records sampled again."""

    pmse: float
    most: float
    expected: float
    deviation: float
    parameters: int
    records: int

    @property
    def ratio(self) -> float:
        """pMSE over its expected value for records sampled again from the original."""
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


FLOOR = 0.001
"""Share of the original records below which an answer is taken as this large."""
MOST_COLUMNS = 3


@dataclass(frozen=True, eq=False, repr=False)
class Queried:
    """A column that is asked about: its values per original record (in order), the labels per released record."""

    column: PublishedColumn
    before: IntArray
    after: IntArray


@dataclass(frozen=True)
class QueryErrors:
    """Relative errors of the answers: half are at most ``median``, nine in ten at most ``p90``."""

    queries: int
    mean: float
    median: float
    p90: float


def query_errors(columns: Sequence[Queried], *, queries: int, seed: int) -> QueryErrors:
    """Ask random range counts of both tables; answers of the release are scaled to the records of the original.

    >>> c = PublishedColumn(np.array([2, 2]), np.array([2, 2]), np.array([0, 1]), np.array([0, 1, 2]))
    >>> x = np.array([0, 0, 1, 1])
    >>> query_errors([Queried(c, x, x)], queries=5, seed=1).mean
    0.0
    """
    rng = np.random.default_rng(seed)
    usable = [c for c in columns if c.column.n_values > 1]
    if not usable or not len(usable[0].before) or not len(usable[0].after):
        return QueryErrors(0, 0.0, 0.0, 0.0)
    errors = []
    for _ in range(queries):
        width = int(rng.integers(1, min(MOST_COLUMNS, len(usable)) + 1))
        asked = [usable[i] for i in rng.choice(len(usable), size=width, replace=False)]
        errors.append(_error(asked, [_stretch(c.column, width, rng) for c in asked]))
    found = np.array(errors)
    return QueryErrors(queries, float(found.mean()), float(np.median(found)), float(np.quantile(found, 0.9)))


def _stretch(column: PublishedColumn, width: int, rng: np.random.Generator) -> FloatArray:
    """1 for each value inside a random run of values in their order, as long as leaves about a tenth of the records in all."""
    length = max(1, round(column.n_values * 0.1 ** (1 / width)))
    first = int(rng.integers(0, column.n_values - length + 1))
    inside = np.zeros(column.n_values)
    inside[first : first + length] = 1.0
    return inside


def _error(asked: Sequence[Queried], stretches: Sequence[FloatArray]) -> float:
    n, m = len(asked[0].before), len(asked[0].after)
    truth = np.ones(n, dtype=np.bool_)
    told = np.ones(m)
    for one, inside in zip(asked, stretches, strict=True):
        truth &= inside[one.before] > 0
        told = told * (one.column.per_label(inside) / one.column.covered)[one.after]
    right = float(truth.sum())
    return abs(float(told.sum()) * n / m - right) / max(right, FLOOR * n)
