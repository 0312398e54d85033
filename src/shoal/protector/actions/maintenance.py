"""Maintenance: the master key used by people, in shares of at least two of them, and not by the service. The log says so."""

from __future__ import annotations

from shoal.errors import AccessError
from shoal.protector.actions.open_vault import OpenVault
from shoal.protector.crypto.master_keys import KeyProvider
from shoal.protector.log import beginning


def require_shares(vault: OpenVault, key: KeyProvider) -> None:
    """Refuse a whole key in one person's hands, unless the vault is for trying out."""
    with vault.store.read() as tx:
        trial = beginning.is_trial(tx)
    if not trial and not getattr(key, "shares", ()):
        raise AccessError(
            "the key of this vault stays with its service; here it is used by two people with their shares only.",
            hint="Work with --vault https://… or unix:…; for maintenance give --key-share twice.",
            reason="maintenance",
        )


def log(vault: OpenVault, key: KeyProvider) -> None:
    """Write into the log which shares opened the vault."""
    given = getattr(key, "shares", ())
    if given:
        with vault.store.write() as tx:
            detail = "shares " + ", ".join(str(n) for n in given)
            vault.recorder.record(tx, tx.now(vault.clock), "", "maintenance", detail=detail)
