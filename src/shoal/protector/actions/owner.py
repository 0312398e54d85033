"""What an owner does: domains, accounts, limits, honeytokens."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shoal.errors import UsageError
from shoal.protector.actions.frame import Frame
from shoal.protector.log.audit import actor_pseudonym
from shoal.protector.people import accounts, limits
from shoal.protector.people.limits import Limit
from shoal.protector.pseudonyms.domains import Context, Domain, Renewal
from shoal.protector.pseudonyms.identities import text_column
from shoal.protector.store.database import Tx
from shoal.protector.store.kinds import ACTOR, DOMAIN, HONEY


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
        """All domains (for every role)."""
        vault = self._frame.vault
        with vault.store.read() as tx:
            self._frame.caller(tx, tx.now(vault.clock))
            return sorted((Domain.from_json(body) for body in tx.all(DOMAIN)), key=lambda d: d.number)

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

    def add_actor(self, name: str, roles: Sequence[str], **token: Any) -> str:
        """A new actor with these roles; its first token, shown once."""
        with self._frame.acting("actor") as (tx, now):
            accounts.add(tx, name, roles, now)
            self._frame.vault.recorder.remember_actor(tx, name)
            made = accounts.issue_token(tx, name, **token)
            self._log_grant(tx, now, name, roles)
        return made

    def grant(self, name: str, roles: Sequence[str], *, enabled: bool = True) -> None:
        """Set the roles of an actor, or disable it; its tokens follow at once."""
        with self._frame.acting("actor") as (tx, now):
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
            actor["roles"] = list(accounts.check_roles(roles))
            actor["enabled"] = enabled
            tx.put(ACTOR, name, actor)
            self._log_grant(tx, now, name, roles if enabled else ())

    def issue_token(self, name: str, **token: Any) -> str:
        """Another token for an actor (``scopes``, ``domains``, ``expires``, ``label``)."""
        with self._frame.acting("actor") as (tx, now):
            made = accounts.issue_token(tx, name, **token)
            self._log_grant(tx, now, name, token.get("scopes", ()), detail="token")
        return made

    def revoke_tokens(self, name: str) -> int:
        """Take back every token of an actor."""
        with self._frame.acting("actor") as (tx, now):
            accounts.require_another(tx, name, "owner")
            gone = accounts.revoke_tokens(tx, name)
            self._log_grant(tx, now, name, (), detail=f"{gone} tokens revoked")
        return gone

    def set_limit(self, action: str, limit: Limit, *, purpose: str = "*") -> None:
        """Change a rate limit."""
        with self._frame.acting("limit") as (tx, now):
            limits.set_limit(tx, action, purpose, limit)
            detail = f"{action} {purpose}: {limit.max} in {limit.seconds:g} s, alarm {limit.alarm}"
            self._frame.log(tx, now, "limit", detail=detail)

    def plant_honeytoken(self, domain: str, identity: str) -> str:
        """Plant an invented identity; whoever asks for it raises an alarm. Its pseudonym."""
        with self._frame.acting("honeytoken", domain) as (tx, now):
            opened = self._frame.open_domain(tx, domain)
            made: str = opened.pseudonymize(tx, text_column([identity])[0], Context(), now)[0].as_py()
            body = tx.get(HONEY, domain) or {"pseudonyms": []}
            body["pseudonyms"] = sorted({*body["pseudonyms"], made})
            tx.put(HONEY, domain, body)
            self._frame.log(tx, now, "honeytoken", domain=domain)
        return made

    def _log_grant(self, tx: Tx, now: float, name: str, roles: Sequence[str], *, detail: str = "") -> None:
        subject = actor_pseudonym(self._frame.vault.store, name)
        self._frame.log(tx, now, "grant", subject=subject, roles=list(roles), detail=detail)
