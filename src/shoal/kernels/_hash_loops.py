"""Compiled hashing of values and rows, to order published rows by their content and a key. Not for secrets. Loads numba."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels._group_loops import scramble
from shoal.kernels.jit import njit
from shoal.kernels.order import ODD

WHOLE = 2.0**63


@njit
def mix_in(hashes: Any, values: Any) -> None:
    """``h = scramble(h · odd + value)`` for every row, in place."""
    for i in range(len(hashes)):
        hashes[i] = scramble(hashes[i] * ODD + values[i])


@njit
def hash_texts(offsets: Any, data: Any, out: Any) -> None:
    """A 64-bit hash of each text, eight bytes at a time, from the buffers of an Arrow string array."""
    for i in range(len(offsets) - 1):
        at, end = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
        h = (end - at) * ODD
        while at < end:
            size = min(end - at, np.uint64(8))
            word = np.uint64(0)
            for j in range(size):
                word |= np.uint64(data[at + np.uint64(j)]) << np.uint64(8 * j)
            h = scramble(h ^ word) + ODD
            at += np.uint64(8)
        out[i] = h


@njit
def hash_numbers(numbers: Any, missing: Any, out: Any) -> None:
    """Of doubles: whole ones as whole numbers, the others by their bits; NaN is missing."""
    for i in range(len(numbers)):
        x = numbers[i] + 0.0
        if x != x:
            out[i] = missing
        elif abs(x) < WHOLE and np.floor(x) == x:
            out[i] = np.uint64(np.int64(x))
        else:
            out[i] = np.float64(x).view(np.uint64)
