"""The full check of a vault: every row, bucket and object in its place, none missing, none put back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import TamperError
from shoal.protector import audit, crypto, entries, index
from shoal.protector.audit import Verdict
from shoal.protector.domains import Domain
from shoal.protector.entries import SLOT_BITS, DomainKeys
from shoal.protector.store import DOMAIN, Tx, blob, object_sum

if TYPE_CHECKING:
    from shoal.protector.session import Session
    from shoal.protector.vault import Vault

_CHUNK = 20_000


@dataclass(frozen=True)
class Findings:
    """The result of checking a whole vault: rows and objects beside the log."""

    ok: bool
    rows: int
    objects: int
    log: Verdict
    problems: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "rows": self.rows,
            "objects": self.objects,
            "log": self.log.to_json(),
            "problems": list(self.problems),
        }


def verify(session: Session, *, anchors: Sequence[Mapping[str, Any]] = ()) -> Findings:
    """Check everything: each row and object opens in its place, none is missing or put back, and the log holds."""
    vault = session.vault
    problems: list[str] = []
    with session._reading("verify") as (tx, _):
        objects = check_objects(tx, problems)
        rows = _check_rows(vault, tx, problems)
        log = audit.verify(tx, anchors=anchors)
    if vault.store.anchor is not None:
        try:
            vault.store.check_anchor()
        except TamperError as error:
            problems.append(error.message)
    return Findings(log.ok and not problems, rows, objects, log, tuple(problems))


def check_objects(tx: Tx, problems: list[str]) -> int:
    rows = tx.all_of("SELECT tag, kind, sealed FROM vault_objects")
    found = [(blob(tag), kind, blob(sealed)) for tag, kind, sealed in rows]
    for tag, kind, sealed in found:
        try:
            tx.store.box.open(sealed, b"object" + bytes([kind]) + tag + tx.store.bound)
        except (TamperError, ValueError, TypeError):
            problems.append("a stored object (domain, key, actor, token or request) was altered or moved.")
    if len(found) != tx.state.objects or object_sum(tx.store, (sealed for _, _, sealed in found)) != tx.state.objects_sum:
        problems.append(f"stored objects are missing, added or older: {len(found)} found, {tx.state.objects} written.")
    return len(found)


def _check_rows(vault: Vault, tx: Tx, problems: list[str]) -> int:
    domains = {d.number: d for d in map(Domain.from_json, tx.all(DOMAIN))}
    seen = 0
    for number in sorted(set(domains) | {int(n) for n in tx.state.domains}):
        domain = domains.get(number)
        keys = vault.opened(tx, domain).keys if domain is not None and not domain.shredded else None
        seen += _check_domain_rows(tx, number, keys, problems)
    stored = tx.first("SELECT count(*) FROM vault_entries")[0]
    if stored != seen:
        problems.append(f"{stored - seen} identity rows do not belong to any domain.")
    buckets = sum(sum(shelf.buckets) for rows in tx.state.domains.values() for shelf in rows.index.values())
    stored = tx.first("SELECT count(*) FROM vault_index")[0]
    if stored != buckets:
        problems.append(f"{buckets} buckets of the index were written, {stored} are there.")
    return seen


def _check_domain_rows(tx: Tx, number: int, keys: DomainKeys | None, problems: list[str]) -> int:
    known = tx.rows(number)
    total: crypto.Sum = (0, 0)
    found = bad = 0
    seen: dict[int, list[tuple[bytes, int]]] = {version: [] for version in keys.versions} if keys is not None else {}
    for first in range(1, known.slots + 1, _CHUNK):
        rows = entries.slot_range(tx, number, first, min(first + _CHUNK - 1, known.slots))
        total = crypto.add(total, entries.tag_sum(tx, [r[2] for r in rows]))
        found += len(rows)
        for row in rows if keys is not None else ():
            assert keys is not None
            try:
                if entries.open_row(keys, row).real:
                    seen[row[2][0]].append((row[1], row[0] - (number << SLOT_BITS)))
            except (TamperError, ValueError):
                bad += 1
    if bad:
        problems.append(f"{bad} identity rows were altered or moved.")
    wrong_count = keys is not None and not bad and sum(map(len, seen.values())) != known.used
    if found != known.slots or total != known.sum or wrong_count:
        problems.append("identity rows are missing, added or older than the vault's state.")
    beyond = entries.slot_range(tx, number, known.slots + 1, (1 << SLOT_BITS) - 1)
    if beyond:
        problems.append(f"{len(beyond)} identity rows were added from outside.")
    _check_index(tx, number, keys, seen, problems)
    return found + len(beyond)


def _check_index(
    tx: Tx, number: int, keys: DomainKeys | None, seen: Mapping[int, Sequence[tuple[bytes, int]]], problems: list[str]
) -> None:
    """Each index is the one the vault wrote, and leads to every identity row under its key (the newest: to no other)."""
    for text, shelf in tx.rows(number).index.items():
        version = int(text)
        found, total = index.stored_sum(tx, number, version)
        if found != sum(shelf.buckets) or total != crypto.add(*shelf.sums):
            problems.append("buckets of the index are missing, added, altered or older than the vault's state.")
        elif keys is not None and not _index_agrees(tx, keys, version, seen[version]):
            problems.append("the index does not lead to the identity rows that are there.")


def _index_agrees(tx: Tx, keys: DomainKeys, version: int, seen: Sequence[tuple[bytes, int]]) -> bool:
    try:
        indexed = np.sort(entries.index_of(tx, keys, version).entries())
    except TamperError:
        return False
    rows = np.empty(len(seen), dtype=index.ENTRY)
    rows["tag"] = index.tags_of([lookup for lookup, _ in seen])
    rows["slot"] = [slot for _, slot in seen]
    if version == keys.active:
        return bool(np.array_equal(indexed, np.sort(rows)))
    return bool(np.isin(rows, indexed).all())
