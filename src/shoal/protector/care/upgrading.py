"""From the tables of an older vault to those of today: what the migrations cannot do without the domains' keys.

Up to version 0002 every identity had a row of its own, (id, lookup, sealed): AES-GCM of the old payload, bound to id and lookup
tag. Slots, random numbers and so all pseudonyms stay as they are.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import TamperError
from shoal.protector.crypto import operations as crypto
from shoal.protector.crypto.operations import Sum
from shoal.protector.store import entries, index, pages
from shoal.protector.store.pages import PER_PAGE, SLOT_BITS
from shoal.protector.store.row_keys import DomainKeys
from shoal.protector.store.storage import Tx, blob

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HEAD = struct.Struct(">B8sIH")  # 1 identity or 0 decoy, random number, uses, length of the context
_CHUNK = 2048 * PER_PAGE


def is_needed(tx: Tx) -> bool:
    """Whether rows of an older vault stand aside."""
    from sqlalchemy import inspect

    return bool(inspect(tx.connection).has_table("vault_rows"))


def drop_rows(tx: Tx) -> None:
    """Remove the old rows, once every domain has its pages."""
    tx.run("DROP TABLE vault_rows")


def forget(tx: Tx, number: int) -> None:
    """A shredded domain: nothing opens its rows any more, so they are not kept."""
    rows = tx.rows(number)
    for version in list(rows.index):
        index.drop(tx, number, int(version))
    rows.used, rows.slots, rows.sum = 0, 0, (0, 0)


def convert(tx: Tx, keys: DomainKeys) -> None:
    """Write the pages of a domain from its old rows, and its index."""
    rows = tx.rows(keys.number)
    slots, used, expected = rows.slots, rows.used, rows.sum
    rows.slots, rows.used, rows.sum = 0, 0, (0, 0)
    total: Sum = (0, 0)
    long: list[tuple[int, NDArray[Any]]] = []
    for first in range(1, slots + 1, _CHUNK):
        count = min(_CHUNK, slots + 1 - first)
        found, part = _old_rows(tx, keys.number, first, count)
        total = crypto.add(total, part)
        records = _records(keys, found, first, long)
        pages.write(tx, keys, pages.page_of(np.arange(first, first + count, PER_PAGE)), records.reshape(-1, PER_PAGE))
    if total != expected:
        raise _older()
    rows.slots, rows.used = slots, used
    _write_long(tx, keys, long)
    _reindex(tx, keys)


def _old_rows(tx: Tx, number: int, first: int, count: int) -> tuple[list[tuple[int, bytes, bytes]], Sum]:
    """Old rows of some slots, and the keyed sum of their authentication tags."""
    base = number << SLOT_BITS
    query = "SELECT id, lookup, sealed FROM vault_rows WHERE id BETWEEN ? AND ? ORDER BY id"
    found = [
        (int(i), blob(lookup), blob(sealed)) for i, lookup, sealed in tx.all_of(query, base + first, base + first + count - 1)
    ]
    if len(found) != count:
        raise _older()
    size = crypto.TAG_BYTES
    return found, crypto.row_sum(tx.store.sums, b"".join([s[-size:].rjust(size, b"\0") for _, _, s in found]))


def _records(
    keys: DomainKeys, found: list[tuple[int, bytes, bytes]], first: int, long: list[tuple[int, NDArray[Any]]]
) -> NDArray[Any]:
    """The records of old rows; those whose text needs more than a slot are put on the list ``long`` too."""
    records = np.zeros(len(found), dtype=pages.RECORD)
    for place, (row_id, lookup, sealed) in enumerate(found):
        version = keys.versions.get(sealed[0] if sealed else 0)
        if version is None:
            raise _older()
        plain = version.box.open(sealed[1:], row_id.to_bytes(8, "big") + lookup, what="row")
        real, nonce, uses, size = _HEAD.unpack_from(plain)
        if not real:
            continue
        start = _HEAD.size + size
        (length,) = struct.unpack_from(">I", plain, start)
        identity = plain[start + 4 : start + 4 + length]
        tag, number = entries.pairs(lookup), np.frombuffer(nonce, dtype=">u8")
        made = pages.pack(version.version, 0, tag, number, plain[_HEAD.size : start], [identity])
        made["uses"][0] = uses
        records[place] = made[0]
        if len(made) > 1:
            long.append((first + place, made[1:]))
    return records


def _write_long(tx: Tx, keys: DomainKeys, long: list[tuple[int, NDArray[Any]]]) -> None:
    """Put the rest of long texts behind the last identity, and tell their records where."""
    if not long:
        return
    rows = tx.rows(keys.number)
    counts = np.array([len(rest) for _, rest in long])
    starts = rows.used + 1 + np.cumsum(counts) - counts
    slots = np.array([slot for slot, _ in long])
    pages.fill(tx, keys, np.concatenate([rest for _, rest in long]))
    pages.pad(tx, keys, entries.size_class(rows.used))
    pages.change(tx, keys, slots, "more", starts)


def _reindex(tx: Tx, keys: DomainKeys) -> None:
    """Build the index of every key version anew from the pages: older vaults have none, or one not sealed to its last writing."""
    for version in keys.versions:
        index.drop(tx, keys.number, version)
    count = tx.rows(keys.number).slots // PER_PAGE
    indexes = {version: entries.index_of(tx, keys, version) for version in keys.versions}
    for first in range(0, count, _CHUNK // PER_PAGE):
        numbers = np.arange(first, min(first + _CHUNK // PER_PAGE, count))
        records = pages.read(tx, keys, numbers).reshape(-1)
        for version, wanted in indexes.items():
            mine = np.flatnonzero(records["version"] == version)
            wanted.add(records["lookup"][mine, 0].astype(np.uint64), first * PER_PAGE + mine + 1)


def _older() -> TamperError:
    return TamperError(
        "identity rows are missing, added or older than the vault's state.", hint="Restore the database from a trusted copy."
    )
