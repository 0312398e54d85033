"""The full check of a vault: every page, bucket and object in its place, none missing, none put back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import TamperError
from shoal.protector.crypto import primitives as crypto
from shoal.protector.log import audit, checkpoints
from shoal.protector.log.audit import Verdict
from shoal.protector.pseudonyms.domains import Domain
from shoal.protector.store import blobs, entries, index, pages
from shoal.protector.store.blobs import INDEX
from shoal.protector.store.connection import blob
from shoal.protector.store.database import Tx, object_sum
from shoal.protector.store.index import ENTRY
from shoal.protector.store.pages import PER_PAGE, SLOT_BITS, DomainKeys
from shoal.protector.store.state import DOMAIN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.protector.actions.frame import OpenVault
    from shoal.protector.session import Session

_CHUNK = 2048


@dataclass(frozen=True)
class Findings:
    """The result of checking a whole vault: rows and objects beside the log."""

    ok: bool
    rows: int
    objects: int
    log: Verdict
    problems: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "log": self.log.to_json(), "problems": list(self.problems)}


def verify(session: Session, *, anchors: Sequence[Mapping[str, Any]] = (), acknowledged: int = 0) -> Findings:
    """Check everything: each row and object opens in its place, none is missing or put back, and the log holds."""
    vault = session.vault
    problems: list[str] = []
    with session.frame.reading("verify") as (tx, _):
        objects = check_objects(tx, problems)
        rows = _check_rows(vault, tx, problems)
        log = audit.verify(tx, anchors=anchors, acknowledged=acknowledged)
    if vault.store.anchor is not None:
        try:
            vault.store.check_anchor()
        except TamperError as error:
            problems.append(error.message)
    return Findings(log.ok and not problems, rows, objects, log, tuple(problems))


def verify_log(session: Session, *, anchors: Sequence[Mapping[str, Any]] = (), acknowledged: int = 0) -> Verdict:
    """The auditor's check of the log (see :func:`shoal.protector.log.audit.verify`); the check itself is logged."""
    with session.frame.reading("audit") as (tx, _):
        verdict = audit.verify(tx, anchors=anchors, acknowledged=acknowledged)
    if verdict.ok:
        with session.frame.acting("audit") as (tx, now):
            session.frame.log(tx, now, "audit", detail="log verified")
    return verdict


def checkpoint(session: Session, *, since: int = 0, event: int = 0) -> dict[str, Any]:
    """Sign the log as it stands, to be kept outside (:func:`shoal.protector.log.checkpoints.prove`)."""
    with session.frame.acting("checkpoint") as (tx, now):
        session.frame.log(tx, now, "checkpoint")
        return checkpoints.prove(tx, now, since=since, event=event)


def check_objects(tx: Tx, problems: list[str]) -> int:
    rows = tx.all_of("SELECT tag, kind, sealed FROM vault_objects")
    objects = [(blob(tag), kind, blob(sealed)) for tag, kind, sealed in rows]
    for tag, kind, sealed in objects:
        try:
            tx.store.box.open(sealed, b"object" + bytes([tx.store.unmasked(tag, kind)]) + tag + tx.store.bound)
        except (TamperError, ValueError, TypeError):
            problems.append("a stored object (domain, key, actor, token or request) was altered or moved.")
    if len(objects) != tx.state.objects or object_sum(tx.store, (sealed for _, _, sealed in objects)) != tx.state.objects_sum:
        problems.append(f"stored objects are missing, added or older: {len(objects)} found, {tx.state.objects} written.")
    return len(objects)


def _check_rows(vault: OpenVault, tx: Tx, problems: list[str]) -> int:
    """Check pages and index of every domain; the number of slots that are there."""
    domains = {d.number: d for d in map(Domain.from_json, tx.all(DOMAIN))}
    seen = 0
    for number in sorted(set(domains) | {int(n) for n in tx.state.domains}):
        domain = domains.get(number)
        keys = vault.keyring.opened(tx, domain).keys if domain is not None and not domain.shredded else None
        seen += _check_domain(tx, number, keys, problems)
    stored = tx.first("SELECT count(*) FROM vault_entries")[0]
    if stored != seen:
        problems.append(f"{stored - seen} pages of identities do not belong to any domain.")
    buckets = sum(sum(shelf.buckets) for rows in tx.state.domains.values() for shelf in rows.index.values())
    stored = tx.first("SELECT count(*) FROM vault_index")[0]
    if stored != buckets:
        problems.append(f"{buckets} buckets of the index were written, {stored} are there.")
    return seen * PER_PAGE


