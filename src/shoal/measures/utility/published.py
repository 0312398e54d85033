"""What a published column still tells, from its labels alone: no record has to be matched with its original.

Every label of a release stands for a set of original values. How coarse a cell is, how many bits it contains, and what it reveals
about a sensitive value depend on its label and on the frequencies of the original, so counts of labels are enough.

Takes    records of the original per value, records of the release per label, the values each label stands for
Returns  the losses of :mod:`~shoal.measures.utility.recoding_loss`, column by column
Keeps    equal to the losses of a Recoding wherever the records can be matched; None where a number is not defined
Source   METHODS §20
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import InternalError
from shoal.model.counts.classes import FloatArray, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class PublishedColumn:
    """One column of a release over the values of the original.

    Parameters
    ----------
    before : array of int
        Records of the original at each value (0 for values that only a hierarchy knows). A missing value is a value of its own.
    after : array of int
        Records of the release with each label.
    members, starts : arrays of int
        The values each label stands for, one label after the other, and where each begins (and the last ends).
    lost : int
        Records of the original that were left out of the release.
    numbers : array of float, optional
        The number that each value is; NaN for a missing one.
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
        out: IntArray = np.diff(self.starts)
        return out

    @cached_property
    def share(self) -> FloatArray:
        """Frequency of each value in the original."""
        out: FloatArray = self.before / max(1, int(self.before.sum()))
        return out

    def per_label(self, of_value: FloatArray) -> FloatArray:
        """Sum of a number per value over the values of each label."""
        out: FloatArray = np.add.reduceat(of_value[self.members], self.starts[:-1])
        return out

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
        out: FloatArray = np.where(count > 0, total / np.maximum(count, 1.0), np.nan)
        return out


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
    mass, entropy = _mass(c), entropy_bits(c.share)
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


def _mass(c: PublishedColumn) -> FloatArray:
    """Share of the original records inside the values of each label."""
    return np.minimum(c.per_label(c.share), 1.0)


def _inner_entropy(c: PublishedColumn, mass: FloatArray) -> FloatArray:
    p = c.share
    plogp = np.where(p > 0, p * np.log2(np.where(p > 0, p, 1.0)), 0.0)
    safe = np.where(mass > 0, mass, 1.0)
    out: FloatArray = np.maximum(np.log2(safe) - c.per_label(plogp) / safe, 0.0)
    return out


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


def private_information(c: PublishedColumn, before: Any, after: Any) -> tuple[float, float] | None:
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
        told = np.where(after > 0, -np.log2(np.where(after > 0, chance, 1.0)) * after, 0.0).sum() / n
        blank = np.where(gone > 0, -np.log2(np.where(gone > 0, total / n, 1.0)) * gone, 0.0).sum() / n
    loss = max(0.0, float(told + blank))
    return entropy_bits(np.asarray(total / n)) - loss, loss
