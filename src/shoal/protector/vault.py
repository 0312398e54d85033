"""The vault: create, open, log in; rotation, shredding and full checks are in :mod:`shoal.protector.care`.

>>> import os, tempfile
>>> from shoal.protector import keys
>>> os.environ["DOC_KEY"] = keys.generate()
>>> folder = tempfile.mkdtemp()
>>> made = Vault.create(f"{folder}/study.vault", key=keys.from_env("DOC_KEY"), owner="Anna", auditor="Ben",
...                     anchor=f"{folder}/anchor")
>>> owner = made.vault.login(made.owner_token)
>>> domain = owner.create_domain("study7")
>>> proposed = owner.add_actor("Olga", ["operator"])
>>> confirmed = made.vault.login(made.auditor_token).confirm(proposed.id)
>>> olga = made.vault.login(made.vault.enrol(proposed.code, confirmed.code))
>>> first, again, other = olga.pseudonymize("study7", ["0012", "0012", "12"])
>>> first == again, first == other, len(first)
(True, False, 28)
>>> made.vault.close()
"""

from __future__ import annotations

import functools
import os
import time as _time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from shoal.errors import AccessError, DataError, TamperError, UsageError
from shoal.model.names import alike
from shoal.protector.actions import frame
from shoal.protector.actions.frame import OpenVault
from shoal.protector.crypto import recipients
from shoal.protector.crypto.master_keys import KeyProvider, require_provider
from shoal.protector.crypto.primitives import Secret
from shoal.protector.log import audit, checkpoints, shares, witness
from shoal.protector.people import accounts
from shoal.protector.pseudonyms.keyring import Keyring
from shoal.protector.session import Session
from shoal.protector.store import connection as database
from shoal.protector.store import head
from shoal.protector.store.anchor import Anchor, Mark
from shoal.protector.store.database import Store, Tx
from shoal.protector.store.state import ACTOR, CHANGE, DOMAIN, REQUEST

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True)
class Created:
    """A new vault, and the secrets that are shown once: the owner's token, the code with which the auditor claims hers, and
    their shares for the log.

    Where the auditor gave her key, code and share are only in ``auditor_sealed``; she alone opens it
    (:func:`.log.beginning.opened_by`).
    """

    vault: Vault
    owner_token: str
    auditor_code: str
    owner_share: str
    auditor_share: str
    auditor_sealed: str = ""

    @functools.cached_property
    def auditor_token(self) -> str:
        """Claim the auditor's token here and now, for trying out alone: in earnest the auditor does it herself."""
        return self.vault.enrol(self.auditor_code)

    def __repr__(self) -> str:
        return "<Created: tokens and shares are attributes>"


