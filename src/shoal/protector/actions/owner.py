"""What an owner does: domains and honeytokens alone; rights, tokens, limits, connections of domains, and anything that lessens
oversight together with a second person."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from shoal.errors import UsageError
from shoal.model.names import alike, require_plain
from shoal.protector.actions.frame import Frame, SessionPart, for_log
from shoal.protector.actions.pseudonyms import Honeytoken, any_planted, plant_identity, withdraw_identity
from shoal.protector.log import witness
from shoal.protector.log.audit import actor_pseudonym
from shoal.protector.people import accounts, changes, factors, limits
from shoal.protector.people.changes import Change
from shoal.protector.people.limits import Limit
from shoal.protector.pseudonyms.domains import Context, Domain, Renewal
from shoal.protector.pseudonyms.minting import OpenDomain
from shoal.protector.store.database import Tx
from shoal.protector.store.state import ACTOR, DOMAIN, ENROLMENT


class OwnerActions(SessionPart):
    """The owner's part of a session."""

    def create_domain(self, name: str, **settings: Any) -> Domain:
        """A new domain; see :class:`shoal.protector.pseudonyms.domains.Domain` for the settings."""
        if isinstance(settings.get("renewal"), dict):
            settings["renewal"] = Renewal(**settings["renewal"])
        wanted = Domain(require_plain(name, "domain"), **settings)
        with self._frame.acting("domain", name) as (tx, now):
            if any(alike(body["name"], name) for body in tx.all(DOMAIN)):
                hint = "Choose another name."
                raise UsageError(f"a domain '{name}', or one whose name looks the same, exists already.", hint=hint)
            numbered = replace(wanted, number=tx.state.next_domain, id=os.urandom(8).hex())
            tx.state.next_domain += 1
            domain = self._frame.vault.keyring.new_domain(tx, numbered)
            self._frame.log(tx, now, "domain", domain=name, detail=f"made: {domain.kind}, {domain.scope}", key=domain.key_id)
        return domain

    def domains(self) -> list[Domain]:
        """The domains that the token reaches (for every role)."""
        vault = self._frame.vault
        with vault.store.read() as tx:
            caller = self._frame.caller(tx, tx.now(vault.clock))
            every = (Domain.from_json(body) for body in tx.all(DOMAIN))
            return sorted((d for d in every if caller.reaches(d.name)), key=lambda d: d.number)

    def allow_translation(self, source: str, target: str, *, allowed: bool = True) -> Domain:
        """Let operators translate from one domain to another, after a second person confirmed it; or, alone, no longer."""
        keyring = self._frame.vault.keyring
        with self._frame.reading("domain") as (tx, _):
            keyring.domain(tx, source), keyring.domain(tx, target)
        change = self._frame.agreed("domain", source, target=target) if allowed else None
        with self._frame.acting("domain", source, target=target) as (tx, now):
            if change is not None:
                self._frame.use(tx, now, change)
            one, other = keyring.domain(tx, source), keyring.domain(tx, target)
            kept = [d for d in one.translate_to if d != other.id]
            changed = replace(one, translate_to=(*kept, other.id) if allowed else tuple(kept))
            tx.put(DOMAIN, source, changed.to_json())
            detail = "translation allowed" if allowed else "translation ended"
            self._frame.log(tx, now, "domain", domain=source, target=target, detail=detail)
        return changed

    def add_actor(self, name: str, roles: Sequence[str], **token: Any) -> Change:
        """Propose a new person with these roles (and ``scopes``, ``domains``, ``expires``, ``label`` of the token).

        It takes effect when a second person confirms it. The change holds one half of the code (``code``) with which the person
        claims her token; the second person gets the other half.
        """
        with self._frame.acting("actor") as (tx, now):
            accounts.check_new(tx, name)
            what = {"name": name, "roles": list(accounts.check_roles(roles)), "token": _plain(token)}
            return self._frame.propose(tx, now, "actor", what, code=accounts.new_code())

    def grant(self, name: str, roles: Sequence[str], *, enabled: bool = True) -> Change | None:
        """Set the roles of an actor, or disable it; its tokens follow at once.

        Taking rights away takes effect at once (None), except an auditor's, which takes a second person. Giving any is a change
        that a second person confirms.
        """
        change = None if enabled else self._agreed_for_auditor(name, disable=True)
        with self._frame.acting("actor") as (tx, now):
            actor = self._grantable(tx, name, roles, enabled=enabled)
            if change is not None:
                self._frame.use(tx, now, change)
            if enabled and (not actor["enabled"] or not set(roles) <= set(actor["roles"])):
                return self._frame.propose(tx, now, "grant", {"name": name, "roles": list(accounts.check_roles(roles))})
            apply_grant(self._frame, tx, now, {"name": name, "roles": list(roles)}, enabled=enabled)
        return None

    def _grantable(self, tx: Tx, name: str, roles: Sequence[str], *, enabled: bool) -> dict[str, Any]:
        """The actor, if it may have these roles."""
        actor = tx.get(ACTOR, name)
        if actor is None:
            raise UsageError("no actor has that name.", hint="Add it with `shoal vault actor add`.")
        for role in ("owner", "auditor"):
            if not enabled or role not in roles:
                accounts.require_another(tx, name, role)
        if ("auditor" in actor["roles"]) != ("auditor" in roles):
            what = "an auditor has no other role, before or after: an auditor stays one, and nobody else becomes one."
            raise UsageError(what, hint="Disable this actor, or add another person.")
        return actor

    def issue_token(self, name: str, **token: Any) -> Change:
        """Propose another token for a person (``scopes``, ``domains``, ``expires``, ``label``), to be claimed like the first."""
        with self._frame.acting("actor") as (tx, now):
            accounts.check_token(tx, name, **token)
            return self._frame.propose(tx, now, "token", {"name": name, "token": _plain(token)}, code=accounts.new_code())

    def _agreed_for_auditor(self, name: str, **what: Any) -> Change | None:
        """The confirmed change that takes something from an auditor: nobody blinds the auditor alone. None for other people."""
        with self._frame.reading("revoke") as (tx, _):
            actor = tx.get(ACTOR, name)
        is_auditor = actor is not None and "auditor" in actor["roles"]
        return self._frame.agreed("revoke", person=name, **what) if is_auditor else None

    def revoke_tokens(self, name: str) -> int:
        """Take back every token of a person, and every enrolment code; an auditor's with a second person."""
        change = self._agreed_for_auditor(name)
        with self._frame.acting("revoke") as (tx, now):
            accounts.require_another(tx, name, "owner")
            if change is not None:
                self._frame.use(tx, now, change)
            gone = accounts.revoke_tokens(tx, name)
            accounts.revoke_tokens(tx, name, kind=ENROLMENT)
            factors.withdraw(tx, name)
            log_grant(self._frame, tx, now, name, (), detail=f"{gone} tokens revoked")
        return gone

    def set_limit(self, action: str, limit: Limit | Mapping[str, Any], *, purpose: str = "*") -> Change:
        """Propose another rate limit; it takes effect when a second person confirms it."""
        limit = limit if isinstance(limit, Limit) else Limit(**limit)
        limits.check_limit(action, limit)
        with self._frame.acting("limit") as (tx, now):
            return self._frame.propose(tx, now, "limit", {"on": action, "purpose": purpose, "limit": asdict(limit)})

    def require_factor(self, roles: Sequence[str]) -> Change:
        """Propose that people with these roles (approver, auditor, owner) decide with a one-time code; none ends it."""
        wanted = factors.check_required(roles)
        with self._frame.acting("actor") as (tx, now):
            return self._frame.propose(tx, now, "factor", {"roles": wanted})

    def set_witness(self, places: Sequence[str]) -> Change:
        """Propose where checkpoints go before identities leave: files or https:// addresses, none to end it."""
        witness.check(places)
        with self._frame.acting("witness") as (tx, now):
            return self._frame.propose(tx, now, "witness", {"places": list(places)})

    def plant_honeytoken(self, domain: str, *, role: str = "", relation: str = "") -> Honeytoken:
        """Plant a person invented by the vault; anyone who asks for that person raises an alarm, under any pseudonym.

        The pseudonym can be laid out in data, the identity in the source system. No pseudonym is made (empty) if the domain
        needs a role or relation for one, or if its people make their own.
        """
        with self._frame.acting("honeytoken", domain) as (tx, now):
            opened = self._frame.open_domain(tx, domain)
            self._frame.count(tx, now, "honeytoken", "", 1, domain=domain)
            planted = plant_identity(tx, opened, Context(role, relation), now)
            self._frame.log(tx, now, "honeytoken", domain=domain)
        return planted

    def withdraw_honeytoken(self, domain: str, planted: str) -> None:
        """Withdraw a honeytoken, named by its identity or pseudonym, after a second person confirmed it."""
        frame = self._frame
        with frame.reading("honeytoken") as (tx, now):
            subject = _planted_subject(tx, frame.open_domain(tx, domain), planted, now)
        with frame.by_two("honeytoken", domain, withdraw=subject) as (tx, now):
            opened = frame.open_domain(tx, domain)
            if not withdraw_identity(tx, opened, subject):
                raise UsageError(f"this is not a honeytoken of domain '{domain}'.")
            frame.log(tx, now, "honeytoken", domain=domain, detail="withdrawn", subjects=[subject])


