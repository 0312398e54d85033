"""A sample as counted: the classes with a code per column, and the population that it was drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from shoal.errors import UsageError
from shoal.prediction.distribution import Floats, whole
from shoal.prediction.population.design import Design
from shoal.prediction.population.design import Ints as Ints

RAKED, PRIOR = 10, 2.0
"""Rounds over the columns in which mean weights are fitted, and people of the mean weight that each value is given."""


@dataclass(frozen=True, eq=False)
class Sample:
    """``codes`` (classes × columns, from 0), ``sizes`` of the classes, ``levels`` of each column, ``population``.

    Classes are kept in the order of their codes, so that nothing depends on the order of rows; ``order`` leads back: class
    ``i`` here was class ``order[i]`` of what was given. Without a ``design``, everybody was equally likely.
    """

    codes: Ints
    sizes: Ints
    levels: tuple[int, ...]
    population: int
    order: Ints
    design: Design | None = None

    @classmethod
    def of(cls, codes: Sequence[Any], sizes: Any, population: int, design: Design | None = None) -> Sample:
        """From one code per class and column (a missing value, -1, is a value of its own) and the sizes of the classes."""
        if not codes:
            raise UsageError("a fitted population needs at least one column.", hint="Name the quasi-identifiers.")
        columns = [np.unique(np.asarray(c, dtype=np.int64), return_inverse=True)[1].ravel() for c in codes]
        members = np.asarray(sizes, dtype=np.int64)
        total = whole(population, what="population", least=1)
        if members.size == 0 or int(members.min()) < 1:
            raise UsageError("the sample is empty.", hint="Give the classes of the sample.")
        if int(members.sum()) > total:
            hint = "Check the population size."
            raise UsageError(f"the sample ({int(members.sum())}) is larger than the population ({total}).", hint=hint)
        order = np.lexsort(tuple(reversed(columns))).astype(np.int64)
        table = np.stack([c[order] for c in columns], axis=1)
        levels = tuple(int(c.max()) + 1 for c in columns)
        return cls(table, members[order], levels, total, order, None if design is None else design.ordered(order))

    @property
    def people(self) -> int:
        return int(self.sizes.sum())

    @property
    def rate(self) -> float:
        """Share of the population that was sampled."""
        return self.people / self.population

    @cached_property
    def rates(self) -> Floats:
        """The same for people like those of each class (Skinner & Shlomo): one over their mean weight, as a product of a factor
        for each value. The weight of one person would not do: people who are likely to be sampled are seen more often."""
        out = np.full(self.sizes.size, 1 / self.rate)
        if self.design is None or self.design.equal:
            return 1 / out
        seen = self.design.weights * self.sizes
        for j in list(range(self.columns)) * RAKED:
            real, fitted = (np.bincount(self.codes[:, j], weights=x) for x in (seen, out * self.sizes))
            out *= ((real + PRIOR / self.rate) / (fitted + PRIOR / self.rate))[self.codes[:, j]]
        inside: Floats = 1 / np.clip(out, self.design.weight.min(), self.design.weight.max())
        return inside

    @property
    def effect(self) -> float:
        """How many times the variance of a count can be that of people sampled one by one."""
        return 1.0 if self.design is None else self.design.effect

    @property
    def columns(self) -> int:
        return len(self.levels)

    @cached_property
    def cells(self) -> float:
        """Possible combinations; a float, since they may be astronomically many."""
        return float(np.prod(np.array(self.levels, dtype=np.float64)))

    @cached_property
    def margins(self) -> tuple[Floats, ...]:
        """Share of each value, column by column; drawn a little towards equal shares, so that a value that only left-out
        people have keeps one."""
        out: list[Floats] = []
        for j, k in enumerate(self.levels):
            counts = np.bincount(self.codes[:, j], weights=self.sizes, minlength=k).astype(np.float64)
            weight = min(strength(counts, np.full(k, 1.0 / k)), float(self.people)) if k > 1 else 0.0
            out.append((counts + weight / k) / (self.people + weight))
        return tuple(out)

    def pair(self, i: int, j: int) -> Floats:
        """Counts of two columns together."""
        key = self.codes[:, i] * self.levels[j] + self.codes[:, j]
        counts = np.bincount(key, weights=self.sizes, minlength=self.levels[i] * self.levels[j])
        return counts.astype(np.float64).reshape(self.levels[i], self.levels[j])

    def without(self, left_out: Ints) -> Sample:
        """The sample without some people of each class; classes of nobody stay, so that codes and levels do."""
        return replace(self, sizes=self.sizes - left_out, design=None)


def strength(counts: Floats, centre: Floats) -> float:
    """The Dirichlet weight of ``centre`` under which ``counts`` are most likely."""
    from shoal.kernels.scipy import optimize
    from shoal.kernels.scipy.special import gammaln

    seen = counts > 0
    n, q, total = counts[seen], centre[seen], float(counts.sum())

    def cost(log_alpha: float) -> float:
        alpha = float(np.exp(log_alpha))
        return -float((gammaln(n + alpha * q) - gammaln(alpha * q)).sum() + gammaln(alpha) - gammaln(total + alpha))

    fit = optimize.minimize_scalar(cost, bounds=(0.0, np.log(1e4 * total + 1e4)), method="bounded", options={"xatol": 1e-3})
    return float(np.exp(fit.x))
