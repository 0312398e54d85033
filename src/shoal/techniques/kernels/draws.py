"""Random numbers that belong to a row: the same draw for it, for any order of the rows and the size of the batches.

A row has a number of 128 bits: a hash of its content and how many equal rows came before it
(:func:`shoal.kernels.order.row_numbers`), or its place among all (:func:`places`). A draw is 64 bits of AES-256 of that number
under a key, so that knowing some draws tells nothing about the others: anyone who knows one person's value and the published one
knows that person's noise and no more. Keys are derived from a seed and words by BLAKE2.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from shoal.kernels.quantiles import normal_quantiles

FloatArray = npt.NDArray[np.float64]
RowNumbers = npt.NDArray[np.uint64]
"""Two words per row, which no other row has."""


def derive(seed: int, *words: str) -> bytes:
    """A 256-bit key from a seed and words.

    >>> derive(1, "noise", "age") == derive(1, "noise", "age") != derive(1, "noise", "income")
    True
    """
    parts = [w.encode("utf-8", "surrogatepass") for w in (str(int(seed)), *words)]
    text = b"".join(len(p).to_bytes(8, "little") + p for p in parts)
    return hashlib.blake2b(text, digest_size=32, person=b"shoal draws").digest()


def places(start: int, n: int) -> RowNumbers:
    """The numbers of the rows start, start + 1, …, start + n − 1, where their place is all that counts."""
    out = np.zeros((n, 2), np.uint64)
    out[:, 0] = np.arange(start, start + n, dtype=np.uint64)
    return out


def bits(key: bytes, rows: RowNumbers) -> npt.NDArray[np.uint64]:
    """64 random bits for each row."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    blocks = np.ascontiguousarray(rows, "<u8")
    made = Cipher(algorithms.AES256(key), modes.ECB()).encryptor().update(blocks.data.cast("B") if len(blocks) else b"")  # noqa: S305
    return np.frombuffer(made, "<u8")[::2].astype(np.uint64)


def uniforms(key: bytes, rows: RowNumbers) -> FloatArray:
    """Uniform numbers strictly between 0 and 1.

    >>> key = derive(7)
    >>> bool((uniforms(key, places(0, 5000))[4000:] == uniforms(key, places(4000, 1000))).all())
    True
    """
    out: FloatArray = ((bits(key, rows) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return np.minimum(out, 1 - 2.0**-53)  # one draw in 2⁵³ would round up to 1


def normals(key: bytes, rows: RowNumbers) -> FloatArray:
    """Standard normal numbers, by inversion."""
    return normal_quantiles(uniforms(key, rows))


def laplaces(key: bytes, rows: RowNumbers) -> FloatArray:
    """Standard Laplace numbers (density ½ e^{−|x|}, variance 2), by inversion."""
    u = uniforms(key, rows) - 0.5
    out: FloatArray = -np.sign(u) * np.log1p(-2.0 * np.abs(u))
    return out


def permutation(key: bytes, n: int) -> npt.NDArray[np.int64]:
    """The positions 0 … n − 1 in random order.

    >>> sorted(permutation(derive(1, "swap"), 4).tolist())
    [0, 1, 2, 3]
    """
    return np.argsort(bits(key, places(0, n)), kind="stable").astype(np.int64)


def share_of(key: bytes, text: str) -> float:
    """A uniform number in [0, 1) that belongs to a text: the same wherever it stands."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=key, digest_size=8).digest()
    return int.from_bytes(digest, "little") / 2**64
