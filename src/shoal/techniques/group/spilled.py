"""Optimal groups of more numbers than are held: the same cuts, centres and points as :mod:`shoal.techniques.group.optimal_1d`
finds in memory, from numbers on disk.

Takes    :class:`~shoal.techniques.group.ranked.Ranked` numbers
Cost     the numbers of two or three groups and of one part are held, and one number per group; the best cut before each
         number waits on disk
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, UsageError
from shoal.kernels.arrow import from_numpy, to_numpy
from shoal.model.plan import Step
from shoal.techniques.columns import need_group
from shoal.techniques.group.optimal_1d import COSTS, FARTHEST, CostName, Groups, Publish, between, step_of
from shoal.techniques.group.ranked import Ranked

IntArray = npt.NDArray[np.int64]

MOST_GROUPS = 4_000_000
"""Groups that a plan can name."""


def spilled_groups(x: Ranked, k: int, cost: CostName) -> IntArray:
    """Where the groups of at least ``k`` records with the least cost begin and end, as places among the numbers."""
    if x.high / 2 - x.low / 2 > FARTHEST:
        raise UsageError(
            f"the numbers of column '{x.column}' lie too far apart to be squared.", hint="Scale the column down first."
        )
    need_group(k, x.records, f"column '{x.column}'")
    if cost not in COSTS:
        raise DataError(
            f"column '{x.column}' has {x.values:,} different values: too many for groups by cost '{cost}'.",
            hint=f"Costs for so many: {', '.join(COSTS)}.",
            column=x.column,
        )
    cuts, rounding = _solved(x, k, COSTS.index(cost), exact=False)
    if cost == "sse" and rounding > 1e-10 * math.fsum(_costs(x, cuts)):
        cuts, _ = _solved(x, k, COSTS.index(cost), exact=True)
    return cuts


def spilled_equal(x: Ranked, groups: int) -> IntArray:
    """Cuts of at most ``groups`` groups, at the ranks nearest to i·n/groups, as :func:`shoal.techniques.equal_groups`."""
    n = x.records
    if groups < 1:
        raise UsageError(f"the number of groups must be at least 1; found {groups}.")
    if groups > n:
        raise DataError(f"column '{x.column}' has {n} values; {groups} groups do not fit.", hint=f"Choose groups ≤ {n}.")
    _need_few_groups(x.column, groups)
    wanted = (2 * np.arange(1, groups) * n + groups) // (2 * groups)
    found, place, records = [np.zeros(1, np.int64)], 0, 0
    for _, w in x.parts():
        below = records + np.concatenate([[0], np.cumsum(w)]).astype(np.int64)
        here = wanted[(wanted > below[0]) & (wanted <= below[-1])]
        above = np.searchsorted(below, here)
        found.append(place + np.where(below[above] - here < here - below[above - 1], above, above - 1))
        place, records = place + len(w), int(below[-1])
    return np.unique(np.concatenate([*found, [place]])).astype(np.int64)


def spilled_step(column: str, x: Ranked, cuts: IntArray, publish: Publish, decimals: int | None = None) -> Step:
    """The step that publishes each value's group."""
    points, centres, whole, last = [], [], True, None
    for group in _pieces(x, cuts):
        if last is not None:
            points.append(np.array([between(last, float(group.values[0]))]))
        points.append(group.points())
        centres.append(group.centres(publish) if publish != "interval" else np.zeros(0))
        whole = whole and bool((group.values == np.floor(group.values)).all())
        last = float(group.values[-1])
    return step_of(column, np.concatenate(points), np.concatenate(centres), publish, whole, decimals)


def _need_few_groups(column: str, groups: int) -> None:
    if groups > MOST_GROUPS:
        raise DataError(
            f"column '{column}' has {groups:,} groups: more than a plan can name ({MOST_GROUPS:,}).",
            hint="Take a larger k.",
            column=column,
        )


def _solved(x: Ranked, k: int, kind: int, exact: bool) -> tuple[IntArray, float]:
    """Cuts with the least sum, and a bound on rounding: block by block, with as many numbers as the next block needs."""
    rounding = [0.0]
    kept = x.spill.keep(_befores(x, k, kind, exact, rounding))
    cuts = _walked_back(kept, x.values)
    kept.remove()
    _need_few_groups(x.column, len(cuts) - 1)
    return cuts, rounding[0]


_JUMP = "jump"


def _befores(x: Ranked, k: int, kind: int, exact: bool, rounding: list[float]) -> Iterator[Any]:
    """For each end 1, 2 …, how many numbers the last group of the best way there has (0: impossible), in tables."""
    import pyarrow as pa

    from shoal.techniques.kernels import least_cuts as kernel  # compiled on first use

    values, w, best = np.zeros(0), np.zeros(1, np.int64), np.zeros(1)
    first, told = 0, 1  # places are counted from the first number that is held
    for part, weights in _and_end(x):
        whole = part is None
        if part is not None:
            values = np.concatenate([values, part])
            w = np.concatenate([w, w[-1] + np.cumsum(weights)])
            best = np.concatenate([best, np.full(len(part), np.inf)])
        low, high = kernel.windows(w, k)
        before = np.full(len(values) + 1, -1, np.int64)
        first = first or kernel.first_end(high)
        end, rounding[0] = kernel.solve_blocks(
            values, w, low, high, best, before, first, kind, exact, kernel.SCAN_LIMIT, whole, rounding[0]
        )
        jumps = np.where(before >= 0, np.arange(len(before)) - before, 0)[told : int(end)]
        yield pa.table({_JUMP: from_numpy(jumps)})
        told = int(end)
        if not whole:
            unneeded = int(low[end]) if end < len(low) and high[end] >= 0 else 0
            values, w, best = values[unneeded:], w[unneeded:], best[unneeded:]
            first, told = int(end) - unneeded, told - unneeded


def _and_end(x: Ranked) -> Iterator[tuple[Any, Any]]:
    yield from x.parts()
    yield None, None


def _walked_back(kept: Any, n: int) -> IntArray:
    """The cuts on the best way to ``n``: tables of jumps are read from the last to the first."""
    from shoal.techniques.kernels.least_cuts import walk_jumps

    found, end, first = [np.array([n])], n, n + 1
    for table in kept.backwards():
        jumps = to_numpy(table[_JUMP].combine_chunks())
        first -= len(jumps)
        cuts, end = walk_jumps(jumps, first, end)
        found.append(cuts)
    return np.concatenate(found)[::-1]


def _pieces(x: Ranked, cuts: IntArray) -> Iterator[Groups]:
    """The groups, some at a time."""
    values, weights, first, done = np.zeros(0), np.zeros(0, np.int64), 0, 0
    for part, w in x.parts():
        values, weights = np.concatenate([values, part]), np.concatenate([weights, w])
        last = int(np.searchsorted(cuts, first + len(values), side="right")) - 1
        if last > done:
            here = cuts[done : last + 1] - first
            yield Groups(values[: here[-1]], weights[: here[-1]], here, 0.0, "", 1)
            values, weights, first, done = values[here[-1] :], weights[here[-1] :], first + int(here[-1]), last


def _costs(x: Ranked, cuts: IntArray) -> Iterator[float]:
    """Squared errors of the groups, some at a time."""
    from shoal.techniques.kernels import least_cuts as kernel

    for group in _pieces(x, cuts):
        below = np.concatenate([[0], np.cumsum(group.weights)]).astype(np.int64)
        yield kernel.total_cost(group.values, below, group.cuts, "sse")