def _planted_subject(tx: Tx, opened: OpenDomain, planted: str, time: float) -> str:
    """The audit pseudonym of a planted identity, from the identity or one of its pseudonyms."""
    named = [opened.plain(planted)]
    if opened.domain.kind in ("random", "reversible") and opened.has_form(opened.canonical(planted)):
        named += [p for p in opened.resolve(tx, [opened.canonical(planted)], time=time) if p is not None]
    for identity in named:
        if any_planted(tx, opened, [identity]):
            return opened.subject(opened.matched(identity))
    raise UsageError(f"this is not a honeytoken of domain '{opened.domain.name}'.", hint="Give its identity or its pseudonym.")


def _plain(token: dict[str, Any]) -> dict[str, Any]:
    """The settings of a token as a change keeps them."""
    return {name: list(value) if name in ("scopes", "domains") else value for name, value in token.items()}


class ConfirmingActions(SessionPart):
    """The second person's part of a session: another owner, or the auditor."""

    def changes(self, *, everything: bool = False) -> list[Change]:
        """The changes that wait, or all of them; the codes in them are not shown."""
        with self._frame.reading("confirm") as (tx, now):
            changes_made = changes.everything(tx)
        living = [c for c in changes_made if everything or (c.status in ("pending", "confirmed") and now < c.expires)]
        return [replace(c, code="", tokens=()) for c in living]

    def confirm(self, change_id: str, *, factor: str = "") -> Change:
        """Agree to somebody else's change. Where it adds a person, ``code`` is your half of the enrolment code.

        ``factor`` is your one-time code, where your role decides with one.
        """
        frame = self._frame
        frame.decide_with("confirm", factor)
        with frame.acting("confirm", change=for_log(change_id, "CHG-")) as (tx, now):
            change = changes.decide(tx, change_id, second=frame.name, token=frame.token, agree=True, time=now)
            frame.log(tx, now, "confirm", change=change.id, detail=change.action)
            mine = ""
            if change.action in ("actor", "token"):
                mine = accounts.new_code()
                what = {**change.what, "codes": [change.code, mine]}
            else:
                what = dict(change.what)
            if change.action in _AT_ONCE:
                frame.use(tx, now, change)
                _AT_ONCE[change.action](frame, tx, now, what)
        return replace(change, code=mine, tokens=())

    def refuse(self, change_id: str) -> Change:
        frame = self._frame
        with frame.acting("confirm", change=for_log(change_id, "CHG-")) as (tx, now):
            change = changes.decide(tx, change_id, second=frame.name, token=frame.token, agree=False, time=now)
            frame.log(tx, now, "confirm", change=change.id, detail=change.action, outcome="refused")
        return replace(change, code="", tokens=())


