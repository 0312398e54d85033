"""From lookup tags to slots: sealed buckets whose cost hardly grows with the number of identities.

Lookup tags are random, so a B-tree over them touches another page for every new identity, and bulk work slows down as the
vault grows. Here an entry (first 8 bytes of the tag, slot) lies in the bucket that its tag names; tags are uniform, so buckets
fill evenly. Each bucket fits a database page, is padded to one size and sealed to its place. There are two tiers: new entries
go to the *young* one, an eighth of the size; when it is full, both are merged into the *old* one in a single pass.

Keeps    the number of buckets depends on the number of slots (the size class) and on nothing else; every key version of a
         domain has an index of its own; a keyed sum over all buckets stands in the sealed state, and the mark of the last
         writing of each tier, which its buckets are sealed to: an older bucket put back is refused wherever it is read
Cost     per new identity about 300 bytes written, at any size; per look-up two buckets read; a batch that touches a quarter of
         the old buckets reads them all, once: they stay in memory (12 bytes per identity) as long as the sealed state says
         that nobody rewrote them
Differs  a tag cut to 8 bytes may meet another one: entries are candidates, and the record's full tag decides
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.protector.crypto import primitives as crypto
from shoal.protector.crypto.primitives import Box
from shoal.protector.store import blobs
from shoal.protector.store.blobs import INDEX
from shoal.protector.store.database import Tx, step
from shoal.protector.store.pages import ranges
from shoal.protector.store.state import Shelf

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Tags = NDArray[np.uint64]
    Numbers = NDArray[np.int64]
    Entries = tuple[Tags, NDArray[np.uint32]]  # tags in order, and the slot of each


_SMALLEST_YOUNG = 16_384
_MOST_KEPT = 50_000_000
_LABEL = b"index"
OLD, YOUNG = 0, 1


def buckets_for(slots: int) -> int:
    """The number of buckets for so many entries.

    >>> buckets_for(1024), buckets_for(1_048_576)
    (5, 5042)
    """
    return -(-slots // FILL)


class Index:
    """The index of one key version of a domain inside a transaction."""

    def __init__(self, tx: Tx, number: int, version: int, box: Box) -> None:
        self._tx = tx
        self._box = box
        self._slots = tx.rows(number).slots
        self._shelf = tx.rows(number).index.setdefault(str(version), Shelf())
        self._base = first_key(number, version)

    def find(self, tags: Tags) -> tuple[Numbers, Numbers]:
        """All entries with one of these tags: which tag (its place in ``tags``), and the slot."""
        order = np.argsort(tags)
        wanted = tags[order]
        which, slots = [], []
        for tier in (YOUNG, OLD):
            known, places = self._touched(tier, wanted)
            left, right = (np.searchsorted(known, wanted, side) for side in ("left", "right"))
            which.append(np.repeat(order, right - left))
            slots.append(places[ranges(left, right - left)])
        return np.concatenate(which), np.concatenate(slots).astype(np.int64)

    def find_each(self, tags: Sequence[int]) -> list[tuple[int, bool]]:
        """For each tag its slot and True, or any number and False; hits and misses take the same steps."""
        shelf = self._shelf.buckets
        tiers = [tier for tier in (OLD, YOUNG) if shelf[tier]]
        keys = [[self._base + (tier << 31) + ((tag >> 32) * shelf[tier] >> 32) for tier in tiers] for tag in tags]
        rows = {row[0]: row for row in self._fetch(sorted({key for own in keys for key in own}))}
        out = []
        for tag, own in zip(tags, keys, strict=True):
            slot, there = tag, False
            for key in own:
                bucket = self._open(key >> 31 & 1, [rows[key]])[0]
                count, entries = int(bucket["count"]), bucket["entries"]
                at = min(int(entries["tag"][:count].searchsorted(np.uint64(tag))), ROOM - 1)
                entry, where = entries[at].item()
                same = (entry == tag) & (at < count)
                slot, there = (where, True) if same else (slot, there)
            out.append((slot, there))
        return out

    def add(self, tags: Tags, slots: Numbers) -> None:
        """Add entries, all of them new; without any, the index only grows to the size of the domain."""
        order = np.argsort(tags)
        fresh = tags[order], slots[order].astype(np.uint32)
        shelf, room = self._shelf, max(_SMALLEST_YOUNG, self._slots // 8)  # beyond, the young tier is merged into the old one
        wanted_old = buckets_for(self._slots) if self._slots > _SMALLEST_YOUNG else 0
        wanted_young = buckets_for(min(room, self._slots))
        if shelf.buckets[OLD] < wanted_old or shelf.counts[YOUNG] + len(tags) > room:
            everything = merged(self._old(), merged(self._all(YOUNG), fresh))
            self._write_all(OLD, wanted_old, everything)
            self._keep(everything)
            self._write_all(YOUNG, wanted_young, NOTHING)
        elif shelf.buckets[YOUNG] < wanted_young:
            self._write_all(YOUNG, wanted_young, merged(self._all(YOUNG), fresh))
        elif len(tags) and not self._write_some(fresh):
            self._write_all(YOUNG, shelf.buckets[YOUNG] * 5 // 4 + 1, merged(self._all(YOUNG), fresh))
        step("index")

    def remove(self, slots: Numbers) -> None:
        """Take out the entries of these slots: the tiers that contain one are rewritten."""
        for tier in (OLD, YOUNG):
            tags, held = self._all(tier)
            kept = ~np.isin(held, slots)
            if not kept.all():
                left = (tags[kept], held[kept])
                self._write_all(tier, self._shelf.buckets[tier], left)
                if tier == OLD:
                    self._keep(left)
        step("index")

    def entries(self) -> NDArray[Any]:
        """Every entry as it is stored, sorted by tag (for checking)."""
        tags, slots = merged(self._all(OLD), self._all(YOUNG))
        out = np.empty(len(tags), dtype=ENTRY)
        out["tag"], out["slot"] = tags, slots
        return out

    # -- the old tier in memory --------------------------------------------------------------------------------------

    @property
    def _mark(self) -> tuple[Any, ...]:
        """What the sealed state says about the old tier: it changes whenever one of its buckets is written."""
        return self._base, self._shelf.counts[OLD], self._shelf.buckets[OLD], self._shelf.sums[OLD]

    def _old(self) -> Entries:
        """The old tier: from memory if it is still the one of the sealed state, else read and checked against it."""
        mark, kept = self._tx.store.kept_index
        old: Entries = kept if mark == self._mark else self._all(OLD)
        self._keep(old)
        return old

    def _keep(self, entries: Entries) -> None:
        small = len(entries[0]) <= _MOST_KEPT
        self._tx.store.kept_index = (self._mark, entries) if small else (None, NOTHING)

    # -- reading -----------------------------------------------------------------------------------------------------

    def _touched(self, tier: int, wanted: Tags) -> Entries:
        """The entries of a tier that may have one of these tags (in order), perhaps with others."""
        total = self._shelf.buckets[tier]
        if total == 0 or len(wanted) == 0:
            return NOTHING
        numbers = np.unique(bucket_of(wanted, total))
        if tier == OLD and (len(numbers) > total // 4 or self._tx.store.kept_index[0] == self._mark):
            return self._old()
        return concatenated([entries_of(self._open(tier, self._fetch(part))) for part in self._keys(tier, numbers)])

    def _all(self, tier: int) -> Entries:
        """Every entry of a tier as it is stored; a bucket that is missing or older than the vault's state is noticed."""
        parts, total = [], (0, 0)
        for keys in self._keys(tier, np.arange(self._shelf.buckets[tier])):
            rows = self._fetch(keys)
            parts.append(entries_of(self._unsealed(tier, rows)))
            total = crypto.add(total, blobs.tag_sum(self._tx, rows))
        if total != self._shelf.sums[tier]:
            raise blobs.damaged(INDEX)
        return concatenated(parts)

    def _keys(self, tier: int, numbers: Numbers) -> list[list[int]]:
        """The ids of buckets, in parts that are handled at once."""
        ids = self._base + (tier << 31) + numbers
        return [ids[start : start + blobs.SLICE].tolist() for start in range(0, len(ids), blobs.SLICE)]

    def _open(self, tier: int, rows: list[blobs.Row]) -> NDArray[Any]:
        """Sealed rows as an array of buckets; one that is older than the vault's state is noticed.

        An old bucket does not open where the whole tier was written since. A young one is compared with the tags of the tier.
        """
        if tier == YOUNG:
            tags = self._young_tags()
            if any(tags.get(key) != sealed[-crypto.TAG_BYTES :] for key, sealed in rows):
                raise blobs.damaged(INDEX)
        return self._unsealed(tier, rows)

    def _unsealed(self, tier: int, rows: list[blobs.Row]) -> NDArray[Any]:
        return np.frombuffer(blobs.unseal(INDEX, self._label(tier), rows, lambda _: self._box), dtype=BUCKET)

    def _label(self, tier: int) -> bytes:
        return _LABEL + bytes.fromhex(self._shelf.epochs[tier])

    def _young_tags(self) -> dict[int, bytes]:
        """The authentication tag of every young bucket: kept as long as the sealed state carries their sum, else read again."""
        mark, tags = self._tx.store.kept_young.get(self._base, (None, {}))
        if mark == self._shelf.sums[YOUNG]:
            return tags
        rows = [row for keys in self._keys(YOUNG, np.arange(self._shelf.buckets[YOUNG])) for row in self._fetch(keys)]
        if blobs.tag_sum(self._tx, rows) != self._shelf.sums[YOUNG]:
            raise blobs.damaged(INDEX)
        return self._keep_young({}, rows)

    def _keep_young(self, before: dict[int, bytes], rows: list[blobs.Row]) -> dict[int, bytes]:
        tags = {**before, **{key: sealed[-crypto.TAG_BYTES :] for key, sealed in rows}}
        self._tx.store.kept_young[self._base] = (self._shelf.sums[YOUNG], tags)
        return tags

    def _fetch(self, keys: list[int]) -> list[blobs.Row]:
        return blobs.fetch(self._tx, INDEX, keys)

    # -- writing -----------------------------------------------------------------------------------------------------

    def _write_some(self, fresh: Entries) -> bool:
        """Put entries into the young buckets they belong to; False when one would overflow."""
        shelf = self._shelf
        numbers, counts = np.unique(bucket_of(fresh[0], shelf.buckets[YOUNG]), return_counts=True)
        rows = [row for keys in self._keys(YOUNG, numbers) for row in self._fetch(keys)]
        buckets = self._open(YOUNG, rows)
        if (buckets["count"] + counts).max() > ROOM:
            return False
        before = self._young_tags()
        shelf.sums[YOUNG] = crypto.subtract(shelf.sums[YOUNG], blobs.tag_sum(self._tx, rows))
        written = self._seal_and_put(YOUNG, numbers, buckets["count"] + counts, merged(entries_of(buckets), fresh))
        self._keep_young(before, written)
        shelf.counts[YOUNG] += len(fresh[0])
        return True

    def _write_all(self, tier: int, total: int, entries: Entries) -> None:
        """Rewrite a tier, with at least ``total`` buckets, holding these entries."""
        shelf = self._shelf
        total = max(total, shelf.buckets[tier])
        while (counts := np.bincount(bucket_of(entries[0], total), minlength=total)).size and counts.max() > ROOM:
            total += total // 4 + 1  # hardly ever: tags are uniform
        shelf.sums[tier] = (0, 0)
        shelf.epochs[tier] = os.urandom(8).hex()
        written = self._seal_and_put(tier, np.arange(total), counts, entries)
        if tier == YOUNG:
            self._keep_young({}, written)
        shelf.buckets[tier] = total
        shelf.counts[tier] = len(entries[0])

    def _seal_and_put(self, tier: int, numbers: Numbers, counts: Numbers, entries: Entries) -> list[blobs.Row]:
        """Write buckets; those of the young tier as they are stored."""
        ends = np.cumsum(counts)
        start = 0
        written: list[blobs.Row] = []
        for keys in self._keys(tier, numbers):
            part = slice(start, start + len(keys))
            inside = slice(int(ends[start] - counts[start]), int(ends[part][-1]))
            buckets = np.zeros(len(keys), dtype=BUCKET)
            buckets["count"] = counts[part]
            filled = np.arange(ROOM) < counts[part][:, None]
            buckets["entries"]["tag"][filled] = entries[0][inside]
            buckets["entries"]["slot"][filled] = entries[1][inside]
            rows = blobs.seal(self._box, self._label(tier), keys, buckets.tobytes())
            blobs.put(self._tx, INDEX, rows)
            self._shelf.sums[tier] = crypto.add(self._shelf.sums[tier], blobs.tag_sum(self._tx, rows))
            written += rows if tier == YOUNG else []
            start += len(keys)
        return written


