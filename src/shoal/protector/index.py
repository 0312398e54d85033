"""From lookup tags to slots: sealed buckets whose cost hardly grows with the number of identities.

Lookup tags are random, so a B-tree over them touches another page for every new identity, and bulk work slows down as the
vault grows. Here an entry (first 8 bytes of the tag, slot) lies in the bucket that its tag names; tags are uniform, so buckets
fill evenly. Each bucket fits a database page, is padded to one size and sealed to its place. There are two tiers: new entries
go to the *young* one, an eighth of the size; when it is full, both are merged into the *old* one in a single pass.

Keeps    the number of buckets depends on the number of slots (the size class) and on nothing else; every key version of a
         domain has an index of its own; a keyed sum over all buckets stands in the sealed state
Cost     per new identity about 300 bytes written, at any size; per look-up two buckets read; a batch that touches a quarter of
         the old buckets reads them all
Differs  a tag cut to 8 bytes may meet another one: entries are candidates, and the row's full tag decides
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import TamperError
from shoal.protector import crypto
from shoal.protector.crypto import Box
from shoal.protector.state import Shelf
from shoal.protector.store import Tx, step

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Tags = NDArray[np.uint64]

ENTRY = np.dtype([("tag", "<u8"), ("slot", "<u4")])
ROOM = 323  # entries in a bucket: sealed, it fits a page of 4 KiB
FILL = 208  # planned entries: eight standard deviations below the room
_BUCKET = np.dtype([("count", "<u2"), ("entries", ENTRY, (ROOM,))])
_SMALLEST_YOUNG = 16_384
_SLICE = 4096
_MANY = 400
OLD, YOUNG = 0, 1


def tags_of(lookups: Sequence[bytes]) -> Tags:
    """The first 8 bytes of each 16-byte lookup tag as a number."""
    pairs = np.frombuffer(b"".join(lookups), dtype=">u8").reshape(-1, 2)
    return pairs[:, 0].astype(np.uint64)


def buckets_for(slots: int) -> int:
    """The number of buckets for so many entries.

    >>> buckets_for(1024), buckets_for(1_048_576)
    (5, 5042)
    """
    return -(-slots // FILL)


def young_room(slots: int) -> int:
    """The number of entries at which the young tier is merged into the old one."""
    return max(_SMALLEST_YOUNG, slots // 8)


class Index:
    """The index of one key version of a domain inside a transaction."""

    def __init__(self, tx: Tx, number: int, version: int, box: Box) -> None:
        self._tx = tx
        self._box = box
        self._slots = tx.rows(number).slots
        self._shelf = tx.rows(number).index.setdefault(str(version), Shelf())
        self._base = first_key(number, version)

    def find(self, tags: Tags) -> NDArray[np.int64]:
        """The slots of all entries with one of these tags, in no particular order."""
        found = []
        tags = np.sort(tags)
        for tier in (YOUNG, OLD):
            numbers = np.unique(_bucket(tags, self._shelf.buckets[tier]))
            entries = _joined(map(self._open, self._some(tier, numbers)))
            left, right = (np.searchsorted(entries["tag"], tags, side) for side in ("left", "right"))
            found.append(entries["slot"][_ranges(left, right)])
        return np.concatenate(found).astype(np.int64)

    def find_one(self, tag: int) -> tuple[int, bool]:
        """The slot of a tag and True, or any number and False; hits and misses take the same steps."""
        keys = [self._base + (tier << 31) + ((tag >> 32) * self._shelf.buckets[tier] >> 32) for tier in (OLD, YOUNG)]
        rows = self._tx.all_of(f"{_SELECT} WHERE id IN (?, ?)", *keys)
        if len(rows) != sum(total > 0 for total in self._shelf.buckets):
            raise _damaged()
        slot, there = tag, False
        for row in rows:
            bucket = self._open((row,))
            count = int(bucket["count"][0])
            entries = bucket["entries"][0]
            at = min(int(entries["tag"][:count].searchsorted(np.uint64(tag))), ROOM - 1)
            found, where = entries[at].item()
            same = (found == tag) & (at < count)
            slot, there = (where, True) if same else (slot, there)
        return slot, there

    def add(self, lookups: Sequence[bytes], slots: Iterable[int]) -> None:
        """Add entries, all of them new; without any, the index only grows to the size of the domain."""
        fresh = np.empty(len(lookups), dtype=ENTRY)
        fresh["tag"] = tags_of(lookups)
        fresh["slot"] = np.fromiter(slots, dtype=np.uint32, count=len(lookups))
        shelf, room = self._shelf, young_room(self._slots)
        wanted_old = buckets_for(self._slots) if self._slots > _SMALLEST_YOUNG else 0
        wanted_young = buckets_for(min(room, self._slots))
        if shelf.buckets[OLD] < wanted_old or shelf.counts[YOUNG] + len(fresh) > room:
            everything = self._all(OLD), self._all(YOUNG), fresh
            self._write_all(OLD, wanted_old, everything)
            self._write_all(YOUNG, wanted_young, ())
        elif shelf.buckets[YOUNG] < wanted_young:
            self._write_all(YOUNG, wanted_young, (self._all(YOUNG), fresh))
        elif len(fresh) and not self._write_some(fresh):
            self._write_all(YOUNG, shelf.buckets[YOUNG] * 5 // 4 + 1, (self._all(YOUNG), fresh))
        step("index")

    def entries(self) -> NDArray[Any]:
        """Every entry, sorted by tag (for checking)."""
        return _merged((self._all(OLD), self._all(YOUNG)))

    def _all(self, tier: int) -> NDArray[Any]:
        """Every entry of a tier; a bucket that is missing or older than the vault's state is noticed."""
        parts, total = [], (0, 0)
        for rows in self._slices(tier):
            parts.append(_joined([self._open(rows)]))
            total = crypto.add(total, self._sum(rows))
        if total != self._shelf.sums[tier]:
            raise _damaged()
        return np.concatenate(parts) if parts else np.empty(0, dtype=ENTRY)

    def _slices(self, tier: int) -> Iterator[list[Any]]:
        """All sealed rows of a tier, in order, part by part."""
        first = self._base + (tier << 31)
        total = self._shelf.buckets[tier]
        for start in range(0, total, _SLICE):
            last = min(start + _SLICE, total) - 1
            yield self._tx.all_of(f"{_SELECT} WHERE id BETWEEN ? AND ? ORDER BY id", first + start, first + last)

    def _some(self, tier: int, numbers: NDArray[np.int64]) -> Iterator[list[Any]]:
        """The sealed rows that hold at least the given buckets, in order, part by part."""
        total = self._shelf.buckets[tier]
        if total == 0:
            return
        yield from self._slices(tier) if len(numbers) > total // 4 else self._rows(tier, numbers)

    def _rows(self, tier: int, numbers: NDArray[np.int64]) -> Iterator[list[Any]]:
        """The sealed rows of some buckets, in order, part by part."""
        keys = (self._base + (tier << 31) + numbers).tolist()
        for start in range(0, len(keys), _MANY):
            part = keys[start : start + _MANY]
            marks = ",".join("?" * len(part))
            rows = self._tx.all_of(f"{_SELECT} WHERE id IN ({marks}) ORDER BY id", *part)
            if len(rows) != len(part):
                raise _damaged()
            yield rows

    def _open(self, rows: Sequence[Any]) -> NDArray[Any]:
        """Sealed rows (id, sealed) as an array of buckets."""
        from cryptography.exceptions import InvalidTag

        decrypt = self._box.aead.decrypt
        nonce = crypto.NONCE_BYTES
        try:
            plain = b"".join([decrypt(s[:nonce], s[nonce:], b"index" + k.to_bytes(8, "big")) for k, s in rows])
            return np.frombuffer(plain, dtype=_BUCKET)
        except (InvalidTag, ValueError, TypeError, AttributeError):
            raise _damaged() from None

    def _write_some(self, fresh: NDArray[Any]) -> bool:
        """Put entries into the young buckets they belong to; False when one would overflow."""
        shelf = self._shelf
        numbers, counts = np.unique(_bucket(fresh["tag"], shelf.buckets[YOUNG]), return_counts=True)
        rows = [row for part in self._rows(YOUNG, numbers) for row in part]
        buckets = self._open(rows)
        if (buckets["count"] + counts).max() > ROOM:
            return False
        merged = _merged((_joined([buckets]), fresh))
        shelf.sums[YOUNG] = crypto.subtract(shelf.sums[YOUNG], self._sum(rows))
        self._seal_and_put(YOUNG, numbers, buckets["count"] + counts, merged)
        shelf.counts[YOUNG] += len(fresh)
        return True

    def _write_all(self, tier: int, total: int, parts: Sequence[NDArray[Any]]) -> None:
        """Write a tier anew, with at least ``total`` buckets, holding the entries of ``parts``."""
        shelf = self._shelf
        merged = _merged(parts)
        total = max(total, shelf.buckets[tier])
        while (counts := np.bincount(_bucket(merged["tag"], total), minlength=total)).size and counts.max() > ROOM:
            total += total // 4 + 1  # hardly ever: tags are uniform
        shelf.sums[tier] = (0, 0)
        self._seal_and_put(tier, np.arange(total), counts, merged)
        shelf.buckets[tier] = total
        shelf.counts[tier] = len(merged)

    def _seal_and_put(self, tier: int, numbers: NDArray[np.int64], counts: NDArray[np.int64], merged: NDArray[Any]) -> None:
        ends = np.cumsum(counts)
        for start in range(0, len(numbers), _SLICE):
            part = slice(start, start + _SLICE)
            buckets = np.zeros(len(numbers[part]), dtype=_BUCKET)
            buckets["count"] = counts[part]
            inside = merged[ends[start] - counts[start] : ends[part][-1]]
            buckets["entries"][np.arange(ROOM) < buckets["count"][:, None]] = inside
            keys = (self._base + (tier << 31) + numbers[part]).tolist()
            plain = buckets.tobytes()
            width = _BUCKET.itemsize
            seal = self._box.seal
            sealed = [seal(plain[i * width : (i + 1) * width], b"index" + k.to_bytes(8, "big")) for i, k in enumerate(keys)]
            rows = list(zip(keys, sealed, strict=True))
            self._tx.put_buckets(rows)
            self._shelf.sums[tier] = crypto.add(self._shelf.sums[tier], self._sum(rows))

    def _sum(self, rows: Sequence[Any]) -> crypto.Sum:
        return _tag_sum(self._tx, rows)


