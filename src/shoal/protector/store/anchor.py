"""The anchor: a small file outside the database that remembers the newest state of the vault.

A thief or a careless restore can put back an older, perfectly consistent copy of the database. The anchor, kept apart from
it (beside the master key by default), holds the highest generation seen and the head of the audit log at that time; a
database that is older is refused. Two slots are written in turn in place, so a crash in the middle damages one at most; a
slot is authenticated with a key of the vault. Several processes share it under a lock. It only ever moves forward.

The time a vault believes. It never runs backwards, and a machine's clock is believed only near the newest time seen.

A clock far ahead would end every token and open every window of the limits; one far behind would keep requests and delegated
tokens alive. Both are refused for any action until the clock is right again or two people correct the vault's time
(:meth:`shoal.protector.vault.Vault.correct_time`).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from hmac import compare_digest
from pathlib import Path

from shoal.disk.atomic import lock, state_folder
from shoal.errors import EngineError, TamperError
from shoal.protector.crypto.primitives import Prf

_SLOT = 512
_MAGIC = b"shoal-anchor/1\n"


@dataclass(frozen=True, order=True)
class Mark:
    """Generation of the database, number of audit events, hash of the newest one."""

    generation: int
    audit_seq: int
    audit_head: bytes


class Anchor:
    """The newest :class:`Mark` seen on this machine."""

    def __init__(self, path: Path, prf: Prf, vault_id: bytes) -> None:
        self.path = path
        self._prf = prf
        self._vault_id = vault_id

    def exists(self) -> bool:
        return self.path.is_file()

    def known(self) -> Mark | None:
        """The newest mark, or None without an anchor or with a damaged one."""
        try:
            return self.read() if self.exists() else None
        except TamperError:
            return None

    def create(self, mark: Mark) -> None:
        """Begin to remember (also after the owner accepted a new machine)."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _open_locked(self.path, create=True) as handle:
            os.ftruncate(handle, 2 * _SLOT)
            os.pwrite(handle, self._slot(mark), 0)
            os.pwrite(handle, self._slot(mark), _SLOT)
            os.fsync(handle)

    def read(self) -> Mark:
        """The newest mark; an unreadable anchor is an alarm, not a fresh start."""
        with _open_locked(self.path) as handle:
            marks = self._marks(handle)
        return max(marks)

    def advance(self, mark: Mark) -> None:
        with _open_locked(self.path) as handle:
            marks = self._marks(handle)
            if mark.generation > max(marks).generation:
                older = 0 if marks[0].generation <= marks[1].generation else 1
                os.pwrite(handle, self._slot(mark), older * _SLOT)

    def _slot(self, mark: Mark) -> bytes:
        body = _MAGIC + self._vault_id + mark.generation.to_bytes(8, "big") + mark.audit_seq.to_bytes(8, "big") + mark.audit_head
        return (body + self._prf.digest(body)).ljust(_SLOT, b"\0")

    def _marks(self, handle: int) -> list[Mark]:
        marks: list[Mark | None] = [self._parse(os.pread(handle, _SLOT, i * _SLOT)) for i in (0, 1)]
        if marks[0] is None and marks[1] is None:
            hint = "If you know why, an owner can accept the present state with `shoal vault anchor --accept`."
            raise TamperError(f"the anchor '{self.path.name}' is damaged or belongs to another vault.", hint=hint)
        lowest = Mark(-1, -1, b"")
        return [m if m is not None else lowest for m in marks]

    def _parse(self, slot: bytes) -> Mark | None:
        size = len(_MAGIC) + len(self._vault_id) + 16 + 32
        body, mac = slot[:size], slot[size : size + 32]
        if not body.startswith(_MAGIC + self._vault_id) or not compare_digest(mac, self._prf.digest(body)):
            return None
        numbers = body[len(_MAGIC) + len(self._vault_id) :]
        return Mark(int.from_bytes(numbers[:8], "big"), int.from_bytes(numbers[8:16], "big"), numbers[16:48])


def replace_path(anchor: Anchor, path: Path) -> Anchor:
    """The same vault's anchor at another place."""
    return Anchor(path, anchor._prf, anchor._vault_id)


@contextlib.contextmanager
def _open_locked(path: Path, *, create: bool = False) -> Iterator[int]:
    """The anchor file, locked against other processes."""
    flags = os.O_RDWR | (os.O_CREAT if create else 0)
    try:
        handle = os.open(path, flags, 0o600)
    except OSError as error:
        hint = "Set SHOAL_VAULT_ANCHOR to a lasting, writable path outside the vault's folder."
        raise EngineError(f"the anchor '{path.name}' cannot be opened: {error.strerror}.", hint=hint) from None
    try:
        lock(handle)
        yield handle
    finally:
        os.close(handle)


def default_path(vault_id: str, key_location: str) -> Path:
    """Beside the key file; else under ``SHOAL_VAULT_ANCHOR``; else in the user's state folder."""
    named = os.environ.get("SHOAL_VAULT_ANCHOR")
    if named:
        place = Path(named)
        return place / f"{vault_id}.anchor" if place.is_dir() else place
    if os.path.isabs(key_location):
        key_file = Path(key_location)
        return key_file.with_name(f"{key_file.name}.{vault_id[:8]}.anchor")
    return state_folder() / f"{vault_id}.anchor"


def rolled_back(generation: int, expected: int) -> TamperError:
    """The error for a database that is older than what was seen before."""
    what = f"the vault's database is older than it was: generation {generation}, but {expected} was seen before."
    hint = "An old copy was put back. Restore the newest one, or let an owner accept it with `shoal vault anchor --accept`."
    return TamperError(what, hint=hint)


AHEAD = 366 * 86400.0
"""Seconds by which a clock may be ahead of the newest time the vault has seen: the longest time a vault may lie unused."""

BEHIND = 600.0
"""Seconds by which a clock may be behind: servers that share a vault differ a little, and clocks are set back a little."""


def advanced(seen: float, clock: float) -> float:
    """The present time, from the newest time seen and the machine's clock.

    >>> advanced(0.0, 5e9), advanced(1e9, 1e9 + 60), advanced(1e9, 1e9 - 60)
    (5000000000.0, 1000000060.0, 1000000000.0)
    """
    if seen and not seen - BEHIND <= clock <= seen + AHEAD:
        direction, days = ("ahead of", clock - seen) if clock > seen else ("behind", seen - clock)
        what = f"the clock of this machine is {days / 86400:,.1f} days {direction} the newest time this vault has seen: "
        what += "nothing is done at a time that cannot be trusted."
        hint = "Set the clock right. If it is right, two people correct the vault's time with `shoal vault time --correct`."
        raise TamperError(what, hint=hint)
    return max(seen, clock)
