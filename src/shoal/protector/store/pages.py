"""Identity records in sealed pages.

A page has 32 slots of one size and fits a page of the database; it is sealed as a whole (AES-256-GCM) under the newest key of
its domain. A slot holds a record: lookup tag, random number, number of uses, and the text (context and identity). A text longer
than its slot goes on in further slots, so that every page of every vault has the same length. A slot without a record is all
zeros before it is sealed: outside nobody can tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.protector.crypto import primitives as crypto
from shoal.protector.crypto.primitives import Blocks, Box, Prf, Secret
from shoal.protector.store import blobs
from shoal.protector.store.database import Tx

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Slots = NDArray[np.int64]

SLOT_BITS = 40
PER_PAGE = 32
FORGOTTEN = 254  # instead of a key version: a record was overwritten here
CONTINUED = 255  # instead of a key version: the slot goes on with the text of another one
_ROOM = 87
RECORD = np.dtype(
    [
        ("version", "u1"),  # key version of the lookup tag; 0: nothing here
        ("lookup", ">u8", (2,)),
        ("nonce", ">u8"),
        ("uses", "<u4"),
        ("context", "<u2"),  # bytes of the context, which begins the text
        ("identity", "<u2"),  # bytes of the identity, which ends it
        ("more", "<u4"),  # the slot where the text goes on
        ("text", "u1", (_ROOM,)),
    ]
)
_REST = np.dtype([("version", "u1"), ("text", "u1", (RECORD.itemsize - 1,))])
_MORE_ROOM = RECORD.itemsize - 1
_LABEL = b"page"
_LARGEST_READ = 2048  # pages opened at once


def pack(
    version: int,
    first: int,
    lookups: NDArray[Any],
    nonces: NDArray[Any],
    contexts: bytes | Sequence[bytes],
    identities: Sequence[bytes],
) -> NDArray[Any]:
    """Records of new identities for the slots from ``first`` on: one for each, then what is left of long texts."""
    count = len(identities)
    if isinstance(contexts, bytes):
        plains = [contexts + identity for identity in identities]
        before = np.full(count, len(contexts))
    else:
        plains = [context + identity for context, identity in zip(contexts, identities, strict=True)]
        before = np.fromiter(map(len, contexts), dtype=np.int64, count=count)
    lengths = np.fromiter(map(len, plains), dtype=np.int64, count=count)
    further = _further(lengths)
    records = np.zeros(count + int(further.sum()), dtype=RECORD)
    heads = records[:count]
    heads["version"] = version
    heads["lookup"] = lookups
    heads["nonce"] = nonces
    heads["context"] = before
    heads["identity"] = lengths - before
    heads["text"] = np.array(plains, dtype=f"S{_ROOM}").view(np.uint8).reshape(count, _ROOM)
    long = np.flatnonzero(further)
    if len(long):
        heads["more"][long] = first + count + (np.cumsum(further) - further)[long]
        rest = b"".join([plains[i][_ROOM:].ljust(int(further[i]) * _MORE_ROOM, b"\0") for i in long])
        tail = records[count:].view(_REST)
        tail["version"] = CONTINUED
        tail["text"] = np.frombuffer(rest, dtype=np.uint8).reshape(-1, _MORE_ROOM)
    return records


def is_head(records: NDArray[Any]) -> NDArray[np.bool_]:
    """Which records are identities (neither empty, nor forgotten, nor the rest of another one's text)."""
    return np.asarray((records["version"] > 0) & (records["version"] < FORGOTTEN))


def continued(records: NDArray[Any]) -> NDArray[np.int64]:
    """How many further slots the text of each record takes."""
    return _further(records["context"].astype(np.int64) + records["identity"])


def _further(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return -(-np.maximum(lengths - _ROOM, 0) // _MORE_ROOM)


def texts(tx: Tx, keys: DomainKeys, records: NDArray[Any]) -> list[tuple[bytes, bytes]]:
    """Context and identity of each record."""
    joined = np.ascontiguousarray(records["text"]).tobytes()
    plains = [joined[start : start + _ROOM] for start in range(0, len(joined), _ROOM)]
    further = continued(records)
    long = np.flatnonzero(further)
    if len(long):
        slots = ranges(records["more"][long].astype(np.int64), further[long])
        rest = np.ascontiguousarray(at(tx, keys, slots).view(_REST)["text"]).tobytes()
        start = 0
        for i in long.tolist():
            end = start + int(further[i]) * _MORE_ROOM
            plains[i] += rest[start:end]
            start = end
    sizes = zip(plains, records["context"].tolist(), records["identity"].tolist(), strict=True)
    return [(plain[:context], plain[context : context + identity]) for plain, context, identity in sizes]


def ranges(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers from each start on, as many as its count.

    >>> ranges(np.array([3, 7, 9]), np.array([1, 0, 2])).tolist()
    [3, 9, 10]
    """
    offsets = starts - (np.cumsum(counts) - counts)
    return np.repeat(offsets, counts) + np.arange(int(counts.sum()))


def page_of(slots: Slots) -> Slots:
    """The page of each slot (slots count from 1, pages from 0)."""
    return (slots - 1) // PER_PAGE


def at(tx: Tx, keys: DomainKeys, slots: Slots) -> NDArray[Any]:
    """The records in these slots; one that is empty although it was written is noticed."""
    out = np.empty(len(slots), dtype=RECORD)
    numbers, place = np.unique(page_of(slots), return_inverse=True)
    order = np.argsort(place, kind="stable")
    ends = np.searchsorted(place[order], np.arange(0, len(numbers) + _LARGEST_READ, _LARGEST_READ))
    for part, start in enumerate(range(0, len(numbers), _LARGEST_READ)):
        opened = read(tx, keys, numbers[start : start + _LARGEST_READ])
        mine = order[ends[part] : ends[part + 1]]
        out[mine] = opened[place[mine] - start, (slots[mine] - 1) % PER_PAGE]
    if ((out["version"] == 0) & (slots <= tx.rows(keys.number).used)).any():  # a page of an older time
        raise blobs.damaged(blobs.ENTRIES)
    return out


def each(tx: Tx, keys: DomainKeys, slots: Sequence[int]) -> list[bytes]:
    """The records in a few slots as bytes, by the same work for every slot: each opens its page."""
    first, size, used = _first_id(keys.number), RECORD.itemsize, tx.rows(keys.number).used
    places = [divmod(slot - 1, PER_PAGE) for slot in slots]
    rows = {row[0]: row for row in blobs.fetch(tx, blobs.ENTRIES, sorted({first + page for page, _ in places}))}
    out = []
    for slot, (page, place) in zip(slots, places, strict=True):
        plain = _open(keys, [rows[first + page]])
        if slot <= used and plain[place * size] == 0:
            raise blobs.damaged(blobs.ENTRIES)
        out.append(plain[place * size : (place + 1) * size])
    return out


def read(tx: Tx, keys: DomainKeys, numbers: Slots) -> NDArray[Any]:
    """Pages (ascending, each once), opened: a row of records each."""
    rows = blobs.fetch(tx, blobs.ENTRIES, (_first_id(keys.number) + numbers).tolist())
    return opened(keys, rows)


def opened(keys: DomainKeys, rows: Sequence[blobs.Row]) -> NDArray[Any]:
    """Sealed pages as rows of records."""
    return np.frombuffer(_open(keys, rows), dtype=RECORD).reshape(-1, PER_PAGE)


def _open(keys: DomainKeys, rows: Sequence[blobs.Row]) -> bytes:
    return blobs.unseal(blobs.ENTRIES, _LABEL, rows, lambda head: keys.versions[head[0]].box, head=1)


def write(tx: Tx, keys: DomainKeys, numbers: Slots, records: NDArray[Any]) -> None:
    """Seal pages (ascending) under the newest key and put them into the place of what stood there."""
    rows = tx.rows(keys.number)
    mark = bytes([keys.active])
    for start in range(0, len(numbers), blobs.SLICE):
        ids = (_first_id(keys.number) + numbers[start : start + blobs.SLICE]).tolist()
        there = int(np.searchsorted(numbers[start : start + blobs.SLICE], rows.slots // PER_PAGE))
        old = blobs.fetch(tx, blobs.ENTRIES, ids[:there])
        fresh = blobs.seal(keys.newest.box, _LABEL, ids, records[start : start + blobs.SLICE].tobytes(), head=mark)
        blobs.put(tx, blobs.ENTRIES, fresh)
        rows.sum = crypto.add(crypto.subtract(rows.sum, blobs.tag_sum(tx, old)), blobs.tag_sum(tx, fresh))


def change(tx: Tx, keys: DomainKeys, slots: Slots, name: str, values: NDArray[Any]) -> None:
    """Set a field of the records in these slots (all different)."""
    order = np.argsort(slots)
    wanted = page_of(slots[order])
    numbers = np.unique(wanted)
    for start in range(0, len(numbers), _LARGEST_READ):
        part = numbers[start : start + _LARGEST_READ]
        mine = order[np.searchsorted(wanted, part[0]) : np.searchsorted(wanted, part[-1], "right")]
        records = read(tx, keys, part).copy()
        records[name][np.searchsorted(part, page_of(slots[mine])), (slots[mine] - 1) % PER_PAGE] = values[mine]
        write(tx, keys, part, records)


def fill(tx: Tx, keys: DomainKeys, records: NDArray[Any]) -> None:
    """Put records into the next slots of the domain."""
    rows = tx.rows(keys.number)
    page, begun = divmod(rows.used, PER_PAGE)
    count = -(-(begun + len(records)) // PER_PAGE)
    block = np.zeros(count * PER_PAGE, dtype=RECORD)
    if begun and len(records):
        block[:PER_PAGE] = read(tx, keys, np.array([page]))[0]
        if not block["version"][:begun].all() or block["version"][begun:].any():
            raise blobs.damaged(blobs.ENTRIES)
    block[begun : begun + len(records)] = records
    if len(records):
        write(tx, keys, np.arange(page, page + count), block.reshape(-1, PER_PAGE))
    rows.used += len(records)
    rows.slots = max(rows.slots, (page + count) * PER_PAGE)


def pad(tx: Tx, keys: DomainKeys, slots: int) -> None:
    rows = tx.rows(keys.number)
    for start in range(rows.slots // PER_PAGE, slots // PER_PAGE, blobs.SLICE):
        numbers = np.arange(start, min(start + blobs.SLICE, slots // PER_PAGE))
        write(tx, keys, numbers, np.zeros((len(numbers), PER_PAGE), dtype=RECORD))
    rows.slots = max(rows.slots, slots)


def stored(tx: Tx, number: int, first: int, last: int) -> list[blobs.Row]:
    """The sealed pages from ``first`` to ``last`` that are there (for checking)."""
    return blobs.between(tx, blobs.ENTRIES, _first_id(number) + first, _first_id(number) + last)


def _first_id(number: int) -> int:
    return number << SLOT_BITS


class RowKeys:
    """The keys of one version of a domain: for the lookup tags, for sealing pages and for sealing the index."""

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
