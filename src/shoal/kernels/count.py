"""Counting of keys: how often each distinct key occurs, keys in increasing order.

Takes    unsigned 64-bit keys below ``space``
Returns  the distinct keys, increasing, and how often each occurs
Keeps    the counts add up to the number of keys
Cost     O(n): a direct table when the space is at most four times the number of keys; a radix sort when most keys differ;
         hash and a sort of the distinct keys otherwise
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.kernels.group import DIRECT_FACTOR, SMALL, KeyArray, mostly_distinct
from shoal.kernels.jit import HAVE_NUMBA
from shoal.model.counts.classes import IntArray

FEW = 1 << 16
"""Below this many keys numpy is quick enough to do without numba, unless it is loaded already."""


def compiled_pays(n: int) -> bool:
    """Whether a loop over ``n`` rows should be compiled: numba is loaded already, or saves more time than loading it takes."""
    return HAVE_NUMBA and (n >= FEW or "numba" in sys.modules)


def count_keys(key: KeyArray, space: int) -> tuple[KeyArray, IntArray]:
    """Distinct keys in increasing order, and how often each occurs. ``key`` may be overwritten.

    >>> keys, counts = count_keys(np.array([5, 1, 5], dtype=np.uint64), 6)
    >>> keys.tolist(), counts.tolist()
    ([1, 5], [1, 2])
    """
    if not compiled_pays(len(key)):
        distinct, counts = np.unique(key, return_counts=True)
        return distinct, counts.astype(np.int64)
    from shoal.kernels import _count_loops as loops

    n = len(key)
    if space <= max(DIRECT_FACTOR * n, SMALL) and n < 1 << 32:
        table = loops.count_direct(key, space)
        keys = np.flatnonzero(table)
        return keys.view(np.uint64), table[keys].astype(np.int64)
    if n < FEW or mostly_distinct(key):
        return _sorted_runs(key, space)
    distinct, counts = loops.count_hash(key, n // 8)  # beyond that a hash table takes more memory than sorting
    if len(distinct) == 0:
        return _sorted_runs(key, space)
    order = np.argsort(distinct)
    return distinct[order], counts[order]


def _sorted_runs(key: KeyArray, space: int) -> tuple[KeyArray, IntArray]:
    from shoal.kernels import _count_loops as loops

    distinct, counts = loops.runs(loops.radix_sort(key, np.empty_like(key), max(1, (space - 1).bit_length())))
    if 2 * len(distinct) < len(key):
        distinct = distinct.copy()  # a short view should not keep a long array alive
    return distinct, counts


def add_digit(
    key: KeyArray, digits: npt.NDArray[Any], width: int, lookup: npt.NDArray[np.uint32], used: npt.NDArray[np.bool_]
) -> None:
    """``key = key · width + lookup[digits]`` in place; ``used`` notes which digits occur.

    >>> key, used = np.zeros(2, dtype=np.uint64), np.zeros(10, dtype=np.bool_)
    >>> add_digit(key, np.array([1, 0], dtype=np.uint8), 10, np.array([7, 3], dtype=np.uint32), used)
    >>> key.tolist(), np.flatnonzero(used).tolist()
    ([3, 7], [3, 7])
    """
    if not compiled_pays(len(key)):
        used[lookup[np.bincount(digits, minlength=len(lookup)) > 0]] = True
        key *= np.uint64(width)
        key += lookup.astype(np.uint64).take(digits)
        return
    from shoal.kernels import _count_loops as loops

    loops.add_digit(key, digits, np.uint64(width), lookup, used)
