"""Care of a vault: what owner and auditor do with the log; rotation, shredding and checking under one name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shoal.errors import AccessError, UsageError
from shoal.protector import audit, resolution
from shoal.protector.audit import Verdict
from shoal.protector.checking import Findings, verify
from shoal.protector.domains import Domain
from shoal.protector.rotation import destroy_key, rotate_domain, rotate_master, rotate_signer
from shoal.protector.shredding import check_shred, shred
from shoal.protector.store import DOMAIN, Tx

if TYPE_CHECKING:
    from shoal.protector.session import Session
    from shoal.protector.vault import Vault

__all__ = [
    "Findings",
    "check_shred",
    "checkpoint",
    "destroy_key",
    "read_log",
    "report",
    "resolve",
    "rotate_domain",
    "rotate_master",
    "rotate_signer",
    "shred",
    "verify",
    "verify_log",
]


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
