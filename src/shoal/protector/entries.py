"""Identity rows: sealed, bound to their slot, mixed with decoys.

A row is (id, lookup, sealed). ``id`` is the domain's number and a slot; ``lookup`` is HMAC(index key, context + identity),
which :mod:`shoal.protector.index` leads back to the slot;
``sealed`` is AES-GCM of the identity and a random number, bound to id and lookup. The slots of a domain are always filled up
to a *size class* (quarter steps between powers of two, at least 1,024) with decoys that only the key tells from identities,
so a stolen file shows the class and not the count. A new identity takes the place of the next decoy.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hmac import compare_digest
from typing import Any

import numpy as np

from shoal.errors import InternalError, TamperError
from shoal.protector import crypto
from shoal.protector.crypto import Blocks, Box, Prf, Sum
from shoal.protector.index import Index, tags_of
from shoal.protector.keys import Secret
from shoal.protector.store import Tx, step

SLOT_BITS = 40
LOOKUP_BYTES = 16
MOST_SLOTS = (1 << 32) - 1
_SMALLEST_CLASS = 1024
_BUCKET = 48
_HEAD = struct.Struct(">B8sIH")  # 1 identity or 0 decoy, random number, uses, length of the context
_MANY = 400

Row = tuple[int, bytes, bytes]


class RowKeys:
    """The keys of one version of a domain: for the lookup tags, for sealing rows and for sealing the index."""

    def __init__(self, version: int, secret: Secret) -> None:
        self.version = version
        self.index = Prf(crypto.derive(secret, "index"))
        self.box = Box(crypto.derive(secret, "seal"))
        self.buckets = Box(crypto.derive(secret, "index buckets"))

    def __repr__(self) -> str:
        return f"<keys of version {self.version}>"


class DomainKeys:
    """All living keys of one domain; ``tokens`` permutes slots into pseudonyms and outlives rotations."""

    def __init__(self, number: int, versions: dict[int, RowKeys], active: int, tokens: Blocks) -> None:
        self.number = number
        self.versions = versions
        self.active = active
        self.tokens = tokens

    def __repr__(self) -> str:
        return f"<keys of domain {self.number}>"

    @property
    def newest(self) -> RowKeys:
        return self.versions[self.active]


@dataclass(frozen=True)
class Entry:
    """An opened row. ``context`` frames role, relation and epoch; ``nonce`` makes the pseudonym random."""

    id: int
    lookup: bytes
    real: bool
    nonce: bytes
    uses: int
    context: bytes
    identity: bytes

    @property
    def block(self) -> bytes:
        """Row id and random number: what the pseudonym is made of."""
        return self.id.to_bytes(8, "big") + self.nonce


def size_class(count: int) -> int:
    """The number of slots for ``count`` identities: the next quarter step between powers of two.

    >>> [size_class(n) for n in (0, 1, 1024, 1025, 1281, 1_000_000)]
    [1024, 1024, 1024, 1280, 1536, 1048576]
    """
    if count <= _SMALLEST_CLASS:
        return _SMALLEST_CLASS
    quarter = 1 << ((count - 1).bit_length() - 3)
    return -(-count // quarter) * quarter


def payload(nonce: bytes, context: bytes, identity: bytes, *, uses: int = 0, real: bool = True) -> bytes:
    """The plain form of a row, padded so that its length tells only a size class."""
    plain = _HEAD.pack(real, nonce, uses, len(context)) + context + struct.pack(">I", len(identity)) + identity
    size = _BUCKET
    while size < len(plain):
        size *= 2
    return plain.ljust(size, b"\0")


def payloads(nonces: Sequence[bytes], contexts: Sequence[bytes], identities: Sequence[bytes]) -> list[bytes]:
    """:func:`payload` of many new identities."""
    heads: dict[bytes, bytes] = {c: b"\0\0\0\0" + len(c).to_bytes(2, "big") + c for c in set(contexts)}
    out = []
    for nonce, context, identity in zip(nonces, contexts, identities, strict=True):
        plain = b"\1" + nonce + heads[context] + len(identity).to_bytes(4, "big") + identity
        if len(plain) <= _BUCKET:
            out.append(plain.ljust(_BUCKET, b"\0"))
        else:
            out.append(payload(nonce, context, identity))
    return out


def parse(row_id: int, lookup: bytes, plain: bytes) -> Entry:
    real, nonce, uses, size = _HEAD.unpack_from(plain)
    start = _HEAD.size + size
    (length,) = struct.unpack_from(">I", plain, start)
    identity = plain[start + 4 : start + 4 + length]
    return Entry(row_id, lookup, bool(real), nonce, uses, plain[_HEAD.size : start], identity)


def seal_rows(keys: RowKeys, ids: Sequence[int], lookups: Sequence[bytes], plains: Sequence[bytes]) -> list[bytes]:
    """Seal many rows with one draw of random nonces."""
    encrypt = keys.box.aead.encrypt
    mark = bytes([keys.version])
    width = crypto.NONCE_BYTES
    noise = os.urandom(width * len(ids))
    out = []
    at = 0
    for row_id, lookup, plain in zip(ids, lookups, plains, strict=True):
        nonce = noise[at : at + width]
        at += width
        out.append(mark + nonce + encrypt(nonce, plain, row_id.to_bytes(8, "big") + lookup))
    return out


def open_row(keys: DomainKeys, row: Row) -> Entry:
    """Open one row; an altered or moved row raises :class:`TamperError`."""
    row_id, lookup, sealed = row
    version = keys.versions.get(sealed[0] if sealed else 0)
    if version is None:
        raise TamperError("a row of the vault is sealed under a key that does not exist.", hint="Run `shoal vault verify`.")
    plain = version.box.open(sealed[1:], row_id.to_bytes(8, "big") + lookup, what="row")
    return parse(row_id, lookup, plain)


def index_of(tx: Tx, keys: DomainKeys, version: int) -> Index:
    """The index of one key version of a domain."""
    return Index(tx, keys.number, version, keys.versions[version].buckets)


def find_many(tx: Tx, keys: DomainKeys, version: int, lookups: Sequence[bytes]) -> list[Row]:
    """The rows under these lookup tags of a key version, perhaps with a few others."""
    if not lookups:
        return []
    slots = np.unique(index_of(tx, keys, version).find(tags_of(lookups)))
    return rows_by_id(tx, ((keys.number << SLOT_BITS) + slots).tolist())


def blocks_of(keys: DomainKeys, rows: Sequence[Row]) -> dict[bytes, bytes]:
    """Lookup tag to block (row id || random number) of identity rows: opened, checked, and only as far as needed."""
    from cryptography.exceptions import InvalidTag

    opens = {version: keys.versions[version].box.aead.decrypt for version in keys.versions}
    out = {}
    try:
        for row_id, lookup, sealed in rows:
            place = row_id.to_bytes(8, "big")
            plain = opens[sealed[0]](sealed[1:13], sealed[13:], place + lookup)
            if plain[0]:
                out[lookup] = place + plain[1:9]
    except (InvalidTag, KeyError, ValueError, IndexError, TypeError, AttributeError):
        raise TamperError("a row of the vault was altered or moved.", hint="Run `shoal vault verify`.") from None
    return out


def find_one(tx: Tx, keys: DomainKeys, version: int, lookup: bytes) -> tuple[Entry, bool]:
    """The row under a lookup tag and True, or some other row and False, by the same work for both.

    The index names a slot (any, when the tag is not there), and that row is fetched, opened and compared in constant time.
    """
    slot, indexed = index_of(tx, keys, version).find_one(int.from_bytes(lookup[:8], "big"))
    entry = fetch_slot(tx, keys, slot)
    there = compare_digest(entry.lookup, lookup) & entry.real
    if indexed and not there:  # another tag with the same start, or a row that has a newer key by now
        others = (open_row(keys, row) for row in find_many(tx, keys, version, [lookup]))
        entry, there = next(((e, True) for e in others if e.real and e.lookup == lookup), (entry, False))
    return entry, there


def fetch_slot(tx: Tx, keys: DomainKeys, slot: int) -> Entry:
    """The row of a slot, taken round when the domain has fewer slots: there is always one."""
    slots = tx.rows(keys.number).slots
    row_id = (keys.number << SLOT_BITS) + (slot - 1) % slots + 1
    found = _rows(tx.all_of(f"{_SELECT} WHERE id = ?", row_id))
    if not found:
        raise TamperError("a row of the vault is missing.", hint="Run `shoal vault verify`.")
    return open_row(keys, found[0])


def append(tx: Tx, keys: DomainKeys, lookups: Sequence[bytes], plains: Sequence[bytes]) -> list[int]:
    """Put new identities into the next slots; their row ids."""
    rows = tx.rows(keys.number)
    first = rows.used + 1
    last = rows.used + len(lookups)
    if size_class(last) > MOST_SLOTS:
        raise InternalError("a domain cannot hold more identities.")
    base = keys.number << SLOT_BITS
    ids = list(range(base + first, base + last + 1))
    sealed = seal_rows(keys.newest, ids, lookups, plains)
    fresh = list(zip(ids, lookups, sealed, strict=True))
    inside = max(0, min(rows.slots, last) - rows.used)
    if inside:
        _replace(tx, keys.number, fresh[:inside])
    _insert(tx, keys.number, fresh[inside:])
    rows.used = last
    step("entries")
    _pad(tx, keys)
    index_of(tx, keys, keys.active).add(lookups, range(first, last + 1))
    return ids


def _pad(tx: Tx, keys: DomainKeys) -> None:
    """Fill the domain up to its size class with decoys."""
    rows = tx.rows(keys.number)
    goal = size_class(rows.used)
    for start in range(max(rows.slots, rows.used) + 1, goal + 1, 65536):
        ids = [(keys.number << SLOT_BITS) + s for s in range(start, min(start + 65536, goal + 1))]
        noise = os.urandom(LOOKUP_BYTES * len(ids))
        lookups = [noise[i : i + LOOKUP_BYTES] for i in range(0, len(noise), LOOKUP_BYTES)]
        plain = payload(b"\0" * 8, b"\0" * 6, b"", real=False)
        sealed = seal_rows(keys.newest, ids, lookups, [plain] * len(ids))
        _insert(tx, keys.number, list(zip(ids, lookups, sealed, strict=True)))
    rows.slots = max(rows.slots, goal)
    step("decoys")


def reindex(tx: Tx, keys: DomainKeys) -> None:
    """Build the index of every key version from the rows (for vaults that have none yet)."""
    slots = tx.rows(keys.number).slots
    indexes = {version: index_of(tx, keys, version) for version in keys.versions}
    for first in range(1, slots + 1, 65536):
        rows = slot_range(tx, keys.number, first, min(first + 65535, slots))
        real = [row for row in rows if open_row(keys, row).real]
        for version, wanted in indexes.items():
            mine = [row for row in real if row[2][0] == version]
            wanted.add([row[1] for row in mine], [row[0] - (keys.number << SLOT_BITS) for row in mine])


def rewrite(tx: Tx, keys: DomainKeys, entries: Sequence[Entry], plains: Sequence[bytes], lookups: Sequence[bytes]) -> None:
    """Seal existing rows anew (new uses, or a new key version) in their old slots."""
    ids = [e.id for e in entries]
    sealed = seal_rows(keys.newest, ids, lookups, plains)
    _replace(tx, keys.number, list(zip(ids, lookups, sealed, strict=True)))
    step("entries")


def slot_range(tx: Tx, number: int, first: int, last: int) -> list[Row]:
    """The rows of a range of slots, in order."""
    base = number << SLOT_BITS
    return _rows(tx.all_of(f"{_SELECT} WHERE id BETWEEN ? AND ? ORDER BY id", base + first, base + last))


def tag_sum(tx: Tx, sealed: Sequence[bytes]) -> Sum:
    """Keyed sum over the authentication tags of sealed rows."""
    return crypto.row_sum(tx.store.sums, b"".join([s[-crypto.TAG_BYTES :] for s in sealed]))


def _insert(tx: Tx, number: int, fresh: list[Row]) -> None:
    if not fresh:
        return
    if tx.store.dialect == "sqlite":
        tx.raw().executemany("INSERT INTO vault_entries (id, lookup, sealed) VALUES (?, ?, ?)", fresh)
    else:
        ids, lookups, sealed = (list(column) for column in zip(*fresh, strict=True))
        tx.connection.exec_driver_sql(
            "INSERT INTO vault_entries (id, lookup, sealed) SELECT * FROM unnest(%s::bigint[], %s::bytea[], %s::bytea[])",
            (ids, lookups, sealed),
        )
    rows = tx.rows(number)
    rows.sum = crypto.add(rows.sum, tag_sum(tx, [r[2] for r in fresh]))


def _replace(tx: Tx, number: int, fresh: list[Row]) -> None:
    """Overwrite rows (ids in ascending order without gaps or single ones)."""
    ids = [r[0] for r in fresh]
    rows = tx.rows(number)
    old = _sealed_of(tx, ids)
    if len(old) != len(ids):
        raise TamperError("a row of the vault is missing.", hint="Run `shoal vault verify`.")
    rows.sum = crypto.subtract(rows.sum, tag_sum(tx, old))
    if tx.store.dialect == "sqlite":
        tx.raw().executemany(
            "UPDATE vault_entries SET lookup = ?, sealed = ? WHERE id = ?",
            [(lookup, sealed, row_id) for row_id, lookup, sealed in fresh],
        )
    else:
        columns = (list(column) for column in zip(*fresh, strict=True))
        tx.connection.exec_driver_sql(
            "UPDATE vault_entries e SET lookup = n.lookup, sealed = n.sealed "
            "FROM unnest(%s::bigint[], %s::bytea[], %s::bytea[]) AS n(id, lookup, sealed) WHERE e.id = n.id",
            tuple(columns),
        )
    rows.sum = crypto.add(rows.sum, tag_sum(tx, [r[2] for r in fresh]))


def _sealed_of(tx: Tx, ids: list[int]) -> list[bytes]:
    if ids[-1] - ids[0] + 1 == len(ids):
        return [bytes(r[0]) for r in tx.all_of("SELECT sealed FROM vault_entries WHERE id BETWEEN ? AND ?", ids[0], ids[-1])]
    return [row[2] for row in rows_by_id(tx, ids)]


def rows_by_id(tx: Tx, ids: Sequence[int]) -> list[Row]:
    """The rows with these ids (sorted, each once), in no particular order."""
    found: list[Any] = []
    if tx.store.dialect != "sqlite":
        return _rows(tx.all_of(f"{_SELECT} WHERE id = ANY(?::bigint[])", list(ids)))
    for start in range(0, len(ids), _MANY):
        part = ids[start : start + _MANY]
        if part[-1] - part[0] + 1 == len(part):
            found += tx.all_of(f"{_SELECT} WHERE id BETWEEN ? AND ?", part[0], part[-1])
        else:
            found += tx.all_of(f"{_SELECT} WHERE id IN ({','.join('?' * len(part))})", *part)
    return _rows(found)


_SELECT = "SELECT id, lookup, sealed FROM vault_entries"


def _rows(found: Iterable[Any]) -> list[Row]:
    """Rows as plain values; a damaged database may give cells that are none."""
    try:
        return [(int(row_id), bytes(lookup), bytes(sealed)) for row_id, lookup, sealed in found]
    except (TypeError, ValueError):
        raise TamperError("a row of the vault is damaged.", hint="Restore the database from a trusted copy.") from None
