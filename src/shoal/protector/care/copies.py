"""Backup, restore and copy: a whole vault in one sealed file, or in another database.

A backup is made while the vault is in use, from one consistent view. It holds the rows as they are stored, sealed once more in
parts whose order and end are bound, and the wrapped root key: without the master key it reveals the size of the vault and nothing
else. It is read back and checked before it counts. A restored vault is older than the one that was lost: two people accept that,
and the log says for ever how many events are missing. Pseudonyms given out since the backup are unknown to it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from shoal.disk.atomic import atomic
from shoal.errors import DataError, TamperError, UsageError
from shoal.protector.care.checking import verify
from shoal.protector.crypto.master_keys import KeyProvider
from shoal.protector.crypto.primitives import Box, Secret, derive
from shoal.protector.log import audit
from shoal.protector.store import connection as database
from shoal.protector.store import head
from shoal.protector.store.rows import Whole, insert, stored_rows
from shoal.protector.vault import Vault

if TYPE_CHECKING:
    from shoal.protector.session import Session

MAGIC = b"shoal-vault-backup/1\n"
_PART_ROWS = 256
_LENGTH = struct.Struct(">IB")
_MORE, _LAST = 0, 1


@dataclass(frozen=True)
class Backup:
    """What a backup holds: which vault, its generation, the number of events in its log, rows, and the file's SHA-256."""

    vault: str
    generation: int
    events: int
    rows: int
    sha256: str

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class Restored:
    """An open vault from a backup, and how many events of the log came after it (None where no anchor told)."""

    vault: Vault
    backup: Backup
    events_lost: int | None

    def to_json(self) -> dict[str, Any]:
        return {**self.backup.to_json(), "events_lost": self.events_lost}


def backup(session: Session, out: str | Path) -> Backup:
    """Write the vault into one sealed file while it stays in use; read back and checked before the file appears."""
    vault, path = session.vault, Path(out)
    if path.exists():
        raise UsageError(f"'{path.name}' exists already.", hint="Name a new file: older backups are kept.")
    with session.frame.acting("backup") as (tx, now):
        session.frame.log(tx, now, "backup", generation=tx.state.generation + 1)
    with atomic(path) as temporary:
        with vault.store.read() as tx, temporary.open("wb") as file:
            front = {name: value.hex() for name, value in sorted(head.raw(tx.connection).items())}
            _write(file, vault.root, front, stored_rows(tx.connection))
        temporary.chmod(0o600)
        with temporary.open("rb") as file:
            return _check_file(file, vault.root, temporary)


def check(path: str | Path, key: KeyProvider) -> Backup:
    """Read a backup and check all of it: whole, in order, and consistent with the state it holds."""
    root = head.unwrapped(head_of(path), key, place=f"'{Path(path).name}'")[1]
    with _open_file(path) as file:
        return _check_file(file, root, Path(path))


def restore(
    path: str | Path,
    place: str | Path,
    *,
    key: KeyProvider,
    accept: tuple[str, str],
    anchor: str | Path | None = None,
    clock: Callable[[], float] = time.time,
) -> Restored:
    """Put a backup into a new, empty place (SQLite or PostgreSQL), whole or not at all, and check every row.

    ``accept`` are the tokens of an owner and of a second person, as the backup knows them.
    """
    head.require_separation(place, key)
    backup, front = check(path, key), head_of(path)
    root = head.unwrapped(front, key, place=f"'{Path(path).name}'")[1]
    with _new_database(place) as connection, _open_file(path) as file:
        _front(file)
        for table, rows in _rows(file, root, front):
            insert(connection, table, rows)
    try:
        vault = Vault.open(place, key=key, anchor=anchor, accept=accept, clock=clock)
    except BaseException:
        _remove(place)
        raise
    owner = vault.login(accept[0])
    with vault.store.read() as tx:
        times = [event for event in audit.events(tx, actions=["anchor"]) if event["outcome"] == "done"]
    checked = verify(owner, acknowledged=len(times))
    if not checked.ok:
        raise TamperError("the restored vault does not hold: " + " ".join((*checked.problems, *checked.log.problems)))
    known = times[-1].get("events_before")
    return Restored(vault, backup, None if known is None else max(0, known - backup.events))


def head_of(path: str | Path) -> dict[str, bytes]:
    """The open front of a backup: vault, format, and the wrapped root key."""
    with _open_file(path) as file:
        return {name: bytes.fromhex(value) for name, value in _front(file).items()}


def copy(session: Session, place: str | Path, *, parts: int = 1) -> None:
    """The whole vault into another database, as it is now: from SQLite to PostgreSQL (there in ``parts`` parts) or back.

    The anchor goes on with whichever of the two is written to first; the other one is refused from then on.
    """
    with _new_database(place, parts) as connection:
        with session.frame.acting("backup") as (tx, now):
            session.frame.log(tx, now, "backup", detail="copy")
        with session.vault.store.read() as tx:
            whole = Whole(session.vault.root)
            for table, rows in stored_rows(tx.connection):
                whole.see(table, rows)
                insert(connection, table, rows)
            whole.require()


