"""Checkpoints: Ed25519 signatures over the head of the log; sealed inside the vault, readable wherever they are kept outside."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from shoal.errors import DataError, TamperError
from shoal.protector.crypto.primitives import Secret
from shoal.protector.store.connection import blob
from shoal.protector.store.database import Store, Tx, step
from shoal.protector.store.state import SETTING, SIGNER, padded

FORMAT = "shoal-audit-checkpoint/1"
_BLOCK = 128


def sign_checkpoint(tx: Tx, time: float) -> dict[str, Any]:
    """Sign the head of the log; the checkpoint as it can be kept outside."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from shoal.protector.store.schema import checkpoints

    signers = tx.get(SIGNER, "list")
    secret = tx.get_secret(SIGNER, "active")
    if signers is None or secret is None:
        raise DataError("the vault has no signing key.")
    body = {
        "format": FORMAT,
        "vault": tx.store.vault_id,
        "seq": tx.state.audit_seq,
        "head": tx.state.audit_head,
        "generation": tx.state.generation + 1,
        "time": datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds"),
        "key": signers["keys"][-1]["id"],
    }
    text = json.dumps(body, separators=(",", ":"), sort_keys=True).encode()
    signature = Ed25519PrivateKey.from_private_bytes(secret.expose()).sign(text)
    seq = tx.state.audit_seq
    replaced = tx.connection.execute(checkpoints.delete().where(checkpoints.c.seq == seq)).rowcount
    sealed = tx.store.audit_box.seal(padded(text, _BLOCK), _checkpoint_place(tx.store, seq))
    tx.connection.execute(checkpoints.insert().values(seq=seq, body=sealed, signature=signature))
    tx.state.checkpoint_seq = seq
    tx.state.checkpoints += 1 - replaced
    step("checkpoint")
    return {**body, "signature": signature.hex(), "public_key": signers["keys"][-1]["public"]}


def new_signer(tx: Tx) -> str:
    """Make a signing key; the retired ones stay known, so that old checkpoints still verify. Returns its id."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.generate()
    public = private.public_key().public_bytes_raw()
    listed = tx.get(SIGNER, "list") or {"keys": []}
    key_id = hashlib.sha256(public).hexdigest()[:16]
    listed["keys"].append({"id": key_id, "public": public.hex(), "from": tx.state.audit_seq + 1})
    tx.put(SIGNER, "list", listed)
    tx.put_secret(SIGNER, "active", Secret(private.private_bytes_raw()))
    return key_id


def signing_keys(tx: Tx) -> list[dict[str, Any]]:
    """Public signing keys, oldest first; the last one is in use."""
    listed = tx.get(SIGNER, "list") or {"keys": []}
    return list(listed["keys"])


def newest_checkpoint(tx: Tx, upto: int) -> dict[str, Any] | None:
    """The newest stored checkpoint at or before an event, as it can be kept outside."""
    row = tx.first("SELECT seq, body, signature FROM vault_checkpoints WHERE seq <= ? ORDER BY seq DESC LIMIT 1", upto)
    if row is None:
        return None
    keys = {key["id"]: key["public"] for key in signing_keys(tx)}
    body = read_signed(
        opened_body(tx.store, row[0], blob(row[1])), blob(row[2]), {name: bytes.fromhex(key) for name, key in keys.items()}
    )
    return None if body is None else {**body, "signature": blob(row[2]).hex(), "public_key": keys[body["key"]]}


def signed_by(checkpoint: Mapping[str, Any], public: bytes) -> bool:
    """Whether a checkpoint kept outside carries the signature of this public key, and the key's own id."""
    body = {name: value for name, value in checkpoint.items() if name not in ("signature", "public_key")}
    key_id = hashlib.sha256(public).hexdigest()[:16]
    text = json.dumps(body, separators=(",", ":"), sort_keys=True).encode()
    try:
        return read_signed(text, bytes.fromhex(str(checkpoint.get("signature", ""))), {key_id: public}) is not None
    except ValueError:
        return False


def opened_body(store: Store, seq: int, sealed: bytes) -> bytes:
    """The signed text of a stored checkpoint; nothing where it was altered."""
    try:
        return store.audit_box.open(sealed, _checkpoint_place(store, seq)).rstrip(b" ")
    except TamperError:
        return b""


def read_signed(text: bytes, signature: bytes, keys: Mapping[str, bytes]) -> dict[str, Any] | None:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        body = json.loads(text)
        public = keys.get(body.get("key", ""))
        if public is None or body.get("format") != FORMAT:
            return None
        Ed25519PublicKey.from_public_bytes(public).verify(signature, text)
    except (InvalidSignature, ValueError, AttributeError):
        return None
    return dict(body)


def _checkpoint_place(store: Store, seq: int) -> bytes:
    return b"checkpoint" + seq.to_bytes(8, "big") + store.bound


PART = 2000
"""Events of one part."""


def put(tx: Tx, events: Sequence[dict[str, Any]]) -> None:
    """Keep these events, in order, behind those kept before."""
    for start in range(0, len(events), PART):
        tx.state.kept_parts += 1
        tx.put(SETTING, _name(tx.state.kept_parts), {"events": list(events[start : start + PART])})


def read(tx: Tx) -> Iterator[dict[str, Any]]:
    """All events that were kept, in order, each with its number ``n``."""
    for part in range(1, tx.state.kept_parts + 1):
        body = tx.get(SETTING, _name(part))
        if body is None:
            raise TamperError("events that were kept from an older part of the log are missing.", hint="Restore a trusted copy.")
        yield from body["events"]


def _name(part: int) -> str:
    return f"kept events {part}"
