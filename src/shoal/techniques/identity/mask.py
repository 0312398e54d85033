"""Direct identifiers: remove them, hash them with a key, or put consistent fakes in their place.

The same value gets the same replacement in every table and run that uses the same key and ``domain``; in another domain it
gets an unrelated one. Nothing can be computed without the key: unkeyed hashes do not occur here. For pseudonyms that can be
undone under control, use the vault.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.errors import DataError, PolicyError, need
from shoal.kernels.text import canonical_text
from shoal.model.plan import StreamStep, register_step
from shoal.techniques.columns import with_column
from shoal.techniques.identity.keys import EachText, digests_of, keyed_digest, keyed_digests, read_key

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
        what = f"column '{column}' holds codes of a format with fewer than {MIN_DOMAIN:,} possibilities."
        raise DataError(what, hint="Use a keyed hash, or remove the column.", column=column)
    shape = "".join(
        "9" if r == 10 else ("A" if c.isupper() else "a") if r == 26 else c for r, c in zip(radices, text, strict=True)
    )
    tweak += b"\x00" + shape.encode("utf-8", "surrogatepass")
    number = _to_number(text, radices)
    while True:  # one round, but for small formats: a hundred on average for the smallest
        number = ff1.encrypt_int(number, domain=max(size, FF1_DOMAIN), tweak=tweak)
        if number < size:
            return _from_number(number, text, radices)


def _radix(c: str) -> int:
    if c.isascii() and c.isdigit():
        return 10
    return 26 if c.isascii() and c.isalpha() else 1


def _to_number(text: str, radices: Sequence[int]) -> int:
    number = 0
    for c, r in zip(text, radices, strict=True):
        if r > 1:
            number = number * r + (int(c) if r == 10 else ord(c.lower()) - 97)
    return number


def _from_number(number: int, text: str, radices: Sequence[int]) -> str:
    out = list(text)
    for i in range(len(text) - 1, -1, -1):
        if radices[i] > 1:
            number, digit = divmod(number, radices[i])
            letter = chr(97 + digit)
            out[i] = str(digit) if radices[i] == 10 else (letter.upper() if text[i].isupper() else letter)
    return "".join(out)


REMEMBERED = 1 << 16
"""Replacements that are kept at hand: a million people need no million entries."""

CODE = "code"
PROVIDERS = (
    "name", "first_name", "last_name", "email", "phone_number", "address", "street_address", "city", "company", "job",
    "user_name", "iban", "ssn", "license_plate", "url", "ipv4", CODE,
)  # fmt: skip
"""Kinds of fakes: those of Faker that stand for identifiers, and ``code``, which keeps the format of the value."""


@dataclass(frozen=True)
class _Keyed(StreamStep):
    """Replaces each value by a function of it and a key."""

    key: str = "env:SHOAL_KEY"
    domain: str = ""
    truthful: ClassVar[bool] = False
    by_row: ClassVar[bool] = False
    draws: ClassVar[bool] = False

    @property
    def _domain(self) -> str:
        return self.domain or self.column


@register_step
@dataclass(frozen=True)
class KeyedHash(_Keyed):
    """Hexadecimal HMAC-SHA-256 of the value, cut to ``length`` characters. Missing stays missing.

    With 16 characters and a million values, the chance of any collision is 3 in 10 million.
    """

    length: int = 32
    kind: ClassVar[str] = "keyed_hash"

    def __post_init__(self) -> None:
        if not 16 <= self.length <= 64:
            raise PolicyError(f"a keyed hash of '{self.column}' needs 16 to 64 characters; found {self.length}.")

    def start(self, seed: int) -> Callable[[pa.Table, object], pa.Table]:
        key = read_key(self.key)
        hashed = EachText(lambda texts: _hexadecimal(digests_of(key, self._domain, texts), self.length))

        def run(table: pa.Table, rows: object) -> pa.Table:
            return with_column(table, self.column, hashed(canonical_text(table.column(self.column))))

        return run


_DIGITS = np.frombuffer(b"".join(b"%02x" % byte for byte in range(256)), np.uint16)
"""The two digits of each byte, side by side."""


def _hexadecimal(digests: npt.NDArray[np.uint8], length: int) -> Any:
    """Digests of 32 bytes as texts of their first digits."""
    text = np.take(_DIGITS, digests[:, : (length + 1) // 2], mode="clip").view(np.uint8)
    data = pa.py_buffer(np.ascontiguousarray(text[:, :length]))
    ends = pa.py_buffer(np.arange(len(digests) + 1, dtype=np.int64) * length)
    return pa.Array.from_buffers(pa.large_string(), len(digests), [None, ends, data]).cast(pa.string())


@register_step
@dataclass(frozen=True)
class Fake(_Keyed):
    """A made-up value of the same kind: Faker's names and addresses, or a code of the same format.

    ``code`` is a permutation: different codes stay different, so that foreign keys still join and do not join by accident.
    Faker's names may coincide, as real names do, and may change with the version of Faker.
    """

    provider: str = CODE
    locale: str = "en_US"
    kind: ClassVar[str] = "fake"

    def __post_init__(self) -> None:
        if self.provider not in PROVIDERS:
            raise PolicyError(f"fakes of kind '{self.provider}' are not known.", hint=f"Kinds: {', '.join(PROVIDERS)}.")

    def start(self, seed: int) -> Callable[[pa.Table, object], pa.Table]:
        replace = lru_cache(REMEMBERED)(self.replacement())

        def run(table: pa.Table, rows: object) -> pa.Table:
            encoded = canonical_text(table.column(self.column)).dictionary_encode()
            labels = pa.array([replace(t) for t in encoded.dictionary.to_pylist()], pa.string())
            return with_column(table, self.column, labels.take(encoded.indices))

        return run

    def replacement(self) -> Callable[[str], str]:
        key = read_key(self.key)
        if self.provider == CODE:
            ff1, tweak = (
                cipher(keyed_digest(key, "format-preserving", self._domain)),
                self._domain.encode("utf-8", "surrogatepass"),
            )
            return lambda text: permute_code(ff1, text, tweak, column=self.column)
        try:
            from faker import Faker
        except ImportError:
            raise need("fakes", "faker") from None
        maker = Faker(self.locale)
        digest = keyed_digests(key, f"{self._domain}\x00{self.provider}")

        def fake(text: str) -> str:
            maker.seed_instance(int.from_bytes(digest(text)[:8], "big"))
            return str(getattr(maker, self.provider)()).replace("\n", ", ")

        return fake
