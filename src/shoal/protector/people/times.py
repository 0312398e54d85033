"""What a correction of the vault's time does to everything that ends: nothing lives longer than it was meant to."""

from __future__ import annotations

from shoal.protector.people import accounts
from shoal.protector.pseudonyms.self_generated import CHALLENGE_SECONDS
from shoal.protector.store.database import Tx
from shoal.protector.store.state import CHALLENGE, CHANGE, ENROLMENT, REQUEST, TOKEN


def set_back(tx: Tx, now: float) -> None:
    """Shorten every life that began or ends after ``now`` under a time that was wrong.

    Tokens and codes keep the length of their life, counted from now. Open requests and changes that were made in that time end.
    """
    for tag, body in tx.items(TOKEN):
        expires = body["expires"]
        issued = body.get("issued", expires - accounts.LONGEST if body.get("own") else 0.0)
        if issued > now and expires is not None:
            tx.replace(TOKEN, tag, {**body, "issued": now, "expires": now + expires - issued})
    for kind, end, life in ((ENROLMENT, "until", accounts.LIFE), (CHALLENGE, "expires", CHALLENGE_SECONDS)):
        for tag, body in tx.items(kind):
            if body[end] > now + life:
                tx.replace(kind, tag, {**body, end: now + life})
    for kind, living, ended in (
        (REQUEST, ("pending", "approved"), "withdrawn"),
        (CHANGE, ("pending", "confirmed"), "denied"),
    ):
        for tag, body in tx.items(kind):
            if body["created"] > now and body["status"] in living:
                tx.replace(kind, tag, {**body, "status": ended})
