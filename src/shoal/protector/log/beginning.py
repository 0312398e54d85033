"""How a vault began: with two people, or with one who held the means of both and tries it out."""

from __future__ import annotations

from shoal.protector.crypto import recipients
from shoal.protector.store.database import Tx
from shoal.protector.store.kinds import SIGNER


def begin(tx: Tx, auditor_key: str) -> None:
    """Remember the public key that the auditor's code was sealed to; empty where whoever made the vault held the code."""
    tx.put(SIGNER, "beginning", {"auditor_key": auditor_key})


def auditor_key(tx: Tx) -> str:
    """That key, to be compared with the auditor's own."""
    return str((tx.get(SIGNER, "beginning") or {"auditor_key": ""})["auditor_key"])


def is_trial(tx: Tx) -> bool:
    """Whether one person held the means of owner and auditor at the beginning."""
    return not auditor_key(tx)


def sealed(key: str, code: str, share: str, vault_id: str) -> str:
    """The auditor's enrolment code and share, sealed to the auditor's key and bound to the vault."""
    return recipients.seal(key, {"code": code, "share": share}, vault_id)


def opened_by(secret: str, sealed: str, vault_id: str) -> tuple[str, str]:
    """Code and share, for the one who has the secret of that key."""
    found = recipients.unseal(secret, sealed, vault_id)
    return str(found["code"]), str(found["share"])
