"""Master keys: where they come from, and which ones are refused.

A vault is opened with a *key provider*: an object that wraps and unwraps the vault's root key and never shows its own. Three
come with Shoal: :func:`from_env` (an environment variable), :func:`from_file` (a file only its owner can read) and any object
with the methods of :class:`KeyProvider` (the hook for a KMS or HSM). A key written as a literal in code, a configuration file
or a URL is refused, and so is a short, guessable or patterned one.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import hashlib
import itertools
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import NoReturn, Protocol, runtime_checkable

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from shoal.errors import TamperError, UsageError, refuse
from shoal.protector.crypto import base32
from shoal.protector.crypto.primitives import Secret, derive

ENVIRONMENT = "SHOAL_VAULT_KEY"
SHARE_PREFIX = "key-share-"
KEY_BYTES = 32
_MOST_TRIED = 5000
"""Choices of shares that are tried if some are altered."""
_MIN_DISTINCT_BYTES = 20  # 32 random bytes have 30 distinct ones on average; fewer than 20 never happens by chance
_MIN_DISTINCT_STEPS = 16  # differences of neighbours: a counting pattern has few
_CONFIG_SUFFIXES = {".yml", ".yaml", ".toml", ".json", ".ini", ".cfg", ".conf", ".env", ".py", ".xml", ".properties"}


class KeyRefusedError(UsageError):
    """A master key is missing, weak, badly kept or in the wrong place."""


@runtime_checkable
class KeyProvider(Protocol):
    """What a vault asks of a master key: the hook for a KMS.

    ``key_id`` names the key without telling it; ``location`` says where it is kept (for the proof of separation: a path, or
    a word such as ``environment``). ``wrap`` and ``unwrap`` are authenticated encryption bound to ``context``; ``unwrap``
    raises :class:`shoal.errors.TamperError` when the key or the context is another one.
    """

    @property
    def key_id(self) -> str: ...

    @property
    def location(self) -> str: ...

    def wrap(self, data: bytes, context: bytes) -> bytes: ...

    def unwrap(self, data: bytes, context: bytes) -> bytes: ...


class LocalKey:
    """A master key held in this process: AES-256-GCM under 32 random bytes.

    ``shares`` are the numbers of the shares it was joined from, ``share_set`` the set they belong to.
    """

    def __init__(self, secret: Secret, *, location: str, shares: tuple[int, ...] = (), share_set: ShareSet | None = None) -> None:
        check_strength(secret)
        self._box = AESGCM(secret.expose())
        self.key_id, self.location = _fingerprint(secret), location
        self.shares, self.share_set = shares, share_set

    def wrap(self, data: bytes, context: bytes) -> bytes:
        nonce = os.urandom(12)
        return nonce + self._box.encrypt(nonce, data, context)

    def unwrap(self, data: bytes, context: bytes) -> bytes:
        try:
            return self._box.decrypt(data[:12], data[12:], context)
        except (InvalidTag, ValueError):
            raise wrong_key(self.key_id) from None

    def __repr__(self) -> str:
        return f"<master key {self.key_id}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a master key cannot be pickled or copied")


def wrong_key(key_id: str) -> TamperError:
    """The error for a master key that does not open a vault."""
    hint = f"The key given has id {key_id}; `shoal vault status` shows the id the vault expects."
    return TamperError("the master key does not open this vault, or the vault's key record was altered.", hint=hint)


def generate() -> str:
    """A new master key as text (base64 of 32 random bytes), to be put into a secret store.

    >>> len(base64.b64decode(generate()))
    32
    """
    return base64.b64encode(os.urandom(KEY_BYTES)).decode()


def from_env(name: str = ENVIRONMENT, *, forget: bool = False) -> LocalKey:
    """The master key in the environment variable ``name``; ``forget`` removes the variable, so that no child inherits it."""
    text = _taken_from_environment(name) if forget else os.environ.get(name)
    if not text:
        hint = "Make one with `shoal vault key` and set the variable from your secret store."
        raise KeyRefusedError(f"the environment variable '{name}' holds no master key.", hint=hint)
    return LocalKey(_decode(text, f"the environment variable '{name}'"), location="environment")


def _taken_from_environment(name: str) -> str | None:
    """The value of a variable, which is then nowhere in the environment: not for children, and not in /proc/PID/environ."""
    text = os.environ.get(name)
    if text and os.name == "posix":
        with contextlib.suppress(OSError, AttributeError):
            getenv = ctypes.CDLL(None).getenv
            getenv.restype = ctypes.c_void_p
            place = getenv(os.fsencode(name))
            if place:
                ctypes.memset(place, ord("x"), len(os.fsencode(text)))
    os.environ.pop(name, None)
    return text


def from_file(path: str | Path) -> LocalKey:
    """The master key in a file that only its owner can read (mode 0600 or 0400) and that holds nothing else."""
    return LocalKey(_secret_in(Path(path)), location=str(Path(path).resolve()))


def derived_from_file(path: str | Path, purpose: str) -> bytes:
    """A key for another purpose than a vault's, from a key file."""
    secret = _secret_in(Path(path))
    check_strength(secret)
    return derive(secret, purpose).expose()


