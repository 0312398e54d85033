"""Random reference pseudonyms: drawn at random, known only to the table.

A pseudonym is AES(token key, slot || random number) of the identity's record: 128 bits that say nothing without the vault,
lead back to the record without a second index, and cannot be guessed (64 random bits are compared).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shoal.protector.store import entries, pages
from shoal.protector.store.database import Tx, step
from shoal.protector.store.pages import DomainKeys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.protector.store.entries import Pairs

Frames = bytes | Sequence[bytes]


def find(tx: Tx, keys: DomainKeys, frame: bytes, identities: Sequence[bytes]) -> list[tuple[bytes, bool]]:
    """For each identity its block and True, or some other block and False, by the same work for both."""
    results = [(b"", False)] * len(identities)
    for version in sorted(keys.versions, reverse=True):
        lookups = keys.versions[version].index.many(frame, identities, entries.LOOKUP_BYTES)
        for place, (block, there) in enumerate(entries.find_each(tx, keys, version, lookups)):
            if there or not results[place][0]:
                results[place] = (block, there)
    return results


def prepare(tx: Tx, keys: DomainKeys) -> None:
    """Fill the first slots of a new domain, empty as they are."""
    entries.append(tx, keys, entries.pairs(b""), np.empty(0, dtype=">u8"), b"", ())


def mint(tx: Tx, keys: DomainKeys, frames: Frames, identities: Sequence[bytes], matched: Sequence[bytes]) -> Pairs:
    """The block of each identity, all different; records are made where there are none yet.

    ``matched`` are the identities as they are compared (the same bytes, unless the domain composes Unicode first).
    """
    blocks = np.zeros((len(matched), 2), dtype=">u8")
    left = np.arange(len(matched))
    newest = _lookups(keys, keys.active, frames, matched)
    for version in sorted(keys.versions, reverse=True) if tx.rows(keys.number).used else ():
        lookups = newest[left] if version == keys.active else _lookups(keys, version, *_chosen(left, frames, matched))
        which, entries_found = entries.find_many(tx, keys, version, lookups)
        blocks[left[which]] = entries_found
        left = np.delete(left, which)
    if len(left):
        fresh = left[np.argsort(newest[left, 0])]
        noise = np.frombuffer(os.urandom(8 * len(fresh)), dtype=">u8")
        blocks[fresh] = entries.append(tx, keys, newest[fresh], noise, *_chosen(fresh, frames, identities))
    return blocks


def tokens(keys: DomainKeys, blocks: Pairs) -> NDArray[np.uint8]:
    return np.frombuffer(keys.tokens.encrypt(blocks.tobytes()), dtype=np.uint8).reshape(-1, 16)


def resolve(tx: Tx, keys: DomainKeys, raw: Sequence[bytes | None]) -> list[bytes | None]:
    """The identities behind 16-byte pseudonyms; None for one never given out. Hits and misses take the same work."""
    if not raw:
        return []
    given = [r is not None and len(r) == 16 for r in raw]
    blocks = entries.pairs(keys.tokens.decrypt(b"".join([r if r and g else b"\0" * 16 for r, g in zip(raw, given, strict=True)])))
    slots = entries.slots_of(tx, keys, blocks)
    records = pages.at(tx, keys, slots)
    records[~pages.is_head(records)] = np.zeros((), dtype=pages.RECORD)
    same = (records["nonce"] == blocks[:, 1]) & (blocks[:, 0] == (keys.number << pages.SLOT_BITS) + slots)
    same &= pages.is_head(records) & np.array(given)
    identities = [identity for _, identity in pages.texts(tx, keys, records)]
    return [identity if hit else None for identity, hit in zip(identities, same.tolist(), strict=True)]


def uses(tx: Tx, keys: DomainKeys, blocks: Pairs) -> NDArray[np.int64]:
    """How often each pseudonym was used so far."""
    return pages.at(tx, keys, entries.slots_of(tx, keys, blocks))["uses"].astype(np.int64)


def set_uses(tx: Tx, keys: DomainKeys, blocks: Pairs, used: Sequence[int]) -> None:
    """Write how often each pseudonym was used so far (all different)."""
    pages.change(tx, keys, entries.slots_of(tx, keys, blocks), "uses", np.array(used))
    step("entries")


def _lookups(keys: DomainKeys, version: int, frames: Frames, matched: Sequence[bytes]) -> Pairs:
    index, size = keys.versions[version].index, entries.LOOKUP_BYTES
    if isinstance(frames, bytes):
        return entries.pairs(b"".join(index.many(frames, matched, size)))
    return entries.pairs(b"".join([index.digest(f + m)[:size] for f, m in zip(frames, matched, strict=True)]))


def _chosen(places: NDArray[np.int64], frames: Frames, texts: Sequence[bytes]) -> tuple[Frames, list[bytes]]:
    """The frames (one for all, or one for each) and texts at some places."""
    chosen = places.tolist()
    return frames if isinstance(frames, bytes) else [frames[i] for i in chosen], [texts[i] for i in chosen]


def renewed_frame(frame: bytes, generation: int) -> bytes:
    """The frame of the pseudonym after ``generation`` renewals by use (0: the frame itself).

    >>> renewed_frame(b"\\0\\0\\0\\0\\0\\2d7", 3)
    b'\\x00\\x00\\x00\\x00\\x00\\x04d7#3'
    """
    return frame if generation == 0 else _longer_epoch(frame, b"#" + str(generation).encode())


def transaction_frames(frame: bytes, count: int) -> list[bytes]:
    """A frame of its own for every transaction."""
    noise = os.urandom(8 * count).hex()
    return [_longer_epoch(frame, b"t" + noise[16 * i : 16 * i + 16].encode()) for i in range(count)]


def _longer_epoch(frame: bytes, suffix: bytes) -> bytes:
    """The frame with its last part, the epoch, made longer (its length is written before it: nothing can collide)."""
    role = int.from_bytes(frame[:2], "big")
    relation = int.from_bytes(frame[2 + role : 4 + role], "big")
    at = 4 + role + relation
    epoch = frame[at + 2 :] + suffix
    return frame[:at] + len(epoch).to_bytes(2, "big") + epoch
