"""A shuffle that depends only on what is published: rows ordered by a keyed hash of their content.

Because the order is a function of the set of published rows and the seed, it can carry nothing of the input's order; rows of
equal content are interchangeable. (Two different rows share a 64-bit hash with a chance of about n²/2⁶⁵.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.kernels.arrow import from_texts, is_missing
from shoal.kernels.text import canonical_text

FEW = 1 << 14
"""Fewer texts or rows are hashed by numpy: they are done before numba would be loaded."""
HashArray = npt.NDArray[np.uint64]
_MISSING = np.uint64(0x5851F42D4C957F2D)


def text_hashes(values: Any) -> HashArray:
    """A 64-bit hash of the canonical text of each value of a pyarrow array; a missing value has one of its own.

    >>> import pyarrow as pa
    >>> a, b, c = text_hashes(pa.array(["x", "y", None]))
    >>> bool(a == text_hashes(pa.array(["x"]))[0]), len({int(a), int(b), int(c)})
    (True, 3)
    """
    import pyarrow as pa

    from shoal.kernels._hash_loops import hash_texts

    text = canonical_text(values).cast(pa.large_string())
    out = np.empty(len(text), np.uint64)
    if len(text) == 0:
        return out
    _, offsets, data = text.buffers()
    where = np.frombuffer(offsets, np.int64)[text.offset : text.offset + len(text) + 1]
    payload = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
    if len(text) < FEW:
        _hash_few(where, payload, out)
    else:
        hash_texts(where, payload, out)
    if text.null_count:
        out[is_missing(text)] = _MISSING
    return out


def start_hashes(n: int, seed: int) -> HashArray:
    """One value per row to begin with, from the seed."""
    return np.full(n, text_hashes(from_texts([f"shoal:{seed}"]))[0], np.uint64)


def mix(hashes: HashArray, values: HashArray) -> None:
    """Bring one more column's hashes into the rows' hashes, in place."""
    from shoal.kernels._hash_loops import mix_in, mixed

    if len(hashes) < FEW:
        hashes[:] = mixed(hashes, values)
    else:
        mix_in(hashes, values)


def _hash_few(offsets: npt.NDArray[np.int64], data: npt.NDArray[np.uint8], out: HashArray) -> None:
    """As :func:`~shoal.kernels._hash_loops.hash_texts`, in numpy: the n-th eight bytes of all texts at once."""
    from shoal.kernels._hash_loops import hashed

    lengths = np.diff(offsets)
    out[:] = hashed(lengths.astype(np.uint64))
    for at in range(0, int(lengths.max(initial=0)), 8):
        rows = np.flatnonzero(lengths > at)
        word = np.zeros(len(rows), np.uint64)
        for j in range(8):
            inside = lengths[rows] > at + j
            place = np.minimum(offsets[rows] + at + j, len(data) - 1)
            word |= np.where(inside, data[place], np.uint8(0)).astype(np.uint64) << np.uint64(8 * j)
        out[rows] = hashed(out[rows], word)


def sorted_order(hashes: HashArray) -> npt.NDArray[np.int64]:
    """Positions that put the hashes in increasing order.

    >>> sorted_order(np.array([3, 1, 2], dtype=np.uint64)).tolist()
    [1, 2, 0]
    """
    if len(hashes) < 1 << 16:
        return np.argsort(hashes, kind="stable").astype(np.int64)
    from shoal.kernels._group_loops import sort_with_rows

    _, rows = sort_with_rows(hashes, 64)
    return rows  # type: ignore[no-any-return]
