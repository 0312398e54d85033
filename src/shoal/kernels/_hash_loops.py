"""Compiled hashing of texts and rows, to order published rows by their content and a key. Not for secrets."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels._group_loops import scramble
from shoal.kernels.jit import njit, plain

_ODD = np.uint64(0x9E3779B97F4A7C15)


@njit
def hash_texts(offsets: Any, data: Any, out: Any) -> None:
    """A 64-bit hash of each text, eight bytes at a time, from the buffers of an Arrow string array."""
    for i in range(len(offsets) - 1):
        start, end = offsets[i], offsets[i + 1]
        h = np.uint64(end - start) * _ODD
        at = start
        while at < end:
            word = np.uint64(0)
            for j in range(min(8, end - at)):
                word |= np.uint64(data[at + j]) << np.uint64(8 * j)
            h = scramble(h ^ word) + _ODD
            at += 8
        out[i] = h


def hashed(h: Any, word: Any = None) -> Any:
    """One step of :func:`hash_texts` for many texts: the start from their lengths, or eight bytes more."""
    return h * _ODD if word is None else plain(scramble)(h ^ word) + _ODD


def mixed(hashes: Any, values: Any) -> Any:
    """As :func:`mix_in`, for whole arrays."""
    return plain(scramble)(hashes * _ODD + values)


@njit
def mix_in(hashes: Any, values: Any) -> None:
    """``h = scramble(h · odd + value)`` for every row, in place."""
    for i in range(len(hashes)):
        hashes[i] = scramble(hashes[i] * _ODD + values[i])
