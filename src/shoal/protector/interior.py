"""The inside of an open vault: domains with their keys, and the log, for sessions and upkeep."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from shoal.errors import AccessError, TamperError, UsageError
from shoal.protector.crypto.master_keys import KeyProvider, Secret
from shoal.protector.crypto.operations import derive
from shoal.protector.log import audit, resolution
from shoal.protector.pseudonyms import references
from shoal.protector.pseudonyms.domains import Domain
from shoal.protector.pseudonyms.minting import OpenDomain
from shoal.protector.store.storage import DOMAIN, KEY, Store, Tx

log = logging.getLogger("shoal.protector")


class Interior:
    """What a vault does for the people who work with it."""

    def __init__(self, store: Store, root: Secret, place: str, key: KeyProvider, clock: Callable[[], float]) -> None:
        self.store = store
        self.root = root
        self.place = place
        self.clock = clock
        self.key_id = key.key_id
        self.key_location = key.location
        self._open: dict[str, tuple[tuple[Any, ...], OpenDomain]] = {}
        self._lock = threading.Lock()
        self._failed_logins: list[float] = []

    def domain(self, tx: Tx, name: str, *, living: bool = True) -> Domain:
        """The settings of a domain; an unknown or shredded one is an error."""
        body = tx.get(DOMAIN, name)
        if body is None:
            raise UsageError(
                f"there is no domain '{name}' in this vault.",
                hint="An owner can make it with `shoal vault domain add`.",
                reason="unknown",
            )
        found = Domain.from_json(body)
        if living and found.shredded:
            raise AccessError(
                f"domain '{name}' was shredded on {found.shredded[:10]}: its keys are destroyed and nothing leads back.",
                reason="shredded",
            )
        return found

    def opened(self, tx: Tx, domain: Domain) -> OpenDomain:
        """A domain with its keys; kept while its key versions stay the same."""
        living = tuple(v for v, state, _ in domain.versions if state != "destroyed")
        mark = (living, domain)
        with self._lock:
            known = self._open.get(domain.id)
        if known is not None and known[0] == mark:
            return known[1]
        base = tx.get_secret(KEY, f"{domain.id} base")
        versions = {v: tx.get_secret(KEY, f"{domain.id} {v}") for v in living}
        present = {v: s for v, s in versions.items() if s is not None}
        if base is None or len(present) != len(living):
            raise TamperError(f"a key of domain '{domain.name}' is missing.", hint="Run `shoal vault verify`.")
        ready = OpenDomain(domain, base, present)
        with self._lock:
            self._open[domain.id] = (mark, ready)
        return ready

    def forget(self, domain: Domain) -> None:
        with self._lock:
            self._open.pop(domain.id, None)

    def new_domain_keys(self, tx: Tx, domain: Domain) -> Domain:
        """Draw the base key and key version 1 of a new domain, and fill its first slots with decoys."""
        tx.put_secret(KEY, f"{domain.id} base", Secret(os.urandom(32)))
        made = self.new_key_version(tx, domain, 1)
        tx.put(DOMAIN, made.name, made.to_json())
        if made.kind == "random":
            references.prepare(tx, self.opened(tx, made).keys)
        return made

    def new_key_version(self, tx: Tx, domain: Domain, version: int) -> Domain:
        secret = Secret(os.urandom(32))
        tx.put_secret(KEY, f"{domain.id} {version}", secret)
        fingerprint = derive(secret, "fingerprint").expose()[:4].hex()
        return replace(domain.with_version(version, "active", fingerprint), active=version)

    def remember_actor(self, tx: Tx, name: str) -> None:
        """Seal the actor's name behind its audit pseudonym."""
        resolution.remember(tx, audit.actor_pseudonym(self.store, name), name.encode())

    def record(self, tx: Tx, time: float, actor: str, action: str, *, outcome: str = "done", **details: Any) -> None:
        """Write one event into the log."""
        audit.append(tx, time, [self.event(actor, action, outcome=outcome, **details)])

    def event(self, actor: str, action: str, *, outcome: str = "done", **details: Any) -> dict[str, Any]:
        """An event with the actor under its audit pseudonym; alarms are also told to the program's own log."""
        if outcome == "alarm":
            log.warning("vault alarm: %s (%s)", action, details.get("reason", ""))
        name = audit.actor_pseudonym(self.store, actor) if actor else "A-unknown"
        return {"actor": name, "action": action, "outcome": outcome, **{k: v for k, v in details.items() if v not in (None, "")}}

    @contextlib.contextmanager
    def refusals_logged(self, actor: str, action: str, **details: Any) -> Iterator[None]:
        """Log a refusal in a transaction of its own, then let it go on."""
        try:
            yield
        except AccessError as refusal:
            reason = getattr(refusal, "reason", "refused")
            with self.store.write() as tx:
                now = tx.now(self.clock)
                self.record(tx, now, actor, action, outcome="refused", reason=reason, **details)
                if reason in ("honeytoken", "limit", "self-approval"):
                    self.record(tx, now, actor, action, outcome="alarm", reason=reason, **details)
            raise

    def _log_failed_login(self) -> None:
        """Log wrong tokens, at most ten a minute: a flood must not fill the log."""
        now = self.clock()
        with self._lock:
            self._failed_logins = [t for t in self._failed_logins if now - 60 < t <= now]
            full = len(self._failed_logins) >= 10
            self._failed_logins.append(now)
        if not full:
            with self.store.write() as tx:
                self.record(tx, tx.now(self.clock), "", "login", outcome="refused", reason="token")
