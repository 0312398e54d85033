"""Storage of a vault: one sealed state, sealed objects, transactions that all writers queue for.

Takes    a path (SQLite in WAL mode) or a PostgreSQL URL, and the vault's root key
Keeps    every write is one transaction that starts by locking the state row and ends by sealing the new state with its
         generation raised by one; afterwards the anchor outside the database is moved forward
Detects  altered, swapped, missing or doubled rows (sealing bound to the place, keyed row sums), and an older database
         (generation below the anchor's); objects are used only as the sealed state remembers them, so that a single old row
         that was put back (a delivered request, a revoked token) never takes effect; triggers, views and other foreign
         things in the database, and events that did not reach the log (:mod:`.guard`): nothing is committed then
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import TamperError
from shoal.protector.crypto import primitives as crypto
from shoal.protector.crypto.primitives import Blocks, Box, Prf, Secret, Sum
from shoal.protector.store import guard
from shoal.protector.store.anchor import Anchor, Mark, advanced, rolled_back
from shoal.protector.store.connection import blob, engine_errors, execute, forget_history
from shoal.protector.store.state import KEY, ONCE, DomainRows, State, padded

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

Objects = dict[bytes, tuple[int, bytes]]

_OBJECT_BLOCK = 128
_ONCE_FROM = 1 << 14
"""Masked kinds below this are of objects that change, those above of objects written once."""


def step(name: str) -> None:
    """Called between the writes of a transaction: the place where crash tests stop a process."""


class Store:
    """An open database with the keys that seal its state, objects and log."""

    def __init__(self, engine: Engine, vault_id: str, root: Secret, anchor: Anchor | None = None) -> None:
        self.engine = engine
        self.vault_id = vault_id
        self.bound = bytes.fromhex(vault_id)
        self.anchor = anchor
        self.witness = Path()
        """This machine's own witness of the log (:mod:`shoal.protector.log.witness`)."""
        self.dialect = engine.dialect.name
        self.box = Box(crypto.derive(root, "objects", context=self.bound))
        self.tags = Prf(crypto.derive(root, "tags", context=self.bound))
        self.sums = Blocks(crypto.derive(root, "row sums", context=self.bound))
        self.audit_box = Box(crypto.derive(root, "audit", context=self.bound))
        self.audit_names = Prf(crypto.derive(root, "audit names", context=self.bound))
        self.token_prf = Prf(crypto.derive(root, "tokens", context=self.bound))
        self._seen = 0
        self._lock = threading.Lock()
        self._plain: dict[bytes, tuple[bytes, bytes]] = {}
        self._tags: dict[tuple[int, str], bytes] = {}
        self._guarded: tuple[Any, Objects] = (None, {})
        self.kept_registers: dict[str, tuple[Any, Any]] = {}
        self.kept_index: tuple[Any, Any] = (None, None)
        self.kept_young: dict[int, tuple[Any, dict[int, bytes]]] = {}

    @contextlib.contextmanager
    def write(self, prepare: Callable[[Connection], None] | None = None) -> Iterator[Tx]:
        """A transaction that no other writer overlaps; committed whole or not at all.

        ``prepare`` runs first (creation of a vault: the tables and the first state).
        """
        floor = self._seen
        with engine_errors(), self.engine.connect() as connection:
            if self.dialect == "sqlite":
                execute(connection, self.dialect, "BEGIN IMMEDIATE")
            if prepare is not None:
                prepare(connection)
            if self.dialect == "sqlite":  # nobody else can write from here on
                guard.require_own_tables(connection, self.dialect)
            tx = Tx(self, connection, self._read_state(connection, floor, lock=True))
            before = (tx.state.audit_seq, tx.state.audit_head)
            yield tx
            step("before-state")
            tx.state.generation += 1
            execute(connection, self.dialect, "UPDATE vault_state SET sealed = ? WHERE id = 1", self._seal_state(tx.state))
            if self.dialect != "sqlite":  # the tables written to are locked against changes only now
                guard.require_own_tables(connection, self.dialect)
            guard.require_logged(connection, self.dialect, before, tx.state)
            step("before-commit")
            if self.dialect == "sqlite":
                execute(connection, self.dialect, "COMMIT")
            else:
                connection.commit()
            step("after-commit")
            if tx.wrote_people:
                forget_history(connection, self.dialect)
        self._keep(tx)
        with self._lock:
            self._seen = max(self._seen, tx.state.generation)
        if self.anchor is not None:
            self.anchor.advance(tx.state.mark)
        step("after-anchor")

    @contextlib.contextmanager
    def read(self) -> Iterator[Tx]:
        """A consistent view of the vault; nothing is written."""
        floor = self._seen
        with engine_errors(), self.engine.connect() as connection:
            if self.dialect == "sqlite":
                execute(connection, self.dialect, "BEGIN")
            else:
                connection.execution_options(isolation_level="REPEATABLE READ")
            yield Tx(self, connection, self._read_state(connection, floor))
            if self.dialect == "sqlite":
                execute(connection, self.dialect, "ROLLBACK")
            else:
                connection.rollback()

    def require_own_tables(self) -> None:
        """Refuse a database into which somebody put triggers, views or other tables."""
        with engine_errors(), self.engine.connect() as connection:
            guard.require_own_tables(connection, self.dialect)

    def begin(self, connection: Connection) -> None:
        """Write the very first state (creation of a vault)."""
        from shoal.protector.store.schema import state

        connection.execute(state.insert().values(id=1, sealed=self._seal_state(State())))

    def check_anchor(self) -> Mark:
        """Compare the database with the anchor; the anchor's mark."""
        assert self.anchor is not None
        mark = self.anchor.read()
        with self._lock:
            self._seen = max(self._seen, mark.generation)
        with self.read() as tx:
            if tx.state.audit_seq < mark.audit_seq:
                raise rolled_back(tx.state.generation, mark.generation)
        return mark

    def _read_state(self, connection: Connection, floor: int, *, lock: bool = False) -> State:
        """The state as this transaction sees it; never older than what was seen before it began."""
        query = "SELECT sealed FROM vault_state WHERE id = 1"
        row = execute(connection, self.dialect, query + (" FOR UPDATE" if lock and self.dialect != "sqlite" else "")).fetchone()
        if row is None:
            raise TamperError("the vault's state is missing.", hint="Restore the database from a trusted copy.")
        state = State.from_bytes(self.box.open(blob(row[0]), b"state" + self.bound, what="state"))
        if state.generation < floor:
            raise rolled_back(state.generation, floor)
        with self._lock:
            self._seen = max(self._seen, state.generation)
        return state

    def _seal_state(self, value: State) -> bytes:
        return self.box.seal(value.to_bytes(), b"state" + self.bound)

    def guarded(self, tx: Tx) -> Objects:
        """All objects but those written once, exactly as the sealed state remembers them.

        Kept in memory from one transaction to the next; read again only when another process changed something.
        """
        wanted = (tx.state.guarded, tx.state.guarded_sum)
        known, objects = self._guarded
        if known == wanted:
            return dict(objects)
        rows = tx.all_of("SELECT tag, kind, sealed FROM vault_objects WHERE kind < ?", _ONCE_FROM)
        objects = {blob(tag): (self.unmasked(blob(tag), kind), blob(sealed)) for tag, kind, sealed in rows}
        sums = (len(rows), object_sum(self, (sealed for _, sealed in objects.values())))
        if sums != wanted:
            what = "stored objects (domains, keys, actors, tokens, requests, limits) are missing, added or older: "
            what += f"{sums[0]} found, {wanted[0]} written."
            raise TamperError(what, hint="Stop using this database; restore it from a trusted copy.")
        self._guarded = (sums, objects)
        return dict(objects)

    def _keep(self, tx: Tx) -> None:
        """Remember the objects as a committed transaction left them."""
        if tx._objects is not None:
            self._guarded = ((tx.state.guarded, tx.state.guarded_sum), tx._objects)

    def tag(self, kind: int, name: str) -> bytes:
        """The keyed tag under which an object is stored."""
        known = self._tags.get((kind, name))
        if known is None:
            if len(self._tags) >= 4096:
                self._tags.clear()
            known = self.tags.digest(bytes([kind]) + name.encode("utf-8", "surrogatepass"))[:16]
            self._tags[kind, name] = known
        return known

    def masked(self, tag: bytes, kind: int) -> int:
        """The kind of an object as it stands open beside it: without the key it reveals only whether it is written once."""
        return (kind ^ self._mask(tag)) + (_ONCE_FROM if kind == ONCE else 0)

    def unmasked(self, tag: bytes, stored: int) -> int:
        """The kind behind a masked one; that of an altered one fits no object."""
        return ((stored % _ONCE_FROM) ^ self._mask(tag)) % 256

    def _mask(self, tag: bytes) -> int:
        return int.from_bytes(self.tags.digest(b"kind of " + tag)[:2], "big") % _ONCE_FROM

    def opened(self, kind: int, tag: bytes, sealed: bytes) -> bytes:
        """The content of a sealed object (remembered while its sealed form stays the same)."""
        known = self._plain.get(tag)
        if known is not None and known[0] == sealed:
            return known[1]
        plain = self.box.open(sealed, b"object" + bytes([kind]) + tag + self.bound, what="stored object")
        if kind != KEY:
            if len(self._plain) > 4096:
                self._plain.clear()
            self._plain[tag] = (sealed, plain)
        return plain


