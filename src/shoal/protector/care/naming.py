"""Who is behind an audit pseudonym, and which one a person has: told only to owner and auditor together."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from shoal.errors import AccessError, UsageError
from shoal.protector.log import audit, shares
from shoal.protector.pseudonyms.domains import Domain
from shoal.protector.store.kinds import DOMAIN

if TYPE_CHECKING:
    from shoal.protector.actions.open_vault import OpenVault
    from shoal.protector.session import Session
    from shoal.protector.store.database import Tx


def resolve(owner: Session, auditor: Session, pseudonym: str, *, owner_share: str, auditor_share: str, reason: str) -> str:
    """The name behind an audit pseudonym. Owner and auditor each give their share; the log keeps the event."""
    with _together(owner, auditor, pseudonym, reason) as tx:
        sealed = shares.open_name(tx, pseudonym, owner_share, auditor_share)
        name = sealed if pseudonym.startswith("A-") else _subject_name(owner.vault, tx, pseudonym, sealed)
    return name.decode()


def subject_of(
    owner: Session, auditor: Session, domain: str, identity: str, *, owner_share: str, auditor_share: str, reason: str
) -> str:
    """The audit pseudonym of a data subject, by which :func:`~.reports.reveals` lists who was told this person's name.

    The opposite of :func:`resolve`, under the same rule.
    """
    keyring = owner.vault.keyring
    with owner.vault.store.read() as tx:
        opened = keyring.opened(tx, keyring.domain(tx, domain))
        name = opened.subject(opened.plain(identity))
    with _together(owner, auditor, name, reason) as tx:
        shares.join(tx, owner_share, auditor_share)
    return name


@contextlib.contextmanager
def _together(owner: Session, auditor: Session, pseudonym: str, reason: str) -> Iterator[Tx]:
    """A transaction of owner and auditor about one audit pseudonym; logged when it succeeds, and when it is refused."""
    if owner.name == auditor.name:
        raise UsageError("owner and auditor resolve together: two people are needed.")
    if not reason.strip():
        raise UsageError("a resolution needs a reason.")
    with auditor.frame.acting("resolve", of=pseudonym[:20]) as (tx, now):
        for session, role in ((owner, "owner"), (auditor, "auditor")):
            if role not in session.frame.require(tx, now, "resolve").roles:
                raise AccessError(f"the {role}'s token does not have the role {role}.", reason="role")
        yield tx
        together = audit.actor_pseudonym(owner.vault.store, owner.name)
        auditor.frame.log(tx, now, "resolve", of=pseudonym, together_with=together, purpose=reason)


def _subject_name(vault: OpenVault, tx: Tx, pseudonym: str, sealed: bytes) -> bytes:
    domain_id = sealed[:8].hex()
    domain = next((d for d in map(Domain.from_json, tx.all(DOMAIN)) if d.id == domain_id), None)
    if domain is None or domain.shredded:
        raise AccessError("the domain of this person was shredded: nothing leads back.", reason="shredded")
    return vault.keyring.opened(tx, domain).subject_box.open(sealed[8:], pseudonym.encode())
