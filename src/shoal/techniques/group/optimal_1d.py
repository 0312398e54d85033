"""Optimal groups of one numeric column: every group holds at least k records and the cost is least.

Takes    numbers (with counts), k ≥ 1, a cost
Returns  groups of neighbours in sorted order, their cost, and the step that publishes them
Keeps    every group ≥ k; none that could be cut in two has more than 2k − 1 members (ties apart); equal values stay together
Cost     O(n log n) to sort, then O(n log k)
Source   Hansen and Mukherjee 2003 (SSE); the other costs by the same recursion
Differs  for the cellular cost groups of neighbours need not be best of all groupings, but only they can be published

========== ============================================== ==========
cost       of a group                                     combined
========== ============================================== ==========
sse        Σ(x − mean)²                                   sum
median     Σ|x − median|                                  sum
cellular   half the width × records                       sum
center     half the width                                 maximum
rank       ⌊g²/4⌋, g records: distance in ranks to median sum
========== ============================================== ==========
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.errors import DataError, UsageError
from shoal.hierarchies.builders.numbers import interval_labels, roundest
from shoal.hierarchies.values import counts_of
from shoal.model.plan import Publishes, Step, StreamStep, register_step
from shoal.model.roles import Column
from shoal.steps import Cut
from shoal.steps.sql import Expression, cast
from shoal.techniques.columns import distinct_numbers, need_group, numbers, with_numbers

if TYPE_CHECKING:
    from sqlglot import exp

    from shoal.steps.sql import Dialect, Expression

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
CostName = Literal["sse", "median", "cellular", "center", "rank"]
Publish = Literal["mean", "median", "midrange", "interval"]

COSTS = ("sse", "median", "cellular", "rank")  # by their number in the kernel
FARTHEST = 1e140
"""Half the range up to which squares of differences, added up, stay finite."""

MAX_CASES = 256
"""Groups up to which the step is an SQL expression; with more of them it is applied to batches."""


MOST_GROUPS = 4_000_000
"""Groups that a plan can name."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of sorted values: group i is ``values[cuts[i]:cuts[i + 1]]``, with ``sizes[i]`` records."""

    values: FloatArray
    weights: IntArray
    cuts: IntArray
    cost: float
    cost_name: str
    k: int

    @property
    def sizes(self) -> IntArray:
        return np.add.reduceat(self.weights, self.cuts[:-1])

    @property
    def n_groups(self) -> int:
        return len(self.cuts) - 1

    def centres(self, publish: Publish = "mean") -> FloatArray:
        """The number that stands for each group."""
        starts, ends = self.cuts[:-1], self.cuts[1:]
        if publish == "midrange":
            return np.asarray((self.values[starts] + self.values[ends - 1]) / 2)
        if publish == "median":
            below = np.concatenate([[0], np.cumsum(self.weights)])
            half = below[starts] + (self.sizes + 1) // 2
            return np.asarray(self.values[np.searchsorted(below, half) - 1])
        shift = self.values[starts]
        spread = np.add.reduceat((self.values - np.repeat(shift, np.diff(self.cuts))) * self.weights, starts)
        return np.asarray(shift + spread / self.sizes)

    def assign(self, values: FloatArray) -> IntArray:
        """The group of each value, O(n log groups): by binary search, or sorted first where there are many groups."""
        firsts = self.values[self.cuts[1:-1]]
        if len(firsts) < 50:
            return np.searchsorted(firsts, values, side="right")
        order = np.argsort(values)
        ends = np.concatenate([[0], np.searchsorted(values[order], firsts), [len(values)]])
        out = np.empty(len(values), dtype=np.int64)
        out[order] = np.repeat(np.arange(self.n_groups), np.diff(ends))
        return out

    def points(self) -> FloatArray:
        """Cut points between the groups: the roundest number in each gap."""
        return np.array([between(self.values[i - 1], self.values[i]) for i in self.cuts[1:-1]], dtype=np.float64)

    def step(self, column: str, publish: Publish = "mean", *, decimals: int | None = None) -> Step:
        """The step that publishes each value's group: its interval (truthful) or its centre (not).

        Few groups make a cut that the engine applies; many make a step on batches.
        """
        if len(np.unique(self.values)) != len(self.values):
            hint = 'Group with ties="together".'
            raise UsageError("equal values lie in different groups: no step can tell them apart.", hint=hint)
        whole = bool((self.values == np.floor(self.values)).all())
        centres = self.centres(publish) if publish != "interval" else np.zeros(0)
        return step_of(column, self.points(), centres, publish, whole, decimals)


