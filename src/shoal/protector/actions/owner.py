"""What an owner does: domains and honeytokens alone; rights, tokens and limits together with a second person."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from shoal.errors import UsageError
from shoal.protector.actions import honeytokens
from shoal.protector.actions.confirming import apply_grant, log_grant
from shoal.protector.actions.frame import Frame
from shoal.protector.log import witness
from shoal.protector.people import accounts, enrolment, factors, limits
from shoal.protector.people.changes import Change
from shoal.protector.people.limits import Limit
from shoal.protector.pseudonyms.domains import Context, Domain, Renewal
from shoal.protector.store.database import Tx
from shoal.protector.store.kinds import ACTOR, DOMAIN


class OwnerActions:
    """The owner's part of a session."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def create_domain(self, name: str, **settings: Any) -> Domain:
        """A new domain; see :class:`shoal.protector.pseudonyms.domains.Domain` for the settings."""
        if isinstance(settings.get("renewal"), dict):
            settings["renewal"] = Renewal(**settings["renewal"])
        wanted = Domain(name, **settings)
        with self._frame.acting("domain", name) as (tx, now):
            if tx.get(DOMAIN, name) is not None:
                raise UsageError(f"there is a domain '{name}' already.", hint="Choose another name.")
            numbered = replace(wanted, number=tx.state.next_domain, id=os.urandom(8).hex())
            tx.state.next_domain += 1
            made = self._frame.vault.keyring.new_domain(tx, numbered)
            self._frame.log(tx, now, "domain", domain=name, detail=f"made: {made.kind}, {made.scope}", key=made.key_id)
        return made

    def domains(self) -> list[Domain]:
        """The domains that the token reaches (for every role)."""
        vault = self._frame.vault
        with vault.store.read() as tx:
            caller = self._frame.caller(tx, tx.now(vault.clock))
            found = (Domain.from_json(body) for body in tx.all(DOMAIN))
            return sorted((d for d in found if caller.reaches(d.name)), key=lambda d: d.number)

    def allow_translation(self, source: str, target: str, *, allowed: bool = True) -> Domain:
        """Let operators translate from one domain to another (or no longer)."""
        keyring = self._frame.vault.keyring
        with self._frame.acting("domain", source, target=target) as (tx, now):
            one, other = keyring.domain(tx, source), keyring.domain(tx, target)
            kept = [d for d in one.translate_to if d != other.id]
            made = replace(one, translate_to=(*kept, other.id) if allowed else tuple(kept))
            tx.put(DOMAIN, source, made.to_json())
            detail = "translation allowed" if allowed else "translation ended"
            self._frame.log(tx, now, "domain", domain=source, target=target, detail=detail)
        return made

    def add_actor(self, name: str, roles: Sequence[str], **token: Any) -> Change:
        """Propose a new person with these roles (and ``scopes``, ``domains``, ``expires``, ``label`` of the token).

        It takes effect when a second person confirms it. The change holds one half of the code (``code``) with which the person
        claims her token; the second person gets the other half.
        """
        with self._frame.acting("actor") as (tx, now):
            accounts.check_new(tx, name)
            what = {"name": name, "roles": list(accounts.check_roles(roles)), "token": _plain(token)}
            return self._frame.propose(tx, now, "actor", what, code=enrolment.new_code())

    def grant(self, name: str, roles: Sequence[str], *, enabled: bool = True) -> Change | None:
        """Set the roles of an actor, or disable it; its tokens follow at once.

        Taking rights away takes effect at once (None). Giving any is a change that a second person confirms.
        """
        with self._frame.acting("actor") as (tx, now):
            actor = self._settled(tx, name, roles, enabled=enabled)
            if enabled and (not actor["enabled"] or not set(roles) <= set(actor["roles"])):
                return self._frame.propose(tx, now, "grant", {"name": name, "roles": list(accounts.check_roles(roles))})
            apply_grant(self._frame, tx, now, {"name": name, "roles": list(roles)}, enabled=enabled)
        return None

    def _settled(self, tx: Tx, name: str, roles: Sequence[str], *, enabled: bool) -> dict[str, Any]:
        """The actor, if it may have these roles."""
        actor = tx.get(ACTOR, name)
        if actor is None:
            raise UsageError("there is no actor of that name.", hint="Add it with `shoal vault actor add`.")
        for role in ("owner", "auditor"):
            if not enabled or role not in roles:
                accounts.require_another(tx, name, role)
        if ("auditor" in actor["roles"]) != ("auditor" in roles):
            raise UsageError(
                "an auditor has no other role, before or after: an auditor stays one, and nobody else becomes one.",
                hint="Disable this actor, or add another person.",
            )
        return actor

    def issue_token(self, name: str, **token: Any) -> Change:
        """Propose another token for a person (``scopes``, ``domains``, ``expires``, ``label``), to be claimed like the first."""
        with self._frame.acting("actor") as (tx, now):
            accounts.check_token(tx, name, **token)
            return self._frame.propose(tx, now, "token", {"name": name, "token": _plain(token)}, code=enrolment.new_code())

    def revoke_tokens(self, name: str) -> int:
        """Take back every token of a person, and every enrolment code."""
        with self._frame.acting("actor") as (tx, now):
            accounts.require_another(tx, name, "owner")
            gone = accounts.revoke_tokens(tx, name)
            enrolment.withdraw(tx, name)
            factors.withdraw(tx, name)
            log_grant(self._frame, tx, now, name, (), detail=f"{gone} tokens revoked")
        return gone

    def set_limit(self, action: str, limit: Limit, *, purpose: str = "*") -> Change:
        """Propose another rate limit; it holds when a second person confirms it."""
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

    def plant_honeytoken(self, domain: str, identity: str, *, role: str = "", relation: str = "") -> str | None:
        """Plant an invented identity; whoever asks for it raises an alarm, under whatever pseudonym.

        A pseudonym of it to lay out; None where the domain needs a role or relation for one, or its people make their own.
        """
        with self._frame.acting("honeytoken", domain) as (tx, now):
            opened = self._frame.open_domain(tx, domain)
            self._frame.count(tx, now, "honeytoken", "", 1, domain=domain)  # planting tells a pseudonym of whomever one names
            made = honeytokens.plant(tx, opened, identity, Context(role, relation), now)
            self._frame.log(tx, now, "honeytoken", domain=domain)
        return made


def _plain(token: dict[str, Any]) -> dict[str, Any]:
    """The settings of a token as a change keeps them."""
    return {name: list(value) if name in ("scopes", "domains") else value for name, value in token.items()}
