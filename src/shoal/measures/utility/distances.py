"""How far are two distributions apart? Shares of the same values, or numbers, before and after.

Keeps    0 for equal distributions; total variation, Hellinger and Kolmogorov–Smirnov between 0 and 1; symmetric

What a published column still tells, from its labels alone: no record has to be matched with its original.

Every label of a release stands for a set of original values. How coarse a cell is, how many bits it contains, and what it reveals
about a sensitive value depend on its label and on the frequencies of the original, so counts of labels are enough.

Takes    records of the original per value, records of the release per label, the values each label stands for
Returns  granularity, certainty penalty, entropies, mutual and private information, column by column
Keeps    equal to the losses of matched records (tests/recoding_oracle.py); None where a number is not defined
Source   METHODS §20, §22 (2e, 2g, 2h); Iyengar 2002; Gionis & Tassa 2009; Goldberger & Tassa 2010
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, InternalError
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
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(x @ weight, -500, 500))))


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
    values = np.array(errors)
    return QueryErrors(queries, float(values.mean()), float(np.median(values)), float(np.quantile(values, 0.9)))


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
    factor = np.ones(m)
    for one, inside in zip(asked, stretches, strict=True):
        truth &= inside[one.before] > 0
        factor = factor * (one.column.per_label(inside) / one.column.covered)[one.after]
    right = float(truth.sum())
    return abs(float(factor.sum()) * n / m - right) / max(right, FLOOR * n)


@dataclass(frozen=True, eq=False, repr=False)
class PublishedColumn:
    """One column of a release over the values of the original.

    ``before`` are the records of the original at each value (0 for values that only a hierarchy knows; a missing value is a value
    of its own), ``after`` those of the release with each label. ``members`` are the values that each label stands for, one label
    after the other; ``starts`` says where each begins (and the last ends). ``lost`` records of the original are not in the
    release. ``numbers`` has the number that each value is; NaN for a missing one.
    """

    before: IntArray
    after: IntArray
    members: IntArray
    starts: IntArray
    lost: int = 0
    numbers: FloatArray | None = None

    def __post_init__(self) -> None:
        if len(self.starts) != len(self.after) + 1 or int(self.starts[-1]) != len(self.members) or (self.covered < 1).any():
            raise InternalError("the labels of a published column and their values do not fit together.")

    @property
    def n_values(self) -> int:
        return len(self.before)

    @property
    def records(self) -> int:
        """Records that are charged: those published and those left out."""
        return int(self.after.sum()) + self.lost

    @cached_property
    def covered(self) -> IntArray:
        """How many values each label stands for."""
        return np.asarray(np.diff(self.starts))

    @cached_property
    def share(self) -> FloatArray:
        """Frequency of each value in the original."""
        return np.asarray(self.before / max(1, int(self.before.sum())))

    def per_label(self, of_value: FloatArray) -> FloatArray:
        """Sum of a number per value over the values of each label."""
        return np.asarray(np.add.reduceat(of_value[self.members], self.starts[:-1]))

    @cached_property
    def apart(self) -> bool:
        """Whether no two labels share a value, so that each original value has at most one label (blank cells put aside)."""
        inner = self.members[np.repeat(~self.blank, self.covered)]
        return len(np.unique(inner)) == len(inner)

    @cached_property
    def blank(self) -> npt.NDArray[np.bool_]:
        """Which labels stand for every value and so tell nothing; none where there is one value only."""
        out: npt.NDArray[np.bool_] = (self.covered == self.n_values) & (self.n_values > 1)
        return out

    @cached_property
    def whole(self) -> bool:
        """Whether the release can be the original, recoded: as many records, and no label more often than its values were."""
        if self.records != int(self.before.sum()):
            return False
        most = self.per_label(self.before.astype(np.float64))
        return bool((self.after <= most + 0.5).all())

    def spread(self) -> FloatArray:
        """The shares of the values that a reader would guess: each label's records spread evenly over its values."""
        each = self.after / np.maximum(self.covered, 1)
        out = np.bincount(self.members, weights=np.repeat(each, self.covered), minlength=self.n_values)
        return np.asarray(out / max(1, int(self.after.sum())), dtype=np.float64)

    def middle(self) -> FloatArray:
        """The mean of the numbers that each label stands for; NaN where it stands for none."""
        if self.numbers is None:
            raise InternalError("a column without numbers has no middle.")
        known = np.isfinite(self.numbers)
        total = self.per_label(np.where(known, self.numbers, 0.0))
        count = self.per_label(known.astype(np.float64))
        return np.asarray(np.where(count > 0, total / np.maximum(count, 1.0), np.nan))


