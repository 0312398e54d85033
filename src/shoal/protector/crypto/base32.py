"""Crockford base 32: the letters of pseudonyms, tokens and shares; many equal-length byte strings at once, or one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


ALPHABET = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def token_length(width: int) -> int:
    """Characters of the base-32 form of ``width`` bytes.

    >>> token_length(16), token_length(32)
    (26, 52)
    """
    return -(-8 * width // 5)


def encode_rows(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Base-32 characters of each row of bytes.

    >>> encode_rows(np.frombuffer(b"hello", dtype=np.uint8).reshape(1, 5)).tobytes()
    b'D1JPRV3F'
    """
    n, width = rows.shape
    groups = -(-width // 5)
    padded = np.zeros((n, groups * 5), dtype=np.uint8)
    padded[:, :width] = rows
    parts = padded.reshape(n, groups, 5).astype(np.uint64)
    value = np.zeros((n, groups), dtype=np.uint64)
    for i in range(5):
        value = (value << np.uint64(8)) | parts[:, :, i]
    digits = np.empty((n, groups, 8), dtype=np.uint8)
    for i in range(8):
        digits[:, :, i] = (value >> np.uint64(35 - 5 * i)) & np.uint64(31)
    letters = np.frombuffer(ALPHABET, dtype=np.uint8)
    return letters[digits.reshape(n, groups * 8)[:, : token_length(width)]]


def encode(value: bytes) -> str:
    """Base 32 of one byte string.

    >>> encode(b"hello") == encode_rows(np.frombuffer(b"hello", dtype=np.uint8).reshape(1, 5)).tobytes().decode()
    True
    """
    width = token_length(len(value))
    pairs = -(-width // 2)
    bits = int.from_bytes(value, "big") << (10 * pairs - 8 * len(value))
    return "".join([_PAIRS[bits >> (10 * i) & 1023] for i in range(pairs - 1, -1, -1)])[:width]


def decode(token: str) -> bytes | None:
    """The bytes of one base-32 token; None when it is not one.

    >>> decode(encode(b"leading zeros 007")), decode("not a token!")
    (b'leading zeros 007', None)
    """
    values = token.encode("ascii", errors="replace").translate(_READ)
    if b"!" in values:
        return None
    bits = int(values or b"0", 32)
    width = 5 * len(values) // 8
    spare = 5 * len(values) - 8 * width
    if bits & ((1 << spare) - 1):
        return None
    return (bits >> spare).to_bytes(width, "big")


def canonical(token: str) -> str | None:
    """The one spelling of base-32 letters: capitals, O as 0, I and L as 1; None where something else stands among them.

    >>> canonical("do1l-"), canonical("doiL")
    (None, 'D011')
    """
    digits = token.encode("ascii", errors="replace").translate(_READ)
    return None if b"!" in digits else digits.translate(_SPELLED).decode()


def _read_table() -> bytes:
    """From each letter to the digit that ``int(…, 32)`` reads; ``!`` for anything but a letter."""
    table = bytearray(b"!" * 256)
    digits = b"0123456789ABCDEFGHIJKLMNOPQRSTUV"
    for letters, meant in ((ALPHABET, digits), (ALPHABET.lower(), digits), (b"OoIiLl", b"001111")):
        for letter, digit in zip(letters, meant, strict=True):
            table[letter] = digit
    return bytes(table)


_READ = _read_table()
_SPELLED = bytes.maketrans(b"0123456789ABCDEFGHIJKLMNOPQRSTUV", ALPHABET)
_PAIRS = [a + b for a in ALPHABET.decode() for b in ALPHABET.decode()]

CHECK_WIDTH = 2
_VALUES = np.zeros(256, dtype=np.int64)
_VALUES[np.frombuffer(ALPHABET, dtype=np.uint8)] = np.arange(32)


def append_check(letters: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Rows of base-32 letters with their two digits.

    >>> append_check(np.frombuffer(b"D1JPRV3F", dtype=np.uint8).reshape(1, -1)).tobytes()
    b'D1JPRV3F27'
    """
    rest = np.zeros(len(letters), dtype=np.int64)
    for place in range(letters.shape[1]):
        rest = (rest * 32 + _VALUES[letters[:, place]]) % 97
    check = 98 - rest * 100 % 97
    digits = np.stack([check // 10, check % 10], axis=1).astype(np.uint8) + np.uint8(ord("0"))
    return np.concatenate([letters, digits], axis=1)


def with_check(letters: str) -> str:
    """Base-32 letters with their two digits.

    >>> with_check("D1JPRV3F")
    'D1JPRV3F27'
    """
    return append_check(np.frombuffer(letters.encode("ascii"), dtype=np.uint8).reshape(1, -1)).tobytes().decode()


def without_check(text: str) -> str | None:
    """The letters, in capitals and with easily confused ones read alike; None where a character is wrong.

    >>> without_check("d1jprv3f27"), without_check("D1JPRV3F28"), without_check("DIJPRV3F27"), without_check("1DJPRV3F27")
    ('D1JPRV3F', None, 'D1JPRV3F', None)
    """
    letters = canonical(text)
    if letters is None or len(letters) <= CHECK_WIDTH or not letters[-CHECK_WIDTH:].isdigit():
        return None
    return letters[:-CHECK_WIDTH] if with_check(letters[:-CHECK_WIDTH]) == letters else None
