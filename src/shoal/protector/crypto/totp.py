"""One-time codes by time (TOTP, RFC 6238): a second factor that any authenticator app can show."""

from __future__ import annotations

import base64
import hmac
import os
import struct
from urllib.parse import quote

STEP = 30
DIGITS = 6
SECRET_BYTES = 20


def new_secret() -> bytes:
    return os.urandom(SECRET_BYTES)


def counter(time: float) -> int:
    """The number of the step that a time falls into."""
    return int(time // STEP)


def code(secret: bytes, step: int, *, digits: int = DIGITS, algorithm: str = "sha1") -> str:
    """The code of a step (HOTP, RFC 4226, over the step's number).

    >>> code(b"12345678901234567890", 59 // 30, digits=8)  # RFC 6238, appendix B
    '94287082'
    """
    digest = hmac.new(secret, struct.pack(">Q", step), algorithm).digest()
    start = digest[-1] & 0x0F
    number = int.from_bytes(digest[start : start + 4], "big") & 0x7FFFFFFF
    return f"{number % 10**digits:0{digits}d}"


def matching(secret: bytes, given: str, time: float, *, after: int) -> int | None:
    """The step whose code was given: this one, the one before or the next, and later than ``after``; None for a wrong code."""
    plain = given.strip().replace(" ", "")
    if not plain.isascii():
        return None
    now = counter(time)
    found = [step for step in (now - 1, now, now + 1) if step >= 0 and hmac.compare_digest(code(secret, step), plain)]
    later = [step for step in found if step > after]
    return later[0] if later else None


def uri(secret: bytes, *, label: str) -> str:
    """The secret as an authenticator app reads it.

    >>> uri(b"12345678901234567890", label="Shoal vault 0011")
    'otpauth://totp/Shoal%20vault%200011?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Shoal'
    """
    return f"otpauth://totp/{quote(label)}?secret={base64.b32encode(secret).decode()}&issuer=Shoal"
