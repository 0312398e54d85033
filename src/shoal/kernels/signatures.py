"""Ed25519 signatures over canonical JSON, and keyed hashes of inputs.

Takes    plain values (text, whole numbers, finite floats, lists, groups), and a key
Returns  bytes that are the same wherever they are made, and their signature
Keeps    one changed byte anywhere and the signature does not fit
Source   RFC 8032 (Ed25519); canonical form: sorted keys, no blanks, UTF-8, shortest float form (as in RFC 8785)
Differs  not a full RFC 8785: numbers are written as Python writes them; both sides are Shoal

Keys come from a file that only its owner may read, or from the environment; never from a policy or the command line. Without
one, a key is made for the release and forgotten: the signature then shows that nothing changed since, not who made it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import math
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import InternalError, TamperError, UnreadableError, UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


KEY_ENV = "SHOAL_SIGNING_KEY"
FILE_ENV = "SHOAL_SIGNING_KEY_FILE"
ORIGINS = ("file", "environment", "made for this release")


def canonical(value: Any) -> bytes:
    """The one form of a value that is hashed and signed.

    >>> canonical({"b": [1, 0.5], "a": "é"})
    b'{"a":"\\xc3\\xa9","b":[1,0.5]}'
    """
    _check(value)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode("utf-8")


def _check(value: Any) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise InternalError("a key that is not text cannot be signed.")
            _check(inner)
    elif isinstance(value, list):
        for inner in value:
            _check(inner)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise InternalError("a number that is not finite cannot be signed.")
    elif not (isinstance(value, str | int | bool) or value is None):
        raise InternalError(f"a value of type '{type(value).__name__}' cannot be signed.")


@dataclass(frozen=True)
class Signer:
    """A private key, its public half and where it came from (``file``, ``environment``, ``made for this release``)."""

    origin: str
    _private: Ed25519PrivateKey = field(repr=False)

    @property
    def public(self) -> str:
        """The public key as base64 text."""
        return base64.b64encode(self._private.public_key().public_bytes_raw()).decode("ascii")

    @property
    def fingerprint(self) -> str:
        """A short name of the public key, for people to compare."""
        return fingerprint(self.public)

    def sign(self, payload: Any) -> str:
        """Signature of the canonical form of a value, as base64 text."""
        return base64.b64encode(self._private.sign(canonical(payload))).decode("ascii")

    def keyed_hash(self, chunks: Iterable[bytes], *, purpose: str) -> str:
        """A hash that cannot be used to test guesses: HMAC-SHA-256 under a key derived from the private one."""
        mac = hmac.new(self.secret(purpose), digestmod=hashlib.sha256)
        for chunk in chunks:
            mac.update(chunk)
        return mac.hexdigest()

    def secret(self, purpose: str) -> bytes:
        """The key of :meth:`keyed_hash` for a purpose."""
        return hashlib.sha256(b"shoal keyed hash|" + purpose.encode() + b"|" + self._private.private_bytes_raw()).digest()

    def __reduce__(self) -> Any:
        raise UsageError("a signing key cannot be pickled.", hint="Name its file again where it is needed.")


FINGERPRINT_DIGITS, SHORT_DIGITS = 32, 16
"""Hexadecimal digits of a fingerprint, and of those that 0.3.0 wrote: 64 bits, for which another key can be searched."""


def fingerprint(public: str, digits: int = FINGERPRINT_DIGITS) -> str:
    """The first 32 hexadecimal digits (128 bits) of the key's SHA-256, in groups of four.

    >>> fingerprint("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
    '6668-7aad-f862-bd77-6c8f-c18b-8e9f-8e20'
    """
    digest = hashlib.sha256(_raw(public, 32)).hexdigest()[:digits]
    return "-".join(digest[i : i + 4] for i in range(0, digits, 4))


def _raw(text: str, length: int) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        raw = b""
    if len(raw) != length or base64.b64encode(raw).decode("ascii") != text:
        hint = "Ask the publisher for the release again."
        raise TamperError("a key or signature in the certificate is not well formed.", hint=hint)
    return raw


def check_signature(payload: Any, signature: str, public: str, *, of: str = "certificate") -> None:
    """Raise :class:`~shoal.errors.TamperError` unless the signature fits the value and the key; ``of`` says what was signed."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    key, mark = _raw(public, 32), _raw(signature, 64)
    if is_weak(key):
        hint = "Such a signature shows nothing. Ask the publisher for the release again."
        raise TamperError("the key of the signature is one that anybody can sign for.", hint=hint)
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(mark, canonical(payload))
    except (InvalidSignature, ValueError):
        hint = f"The {of} was changed after it was signed. Ask anyone who signed it for it again."
        raise TamperError(f"the signature of the {of} does not fit its content.", hint=hint) from None


def signer(key_file: str | Path | None = None) -> Signer:
    """The key to sign with: from the file given, else the environment, else made for this release."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    if key_file is not None:
        return Signer("file", _from_file(Path(key_file)))
    if os.environ.get(FILE_ENV):
        return Signer("file", _from_file(Path(os.environ[FILE_ENV])))
    if os.environ.get(KEY_ENV):
        return Signer("environment", _from_bytes(os.environ[KEY_ENV].encode("utf-8"), f"environment variable {KEY_ENV}"))
    return Signer("made for this release", Ed25519PrivateKey.generate())


def _from_file(path: Path) -> Ed25519PrivateKey:
    try:
        mode = path.stat().st_mode
        content = path.read_bytes() if stat.S_ISREG(mode) and path.stat().st_size <= 10_000 else b""
    except OSError as error:
        hint = "Check the path of the key file."
        raise UnreadableError(f"the signing key cannot be read: {type(error).__name__}.", hint=hint) from None
    if os.name == "posix" and mode & 0o077:
        raise UsageError("the signing key file can be read by others.", hint="Run: chmod 600 KEYFILE")
    return _from_bytes(content, "signing key file")


def _from_bytes(content: bytes, where: str) -> Ed25519PrivateKey:
    """A key from PEM (PKCS 8, not encrypted) or from base64 of its 32 bytes."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    wrong = UsageError(
        f"the {where} does not hold an Ed25519 key.",
        hint="Make one with: openssl genpkey -algorithm ed25519 -out release.key && chmod 600 release.key",
    )
    if b"-----BEGIN" in content:
        try:
            key = load_pem_private_key(content, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise wrong from None
        if not isinstance(key, Ed25519PrivateKey):
            raise wrong
        return key
    try:
        raw = base64.b64decode(content.strip(), validate=True)
    except ValueError:
        raise wrong from None
    if len(raw) != 32 or len(set(raw)) < 12:  # a key of a few repeated bytes was typed, not drawn
        raise wrong
    return Ed25519PrivateKey.from_private_bytes(raw)


def sha256_file(path: str | Path) -> str:
    """SHA-256 of a file, read in pieces."""
    with open(path, "rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


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