def _secret_in(file: Path) -> Secret:
    if file.suffix.lower() in _CONFIG_SUFFIXES:
        hint = "Keep the master key in a file of its own, for example vault.key with mode 0600."
        raise KeyRefusedError(f"'{file.name}' looks like a configuration file: keys do not belong there.", hint=hint)
    try:
        info = file.stat()
    except OSError as error:
        hint = "Give the path of an existing key file."
        raise KeyRefusedError(f"the key file '{file.name}' cannot be read: {error.strerror}.", hint=hint) from None
    if not stat.S_ISREG(info.st_mode) or info.st_size > 4096:
        raise KeyRefusedError(f"'{file.name}' is not a key file.", hint="A key file holds one base64 line of 44 characters.")
    shown = os.environ.get("CREDENTIALS_DIRECTORY", "")
    passed_on = bool(shown) and file.resolve().parent == Path(shown).resolve()  # systemd lets the service's user in by an ACL,
    others = 0o037 if passed_on and info.st_uid == 0 else 0o077  # which shows as rights of the group
    if os.name == "posix" and info.st_mode & others:
        what = f"other users can read or change the key file '{file.name}' (mode {stat.S_IMODE(info.st_mode):04o})."
        raise KeyRefusedError(what, hint=f"Run: chmod 600 {file.name}")
    if os.name == "posix" and info.st_uid not in (os.geteuid(), 0):
        raise KeyRefusedError(f"the key file '{file.name}' belongs to another user.", hint="Own the file that holds your key.")
    text = file.read_text(encoding="ascii", errors="replace")
    return _decode(text, f"the key file '{file.name}'")


@dataclass(frozen=True)
class ShareSet:
    """The set that a master key was shared in: how many shares, how many are needed, and a digest of the shares themselves.

    The vault keeps it sealed. Someone who has the whole key can split it again, but never into the same shares.
    """

    needed: int
    count: int
    digest: str


@dataclass(frozen=True)
class _Share:
    """One share as it is written; ``count`` is 0 in shares of Shoal 0.3.0, which also have no check characters."""

    key_id: str
    needed: int
    count: int
    point: int
    part: bytes

    def text(self) -> str:
        """The share as text, with check characters over all of it."""
        body = f"{self.key_id}-{self.needed}-{self.count}-{self.point}-{base32.encode(self.part)}"
        return f"{SHARE_PREFIX}{body}-{base32.encode(hashlib.sha256(b'shoal key share ' + body.encode()).digest()[:5])}"


def _read_share(text: str) -> _Share:
    parts = text.strip().removeprefix(SHARE_PREFIX).split("-")
    with refuse(KeyRefusedError("this is not a share of a master key.", hint=f"Shares begin with {SHARE_PREFIX}."), ValueError):
        if not text.strip().startswith(SHARE_PREFIX) or len(parts) not in (4, 6):
            raise ValueError
        key_id, needed, *count, point = parts[:3] if len(parts) == 4 else parts[:4]
        part = base32.decode(parts[-1] if len(parts) == 4 else parts[4])
        share = _Share(key_id, int(needed), int(count[0]) if count else 0, int(point), part or b"")
    if len(share.part) != KEY_BYTES or (len(parts) == 6 and share.text() != text.strip()):
        raise _altered_error([share.point])
    return share