class Vault:
    """An open pseudonym vault. People work with it through :meth:`login`."""

    def __init__(self, store: Store, root: Secret, place: str, key: KeyProvider, clock: Callable[[], float]) -> None:
        self._open = OpenVault(store, root, place, key.key_id, key.location, clock)

    @property
    def id(self) -> str:
        return self.store.vault_id

    @property
    def store(self) -> Store:
        """The sealed database."""
        return self._open.store

    @property
    def keyring(self) -> Keyring:
        """The domains with their keys."""
        return self._open.keyring

    @classmethod
    def create(
        cls,
        place: str | Path,
        *,
        key: KeyProvider,
        owner: str,
        auditor: str,
        auditor_key: str = "",
        anchor: str | Path | None = None,
        witnesses: Sequence[str] = (witness.LOCAL,),
        parts: int = 1,
        clock: Callable[[], float] = _time.time,
    ) -> Created:
        """Make a vault at a path (SQLite) or PostgreSQL URL; nothing that exists is overwritten.

        ``auditor_key`` is a public key that the auditor made (:func:`shoal.protector.crypto.recipients.generate`): what is hers
        is sealed to it, so that anyone who makes the vault never holds the means of two people. Without it, one person does: the
        vault is for trying out, and says so for ever (:meth:`status`, :func:`care.verify_log`). ``parts``: on PostgreSQL, the
        tables that grow with the identities lie in so many parts. ``witnesses`` are files or addresses that take the
        signed head of the log before an identity leaves (:mod:`.log.witness`), by default a file of this machine; later, two
        people change them.
        """
        provider = require_provider(key)
        if auditor_key:
            recipients.check(auditor_key)
        witness.check(witnesses)
        if alike(owner, auditor):
            raise UsageError("owner and auditor must be two people.", hint="Name another auditor.")
        head.require_separation(place, provider)
        engine = database.connect(place)
        vault_id = os.urandom(16).hex()
        root = Secret(os.urandom(32))
        vault = cls(head.new_store(engine, vault_id, root, provider, anchor), root, str(place), provider, clock)
        fresh = vault.store.anchor
        assert fresh is not None
        for file in (fresh.path, vault.store.witness):
            if file.exists():
                raise UsageError(f"the anchor or witness '{file.name}' belongs to another vault.", hint="Name a new one.")

        def prepare(connection: Connection) -> None:
            if head.exists(connection):
                hint = "Open it, or name another place."
                raise UsageError(f"there is a vault at {database.describe(place)} already.", hint=hint)
            head.create(connection, vault_id, provider, root, parts)
            vault.store.begin(connection)

        try:
            fresh.create(Mark(0, 0, audit.ZERO))
            return vault._begin(prepare, owner, auditor, auditor_key, provider, witnesses)
        except BaseException:
            fresh.path.unlink(missing_ok=True)
            vault.store.witness.unlink(missing_ok=True)
            engine.dispose()
            raise

    def _begin(
        self,
        prepare: Callable[[Connection], None],
        owner: str,
        auditor: str,
        auditor_key: str,
        key: KeyProvider,
        witnesses: Sequence[str],
    ) -> Created:
        """The first transaction: tables, keys, the first two people."""
        with self.store.write(prepare) as tx:
            now = tx.now(self._open.clock)
            checkpoints.new_signer(tx)
            own, other = shares.create(tx)
            shares.begin(tx, auditor_key)
            shares.keep_set(tx, key)
            if witnesses:
                witness.put(tx, witnesses)
            for name, role in ((owner, "owner"), (auditor, "auditor")):
                accounts.add(tx, name, [role], now)
                self._open.recorder.remember_actor(tx, name)
            code = accounts.new_code()
            accounts.invite(tx, auditor, [code], now)
            token = accounts.issue_token(tx, owner, now)
            self._open.recorder.record(tx, now, owner, "create", detail="vault" if auditor_key else "trial vault, by one person")
        if not auditor_key:
            return Created(self, token, code, own, other)
        return Created(self, token, "", own, "", shares.sealed(auditor_key, code, other, self.id))

    @classmethod
    def open(
        cls,
        place: str | Path,
        *,
        key: KeyProvider,
        anchor: str | Path | None = None,
        accept: tuple[str, str] | None = None,
        maintenance: bool = False,
        clock: Callable[[], float] = _time.time,
    ) -> Vault:
        """Open a vault; an older or damaged database is refused.

        ``maintenance``: the key is used by a person and not by the service. Then it comes in shares, from two people at least
        (unless the vault is for trying out), and the log says so.

        ``accept`` are the tokens of an owner and of a second person (another owner, or the auditor): with them, a machine that
        has no anchor yet (or one that contradicts a database restored on purpose) takes the present state as its beginning. The
        log keeps both, generation and number of events before and after, and :func:`care.verify_log` says so for ever.
        """
        provider = require_provider(key)
        if "://" not in str(place) and not Path(place).is_file():
            raise DataError(f"no vault exists at {database.describe(place)}.", hint="Make one with `shoal vault init`.")
        head.require_separation(place, provider)
        engine = database.connect(place)
        try:
            with database.engine_errors():
                head.upgrade(engine)
            with database.engine_errors(), engine.connect() as connection:
                vault_id, root = head.read(connection, provider, place=database.describe(place))
            vault = cls(head.new_store(engine, vault_id, root, provider, anchor), root, str(place), provider, clock)
            vault.store.require_own_tables()
            if maintenance:
                frame.require_shares(vault._open, provider)
            vault._meet_anchor(accept)
            if maintenance:
                frame.log_maintenance(vault._open, provider)
        except BaseException:
            engine.dispose()
            raise
        return vault

    def _meet_anchor(self, accept: tuple[str, str] | None) -> None:
        anchor = self.store.anchor
        assert anchor is not None
        if accept is not None:
            self._accept_anchor(anchor, accept)
        elif not anchor.exists():
            hint = "On a new machine, an owner accepts the present state with `shoal vault anchor --accept`."
            raise TamperError(f"this machine has no anchor for the vault (looked for '{anchor.path.name}').", hint=hint)
        self.store.check_anchor()
        if accept is None:
            with self.store.read() as tx:
                audit.check_witnesses(tx, witness.checkpoints_of(tx))

    def _accept_anchor(self, anchor: Anchor, tokens: tuple[str, str]) -> None:
        known = anchor.known()
        self.store.anchor = None
        try:
            with self.store.write() as tx:
                then, now = tx.state.clock, max(tx.state.clock, self._open.clock())
                owner, together = self._two(tx, tokens, "anchor", then, now)  # tokens as this state knows them
                tx.state.clock = now
                theirs = witness.checkpoints_of(tx, accepting=True)
                witness.begin_again(tx, [body for body, _ in audit.contradictions(tx, theirs)])
                details: dict[str, Any] = {
                    "generation": tx.state.generation,
                    "events": tx.state.audit_seq,
                    "generation_before": None if known is None else known.generation,
                    "events_before": None if known is None else known.audit_seq,
                }
                self._open.recorder.record(tx, now, owner, "anchor", detail="accepted", together_with=together, **details)
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

    def login(self, token: str) -> Session:
        """A session of the person who holds this token; a wrong token is refused and logged."""
        digest = accounts.token_digest(self.store, token)
        try:
            with self.store.read() as tx:
                caller = accounts.caller(tx, digest, tx.now(self._open.clock))
        except AccessError as refusal:
            self._open.recorder.failed_login()
            raise refusal from None
        return Session(self._open, digest, caller.name)

    def enrol(self, *codes: str) -> str:
        """The token of the person who holds these codes: claimed once, by herself. A wrong code is refused and logged."""
        try:
            with self.store.write() as tx:
                now = tx.now(self._open.clock)
                name, token = accounts.claim(tx, codes, now)
                self._open.recorder.record(tx, now, name, "enrol")
        except AccessError as refusal:
            self._open.recorder.failed_login()
            raise refusal from None
        return token

    def break_glass(self, owner_share: str, auditor_share: str, *, name: str = "") -> str:
        """A token for an auditor or owner, for the two shares made with the vault; the log says so, with an alarm.

        Only while nobody of that role can log in: the first auditor, then the first owner, unless ``name`` says who. Owner and
        auditor keep their shares apart from their tokens: the shares together are the break-glass key.
        """
        with self._open.recorder.refusals("", "break-glass"), self.store.write() as tx:
            now = tx.now(self._open.clock)
            shares.join(tx, owner_share, auditor_share)
            missing = [role for role in ("auditor", "owner") if not accounts.can_log_in(tx, role, now)]
            if not missing:
                raise AccessError("an auditor and an owner can log in: the break-glass key is not needed.", reason="oversight")
            people = sorted((a for a in tx.all(ACTOR) if a["enabled"]), key=lambda a: a["created"])
            names = [a["name"] for role in missing for a in people if role in a["roles"]]
            if not names or (name and name not in names):
                hint = "Leave the name out for the first one."
                raise UsageError(f"this person is not an {' or '.join(missing)} of the vault.", hint=hint)
            token = accounts.issue_token(tx, name or names[0], now)
            self._open.recorder.record(tx, now, name or names[0], "break-glass")
            self._open.recorder.record(tx, now, name or names[0], "break-glass", outcome="alarm", reason="oversight")
        return token

    def correct_time(self, owner_token: str, second_token: str) -> None:
        """Take the clock of this machine as the vault's time, by an owner and a second person; the log keeps both times.

        The tokens have to be valid at the earlier of the two times; if they ended before the later one, they live on. What was
        made under a later, wrong time lives no longer than it was meant to (:func:`.accounts.set_back`).
        """
        with self.store.write() as tx:
            before, now = tx.state.clock, self._open.clock()
            owner, together = self._two(tx, (owner_token, second_token), "time", min(before, now), now)
            tx.state.clock = now
            accounts.set_back(tx, now)
            stamps = {
                f"time_{word}": datetime.fromtimestamp(t, UTC).isoformat() for word, t in (("before", before), ("now", now))
            }
            self._open.recorder.record(tx, now, owner, "time", detail="corrected", together_with=together, **stamps)

    def _two(self, tx: Tx, tokens: tuple[str, str], action: str, then: float, now: float) -> tuple[str, str]:
        """The name of the owner who does ``action`` and the audit pseudonym of the second person, from their tokens.

        The tokens are valid ``then``; those that have ended since live on from ``now``.
        """
        digests = [accounts.token_digest(self.store, token) for token in tokens]
        owner, second = (accounts.caller(tx, digest, then) for digest in digests)
        owner.require(action)
        second.require("confirm")
        if alike(owner.name, second.name):
            raise AccessError("one person alone cannot do this.", hint="Two people do.", reason="self-approval")
        for digest in digests:
            accounts.extend_token(tx, digest, now)
        return owner.name, audit.actor_pseudonym(self.store, second.name)

    def status(self) -> dict[str, Any]:
        """What may be shown without logging in: ids and places, the proof that key and data are kept apart."""
        with self.store.read() as tx:
            return {
                "vault": self.id,
                "place": database.describe(self._open.place),
                "storage": self.store.dialect,
                "generation": tx.state.generation,
                "audit_events": tx.state.audit_seq,
                "master_key": self._open.key_id,
                "key_kept_in": "environment" if self._open.key_location == "environment" else "another place",
                "anchor": str(self.store.anchor.path.name) if self.store.anchor else "",
                "domains": len(tx.all(DOMAIN)),
                "waiting_changes": sum(change["status"] == "pending" for change in tx.all(CHANGE)),
                "waiting_requests": sum(request["status"] == "pending" for request in tx.all(REQUEST)),
                "auditor_can_log_in": accounts.can_log_in(tx, "auditor", max(self._open.clock(), tx.state.clock)),
                "time_seen": datetime.fromtimestamp(tx.state.clock, UTC).isoformat(timespec="seconds"),
                "witnesses": len(witness.places(tx)),
                "trial": shares.is_trial(tx),
                "auditor_key": shares.auditor_key(tx),
                "signing_keys": checkpoints.signing_keys(tx),
            }

    def __repr__(self) -> str:
        return f"<Vault {self.id[:8]} at {database.describe(self._open.place)}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a vault cannot be pickled or copied")