def step_of(
    column: str, points: FloatArray, centres: FloatArray, publish: Publish, whole: bool, decimals: int | None = None
) -> Step:
    """The step of cut points, and of the centres between them; ``whole`` says that the numbers are."""
    if len(points) >= MOST_GROUPS:
        what = f"column '{column}' has {len(points) + 1:,} groups: more than a plan can name ({MOST_GROUPS:,})."
        raise DataError(what, hint="Take a larger k.", column=column)
    cuts = tuple(points.tolist())
    if publish == "interval":
        return Cut(column, cuts, interval_labels(cuts, integer=whole and all(p.is_integer() for p in cuts)))
    if decimals is not None:
        centres = np.round(centres, decimals)
    if len(cuts) < MAX_CASES:
        return Centres(column, cuts, tuple(repr(c) for c in centres.tolist()))
    return Represent(column, cuts, tuple(centres.tolist()))


def between(below: float, above: float) -> float:
    """The roundest number that parts two neighbours, and the whole numbers that a double beyond 2⁵³ may stand for."""
    if max(abs(below), abs(above)) < 2.0**53:
        return float(roundest(below, above))
    low, high = float(np.nextafter(below, np.inf)), float(np.nextafter(above, -np.inf))
    if low > high:
        what = "two groups differ by the last digit of a double: whole numbers between them cannot be distinguished."
        raise DataError(what, hint="Round the column first, or take a larger k.")
    return low if low == high else float(roundest(low, high))


def optimal_groups(
    values: npt.ArrayLike,
    k: int,
    *,
    cost: CostName = "sse",
    weights: npt.ArrayLike | None = None,
    ties: Literal["together", "split"] = "together",
    column: str = "values",
) -> Groups:
    """Groups of at least ``k`` records with the least cost.

    Parameters
    ----------
    values : array of numbers
        In any order, finite.
    k : int
        Least number of records per group.
    cost : str
        One of ``sse``, ``median``, ``cellular``, ``center``, ``rank``.
    weights : array of int, optional
        Records per value.
    ties : str
        ``together``: equal values share a group (needed for a step); ``split``: they may be separated.

    Returns
    -------
    Groups
        Optimal up to rounding (relative 1e-9); among neighbours only, for the cellular cost.

    Examples
    --------
    >>> g = optimal_groups([1, 12, 4, 7, 3], k=2)
    >>> g.sizes.tolist(), round(g.cost, 4), g.centres().tolist()
    ([3, 2], 17.1667, [2.666666666666667, 9.5])
    """
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or not np.isfinite(x).all():
        raise UsageError(f"column '{column}' must be a list of finite numbers.", hint="Leave missing values out.")
    if len(x) and float(x.max()) / 2 - float(x.min()) / 2 > FARTHEST:
        hint = "Scale the column down first."
        raise UsageError(f"the numbers of column '{column}' lie too far apart to be squared.", hint=hint)
    w = counts_of(x, weights)
    if len(w) and w.min() < 1:
        raise UsageError(f"the weights of '{column}' must be whole numbers of at least 1.")
    need_group(k, int(w.sum()), f"column '{column}'")
    if weights is None:
        x = np.sort(x)
    else:
        order = np.argsort(x, kind="stable")
        x, w = x[order], w[order]
    if ties == "together":
        first = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]]))
        if len(first) < len(x):
            x, w = x[first], np.add.reduceat(w, first)
    below = np.concatenate([[0], np.cumsum(w)]).astype(np.int64)
    cuts, total = _solve(x, below, k, cost)
    return Groups(x, w, cuts, total, cost, k)


