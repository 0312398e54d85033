"""People's rights: what a vault contains about a person, who received it, and how it is deleted.

Both take a second person, and neither puts an identity into the log. What is forgotten is overwritten in the pages and taken out
of the index; copies of the database made before hold it until the domain's key is rotated and they are destroyed.

Crypto-shredding: the keys of a domain destroyed, with a signed certificate that can be checked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from shoal.errors import TamperError, UsageError
from shoal.protector.actions.pseudonyms import any_planted, entry_of
from shoal.protector.care.checking import check_objects
from shoal.protector.intake import waiting
from shoal.protector.issuing import mark_of
from shoal.protector.log import audit, checkpoints
from shoal.protector.pseudonyms import merges, references
from shoal.protector.pseudonyms.domains import Domain
from shoal.protector.pseudonyms.minting import OpenDomain
from shoal.protector.store import blobs, entries, pages
from shoal.protector.store.database import Tx
from shoal.protector.store.entries import size_class
from shoal.protector.store.state import DOMAIN, ISSUER, KEY, SETTING, SIGNER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.protector.actions.frame import OpenVault
    from shoal.protector.session import Session


FORMAT = "shoal-forget/1"
_CHUNK = 2048


def export(session: Session, domain: str, identity: str) -> dict[str, Any]:
    """What is held about a person in a domain: pseudonyms, and every time the identity was revealed (to whom, when, what for)."""
    subject = _subject(session, "export", domain, identity)
    with session.frame.by_two("export", domain, person=subject) as (tx, now):
        opened = session.frame.open_domain(tx, domain)
        person = _person(tx, opened, identity)
        slots = _slots(tx, opened, person) if opened.domain.kind == "random" else np.empty(0, dtype=np.int64)
        records = pages.at(tx, opened.keys, slots)
        blocks = np.empty((len(slots), 2), dtype=">u8")
        blocks[:, 0] = (opened.keys.number << pages.SLOT_BITS) + slots
        blocks[:, 1] = records["nonce"]
        tokens = references.tokens(opened.keys, blocks)
        subjects = {opened.subject(one) for one in person}
        details = [e for e in audit.events(tx, actions=["reveal", "translate"]) if subjects & set(e.get("subjects", ()))]
        session.frame.log(tx, now, "export", domain=domain, subjects=[subject])
    names = ("time", "action", "actor", "purpose", "case", "request", "target")
    return {
        "domain": domain,
        "subject": subject,
        "merged": sorted(subjects - {subject}),
        "pseudonyms": [opened.spelled(row.tobytes()) for row in tokens],
        "told": [{name: event[name] for name in names if name in event} for event in details],
    }


def forget(session: Session, domain: str, identity: str) -> dict[str, Any]:
    """Overwrite everything a domain holds about a person; a signed certificate without the identity.

    In a domain of self-generated pseudonyms, ``identity`` is the pseudonym. Domains of other kinds hold nothing about anybody.
    """
    vault = session.vault
    subject = _subject(session, "forget", domain, identity)
    with session.frame.by_two("forget", domain, person=subject) as (tx, now):
        opened = session.frame.open_domain(tx, domain)
        if opened.domain.kind == "self-generated":
            sealed = tx.remove_once(SETTING, entry_of(opened, identity))
            gone = [] if sealed is None else [sealed]
            count = len(gone)
        else:
            person = _person(tx, opened, identity)
            gone, count = _forget_records(tx, opened, _slots(tx, opened, person))
            gone += _forget_merges(tx, opened, person) + waiting.forget(tx, opened, person) + _forget_issued(tx, opened, person)
        names = {subject} | {opened.subject(one) for one in person} if opened.domain.kind == "random" else {subject}
        gone += [name for name in (tx.remove_once(SETTING, f"name {one}") for one in sorted(names)) if name is not None]
        session.frame.log(tx, now, "forget", domain=domain, count=count, key=opened.domain.key_id)
        body = _statement(tx, now, FORMAT, opened.domain, records=count, key_id=opened.domain.key_id)
    vault.store.kept_registers.clear()
    scrub(vault, gone)
    with vault.store.read() as tx:
        return signed(tx, body)


def _subject(session: Session, action: str, domain: str, identity: str) -> str:
    """The audit pseudonym of the person, which stands for the identity in changes and in the log."""
    with session.frame.reading(action) as (tx, _):
        opened = session.frame.open_domain(tx, domain)
        if opened.domain.kind not in ("random", "self-generated"):
            hint = "Its pseudonyms lead back by the key alone; `shoal vault rotate --destroy` or `shred` ends that."
            raise UsageError(f"domain '{domain}' keeps no table: it holds nothing about a person.", hint=hint)
        return opened.subject(opened.matched(opened.plain(identity)))


def _person(tx: Tx, opened: OpenDomain, identity: str) -> set[bytes]:
    """Every identity of the person, also those that were merged."""
    return merges.person(opened, merges.read(tx, opened), opened.plain(identity))


def _forget_merges(tx: Tx, opened: OpenDomain, person: set[bytes]) -> list[bytes]:
    """Take a person out of the list of merged identities; the list as it was sealed."""
    known = merges.read(tx, opened)
    kept = {one: into for one, into in known.items() if one not in person}
    before = merges.write(tx, opened, kept) if kept != known else None
    return [] if before is None else [before]


def _forget_issued(tx: Tx, opened: OpenDomain, person: set[bytes]) -> list[bytes]:
    """Take out that a person got credentials of the domain's issuers; used ones are nobody's."""
    issuers = [body for body in tx.all(ISSUER) if body["domain"] == opened.domain.name]
    marks = [mark_of(issuer, opened, one) for issuer in issuers for one in sorted(person)]
    return [sealed for sealed in (tx.remove_once(SETTING, mark) for mark in marks) if sealed is not None]


def _slots(tx: Tx, opened: OpenDomain, person: set[bytes]) -> NDArray[np.int64]:
    """Every slot with a record of the person, under any role, relation, period or transaction: all pages are read."""
    keys, known = opened.keys, tx.rows(opened.keys.number)
    slots: list[int] = []
    total = -(-known.used // pages.PER_PAGE)
    for start in range(0, total, _CHUNK):
        numbers = np.arange(start, min(start + _CHUNK, total))
        records = pages.read(tx, keys, numbers).reshape(-1)
        heads = np.flatnonzero(pages.is_head(records))
        texts = pages.texts(tx, keys, records[heads])
        mine = [int(h) for h, (_, text) in zip(heads, texts, strict=True) if opened.matched(text) in person]
        slots += [start * pages.PER_PAGE + place + 1 for place in mine]
    return np.array(slots, dtype=np.int64)


def _forget_records(tx: Tx, opened: OpenDomain, slots: NDArray[np.int64]) -> tuple[list[bytes], int]:
    """Overwrite records and the rest of their texts, and take them out of the index; the pages as they were sealed."""
    if not len(slots):
        return [], 0
    keys = opened.keys
    records = pages.at(tx, keys, slots)
    rest = pages.ranges(records["more"].astype(np.int64), pages.continued(records))
    everything = np.unique(np.concatenate([slots, rest]))
    numbers = np.unique(pages.page_of(everything))
    first = keys.number << pages.SLOT_BITS
    before = [sealed for _, sealed in blobs.fetch(tx, blobs.ENTRIES, (first + numbers).tolist())]
    block = pages.read(tx, keys, numbers).copy()
    blank = np.zeros((), dtype=pages.RECORD)
    blank["version"] = pages.FORGOTTEN
    block[np.searchsorted(numbers, pages.page_of(everything)), (everything - 1) % pages.PER_PAGE] = blank
    pages.write(tx, keys, numbers, block)
    for version in keys.versions:
        entries.index_of(tx, keys, version).remove(slots)
    return before, len(slots)


def merge(session: Session, domain: str, identity: str, into: str) -> dict[str, Any]:
    """Two identities of a domain are one person: from now on ``into`` stands for ``identity``.

    Pseudonyms made before stay valid: those of ``identity`` lead to ``into`` as long as the two are merged.
    """
    with session.frame.reading("correct") as (tx, _):
        opened = _open_domain(session, tx, domain)
        one, other = opened.plain(identity), opened.plain(into)
    if not one or not other:
        raise UsageError("an identity has at least one character.")
    details = {"merged": opened.subject(one), "into": opened.subject(other)}
    with session.frame.by_two("correct", domain, **details) as (tx, now):
        opened = _open_domain(session, tx, domain)
        if any_planted(tx, opened, [one, other]):
            raise UsageError("a planted identity cannot be merged.")
        merges.merge(tx, opened, one, other)
        session.frame.log(tx, now, "correct", domain=domain, detail="merged", subjects=list(details.values()))
    return {"domain": domain, **details}


def split(session: Session, domain: str, identity: str) -> dict[str, Any]:
    """Take a wrong merge back: ``identity`` is a person of its own again, under the pseudonyms it had before.

    Rows that were given the other's pseudonym in between keep it; who has them makes these tables again.
    """
    with session.frame.reading("correct") as (tx, _):
        opened = _open_domain(session, tx, domain)
        one = opened.plain(identity)
    with session.frame.by_two("correct", domain, split=opened.subject(one)) as (tx, now):
        opened = _open_domain(session, tx, domain)
        details = {"split": opened.subject(one), "from": opened.subject(merges.split(tx, opened, one))}
        session.frame.log(tx, now, "correct", domain=domain, detail="split", subjects=list(details.values()))
    return {"domain": domain, **details}


def _open_domain(session: Session, tx: Tx, domain: str) -> OpenDomain:
    opened = session.frame.open_domain(tx, domain)
    if opened.domain.kind != "random":
        hint = "Correct the identities at their source and pseudonymise again."
        raise UsageError(f"domain '{domain}' keeps no table of people: there is nothing to merge.", hint=hint)
    return opened


SHRED_FORMAT = "shoal-shred/1"


def shred(session: Session, name: str, *, confirm: str) -> dict[str, Any]:
    """Destroy every key of a domain: nothing leads back from its pseudonyms, for anybody, ever. A signed certificate."""
    if confirm != name:
        raise UsageError("shredding cannot be undone: confirm it by repeating the name of the domain.")
    vault = session.vault
    with session.frame.by_two("shred", name) as (tx, now):
        domain = vault.keyring.domain(tx, name)
        names = [f"{domain.id} base", *(f"{domain.id} {v}" for v, _, _ in domain.versions)]
        sealed = [s for s in (tx.remove(KEY, n) for n in names) if s is not None]
        dead = replace(domain, shredded=_stamp(now), reseal=0)
        for version, _, _ in domain.versions:
            dead = dead.with_version(version, "destroyed")
        tx.put(DOMAIN, name, dead.to_json())
        session.frame.log(tx, now, "shred", domain=name, key=domain.key_id)
        keys = [{"version": v, "fingerprint": f} for v, _, f in domain.versions]
        people = size_class(tx.rows(domain.number).used)
        body = _statement(tx, now, SHRED_FORMAT, domain, keys=keys, identities_at_most=people) | {"master_key": vault.key_id}
    vault.keyring.forget(domain)
    scrub(vault, sealed)
    with vault.store.read() as tx:
        return signed(tx, body)


def check_shred(vault: OpenVault, certificate: Mapping[str, Any]) -> None:
    """Refuse a shred certificate that is forged, or that the vault contradicts (a key came back)."""
    body = {k: v for k, v in certificate.items() if k not in ("signature", "key")}
    with vault.store.read() as tx:
        keys = {k["id"]: bytes.fromhex(k["public"]) for k in checkpoints.signing_keys(tx)}
        if body.get("format") != SHRED_FORMAT or not _signature_holds(keys, certificate, body):
            raise TamperError("the shred certificate does not carry this vault's signature.")
        domain = Domain.from_json(tx.get(DOMAIN, str(body["name"])) or {})
        names = [f"{domain.id} base", *(f"{domain.id} {v}" for v, _, _ in domain.versions)]
        if not domain.shredded or any(tx.get_secret(KEY, n) is not None for n in names):
            raise TamperError("the domain of the shred certificate has keys again.", hint="An old copy was put back.")
        problems: list[str] = []
        check_objects(tx, problems)
        if problems:
            raise TamperError(problems[0])


def _stamp(now: float) -> str:
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")


def _statement(tx: Tx, now: float, form: str, domain: Domain, **content: Any) -> dict[str, Any]:
    """What a certificate states: what was destroyed in a domain, when, and where the log stood."""
    about = {"format": form, "vault": tx.store.vault_id, "domain": domain.id, "name": domain.name}
    return {**about, **content, "time": _stamp(now), "audit_seq": tx.state.audit_seq, "audit_head": tx.state.audit_head}


def signed(tx: Tx, body: dict[str, Any]) -> dict[str, Any]:
    """A certificate: the body with the vault's signature."""
    secret = tx.get_secret(SIGNER, "active")
    assert secret is not None
    signature = Ed25519PrivateKey.from_private_bytes(secret.expose()).sign(_canonical(body))
    return {**body, "key": checkpoints.signing_keys(tx)[-1]["id"], "signature": signature.hex()}


def _signature_holds(keys: Mapping[str, bytes], given: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
    try:
        public = Ed25519PublicKey.from_public_bytes(keys[str(given["key"])])
        public.verify(bytes.fromhex(str(given["signature"])), _canonical(body))
    except (InvalidSignature, KeyError, ValueError):
        return False
    return True


def _canonical(body: Mapping[str, Any]) -> bytes:
    return json.dumps(dict(body), separators=(",", ":"), sort_keys=True).encode()


def scrub(vault: OpenVault, sealed: Sequence[bytes]) -> None:
    """Remove what was destroyed from the files of the database too, and look whether it is gone."""
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
                hint = "Close other programs that have the vault open and run `shoal vault verify`."
                raise TamperError("what was destroyed is still in the database file: a reader holds an old view.", hint=hint)
    else:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            for table in ("vault_objects", "vault_entries", "vault_index"):
                connection.exec_driver_sql(f"VACUUM FULL {table}")
