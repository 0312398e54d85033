"""Keys wider than 64 bits, as several words per row: how often each key occurs, and their order.

Takes    words of unsigned 64-bit numbers, the first the most significant, and the size of the key space of each
Returns  distinct keys in increasing order with counts
Keeps    two rows are alike exactly when all their words are; the counts add up to the number of rows
Cost     O(rows) per word. Where most keys differ, a radix sort by the first word, and by each further word only of the rows that
         are still alike; otherwise a grouping by hash, and a sort of the distinct keys
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.kernels.count import FEW
from shoal.kernels.group import KeyArray, group_words
from shoal.kernels.jit import HAVE_NUMBA
from shoal.model.counts.classes import IntArray

_SAMPLE = 4096


def count_words(words: Sequence[KeyArray], spaces: Sequence[int]) -> tuple[list[KeyArray], IntArray]:
    """The distinct keys in increasing order, and how often each occurs.

    >>> keys, counts = count_words([np.array([1, 0, 1], np.uint64), np.array([7, 9, 7], np.uint64)], [2, 10])
    >>> [k.tolist() for k in keys], counts.tolist()
    ([[0, 1], [9, 7]], [1, 2])
    """
    if len(words[0]) < FEW or _mostly_distinct(words):
        order, starts = sort_words(words, spaces)
        first = np.flatnonzero(starts)
        at = order[first]
        return [w[at] for w in words], np.diff(np.append(first, len(order)))
    grouping = group_words(words, spaces)
    distinct = [w[grouping.first] for w in words]
    counts = np.bincount(grouping.ids, minlength=grouping.n).astype(np.int64)
    order, _ = sort_words(distinct, spaces)
    return [d[order] for d in distinct], counts[order]


def sort_words(words: Sequence[KeyArray], spaces: Sequence[int]) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """The rows in increasing order of their keys, and whether each differs from the one before it (the first does).

    >>> order, starts = sort_words([np.array([1, 0, 1], np.uint64), np.array([7, 9, 7], np.uint64)], [2, 10])
    >>> order.tolist(), starts.tolist()
    ([1, 0, 2], [True, True, False])
    """
    n = len(words[0])
    order, starts = _sorted([words[0]], spaces[:1])
    for word, space in zip(words[1:], spaces[1:], strict=True):
        alike = ~starts  # rows that are like the one before or the one after
        alike[:-1] |= ~starts[1:]
        places = np.flatnonzero(alike)
        if not len(places):
            break
        rows = order[places]
        runs = (np.cumsum(starts[places]) - 1).astype(np.uint64)
        inner, changes = _sorted([runs, word[rows]], [n, space])
        order[places] = rows[inner]
        starts[places] = changes
    return order, starts


def _sorted(words: Sequence[KeyArray], spaces: Sequence[int]) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """As :func:`sort_words`, by all words at once."""
    n = len(words[0])
    starts = np.ones(n, np.bool_)
    if not HAVE_NUMBA or n < FEW:
        order = np.lexsort(words[::-1]).astype(np.int64)
        starts[1:] = np.logical_or.reduce([w[order][1:] != w[order][:-1] for w in words])
        return order, starts
    from shoal.kernels import _count_loops as loops

    rows = np.empty((n, len(words) + 1), np.uint64)
    for j, word in enumerate(words):
        rows[:, j] = word
    rows[:, -1] = np.arange(n, dtype=np.uint64)
    rows = loops.sort_rows(rows, np.array([max(1, (s - 1).bit_length()) for s in spaces]))
    starts[1:] = np.logical_or.reduce([rows[1:, j] != rows[:-1, j] for j in range(len(words))])
    return rows[:, -1].astype(np.int64), starts


def _mostly_distinct(words: Sequence[KeyArray]) -> bool:
    """As :func:`~shoal.kernels.group.mostly_distinct`, for keys of several words."""
    step = max(1, len(words[0]) // _SAMPLE)
    some = np.column_stack([w[::step][:_SAMPLE] for w in words])
    return len(np.unique(some, axis=0)) > 0.9 * len(some)
