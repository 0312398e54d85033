"""Identities of a domain: found by their lookup tag, added to the next free slots.

``lookup`` is HMAC(index key, context + identity), 16 bytes; :mod:`.index` leads from it to a slot, and
:mod:`.pages` holds the record in that slot. The slots of a domain are always filled up to a *size class* (quarter
steps between powers of two, at least 1,024) with empty ones that only the key tells from records, so a stolen file shows the
class and not the count. A *block* is the domain's number and slot beside the record's random number: what a pseudonym is made
of.
"""

from __future__ import annotations

from collections.abc import Sequence
from hmac import compare_digest
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import InternalError
from shoal.protector.store import blobs, pages
from shoal.protector.store.database import Tx, step
from shoal.protector.store.index import Index
from shoal.protector.store.pages import SLOT_BITS, DomainKeys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Pairs = NDArray[Any]  # two columns of big-endian 64-bit numbers: lookup tags or blocks

LOOKUP_BYTES = 16
MOST_SLOTS = (1 << 32) - 1
_SMALLEST_CLASS = 1024


def size_class(count: int) -> int:
    """The number of slots for ``count`` records: the next quarter step between powers of two.

    >>> [size_class(n) for n in (0, 1, 1024, 1025, 1281, 1_000_000)]
    [1024, 1024, 1024, 1280, 1536, 1048576]
    """
    if count <= _SMALLEST_CLASS:
        return _SMALLEST_CLASS
    quarter = 1 << ((count - 1).bit_length() - 3)
    return -(-count // quarter) * quarter


def pairs(joined: bytes) -> Pairs:
    """16-byte values, one after the other, as rows of two numbers."""
    return np.frombuffer(joined, dtype=">u8").reshape(-1, 2)


def index_of(tx: Tx, keys: DomainKeys, version: int) -> Index:
    """The index of one key version of a domain."""
    return Index(tx, keys.number, version, keys.versions[version].buckets)


def find_many(tx: Tx, keys: DomainKeys, version: int, lookups: Pairs) -> tuple[NDArray[np.int64], Pairs]:
    """Which of these lookup tags of a key version are known, and their blocks."""
    which, slots = index_of(tx, keys, version).find(lookups[:, 0].astype(np.uint64))
    records = pages.at(tx, keys, slots)
    own = records["version"] == version
    start, end = (records["lookup"][:, i] == lookups[which, i] for i in (0, 1))
    moved = (records["version"] == keys.active) & (version != keys.active)  # sealed under the newest key since
    if not (own & start | moved).all():
        raise blobs.damaged(blobs.ENTRIES)
    same = own & start & end
    blocks = np.empty((int(same.sum()), 2), dtype=">u8")
    blocks[:, 0] = (keys.number << SLOT_BITS) + slots[same]
    blocks[:, 1] = records["nonce"][same]
    return which[same], blocks


def find_each(tx: Tx, keys: DomainKeys, version: int, lookups: Sequence[bytes]) -> list[tuple[bytes, bool]]:
    """For each lookup tag its block and True, or some other block and False, by the same work for both.

    The index names a slot (any, when the tag is not there), and that record is fetched, opened and compared in constant time.
    """
    indexed = index_of(tx, keys, version).find_each([int.from_bytes(lookup[:8], "big") for lookup in lookups])
    used = max(1, tx.rows(keys.number).used)  # misses read where hits do: among the slots in use
    slots = [(slot - 1) % used + 1 for slot, _ in indexed]
    records = pages.each(tx, keys, slots)
    hits = [there for _, there in indexed]
    return [_compare(tx, keys, version, *one) for one in zip(lookups, slots, hits, records, strict=True)]


def _compare(
    tx: Tx, keys: DomainKeys, version: int, lookup: bytes, slot: int, indexed: bool, record: bytes
) -> tuple[bytes, bool]:
    """The block of a record, and whether it is the one under this lookup tag."""
    there = compare_digest(record[1:17], lookup) & (record[0] == version)
    block = ((keys.number << SLOT_BITS) + slot).to_bytes(8, "big") + record[17:25]
    if indexed and not there:  # another tag with the same start, or a record that has a newer key by now
        _, others = find_many(tx, keys, version, pairs(lookup))
        return (others[0].tobytes(), True) if len(others) else (block, False)
    return block, there


def append(
    tx: Tx, keys: DomainKeys, lookups: Pairs, nonces: NDArray[Any], contexts: bytes | Sequence[bytes], identities: Sequence[bytes]
) -> Pairs:
    """Put new identities into the next slots; their blocks."""
    rows = tx.rows(keys.number)
    first = rows.used + 1
    records = pages.pack(keys.active, first, lookups, nonces, contexts, identities)
    if size_class(rows.used + len(records)) > MOST_SLOTS:
        raise InternalError("a domain cannot hold more identities.")
    pages.fill(tx, keys, records)
    step("entries")
    pages.pad(tx, keys, size_class(rows.used))
    step("decoys")
    slots = np.arange(first, first + len(identities))
    index_of(tx, keys, keys.active).add(lookups[:, 0].astype(np.uint64), slots)
    blocks = np.empty((len(identities), 2), dtype=">u8")
    blocks[:, 0] = (keys.number << SLOT_BITS) + slots
    blocks[:, 1] = nonces
    return blocks


def slots_of(tx: Tx, keys: DomainKeys, blocks: Pairs) -> NDArray[np.int64]:
    """The slot of each block, taken round when it belongs to another domain or to none: always one that is in use.

    So a pseudonym that was never given out is looked for among the same records as one that was.
    """
    used = max(1, tx.rows(keys.number).used)
    slots = blocks[:, 0].astype(np.uint64) - np.uint64((keys.number << SLOT_BITS) + 1)
    return (slots % np.uint64(used)).astype(np.int64) + 1
