"""Care of a vault: what owner and auditor do with the log; reports, rotation, shredding and checking under one name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shoal.errors import AccessError, UsageError
from shoal.protector.care.checking import Findings, verify
from shoal.protector.care.rotation import destroy_key, rotate_domain, rotate_master, rotate_signer
from shoal.protector.care.shredding import check_shred, shred
from shoal.protector.log import audit, resolution
from shoal.protector.log.audit import Verdict
from shoal.protector.log.reporting import read_log, report, reveals
from shoal.protector.pseudonyms.domains import Domain
from shoal.protector.store.storage import DOMAIN, Tx

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
    "reveals",
    "rotate_domain",
    "rotate_master",
    "rotate_signer",
    "shred",
    "subject_of",
    "verify",
    "verify_log",
]


def verify_log(session: Session, *, anchors: Sequence[Mapping[str, Any]] = ()) -> Verdict:
    """The auditor's check of the log (see :func:`shoal.protector.log.audit.verify`); it leaves its own trace."""
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


def resolve(owner: Session, auditor: Session, pseudonym: str, *, owner_share: str, auditor_share: str, reason: str) -> str:
    """Who is behind an audit pseudonym: owner and auditor together, each with their share; the log remembers it."""
    with _together(owner, auditor, pseudonym, reason) as tx:
        sealed = resolution.resolve(tx, pseudonym, owner_share, auditor_share)
        name = sealed if pseudonym.startswith("A-") else _subject_name(owner.vault, tx, pseudonym, sealed)
    return name.decode()


def subject_of(
    owner: Session, auditor: Session, domain: str, identity: str, *, owner_share: str, auditor_share: str, reason: str
) -> str:
    """The audit pseudonym of a data subject, for the report of all reveals of this person (:func:`reveals`).

    As :func:`resolve`, in the other direction and with the same two people: the answer to "who has been told my name?".
    """
    vault = owner.vault
    with vault.store.read() as tx:
        name = vault.opened(tx, vault.domain(tx, domain)).subject(identity.encode("utf-8", "replace"))
    with _together(owner, auditor, name, reason) as tx:
        resolution.joined(tx, owner_share, auditor_share)
    return name


@contextlib.contextmanager
def _together(owner: Session, auditor: Session, pseudonym: str, reason: str) -> Iterator[Tx]:
    """A transaction of owner and auditor about one audit pseudonym; logged when it succeeds, and when it is refused."""
    if owner.name == auditor.name:
        raise UsageError("owner and auditor resolve together: two people are needed.")
    if not reason.strip():
        raise UsageError("a resolution needs a reason.")
    with auditor._acting("resolve", of=pseudonym[:20]) as (tx, now):
        for session, role in ((owner, "owner"), (auditor, "auditor")):
            if role not in session._require(tx, now, "resolve").roles:
                raise AccessError(f"the {role}'s token does not have the role {role}.", reason="role")
        yield tx
        together = audit.actor_pseudonym(owner.vault.store, owner.name)
        auditor._log(tx, now, "resolve", of=pseudonym, together_with=together, purpose=reason)


def _subject_name(vault: Vault, tx: Tx, pseudonym: str, sealed: bytes) -> bytes:
    domain_id = sealed[:8].hex()
    domain = next((d for d in map(Domain.from_json, tx.all(DOMAIN)) if d.id == domain_id), None)
    if domain is None or domain.shredded:
        raise AccessError("the domain of this person was shredded: nothing leads back.", reason="shredded")
    return vault.opened(tx, domain).subject_box.open(sealed[8:], pseudonym.encode())
