"""Shared by the attacks: intervals for success rates, and classes of two tables laid side by side."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import UsageError
from shoal.kernels.group import group_codes
from shoal.kernels.text import canonical_text
from shoal.model.counts.classes import MISSING, ClassCounts, CodeArray, IntArray

Z95 = 1.959963984540054


def wilson(successes: float, tries: float) -> tuple[float, float]:
    """Wilson's 95 % interval for a success rate; defined for 0 and for all successes.

    >>> low, high = wilson(10, 10)
    >>> round(low, 3), high
    (0.722, 1.0)
    """
    if tries <= 0:
        return 0.0, 1.0
    rate = successes / tries
    shrink = 1 + Z95**2 / tries
    middle = (rate + Z95**2 / (2 * tries)) / shrink
    half = Z95 * math.sqrt(rate * (1 - rate) / tries + Z95**2 / (4 * tries**2)) / shrink
    return (0.0 if successes <= 0 else max(0.0, middle - half)), (1.0 if successes >= tries else min(1.0, middle + half))


def expected_rate(chances: npt.NDArray[np.float64], weights: npt.NDArray[Any]) -> tuple[float, float, float]:
    """Expected share of successes when try i succeeds with ``chances[i]``, with a 95 % interval for the realised share.

    The number of successes is Poisson-binomial: mean Σ w p, variance at most Σ w p (1 − p).

    >>> expected_rate(np.array([0.5]), np.array([100]))[0]
    0.5
    """
    tries = float(weights.sum())
    mean = float((weights * chances).sum()) / tries
    spread = math.sqrt(float((weights * chances * (1 - chances)).sum())) / tries
    return mean, max(0.0, mean - Z95 * spread), min(1.0, mean + Z95 * spread)


def texts(categories: Any) -> list[str]:
    """Canonical text of each category."""
    labels: list[str] = canonical_text(categories).to_pylist()
    return labels


def shared_codes(left: ClassCounts, right: ClassCounts) -> tuple[list[CodeArray], list[CodeArray]]:
    """Codes of both tables over one common dictionary per column (compared as canonical text)."""
    if left.columns != right.columns:
        hint = "Count both over the same quasi-identifiers."
        raise UsageError("the two tables were counted over different columns.", hint=hint)
    ours, theirs = [], []
    for j in range(len(left.columns)):
        position = {t: i for i, t in enumerate(texts(left.categories[j]))}
        mapped = [position.setdefault(t, len(position)) for t in texts(right.categories[j])]
        table = np.asarray([*mapped, MISSING], dtype=np.int32)  # the last entry serves code −1
        ours.append(left.codes[j])
        theirs.append(table[right.codes[j]])
    return ours, theirs


def sizes_in(left: ClassCounts, right: ClassCounts) -> tuple[IntArray, IntArray]:
    """For each class of ``left`` the size of the same class in ``right`` (0 where absent), and the reverse."""
    ours, theirs = shared_codes(left, right)
    groups = group_codes([np.concatenate(pair) for pair in zip(ours, theirs, strict=True)])
    mine, other = groups.ids[: left.n_classes], groups.ids[left.n_classes :]
    in_right = np.zeros(groups.n, dtype=np.int64)
    in_left = np.zeros(groups.n, dtype=np.int64)
    np.add.at(in_right, other, right.sizes)
    np.add.at(in_left, mine, left.sizes)
    return in_right[mine], in_left[other]
