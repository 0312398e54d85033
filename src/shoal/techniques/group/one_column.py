"""MDAV of one column, by sorting: the farthest records are at the two ends, and the k nearest of an end are the k next to it.

Takes    numbers in increasing order, k
Returns  where the groups begin and end; the centre of each record's group
Keeps    groups of k from both ends in turn, as long as 3k records are left; then one of k at the end that is farther from the
         mean of the rest, if 2k are left; the rest is one group. Of equal numbers, the first are nearer to the low end
Cost     O(n log n) to sort, on disk where there are many; 8 bytes per record are held
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.hierarchies.values import counts_of
from shoal.kernels.arrow import from_numpy
from shoal.model.plan import Step
from shoal.techniques.columns import (
    PLACE,
    FloatArray,
    Rows,
    back,
    distinct_numbers,
    need_group,
    numbers,
    placed,
    rank_keys,
    with_numbers,
)
from shoal.techniques.group.optimal_1d import CostName, Publish, optimal_groups
from shoal.techniques.group.ranked import Ranked
from shoal.techniques.group.spilled import spilled_groups, spilled_step

IntArray = npt.NDArray[np.int64]

AT_ONCE = 1 << 20
"""Records, about, whose centres are computed together."""


def end_groups(x: FloatArray, k: int) -> IntArray:
    """Cuts of MDAV's groups of numbers in increasing order: group i is ``x[cuts[i]:cuts[i + 1]]``.

    >>> end_groups(np.array([1.0, 2.0, 3.0, 10.0, 11.0]), 2).tolist()
    [0, 3, 5]
    """
    n = len(x)
    pairs = max(0, (n - k) // (2 * k))
    low, high = pairs * k, n - pairs * k
    middle = [low, high]
    if high - low >= 2 * k:
        middle.insert(1, high - k if ends_high(x[low:high]) else low + k)
    return np.concatenate([np.arange(0, low, k), middle, np.arange(high + k, n + 1, k)])


def ends_high(x: FloatArray) -> bool:
    """Whether the last of numbers in increasing order is farther from their mean than the first; no copy of them is made."""
    exponent = int(np.frexp(max(abs(x[0]), abs(x[-1])))[1])  # sums of large numbers stay finite
    first, last = np.ldexp(x[0], -exponent), np.ldexp(x[-1], -exponent)
    parts = (x[i : i + AT_ONCE] for i in range(0, len(x), AT_ONCE))
    mean = first + sum(float((np.ldexp(part, -exponent) - first).sum()) for part in parts) / len(x)
    return bool(last - mean > mean - first)


def centres(x: FloatArray, cuts: IntArray, publish: str) -> Iterator[FloatArray]:
    """Of each record the mean, or the (lower) median, of its group; some groups at a time."""
    some = np.searchsorted(cuts, np.arange(AT_ONCE, len(x), AT_ONCE))
    marks = sorted({0, *some.tolist(), len(cuts) - 1})
    for first, last in pairwise(marks):
        starts, sizes = cuts[first:last], np.diff(cuts[first : last + 1])
        if publish == "median":
            yield np.repeat(x[starts + (sizes - 1) // 2], sizes)
            continue
        values = x[starts[0] : cuts[last]]
        exponent = int(np.frexp(np.abs(values).max())[1])
        values = np.ldexp(values, -exponent)
        shift = values[starts - starts[0]]  # a member: keeps digits of far-away numbers
        mean = shift + np.add.reduceat(values - np.repeat(shift, sizes), starts - starts[0]) / sizes
        yield np.repeat(np.ldexp(mean, exponent), sizes)


def centred(x: FloatArray, k: int, publish: str) -> FloatArray:
    """Of each number, in any order, the centre of its group."""
    order = np.argsort(x, kind="stable")
    ranked = x[order]
    out = np.empty(len(x))
    out[order] = np.concatenate(list(centres(ranked, end_groups(ranked, k), publish)))
    return out


def spilled(rows: Rows, spill: Any, column: str, k: int, publish: str) -> Iterator[Any]:
    """The column with every number replaced by the centre of its group, from rows that are sorted on disk.

    Where fewer than ``k`` have no number, the group that MDAV forms first joins them.
    """
    ranked = spill.keep(spill.order((t, rank_keys(numbers(t, column)[0])) for t in placed(rows(), column)))
    x, filled = np.empty(sum(t.num_rows for t in ranked.tables([PLACE]))), 0
    for table in ranked.tables():
        x[filled : filled + table.num_rows] = numbers(table, column)[0]
        filled += table.num_rows
    need_group(k, len(x), f"column '{column}'")
    missing = sum(t.num_rows for t in rows()) - len(x)
    cuts = end_groups(x, k)
    hidden = range(0)
    if 0 < missing < k:
        hidden = range(int(cuts[-2]), len(x)) if ends_high(x) else range(int(cuts[1]))
    made = back(_tables(x, cuts, publish, hidden), (t.select([PLACE]) for t in ranked.tables()), spill)
    return _put_in(rows(), column, made, spill)


_MADE = "made"


def _tables(x: FloatArray, cuts: IntArray, publish: str, hidden: range) -> Iterator[Any]:
    """The centres as tables, in order; NaN for the records of the group that is hidden."""
    import pyarrow as pa

    before = 0
    for made in centres(x, cuts, publish):
        low, high = max(hidden.start - before, 0), max(hidden.stop - before, 0)
        made[low:high] = np.nan
        before += len(made)
        yield pa.table({_MADE: from_numpy(made)})


def _put_in(rows: Iterator[Any], column: str, made: Iterator[Any], spill: Any) -> Iterator[Any]:
    """The rows with the next centres where a number is."""
    taken = spill.taken(made)
    for table in rows:
        _, present = numbers(table, column)
        new, there = np.zeros(table.num_rows), present.copy()
        new[present] = taken(int(present.sum())).column(_MADE).to_numpy()
        there[present] = ~np.isnan(new[present])
        yield with_numbers(table.select([column]), column, np.nan_to_num(new), there)


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
