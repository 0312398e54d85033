"""Random reference pseudonyms: drawn at random, known only to the table.

A pseudonym is AES(token key, slot || random number) of the identity's row: 128 bits that say nothing without the vault,
lead back to the row without a second index, and cannot be guessed (64 random bits are compared).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from hmac import compare_digest
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import TamperError
from shoal.protector import crypto, entries
from shoal.protector.entries import DomainKeys, Entry
from shoal.protector.store import Tx

if TYPE_CHECKING:
    from numpy.typing import NDArray

Frames = bytes | Sequence[bytes]


def find(tx: Tx, keys: DomainKeys, frame: bytes, identity: bytes) -> tuple[Entry, bool]:
    """The row of an identity and True, or some other row and False, by the same work for both."""
    found = None
    for version in sorted(keys.versions, reverse=True):
        lookup = keys.versions[version].index.digest(frame + identity)[: entries.LOOKUP_BYTES]
        entry, there = entries.find_one(tx, keys, version, lookup)
        if found is None or there:
            found = (entry, there)
    assert found is not None
    return found


def mint(tx: Tx, keys: DomainKeys, frames: Frames, identities: Sequence[bytes], matched: Sequence[bytes]) -> list[bytes]:
    """The block (row id || random number) of each identity, all different; rows are made where there are none yet.

    ``matched`` are the identities as they are compared (the same bytes, unless the domain composes Unicode first).
    """
    lookups = _lookups(keys, keys.active, frames, matched)
    known = entries.blocks_of(keys, entries.find_many(tx, keys, keys.active, lookups)) if tx.rows(keys.number).used else {}
    for version in keys.versions:
        if version != keys.active:
            _add_older(tx, keys, version, frames, matched, lookups, known)
    fresh = [i for i, lookup in enumerate(lookups) if lookup not in known] if len(known) < len(lookups) else []
    if fresh:
        fresh.sort(key=lookups.__getitem__)
        new_lookups = [lookups[i] for i in fresh]
        noise = os.urandom(8 * len(fresh))
        nonces = [noise[j : j + 8] for j in range(0, len(noise), 8)]
        contexts = [frames] * len(fresh) if isinstance(frames, bytes) else [frames[i] for i in fresh]
        plains = entries.payloads(nonces, contexts, [identities[i] for i in fresh])
        ids = entries.append(tx, keys, new_lookups, plains)
        known.update(zip(new_lookups, [i.to_bytes(8, "big") + n for i, n in zip(ids, nonces, strict=True)], strict=True))
    return [known[lookup] for lookup in lookups]


def tokens(keys: DomainKeys, blocks: Sequence[bytes]) -> NDArray[np.uint8]:
    """The 16-byte pseudonyms of rows."""
    return np.frombuffer(keys.tokens.encrypt(b"".join(blocks)), dtype=np.uint8).reshape(-1, 16)


def resolve(tx: Tx, keys: DomainKeys, raw: Sequence[bytes | None]) -> list[Entry | None]:
    """The rows behind 16-byte pseudonyms; None for one that was never given out. Hits and misses take the same work."""
    if not raw:
        return []
    blocks = keys.tokens.decrypt(b"".join([r if r is not None and len(r) == 16 else b"\0" * 16 for r in raw]))
    wanted = [(int.from_bytes(blocks[i : i + 8], "big"), blocks[i + 8 : i + 16]) for i in range(0, len(blocks), 16)]
    slots = tx.rows(keys.number).slots
    base = keys.number << entries.SLOT_BITS
    ids = [base + (row_id - base - 1) % slots + 1 for row_id, _ in wanted]
    rows = {row[0]: row for row in entries.rows_by_id(tx, sorted(set(ids)))}
    out: list[Entry | None] = []
    for given, row_id, (asked, nonce) in zip(raw, ids, wanted, strict=True):
        if row_id not in rows:
            raise TamperError("a row of the vault is missing.", hint="Run `shoal vault verify`.")
        entry = entries.open_row(keys, rows[row_id])
        same = compare_digest(entry.nonce, nonce) & (row_id == asked) & entry.real & (given is not None)
        out.append(entry if same else None)
    return out


def rows_of(tx: Tx, keys: DomainKeys, blocks: Sequence[bytes]) -> list[Entry]:
    """The opened rows of blocks."""
    ids = [int.from_bytes(block[:8], "big") for block in blocks]
    rows = {row[0]: entries.open_row(keys, row) for row in entries.rows_by_id(tx, sorted(set(ids)))}
    return [rows[row_id] for row_id in ids]


def use(tx: Tx, keys: DomainKeys, rows: Sequence[Entry], counts: Sequence[int]) -> None:
    """Raise the number of uses of rows (all different)."""
    order = sorted(range(len(rows)), key=lambda i: rows[i].id)
    chosen = [rows[i] for i in order]
    plains = [
        entries.payload(row.nonce, row.context, row.identity, uses=row.uses + counts[i])
        for i, row in zip(order, chosen, strict=True)
    ]
    lookups = [row.lookup for row in chosen]
    entries.rewrite(tx, keys, chosen, plains, lookups)


def _add_older(
    tx: Tx,
    keys: DomainKeys,
    version: int,
    frames: Frames,
    matched: Sequence[bytes],
    lookups: Sequence[bytes],
    known: dict[bytes, bytes],
) -> None:
    """Blocks of rows still under an older key version, filed under the newest lookup."""
    missing = [i for i, lookup in enumerate(lookups) if lookup not in known]
    older = _lookups(keys, version, [_frame(frames, i) for i in missing], [matched[i] for i in missing])
    blocks = entries.blocks_of(keys, entries.find_many(tx, keys, version, older))
    for i, lookup in zip(missing, older, strict=True):
        if lookup in blocks:
            known[lookups[i]] = blocks[lookup]


def _lookups(keys: DomainKeys, version: int, frames: Frames, matched: Sequence[bytes]) -> list[bytes]:
    index = keys.versions[version].index
    if isinstance(frames, bytes):
        return index.many(frames, matched, entries.LOOKUP_BYTES)
    return [index.digest(f + m)[: entries.LOOKUP_BYTES] for f, m in zip(frames, matched, strict=True)]


def _frame(frames: Frames, i: int) -> bytes:
    return frames if isinstance(frames, bytes) else frames[i]


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


def entry_lookup(keys: DomainKeys, entry: Entry, matched: bytes) -> bytes:
    """The lookup tag of a row under the newest keys (for sealing anew); a decoy keeps a random one."""
    if not entry.real:
        return os.urandom(entries.LOOKUP_BYTES)
    return keys.newest.index.digest(entry.context + matched)[: entries.LOOKUP_BYTES]


def token_text(prefix: str, token: bytes) -> str:
    return prefix + crypto.encode(token)
