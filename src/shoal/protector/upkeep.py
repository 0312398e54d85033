"""Care of a vault: rotation, crypto-shredding, full verification, and what owner and auditor do with the log."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import AccessError, TamperError, UsageError
from shoal.protector import audit, crypto, entries, references, resolution
from shoal.protector.anchor import default_path, replace_path
from shoal.protector.audit import Verdict
from shoal.protector.domains import Domain
from shoal.protector.entries import SLOT_BITS, DomainKeys, size_class
from shoal.protector.keys import KeyProvider, require_provider
from shoal.protector.store import DOMAIN, KEY, SIGNER, Tx

if TYPE_CHECKING:
    from shoal.protector.session import Session
    from shoal.protector.vault import Vault

SHRED_FORMAT = "shoal-shred/1"
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


def rotate_domain(session: Session, name: str) -> Domain:
    """A new key version for a domain, while it stays in use.

    ``random``: every row is sealed anew, part by part, pseudonyms stay, and the old key is destroyed at the end. Other kinds:
    new pseudonyms come from the new key; the old key is retired and still leads back (see :func:`destroy_key`).
    """
    with session._acting("rotate", name) as (tx, now):
        domain = session.vault.domain(tx, name)
        old = domain.active
        if domain.reseal:
            made = domain  # an earlier rotation was broken off: go on with it
        else:
            if old >= 250:
                raise UsageError("a domain can have at most 250 key versions.", hint="Make a new domain and translate.")
            made = session.vault.new_key_version(tx, domain.with_version(old, "retired"), old + 1)
            made = replace(made, reseal=1 if made.kind == "random" else 0)
            tx.put(DOMAIN, name, made.to_json())
            session._log(tx, now, "rotate", domain=name, key=made.key_id, detail="new key version")
    while made.reseal:
        made = _reseal_part(session, name)
    return made


def _reseal_part(session: Session, name: str) -> Domain:
    """Seal the next part of the rows under the newest key; at the end destroy the older ones."""
    with session._acting("rotate", name) as (tx, now):
        domain = session.vault.domain(tx, name)
        opened = session.vault.opened(tx, domain)
        slots = tx.rows(domain.number).slots
        first = domain.reseal
        last = min(first + _CHUNK - 1, slots)
        found = [entries.open_row(opened.keys, row) for row in entries.slot_range(tx, domain.number, first, last)]
        if len(found) != last - first + 1:
            raise TamperError("a row of the vault is missing.", hint="Run `shoal vault verify`.")
        lookups = [references.entry_lookup(opened.keys, e, opened.matched(e.identity)) for e in found]
        plains = [entries.payload(e.nonce, e.context, e.identity, uses=e.uses, real=e.real) for e in found]
        entries.rewrite(tx, opened.keys, found, plains, lookups)
        made = replace(domain, reseal=last + 1 if last < slots else 0)
        if not made.reseal:
            for version, state, _ in domain.versions:
                if version != domain.active and state != "destroyed":
                    tx.remove(KEY, f"{domain.id} {version}")
                    made = made.with_version(version, "destroyed")
            session._log(tx, now, "rotate", domain=name, key=made.key_id, detail="all rows sealed anew, old key destroyed")
        tx.put(DOMAIN, name, made.to_json())
    return made


def destroy_key(session: Session, name: str, version: int) -> Domain:
    """Destroy a retired key version: its pseudonyms no longer lead back."""
    with session._acting("rotate", name) as (tx, now):
        domain = session.vault.domain(tx, name)
        state = {v: s for v, s, _ in domain.versions}.get(version)
        if state != "retired" or domain.reseal:
            raise UsageError(f"key version {version} is not a retired one.", hint="Rotate first; the key in use stays.")
        tx.remove(KEY, f"{domain.id} {version}")
        made = domain.with_version(version, "destroyed")
        tx.put(DOMAIN, name, made.to_json())
        session._log(tx, now, "rotate", domain=name, detail=f"key version {version} destroyed")
    return made


def rotate_master(session: Session, new_key: KeyProvider) -> str:
    """Wrap the vault's root key with another master key; open vaults go on working. The new key's id."""
    from shoal.protector.vault import _check_separation, _context

    provider = require_provider(new_key)
    _check_separation(session.vault.place, provider)
    vault = session.vault
    with session._acting("rotate") as (tx, now):
        from shoal.protector.schema import meta

        wrapped = provider.wrap(vault.root.expose(), _context(vault.id))
        for name, value in (("root", wrapped), ("master_key", provider.key_id.encode())):
            tx.connection.execute(meta.update().where(meta.c.name == name).values(value=value))
        session._log(tx, now, "rotate", detail=f"master key {vault.key_id} to {provider.key_id}")
    _move_anchor(vault, provider)
    vault.key_id, vault.key_location = provider.key_id, provider.location
    return provider.key_id


def _move_anchor(vault: Vault, provider: KeyProvider) -> None:
    """Where the anchor stands beside the key, let one stand beside the new key too."""
    old = vault.store.anchor
    target = default_path(vault.id, provider.location)
    if old is not None and old.path == default_path(vault.id, vault.key_location) and target != old.path:
        mark = old.read()
        vault.store.anchor = replace_path(old, target)
        vault.store.anchor.create(mark)


def rotate_signer(session: Session) -> str:
    """A new key for signing the log; checkpoints of the old one stay valid. Its id."""
    with session._acting("rotate") as (tx, now):
        session._log(tx, now, "rotate", detail="last event signed by the old signing key")
        key_id = audit.new_signer(tx)
        session._log(tx, now, "rotate", detail=f"signing key {key_id}")
    return key_id


def shred(session: Session, name: str, *, confirm: str) -> dict[str, Any]:
    """Destroy every key of a domain: nothing leads back from its pseudonyms, for anybody, ever. A signed certificate."""
    if confirm != name:
        raise UsageError("shredding cannot be undone: confirm it by repeating the name of the domain.")
    vault = session.vault
    with session._acting("shred", name) as (tx, now):
        domain = vault.domain(tx, name)
        names = [f"{domain.id} base", *(f"{domain.id} {v}" for v, _, _ in domain.versions)]
        sealed = [s for s in (tx.remove(KEY, n) for n in names) if s is not None]
        stamp = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
        dead = replace(domain, shredded=stamp, reseal=0)
        for version, _, _ in domain.versions:
            dead = dead.with_version(version, "destroyed")
        tx.put(DOMAIN, name, dead.to_json())
        session._log(tx, now, "shred", domain=name, key=domain.key_id)
        body = {
            "format": SHRED_FORMAT,
            "vault": vault.id,
            "domain": domain.id,
            "name": name,
            "keys": [{"version": v, "fingerprint": f} for v, _, f in domain.versions],
            "identities_at_most": size_class(tx.rows(domain.number).used),
            "time": stamp,
            "audit_seq": tx.state.audit_seq,
            "audit_head": tx.state.audit_head,
            "master_key": vault.key_id,
        }
    vault.forget(domain)
    _scrub(vault, sealed)
    with vault.store.read() as tx:
        return _signed(tx, body)


def check_shred(vault: Vault, certificate: Mapping[str, Any]) -> None:
    """Refuse a shred certificate that is forged, or that the vault contradicts (a key came back)."""
    body = {k: v for k, v in certificate.items() if k not in ("signature", "key")}
    with vault.store.read() as tx:
        keys = {k["id"]: bytes.fromhex(k["public"]) for k in audit.signing_keys(tx)}
        if body.get("format") != SHRED_FORMAT or not _signature_holds(keys, certificate, body):
            raise TamperError("the shred certificate does not carry this vault's signature.")
        domain = Domain.from_json(tx.get(DOMAIN, str(body["name"])) or {})
        names = [f"{domain.id} base", *(f"{domain.id} {v}" for v, _, _ in domain.versions)]
        if not domain.shredded or any(tx.get_secret(KEY, n) is not None for n in names):
            raise TamperError("the domain of the shred certificate has keys again.", hint="An old copy was put back.")
        problems: list[str] = []
        _check_objects(tx, problems)
        if problems:
            raise TamperError(problems[0])


def _signed(tx: Tx, body: dict[str, Any]) -> dict[str, Any]:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    secret = tx.get_secret(SIGNER, "active")
    assert secret is not None
    signature = Ed25519PrivateKey.from_private_bytes(secret.expose()).sign(_canonical(body))
    return {**body, "key": audit.signing_keys(tx)[-1]["id"], "signature": signature.hex()}


def _signature_holds(keys: Mapping[str, bytes], given: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        public = Ed25519PublicKey.from_public_bytes(keys[str(given["key"])])
        public.verify(bytes.fromhex(str(given["signature"])), _canonical(body))
    except (InvalidSignature, KeyError, ValueError):
        return False
    return True


def _canonical(body: Mapping[str, Any]) -> bytes:
    return json.dumps(dict(body), separators=(",", ":"), sort_keys=True).encode()


def _scrub(vault: Vault, sealed: Sequence[bytes]) -> None:
    """Remove the sealed keys from the files of the database too, and look whether they are gone."""
    engine = vault.store.engine
    if vault.store.dialect == "sqlite":
        with engine.connect() as connection:
            connection.exec_driver_sql("VACUUM")
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.commit()
        for suffix in ("", "-wal"):
            file = Path(f"{vault.place}{suffix}")
            content = file.read_bytes() if file.is_file() else b""
            if any(s in content for s in sealed):
                raise TamperError(
                    "a destroyed key is still in the database file: a reader holds an old view.",
                    hint="Close other programs that have the vault open and run `shoal vault verify`.",
                )
    else:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM FULL vault_objects")


def verify(session: Session, *, anchors: Sequence[Mapping[str, Any]] = ()) -> Findings:
    """Check everything: each row and object opens in its place, none is missing or put back, and the log holds."""
    vault = session.vault
    problems: list[str] = []
    with session._reading("verify") as (tx, _):
        objects = _check_objects(tx, problems)
        rows = _check_rows(vault, tx, problems)
        log = audit.verify(tx, anchors=anchors)
    if vault.store.anchor is not None:
        try:
            vault.store.check_anchor()
        except TamperError as error:
            problems.append(error.message)
    return Findings(log.ok and not problems, rows, objects, log, tuple(problems))


def _check_objects(tx: Tx, problems: list[str]) -> int:
    from shoal.protector.schema import objects

    total: crypto.Sum = (0, 0)
    found = tx.connection.execute(objects.select()).all()
    for row in found:
        bound = b"object" + bytes([row.kind]) + bytes(row.tag) + tx.store.bound
        try:
            tx.store.box.open(bytes(row.sealed), bound)
        except (TamperError, ValueError):
            problems.append("a stored object (domain, key, actor, token or request) was altered or moved.")
        total = crypto.add(total, crypto.row_sum(tx.store.sums, bytes(row.sealed)[-crypto.TAG_BYTES :]))
    if len(found) != tx.state.objects or total != tx.state.objects_sum:
        problems.append(f"stored objects are missing, added or older: {len(found)} found, {tx.state.objects} written.")
    return len(found)


def _check_rows(vault: Vault, tx: Tx, problems: list[str]) -> int:
    from sqlalchemy import func, select

    from shoal.protector.schema import entries as table

    domains = {d.number: d for d in map(Domain.from_json, tx.all(DOMAIN))}
    seen = 0
    for number in sorted(set(domains) | {int(n) for n in tx.state.domains}):
        domain = domains.get(number)
        keys = vault.opened(tx, domain).keys if domain is not None and not domain.shredded else None
        seen += _check_domain_rows(tx, number, keys, problems)
    stored = tx.connection.execute(select(func.count()).select_from(table)).scalar() or 0
    if stored != seen:
        problems.append(f"{stored - seen} identity rows do not belong to any domain.")
    return seen


def _check_domain_rows(tx: Tx, number: int, keys: DomainKeys | None, problems: list[str]) -> int:
    known = tx.rows(number)
    total: crypto.Sum = (0, 0)
    found = used = bad = 0
    for first in range(1, known.slots + 1, _CHUNK):
        rows = entries.slot_range(tx, number, first, min(first + _CHUNK - 1, known.slots))
        total = crypto.add(total, entries.tag_sum(tx, [r[2] for r in rows]))
        found += len(rows)
        for row in rows if keys is not None else ():
            assert keys is not None
            try:
                used += entries.open_row(keys, row).real
            except (TamperError, ValueError):
                bad += 1
    if bad:
        problems.append(f"{bad} identity rows were altered or moved.")
    wrong_count = keys is not None and not bad and used != known.used
    if found != known.slots or total != known.sum or wrong_count:
        problems.append("identity rows are missing, added or older than the vault's state.")
    beyond = entries.slot_range(tx, number, known.slots + 1, (1 << SLOT_BITS) - 1)
    if beyond:
        problems.append(f"{len(beyond)} identity rows were added from outside.")
    return found + len(beyond)


def verify_log(session: Session, *, anchors: Sequence[Mapping[str, Any]] = ()) -> Verdict:
    """The auditor's check of the log (see :func:`shoal.protector.audit.verify`); it leaves its own trace."""
    with session._reading("audit") as (tx, _):
        verdict = audit.verify(tx, anchors=anchors)
    if verdict.ok:
        with session._acting("audit") as (tx, now):
            session._log(tx, now, "audit", detail="log verified")
    return verdict


