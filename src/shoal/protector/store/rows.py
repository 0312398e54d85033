"""All rows of a vault as they are stored: read table by table, put into another database, and checked against the state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from shoal.errors import TamperError
from shoal.protector.crypto import primitives as crypto
from shoal.protector.crypto.primitives import Blocks, Box, Secret, Sum
from shoal.protector.store.connection import blob
from shoal.protector.store.guard import chained
from shoal.protector.store.state import State

if TYPE_CHECKING:
    from sqlalchemy import Connection

_CHUNK = 2048
Rows = list[tuple[Any, ...]]


def stored_rows(connection: Connection) -> Iterator[tuple[str, Rows]]:
    """Every row, in parts: name of the table, and rows in the order of its columns and key."""
    from sqlalchemy import select

    from shoal.protector.store.schema import metadata

    for table in metadata.sorted_tables:
        key = next(iter(table.primary_key.columns))
        query, last = select(table).order_by(key).limit(_CHUNK), None
        while rows := connection.execute(query if last is None else query.where(key > last)).all():
            place = list(table.columns).index(key)
            last = rows[-1][place]
            yield table.name, [tuple(bytes(c) if isinstance(c, memoryview) else c for c in row) for row in rows]


def insert(connection: Connection, table: str, rows: Rows) -> None:
    """Put rows into the table of another database."""
    from shoal.protector.store.schema import metadata

    target = metadata.tables[table]
    names = [column.name for column in target.columns]
    connection.execute(target.insert(), [dict(zip(names, row, strict=True)) for row in rows])


class Whole:
    """Checks rows that come in parts against the state among them: all there, none altered, the log unbroken."""

    def __init__(self, root: Secret) -> None:
        self._root = root
        self._meta: dict[str, bytes] = {}
        self._tags: dict[str, list[bytes]] = {"vault_objects": [], "vault_entries": [], "vault_index": []}
        self._sealed_state = b""
        self._log = (0, b"")
        self._begins: tuple[int, bytes, bytes] | None = None
        self._checkpoints = 0
        self._broken = False
        self.rows = 0

    def see(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Take note of rows; those of the log come in order."""
        self.rows += len(rows)
        size = crypto.TAG_BYTES
        if table in self._tags:
            self._tags[table] += [blob(row[-1])[-size:].rjust(size, b"\0") for row in rows]
        elif table == "vault_meta":
            self._meta |= {row[0]: blob(row[1]) for row in rows}
        elif table == "vault_state":
            self._sealed_state = blob(rows[0][1])
        elif table == "vault_checkpoints":
            self._checkpoints += len(rows)
        else:
            for seq, sealed, stored in rows:
                if self._begins is None:  # what came before is known to the state alone
                    self._begins = (int(seq), blob(sealed), blob(stored))
                elif int(seq) != self._log[0] + 1 or chained(self._log[1], int(seq), blob(sealed)) != blob(stored):
                    self._broken = True
                self._log = (int(seq), blob(stored))

    def require(self) -> State:
        """The state, if everything is as it says."""
        bound = self._meta.get("vault", b"")
        box = Box(crypto.derive(self._root, "objects", context=bound))
        state = State.from_bytes(box.open(self._sealed_state, b"state" + bound, what="state"))
        sums = Blocks(crypto.derive(self._root, "row sums", context=bound))
        sums_found = {table: crypto.row_sum(sums, b"".join(tags)) for table, tags in self._tags.items()}
        wanted = {"vault_objects": state.objects_sum, "vault_entries": _pages(state), "vault_index": _buckets(state)}
        log = (state.audit_seq, bytes.fromhex(state.audit_head))
        self._broken |= not self._begins_after(state)
        if sums_found != wanted or self._broken or self._log != log or self._checkpoints != state.checkpoints:
            raise TamperError("rows of the vault are missing, added, altered or older than its state.", hint="Use another copy.")
        return state

    def _begins_after(self, state: State) -> bool:
        """Whether the log begins with the event behind those that left the database."""
        if self._begins is None:
            return False
        seq, sealed, stored = self._begins
        return seq == state.retired_seq + 1 and chained(bytes.fromhex(state.retired_head), seq, sealed) == stored


def _pages(state: State) -> Sum:
    total: Sum = (0, 0)
    for rows in state.domains.values():
        total = crypto.add(total, rows.sum)
    return total


def _buckets(state: State) -> Sum:
    total: Sum = (0, 0)
    for rows in state.domains.values():
        for shelf in rows.index.values():
            total = crypto.add(total, crypto.add(*shelf.sums))
    return total
