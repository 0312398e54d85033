"""Random numbers by position: row i always gets the same draw, whatever the size of the batches.

A draw is SplitMix64 of (key, counter), so rows can be treated in any order, on any machine, with the same result. Keys are
derived from a seed and words by BLAKE2. Not for secrets: those use HMAC with a key.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def derive(seed: int, *words: str) -> int:
    """A 64-bit key from a seed and words.

    >>> derive(1, "noise", "age") == derive(1, "noise", "age") != derive(1, "noise", "income")
    True
    """
    text = "\x00".join([str(int(seed)), *words])
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest(), "little")


def bits(key: int, start: int, n: int) -> npt.NDArray[np.uint64]:
    """64 random bits for each of the counters start, start + 1, …, start + n − 1."""
    with np.errstate(over="ignore"):
        z = np.uint64(key & (2**64 - 1)) + (np.arange(start, start + n, dtype=np.uint64) + np.uint64(1)) * _GOLDEN
        z = (z ^ (z >> np.uint64(30))) * _MIX_1
        z = (z ^ (z >> np.uint64(27))) * _MIX_2
        out: npt.NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return out


def uniforms(key: int, start: int, n: int) -> FloatArray:
    """Uniform numbers strictly between 0 and 1.

    >>> bool((uniforms(7, 0, 10)[4:] == uniforms(7, 4, 6)).all())
    True
    """
    out: FloatArray = ((bits(key, start, n) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return np.minimum(out, 1 - 2.0**-53)  # one draw in 2⁵³ would round up to 1


def normals(key: int, start: int, n: int) -> FloatArray:
    """Standard normal numbers, by inversion."""
    from scipy.special import ndtri

    out: FloatArray = ndtri(uniforms(key, start, n))
    return out


def laplaces(key: int, start: int, n: int) -> FloatArray:
    """Standard Laplace numbers (density ½ e^{−|x|}, variance 2), by inversion."""
    u = uniforms(key, start, n) - 0.5
    out: FloatArray = -np.sign(u) * np.log1p(-2.0 * np.abs(u))
    return out


def generator(seed: int, *words: str) -> np.random.Generator:
    """A numpy generator for whole columns.

    >>> int(generator(1, "swap").integers(100)) == int(generator(1, "swap").integers(100))
    True
    """
    return np.random.Generator(np.random.PCG64(derive(seed, *words)))