class Tx:
    """One transaction: the state, the sealed objects and the connection."""

    def __init__(self, store: Store, connection: Connection, state: State) -> None:
        self.store = store
        self.connection = connection
        self.state = state
        self._objects: Objects | None = None
        self.wrote_people = False

    def raw(self) -> Any:
        """The driver's own connection inside this transaction, for bulk work on SQLite."""
        return self.connection.connection.driver_connection

    def first(self, statement: str, *values: object) -> Any:
        """The first row of a query written with question marks: straight to the driver, for work done very often."""
        return execute(self.connection, self.store.dialect, statement, *values).fetchone()

    def all_of(self, statement: str, *values: object) -> list[Any]:
        """All rows of a query, likewise."""
        return list(execute(self.connection, self.store.dialect, statement, *values).fetchall())

    def run(self, statement: str, *values: object) -> None:
        """Apply a statement, likewise."""
        execute(self.connection, self.store.dialect, statement, *values)

    def rows(self, number: int) -> DomainRows:
        """Row counts of a domain."""
        return self.state.domains.setdefault(str(number), DomainRows())

    def get(self, kind: int, name: str) -> dict[str, Any] | None:
        """The object of that kind and name, or None."""
        plain = self._fetch(kind, self.store.tag(kind, name))
        return None if plain is None else dict(json.loads(plain))

    def get_secret(self, kind: int, name: str) -> Secret | None:
        plain = self._fetch(kind, self.store.tag(kind, name))
        return None if plain is None else Secret(bytes.fromhex(plain.decode().strip()))

    def put(self, kind: int, name: str, body: dict[str, Any]) -> None:
        """Store an object, new or changed."""
        self._store(kind, name, json.dumps(body, separators=(",", ":"), sort_keys=True).encode())

    def replace(self, kind: int, tag: bytes, body: dict[str, Any]) -> None:
        """Store another content of an object, by its tag (:meth:`items`)."""
        self._store_tag(kind, tag, json.dumps(body, separators=(",", ":"), sort_keys=True).encode())

    def put_secret(self, kind: int, name: str, secret: Secret) -> None:
        self._store(kind, name, secret.expose().hex().encode())

    def remove(self, kind: int, name: str) -> bytes | None:
        """Delete an object; its sealed form as it stood, or None when it was not there."""
        return self.remove_tag(self.store.tag(kind, name))

    def remove_tag(self, tag: bytes) -> bytes | None:
        """Delete the object under a tag."""
        old = self.objects.pop(tag, None)
        if old is None:
            return None
        self.run("DELETE FROM vault_objects WHERE tag = ?", tag)
        self._count(*old, -1)
        step("objects")
        return old[1]

    def remove_once(self, kind: int, name: str) -> bytes | None:
        """Delete an object that was written once, when a person is forgotten; its sealed form as it stood."""
        tag = self.store.tag(kind, name)
        old = self._sealed(kind, tag)
        if old is not None:
            self.run("DELETE FROM vault_objects WHERE tag = ?", tag)
            self._count(kind, old, -1)
        return old

    @property
    def objects(self) -> Objects:
        """Tag to (kind, sealed) of all objects but those written once, as this transaction sees and changes them."""
        if self._objects is None:
            self._objects = self.store.guarded(self)
        return self._objects

    def items(self, kind: int) -> list[tuple[bytes, dict[str, Any]]]:
        """Tag and content of every object of a kind."""
        mine = [(tag, sealed) for tag, (k, sealed) in self.objects.items() if k == kind]
        return [(tag, dict(json.loads(self.store.opened(kind, tag, sealed)))) for tag, sealed in mine]

    def all(self, kind: int) -> list[dict[str, Any]]:
        """Every object of a kind."""
        return [body for _, body in self.items(kind)]

    def now(self, clock: Callable[[], float]) -> float:
        """The present time, never before the newest time the vault has seen; a clock far from it is refused."""
        self.state.clock = advanced(self.state.clock, clock())
        return self.state.clock

    def _fetch(self, kind: int, tag: bytes) -> bytes | None:
        sealed = self._sealed(kind, tag)
        return None if sealed is None else self.store.opened(kind, tag, sealed)

    def _sealed(self, kind: int, tag: bytes) -> bytes | None:
        if kind != ONCE:
            return self.objects.get(tag, (kind, None))[1]
        row = self.first("SELECT sealed FROM vault_objects WHERE tag = ?", tag)
        return None if row is None else blob(row[0])

    def _store(self, kind: int, name: str, plain: bytes) -> None:
        self._store_tag(kind, self.store.tag(kind, name), plain)

    def _store_tag(self, kind: int, tag: bytes, plain: bytes) -> None:
        bound = b"object" + bytes([kind]) + tag + self.store.bound
        sealed = self.store.box.seal(padded(plain, _OBJECT_BLOCK), bound)
        old = self._sealed(kind, tag)
        if old is None:
            self.run("INSERT INTO vault_objects (tag, kind, sealed) VALUES (?, ?, ?)", tag, self.store.masked(tag, kind), sealed)
        else:
            self.run("UPDATE vault_objects SET sealed = ? WHERE tag = ?", sealed, tag)
            self._count(kind, old, -1)
        self._count(kind, sealed, +1)
        if kind != ONCE:
            self.objects[tag] = (kind, sealed)
        step("objects")

    def _count(self, kind: int, sealed: bytes, sign: int) -> None:
        term = object_sum(self.store, [sealed])
        change = crypto.add if sign > 0 else crypto.subtract
        self.state.objects_sum = change(self.state.objects_sum, term)
        self.state.objects += sign
        if kind != ONCE:
            self.state.guarded_sum = change(self.state.guarded_sum, term)
            self.state.guarded += sign


def object_sum(store: Store, sealed: Iterable[bytes]) -> Sum:
    """Keyed sum over the authentication tags of sealed objects."""
    size = crypto.TAG_BYTES
    return crypto.row_sum(store.sums, b"".join([s[-size:].rjust(size, b"\0") for s in sealed]))
