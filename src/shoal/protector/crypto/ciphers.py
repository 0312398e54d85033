"""Pseudonyms without a table: keyed one-way (HMAC), reversible (AES-SIV) and format-preserving (FF1).

All three repeat: the same identity in the same domain, frame and key version gives the same pseudonym, on any machine.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from shoal.errors import DataError, UsageError
from shoal.protector.crypto import primitives as crypto
from shoal.protector.crypto.primitives import Opaque, Secret

if TYPE_CHECKING:
    from numpy.typing import NDArray

SMALLEST_FORMAT_DOMAIN = 1_000_000
"""NIST SP 800-38G Rev. 1: fewer possible values than this can be tried out."""

_SHORTEST = 32
"""Bytes of the shortest padded identity."""


class Keyed(Opaque):
    """One-way: the first 128 bits of HMAC-SHA256(key, frame || identity)."""

    def __init__(self, secret: Secret) -> None:
        self._prf = crypto.Prf(crypto.derive(secret, "keyed"))

    def encode(self, frame: bytes, identities: Sequence[bytes]) -> NDArray[np.uint8]:
        digests = b"".join(self._prf.many(frame, identities, 16))
        return np.frombuffer(digests, dtype=np.uint8).reshape(-1, 16)


class Reversible(Opaque):
    """Deterministic authenticated encryption (AES-256-SIV, RFC 5297) of frame and identity, padded to 32, 64, 128 … bytes.

    A pseudonym that was not made by this key is recognised as such.

    >>> box = Reversible(Secret(bytes(range(32))), b"domain")
    >>> sealed = box.encode(b"", [b"0012"])
    >>> sealed[0] == box.encode(b"", [b"0012"])[0], box.decode(sealed[0]), box.decode(b"x" * 32)
    (True, (b'', b'0012'), None)
    """

    def __init__(self, secret: Secret, bound_to: bytes) -> None:
        self._siv = AESSIV(crypto.derive(secret, "siv", length=64).expose())
        self._bound = [bound_to]

    def encode(self, frame: bytes, identities: Sequence[bytes]) -> list[bytes]:
        start = b"\0" if not frame.strip(b"\0") else b"\1" + len(frame).to_bytes(2, "big") + frame
        encrypt, bound = self._siv.encrypt, self._bound
        return [encrypt(_pad(start + identity), bound) for identity in identities]

    def encode_once(self, frame: bytes, identities: Sequence[bytes]) -> list[bytes]:
        """As :meth:`encode`, but a new pseudonym each time (transaction pseudonyms)."""
        encrypt, bound = self._siv.encrypt, self._bound
        start = b"\2" + len(frame).to_bytes(2, "big") + frame
        noise = os.urandom(16 * len(identities))
        return [encrypt(_pad(start + noise[16 * i : 16 * i + 16] + identity), bound) for i, identity in enumerate(identities)]

    def decode(self, token: bytes) -> tuple[bytes, bytes] | None:
        """Frame and identity, or None when the key did not make this pseudonym."""
        try:
            plain = self._siv.decrypt(token, self._bound)
        except (InvalidTag, ValueError):
            return None
        plain = plain[: plain.rindex(b"\x80")]
        if plain[0] == 0:
            return b"", plain[1:]
        size = int.from_bytes(plain[1:3], "big")
        skip = 16 if plain[0] == 2 else 0
        return plain[3 : 3 + size], plain[3 + size + skip :]


class FormatPreserving(Opaque):
    """FF1 (NIST SP 800-38G) over an alphabet; characters of ``keep`` stay in place. See docs/decisions/0003-ff1.md.

    FF1 carries no authentication: a wrong key version gives a wrong identity without an error, so the version is asked for.
    """

    def __init__(self, secret: Secret, alphabet: str, keep: str, bound_to: bytes) -> None:
        from ffx import FF1  # type: ignore[import-untyped]

        self._ff1: Any = FF1(crypto.derive(secret, "ff1").expose(), alphabet=alphabet)
        self._tweak = crypto.Prf(crypto.derive(secret, "ff1 tweak"))
        self._allowed = frozenset(alphabet)
        self._keep = frozenset(keep)
        self._bound = bound_to
        self._shortest = math.ceil(round(math.log(SMALLEST_FORMAT_DOMAIN) / math.log(len(alphabet)), 9))

    @property
    def shortest(self) -> int:
        """The fewest characters with at least a million possible values."""
        return self._shortest

    def encode(self, frame: bytes, values: Sequence[str]) -> list[str]:
        """Encrypt each value in its own format; refuse all when one has other characters or too few."""
        self._check(values)
        tweak = self._tweak.digest(self._bound + frame)[:16]
        encrypt = self._ff1.encrypt
        if not self._keep:
            return [encrypt(v, tweak=tweak) for v in values]
        return [self._around(v, encrypt, tweak) for v in values]

    def decode(self, frame: bytes, value: str) -> str | None:
        letters = [c for c in value if c not in self._keep]
        if len(letters) < max(2, self._shortest) or not self._allowed.issuperset(letters):
            return None
        return self._around(value, self._ff1.decrypt, self._tweak.digest(self._bound + frame)[:16])

    def _around(self, value: str, crypt: Any, tweak: bytes) -> str:
        """Encrypt the characters of the alphabet and put the kept ones back into their places."""
        kept = [(i, c) for i, c in enumerate(value) if c in self._keep]
        text = list(crypt("".join(c for c in value if c not in self._keep), tweak=tweak))
        for i, c in kept:
            text.insert(i, c)
        return "".join(text)

    def _check(self, values: Sequence[str]) -> None:
        short = other = 0
        for value in values:
            letters = [c for c in value if c not in self._keep] if self._keep else value
            short += len(letters) < max(2, self._shortest)
            other += not self._allowed.issuperset(letters)
        if other:
            what = f"{other:,} of {len(values):,} different identities have characters outside the domain's alphabet."
            raise DataError(what, hint="Make the domain with a wider alphabet, name separators in `keep`, or use kind 'random'.")
        if short:
            raise DataError(
                f"{short:,} of {len(values):,} different identities are too short: with {len(self._allowed)} characters, at "
                f"least {self._shortest} are needed so that a million values are possible.",
                hint="Use kind 'random' or 'keyed' for short identifiers: a small format can be tried out.",
            )


def require_version(version: int | None, living: Sequence[int]) -> int:
    """The key version of format-preserving pseudonyms; with several alive it must be given."""
    if version is None and len(living) == 1:
        return living[0]
    if version is None:
        hint = "Name the key version: it is the number in the key id beside the pseudonymised file."
        raise UsageError("this domain has had several keys, and a format-preserving pseudonym does not tell its own.", hint=hint)
    if version not in living:
        raise UsageError(f"key version {version} does not exist or was destroyed.", hint=f"Living: {list(living)}.")
    return version


def _pad(plain: bytes) -> bytes:
    """Up to 32 bytes, or the next power of two: identities of usual length give pseudonyms of one length.

    >>> [len(_pad(b"x" * size)) for size in (0, 31, 32, 63, 64)]
    [32, 32, 64, 64, 128]
    """
    text = plain + b"\x80"
    return text.ljust(max(_SHORTEST, 1 << (len(text) - 1).bit_length()), b"\0")
