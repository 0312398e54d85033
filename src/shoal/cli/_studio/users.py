"""``shoal studio user``: who may use a studio that several people share."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import _shared
from shoal.cli._shell import common
from shoal.cli._shell.commands import Commands
from shoal.errors import UsageError, need

if TYPE_CHECKING:
    from shoal.studio.workspace.people import People

Place = Annotated[Path | None, typer.Option("--workspace", help="Folder of the studio (default: ~/shoal-studio).")]
Store = Annotated[
    str | None, typer.Option("--store", envvar="SHOAL_STUDIO_STORE", help="PostgreSQL URL of the studio, where it has one.")
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the user.")]
Typed = Annotated[bool, typer.Option("--password-stdin", help="Read the password from standard input, one line.")]


def register(studio: typer.Typer) -> None:
    user = Commands(name="user", help="Who may use the studio, and what for.", no_args_is_help=True, rich_markup_mode=None)
    user.command("add")(add)
    user.command("list")(listed)
    user.command("remove")(remove)
    user.command("role")(role)
    user.command("password")(password)
    studio.add_typer(user)


def folder_of(workspace: Path | None) -> Path:
    return workspace or Path.home() / "shoal-studio"


def add(
    name: Name,
    role: Annotated[
        str, typer.Option("--role", help="viewer (looks), editor (changes) or admin (also lets people in).")
    ] = "editor",
    beside: Annotated[
        str | None, typer.Option("--with", help="Share the workspace of this user; else they get one of their own.")
    ] = None,
    typed: Typed = False,
    workspace: Place = None,
    store: Store = None,
    as_json: common.Json = False,
) -> None:
    """Let somebody in. Asks for a password at a terminal; elsewhere one is made and shown once."""
    with _people(workspace, store) as people:
        given = _password(typed)
        secret = given or _invented()
        user = people.users.add(name, role, secret, beside=beside)
    told = {"name": user.name, "role": user.role, "workspace": user.space} | ({} if given else {"password": secret})
    if as_json:
        _shared.put_json(told)
        return
    typer.echo(f"{user.name} may come in as {user.role}.")
    if not given:
        typer.echo(f"First password, shown this once: {secret}")


def listed(workspace: Place = None, store: Store = None, as_json: common.Json = False) -> None:
    """Everybody who may come in."""
    with _people(workspace, store) as people:
        users = people.users.all()
    if as_json:
        _shared.put_json({"users": [{"name": u.name, "role": u.role, "workspace": u.space} for u in users]})
        return
    if not users:
        typer.echo("Nobody is named: 'shoal studio' is for one person on this computer, by its link.")
    for u in users:
        others = [o.name for o in users if o.space == u.space and o.name != u.name]
        typer.echo(f"{u.name}  {u.role}  {'with ' + ', '.join(others) if others else 'own workspace'}")


def remove(
    name: Name,
    tables: Annotated[bool, typer.Option("--delete-tables", help="Also delete everything in their workspace.")] = False,
    workspace: Place = None,
    store: Store = None,
    as_json: common.Json = False,
) -> None:
    """Take somebody out; they are logged out at once. Their tables stay unless you say otherwise."""
    with _people(workspace, store) as people:
        user = people.users.get(name)
        if tables and any(u.space == user.space and u.name != user.name for u in people.users.all()):
            raise UsageError("others share this workspace.", hint="Remove the user without --delete-tables.")
        people.users.remove(name)
        if tables:
            with people.workspace(user.space) as kept:
                kept.delete_everything()
    if as_json:
        _shared.put_json({"removed": user.name, "tables_deleted": tables})
    else:
        typer.echo(f"{user.name} may not come in any more; {'their tables are deleted' if tables else 'their tables stay'}.")


def role(
    name: Name,
    role: Annotated[str, typer.Argument(metavar="ROLE", help="viewer, editor or admin.")],
    workspace: Place = None,
    store: Store = None,
    as_json: common.Json = False,
) -> None:
    """Give another role; it holds from the next page on."""
    with _people(workspace, store) as people:
        user = people.users.give_role(name, role)
    if as_json:
        _shared.put_json({"name": user.name, "role": user.role})
    else:
        typer.echo(f"{user.name} is {user.role} now.")


def password(
    name: Name, typed: Typed = False, workspace: Place = None, store: Store = None, as_json: common.Json = False
) -> None:
    """Give another password; every session of the user ends."""
    with _people(workspace, store) as people:
        given = _password(typed)
        secret = given or _invented()
        people.users.give_password(name, secret)
    if as_json:
        _shared.put_json({"name": name} | ({} if given else {"password": secret}))
        return
    typer.echo(f"{name} has another password and is logged out everywhere.")
    if not given:
        typer.echo(f"It is shown this once: {secret}")


def _people(workspace: Path | None, store: str | None) -> People:
    try:
        from shoal.studio.workspace.people import People
    except ImportError:
        raise need("server", "sqlalchemy") from None
    return People(folder_of(workspace), store=store)


def _invented() -> str:
    from shoal.studio.workspace.people.passwords import invented

    return invented()


def _password(typed: bool) -> str:
    """The password that somebody types, or nothing where nobody is there to type one."""
    if typed:
        line = sys.stdin.readline().rstrip("\r\n")
        if not line:
            raise UsageError("no password came.", hint="Send it as the first line of standard input.")
        return line
    if not sys.stdin.isatty():
        return ""
    said: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return said
