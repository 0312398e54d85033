"""Answers sealed to a recipient's key (HPKE, RFC 9180): what leaves the vault can be read by one person only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from shoal.errors import AccessError, UsageError, refuse
from shoal.protector.crypto import base32

_INFO = b"shoal-vault reveal "


def suite() -> Any:
    """X25519, HKDF-SHA256, AES-256-GCM."""
    return Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)


def generate() -> tuple[str, str]:
    """A recipient's secret, to be kept, and its public key, to be given with a request."""
    private = X25519PrivateKey.generate()
    return "recipient-" + base32.encode(private.private_bytes_raw()), private.public_key().public_bytes_raw().hex()


def check(public: str) -> None:
    """Refuse a text that is not a public key."""
    try:
        good = len(bytes.fromhex(public)) == 32
    except ValueError:
        good = False
    if not good:
        raise UsageError("a recipient's key has 64 hexadecimal digits.", hint="Make one with `shoal vault recipient`.")


def seal(public: str, identities: Mapping[str, str | None], request: str) -> str:
    """Identities sealed to a public key, bound to the request they belong to."""
    key = X25519PublicKey.from_public_bytes(bytes.fromhex(public))
    sealed: bytes = suite().encrypt(json.dumps(dict(identities)).encode(), key, info=_INFO + request.encode())
    return sealed.hex()


def unseal(secret: str, sealed: str, request: str) -> dict[str, str | None]:
    """The identities, for the one who has the secret."""
    raw = base32.decode(secret.strip().removeprefix("recipient-"))
    if raw is None or len(raw) != 32:
        raise UsageError("this is not a recipient's secret.", hint="It begins with recipient-.")
    with refuse(AccessError("this answer was sealed to another key, or altered.", reason="recipient"), InvalidTag, ValueError):
        key = X25519PrivateKey.from_private_bytes(raw)
        plain: bytes = suite().decrypt(bytes.fromhex(sealed), key, info=_INFO + request.encode())
    return dict(json.loads(plain))
