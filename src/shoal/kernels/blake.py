"""BLAKE2b of many short rows under one key: a call for each row takes longer than the hash.

Source   RFC 7693
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.kernels.group import compiled_pays
from shoal.kernels.jit import lean_njit

Words = npt.NDArray[np.uint64]

_IV = np.array(
    [
        *(0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1),
        *(0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179),
    ],
    dtype=np.uint64,
)
_ORDER = np.array(
    [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
        [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
        [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
        [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
        [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
        [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
        [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
        [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
        [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
    ],
    dtype=np.int64,
)
_BYTES = 8
"""Length of a digest: it is the first word of the state."""
AT_ONCE = 1 << 16
"""Rows that are joined at once."""
MANY = 100_000
"""Rows from which on compiling pays, the first time too."""


@lean_njit
def _turn(a: Any, b: Any, c: Any, d: Any, x: Any, y: Any) -> Any:
    a += b + x
    d ^= a
    d = (d >> np.uint64(32)) | (d << np.uint64(32))
    c += d
    b ^= c
    b = (b >> np.uint64(24)) | (b << np.uint64(40))
    a += b + y
    d ^= a
    d = (d >> np.uint64(16)) | (d << np.uint64(48))
    c += d
    b ^= c
    b = (b >> np.uint64(63)) | (b << np.uint64(1))
    return a, b, c, d


@lean_njit
def _compress(h: Any, m: Any, length: Any, last: bool, iv: Any, order: Any) -> None:
    """Take a block of 16 words into the state; ``length`` counts the bytes so far."""
    v0, v1, v2, v3, v4, v5, v6, v7 = h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7]
    v8, v9, v10, v11, v12, v13, v14, v15 = iv[0], iv[1], iv[2], iv[3], iv[4], iv[5], iv[6], iv[7]
    v12 ^= np.uint64(length)
    if last:
        v14 = ~v14
    for r in range(12):
        s = order[r % 10]
        v0, v4, v8, v12 = _turn(v0, v4, v8, v12, m[s[0]], m[s[1]])
        v1, v5, v9, v13 = _turn(v1, v5, v9, v13, m[s[2]], m[s[3]])
        v2, v6, v10, v14 = _turn(v2, v6, v10, v14, m[s[4]], m[s[5]])
        v3, v7, v11, v15 = _turn(v3, v7, v11, v15, m[s[6]], m[s[7]])
        v0, v5, v10, v15 = _turn(v0, v5, v10, v15, m[s[8]], m[s[9]])
        v1, v6, v11, v12 = _turn(v1, v6, v11, v12, m[s[10]], m[s[11]])
        v2, v7, v8, v13 = _turn(v2, v7, v8, v13, m[s[12]], m[s[13]])
        v3, v4, v9, v14 = _turn(v3, v4, v9, v14, m[s[14]], m[s[15]])
    h[0] ^= v0 ^ v8
    h[1] ^= v1 ^ v9
    h[2] ^= v2 ^ v10
    h[3] ^= v3 ^ v11
    h[4] ^= v4 ^ v12
    h[5] ^= v5 ^ v13
    h[6] ^= v6 ^ v14
    h[7] ^= v7 ^ v15


@lean_njit
def _hash_rows(rows: Any, start: Any, state: Any, m: Any, iv: Any, order: Any, out: Any) -> None:
    """The first word of the hash of each row, which begins in the state ``start``; ``state`` and ``m`` are room to work in."""
    width = rows.shape[1]
    for i in range(len(rows)):
        for j in range(8):
            state[j] = start[j]
        for at in range(0, width, 16):
            n = min(16, width - at)
            for j in range(16):
                m[j] = rows[i, at + j] if j < n else np.uint64(0)
            _compress(state, m, 128 + 8 * (at + n), at + n == width, iv, order)
        out[i] = state[0]


def keyed_digests(values: Sequence[npt.NDArray[np.uint8]], codes: Sequence[npt.NDArray[np.integer]], key: bytes) -> Words:
    """The keyed BLAKE2b, eight bytes long, of each row: the ``values`` (of 16 bytes) that its codes stand for, joined.

    >>> values = np.arange(48, dtype=np.uint8).reshape(3, 16)
    >>> keyed_digests([values, values], [np.array([1]), np.array([-1])], b"k").tobytes() == hashlib.blake2b(
    ...     values[1].tobytes() + values[2].tobytes(), digest_size=8, key=b"k"
    ... ).digest()
    True
    """
    rows, width = len(codes[0]), 16 * len(values)
    compiled = rows >= MANY and compiled_pays(rows)
    out, keyed = np.empty(rows, dtype=np.uint64), hashlib.blake2b(digest_size=_BYTES, key=key)
    start, state, room = _IV.copy(), _IV.copy(), np.empty(16, np.uint64)
    if compiled:
        start[0] ^= np.uint64(0x01010000 ^ len(key) << 8 ^ _BYTES)
        _compress(start, np.frombuffer(key.ljust(128, b"\0"), np.uint64), 128, False, _IV, _ORDER)
    for at in range(0, rows, AT_ONCE):
        part = slice(at, at + AT_ONCE)
        joined = np.concatenate([v[c[part]] for v, c in zip(values, codes, strict=True)], axis=1)
        if compiled:
            _hash_rows(joined.view(np.uint64), start, state, room, _IV, _ORDER, out[part])
        else:
            out[part] = np.frombuffer(b"".join(_each(joined.tobytes(), width, keyed)), dtype=np.uint64)
    return out


def _each(data: bytes, width: int, keyed: Any) -> Iterator[bytes]:
    for at in range(0, len(data), width):
        one = keyed.copy()  # the key is taken in once
        one.update(data[at : at + width])
        yield one.digest()