def _altered_error(points: Sequence[int]) -> KeyRefusedError:
    listed = ", ".join(str(point) for point in points)
    subject = f"share {listed} is" if len(points) == 1 else f"at least one of the shares {listed} is"
    return KeyRefusedError(f"{subject} altered or mistyped.", hint="Compare it with the original, or ask another holder.")


def split(key_text: str, *, shares: int, needed: int) -> list[str]:
    """Shares of a master key as texts: any ``needed`` of them open the vault, fewer tell nothing."""
    secret = _decode(key_text, "the key")
    check_strength(secret)
    parts = split_secret(secret.expose(), shares, needed)
    return [_Share(_fingerprint(secret), needed, shares, point, part).text() for point, part in parts.items()]


def from_shares(texts: Sequence[str]) -> LocalKey:
    """The master key from enough of its shares; it is nowhere but in the memory of this process.

    An altered share is named if enough others are good. What a share says about itself is not believed before the vault has
    compared it with the set that it keeps (:class:`ShareSet`).
    """
    shares = [_read_share(text) for text in texts]
    heads = {(share.key_id, share.needed, share.count) for share in shares}
    if len(heads) != 1:
        raise KeyRefusedError("these shares do not belong to one master key.", hint="The id after the prefix is the same.")
    ((key_id, needed, count),) = heads
    most = count or MOST
    if not 2 <= needed <= most <= MOST or any(not 1 <= share.point <= most for share in shares):
        raise KeyRefusedError("a share of these numbers does not exist.", hint="At least two shares open a vault.")
    parts = {share.point: share.part for share in shares}
    if doubled := sorted({share.point for share in shares if share.part != parts[share.point]}):
        raise _altered_error(doubled)
    if len(parts) < needed:
        raise KeyRefusedError(f"{needed} different shares are needed, {len(parts)} were given.", hint="Ask another holder.")
    for chosen in itertools.islice(itertools.combinations(sorted(parts), needed), _MOST_TRIED):
        good = {point: parts[point] for point in chosen}
        secret = Secret(join_secret(good))
        if _fingerprint(secret) == key_id:
            break
    else:
        raise _altered_error(sorted(parts))
    if wrong := [point for point in sorted(parts) if join_secret(good, point) != parts[point]]:
        raise _altered_error(wrong)
    curve = b"".join(join_secret(good, point) for point in range(1, needed + 1))
    digest = hashlib.sha256(f"shoal share set {key_id} {needed} {count} ".encode() + curve).hexdigest()
    return LocalKey(secret, location="shares", shares=tuple(sorted(parts)), share_set=ShareSet(needed, count, digest))


def read_private(path: str | Path) -> str:
    """One secret (a token, a share) from a file that others cannot read."""
    file = Path(path)
    try:
        if os.name == "posix" and file.stat().st_mode & 0o077:
            raise UsageError(f"other users can read '{file.name}'.", hint=f"Run: chmod 600 {file.name}")
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"'{file.name}' cannot be read: {reason}.") from None


def write_file(path: str | Path) -> Path:
    """Write a new master key to ``path`` (mode 0600; its folder is made with 0700); an existing file is never overwritten."""
    file = Path(path)
    try:
        file.parent.mkdir(mode=0o700, exist_ok=True)
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise KeyRefusedError(f"the key file '{file.name}' exists already.", hint="Use it, or name another file.") from None
    except OSError as error:
        raise KeyRefusedError(f"the key file '{file.name}' cannot be written: {error.strerror}.") from None
    with os.fdopen(handle, "w", encoding="ascii") as out:
        out.write(generate() + "\n")
        out.flush()
        os.fsync(out.fileno())
    return file


def require_provider(key: object) -> KeyProvider:
    """``key`` itself when it is a provider; text and bytes are keys in code or configuration, and are refused."""
    if isinstance(key, str | bytes | bytearray):
        hint = "Use keys.from_env(), keys.from_file(path), or an object that wraps keys in your KMS."
        raise KeyRefusedError("a master key was given as a literal: keys in code or configuration are refused.", hint=hint)
    if not isinstance(key, KeyProvider):
        hint = "A provider has key_id, location, wrap(data, context) and unwrap(data, context)."
        raise KeyRefusedError(f"an object of type '{type(key).__name__}' is not a key provider.", hint=hint)
    return key


