"""Passwords as they are kept: scrypt (RFC 7914) with a salt of their own; what is kept opens nothing."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import threading
import unicodedata

from shoal.errors import UsageError

LEAST = 12
MOST = 1024
"""Letters of a password."""
COST, BLOCK, LANES = 15, 8, 1
"""scrypt's settings: 2^15 rounds of 1 KiB blocks, 32 MiB of memory for each try."""
_AT_ONCE = threading.BoundedSemaphore(2)


def checked(password: str, name: str = "") -> str:
    """A password that is long enough and is not the name.

    >>> checked("eleven char")
    Traceback (most recent call last):
    shoal.errors.UsageError: the password is too short.
      Take at least 12 letters; a few words in a row are easy to remember.
    """
    if len(password) < LEAST:
        raise UsageError(
            "the password is too short.", hint=f"Take at least {LEAST} letters; a few words in a row are easy to remember."
        )
    if len(password) > MOST:
        raise UsageError("the password is too long.", hint=f"Take at most {MOST} letters.")
    if (name and password.casefold().strip() == name.casefold()) or len(set(password)) < 4:
        raise UsageError("the password is too easy to guess.", hint="Take a few words in a row.")
    return password


def kept(password: str) -> str:
    """What is kept of a password."""
    salt = secrets.token_bytes(16)
    return f"scrypt${COST}${BLOCK}${LANES}${_text(salt)}${_text(_derived(password, salt, COST, BLOCK, LANES))}"


def fits(password: str, told: str) -> bool:
    """Whether a password is the one that was kept; takes as long for a wrong one."""
    kind, cost, block, lanes, salt, digest = told.split("$")
    if kind != "scrypt" or len(password) > MOST:
        return False
    found = _derived(password, base64.b64decode(salt), int(cost), int(block), int(lanes))
    return hmac.compare_digest(found, base64.b64decode(digest))


def invented() -> str:
    """A password for somebody's first log-in: 100 bits, in groups that can be read aloud."""
    letters = "abcdefghijkmnpqrstuvwxyz23456789"
    return "-".join("".join(secrets.choice(letters) for _ in range(5)) for _ in range(4))


def _derived(password: str, salt: bytes, cost: int, block: int, lanes: int) -> bytes:
    memory = 2 * 128 * block * 2**cost
    typed = unicodedata.normalize("NFC", password).encode("utf-8", errors="surrogatepass")
    with _AT_ONCE:  # each takes its memory: a crowd at the door waits instead of filling the machine
        return hashlib.scrypt(typed, salt=salt, n=2**cost, r=block, p=lanes, maxmem=memory, dklen=32)


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")
