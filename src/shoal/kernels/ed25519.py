"""Public keys that anybody can sign for.

Takes    the 32 bytes of an Ed25519 public key
Returns  whether the key is weak: a point of small order (a signature of its own making then fits any text), or not the one way to
         write its point
Source   RFC 8032 §5.1; Chalkias, Garillot & Nikolaenko 2020 on small-order keys
Differs  only this check is ours: ``cryptography`` signs and verifies, but accepts such keys
"""

from __future__ import annotations

PRIME = 2**255 - 19
SMALL_ORDER = frozenset(
    {
        0,  # order 4
        1,  # the neutral point
        PRIME - 1,  # order 2
        0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,  # order 8
        0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7,  # order 8
    }
)
"""The y coordinates of the eight points of small order (two points share one, but for the neutral point and that of order 2)."""


def is_weak(public: bytes) -> bool:
    """Whether nobody needs a private key to sign for this public one.

    >>> is_weak(bytes([1]) + bytes(31))
    True
    >>> is_weak(bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"))  # of RFC 8032
    False
    """
    y = int.from_bytes(public, "little") & (2**255 - 1)
    return y >= PRIME or y in SMALL_ORDER
