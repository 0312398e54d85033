"""``shoal vault actor``: people, their roles and tokens."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli._shell.commands import Commands
from shoal.cli._vault.shared import (
    Answer,
    CodeOut,
    Name,
    acting,
    secret_file,
    waits,
)
from shoal.errors import UsageError


def register(vault: typer.Typer) -> None:
    actor = Commands(name="actor", help="People, their roles and tokens.", no_args_is_help=True, rich_markup_mode=None)
    actor.command("add")(actor_add)
    actor.command("grant")(actor_grant)
    actor.command("token")(actor_token)
    actor.command("revoke")(actor_revoke)
    vault.add_typer(actor)


@acting
def actor_add(
    session: Any,
    name: Name,
    role: Annotated[list[str], typer.Option("--role", help="operator, clerk, requester, approver, auditor, owner (repeat).")],
    code_out: CodeOut = None,
) -> Answer:
    """Propose a person. A second person confirms; the new one claims her token with both halves of the code."""
    return _proposed(lambda: session.add_actor(name, role), code_out, {"actor": name, "roles": list(role)})


@acting
def actor_grant(
    session: Any,
    name: Name,
    role: Annotated[list[str], typer.Option("--role", help="All roles the actor shall have.")],
    disable: Annotated[bool, typer.Option("--disable", help="Lock the actor out, at once.")] = False,
) -> Answer:
    """Set the roles of a person, or lock the person out. More roles need a second person."""
    change = session.grant(name, role, enabled=not disable)
    told = {"actor": name, "roles": list(role), "enabled": not disable}
    if change is None:
        return {**told, "change": None}, f"{name}: {'locked out' if disable else ', '.join(role)}."
    return {**told, "change": change.id}, waits(change)


@acting
def actor_token(
    session: Any,
    name: Name,
    scope: Annotated[list[str] | None, typer.Option("--scope", help="Only these of the actor's roles (repeat).")] = None,
    domain: Annotated[list[str] | None, typer.Option("--domain", help="Only these domains (repeat).")] = None,
    days: Annotated[float | None, typer.Option("--days", help="Valid for so many days.")] = None,
    code_out: CodeOut = None,
) -> Answer:
    """Propose another token for a person, narrowed as you like; she claims it as she did the first."""
    expires = None if days is None else time.time() + days * 86400
    asked = {"scopes": scope or (), "domains": domain or (), "expires": expires}
    return _proposed(lambda: session.issue_token(name, **asked), code_out, {"actor": name})


def _proposed(propose: Callable[[], Any], code_out: Path | None, told: dict[str, Any]) -> Answer:
    """Propose a change that enrols somebody; the owner's half of the code goes into a file."""
    if code_out is None:
        raise UsageError("where shall your half of the enrolment code go?", hint="Add --code-out FILE.")
    with secret_file(code_out) as put:
        change = propose()
        put(change.code)
    words = f"{waits(change, ' --code-out FILE')} Your half of the code is in {code_out}."
    return {**told, "change": change.id, "code_file": str(code_out)}, words


@acting
def actor_revoke(session: Any, name: Name) -> Answer:
    """Take back every token of a person."""
    gone = session.revoke_tokens(name)
    return {"actor": name, "revoked": gone}, f"{gone} tokens revoked."
