"""How far the distribution that a release suggests is from the original one (Kifer and Gehrke 2006)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.api.compare.columns import ComparedColumn
from shoal.kernels.group import count_by, group_codes
from shoal.model.counts.classes import FloatArray

MOST_LOOKED_UP = 20_000_000
"""Original combinations × sets of blank columns; beyond, the number is left out."""


def divergence(inside: Sequence[ComparedColumn], lost: int) -> float | None:
    """Bits of KL divergence between the combinations of the original and those that the release suggests.

    A published record is spread evenly over the combinations it may stand for, a blank cell over all values of its column, and
    a record that was left out over everything. None where some original combination is then impossible.
    """
    own = group_codes([c.leaf for c in inside])
    records = len(inside[0].label) + lost
    every = float(np.prod([c.published.n_values for c in inside if c.published is not None], dtype=np.float64))
    suggested = _suggested(inside, own.first, own.n)
    if suggested is None:
        return None
    guess = (suggested + lost / every) / records
    if (guess <= 0).any():
        return None
    p = count_by(own.ids, own.n) / len(own.ids)
    return max(0.0, float((p * np.log2(p / guess)).sum()))


def _suggested(inside: Sequence[ComparedColumn], first: np.ndarray, n: int) -> FloatArray | None:
    """Published records per original combination (given by its first record), each record spread over what it may stand for."""
    blank, value, label = [], [], []
    volume = np.ones(len(inside[0].label))
    for c in inside:
        assert c.published is not None
        blank.append(c.published.blank[c.label])
        label.append(c.label)
        value.append(c.label_of_value()[c.leaf[first]])
        volume = volume * c.published.covered[c.label]
    patterns = group_codes([b.astype(np.int64) for b in blank])
    if patterns.n * n > MOST_LOOKED_UP:
        return None
    out = np.zeros(n)
    for i, row in enumerate(patterns.first):
        here = np.flatnonzero(patterns.ids == i)
        told = [j for j in range(len(inside)) if not blank[j][row]]
        both = group_codes([np.concatenate((label[j][here], value[j])) for j in told], n_rows=len(here) + n)
        spread = np.bincount(both.ids[: len(here)], weights=1.0 / volume[here], minlength=both.n)
        out += spread[both.ids[len(here) :]]
    return out
