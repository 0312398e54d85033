"""Compiled loops that put lines of bytes in order: into parts by the bits of their keys, and out of a part by position."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels._bytes import copy_bytes
from shoal.kernels.jit import lean_njit


@lean_njit
def scatter(
    keys: Any, starts: Any, ends: Any, lines: Any, first: int, shift: int, data: Any, facts: Any, filled: Any, rows: Any
) -> int:
    """Lines from ``first`` on, each into the part that the bits of its key from ``shift`` on name.

    ``data`` holds the bytes of each part, of which ``filled`` are taken, and ``facts`` the key and the size of each of its
    ``rows`` lines. Returns the line whose part has no room for it, or how many lines there are.
    """
    mask = np.uint64(len(filled) - 1)
    for i in range(first, len(keys)):
        part = np.int64((keys[i] >> np.uint64(shift)) & mask)
        size, at, row = ends[i] - starts[i], filled[part], rows[part]
        if at + size > data.shape[1] or row == facts.shape[1]:
            return i
        copy_bytes(lines, starts[i], size, data[part], at)
        facts[part, row, 0] = keys[i]
        facts[part, row, 1] = np.uint64(size)
        filled[part], rows[part] = at + size, row + 1
    return len(keys)


@lean_njit
def gather(order: Any, starts: Any, data: Any, out: Any) -> None:
    """Lines in the order asked for, one behind the other; line i ends where line i + 1 starts."""
    to = 0
    for i in order:
        size = starts[i + 1] - starts[i]
        copy_bytes(data, starts[i], size, out, to)
        to += size
