"""The names behind audit pseudonyms, sealed so that only owner and auditor together can open them.

When the vault is made, a key pair is drawn; its public half stays in the vault, its private half is split into two shares
(XOR with random bytes), one handed to the owner and one to the auditor, and then forgotten. Names are sealed to the public
half (HPKE, RFC 9180), so not even the vault with its master key can open them. Names of data subjects are sealed under the
domain's key before that, so crypto-shredding the domain ends them too.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from shoal.errors import AccessError, UsageError, refuse
from shoal.protector.crypto import base32, recipients
from shoal.protector.crypto.recipients import suite
from shoal.protector.store.database import Tx
from shoal.protector.store.state import SETTING, SIGNER

_INFO = b"shoal-vault audit name"


def create(tx: Tx) -> tuple[str, str]:
    """Draw the key pair; the shares for owner and auditor, as text, shown once."""
    private = X25519PrivateKey.generate()
    tx.put(SETTING, "resolution", {"public": private.public_key().public_bytes_raw().hex()})
    first = os.urandom(32)
    second = bytes(a ^ b for a, b in zip(first, private.private_bytes_raw(), strict=True))
    return _text("owner", first), _text("auditor", second)


def remember(tx: Tx, pseudonym: str, name: bytes) -> None:
    """Seal the name behind an audit pseudonym, once."""
    if tx.get(SETTING, f"name {pseudonym}") is not None:
        return
    setting = tx.get(SETTING, "resolution")
    assert setting is not None
    public = X25519PublicKey.from_public_bytes(bytes.fromhex(setting["public"]))
    sealed: bytes = suite().encrypt(name, public, info=_INFO + pseudonym.encode())
    tx.put(SETTING, f"name {pseudonym}", {"sealed": sealed.hex()})


def open_name(tx: Tx, pseudonym: str, owner_share: str, auditor_share: str) -> bytes:
    """The sealed name, opened with both shares."""
    private = join(tx, owner_share, auditor_share)
    stored = tx.get(SETTING, f"name {pseudonym}")
    if stored is None:
        raise UsageError("the log knows no such audit pseudonym.", hint="Audit pseudonyms begin with A- or S-.")
    with refuse(AccessError("the name cannot be opened.", reason="shares"), InvalidTag, ValueError):
        opened: bytes = suite().decrypt(bytes.fromhex(stored["sealed"]), private, info=_INFO + pseudonym.encode())
    return opened


def join(tx: Tx, owner_share: str, auditor_share: str) -> Any:
    """The private half from its two shares; shares that do not belong together are refused."""
    setting = tx.get(SETTING, "resolution")
    first, second = _bytes("owner", owner_share), _bytes("auditor", auditor_share)
    private = X25519PrivateKey.from_private_bytes(bytes(a ^ b for a, b in zip(first, second, strict=True)))
    if setting is None or private.public_key().public_bytes_raw().hex() != setting["public"]:
        raise AccessError("the two shares do not belong together, or not to this vault.", reason="shares")
    return private


def _text(who: str, share: bytes) -> str:
    return f"share-{who}-{base32.encode(share)}"


def _bytes(who: str, text: str) -> bytes:
    value = base32.decode(text.strip().removeprefix(f"share-{who}-"))
    if value is None or len(value) != 32 or not text.strip().startswith(f"share-{who}-"):
        raise UsageError(f"this is not the {who}'s share.", hint=f"It begins with share-{who}-.")
    return value


def begin(tx: Tx, auditor_key: str) -> None:
    """Remember the public key that the auditor's code was sealed to; empty if the person who made the vault had the code."""
    tx.put(SIGNER, "beginning", {"auditor_key": auditor_key})


def auditor_key(tx: Tx) -> str:
    """That key, to be compared with the auditor's own."""
    return str((tx.get(SIGNER, "beginning") or {"auditor_key": ""})["auditor_key"])


def keep_set(tx: Tx, key: object) -> None:
    """Remember, sealed, the set of shares that the master key was joined from; that there is none for a whole key."""
    share_set = getattr(key, "share_set", None)
    tx.put(SIGNER, "key shares", {} if share_set is None else asdict(share_set))


def kept_set(tx: Tx) -> dict[str, Any] | None:
    """That set: empty for a key that was never shared, None in a vault that Shoal 0.3.0 made."""
    return tx.get(SIGNER, "key shares")


def is_trial(tx: Tx) -> bool:
    """Whether one person held the means of owner and auditor at the beginning."""
    return not auditor_key(tx)


def sealed(key: str, code: str, share: str, vault_id: str) -> str:
    """The auditor's enrolment code and share, sealed to the auditor's key and bound to the vault."""
    return recipients.seal(key, {"code": code, "share": share}, vault_id)


def opened_by(secret: str, sealed: str, vault_id: str) -> tuple[str, str]:
    """Code and share, for the one who has the secret of that key."""
    share = recipients.unseal(secret, sealed, vault_id)
    return str(share["code"]), str(share["share"])
