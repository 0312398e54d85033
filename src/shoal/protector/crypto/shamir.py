"""Shares of a secret (Shamir 1979): any ``needed`` of them give it back, fewer tell nothing.

Each byte of the secret is the constant of a random polynomial of degree ``needed`` - 1 over GF(2^8) (the field of AES); a share
is its values at one point. Point 0 is the secret itself and is never handed out.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import reduce

from shoal.errors import UsageError

MOST = 255


def split(secret: bytes, shares: int, needed: int) -> dict[int, bytes]:
    """Shares by their point, 1 to ``shares``.

    >>> parts = split(b"secret", 5, 3)
    >>> joined({point: parts[point] for point in (2, 5, 3)})
    b'secret'
    """
    if not 2 <= needed <= shares <= MOST:
        raise UsageError(f"{needed} of {shares} shares make no sense.", hint="At least two are needed, of at most 255.")
    coefficients = [secret, *(os.urandom(len(secret)) for _ in range(needed - 1))]
    return {point: bytes(_value(byte, point) for byte in zip(*coefficients, strict=True)) for point in range(1, shares + 1)}


def joined(parts: Mapping[int, bytes]) -> bytes:
    """The secret from enough shares; from fewer, or from altered ones, other bytes."""
    if len({len(part) for part in parts.values()}) != 1 or not all(1 <= point <= MOST for point in parts):
        raise UsageError("these shares do not belong together.")
    weights = {point: _weight(point, [other for other in parts if other != point]) for point in parts}
    size = len(next(iter(parts.values())))
    return bytes(reduce(int.__xor__, (_times(parts[p][i], weights[p]) for p in parts)) for i in range(size))


def _value(coefficients: tuple[int, ...], point: int) -> int:
    """The polynomial at a point (Horner)."""
    return reduce(lambda total, c: _times(total, point) ^ c, reversed(coefficients), 0)


def _weight(point: int, others: list[int]) -> int:
    """Lagrange's weight of a point for the value at 0."""
    return reduce(_times, (_times(other, _inverse(other ^ point)) for other in others), 1)


def _times(a: int, b: int) -> int:
    """Product in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1.

    >>> _times(0x57, 0x83) == 0xC1  # FIPS 197, section 4.2
    True
    """
    product = 0
    for _ in range(8):
        product ^= a if b & 1 else 0
        a = (a << 1) ^ (0x11B if a & 0x80 else 0)
        b >>= 1
    return product


def _inverse(a: int) -> int:
    """The inverse of a number other than 0: a^254."""
    return reduce(_times, [a] * 254)