def _apply_actor(frame: Frame, tx: Tx, now: float, what: Mapping[str, Any]) -> None:
    accounts.add(tx, what["name"], what["roles"], now)
    frame.vault.recorder.remember_actor(tx, what["name"])
    accounts.invite(tx, what["name"], what["codes"], now, **what["token"])
    log_grant(frame, tx, now, what["name"], what["roles"])


def _apply_token(frame: Frame, tx: Tx, now: float, what: Mapping[str, Any]) -> None:
    accounts.invite(tx, what["name"], what["codes"], now, **what["token"])
    log_grant(frame, tx, now, what["name"], what["token"].get("scopes", ()), detail="token")


def _apply_limit(frame: Frame, tx: Tx, now: float, what: Mapping[str, Any]) -> None:
    limit = Limit(**what["limit"])
    limits.set_limit(tx, what["on"], what["purpose"], limit)
    detail = f"{what['on']} {what['purpose']}: {limit.max} in {limit.seconds:g} s, alarm {limit.alarm}"
    frame.log(tx, now, "limit", detail=detail)


def _apply_factor(frame: Frame, tx: Tx, now: float, what: Mapping[str, Any]) -> None:
    factors.require(tx, what["roles"])
    frame.log(tx, now, "factor", roles=what["roles"], detail="required")


