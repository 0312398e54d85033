r"""How many people of a group are one of a kind.

S is the number of people who share their cell with nobody. Exact for any distribution: mean :math:`k\sum p(1-p)^{k-1}`,
variance, probability that nobody is unique, the full distribution, and the same for groups of any size.

Takes    a distribution (or N for a uniform one) and a group size
Returns  :class:`Singletons`; each number is computed when asked for
Cost     mean and variance O(N); the rest as in :mod:`~shoal.prediction.group.no_singleton` and :mod:`~shoal.prediction.group.pmf`
Source   Koot 2012 ch. 5, corrected (METHODS §4)
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shoal.errors import ShoalWarning, UsageError
from shoal.kernels.quantiles import normal_chances
from shoal.model.estimate import Estimate
from shoal.prediction.distribution import Distribution, Floats, as_distribution, fraction, whole
from shoal.prediction.group import moments as _moments
from shoal.prediction.group import pmf as _pmf
from shoal.prediction.group.pmf import no_singleton
from shoal.prediction.group.tilt import binomial

MOST_CELLS = 5_000_000


def singletons(p: Any, group_size: int, *, normalize: bool = False) -> Singletons:
    """The number of unique people among ``group_size`` drawn from ``p``.

    >>> s = singletons([0.4, 0.3, 0.2, 0.1], group_size=5)
    >>> round(s.mean.value, 12), round(s.variance.value, 12), round(s.p_none.value, 12)
    (1.357, 0.883551, 0.183)
    >>> s.pmf().round(12).tolist()
    [0.183, 0.421, 0.252, 0.144, 0.0]
    >>> round(s.in_groups_of(2).value, 4)  # share of people with exactly one companion
    0.3728
    """
    return Singletons(as_distribution(p, normalize=normalize), whole(group_size, what="group_size"))


@dataclass(frozen=True, eq=False)
class Singletons:
    """The number S of unique people among ``group_size``, for a known distribution."""

    distribution: Distribution
    group_size: int

    @cached_property
    def _two(self) -> tuple[float, float]:
        return _moments.mean_and_variance(self.distribution, self.group_size)

    @cached_property
    def mean(self) -> Estimate:
        """Expected number of unique people."""
        return Estimate.exact(self._two[0], method="k sum p (1-p)^(k-1)")

    @cached_property
    def variance(self) -> Estimate:
        """Variance of the number of unique people."""
        return Estimate.exact(self._two[1], method="pair sum by its product series")

    @property
    def share(self) -> Estimate:
        """Expected share of the group that is unique."""
        k = max(1, self.group_size)
        return Estimate.exact(self._two[0] / k, method="sum p (1-p)^(k-1)")

    @cached_property
    def p_none(self) -> Estimate:
        """Probability that nobody is unique; ``log_value`` where it is tiny."""
        return no_singleton(self.distribution, self.group_size)

    def pmf(self) -> Floats:
        """P(S = s) for s = 0..min(group_size, N); a normal approximation, with a warning, when the exact law is too long."""
        k = self.group_size
        if k <= 1:
            return np.array([1.0] if k == 0 else [0.0, 1.0])
        if self.distribution.occupied == 1:
            return np.array([1.0, 0.0])
        mean, variance = self._two
        sd = math.sqrt(variance)
        if _pmf.cost(self.distribution, k, sd) > _pmf.BUDGET:
            warnings.warn(
                ShoalWarning("the exact distribution of singletons is too long here: this is the normal approximation."),
                stacklevel=2,
            )
            return _normal(mean, sd, top=min(k, self.distribution.occupied))
        out = _pmf.pmf(self.distribution, k, mean, sd)
        if self.p_none.grade == "A":
            out[0] = self.p_none.value
        return out

    def interval(self, level: float = 0.95) -> tuple[int, int]:
        """The central range that holds the number of unique people with probability at least ``level``.

        >>> singletons(365, group_size=23).interval(0.95)
        (18, 23)
        """
        tail = (1 - fraction(level, what="level", closed=False)) / 2
        law = self.pmf().cumsum()
        low, high = int(np.searchsorted(law, tail, side="right")), int(np.searchsorted(law, 1 - tail))
        return low, min(law.size - 1, high)

    def in_groups_of(self, size: int) -> Estimate:
        r"""Expected share of people in groups of exactly ``size``, :math:`\varphi_j=\binom{k-1}{j-1}\sum p^j(1-p)^{k-j}`.

        ``details`` holds the expected number of such ``people`` and ``cells`` and the share of all cells
        (:math:`\gamma_j`). For size 0 the share of people is 0 and ``share_of_cells`` the share of empty cells.
        """
        j, k, d = whole(size, what="size"), self.group_size, self.distribution
        cells = expected_cells(d, k, j)
        details = {"people": j * cells, "cells": cells, "share_of_cells": cells / d.cells}
        notes = ("nobody is in a group of none",) if j == 0 else ()
        return Estimate.exact(j * cells / k if k else 0.0, method="C(k-1,j-1) sum p^j (1-p)^(k-j)", notes=notes, **details)

    def to_json(self) -> dict[str, Any]:
        """The mean with its keys; variance, share and the chance of nobody beside them."""
        out = self.mean.to_json()
        out |= {"group_size": self.group_size, "variance": self._two[1], "share": self.share.value}
        out["p_none"] = {"value": self.p_none.value, "log_value": self.p_none.log_value, "grade": self.p_none.grade}
        return out


def expected_cells(d: Distribution, k: int, j: int) -> float:
    r"""Expected number of cells with exactly j people, :math:`\binom kj\sum p^j(1-p)^{k-j}`, empty cells included for j = 0."""
    empty = float(d.cells - d.occupied) if j == 0 else 0.0
    return empty + d.total(binomial(j, k, d.p, d.log_rest))


def largest_mean(p: Any, *, limit: int | None = None) -> tuple[int, float]:
    """The group size with the most expected singletons, and that number; ``limit`` bounds the search.

    The mean may have several peaks when some cells are much rarer than others; all are looked at on a geometric grid,
    and the best is refined to the exact whole number. Of equal group sizes the smaller is given.

    >>> size, mean = largest_mean(365)
    >>> size, round(mean, 2)
    (364, 134.46)
    """
    d = as_distribution(p)
    top = int(min(8 / max(float(d.p.min()), 1e-300), 2.0**52)) + 2 if limit is None else whole(limit, what="limit", least=1)
    grid = np.unique(np.rint(np.geomspace(1, max(2, top), 400)).astype(np.int64))
    grid = grid[grid <= top]
    values = np.array([_moments.mean(d, int(k)) for k in grid])
    best = (1, 1.0)
    for i in _peaks(values):
        low, high = int(grid[max(0, i - 1)]), int(grid[min(grid.size - 1, i + 1)])
        while high - low > 2:  # a cell's share of the mean rises and falls over far more than a step of the grid: one peak here
            third = (high - low) // 3
            a, b = low + third, high - third
            if _moments.mean(d, a) < _moments.mean(d, b):
                low = a
            else:
                high = b
        for k in range(low, high + 1):
            mean = _moments.mean(d, k)
            if mean > best[1] * (1 + 1e-13):
                best = (k, mean)
    return best


def best_code_size(cells: int, cost: float, *, kappa: float = 0.0, exact_mean: bool = False) -> int:
    r"""People per postal code that maximise :math:`e^{-k/N}(1+a(a-2)\kappa)-C/k` (Koot, example 5.6).

    The more people share a code the fewer of them are unique in their N other cells, but each code costs C.
    ``exact_mean`` puts :math:`(1-1/N)^{k-1}` in place of :math:`e^{-k/N}`. Without an inner optimum
    (C above 4N/e² for kappa = 0) there is nothing to choose: a UsageError.

    >>> best_code_size(95, 1), best_code_size(95, 10), best_code_size(95, 10, exact_mean=True)
    (10, 38, 37)
    """
    n = whole(cells, what="cells", least=1)
    if n > MOST_CELLS or not math.isfinite(cost):
        raise UsageError(f"the best size of a code is sought for at most {MOST_CELLS} cells, and a finite cost.")
    k = np.arange(1, 4 * n + 1, dtype=np.float64)
    a = k / n
    base = np.exp((k - 1) * math.log1p(-1 / n)) if exact_mean and n > 1 else np.exp(-a)
    value = base * (1 + a * (a - 2) * kappa) - cost / k
    inner = np.flatnonzero((value[1:-1] >= value[:-2]) & (value[1:-1] > value[2:])) + 1
    if inner.size == 0 and not value[0] > value[1]:
        hint = f"An inner optimum exists up to a cost of {4 * n / math.e**2:.4g}."
        raise UsageError(f"a cost of {cost:g} per code is too high for {n} cells: no group size is best.", hint=hint)
    candidates = np.append(inner, 0) if value[0] > value[1] else inner
    return int(k[candidates[np.argmax(value[candidates])]])


def _peaks(values: Floats) -> list[int]:
    padded = np.concatenate(([-np.inf], values, [-np.inf]))
    inner = padded[1:-1]
    return np.flatnonzero((inner >= padded[:-2]) & (inner >= padded[2:])).tolist()


def _normal(mean: float, sd: float, *, top: int) -> Floats:
    edges = (np.arange(top + 2) - 0.5 - mean) / max(sd, 1e-12)
    out: Floats = np.diff(normal_chances(np.asarray(edges, dtype=np.float64)))
    out /= out.sum()
    return out
