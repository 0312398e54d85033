"""Corrections: two identities of one person merged, and a wrong merge split again. Both take a second person and are logged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.errors import UsageError
from shoal.protector.actions import honeytokens
from shoal.protector.pseudonyms import merges
from shoal.protector.pseudonyms.minting import OpenDomain
from shoal.protector.store.database import Tx

if TYPE_CHECKING:
    from shoal.protector.session import Session


def merge(session: Session, domain: str, identity: str, into: str) -> dict[str, Any]:
    """Two identities of a domain are one person: from now on ``into`` stands for ``identity``.

    Pseudonyms made before stay valid: those of ``identity`` lead to ``into`` as long as the two are merged.
    """
    with session.vault.store.read() as tx:
        opened = _opened(session, tx, domain)
        one, other = opened.plain(identity), opened.plain(into)
    if not one or not other:
        raise UsageError("an identity has at least one character.")
    told = {"merged": opened.subject(one), "into": opened.subject(other)}
    change = session.frame.agreed("correct", domain, **told)
    with session.frame.acting("correct", domain) as (tx, now):
        session.frame.use(tx, now, change)
        opened = _opened(session, tx, domain)
        if honeytokens.touched(tx, opened, [one, other]):
            raise UsageError("a planted identity cannot be merged.")
        merges.merge(tx, opened, one, other)
        session.frame.log(tx, now, "correct", domain=domain, detail="merged", subjects=list(told.values()))
    return {"domain": domain, **told}


def split(session: Session, domain: str, identity: str) -> dict[str, Any]:
    """Take a wrong merge back: ``identity`` is a person of its own again, under the pseudonyms it had before.

    Rows that were given the other's pseudonym in between keep it; who has them makes these tables again.
    """
    with session.vault.store.read() as tx:
        opened = _opened(session, tx, domain)
        one = opened.plain(identity)
    change = session.frame.agreed("correct", domain, split=opened.subject(one))
    with session.frame.acting("correct", domain) as (tx, now):
        session.frame.use(tx, now, change)
        opened = _opened(session, tx, domain)
        told = {"split": opened.subject(one), "from": opened.subject(merges.split(tx, opened, one))}
        session.frame.log(tx, now, "correct", domain=domain, detail="split", subjects=list(told.values()))
    return {"domain": domain, **told}


def _opened(session: Session, tx: Tx, domain: str) -> OpenDomain:
    opened = session.frame.open_domain(tx, domain)
    if opened.domain.kind != "random":
        raise UsageError(
            f"domain '{domain}' keeps no table of people: there is nothing to merge.",
            hint="Correct the identities at their source and pseudonymise again.",
        )
    return opened