def checkpoint(session: Session) -> dict[str, Any]:
    """Sign the log as it stands, to be kept outside."""
    with session._acting("checkpoint") as (tx, now):
        session._log(tx, now, "checkpoint")
        return audit.sign_checkpoint(tx, now)


def read_log(session: Session, *, actions: Iterable[str] | None = None, last: int | None = None) -> list[dict[str, Any]]:
    """Events of the log, under audit pseudonyms, for the auditor."""
    with session._reading("audit") as (tx, _):
        first = 1 if last is None else max(1, tx.state.audit_seq - last + 1)
        return list(audit.events(tx, first=first, actions=actions))


def report(session: Session, *, period: str = "month", action: str = "reveal") -> list[dict[str, Any]]:
    """Counts of reveals (or another action) per actor, purpose and period; refusals and alarms beside them.

    ``period`` is ``day``, ``month`` or ``year``.
    """
    lengths = {"day": 10, "month": 7, "year": 4}
    if period not in lengths:
        raise UsageError(f"period '{period}' is not known.", hint="Known: day, month, year.")
    totals: dict[tuple[str, str, str], Counter[str]] = {}
    subjects: dict[tuple[str, str, str], set[str]] = {}
    for event in read_log(session, actions=[action]):
        key = (event["actor"], event.get("purpose", ""), event["time"][: lengths[period]])
        counter = totals.setdefault(key, Counter())
        counter[event["outcome"]] += 1
        counter["records"] += event.get("count", 0) if event["outcome"] == "done" else 0
        subjects.setdefault(key, set()).update(event.get("subjects", ()))
    return [
        {
            "actor": actor,
            "purpose": purpose,
            "period": when,
            action + "s": counts["done"],
            "records": counts["records"],
            "people": len(subjects[actor, purpose, when]),
            "refused": counts["refused"],
            "alarms": counts["alarm"],
        }
        for (actor, purpose, when), counts in sorted(totals.items(), key=lambda item: (item[0][2], item[0][0], item[0][1]))
    ]


