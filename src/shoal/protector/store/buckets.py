"""Buckets of the index in memory: their layout, and lists of entries in order of their tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Tags = NDArray[np.uint64]
    Numbers = NDArray[np.int64]
    Entries = tuple[Tags, NDArray[np.uint32]]  # tags in order, and the slot of each

ENTRY = np.dtype([("tag", "<u8"), ("slot", "<u4")])
ROOM = 323  # entries in a bucket: sealed, it fits a page of 4 KiB
FILL = 208  # planned entries: eight standard deviations below the room
BUCKET = np.dtype([("count", "<u2"), ("entries", ENTRY, (ROOM,))])

NOTHING: Entries = (np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.uint32))


def bucket_of(tags: Tags, total: int) -> Numbers:
    """The bucket of each tag: equal shares of the range of tags, in order."""
    return (((tags >> np.uint64(32)) * np.uint64(total)) >> np.uint64(32)).astype(np.int64)


def joined(parts: list[NDArray[Any]]) -> Entries:
    """The entries of buckets, one after the other."""
    return concatenated([taken(buckets) for buckets in parts])


def taken(buckets: NDArray[Any]) -> Entries:
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
