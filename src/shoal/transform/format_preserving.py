"""Format-preserving permutation of codes: digits stay digits, letters stay letters, and no two codes become one.

FF1 of NIST SP 800-38G over AES, checked against the samples of NIST. A code's digits and letters are one number below
10^a · 26^b; FF1 permutes the bits of that number, walking on until the result is below the same limit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from shoal.errors import DataError

MIN_DOMAIN = 100
"""Codes of a format with fewer possibilities than this cannot be hidden by permutation."""


class FF1:
    """FF1 with one key; ``encrypt`` takes and gives numerals below ``radix``.

    >>> FF1(bytes.fromhex("2B7E151628AED2A6ABF7158809CF4F3C")).encrypt([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 10, b"")
    [2, 4, 3, 3, 4, 7, 7, 4, 8, 4]
    """

    def __init__(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        aes_key = key if len(key) in (16, 24, 32) else hashlib.sha256(b"shoal ff1\x00" + key).digest()
        # FF1 is defined over the bare block cipher; its CBC-MAC and its counter are built below.
        self._aes: Any = Cipher(algorithms.AES(aes_key), modes.ECB()).encryptor()  # noqa: S305

    def _mac(self, data: bytes) -> bytes:
        block = bytes(16)
        for i in range(0, len(data), 16):
            block = self._aes.update(bytes(a ^ b for a, b in zip(block, data[i : i + 16], strict=True)))
        return block

    def encrypt(self, numerals: Sequence[int], radix: int, tweak: bytes) -> list[int]:
        """Ten Feistel rounds over the two halves, as in the standard."""
        n = len(numerals)
        u, v = n // 2, n - n // 2
        a, b = _number(numerals[:u], radix), _number(numerals[u:], radix)
        width = ((radix**v - 1).bit_length() + 7) // 8
        d = 4 * ((width + 3) // 4) + 4
        head = (
            bytes([1, 2, 1])
            + radix.to_bytes(3, "big")
            + bytes([10, u % 256])
            + n.to_bytes(4, "big")
            + len(tweak).to_bytes(4, "big")
        )
        padding = bytes((-len(tweak) - width - 1) % 16)
        for i in range(10):
            r = self._mac(head + tweak + padding + bytes([i]) + b.to_bytes(width, "big"))
            s = r
            for j in range(1, (d + 15) // 16):
                s += self._aes.update(bytes(x ^ y for x, y in zip(r, j.to_bytes(16, "big"), strict=True)))
            modulus = radix ** (u if i % 2 == 0 else v)
            a, b = b, (a + int.from_bytes(s[:d], "big")) % modulus
        return _numerals(a, radix, u) + _numerals(b, radix, v)


def permute_code(cipher: FF1, text: str, tweak: bytes, *, column: str) -> str:
    """Another code of the same format; different codes of one format stay different.

    >>> code = permute_code(FF1(bytes(range(16))), "AB-1234", b"patient", column="id")
    >>> len(code), code[2], code[:2].isalpha(), code[3:].isdigit()
    (7, '-', True, True)
    """
    radices = [_radix(c) for c in text]
    size = 1
    for r in radices:
        size *= r
    if size < MIN_DOMAIN:
        raise DataError(
            f"column '{column}' holds codes of a format with fewer than {MIN_DOMAIN} possibilities.",
            hint="Use a keyed hash, or remove the column.",
            column=column,
        )
    shape = "".join(
        "9" if r == 10 else ("A" if c.isupper() else "a") if r == 26 else c for r, c in zip(radices, text, strict=True)
    )
    length = max(2, (size - 1).bit_length())
    number = _mixed(text, radices)
    while True:  # at most two rounds on average: 2^length < 2·size
        number = _number(cipher.encrypt(_numerals(number, 2, length), 2, tweak + b"\x00" + shape.encode()), 2)
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


def _number(numerals: Sequence[int], radix: int) -> int:
    out = 0
    for d in numerals:
        out = out * radix + d
    return out


def _numerals(number: int, radix: int, length: int) -> list[int]:
    out = [0] * length
    for i in range(length - 1, -1, -1):
        number, out[i] = divmod(number, radix)
    return out
