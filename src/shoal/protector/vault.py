"""The vault: create, open, log in; rotation, shredding and verification live in :mod:`shoal.protector.upkeep`.

>>> import os, tempfile
>>> from shoal.protector import keys
>>> os.environ["DOC_KEY"] = keys.generate()
>>> folder = tempfile.mkdtemp()
>>> made = Vault.create(f"{folder}/study.vault", key=keys.from_env("DOC_KEY"), owner="Anna", auditor="Ben",
...                     anchor=f"{folder}/anchor")
>>> owner = made.vault.login(made.owner_token)
>>> domain = owner.create_domain("study7")
>>> olga = made.vault.login(owner.add_actor("Olga", ["operator"]))
>>> first, again, other = olga.pseudonymize("study7", ["0012", "0012", "12"])
>>> first == again, first == other, len(first)
(True, False, 28)
>>> made.vault.close()
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time as _time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from shoal.errors import AccessError, DataError, TamperError, UsageError
from shoal.protector import actors, audit, migrate, references, resolution, upgrading
from shoal.protector import connection as storage
from shoal.protector.anchor import Anchor, Mark, default_path
from shoal.protector.crypto import Prf, derive
from shoal.protector.domains import Domain
from shoal.protector.keys import KeyProvider, KeyRefusedError, Secret, require_provider
from shoal.protector.minting import OpenDomain
from shoal.protector.store import DOMAIN, KEY, Store, Tx

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from shoal.protector.session import Session

log = logging.getLogger("shoal.protector")
FORMAT = b"shoal-vault/1"


@dataclass(frozen=True)
class Created:
    """A new vault, and the secrets that are shown once: tokens of owner and auditor, and their shares for the log."""

    vault: Vault
    owner_token: str
    auditor_token: str
    owner_share: str
    auditor_share: str

    def __repr__(self) -> str:
        return "<Created: tokens and shares are attributes>"


class Vault:
    """An open pseudonym vault. People work with it through :meth:`login`."""

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

    @classmethod
    def create(
        cls,
        place: str | Path,
        *,
        key: KeyProvider,
        owner: str,
        auditor: str,
        anchor: str | Path | None = None,
        clock: Callable[[], float] = _time.time,
    ) -> Created:
        """Make a vault at a path (SQLite) or PostgreSQL URL; nothing that exists is overwritten."""
        provider = require_provider(key)
        if actors.same_name(owner, auditor):
            raise UsageError("owner and auditor must be two people.", hint="Name another auditor.")
        _check_separation(place, provider)
        engine = storage.connect(place)
        vault_id = os.urandom(16).hex()
        root = Secret(os.urandom(32))
        vault = cls(_store(engine, vault_id, root, provider, anchor), root, str(place), provider, clock)
        fresh = vault.store.anchor
        assert fresh is not None
        if fresh.exists():
            raise UsageError(f"the anchor file '{fresh.path.name}' belongs to another vault.", hint="Name a new one.")

        def prepare(connection: Connection) -> None:
            if migrate.version(connection) is not None:
                raise UsageError(
                    f"there is a vault at {storage.describe(place)} already.", hint="Open it, or name another place."
                )
            migrate.upgrade(connection)
            _write_meta(connection, vault_id, provider, root)
            vault.store.begin(connection)

        try:
            fresh.create(Mark(0, 0, audit.ZERO))
            return vault._begin(prepare, owner, auditor)
        except BaseException:
            fresh.path.unlink(missing_ok=True)
            engine.dispose()
            raise

    def _begin(self, prepare: Callable[[Connection], None], owner: str, auditor: str) -> Created:
        """The first transaction: tables, keys, the first two people."""
        with self.store.write(prepare) as tx:
            now = tx.now(self.clock)
            audit.new_signer(tx)
            shares = resolution.create(tx)
            for name, role in ((owner, "owner"), (auditor, "auditor")):
                actors.add(tx, name, [role], now)
                self.remember_actor(tx, name)
            tokens = actors.issue_token(tx, owner), actors.issue_token(tx, auditor)
            self.record(tx, now, owner, "create", detail="vault")
        return Created(self, *tokens, *shares)

    @classmethod
    def open(
        cls,
        place: str | Path,
        *,
        key: KeyProvider,
        anchor: str | Path | None = None,
        accept: str | None = None,
        clock: Callable[[], float] = _time.time,
    ) -> Vault:
        """Open a vault; an older or damaged database is refused.

        ``accept`` is an owner's token: with it, a machine that has no anchor yet (or one that contradicts a database
        restored on purpose) takes the present state as its beginning, and the log says so.
        """
        provider = require_provider(key)
        if "://" not in str(place) and not Path(place).is_file():
            raise DataError(f"there is no vault at {storage.describe(place)}.", hint="Make one with `shoal vault init`.")
        _check_separation(place, provider)
        engine = storage.connect(place)
        try:
            with storage.engine_errors(), engine.connect() as connection:
                migrate.require_current(connection, place=storage.describe(place))
                vault_id, root = _read_meta(connection, provider)
            vault = cls(_store(engine, vault_id, root, provider, anchor), root, str(place), provider, clock)
            vault._meet_anchor(accept)
        except BaseException:
            engine.dispose()
            raise
        return vault

    @classmethod
    def migrate(
        cls, place: str | Path, *, key: KeyProvider, anchor: str | Path | None = None, clock: Callable[[], float] = _time.time
    ) -> None:
        """Bring the tables of a vault to the version of this program: in one transaction, whole or not at all."""
        provider = require_provider(key)
        engine = storage.connect(place)
        try:
            with storage.engine_errors(), engine.connect() as connection:
                migrate.require_known(connection, place=storage.describe(place))
                vault_id, root = _read_meta(connection, provider)
            vault = cls(_store(engine, vault_id, root, provider, anchor), root, str(place), provider, clock)
            vault._meet_anchor(None)
            with vault.store.write(migrate.upgrade) as tx:
                if upgrading.is_needed(tx):
                    vault._convert(tx)
                vault.record(tx, tx.now(clock), "", "migrate", detail=f"tables of version {migrate.HEAD}")
        finally:
            engine.dispose()

    def _convert(self, tx: Tx) -> None:
        """Bring the rows of all domains into today's form."""
        for domain in map(Domain.from_json, tx.all(DOMAIN)):
            if domain.kind == "random" and domain.shredded:
                upgrading.forget(tx, domain.number)
            elif domain.kind == "random":
                upgrading.convert(tx, self.opened(tx, domain).keys)
        upgrading.drop_rows(tx)

    def _meet_anchor(self, accept: str | None) -> None:
        anchor = self.store.anchor
        assert anchor is not None
        if accept is not None:
            self._accept_anchor(anchor, accept)
        elif not anchor.exists():
            raise TamperError(
                f"this machine has no anchor for the vault (looked for '{anchor.path.name}').",
                hint="On a new machine, an owner accepts the present state with `shoal vault anchor --accept`.",
            )
        self.store.check_anchor()

    def _accept_anchor(self, anchor: Anchor, token: str) -> None:
        self.store.anchor = None
        try:
            with self.store.write() as tx:
                now = tx.now(self.clock)
                who = actors.who(tx, actors.token_digest(self.store, token), now)
                who.require("anchor")
                self.record(tx, now, who.name, "anchor", detail="accepted")
                state = tx.state
        finally:
            self.store.anchor = anchor
        anchor.create(state.mark)

    def close(self) -> None:
        """Close the connections."""
        self.store.engine.dispose()

    def __enter__(self) -> Vault:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def id(self) -> str:
        return self.store.vault_id

    def login(self, token: str) -> Session:
        """A session of the person who holds this token; a wrong token is refused and logged."""
        from shoal.protector.session import Session

        digest = actors.token_digest(self.store, token)
        try:
            with self.store.read() as tx:
                found = actors.who(tx, digest, max(self.clock(), tx.state.clock))
        except AccessError as refusal:
            self._log_failed_login()
            raise refusal from None
        return Session(self, digest, found)

    def status(self) -> dict[str, Any]:
        """What may be told without logging in: ids and places, the proof that key and data are kept apart."""
        with self.store.read() as tx:
            return {
                "vault": self.id,
                "place": storage.describe(self.place),
                "storage": self.store.dialect,
                "generation": tx.state.generation,
                "audit_events": tx.state.audit_seq,
                "master_key": self.key_id,
                "key_kept_in": "environment" if self.key_location == "environment" else "another place",
                "anchor": str(self.store.anchor.path.name) if self.store.anchor else "",
                "domains": len(tx.all(DOMAIN)),
                "signing_keys": audit.signing_keys(tx),
            }

    # -- used by sessions and upkeep -------------------------------------------------------------------------------

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
        from dataclasses import replace

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

    def __repr__(self) -> str:
        return f"<Vault {self.id[:8]} at {storage.describe(self.place)}>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a vault cannot be pickled or copied")