def _apply_witness(frame: Frame, tx: Tx, now: float, what: Mapping[str, Any]) -> None:
    witness.put(tx, what["places"])
    frame.log(tx, now, "witness", count=len(what["places"]))


def apply_grant(frame: Frame, tx: Tx, now: float, what: Mapping[str, Any], *, enabled: bool = True) -> None:
    actor = tx.get(ACTOR, what["name"])
    assert actor is not None
    roles = list(accounts.check_roles(what["roles"]))
    if not enabled or not set(actor["roles"]) <= set(roles):
        actor["losses"] = actor.get("losses", 0) + 1
    actor["roles"], actor["enabled"] = roles, enabled
    tx.put(ACTOR, what["name"], actor)
    log_grant(frame, tx, now, what["name"], what["roles"] if enabled else ())


def log_grant(frame: Frame, tx: Tx, now: float, name: str, roles: Sequence[str], *, detail: str = "") -> None:
    """Write into the log what rights somebody has now."""
    subject = actor_pseudonym(frame.vault.store, name)
    frame.log(tx, now, "grant", subject=subject, roles=list(roles), detail=detail)


_AT_ONCE: dict[str, Callable[[Frame, Tx, float, Mapping[str, Any]], None]] = {
    "actor": _apply_actor,
    "token": _apply_token,
    "grant": apply_grant,
    "limit": _apply_limit,
    "witness": _apply_witness,
    "factor": _apply_factor,
}


class OwnActions(SessionPart):
    """The part of a session that every role has."""

    def set_up_factor(self) -> str:
        """Your second factor, as an ``otpauth://`` address for an authenticator app: told once."""
        frame = self._frame
        with frame.writing("factor") as (tx, now):
            frame.caller(tx, now).require_whole()
            factor = factors.set_up(tx, frame.name, f"Shoal vault {frame.vault.id[:8]}")
            frame.log(tx, now, "factor", detail="set up")
        return factor

    def renew(self) -> str:
        """A new token in place of yours, for as long again; what you approved or confirmed with the old one ends with it."""
        frame = self._frame
        with frame.writing("renew") as (tx, now):
            renewed = accounts.renew_token(tx, frame.token, now)
            frame.log(tx, now, "renew")
        return renewed

    def delegate(self, action: str, *, domains: Iterable[str] = (), seconds: float = 900.0) -> str:
        """A token of yours for one action (and domains) and a short time, to be given to a program.

        It ends with your own token. What takes a second person cannot be lent, nor can a delegated token lend.
        """
        frame = self._frame
        with frame.writing("delegate") as (tx, now):
            delegated = accounts.lend(tx, frame.token, action, domains=list(domains), seconds=seconds, time=now)
            frame.log(tx, now, "delegate", detail=action)
        return delegated