def first_key(number: int, version: int) -> int:
    """The id of the first bucket of a key version: domain, version, tier and bucket lie next to each other in it."""
    return (number << 40) + (version << 32)


def last_key(number: int, version: int) -> int:
    """The largest id a bucket of a key version can have."""
    return first_key(number, version + 1) - 1


def drop(tx: Tx, number: int, version: int) -> None:
    if tx.rows(number).index.pop(str(version), None) is not None:
        tx.run("DELETE FROM vault_index WHERE id BETWEEN ? AND ?", first_key(number, version), last_key(number, version))


ENTRY = np.dtype([("tag", "<u8"), ("slot", "<u4")])
ROOM = 323  # entries in a bucket: sealed, it fits a page of 4 KiB
FILL = 208  # planned entries: eight standard deviations below the room
BUCKET = np.dtype([("count", "<u2"), ("entries", ENTRY, (ROOM,))])

NOTHING: Entries = (np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.uint32))


def bucket_of(tags: Tags, total: int) -> Numbers:
    """The bucket of each tag: equal shares of the range of tags, in order."""
    return (((tags >> np.uint64(32)) * np.uint64(total)) >> np.uint64(32)).astype(np.int64)


def entries_of(buckets: NDArray[Any]) -> Entries:
    entries = buckets["entries"][np.arange(ROOM) < buckets["count"][:, None]]
    return entries["tag"].astype(np.uint64), entries["slot"].astype(np.uint32)


def concatenated(parts: list[Entries]) -> Entries:
    if not parts:
        return NOTHING
    tags, slots = zip(*parts, strict=True)
    return np.concatenate(tags), np.concatenate(slots)


def merged(large: Entries, small: Entries) -> Entries:
    """Two ordered lists of entries as one."""
    if len(large[0]) == 0:
        return small
    if len(small[0]) == 0:
        return large
    places = np.searchsorted(large[0], small[0])
    return np.insert(large[0], places, small[0]), np.insert(large[1], places, small[1])
