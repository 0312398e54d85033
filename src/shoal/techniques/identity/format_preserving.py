"""Format-preserving permutation of codes: digits stay digits, letters stay letters, and no two codes become one.

FF1 of NIST SP 800-38G, from the package libffx (docs/decisions/0003-ff1.md). A code's digits and letters are one number below
10^a · 26^b; FF1 permutes the numbers below that limit (below a million for smaller formats, walking on until the result fits).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from shoal.errors import DataError, need

MIN_DOMAIN = 10_000
"""Codes of a format with fewer possibilities than this are refused: anyone who holds a few pairs could guess the rest."""

FF1_DOMAIN = 1_000_000
"""FF1 over fewer values is not allowed by SP 800-38G Rev. 1; smaller formats walk inside that many."""


def cipher(key: bytes) -> Any:
    """FF1 over bits under one key."""
    try:
        from ffx import FF1  # type: ignore[import-untyped]
    except ImportError:
        raise need("fakes", "libffx") from None
    return FF1(key if len(key) in (16, 24, 32) else hashlib.sha256(b"shoal ff1\x00" + key).digest(), radix=2)


def permute_code(ff1: Any, text: str, tweak: bytes, *, column: str) -> str:
    """Another code of the same format; different codes of one format stay different.

    >>> code = permute_code(cipher(bytes(range(16))), "AB-1234", b"patient", column="id")
    >>> len(code), code[2], code[:2].isalpha(), code[3:].isdigit()
    (7, '-', True, True)
    """
    radices = [_radix(c) for c in text]
    size = 1
    for r in radices:
        size *= r
    if size < MIN_DOMAIN:
        raise DataError(
            f"column '{column}' holds codes of a format with fewer than {MIN_DOMAIN:,} possibilities.",
            hint="Use a keyed hash, or remove the column.",
            column=column,
        )
    shape = "".join(
        "9" if r == 10 else ("A" if c.isupper() else "a") if r == 26 else c for r, c in zip(radices, text, strict=True)
    )
    tweak += b"\x00" + shape.encode("utf-8", "surrogatepass")
    number = _mixed(text, radices)
    while True:  # one round, but for small formats: a hundred on average for the smallest
        number = ff1.encrypt_int(number, domain=max(size, FF1_DOMAIN), tweak=tweak)
        if number < size:
            return _unmixed(number, text, radices)


def _radix(c: str) -> int:
    if c.isascii() and c.isdigit():
        return 10
    return 26 if c.isascii() and c.isalpha() else 1


def _mixed(text: str, radices: Sequence[int]) -> int:
    number = 0
    for c, r in zip(text, radices, strict=True):
        if r > 1:
            number = number * r + (int(c) if r == 10 else ord(c.lower()) - 97)
    return number


def _unmixed(number: int, text: str, radices: Sequence[int]) -> str:
    out = list(text)
    for i in range(len(text) - 1, -1, -1):
        if radices[i] > 1:
            number, digit = divmod(number, radices[i])
            letter = chr(97 + digit)
            out[i] = str(digit) if radices[i] == 10 else (letter.upper() if text[i].isupper() else letter)
    return "".join(out)
