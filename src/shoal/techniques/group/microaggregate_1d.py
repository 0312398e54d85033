"""Univariate optimal microaggregation as a step."""

from __future__ import annotations

from typing import Any

from shoal.hierarchies.values import counts_of
from shoal.model.plan import Step
from shoal.techniques.columns import distinct_numbers
from shoal.techniques.group.optimal_1d import CostName, Publish, optimal_groups
from shoal.techniques.group.ranked import Ranked
from shoal.techniques.group.spilled import spilled_groups, spilled_step


def microaggregate_1d(
    column: str,
    values: Any,
    counts: Any = None,
    *,
    k: int,
    cost: CostName = "sse",
    publish: Publish = "mean",
    decimals: int | None = None,
) -> Step:
    """The step by which each value becomes the mean (median, interval) of its group.

    ``values`` are distinct values of the column (texts or a pyarrow array) with their ``counts``, or
    :class:`~shoal.techniques.group.ranked.Ranked` numbers on disk.

    >>> microaggregate_1d("x", ["1", "3", "4", "7", "12"], k=2, publish="interval").labels
    ('<5', '5+')
    """
    if isinstance(values, Ranked):
        return spilled_step(column, values, spilled_groups(values, k, cost), publish, decimals)
    x = distinct_numbers(column, values)
    groups = optimal_groups(x, k, cost=cost, weights=counts_of(x, counts), column=column)
    return groups.step(column, publish, decimals=decimals)
