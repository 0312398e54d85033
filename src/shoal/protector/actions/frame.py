"""The frame of every action: the caller's rights are checked, records counted, events logged, all in one transaction."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from shoal.errors import AccessError, UsageError
from shoal.protector.crypto.master_keys import KeyProvider
from shoal.protector.crypto.primitives import Opaque, Secret
from shoal.protector.log import audit, shares
from shoal.protector.log.audit import Recorder
from shoal.protector.people import accounts, changes, factors, limits
from shoal.protector.people.accounts import Caller
from shoal.protector.people.changes import Change, SecondPersonNeeded
from shoal.protector.people.limits import Usage
from shoal.protector.pseudonyms.keyring import Keyring
from shoal.protector.pseudonyms.minting import OpenDomain
from shoal.protector.store.database import Store, Tx


class Frame:
    """The actions of one token. Rights are read in each transaction, so a change takes effect at once."""

    def __init__(self, vault: OpenVault, digest: str, name: str) -> None:
        self.vault = vault
        self.name = name
        self.token = digest

    @contextlib.contextmanager
    def writing(self, action: str, **details: Any) -> Iterator[tuple[Tx, float]]:
        """A transaction, and its time. A refusal is logged with ``details`` and raised; the caller's rights are not looked at."""
        with self.vault.recorder.refusals(self.name, action, **details), self.vault.store.write() as tx:
            yield tx, tx.now(self.vault.clock)

    @contextlib.contextmanager
    def acting(self, action: str, domain: str | None = None, **details: Any) -> Iterator[tuple[Tx, float]]:
        """The same for an action that the caller's roles must permit."""
        with self.writing(action, domain=domain, **details) as (tx, now):
            self.require(tx, now, action, domain)
            yield tx, now

    @contextlib.contextmanager
    def reading(self, action: str) -> Iterator[tuple[Tx, float]]:
        """The same without writing."""
        with self.vault.recorder.refusals(self.name, action), self.vault.store.read() as tx:
            now = tx.now(self.vault.clock)
            self.require(tx, now, action)
            yield tx, now

    def caller(self, tx: Tx, now: float) -> Caller:
        """The caller, for any roles; a token that is no longer valid is refused."""
        return accounts.caller(tx, self.token, now)

    def require_token(self) -> None:
        """Refuse a token that has ended since the person logged in."""
        with self.vault.store.read() as tx:
            self.caller(tx, tx.now(self.vault.clock))

    def require(self, tx: Tx, now: float, action: str, domain: str | None = None) -> Caller:
        """The caller, if the token permits the action in the domain."""
        caller = self.caller(tx, now)
        caller.require(action, domain)
        return caller

    def propose(self, tx: Tx, now: float, action: str, what: dict[str, Any], *, code: str = "") -> Change:
        """A change that waits for a second person."""
        proposed = changes.propose(tx, action, what, proposer=self.name, token=self.token, time=now, code=code)
        self.log(tx, now, "propose", change=proposed.id, detail=action)
        return proposed

    def decide_with(self, action: str, factor: str) -> None:
        """Check the caller's one-time code where her role decides with one; a wrong one is counted and refused."""
        with self.vault.store.read() as tx, contextlib.suppress(AccessError):  # the action itself refuses a token, and logs it
            if not factors.needed(tx, self.caller(tx, tx.now(self.vault.clock)), action):
                return
        with self.vault.recorder.refusals(self.name, action):
            with self.vault.store.write() as tx:
                good = factors.check(tx, self.name, factor, tx.now(self.vault.clock))
            if not good:
                raise AccessError("the one-time code is wrong or was used before.", hint="Wait for the next.", reason="factor")

    def agreed(self, action: str, domain: str | None = None, **what: Any) -> Change:
        """The caller's change of exactly this content that a second person confirmed.

        Where there is none, it is proposed, and :class:`~.changes.SecondPersonNeeded` is raised: after the confirmation, the
        same call goes through, once.
        """
        content = {"domain": domain, **what} if domain is not None else what
        with self.acting(action, domain) as (tx, now):
            change = changes.same(tx, action, content, proposer=self.name, time=now)
            if change is None:
                change = self.propose(tx, now, action, content)
        if change.status != "confirmed":
            raise SecondPersonNeeded(change)
        return change

    @contextlib.contextmanager
    def by_two(self, action: str, domain: str | None = None, **what: Any) -> Iterator[tuple[Tx, float]]:
        """A transaction for what a second person confirmed (:meth:`agreed`); the change is used up with it."""
        change = self.agreed(action, domain, **what)
        with self.acting(action, domain) as (tx, now):
            self.use(tx, now, change)
            yield tx, now

    def use(self, tx: Tx, now: float, change: Change) -> None:
        """Apply a confirmed change in this transaction: the log names both people."""
        used = changes.use(tx, change, time=now)
        self.log(tx, now, "agreed", change=used.id, detail=used.action, together_with=self._pseudonym(used.second))

    def _pseudonym(self, name: str) -> str:
        return audit.actor_pseudonym(self.vault.store, name)

    def log(self, tx: Tx, now: float, action: str, **details: Any) -> None:
        self.vault.recorder.record(tx, now, self.name, action, **details)

    def count(self, tx: Tx, now: float, action: str, purpose: str, records: int, **details: Any) -> None:
        """Count records against the caller's limits: refused above the limit, an alarm above the alarm line."""
        limits.keep(tx, self.name, action, self.counted(tx, now, action, purpose, records, **details))

    def counted(self, tx: Tx, now: float, action: str, purpose: str, records: int, **details: Any) -> Usage:
        """The same for an action that :meth:`watch` follows, which stores what was counted."""
        usage, crossed = limits.count(tx, self.name, action, purpose, records, now)
        if crossed:
            self.log(tx, now, action, outcome="alarm", reason="bulk", purpose=purpose, count=records, **details)
        return usage

    def watch(
        self,
        tx: Tx,
        now: float,
        action: str,
        usage: Usage,
        identities: Iterable[str | None],
        *,
        missed: int = 0,
        planted: bool = False,
        logged_as: str = "",
        **details: Any,
    ) -> None:
        """Store what was counted; an alarm where identities look tried out, and where a planted one was asked for.

        ``logged_as`` is the name of an action that is counted as another one.
        """
        signs = limits.enumeration_signs(tx, usage, identities, missed, now)
        limits.keep(tx, self.name, action, usage)
        for reason in (*signs, *(("honeytoken",) if planted else ())):
            self.log(tx, now, logged_as or action, outcome="alarm", reason=reason, **details)

    def open_domain(self, tx: Tx, name: str) -> OpenDomain:
        return self.vault.keyring.opened(tx, self.vault.keyring.domain(tx, name))


