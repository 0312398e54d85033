"""Rotation: new keys for a domain, the vault or the log, while the vault stays in use."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import UsageError
from shoal.protector.crypto.master_keys import KeyProvider, require_provider
from shoal.protector.log import checkpoints, segments, shares, witness
from shoal.protector.pseudonyms.domains import Domain
from shoal.protector.store import entries, head, index, pages
from shoal.protector.store.anchor import default_path, replace_path
from shoal.protector.store.database import Tx, step
from shoal.protector.store.pages import PER_PAGE
from shoal.protector.store.state import DOMAIN, KEY

if TYPE_CHECKING:
    from shoal.protector.actions.frame import OpenVault
    from shoal.protector.pseudonyms.minting import OpenDomain
    from shoal.protector.session import Session


_CHUNK = 20_000


def rotate_domain(session: Session, name: str) -> Domain:
    """A new key version for a domain, while it stays in use; takes a second person, as every rotation does.

    ``random``: every row is sealed again, part by part, pseudonyms stay, and the old key is destroyed at the end. Other kinds:
    new pseudonyms come from the new key; the old key is retired and still leads back (see :func:`destroy_key`).
    """
    with session.frame.reading("rotate") as (tx, _):
        broken_off = bool(session.vault.keyring.domain(tx, name).reseal)
    change = None if broken_off else session.frame.agreed("rotate", name, key="domain")
    with session.frame.acting("rotate", name) as (tx, now):
        domain = session.vault.keyring.domain(tx, name)
        old = domain.active
        if domain.reseal or change is None:
            rotated = domain  # an earlier rotation was broken off: go on with it
        else:
            session.frame.use(tx, now, change)
            if old >= 250:
                raise UsageError("a domain can have at most 250 key versions.", hint="Make a new domain and translate.")
            rotated = session.vault.keyring.new_version(tx, domain.with_version(old, "retired"), old + 1)
            rotated = replace(rotated, reseal=1 if rotated.kind == "random" else 0)
            tx.put(DOMAIN, name, rotated.to_json())
            session.frame.log(tx, now, "rotate", domain=name, key=rotated.key_id, detail="new key version")
    while rotated.reseal:
        rotated = _reseal_part(session, name)
    return rotated


def _reseal_part(session: Session, name: str) -> Domain:
    """Seal the next part of the rows under the newest key; at the end destroy the older ones."""
    with session.frame.acting("rotate", name) as (tx, now):
        domain = session.vault.keyring.domain(tx, name)
        opened = session.vault.keyring.opened(tx, domain)
        resealed = replace(domain, reseal=_reseal_pages(tx, opened, domain.reseal))
        if not resealed.reseal:
            for version, state, _ in domain.versions:
                if version != domain.active and state != "destroyed":
                    tx.remove(KEY, f"{domain.id} {version}")
                    index.drop(tx, domain.number, version)
                    resealed = resealed.with_version(version, "destroyed")
            session.frame.log(
                tx, now, "rotate", domain=name, key=resealed.key_id, detail="all rows sealed again, old key destroyed"
            )
        tx.put(DOMAIN, name, resealed.to_json())
    return resealed


def _reseal_pages(tx: Tx, opened: OpenDomain, slot: int) -> int:
    """Seal the pages from that of ``slot`` on under the newest key; the next slot, or 0 at the end."""
    keys = opened.keys
    last = tx.rows(keys.number).slots // PER_PAGE
    first = (slot - 1) // PER_PAGE
    numbers = np.arange(first, min(first + max(1, _CHUNK // PER_PAGE), last))
    records = pages.read(tx, keys, numbers).reshape(-1).copy()
    older = np.flatnonzero(pages.is_head(records) & (records["version"] != keys.active))
    texts = pages.texts(tx, keys, records[older])
    digest, size = keys.newest.index.digest, entries.LOOKUP_BYTES
    lookups = entries.pairs(b"".join([digest(context + opened.matched(identity))[:size] for context, identity in texts]))
    records["lookup"][older] = lookups
    records["version"][older] = keys.active
    pages.write(tx, keys, numbers, records.reshape(-1, PER_PAGE))
    step("entries")
    entries.index_of(tx, keys, keys.active).add(lookups[:, 0].astype(np.uint64), first * PER_PAGE + older + 1)
    after = first + len(numbers)
    return after * PER_PAGE + 1 if after < last else 0


def destroy_key(session: Session, name: str, version: int) -> Domain:
    """Destroy a retired key version: its pseudonyms no longer lead back."""
    with session.frame.by_two("rotate", name, destroy=version) as (tx, now):
        domain = session.vault.keyring.domain(tx, name)
        state = {v: s for v, s, _ in domain.versions}.get(version)
        if state != "retired" or domain.reseal:
            raise UsageError(f"key version {version} is not a retired one.", hint="Rotate first; the key in use stays.")
        tx.remove(KEY, f"{domain.id} {version}")
        destroyed = domain.with_version(version, "destroyed")
        tx.put(DOMAIN, name, destroyed.to_json())
        session.frame.log(tx, now, "rotate", domain=name, detail=f"key version {version} destroyed")
    return destroyed


def rotate_master(session: Session, new_key: KeyProvider) -> str:
    """Wrap the vault's root key with another master key; open vaults go on working. The new key's id."""
    provider = require_provider(new_key)
    head.require_separation(session.vault.place, provider)
    vault = session.vault
    share_set = getattr(provider, "share_set", None)
    shares_note = (
        "none: a whole key"
        if share_set is None
        else f"{share_set.needed} of {share_set.count} are needed ({share_set.digest[:16]})"
    )
    with session.frame.by_two("rotate", master_key=provider.key_id, shares=shares_note) as (tx, now):
        from shoal.protector.store.schema import meta

        wrapped = provider.wrap(vault.root.expose(), head.context(vault.id))
        for name, value in (("root", wrapped), ("master_key", provider.key_id.encode())):
            tx.connection.execute(meta.update().where(meta.c.name == name).values(value=value))
        shares.keep_set(tx, provider)
        session.frame.log(tx, now, "rotate", detail=f"master key {vault.key_id} to {provider.key_id}")
    _move_anchor(vault, provider)
    vault.key_id, vault.key_location = provider.key_id, provider.location
    return provider.key_id


def _move_anchor(vault: OpenVault, provider: KeyProvider) -> None:
    """Where the anchor stands beside the key, let one stand beside the new key too."""
    old = vault.store.anchor
    target = default_path(vault.id, provider.location)
    if old is not None and old.path == default_path(vault.id, vault.key_location) and target != old.path:
        mark = old.read()
        vault.store.anchor = replace_path(old, target)
        vault.store.anchor.create(mark)


def rotate_signer(session: Session) -> str:
    """A new key for signing the log; checkpoints of the old one stay valid. Its id."""
    with session.frame.by_two("rotate", key="signing") as (tx, now):
        session.frame.log(tx, now, "rotate", detail="last event signed by the old signing key")
        key_id = checkpoints.new_signer(tx)
        session.frame.log(tx, now, "rotate", detail=f"signing key {key_id}")
    return key_id


def retire_log(session: Session, upto: int, head: str) -> dict[str, Any]:
    """Take the events up to ``upto`` out of the database, where the log was signed with the hash ``head``.

    Both end an archive that was checked (:func:`shoal.protector.log.segments.check`). The confirming person compares them
    with the archive first: what left the database is only there, but for the events that :mod:`shoal.protector.log.segments`
    keeps.
    """
    frame = session.frame
    with frame.reading("retire") as (tx, _):
        signed, places = segments.signed_end(tx, upto, head), witness.places(tx)
    change = frame.agreed("retire", upto=upto, head=head)
    witness.send(places, signed)
    with frame.acting("retire") as (tx, now):
        frame.use(tx, now, change)
        done = segments.retire(tx, upto, head)
        frame.log(tx, now, "retire", upto=upto, count=done["events"], kept=done["kept"])
    return {"upto": upto, "head": head, **done}
