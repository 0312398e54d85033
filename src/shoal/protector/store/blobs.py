"""The two large tables of a vault, pages of identities and buckets of the index: rows (id, sealed), many at a time.

Each row is sealed to its id, so that it opens nowhere else; a keyed sum over the authentication tags of all rows stands in the
sealed state, so that a row that is lost, added or put back is noticed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from cryptography.exceptions import InvalidTag

from shoal.errors import TamperError
from shoal.protector.crypto import primitives as crypto
from shoal.protector.crypto.primitives import Box, Sum
from shoal.protector.store.connection import blob
from shoal.protector.store.database import Tx

ENTRIES, INDEX = "vault_entries", "vault_index"
SLICE = 4096
"""Rows handled at once: 16 MB."""

_SELECT = {ENTRIES: "SELECT id, sealed FROM vault_entries", INDEX: "SELECT id, sealed FROM vault_index"}
_INSERT = {ENTRIES: "INSERT INTO vault_entries (id, sealed)", INDEX: "INSERT INTO vault_index (id, sealed)"}
_UNNESTED = "SELECT * FROM unnest(?::bigint[], ?::bytea[])"
_REPLACE = "ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed"
_MANY = 400
Row = tuple[int, bytes]


def between(tx: Tx, table: str, first: int, last: int) -> list[Row]:
    """The rows with an id from ``first`` to ``last``, in order."""
    rows = tx.all_of(f"{_SELECT[table]} WHERE id BETWEEN ? AND ? ORDER BY id", first, last)
    return [(int(row_id), blob(sealed)) for row_id, sealed in rows]


def fetch(tx: Tx, table: str, ids: Sequence[int]) -> list[Row]:
    """The rows with these ids (ascending, each once), in order; a missing one is an error."""
    if not ids:
        return []
    if ids[-1] - ids[0] + 1 == len(ids):
        rows = between(tx, table, ids[0], ids[-1])
    else:
        rows = [(int(row_id), blob(sealed)) for row_id, sealed in _scattered_rows(tx, table, ids)]
    if len(rows) != len(ids):
        raise damaged(table)
    return rows


def _scattered_rows(tx: Tx, table: str, ids: Sequence[int]) -> list[Any]:
    select = f"{_SELECT[table]} WHERE id"
    if tx.store.dialect != "sqlite":
        return tx.all_of(f"{select} = ANY(?::bigint[]) ORDER BY id", list(ids))
    rows: list[Any] = []
    for start in range(0, len(ids), _MANY):
        part = ids[start : start + _MANY]
        rows += tx.all_of(f"{select} IN ({','.join('?' * len(part))}) ORDER BY id", *part)
    return rows


def put(tx: Tx, table: str, rows: Sequence[Row]) -> None:
    """Store rows, new or changed."""
    tx.wrote_people = True
    if tx.store.dialect == "sqlite":
        tx.raw().executemany(f"{_INSERT[table]} VALUES (?, ?) {_REPLACE}", rows)
    else:
        ids, sealed = (list(column) for column in zip(*rows, strict=True))
        tx.run(f"{_INSERT[table]} {_UNNESTED} {_REPLACE}", ids, sealed)


def seal(box: Box, label: bytes, ids: Sequence[int], plain: bytes, *, head: bytes = b"") -> list[Row]:
    """Equal parts of ``plain``, each sealed to its id; ``head`` stands open before each of them."""
    width = len(plain) // max(1, len(ids))
    size = crypto.NONCE_BYTES
    noise = os.urandom(size * len(ids))
    encrypt, view = box.aead.encrypt, memoryview(plain)
    rows = []
    for i, row_id in enumerate(ids):
        nonce = noise[i * size : i * size + size]
        part = view[i * width : i * width + width]
        rows.append((row_id, head + nonce + encrypt(nonce, part, label + row_id.to_bytes(8, "big"))))
    return rows


def unseal(table: str, label: bytes, rows: Sequence[Row], box_of: Callable[[bytes], Box], *, head: int = 0) -> bytes:
    """The parts that :func:`seal` sealed, joined; ``box_of`` tells the key from the ``head`` open bytes."""
    start = head + crypto.NONCE_BYTES
    try:
        return b"".join([box_of(s[:head]).aead.decrypt(s[head:start], s[start:], label + k.to_bytes(8, "big")) for k, s in rows])
    except (InvalidTag, ValueError, KeyError, IndexError):
        raise damaged(table) from None


def tag_sum(tx: Tx, rows: Sequence[Row]) -> Sum:
    """Keyed sum over the authentication tags of rows."""
    size = crypto.TAG_BYTES
    return crypto.row_sum(tx.store.sums, b"".join([sealed[-size:].rjust(size, b"\0") for _, sealed in rows]))


def stored_sum(tx: Tx, table: str, first: int, last: int) -> tuple[int, Sum]:
    """How many rows there are between two ids, and their keyed sum, as found in the database."""
    total, count = (0, 0), 0
    select = f"{_SELECT[table]} WHERE id BETWEEN ? AND ? ORDER BY id LIMIT {SLICE}"
    while rows := [(int(row_id), blob(sealed)) for row_id, sealed in tx.all_of(select, first, last)]:
        total = crypto.add(total, tag_sum(tx, rows))
        count += len(rows)
        first = rows[-1][0] + 1
    return count, total


def damaged(table: str) -> TamperError:
    """A row that is missing, altered, or older than the vault's state."""
    what = "bucket of the vault's index" if table == INDEX else "page of identities"
    return TamperError(f"a {what} was altered, moved, put back or taken out.", hint="Run `shoal vault verify`.")
