"""Do columns still go together as they did? Correlations of numbers, contingency tables and Cramér's V of categories.

Takes    columns as numbers (NaN missing) or codes from 0
Keeps    nothing changes where the columns are the same, in whatever order the records are
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.measures.utility.distances import total_variation
from shoal.model.counts.classes import FloatArray, IntArray


def correlations(columns: Sequence[FloatArray]) -> FloatArray:
    """Pearson correlations, each pair over the records that have both; NaN where one of them does not vary.

    >>> correlations([np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.1])]).round(3).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    n = len(columns)
    out = np.full((n, n), np.nan)
    for i in range(n):
        for j in range(i + 1):
            out[i, j] = out[j, i] = _pearson(columns[i], columns[j])
    return out


def ranks(numbers: FloatArray) -> FloatArray:
    """Ranks from 1, equal numbers share the mean of theirs; NaN stays.

    >>> ranks(np.array([10.0, 5.0, 10.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    known = np.isfinite(numbers)
    _, place, count = np.unique(numbers[known], return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    out = np.full(len(numbers), np.nan)
    out[known] = (last - (count - 1) / 2)[place]
    return out


def _pearson(x: FloatArray, y: FloatArray) -> float:
    both = np.isfinite(x) & np.isfinite(y)
    a, b = x[both], y[both]
    if len(a) < 2:
        return float("nan")
    a, b = a - a.mean(), b - b.mean()
    spread = float(np.sqrt((a @ a) * (b @ b)))
    return float(np.clip((a @ b) / spread, -1.0, 1.0)) if spread > 0 else float("nan")


def contingency(x: IntArray, y: IntArray, width: int) -> tuple[IntArray, IntArray]:
    """The cells of the table of two columns that occur (x · width + y) and their records."""
    cells = x.astype(np.int64) * width + y
    highest = int(cells.max(initial=0)) + 1
    if highest <= max(4 * len(cells), 1 << 16):
        count = np.bincount(cells, minlength=highest)
        seen = np.flatnonzero(count)
        return seen, count[seen]
    found = np.unique(cells, return_counts=True)
    return found[0], found[1].astype(np.int64)


def table_distance(before: tuple[IntArray, IntArray], after: tuple[IntArray, IntArray]) -> float:
    """Share of the records in another cell of a contingency table: total variation.

    >>> a = contingency(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), 2)
    >>> b = contingency(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), 2)
    >>> table_distance(a, b)
    0.5
    """
    keys = np.union1d(before[0], after[0])
    p, q = np.zeros(len(keys)), np.zeros(len(keys))
    p[np.searchsorted(keys, before[0])] = before[1] / before[1].sum()
    q[np.searchsorted(keys, after[0])] = after[1] / after[1].sum()
    return total_variation(p, q)


def cramers_v(table: tuple[IntArray, IntArray], width: int) -> float:
    """Cramér's V of a contingency table: 0 independent, 1 one column tells the other; NaN where a column does not vary.

    >>> cramers_v(contingency(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), 2), 2)
    1.0
    """
    cells, records = table
    x, y = cells // width, cells % width
    rows, columns = np.bincount(x, weights=records), np.bincount(y, weights=records)
    least = min(int((rows > 0).sum()), int((columns > 0).sum())) - 1
    if least < 1:
        return float("nan")
    total = float(records.sum())
    # chi² / n = Σ n_xy² / (n_x n_y) − 1, over cells that occur
    phi = float((records / rows[x] * (records / columns[y])).sum()) - 1.0
    return float(np.sqrt(min(1.0, max(0.0, phi) / least))) if total else float("nan")
