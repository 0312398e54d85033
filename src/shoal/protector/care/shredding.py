"""Crypto-shredding: the keys of a domain destroyed, with a signed certificate that can be checked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import TamperError, UsageError
from shoal.protector.care.checking import check_objects
from shoal.protector.log import checkpoints
from shoal.protector.pseudonyms.domains import Domain
from shoal.protector.store.database import Tx
from shoal.protector.store.entries import size_class
from shoal.protector.store.state import DOMAIN, KEY, SIGNER

if TYPE_CHECKING:
    from shoal.protector.actions.frame import OpenVault
    from shoal.protector.session import Session

FORMAT = "shoal-shred/1"


def shred(session: Session, name: str, *, confirm: str) -> dict[str, Any]:
    """Destroy every key of a domain: nothing leads back from its pseudonyms, for anybody, ever. A signed certificate."""
    if confirm != name:
        raise UsageError("shredding cannot be undone: confirm it by repeating the name of the domain.")
    vault = session.vault
    with session.frame.by_two("shred", name) as (tx, now):
        domain = vault.keyring.domain(tx, name)
        names = [f"{domain.id} base", *(f"{domain.id} {v}" for v, _, _ in domain.versions)]
        sealed = [s for s in (tx.remove(KEY, n) for n in names) if s is not None]
        stamp = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
        dead = replace(domain, shredded=stamp, reseal=0)
        for version, _, _ in domain.versions:
            dead = dead.with_version(version, "destroyed")
        tx.put(DOMAIN, name, dead.to_json())
        session.frame.log(tx, now, "shred", domain=name, key=domain.key_id)
        body = {
            "format": FORMAT,
            "vault": vault.id,
            "domain": domain.id,
            "name": name,
            "keys": [{"version": v, "fingerprint": f} for v, _, f in domain.versions],
            "identities_at_most": size_class(tx.rows(domain.number).used),
            "time": stamp,
            "audit_seq": tx.state.audit_seq,
            "audit_head": tx.state.audit_head,
            "master_key": vault.key_id,
        }
    vault.keyring.forget(domain)
    scrub(vault, sealed)
    with vault.store.read() as tx:
        return signed(tx, body)


def check_shred(vault: OpenVault, certificate: Mapping[str, Any]) -> None:
    """Refuse a shred certificate that is forged, or that the vault contradicts (a key came back)."""
    body = {k: v for k, v in certificate.items() if k not in ("signature", "key")}
    with vault.store.read() as tx:
        keys = {k["id"]: bytes.fromhex(k["public"]) for k in checkpoints.signing_keys(tx)}
        if body.get("format") != FORMAT or not _signature_holds(keys, certificate, body):
            raise TamperError("the shred certificate does not carry this vault's signature.")
        domain = Domain.from_json(tx.get(DOMAIN, str(body["name"])) or {})
        names = [f"{domain.id} base", *(f"{domain.id} {v}" for v, _, _ in domain.versions)]
        if not domain.shredded or any(tx.get_secret(KEY, n) is not None for n in names):
            raise TamperError("the domain of the shred certificate has keys again.", hint="An old copy was put back.")
        problems: list[str] = []
        check_objects(tx, problems)
        if problems:
            raise TamperError(problems[0])


def signed(tx: Tx, body: dict[str, Any]) -> dict[str, Any]:
    """A certificate: the body with the vault's signature."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    secret = tx.get_secret(SIGNER, "active")
    assert secret is not None
    signature = Ed25519PrivateKey.from_private_bytes(secret.expose()).sign(_canonical(body))
    return {**body, "key": checkpoints.signing_keys(tx)[-1]["id"], "signature": signature.hex()}


def _signature_holds(keys: Mapping[str, bytes], given: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        public = Ed25519PublicKey.from_public_bytes(keys[str(given["key"])])
        public.verify(bytes.fromhex(str(given["signature"])), _canonical(body))
    except (InvalidSignature, KeyError, ValueError):
        return False
    return True


def _canonical(body: Mapping[str, Any]) -> bytes:
    return json.dumps(dict(body), separators=(",", ":"), sort_keys=True).encode()


def scrub(vault: OpenVault, sealed: Sequence[bytes]) -> None:
    """Remove what was destroyed from the files of the database too, and look whether it is gone."""
    engine = vault.store.engine
    if vault.store.dialect == "sqlite":
        with engine.connect() as connection:
            connection.exec_driver_sql("VACUUM")
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.commit()
        for suffix in ("", "-wal"):
            file = Path(f"{vault.place}{suffix}")
            content = file.read_bytes() if file.is_file() else b""
            if any(s in content for s in sealed):
                raise TamperError(
                    "what was destroyed is still in the database file: a reader holds an old view.",
                    hint="Close other programs that have the vault open and run `shoal vault verify`.",
                )
    else:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            for table in ("vault_objects", "vault_entries", "vault_index"):
                connection.exec_driver_sql(f"VACUUM FULL {table}")
