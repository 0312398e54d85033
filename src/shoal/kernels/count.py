"""Counting of keys: how often each distinct key occurs, keys in increasing order.

Takes    unsigned 64-bit keys below ``space``
Returns  the distinct keys, increasing, and how often each occurs
Keeps    the counts add up to the number of keys
Cost     O(n): a direct table when the space is at most four times the number of keys; a sort when most keys differ;
         hash and a sort of the distinct keys otherwise
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.kernels import _loops as loops
from shoal.kernels.group import DIRECT_FACTOR, SMALL, compiled_pays, group_words, mostly_distinct
from shoal.model.counts.classes import IntArray, KeyArray

FEW = 1 << 16
"""Below this many keys numpy is quick enough to do without numba."""


def count_keys(key: KeyArray, space: int) -> tuple[KeyArray, IntArray]:
    """Distinct keys in increasing order, and how often each occurs. ``key`` may be overwritten.

    >>> keys, counts = count_keys(np.array([5, 1, 5], dtype=np.uint64), 6)
    >>> keys.tolist(), counts.tolist()
    ([1, 5], [1, 2])
    """
    n = len(key)
    if space <= max(DIRECT_FACTOR * n, SMALL):
        table = np.bincount(key.view(np.int64))
        keys = np.flatnonzero(table)
        return keys.view(np.uint64), table[keys]
    if n < FEW or not compiled_pays(n // 4) or mostly_distinct(key):
        return _sorted_runs(key)

    distinct, counts = loops.count_hash(key, n // 8)  # beyond that a hash table takes more memory than sorting
    if len(distinct) == 0:
        return _sorted_runs(key)
    order = np.argsort(distinct)
    return distinct[order], counts[order]


def _sorted_runs(key: KeyArray) -> tuple[KeyArray, IntArray]:
    """The same from the sorted keys; ``key`` is overwritten."""
    key.sort()
    starts = np.ones(len(key), np.bool_)
    starts[1:] = key[1:] != key[:-1]
    first = np.flatnonzero(starts)
    return key[first], np.diff(np.append(first, len(key)))


def add_digit(
    key: KeyArray, digits: npt.NDArray[Any], width: int, lookup: npt.NDArray[np.uint32], used: npt.NDArray[np.bool_]
) -> None:
    """``key = key · width + lookup[digits]`` in place; ``used`` notes which digits occur.

    >>> key, used = np.zeros(2, dtype=np.uint64), np.zeros(10, dtype=np.bool_)
    >>> add_digit(key, np.array([1, 0], dtype=np.uint8), 10, np.array([7, 3], dtype=np.uint32), used)
    >>> key.tolist(), np.flatnonzero(used).tolist()
    ([3, 7], [3, 7])
    """
    if len(key) < FEW or not compiled_pays(len(key) // 8):
        used[lookup[np.bincount(digits, minlength=len(lookup)) > 0]] = True
        key *= np.uint64(width)
        key += lookup.astype(np.uint64).take(digits)
        return

    loops.add_digit(key, digits, np.uint64(width), lookup, used)


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
    order, starts = _sort_all([words[0]], spaces[:1])
    for word, space in zip(words[1:], spaces[1:], strict=True):
        alike = ~starts  # rows that are like the one before or the one after
        alike[:-1] |= ~starts[1:]
        places = np.flatnonzero(alike)
        if not len(places):
            break
        rows = order[places]
        runs = (np.cumsum(starts[places]) - 1).astype(np.uint64)
        inner, changes = _sort_all([runs, word[rows]], [n, space])
        order[places] = rows[inner]
        starts[places] = changes
    return order, starts


def _sort_all(words: Sequence[KeyArray], spaces: Sequence[int]) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """As :func:`sort_words`, by all words at once."""
    n = len(words[0])
    starts = np.ones(n, np.bool_)
    if n < FEW or not compiled_pays(n // 2):
        order = np.lexsort(words[::-1]).astype(np.int64)
        starts[1:] = np.logical_or.reduce([w[order][1:] != w[order][:-1] for w in words])
        return order, starts

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
