"""Differencing: which hidden counts follow from the published ones?

Takes    published linear facts about hidden non-negative whole numbers (margins, subtotals, two dates of one table)
Returns  for each hidden cell the tightest bounds, by linear programming
Keeps    the true count always lies inside its bounds
Cost     two linear programs per hidden cell
Source   Fischetti & Salazar 2001 (the intruder's problem)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, UsageError
from shoal.model.attack import AttackResult
from shoal.model.counts.classes import FloatArray


@dataclass(frozen=True)
class Bounds:
    """What an attacker knows of each cell: ``low[i] ≤ count ≤ high[i]`` (``high`` may be infinite)."""

    low: FloatArray
    high: FloatArray

    def width(self) -> FloatArray:
        return self.high - self.low


def bounds(
    known: npt.ArrayLike,
    equations: npt.ArrayLike,
    totals: npt.ArrayLike,
    *,
    limits: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    only: npt.ArrayLike | None = None,
) -> Bounds:
    """Tightest bounds of each cell under ``equations @ cells = totals``; ``known`` are published counts, NaN where one is hidden.

    ``limits`` are public lower and upper limits of each cell ("suppressed means 1 to 9"; default 0 to infinity). ``only`` are the
    cells whose bounds are wanted; other hidden cells keep their limits. Two hidden cells in a row that adds up to 10, and one of
    them alone in its column:

    >>> b = bounds([np.nan, np.nan, 4, 6], [[1, 1, 0, 0], [1, 0, 1, 0]], [10, 7])
    >>> b.low.tolist(), b.high.tolist()
    ([3.0, 7.0, 4.0, 6.0], [3.0, 7.0, 4.0, 6.0])
    """
    cells = np.asarray(known, dtype=np.float64)
    matrix = np.atleast_2d(np.asarray(equations, dtype=np.float64))
    sums = np.asarray(totals, dtype=np.float64)
    if matrix.shape != (len(sums), len(cells)):
        raise UsageError(f"{len(sums)} sums over {len(cells)} cells need a matrix of that shape; found {matrix.shape}.")
    floor, ceiling = (np.zeros(len(cells)), np.full(len(cells), np.inf)) if limits is None else _limits(limits, len(cells))
    hidden = np.flatnonzero(np.isnan(cells))
    low, high = cells.copy(), cells.copy()
    if len(hidden) == 0:
        return Bounds(low, high)
    rest = sums - matrix[:, ~np.isnan(cells)] @ cells[~np.isnan(cells)]
    part = matrix[:, hidden]
    useful = np.abs(part).sum(axis=1) > 0
    box = [(float(a), None if np.isinf(b) else float(b)) for a, b in zip(floor[hidden], ceiling[hidden], strict=True)]
    wanted = np.ones(len(cells), dtype=bool) if only is None else np.asarray(only, dtype=bool).ravel()
    for i, cell in enumerate(hidden):
        if not wanted[cell]:
            low[cell], high[cell] = floor[cell], ceiling[cell]
            continue
        low[cell] = _extreme(part[useful], rest[useful], box, i, +1)
        high[cell] = _extreme(part[useful], rest[useful], box, i, -1)
    return Bounds(low, high)


def _limits(limits: tuple[npt.ArrayLike, npt.ArrayLike], n: int) -> tuple[FloatArray, FloatArray]:
    low, high = (np.broadcast_to(np.asarray(x, dtype=np.float64), n).copy() for x in limits)
    if (low > high).any():
        raise UsageError("a lower limit lies above its upper limit.")
    return low, high


def _extreme(matrix: FloatArray, sums: FloatArray, box: list[Any], cell: int, sign: int) -> float:
    """Smallest (sign +1) or largest (−1) value of one cell; whole numbers, so bounds are rounded inwards."""
    from shoal.kernels.scipy.optimize import linprog

    goal = np.zeros(len(box))
    goal[cell] = sign
    answer = linprog(goal, A_eq=matrix if len(matrix) else None, b_eq=sums if len(sums) else None, bounds=box, method="highs")
    if answer.status == 3:
        return float("inf")
    if answer.status != 0:
        hint = "Check that all sums come from one table."
        raise DataError("the published sums contradict each other, so no table has them.", hint=hint)
    value = sign * float(answer.fun)
    return float(np.ceil(value - 1e-6)) if sign > 0 else float(np.floor(value + 1e-6))


def differencing(bounds: Bounds, hidden: npt.ArrayLike, *, threshold: int) -> AttackResult:
    """Are hidden counts below ``threshold`` recovered, or confined to fewer than ``threshold`` possible values?"""
    question = "Which hidden counts of the table follow from the published sums?"
    width = bounds.width()[np.asarray(hidden, dtype=bool)]
    if not len(width):
        return AttackResult.not_run("differencing", "no count is hidden", question)
    exact, narrow = int((width < 0.5).sum()), int((width < threshold - 1).sum())
    rate, worst = narrow / len(width), f"{exact} hidden counts are recovered exactly"
    sentence = f"{narrow} of {len(width)} hidden counts can be confined to fewer than {threshold} values; "
    sentence += f"{exact} are recovered exactly."
    return AttackResult.exact("differencing", question, rate, 0.0, worst, "broken" if narrow else "holds", sentence)