def first_key(number: int, version: int) -> int:
    """The id of the first bucket of a key version: domain, version, tier and bucket lie next to each other in it."""
    return (number << 40) + (version << 32)


def drop(tx: Tx, number: int, version: int) -> None:
    """Forget the index of a key version."""
    if tx.rows(number).index.pop(str(version), None) is not None:
        first = first_key(number, version)
        tx.run("DELETE FROM vault_index WHERE id BETWEEN ? AND ?", first, first + (1 << 32) - 1)


def stored_sum(tx: Tx, number: int, version: int) -> tuple[int, crypto.Sum]:
    """How many buckets of a key version are there, and their keyed sum, as found in the database."""
    first, total, count = first_key(number, version), (0, 0), 0
    last = first + (1 << 32) - 1
    while rows := tx.all_of(f"{_SELECT} WHERE id BETWEEN ? AND ? ORDER BY id LIMIT {_SLICE}", first, last):
        total = crypto.add(total, _tag_sum(tx, rows))
        count += len(rows)
        first = rows[-1][0] + 1
    return count, total


def _tag_sum(tx: Tx, rows: Sequence[Any]) -> crypto.Sum:
    """Keyed sum over the authentication tags of sealed rows."""
    size = crypto.TAG_BYTES
    return crypto.row_sum(tx.store.sums, b"".join([bytes(sealed[-size:]).rjust(size, b"\0") for _, sealed in rows]))


