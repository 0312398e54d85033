r"""Samples of whole households, and of people with unequal chances: what each class shows of those who were not sampled.

The units that are sampled are people, or clusters of which everybody is sampled. Unit h is sampled by itself with a known chance
:math:`\pi_h`, one over its weight. If a class of the sample has f people, m of them of unit h, then without h it would have
f − m, and h would be one of those not sampled. So :math:`m\,(w_h-1)` estimates without bias how many people who were not
sampled look like classes of f − m people (Good; Horvitz & Thompson). Pairs inside one unit do not count.

To count classes by size at one rate, each unit is thinned to the least rate. The expected numbers are computed, not simulated:
they vary less than those of one thinned sample. Counts of classes that share a cluster vary together: the variance of a sum over
classes adds the products of all classes with a common unit.

Takes    the class of each person of the sample, and weights or clusters
Returns  :class:`Design`
Source   Horvitz & Thompson 1952; Skinner & Elliot 2002; Skinner & Shlomo 2008 (rates of records)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from shoal.errors import UsageError
from shoal.prediction.distribution import Floats

Ints = np.ndarray[Any, np.dtype[np.int64]]
NEAR = 1e-6
MOST_PRODUCTS = 1e7
MOST_MEMBERS = 12
"""Mean size of clusters above which they are not taken as households of which everybody was sampled."""
SHARED = 0.05
"""Share of people with a combination that another person of their cluster has, above which no interval is graded B."""


@dataclass(frozen=True, eq=False)
class Design:
    """One entry per class and unit: the class, the unit, its members in the class, and its weight (one over its chance)."""

    of_class: Ints
    unit: Ints
    members: Ints
    weight: Floats
    classes: int

    @classmethod
    def of(cls, of_class: Any, population: int, *, weight: Any = None, cluster: Any = None) -> Design:
        """From the class of each person, and the weight and the cluster of each, where there are any.

        Weights are scaled to the population, so that relative ones will do. All of a cluster must have the same weight.
        """
        place = np.asarray(of_class, dtype=np.int64)
        people = place.size
        heavy = np.ones(people) if weight is None else np.asarray(weight, dtype=np.float64)
        if not bool(np.all(np.isfinite(heavy) & (heavy > 0))):
            raise UsageError("sampling weights must be positive numbers.", hint="Remove people without a weight.")
        heavy = np.maximum(heavy * population / heavy.sum(), 1.0)
        unit = np.arange(people) if cluster is None else np.unique(np.asarray(cluster), return_inverse=True)[1].ravel()
        if people > MOST_MEMBERS * (units := int(unit.max()) + 1):
            hint = "--cluster is for households of which everybody was sampled; two-stage samples (villages) are not covered."
            raise UsageError(f"clusters have {people / units:.3g} people on average, more than households have.", hint=hint)
        most, least = np.zeros(units), np.full(units, np.inf)
        np.maximum.at(most, unit, heavy)
        np.minimum.at(least, unit, heavy)
        if bool(np.any(most > least * (1 + NEAR))):
            hint = "--cluster is for clusters of which everybody was sampled."
            raise UsageError("people of one cluster have different weights.", hint=hint)
        key, members = np.unique(place * units + unit, return_counts=True)
        classes, of_unit = np.divmod(key, units)
        return cls(classes, of_unit, members.astype(np.int64), most[of_unit], int(place.max()) + 1)

    def ordered(self, order: Ints) -> Design:
        """The same with class ``order[i]`` as class i."""
        back = np.empty_like(order)
        back[order] = np.arange(order.size)
        return replace(self, of_class=back[self.of_class])

    @cached_property
    def equal(self) -> bool:
        """Whether everybody had the same chance."""
        return bool(self.weight.max() <= self.weight.min() * (1 + NEAR))

    @cached_property
    def people(self) -> Ints:
        """People of the sample in each class."""
        return np.bincount(self.of_class, weights=self.members, minlength=self.classes).astype(np.int64)

    @cached_property
    def units(self) -> Ints:
        """Units of the sample in each class."""
        return np.bincount(self.of_class, minlength=self.classes).astype(np.int64)

    @cached_property
    def weights(self) -> Floats:
        """Mean weight of the people of each class."""
        out: Floats = np.bincount(self.of_class, weights=self.members * self.weight, minlength=self.classes) / self.people
        return out

    @cached_property
    def effect(self) -> float:
        """How many times the variance of a count can be that of people sampled one by one: the mean size of the clusters."""
        sizes = np.bincount(self.unit, weights=self.members)
        return float((sizes**2).sum() / sizes.sum())

    @cached_property
    def mixed(self) -> bool:
        """Whether many people have a combination that another person of their cluster has."""
        return float(self.members[self.members > 1].sum()) > SHARED * float(self.members.sum())

    def unseen(self, least: int, most: float = np.inf, *, each: bool = False, times_rest: bool = False) -> Floats:
        """Per class, its part of the people not sampled who look like a class of ``least`` to ``most`` people of the sample:
        all of them, those per person of that class (``each``), or all times the weights of that class (``times_rest``)."""
        rest = self.people[self.of_class] - self.members
        part: Floats = self.members * (self.weight - 1)
        if each:
            part = part / np.maximum(rest, 1)
        if times_rest:
            part = part * ((self.weights * self.people)[self.of_class] - self.members * self.weight)
        part = np.where((rest >= least) & (rest <= most), part, 0.0)
        return np.bincount(self.of_class, weights=part, minlength=self.classes).astype(np.float64)

    def variance(self, parts: Floats) -> float:
        """Of the sum of a number per class: products of all classes that have a unit in common."""
        here = parts[self.of_class] != 0
        unit, row = self.unit[here], self.of_class[here]
        order = np.argsort(unit, kind="stable")
        row = row[order]
        _, start, place, size = np.unique(unit[order], return_index=True, return_inverse=True, return_counts=True)
        if float((size.astype(np.float64) ** 2).sum()) > MOST_PRODUCTS:  # large clusters: never less than the products
            return float((np.bincount(place, weights=parts[row]) ** 2).sum())
        times = size[place]
        one = np.repeat(row, times)
        other = row[np.repeat(start[place], times) + np.arange(one.size) - np.repeat(np.cumsum(times) - times, times)]
        both = np.unique(one * self.classes + other)
        return float((parts[both // self.classes] * parts[both % self.classes]).sum())

    def as_count(self, parts: Floats, empty: float) -> tuple[float, float]:
        """The sum of a number per class as a Poisson count of the same relative variance, and what each of it stands for;
        ``empty`` if nothing was counted."""
        total = float(parts.sum())
        if total <= 0:
            return 0.0, empty
        number: float = min(total**2 / self.variance(parts), float(np.count_nonzero(parts)))
        return number, total / number

    def pairs(self) -> tuple[float, float, float]:
        """The unseen people who look like a sample unique: as a number of pairs, of threes, and of people for each pair."""
        pairs, each = self.as_count(self.unseen(1, 1), 2 * float(self.weight.mean() - 1))
        twos, threes = (int(np.count_nonzero(self.units == j)) for j in (2, 3))
        return pairs, pairs * threes / max(twos, 1), each

    def seen(self, most: int) -> tuple[Floats, Floats]:
        """Classes of 1 … ``most`` units, and of more, expected in a sample thinned to the least rate; and how many times the
        variance of each is that of a Poisson count."""
        chance = np.zeros((self.classes, most + 2))
        chance[:, 0] = 1.0
        order = np.argsort(self.of_class, kind="stable")
        kept = (self.weight / self.weight.max())[order]
        first = np.concatenate([[0], np.cumsum(self.units)])[:-1]
        for turn in range(int(self.units.max())):
            here = np.flatnonzero(self.units > turn)
            p, now = kept[first[here] + turn][:, None], chance[here]
            moved = np.concatenate([np.zeros((here.size, 1)), now[:, :-1]], axis=1)
            moved[:, -1] += now[:, -1]
            chance[here] = now * (1 - p) + moved * p
        numbers = chance.sum(axis=0)[1:]
        spread = np.ones(most + 1)
        for j in range(most + 1):
            shown = ((self.units == j + 1) if j < most else (self.units > most)).astype(np.float64)
            spread[j] = max(1.0, self.variance(shown) / max(float(shown.sum()), 1.0))
        return numbers, spread