def resolve(owner: Session, auditor: Session, pseudonym: str, *, owner_share: str, auditor_share: str, reason: str) -> str:
    """Who is behind an audit pseudonym: owner and auditor together, each with their share; the log remembers it."""
    if owner.name == auditor.name:
        raise UsageError("owner and auditor resolve together: two people are needed.")
    if not reason.strip():
        raise UsageError("a resolution needs a reason.")
    vault = owner.vault
    with auditor._acting("resolve", of=pseudonym[:20]) as (tx, now):
        for session, role in ((owner, "owner"), (auditor, "auditor")):
            if role not in session._require(tx, now, "resolve").roles:
                raise AccessError(f"the {role}'s token does not have the role {role}.", reason="role")
        sealed = resolution.resolve(tx, pseudonym, owner_share, auditor_share)
        name = sealed if pseudonym.startswith("A-") else _subject_name(vault, tx, pseudonym, sealed)
        together = audit.actor_pseudonym(vault.store, owner.name)
        auditor._log(tx, now, "resolve", of=pseudonym, together_with=together, purpose=reason)
    return name.decode()


def _subject_name(vault: Vault, tx: Tx, pseudonym: str, sealed: bytes) -> bytes:
    domain_id = sealed[:8].hex()
    domain = next((d for d in map(Domain.from_json, tx.all(DOMAIN)) if d.id == domain_id), None)
    if domain is None or domain.shredded:
        raise AccessError("the domain of this person was shredded: nothing leads back.", reason="shredded")
    return vault.opened(tx, domain).subject_box.open(sealed[8:], pseudonym.encode())
