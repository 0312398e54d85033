"""Check characters: two digits behind a pseudonym that tell a mistyped one from an unknown one.

ISO/IEC 7064 MOD 97-10 on the number that the base-32 letters spell: that number, times 100, plus the two digits, leaves 1 when
divided by 97. Every single wrong character and every exchange of two neighbours is found, because 97 is prime and divides none
of the differences they make; of other errors, all but one in 97.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.protector.crypto import base32

if TYPE_CHECKING:
    from numpy.typing import NDArray

WIDTH = 2
_VALUES = np.zeros(256, dtype=np.int64)
_VALUES[np.frombuffer(base32.ALPHABET, dtype=np.uint8)] = np.arange(32)


def append(letters: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Rows of base-32 letters with their two digits.

    >>> append(np.frombuffer(b"D1JPRV3F", dtype=np.uint8).reshape(1, -1)).tobytes()
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
    return append(np.frombuffer(letters.encode("ascii"), dtype=np.uint8).reshape(1, -1)).tobytes().decode()


def without_check(text: str) -> str | None:
    """The letters, in capitals and with easily confused ones read alike; None where a character is wrong.

    >>> without_check("d1jprv3f27"), without_check("D1JPRV3F28"), without_check("DIJPRV3F27"), without_check("1DJPRV3F27")
    ('D1JPRV3F', None, 'D1JPRV3F', None)
    """
    letters = base32.canonical(text)
    if letters is None or len(letters) <= WIDTH or not letters[-WIDTH:].isdigit():
        return None
    return letters[:-WIDTH] if with_check(letters[:-WIDTH]) == letters else None