def column_losses(c: PublishedColumn) -> dict[str, float | None]:
    """Granularity, certainty penalty, ARX's loss, monotone and non-uniform entropy, mutual information of one column.

    >>> c = PublishedColumn(np.array([3, 2, 3, 4]), np.array([5, 7]), np.array([0, 1, 2, 3]), np.array([0, 2, 4]))
    >>> found = column_losses(c)
    >>> round(found["mutual_information_utility"], 7), round(found["mutual_information_loss"], 7)
    (0.9798688, 0.9792792)
    >>> round(12 * found["monotone_entropy"], 7), round(found["granularity"], 4)
    (6.0458286, 0.3333)
    """
    weight = c.after / max(1, c.records)
    lost = c.lost / max(1, c.records)
    steps = max(1, c.n_values - 1)
    penalty = float((weight * (c.covered - 1)).sum() / steps + (lost if c.n_values > 1 else 0.0))
    mass = np.minimum(c.per_label(c.share), 1.0)  # share of the original records inside the values of each label
    entropy = entropy_bits(c.share)
    known = bool((mass[c.after > 0] > 0).all())
    utility = max(0.0, -float((weight * np.log2(np.where(mass > 0, mass, 1.0))).sum())) if known else None
    loss = entropy - utility if utility is not None and c.whole else None
    loss = None if loss is None or loss < -1e-9 else max(0.0, loss)
    return {
        "granularity": _granularity(c, weight, lost),
        "certainty_penalty": penalty,
        "monotone_entropy": float((weight * mass * _inner_entropy(c, mass)).sum() + lost * entropy),
        "nonuniform_entropy": None if loss is None else loss * c.records,
        "mutual_information_utility": utility,
        "mutual_information_loss": loss,
        "entropy": entropy,
    }


def entropy_bits(p: FloatArray) -> float:
    """Shannon entropy in bits.

    >>> entropy_bits(np.array([0.5, 0.5, 0.0]))
    1.0
    """
    seen = p[p > 0]
    return max(0.0, float(-(seen * np.log2(seen)).sum()))


def _inner_entropy(c: PublishedColumn, mass: FloatArray) -> FloatArray:
    p = c.share
    plogp = np.where(p > 0, p * np.log2(np.where(p > 0, p, 1.0)), 0.0)
    safe = np.where(mass > 0, mass, 1.0)
    return np.asarray(np.maximum(np.log2(safe) - c.per_label(plogp) / safe, 0.0))


def _granularity(c: PublishedColumn, weight: FloatArray, lost: float) -> float:
    """By width for numbers, by values for the rest; a label with a missing value among its numbers by values."""
    if c.n_values <= 1:
        return 0.0
    cost = (c.covered - 1) / (c.n_values - 1)
    if c.numbers is not None and np.isfinite(c.numbers).sum() > 1:
        seen = c.numbers[np.isfinite(c.numbers)]
        width = float(seen.max() - seen.min())
        inner = c.numbers[c.members]
        span = np.maximum.reduceat(inner, c.starts[:-1]) - np.minimum.reduceat(inner, c.starts[:-1])  # NaN spreads
        cost = np.where(np.isfinite(span), span / width if width > 0 else 0.0, cost)
    cost = np.where(c.blank, 1.0, cost)
    return float((weight * cost).sum() + lost)


def private_information(c: PublishedColumn, before: FloatArray, after: FloatArray) -> tuple[float, float] | None:
    """Bits that a column tells about a sensitive value per cell, and bits that it leaves open; None where they are not defined.

    ``before`` counts the original records by value and sensitive value, ``after`` the published ones by label and sensitive value
    (matrices with the same sensitive columns).

    >>> c = PublishedColumn(np.array([3, 2, 3, 4]), np.array([5, 7]), np.array([0, 1, 2, 3]), np.array([0, 2, 4]))
    >>> y = np.array([[2, 1], [1, 1], [0, 3], [2, 2]])
    >>> u, loss = private_information(c, y, np.array([[3, 2], [2, 5]]))
    >>> round(u + loss, 6)
    0.979869
    """
    total = before.sum(axis=0)
    gone = total - after.sum(axis=0)
    if not c.whole or (gone < 0).any():
        return None
    inside = np.add.reduceat(before[c.members], c.starts[:-1], axis=0)
    if (inside[after > 0] <= 0).any():
        return None
    chance = inside / np.maximum(inside.sum(axis=1, keepdims=True), 1)
    n = float(total.sum())
    with np.errstate(divide="ignore"):
        bits = np.where(after > 0, -np.log2(np.where(after > 0, chance, 1.0)) * after, 0.0).sum() / n
        blank = np.where(gone > 0, -np.log2(np.where(gone > 0, total / n, 1.0)) * gone, 0.0).sum() / n
    loss = max(0.0, float(bits + blank))
    return entropy_bits(np.asarray(total / n)) - loss, loss