def check_strength(secret: Secret) -> None:
    """Refuse keys that are short, patterned, or text: they can be guessed.

    >>> check_strength(Secret(b"1234"))
    Traceback (most recent call last):
    shoal.protector.crypto.master_keys.KeyRefusedError: the master key has 4 bytes; it needs exactly 32.
      Make one with `shoal vault key`.
    """
    value = secret.expose()
    hint = "Make one with `shoal vault key`."
    if len(value) != KEY_BYTES:
        raise KeyRefusedError(f"the master key has {len(value)} bytes; it needs exactly {KEY_BYTES}.", hint=hint)
    steps = {(b - a) % 256 for a, b in itertools.pairwise(value)}
    if len(set(value)) < _MIN_DISTINCT_BYTES or len(steps) < _MIN_DISTINCT_STEPS:
        raise KeyRefusedError("the master key repeats itself: it was not drawn at random.", hint=hint)
    if all(32 <= b < 127 for b in value):
        raise KeyRefusedError("the master key is readable text: it was not drawn at random.", hint=hint)


def _decode(text: str, where: str) -> Secret:
    plain = text.strip()
    if len(plain) == 2 * KEY_BYTES:
        with contextlib.suppress(ValueError):
            return Secret(bytes.fromhex(plain))
    with contextlib.suppress(ValueError):  # also what base64 raises
        return Secret(base64.b64decode(plain.replace("-", "+").replace("_", "/"), validate=True))
    hint = "Make one with `shoal vault key`."
    raise KeyRefusedError(f"{where} does not hold a key: base64 or hexadecimal of 32 bytes is expected.", hint=hint)


def _fingerprint(secret: Secret) -> str:
    return derive(secret, "fingerprint").expose()[:8].hex()


MOST = 255


# Shamir's scheme is written out here: ``cryptography`` has none, and no library of it is maintained. The arithmetic is that of
# GF(2^8). Its time need not be constant: a secret is shared or joined once, on a machine that has the secret anyway.


def split_secret(secret: bytes, shares: int, needed: int) -> dict[int, bytes]:
    """Shares by their point, 1 to ``shares``.

    >>> parts = split_secret(b"secret", 5, 3)
    >>> join_secret({point: parts[point] for point in (2, 5, 3)})
    b'secret'
    """
    if not 2 <= needed <= shares <= MOST:
        raise UsageError(f"{needed} of {shares} shares make no sense.", hint="At least two are needed, of at most 255.")
    coefficients = [secret, *(os.urandom(len(secret)) for _ in range(needed - 1))]
    return {point: bytes(_value(byte, point) for byte in zip(*coefficients, strict=True)) for point in range(1, shares + 1)}


def join_secret(parts: Mapping[int, bytes], at: int = 0) -> bytes:
    """The secret from enough shares, or the share with the number ``at``; from fewer, or from altered ones, other bytes."""
    if len({len(part) for part in parts.values()}) != 1 or not all(1 <= point <= MOST for point in parts):
        raise UsageError("these shares do not belong together.")
    weights = {point: _weight(point, [other for other in parts if other != point], at) for point in parts}
    size = len(next(iter(parts.values())))
    return bytes(reduce(int.__xor__, (_times(parts[p][i], weights[p]) for p in parts)) for i in range(size))


def _value(coefficients: tuple[int, ...], point: int) -> int:
    """The polynomial at a point (Horner)."""
    return reduce(lambda total, c: _times(total, point) ^ c, reversed(coefficients), 0)


def _weight(point: int, others: list[int], at: int) -> int:
    """Lagrange's weight of a point for the value at ``at``."""
    return reduce(_times, (x for other in others for x in (other ^ at, *[other ^ point] * 254)), 1)  # a^254 is the inverse of a


def _times(a: int, b: int) -> int:
    """Product in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1.

    >>> _times(0x57, 0x83) == 0xC1  # FIPS 197, section 4.2
    True
    """
    product = 0
    for _ in range(8):
        product ^= a if b & 1 else 0
        a = (a << 1) ^ (0x11B if a & 0x80 else 0)
        b >>= 1
    return product