class SessionPart:
    """A part of :class:`~shoal.protector.session.Session`: the actions of some roles, all in the session's frame."""

    _frame: Frame


def for_log(text: str, prefix: str) -> str:
    """An id that was typed in, for the log; anything else (an identity, say) is not written there."""
    plain = text.strip().upper()
    return plain if plain.startswith(prefix) and len(plain) <= 16 and plain.isascii() else "malformed"


def log_names(tx: Tx, opened: OpenDomain, identities: Sequence[bytes | None], *, most: int) -> list[str]:
    """Audit pseudonyms of the first ``most`` people concerned; owner and auditor together can find out who they are."""
    names = []
    for identity in [p for p in identities if p is not None][:most]:
        name = opened.subject(identity)
        shares.remember(tx, name, bytes.fromhex(opened.domain.id) + opened.subject_box.seal(identity, name.encode()))
        names.append(name)
    return names


def require_typed(opened: OpenDomain, pseudonyms: Sequence[str]) -> None:
    """Refuse pseudonyms whose check characters do not fit: they are mistyped, not unknown."""
    if wrong := sum(opened.mistyped(pseudonym) for pseudonym in pseudonyms):
        hint = "Compare them with where they were copied from."
        raise UsageError(f"{wrong} of {len(pseudonyms)} pseudonyms are mistyped: their check characters do not fit.", hint=hint)


@dataclass(repr=False, eq=False)
class OpenVault(Opaque):
    """The database, the log and the domains of a vault; the root key, and which master key (kept where) wraps it."""

    store: Store
    root: Secret
    place: str
    key_id: str
    key_location: str
    clock: Callable[[], float]
    recorder: Recorder = field(init=False)
    keyring: Keyring = field(init=False, default_factory=Keyring)

    def __post_init__(self) -> None:
        self.recorder = Recorder(self.store, self.clock)

    @property
    def id(self) -> str:
        return self.store.vault_id


def require_shares(vault: OpenVault, key: KeyProvider) -> None:
    """Refuse a whole key in one person's hands, and shares that are not those of the vault, unless it is for trying out.

    Only the sealed record counts: a text can claim anything about itself, and a whole key can be split again by its holder.
    """
    with vault.store.read() as tx:
        trial, kept = shares.is_trial(tx), shares.kept_set(tx)
    if trial:
        return
    if not getattr(key, "shares", ()):
        what = "the key of this vault stays with its service; here it is used by two people with their shares only."
        hint = "Work with --vault https://… or unix:…; for maintenance give --key-share twice."
        raise AccessError(what, hint=hint, reason="maintenance")
    if kept is not None and kept != asdict(key.share_set):  # type: ignore[attr-defined]
        raise AccessError(
            "these are not the shares of this vault."
            if kept
            else "the key of this vault was never in shares: these were made by somebody who holds it whole.",
            hint="Use the shares made with the key; or two people change the key with `shoal vault rotate --new-key-share`.",
            reason="maintenance",
        )


def log_maintenance(vault: OpenVault, key: KeyProvider) -> None:
    """Write into the log which shares opened the vault; in a vault of Shoal 0.3.0, keep their set from now on."""
    given = getattr(key, "shares", ())
    if given:
        with vault.store.write() as tx:
            detail = "shares " + ", ".join(str(n) for n in given)
            if shares.kept_set(tx) is None:
                shares.keep_set(tx, key)
                detail += "; their set is kept from now on"
            vault.recorder.record(tx, tx.now(vault.clock), "", "maintenance", detail=detail)
