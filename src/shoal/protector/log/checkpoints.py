"""Checkpoints: Ed25519 signatures over the head of the log; sealed inside the vault, readable wherever they are kept outside.

Each is a signed tree head (RFC 9162): ``size`` and ``root`` of the Merkle tree over the hashes of the events. With it, anyone who
kept an older checkpoint sees from a short proof that the log continues it, and that an event is in it (:func:`prove`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from shoal.errors import DataError, TamperError, UsageError
from shoal.kernels.merkle import Frontier, Tree, is_consistent, is_included, leaf
from shoal.protector.crypto.primitives import Secret
from shoal.protector.store.connection import blob
from shoal.protector.store.database import Store, Tx, step
from shoal.protector.store.guard import chained
from shoal.protector.store.state import SETTING, SIGNER, padded

FORMAT = "shoal-audit-checkpoint/2"
_FORMATS = ("shoal-audit-checkpoint/1", FORMAT)
"""Those of Shoal 0.3.0 have no tree."""
_ADDED = ("signature", "public_key", "consistency", "inclusion")
"""What stands beside the signed text of a checkpoint that is kept outside."""
_BLOCK = 128


def sign_checkpoint(tx: Tx, time: float) -> dict[str, Any]:
    """Sign the head of the log; the checkpoint as it can be kept outside."""
    from shoal.protector.store.schema import checkpoints

    signers = tx.get(SIGNER, "list")
    secret = tx.get_secret(SIGNER, "active")
    if signers is None or secret is None:
        raise DataError("the vault has no signing key.")
    tree = log_tree(tx)
    body = {
        "format": FORMAT,
        "vault": tx.store.vault_id,
        "seq": tx.state.audit_seq,
        "head": tx.state.audit_head,
        "size": tree.size,
        "root": tree.root.hex(),
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
    return read_kept(checkpoint, {hashlib.sha256(public).hexdigest()[:16]: public}) is not None


def read_kept(checkpoint: Mapping[str, Any], keys: Mapping[str, bytes]) -> dict[str, Any] | None:
    """What a checkpoint kept outside says, if one of these keys signed it."""
    body = {name: value for name, value in checkpoint.items() if name not in _ADDED}
    text = json.dumps(body, separators=(",", ":"), sort_keys=True).encode()
    try:
        return read_signed(text, bytes.fromhex(str(checkpoint.get("signature", ""))), keys)
    except ValueError:
        return None


def opened_body(store: Store, seq: int, sealed: bytes) -> bytes:
    """The signed text of a stored checkpoint; nothing where it was altered."""
    try:
        return store.audit_box.open(sealed, _checkpoint_place(store, seq)).rstrip(b" ")
    except TamperError:
        return b""


def read_signed(text: bytes, signature: bytes, keys: Mapping[str, bytes]) -> dict[str, Any] | None:
    try:
        body = json.loads(text)
        public = keys.get(body.get("key", ""))
        if public is None or body.get("format") not in _FORMATS:
            return None
        Ed25519PublicKey.from_public_bytes(public).verify(signature, text)
    except (InvalidSignature, ValueError, AttributeError):
        return None
    return dict(body)


def log_tree(tx: Tx) -> Frontier:
    """The Merkle tree of the log as it stands; built once from the stored hashes for a vault that Shoal 0.3.0 made."""
    state = tx.state
    tree = Frontier.from_json(state.audit_seq - state.tree_from, state.tree)
    if tree is None:
        state.tree_from, state.retired_tree = state.retired_seq, []
        tree = Frontier().add(*_leaves(tx, state.retired_seq))
        state.tree = tree.to_json()
    return tree


def retired_tree(tx: Tx) -> Frontier:
    """The tree of the events that left the database."""
    log_tree(tx)
    tree = Frontier.from_json(tx.state.retired_seq - tx.state.tree_from, tx.state.retired_tree)
    if tree is None:
        raise TamperError("the tree of the log does not fit its events.", hint="Restore a trusted copy.")
    return tree


def _leaves(tx: Tx, after: int) -> Iterator[bytes]:
    rows = tx.all_of("SELECT hash FROM vault_audit WHERE seq > ? AND seq <= ? ORDER BY seq", after, tx.state.audit_seq)
    return (leaf(blob(entry)) for (entry,) in rows)


def prove(tx: Tx, now: float, *, since: int = 0, event: int = 0) -> dict[str, Any]:
    """Sign the log as it stands, with the proof that it continues the one at event ``since``, and that it has an event."""
    checkpoint, state = sign_checkpoint(tx, now), tx.state
    if not since and not event:
        return checkpoint
    first, last = state.retired_seq + 1, state.audit_seq
    if (since and not first - 1 <= since <= last) or (event and not first <= event <= last):
        hint = "Events that left it are in the archive: `shoal vault segments FOLDER`."
        raise UsageError(f"the database has the events {first} to {last}.", hint=hint)
    tree = Tree(_leaves(tx, state.retired_seq), retired_tree(tx))
    if since:
        checkpoint["consistency"] = {"since": since, "proof": [h.hex() for h in tree.consistency(since - state.tree_from)]}
    if event:
        previous = tx.first("SELECT hash FROM vault_audit WHERE seq = ?", event - 1)
        sealed = tx.first("SELECT sealed FROM vault_audit WHERE seq = ?", event)
        checkpoint["inclusion"] = {
            "event": event,
            "previous": state.retired_head if previous is None else blob(previous[0]).hex(),
            "sealed": blob(sealed[0]).hex(),
            "proof": [h.hex() for h in tree.inclusion(event - 1 - state.tree_from)],
        }
    return checkpoint


def check_proofs(checkpoint: Mapping[str, Any], earlier: Mapping[str, Any] | None = None) -> list[str]:
    """What is wrong with a checkpoint kept outside and its proofs, without vault or secret; ``earlier`` is an older one."""
    problems: list[str] = []
    try:
        key, size, root = bytes.fromhex(checkpoint["public_key"]), checkpoint["size"], bytes.fromhex(checkpoint["root"])
        if not signed_by(checkpoint, key):
            problems.append("the checkpoint has no valid signature.")
        offset = checkpoint["seq"] - size
        if earlier is not None:
            first, proof = earlier["size"], [bytes.fromhex(text) for text in checkpoint["consistency"]["proof"]]
            known = signed_by(earlier, bytes.fromhex(earlier["public_key"])) and earlier["vault"] == checkpoint["vault"]
            if not known or earlier["seq"] - first != offset:
                problems.append("the earlier checkpoint is not one of this vault.")
            elif not is_consistent(first, size, bytes.fromhex(earlier["root"]), root, proof):
                problems.append("the log does not continue the earlier checkpoint: events were changed or cut off.")
        if "inclusion" in checkpoint:
            given = checkpoint["inclusion"]
            head = chained(bytes.fromhex(given["previous"]), given["event"], bytes.fromhex(given["sealed"]))
            proof = [bytes.fromhex(text) for text in given["proof"]]
            if not is_included(leaf(head), given["event"] - 1 - offset, size, proof, root):
                problems.append(f"event {given['event']} is not in the log that was signed.")
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        problems.append("the checkpoint or its proof is not well formed.")
    return problems


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
