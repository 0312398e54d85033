"""The few cryptographic operations of the vault, all from the package ``cryptography``.

* :class:`Secret`, :class:`Opaque` — values that contain keys: they show nothing, and cannot be copied or pickled.
* :func:`derive` — HKDF-SHA256: one key per purpose.
* :class:`Box` — AES-256-GCM with a random nonce, bound to its place by associated data.
* :class:`Prf` — HMAC-SHA256; :class:`Blocks` — AES-256 on many single blocks at once.
* :func:`row_sum` — a keyed multiset sum of authentication tags: it changes when a sealed row is lost, doubled or put back.
"""

from __future__ import annotations

import hmac
import os
import threading
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from shoal.errors import TamperError

TAG_BYTES = 16
NONCE_BYTES = 12
Sum = tuple[int, int]
_LANE = 1 << 64


class Secret:
    """Bytes that do not show themselves: no text form, no pickle, no copy; compared in constant time.

    >>> s = Secret(b"k" * 32)
    >>> s
    <secret>
    >>> import pickle
    >>> pickle.dumps(s)
    Traceback (most recent call last):
    TypeError: a secret cannot be pickled or copied
    """

    __slots__ = ("__value",)

    def __init__(self, value: bytes) -> None:
        self.__value = bytes(value)

    def expose(self) -> bytes:
        """The bytes, for handing to a cryptographic primitive and nothing else."""
        return self.__value

    def __repr__(self) -> str:
        return "<secret>"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self.__value, other.expose())

    __hash__ = None  # type: ignore[assignment]

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a secret cannot be pickled or copied")

    def __copy__(self) -> NoReturn:
        raise TypeError("a secret cannot be pickled or copied")

    def __deepcopy__(self, memo: object) -> NoReturn:
        raise TypeError("a secret cannot be pickled or copied")


class Opaque:
    """Objects that hold keys: they show nothing and cannot be pickled."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("an object that holds keys cannot be pickled or copied")


def derive(secret: Secret, purpose: str, *, context: bytes = b"", length: int = 32) -> Secret:
    """The key for one purpose (HKDF-SHA256; ``context`` is the salt)."""
    return Secret(HKDF(SHA256(), length, context or None, b"shoal-vault/" + purpose.encode()).derive(secret.expose()))


class Box(Opaque):
    """Authenticated encryption: ``seal(plain, bound_to)`` gives nonce + ciphertext + tag."""

    def __init__(self, secret: Secret) -> None:
        self._aead = AESGCM(secret.expose())

    def seal(self, plain: bytes, bound_to: bytes) -> bytes:
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._aead.encrypt(nonce, plain, bound_to)

    def open(self, sealed: bytes, bound_to: bytes, *, what: str = "record") -> bytes:
        try:
            return self._aead.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], bound_to)
        except (InvalidTag, ValueError):
            hint = "Stop using this file; run `shoal vault verify` and restore from a trusted copy."
            raise TamperError(f"a {what} of the vault was altered or stands in the wrong place.", hint=hint) from None

    @property
    def aead(self) -> Any:
        """The bare cipher, for loops over many rows."""
        return self._aead


class Prf(Opaque):
    """HMAC-SHA256 under one key."""

    def __init__(self, secret: Secret) -> None:
        self._start = HMAC(secret.expose(), SHA256())

    def digest(self, message: bytes) -> bytes:
        h = self._start.copy()
        h.update(message)
        return h.finalize()

    def many(self, prefix: bytes, messages: Sequence[bytes], size: int) -> list[bytes]:
        """The first ``size`` bytes of the digest of ``prefix + message`` for each message."""
        start = self._start.copy()
        start.update(prefix)
        out = []
        for message in messages:
            h = start.copy()
            h.update(message)
            out.append(h.finalize()[:size])
        return out


class Blocks(Opaque):
    """AES-256 as a keyed permutation of 16-byte blocks, many in one call (each block stands alone)."""

    def __init__(self, secret: Secret) -> None:
        self._cipher = Cipher(algorithms.AES(secret.expose()), modes.ECB())  # noqa: S305  single blocks, never a message
        self._kept = threading.local()  # whole blocks leave nothing behind, so each thread goes on with its own

    def encrypt(self, blocks: bytes) -> bytes:
        if not hasattr(self._kept, "encryptor"):
            self._kept.encryptor = self._cipher.encryptor()
        return bytes(self._kept.encryptor.update(blocks))

    def decrypt(self, blocks: bytes) -> bytes:
        if not hasattr(self._kept, "decryptor"):
            self._kept.decryptor = self._cipher.decryptor()
        return bytes(self._kept.decryptor.update(blocks))


def row_sum(blocks: Blocks, tags: bytes) -> Sum:
    r"""Keyed multiset sum :math:`\sum_i E_k(t_i)` of 16-byte tags, in two lanes modulo :math:`2^{64}`.

    The order of the rows does not matter; each row counts as often as it is there. Without the key the terms are unknown, so
    no other set of rows with the same sum can be found.
    """
    if not tags:
        return (0, 0)
    lanes = np.frombuffer(blocks.encrypt(tags), dtype="<u8").reshape(-1, 2)
    total = lanes.sum(axis=0, dtype=np.uint64)
    return int(total[0]), int(total[1])


def add(a: Sum, b: Sum) -> Sum:
    return (a[0] + b[0]) % _LANE, (a[1] + b[1]) % _LANE


def subtract(a: Sum, b: Sum) -> Sum:
    return (a[0] - b[0]) % _LANE, (a[1] - b[1]) % _LANE
