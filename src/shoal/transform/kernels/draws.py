"""Random numbers by position: row i always gets the same draw, whatever the size of the batches.

A draw is 64 bits of SHAKE-128 of (key, block of rows), so rows can be treated in any order, on any machine, with the same
result, and knowing some draws tells nothing about the others: whoever knows one person's value and the published one knows that
person's noise and no more. Keys are derived from a seed and words by BLAKE2.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

BLOCK = 4096
"""Rows that share one call of the hash."""


def derive(seed: int, *words: str) -> bytes:
    """A 256-bit key from a seed and words.

    >>> derive(1, "noise", "age") == derive(1, "noise", "age") != derive(1, "noise", "income")
    True
    """
    parts = [w.encode("utf-8", "surrogatepass") for w in (str(int(seed)), *words)]
    text = b"".join(len(p).to_bytes(8, "little") + p for p in parts)
    return hashlib.blake2b(text, digest_size=32, person=b"shoal draws").digest()


def bits(key: bytes, start: int, n: int) -> npt.NDArray[np.uint64]:
    """64 random bits for each of the counters start, start + 1, …, start + n − 1."""
    first, last = start // BLOCK, -(-(start + n) // BLOCK)
    raw = b"".join(hashlib.shake_128(key + b.to_bytes(8, "little")).digest(8 * BLOCK) for b in range(first, last))
    return np.frombuffer(raw, "<u8")[start - first * BLOCK :][:n].astype(np.uint64)


def uniforms(key: bytes, start: int, n: int) -> FloatArray:
    """Uniform numbers strictly between 0 and 1.

    >>> key = derive(7)
    >>> bool((uniforms(key, 0, 5000)[4000:] == uniforms(key, 4000, 1000)).all())
    True
    """
    out: FloatArray = ((bits(key, start, n) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return np.minimum(out, 1 - 2.0**-53)  # one draw in 2⁵³ would round up to 1


def normals(key: bytes, start: int, n: int) -> FloatArray:
    """Standard normal numbers, by inversion."""
    from scipy.special import ndtri

    out: FloatArray = ndtri(uniforms(key, start, n))
    return out


def laplaces(key: bytes, start: int, n: int) -> FloatArray:
    """Standard Laplace numbers (density ½ e^{−|x|}, variance 2), by inversion."""
    u = uniforms(key, start, n) - 0.5
    out: FloatArray = -np.sign(u) * np.log1p(-2.0 * np.abs(u))
    return out


def permutation(key: bytes, n: int) -> npt.NDArray[np.int64]:
    """The positions 0 … n − 1 in random order.

    >>> sorted(permutation(derive(1, "swap"), 4).tolist())
    [0, 1, 2, 3]
    """
    return np.argsort(bits(key, 0, n), kind="stable").astype(np.int64)


def share_of(key: bytes, text: str) -> float:
    """A uniform number in [0, 1) that belongs to a text: the same wherever it stands."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=key, digest_size=8).digest()
    return int.from_bytes(digest, "little") / 2**64
