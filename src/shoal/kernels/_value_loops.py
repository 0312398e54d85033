"""Compiled hashing of values, to order published rows by their content and a key. Not for secrets. Loads numba."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels._bytes import load_word
from shoal.kernels._group_loops import scramble
from shoal.kernels._hash_loops import ODD
from shoal.kernels.jit import lean_njit

WHOLE = 2.0**63


@lean_njit
def hash_texts(offsets: Any, data: Any, out: Any) -> None:
    """A 64-bit hash of each text, eight bytes at a time, from the buffers of an Arrow string array."""
    for i in range(len(offsets) - 1):
        at, end = int(offsets[i]), int(offsets[i + 1])
        h = np.uint64(end - at) * ODD
        while at < end:
            left = end - at
            if at + 8 <= len(data):
                word = load_word(data, at)
                if left < 8:
                    word &= (np.uint64(1) << np.uint64(8 * left)) - np.uint64(1)
            else:
                word = np.uint64(0)
                for j in range(left):
                    word |= np.uint64(data[at + j]) << np.uint64(8 * j)
            h = scramble(h ^ word) + ODD
            at += 8
        out[i] = h


@lean_njit
def hash_numbers(numbers: Any, missing: Any, out: Any) -> None:
    """Of doubles: whole ones as whole numbers, the others by their bits; one that is no number is missing."""
    for i in range(len(numbers)):
        x = numbers[i] + 0.0
        if x != x:
            out[i] = missing
        elif abs(x) < WHOLE and np.floor(x) == x:
            out[i] = np.uint64(np.int64(x))
        else:
            out[i] = np.float64(x).view(np.uint64)