@contextlib.contextmanager
def _new_database(place: str | Path, parts: int = 1) -> Iterator[Any]:
    """A transaction in a database without a vault; what was begun is taken away when it fails."""
    from shoal.protector.store.schema import make_tables

    if "://" not in str(place) and Path(place).exists():
        raise UsageError(f"'{Path(place).name}' exists already.", hint="Name a new file.")
    engine = database.connect(place)
    try:
        with database.engine_errors(), engine.connect() as connection:
            if engine.dialect.name == "sqlite":
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            if head.exists(connection):
                raise UsageError(f"there is a vault at {database.describe(place)} already.", hint="Name an empty place.")
            make_tables(connection, parts)
            yield connection
            connection.commit()
    except BaseException:
        engine.dispose()
        if "://" not in str(place):
            _remove(place)
        raise
    engine.dispose()


def _remove(place: str | Path) -> None:
    """Take away a database that was put there and not accepted."""
    from shoal.protector.store.schema import metadata

    if "://" not in str(place):
        for rest in ("", "-wal", "-shm"):
            Path(f"{place}{rest}").unlink(missing_ok=True)
        return
    engine = database.connect(place)
    with database.engine_errors():
        metadata.drop_all(engine)
    engine.dispose()


def _write(file: BinaryIO, root: Secret, front: dict[str, str], rows: Iterator[tuple[str, list[tuple[Any, ...]]]]) -> None:
    text = json.dumps(front, sort_keys=True).encode() + b"\n"
    file.write(MAGIC + text)
    seal = _sealing(root, text)
    number = 0
    for table, part in rows:
        for start in range(0, len(part), _PART_ROWS):
            number += 1
            _put(file, seal, number, _MORE, _pack(table, part[start : start + _PART_ROWS]))
    _put(file, seal, number + 1, _LAST, b"")


def _put(file: BinaryIO, seal: Callable[[int, int], tuple[Box, bytes]], number: int, kind: int, plain: bytes) -> None:
    box, bound = seal(number, kind)
    sealed = box.seal(plain, bound)
    file.write(_LENGTH.pack(len(sealed), kind) + sealed)


def _sealing(root: Secret, front: bytes) -> Callable[[int, int], tuple[Box, bytes]]:
    """The box of the parts, and what each part is bound to: the front, its number, and whether it is the last."""
    box, start = Box(derive(root, "backup")), hashlib.sha256(MAGIC + front).digest()
    return lambda number, kind: (box, start + number.to_bytes(8, "big") + bytes([kind]))


def _pack(table: str, rows: Sequence[tuple[Any, ...]]) -> bytes:
    cells = [[cell.hex() if isinstance(cell, bytes) else cell for cell in row] for row in rows]
    marks = [isinstance(cell, bytes) for cell in rows[0]]
    return json.dumps([table, marks, cells], separators=(",", ":")).encode()


def _unpack(plain: bytes) -> tuple[str, list[tuple[Any, ...]]]:
    table, marks, rows = json.loads(plain)
    return table, [tuple(bytes.fromhex(c) if m else c for c, m in zip(row, marks, strict=True)) for row in rows]


def _rows(file: BinaryIO, root: Secret, front: dict[str, bytes]) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    """The parts in order, to the last one."""
    text = json.dumps({name: value.hex() for name, value in front.items()}, sort_keys=True).encode() + b"\n"
    seal = _sealing(root, text)
    number = 0
    while True:
        number += 1
        begin = file.read(_LENGTH.size)
        if len(begin) != _LENGTH.size:
            raise TamperError("the backup ends too early: its last part is missing.", hint="Use another backup.")
        size, kind = _LENGTH.unpack(begin)
        sealed = file.read(size)
        box, bound = seal(number, kind)
        plain = box.open(sealed, bound, what="part of the backup")
        if kind == _LAST:
            if file.read(1):
                raise TamperError("the backup goes on behind its last part.", hint="Use another backup.")
            return
        yield _unpack(plain)


def _check_file(file: BinaryIO, root: Secret, path: Path) -> Backup:
    front = {name: bytes.fromhex(value) for name, value in _front(file).items()}
    whole = Whole(root)
    for table, rows in _rows(file, root, front):
        whole.see(table, rows)
    state = whole.require()
    digest = hashlib.sha256()
    with path.open("rb") as again:
        while block := again.read(1 << 20):
            digest.update(block)
    return Backup(front["vault"].hex(), state.generation, state.audit_seq, whole.rows, digest.hexdigest())


def _front(file: BinaryIO) -> dict[str, str]:
    """Read up to the first part: what stands open."""
    try:
        if file.read(len(MAGIC)) != MAGIC:
            raise ValueError
        front = json.loads(file.readline(100_000))
        return {str(name): str(value) for name, value in front.items() if bytes.fromhex(value) is not None}
    except (ValueError, AttributeError, TypeError, UnicodeDecodeError):
        raise DataError("this is not a backup of a vault.", hint="Give the file that `shoal vault backup` wrote.") from None


@contextlib.contextmanager
def _open_file(path: str | Path) -> Iterator[BinaryIO]:
    if not Path(path).is_file():
        raise UsageError(f"file '{Path(path).name}' does not exist.", hint="Give the file that `shoal vault backup` wrote.")
    with Path(path).open("rb") as file:
        yield file
