"""Intervals with equal numbers of records, from the data's own quantiles.

Takes    numbers of groups that divide one another, such as 20, 10, 5
Returns  nested levels whose cut points are quantiles, moved to the roundest number between the two neighbouring values
Keeps    every group holds at least ``min_count`` records (neighbours are joined); a cut point is never needed more exactly
         than the gap it lies in, so it is no record's value unless the gap leaves no other number
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.errors import EmptyTableError, HierarchyError, UsageError
from shoal.hierarchies.builders.number.intervals import interval_labels
from shoal.hierarchies.rule import Rule, register_rule
from shoal.hierarchies.values import counts_of, is_text, texts_of
from shoal.kernels.numbers import numbers_of
from shoal.steps import Cut


@register_rule
@dataclass(frozen=True)
class Quantiles(Rule):
    """Level i has (at most) ``groups[i−1]`` groups of about equal size.

    >>> rule = Quantiles((4, 2)).fit("income", [str(v) for v in range(1, 101)])
    >>> rule.cuts
    ((26.0, 51.0, 76.0), (51.0,))
    """

    groups: tuple[int, ...] = (20, 10, 5)
    min_count: int = 1
    cuts: tuple[tuple[float, ...], ...] | None = None
    integer: bool = False
    kind: ClassVar[str] = "quantiles"

    def __post_init__(self) -> None:
        if any(g < 2 for g in self.groups) or any(a <= b or a % b for a, b in zip(self.groups, self.groups[1:], strict=False)):
            raise HierarchyError("the numbers of quantile groups must divide one another and fall.", hint="Such as 20, 10, 5.")

    @property
    def inner(self) -> int:
        return len(self.groups)

    def fit(self, column: str, values: Any, counts: Any = None) -> Quantiles:
        if self.cuts is not None:
            return self
        known = values if hasattr(values, "null_count") else texts_of(column, values)
        numbers, sizes = numbers_of(column, known), counts_of(known, counts)
        if not len(numbers):
            raise EmptyTableError(f"column '{column}' has no value to take quantiles of.")
        order = np.argsort(numbers, kind="stable")
        numbers, below = numbers[order], np.cumsum(sizes[order])
        integer = bool((numbers == np.floor(numbers)).all())
        wanted = [below[-1] * i / self.groups[0] for i in range(1, self.groups[0])]
        # Cut after the value at which the target rank is reached; cuts of coarser levels are every m-th of the finest.
        after = [min(int(np.searchsorted(below, w)), len(numbers) - 2) for w in wanted] if len(numbers) > 1 else []
        levels, finest = [], _far_enough(after, below, self.min_count)
        for number in self.groups:
            share = self.groups[0] // number
            coarse = set(after[share - 1 :: share])
            levels.append(tuple(roundest(numbers[i], numbers[i + 1], integer) for i in finest if i in coarse))
        return dataclasses.replace(self, cuts=tuple(levels), integer=integer, on_text=self.on_text or is_text(values))

    def _inner_step(self, column: str, level: int, missing_label: str | None) -> Cut:
        if self.cuts is None:
            raise UsageError(
                f"the quantiles of '{column}' are not known yet.", hint="Call rule.fit(column, values, counts) first."
            )
        points = self.cuts[level - 1]
        return Cut(column, points, interval_labels(points, integer=self.integer), "left", missing_label)


def _far_enough(after: list[int], below: Any, min_count: int) -> list[int]:
    """The cuts that leave at least ``min_count`` records on both sides of each."""
    kept: list[int] = []
    start = 0
    for i in sorted(set(after)):
        if below[i] - start >= min_count and below[-1] - below[i] >= min_count:
            kept.append(i)
            start = below[i]
    return kept


def roundest(a: float, b: float, integer: bool = False) -> float:
    """The number in (a, b] with the fewest digits: a cut point that separates a from b.

    >>> roundest(49_873.0, 51_020.0), roundest(0.31, 0.39), roundest(7.0, 8.0)
    (50000.0, 0.35, 8.0)
    """
    a, b = float(a), float(b)
    if a < 0 < b:
        return 0.0
    power = math.floor(math.log10(b - a)) + 1 if b > a else 0
    for exponent in range(power, power - 20, -1):
        for multiple in (5, 2, 1) if exponent < power else (1,):
            unit = multiple * 10.0**exponent
            if not 0 < unit < math.inf or not math.isfinite(a / unit):
                continue
            found = round((math.floor(a / unit) + 1) * unit, 12)
            if a < found <= b:
                return float(math.ceil(found)) if integer and a < math.ceil(found) <= b else found
    return b
