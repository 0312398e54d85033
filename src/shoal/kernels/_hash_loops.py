"""Hashing of rows, to order published ones by their content and a key, compiled and for whole arrays. Not for secrets."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels._group_loops import scramble
from shoal.kernels.jit import njit, plain

ODD = np.uint64(0x9E3779B97F4A7C15)


def hashed(h: Any, word: Any = None) -> Any:
    """One step of :mod:`~shoal.kernels._value_loops` for many texts: the start from their lengths, or eight bytes more."""
    return h * ODD if word is None else plain(scramble)(h ^ word) + ODD


def mixed(hashes: Any, values: Any) -> Any:
    """As :func:`mix_in`, for whole arrays."""
    return plain(scramble)(hashes * ODD + values)


@njit
def mix_in(hashes: Any, values: Any) -> None:
    """``h = scramble(h · odd + value)`` for every row, in place."""
    for i in range(len(hashes)):
        hashes[i] = scramble(hashes[i] * ODD + values[i])
