"""The domains of an open vault with their keys."""

from __future__ import annotations

import os
import threading
from dataclasses import replace

from shoal.errors import AccessError, TamperError, UsageError
from shoal.protector.crypto.primitives import Opaque, Secret, derive
from shoal.protector.pseudonyms import references
from shoal.protector.pseudonyms.domains import Domain
from shoal.protector.pseudonyms.minting import OpenDomain
from shoal.protector.store.database import Tx
from shoal.protector.store.state import DOMAIN, KEY


class Keyring(Opaque):
    """Finds domains and opens them; an open domain is kept as long as its settings and key versions stay the same."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[Domain, OpenDomain]] = {}
        self._lock = threading.Lock()

    def domain(self, tx: Tx, name: str) -> Domain:
        """The settings of a domain; an unknown or shredded one is an error."""
        body = tx.get(DOMAIN, name)
        if body is None:
            hint = "An owner can make it with `shoal vault domain add`."
            raise UsageError(f"domain '{name}' is not in this vault.", hint=hint, reason="unknown")
        read = Domain.from_json(body)
        if read.shredded:
            what = f"domain '{name}' was shredded on {read.shredded[:10]}: its keys are destroyed and nothing leads back."
            raise AccessError(what, reason="shredded")
        return read

    def opened(self, tx: Tx, domain: Domain) -> OpenDomain:
        with self._lock:
            known = self._open.get(domain.id)
        if known is not None and known[0] == domain:
            return known[1]
        living = [v for v, state, _ in domain.versions if state != "destroyed"]
        base = tx.get_secret(KEY, f"{domain.id} base")
        versions = {v: tx.get_secret(KEY, f"{domain.id} {v}") for v in living}
        present = {v: s for v, s in versions.items() if s is not None}
        if base is None or len(present) != len(living):
            raise TamperError(f"a key of domain '{domain.name}' is missing.", hint="Run `shoal vault verify`.")
        ready = OpenDomain(domain, base, present)
        with self._lock:
            self._open[domain.id] = (domain, ready)
        return ready

    def forget(self, domain: Domain) -> None:
        """Drop the keys of a domain from memory."""
        with self._lock:
            self._open.pop(domain.id, None)

    def new_domain(self, tx: Tx, domain: Domain) -> Domain:
        """Store a new domain with its base key and key version 1, and fill its first slots with decoys."""
        tx.put_secret(KEY, f"{domain.id} base", Secret(os.urandom(32)))
        domain_keys = self.new_version(tx, domain, 1)
        tx.put(DOMAIN, domain_keys.name, domain_keys.to_json())
        if domain_keys.kind == "random":
            references.prepare(tx, self.opened(tx, domain_keys).keys)
        return domain_keys

    def new_version(self, tx: Tx, domain: Domain, version: int) -> Domain:
        """Draw a key version and make it the active one; the domain as it is to be stored."""
        secret = Secret(os.urandom(32))
        tx.put_secret(KEY, f"{domain.id} {version}", secret)
        fingerprint = derive(secret, "fingerprint").expose()[:4].hex()
        return replace(domain.with_version(version, "active", fingerprint), active=version)
