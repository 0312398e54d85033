"""HMAC-SHA-256 of many texts at once: a call into a library for each takes longer than the digest.

Source   FIPS 180-4 (SHA-256), RFC 2104 (HMAC). No branch and no address depends on the key or on what is hashed.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.kernels.jit import lean_njit, up_to

FEW = up_to(1 << 12)
"""Fewer texts are hashed one by one: they are done before numba would be loaded."""
BLOCK = 64
Words = npt.NDArray[np.uint32]


def _primes(n: int) -> list[int]:
    return [p for p in range(2, 6 * n) if all(p % q for q in range(2, p))][:n]


def _fraction(prime: int, root: int) -> int:
    """The first 32 bits behind the point of a square or cube root."""
    whole: int = round((prime << 32 * root) ** (1 / root))
    while whole**root > prime << 32 * root:
        whole -= 1
    while (whole + 1) ** root <= prime << 32 * root:
        whole += 1
    return whole & 0xFFFFFFFF


_START = np.array([_fraction(p, 2) for p in _primes(8)], np.uint32)
_ROUND = np.array([_fraction(p, 3) for p in _primes(64)], np.uint32)


def hmac_texts(key: bytes, prefix: bytes, texts: Any) -> npt.NDArray[np.uint8]:
    """HMAC-SHA-256 of ``prefix`` and each text of a pyarrow array without missing ones: 32 bytes each."""
    import pyarrow as pa

    block = (key if len(key) <= BLOCK else hashlib.sha256(key).digest()).ljust(BLOCK, b"\0")
    inner, rest = _begun(bytes(b ^ 0x36 for b in block) + prefix)
    outer, _ = _begun(bytes(b ^ 0x5C for b in block))
    texts = texts.cast(pa.large_string())
    out = np.empty((len(texts), 8), np.uint32)
    if len(texts):
        _, offsets, data = texts.buffers()
        ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
        payload = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
        done = BLOCK + len(prefix) - len(rest)
        _digest(inner, outer, rest, done, ends, payload, np.empty(BLOCK, np.uint32), np.empty(8, np.uint32), out)
    return out.astype(">u4").view(np.uint8).reshape(-1, 32)


def _begun(message: bytes) -> tuple[Words, npt.NDArray[np.uint8]]:
    """The state after the whole blocks of a message, and the bytes that are left."""
    state, words = _START.copy(), np.empty(BLOCK, np.uint32)
    whole = len(message) // BLOCK * BLOCK
    for at in range(0, whole, BLOCK):
        words[:16] = np.frombuffer(message, ">u4", 16, at)
        _compress(state, words)
    return state, np.frombuffer(message[whole:].ljust(1, b"\0"), np.uint8)[: len(message) - whole]


@lean_njit
def _turned(x: Any, n: int) -> Any:
    return np.uint32((x >> np.uint32(n)) | (x << np.uint32(32 - n)))


@lean_njit
def _compress(state: Words, w: Words) -> None:
    """One block, in the first sixteen of the words ``w``, into the state."""
    for t in range(np.uint64(16), np.uint64(64)):
        x, y = w[t - np.uint64(15)], w[t - np.uint64(2)]
        small = _turned(x, 7) ^ _turned(x, 18) ^ (x >> np.uint32(3))
        large = _turned(y, 17) ^ _turned(y, 19) ^ (y >> np.uint32(10))
        w[t] = np.uint32(w[t - np.uint64(16)] + small + w[t - np.uint64(7)] + large)
    a, b, c, d, e, f, g, h = state[0], state[1], state[2], state[3], state[4], state[5], state[6], state[7]
    for t in range(64):
        choice = (e & f) ^ (~e & g)
        first = np.uint32(h + (_turned(e, 6) ^ _turned(e, 11) ^ _turned(e, 25)) + choice + _ROUND[t] + w[t])
        second = np.uint32((_turned(a, 2) ^ _turned(a, 13) ^ _turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c)))
        h, g, f, e, d, c, b, a = g, f, e, np.uint32(d + first), c, b, a, np.uint32(first + second)
    state[0] = np.uint32(state[0] + a)
    state[1] = np.uint32(state[1] + b)
    state[2] = np.uint32(state[2] + c)
    state[3] = np.uint32(state[3] + d)
    state[4] = np.uint32(state[4] + e)
    state[5] = np.uint32(state[5] + f)
    state[6] = np.uint32(state[6] + g)
    state[7] = np.uint32(state[7] + h)


@lean_njit
def _digest(
    inner: Words, outer: Words, head: Any, done: int, ends: Any, data: Any, w: Words, state: Words, out: npt.NDArray[np.uint32]
) -> None:
    """Of each text, behind ``done`` bytes that are in ``inner`` and the bytes ``head``; ``w`` and ``state`` are written over."""
    first = len(head)
    for row in range(len(ends) - 1):
        start, n = ends[row], first + ends[row + 1] - ends[row]
        for i in range(8):
            state[i] = inner[i]
        w[:16] = np.uint32(0)
        for i in range(n + 1):  # one more: the bit behind the message
            byte = np.uint32(0x80)
            if i < first:
                byte = np.uint32(head[i])
            elif i < n:
                byte = np.uint32(data[start + i - first])
            at = i & 63
            w[at >> 2] |= byte << np.uint32(24 - 8 * (at & 3))
            if at == 63:
                _compress(state, w)
                w[:16] = np.uint32(0)
        if (n & 63) >= 56:  # no room for the length
            if (n & 63) != 63:
                _compress(state, w)
            w[:16] = np.uint32(0)
        bits = np.uint64(8 * (done + n))
        w[14], w[15] = np.uint32(bits >> np.uint64(32)), np.uint32(bits & np.uint64(0xFFFFFFFF))
        _compress(state, w)
        for i in range(8):
            w[i], w[8 + i], state[i] = state[i], np.uint32(0), outer[i]
        w[8], w[15] = np.uint32(0x80000000), np.uint32(8 * (64 + 32))
        _compress(state, w)
        for i in range(8):
            out[row, i] = state[i]