_SELECT = "SELECT id, sealed FROM vault_index"


def _bucket(tags: Tags, total: int) -> NDArray[np.int64]:
    """The bucket of each tag: equal shares of the range of tags, in order."""
    return (((tags >> np.uint64(32)) * np.uint64(total)) >> np.uint64(32)).astype(np.int64)


def _joined(buckets: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """The entries of buckets, one after the other."""
    parts = [b["entries"][np.arange(ROOM) < b["count"][:, None]] for b in buckets]
    return np.concatenate(parts) if parts else np.empty(0, dtype=ENTRY)


def _merged(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Entries of several parts in order of their tags (quick where the parts are in order already)."""
    joined = np.concatenate(parts) if parts else np.empty(0, dtype=ENTRY)
    return joined[np.argsort(joined["tag"], kind="stable")]


def _ranges(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """All numbers from left to right (without right), pair by pair.

    >>> _ranges(np.array([3, 7, 9]), np.array([4, 7, 11])).tolist()
    [3, 9, 10]
    """
    counts = right - left
    starts = left - (np.cumsum(counts) - counts)
    return np.repeat(starts, counts) + np.arange(int(counts.sum()))


def _damaged() -> TamperError:
    return TamperError("a bucket of the vault's index was altered, moved or taken out.", hint="Run `shoal vault verify`.")