def _check_domain(tx: Tx, number: int, keys: DomainKeys | None, problems: list[str]) -> int:
    """Check the pages of a domain, and its index against them; the number of pages found."""
    known = tx.rows(number)
    total: crypto.Sum = (0, 0)
    checked = bad = 0
    heads: list[NDArray[Any]] = []
    slots: list[NDArray[np.int64]] = []
    shape = _Shape(known.used)
    for first in range(0, known.slots // PER_PAGE, _CHUNK):
        rows = pages.stored(tx, number, first, min(first + _CHUNK, known.slots // PER_PAGE) - 1)
        total = crypto.add(total, blobs.tag_sum(tx, rows))
        checked += len(rows)
        for row in rows if keys is not None else ():
            assert keys is not None
            try:
                records = pages.opened(keys, [row])[0]
            except TamperError:
                bad += 1
                continue
            start = (row[0] - (number << SLOT_BITS)) * PER_PAGE + 1
            mine = np.flatnonzero(pages.is_head(records))
            heads.append(records[mine])
            slots.append(start + mine)
            shape.see(records, start)
    if bad:
        problems.append(f"{bad} pages of identities were altered or moved.")
    wrong = keys is not None and not bad and not shape.holds
    if checked != known.slots // PER_PAGE or total != known.sum or wrong:
        problems.append("identities are missing, added or older than the vault's state.")
    beyond = pages.stored(tx, number, known.slots // PER_PAGE, (1 << SLOT_BITS) - 1)
    if beyond:
        problems.append(f"{len(beyond)} pages of identities were added from outside.")
    _check_index(tx, number, keys, _join(heads, slots), problems)
    return checked + len(beyond)


class _Shape:
    """Whether exactly the slots in use hold something, and long texts go on in as many slots as they need."""

    def __init__(self, used: int) -> None:
        self._used = used
        self._filled = self._continued = self._needed = 0
        self._behind = False

    def see(self, records: NDArray[Any], start: int) -> None:
        """Look at a page whose first slot is ``start``."""
        filled = np.flatnonzero(records["version"])
        self._filled += len(filled)
        self._behind |= bool(len(filled)) and int(start + filled[-1]) > self._used
        self._continued += int((records["version"] == pages.CONTINUED).sum())
        self._needed += int(pages.continued(records[pages.is_head(records)]).sum())

    @property
    def holds(self) -> bool:
        return self._filled == self._used and not self._behind and self._continued == self._needed


Seen = tuple["NDArray[Any]", "NDArray[np.int64]"]


def _join(heads: list[NDArray[Any]], slots: list[NDArray[np.int64]]) -> Seen:
    if not heads:
        return np.empty(0, dtype=pages.RECORD), np.empty(0, dtype=np.int64)
    return np.concatenate(heads), np.concatenate(slots)


def _check_index(tx: Tx, number: int, keys: DomainKeys | None, seen: Seen, problems: list[str]) -> None:
    """Each index is the one the vault wrote, and leads to every identity under its key (the newest: to no other)."""
    for text, shelf in tx.rows(number).index.items():
        version = int(text)
        stored, total = blobs.stored_sum(tx, INDEX, index.first_key(number, version), index.last_key(number, version))
        if stored != sum(shelf.buckets) or total != crypto.add(*shelf.sums):
            problems.append("buckets of the index are missing, added, altered or older than the vault's state.")
        elif keys is not None and not _index_agrees(tx, keys, version, seen):
            problems.append("the index does not lead to the identities that are there.")


def _index_agrees(tx: Tx, keys: DomainKeys, version: int, seen: Seen) -> bool:
    try:
        indexed = np.sort(entries.index_of(tx, keys, version).entries())
    except TamperError:
        return False
    heads, slots = seen
    mine = heads["version"] == version
    rows = np.empty(int(mine.sum()), dtype=ENTRY)
    rows["tag"] = heads["lookup"][mine, 0]
    rows["slot"] = slots[mine]
    if version == keys.active:
        return bool(np.array_equal(indexed, np.sort(rows)))
    return bool(np.isin(rows, indexed).all())
