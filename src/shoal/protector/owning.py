"""What an owner does: domains, people, limits, honeytokens."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shoal.errors import UsageError
from shoal.protector.acting import Acting, text_column
from shoal.protector.log.audit import actor_pseudonym
from shoal.protector.people import actors, limits
from shoal.protector.people.limits import Limit
from shoal.protector.pseudonyms.domains import Context, Domain, Renewal
from shoal.protector.store.storage import ACTOR, DOMAIN, HONEY, Tx


class Owning(Acting):
    """The owner's part of a session."""

    def create_domain(self, name: str, **settings: Any) -> Domain:
        """A new domain; see :class:`shoal.protector.pseudonyms.domains.Domain` for the settings."""
        if isinstance(settings.get("renewal"), dict):
            settings["renewal"] = Renewal(**settings["renewal"])
        wanted = Domain(name, **settings)
        with self._acting("domain", name) as (tx, now):
            if tx.get(DOMAIN, name) is not None:
                raise UsageError(f"there is a domain '{name}' already.", hint="Choose another name.")
            numbered = replace(wanted, number=tx.state.next_domain, id=os.urandom(8).hex())
            tx.state.next_domain += 1
            made = self.vault.new_domain_keys(tx, numbered)
            self._log(tx, now, "domain", domain=name, detail=f"made: {made.kind}, {made.scope}", key=made.key_id)
        return made

    def domains(self) -> list[Domain]:
        """All domains (for every role)."""
        with self.vault.store.read() as tx:
            actors.who(tx, self._digest, tx.now(self.vault.clock))
            return sorted((Domain.from_json(body) for body in tx.all(DOMAIN)), key=lambda d: d.number)

    def allow_translation(self, source: str, target: str, *, allowed: bool = True) -> Domain:
        """Let operators translate from one domain to another (or no longer)."""
        with self._acting("domain", source, target=target) as (tx, now):
            one, other = self.vault.domain(tx, source), self.vault.domain(tx, target)
            kept = [d for d in one.translate_to if d != other.id]
            made = replace(one, translate_to=(*kept, other.id) if allowed else tuple(kept))
            tx.put(DOMAIN, source, made.to_json())
            self._log(
                tx, now, "domain", domain=source, target=target, detail="translation allowed" if allowed else "translation ended"
            )
        return made

    def add_actor(self, name: str, roles: Sequence[str], **token: Any) -> str:
        """A new actor with these roles; its first token, shown once."""
        with self._acting("actor") as (tx, now):
            actors.add(tx, name, roles, now)
            self.vault.remember_actor(tx, name)
            made = actors.issue_token(tx, name, **token)
            self._grant_log(tx, now, name, roles)
        return made

    def grant(self, name: str, roles: Sequence[str], *, enabled: bool = True) -> None:
        """Set the roles of an actor, or disable it; its tokens follow at once."""
        with self._acting("actor") as (tx, now):
            actor = tx.get(ACTOR, name)
            if actor is None:
                raise UsageError("there is no actor of that name.", hint="Add it with `shoal vault actor add`.")
            for role in ("owner", "auditor"):
                if not enabled or role not in roles:
                    actors.require_another(tx, name, role)
            if ("auditor" in actor["roles"]) != ("auditor" in roles):
                raise UsageError(
                    "an auditor stays an auditor, and nobody else becomes one: whoever checks the log has no other part in it.",
                    hint="Disable this actor, or add another person.",
                )
            actor["roles"] = list(actors.check_roles(roles))
            actor["enabled"] = enabled
            tx.put(ACTOR, name, actor)
            self._grant_log(tx, now, name, roles if enabled else ())

    def issue_token(self, name: str, **token: Any) -> str:
        """Another token for an actor (``scopes``, ``domains``, ``expires``, ``label``)."""
        with self._acting("actor") as (tx, now):
            made = actors.issue_token(tx, name, **token)
            self._grant_log(tx, now, name, token.get("scopes", ()), detail="token")
        return made

    def revoke_tokens(self, name: str) -> int:
        """Take back every token of an actor."""
        with self._acting("actor") as (tx, now):
            actors.require_another(tx, name, "owner")
            gone = actors.revoke_tokens(tx, name)
            self._grant_log(tx, now, name, (), detail=f"{gone} tokens revoked")
        return gone

    def set_limit(self, action: str, limit: Limit, *, purpose: str = "*") -> None:
        """Change a rate limit."""
        with self._acting("limit") as (tx, now):
            limits.set_limit(tx, action, purpose, limit)
            self._log(tx, now, "limit", detail=f"{action} {purpose}: {limit.max} in {limit.seconds:g} s, alarm {limit.alarm}")

    def plant_honeytoken(self, domain: str, identity: str) -> str:
        """Plant an invented identity; whoever asks for it raises an alarm. Its pseudonym."""
        with self._acting("honeytoken", domain) as (tx, now):
            opened = self._domain(tx, domain)
            made: str = opened.pseudonymize(tx, text_column([identity])[0], Context(), now)[0].as_py()
            body = tx.get(HONEY, domain) or {"pseudonyms": []}
            body["pseudonyms"] = sorted({*body["pseudonyms"], made})
            tx.put(HONEY, domain, body)
            self._log(tx, now, "honeytoken", domain=domain)
        return made

    def _grant_log(self, tx: Tx, now: float, name: str, roles: Sequence[str], *, detail: str = "") -> None:
        self._log(tx, now, "grant", subject=actor_pseudonym(self.vault.store, name), roles=list(roles), detail=detail)