def _store(engine: Any, vault_id: str, root: Secret, key: KeyProvider, anchor: str | Path | None) -> Store:
    store = Store(engine, vault_id, root)
    path = Path(anchor) if anchor is not None else default_path(vault_id, key.location)
    store.anchor = Anchor(path, Prf(derive(root, "anchor", context=store.bound)), store.bound)
    return store


def _check_separation(place: str | Path, key: KeyProvider) -> None:
    """Refuse a key file in the folder of the vault: whoever steals one steals both."""
    if "://" in str(place) or not os.path.isabs(key.location):
        return
    if Path(key.location).parent == Path(place).resolve().parent:
        raise KeyRefusedError(
            "the master key lies in the same folder as the vault: whoever copies one copies both.",
            hint="Move the key file to another folder, better to another machine or a secret store.",
        )


def _context(vault_id: str) -> bytes:
    return b"shoal-vault root key " + bytes.fromhex(vault_id)


def _write_meta(connection: Any, vault_id: str, key: KeyProvider, root: Secret) -> None:
    from shoal.protector.schema import meta

    values = {
        "format": FORMAT,
        "vault": bytes.fromhex(vault_id),
        "master_key": key.key_id.encode(),
        "root": key.wrap(root.expose(), _context(vault_id)),
    }
    for name, value in values.items():
        connection.execute(meta.delete().where(meta.c.name == name))
        connection.execute(meta.insert().values(name=name, value=value))


def _read_meta(connection: Any, key: KeyProvider) -> tuple[str, Secret]:
    from shoal.protector.schema import meta

    found = {row.name: bytes(row.value) for row in connection.execute(meta.select()).all()}
    if found.get("format") != FORMAT or len(found.get("vault", b"")) != 16 or "root" not in found:
        raise TamperError("the vault's head record is missing or altered.", hint="Restore the database from a trusted copy.")
    vault_id = found["vault"].hex()
    return vault_id, Secret(key.unwrap(found["root"], _context(vault_id)))