def microaggregate_1d(
    column: str,
    values: npt.ArrayLike,
    counts: npt.ArrayLike | None = None,
    *,
    k: int,
    cost: CostName = "sse",
    publish: Publish = "mean",
    decimals: int | None = None,
) -> Step:
    """The step by which each value becomes the mean (median, interval) of its group.

    ``values`` are distinct values of the column (texts or a pyarrow array) with their ``counts``.

    >>> microaggregate_1d("x", ["1", "3", "4", "7", "12"], k=2, publish="interval").labels
    ('<5', '5+')
    """
    x = distinct_numbers(column, values)
    groups = optimal_groups(x, k, cost=cost, weights=counts_of(x, counts), column=column)
    return groups.step(column, publish, decimals=decimals)


@register_step
@dataclass(frozen=True)
class Centres(Cut):
    """A cut whose labels are numbers that stand for their interval: published as numbers, but not true of each person."""

    kind: ClassVar[str] = "centres"
    publishes: ClassVar[Publishes] = "numbers"
    truthful: ClassVar[bool] = False

    def _column(self, column: Column) -> Column:
        former = column.stored or column.former
        return replace(column, kind="float", labels={}, user_missing=(), order=(), stored=None, former=former, form="")

    def _sql(self, dialect: Dialect, column: Column, value: exp.Expr, alias: str) -> Expression:
        return Expression(cast(super()._sql(dialect, column, value, alias).value, "DOUBLE"))

    def _arrow(self, values: Any, column: Column) -> Any:
        return super()._arrow(values, column).cast(pa.float64())


@register_step
@dataclass(frozen=True)
class Represent(StreamStep):
    """Replace each number by the centre of its interval [points[i−1], points[i]), on batches. Missing stays missing."""

    points: tuple[float, ...] = ()
    centres: tuple[float, ...] = ()
    kind: ClassVar[str] = "represent"
    publishes: ClassVar[Publishes] = "numbers"
    truthful: ClassVar[bool] = False
    by_row: ClassVar[bool] = False
    draws: ClassVar[bool] = False

    def start(self, seed: int) -> Any:
        points, centres = np.asarray(self.points), np.asarray(self.centres)

        def run(table: pa.Table, rows: Any) -> pa.Table:
            x, present = numbers(table, self.column)
            return with_numbers(table, self.column, centres[np.searchsorted(points, x, side="right")], present)

        return run


def _solve(x: FloatArray, below: IntArray, k: int, cost: CostName) -> tuple[IntArray, float]:
    from shoal.techniques.kernels import least_cuts as kernel  # compiled on first use
    from shoal.techniques.kernels.least_cuts import bounds

    if cost == "center":
        from shoal.techniques.kernels.least_cuts import least_width

        cuts = bounds(least_width(x, below, k))
        return cuts, kernel.total_cost(x, below, cuts, cost)
    if cost not in COSTS:
        raise UsageError(f"cost '{cost}' is not known.", hint="Costs: sse, median, cellular, center, rank.")
    before, rounding = kernel.least_sum(x, below, k, COSTS.index(cost), False, kernel.SCAN_LIMIT)
    cuts = bounds(before)
    total = kernel.total_cost(x, below, cuts, cost)
    if cost == "sse" and rounding > 1e-10 * total:
        before, _ = kernel.least_sum(x, below, k, kernel.SSE, True, kernel.SCAN_LIMIT)
        cuts = bounds(before)
        total = kernel.total_cost(x, below, cuts, cost)
    return cuts, total
