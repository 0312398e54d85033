"""``shoal studio``: the library in a browser, for one person on this computer or for named users over TLS."""

from __future__ import annotations

import socket
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell import options
from shoal.cli._shell.commands import Commands
from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.studio.workspace.people import People


PORT = 8712


def register(app: typer.Typer) -> None:
    group = Commands(name="studio", invoke_without_command=True, no_args_is_help=False)
    group.callback()(studio)
    register_users(group)
    app.add_typer(group)
    app.command("serve")(serve)


def studio(
    ctx: typer.Context,
    workspace: Annotated[
        Path | None, typer.Option("--workspace", help="Folder that keeps tables and releases (default: ~/shoal-studio).")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option("--store", envvar="SHOAL_STUDIO_STORE", help="PostgreSQL URL for the records; else SQLite in the folder."),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="Address to listen on; beyond loopback: TLS and users.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Port.")] = PORT,
    name: Annotated[
        list[str] | None, typer.Option("--name", help="A host name under which browsers reach it. Repeatable.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option("--tls-cert", help="TLS certificate (PEM).")] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="Key of the TLS certificate (PEM).")] = None,
    vault: Annotated[str, typer.Option("--vault", help="Address of a vault's service, for its console.")] = "",
    limit: Annotated[float, typer.Option("--limit", min=0.001, help="Largest table that is taken, in GB.")] = 2.0,
    workers: Annotated[int, typer.Option("--workers", min=1, max=32, help="Jobs at the same time, in each workspace.")] = 2,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
) -> None:
    """Measure, understand, improve and prove in a browser.

    On this computer one person comes in by a link that works once. Beyond it, named users log in over TLS: see
    'shoal studio user'. Nothing leaves the computer that it runs on.
    """
    if ctx.invoked_subcommand is not None:
        return
    from shoal.server.common import LOOPBACK, check_address
    from shoal.server.limited_http import run
    from shoal.studio.workspace.people import has_users

    folder, own = folder_of(workspace), host in LOOPBACK
    check_address(host, tls_cert, tls_key)
    named = has_users(folder, store=store)
    if not own and not named:
        hint = "Let the first one in: shoal studio user add NAME --role admin"
        raise UsageError("beyond this computer a studio needs named users, and there are none.", hint=hint)
    if _is_taken(host, port):
        raise UsageError(f"port {port} is in use.", hint="Is a studio running already? Else choose another with --port.")
    about: dict[str, Any] = {"limit": int(limit * 1e9), "workers": workers, "vault": vault}
    about["hosts"] = (*LOOPBACK, host, *(name or ()))
    known = name[0] if name and named else host
    address = f"http{'s' if tls_cert else ''}://{f'[{known}]' if ':' in known and not known.startswith('[') else known}:{port}"
    app, link = (_for_many if named else _for_one)(folder, store, address, **about)
    _shared.say(f"Kept in {folder.absolute()} (stop with Ctrl-C)")
    if browser and own:
        import webbrowser

        threading.Timer(1.0, webbrowser.open, args=(link,)).start()
    run(app, host=host, port=port, tls_cert=tls_cert, tls_key=tls_key)


def _for_many(folder: Path, store: str | None, address: str, **about: Any) -> tuple[Any, str]:
    """The studio of named users, and the page to log in."""
    from shoal.studio.accounts import create_house
    from shoal.studio.workspace.people import People

    app, link = create_house(People(folder, store=store), **about), f"{address}/login"
    _shared.say(f"Log in at {link}")
    return app, link


def _for_one(folder: Path, store: str | None, address: str, **about: Any) -> tuple[Any, str]:
    """The studio of one person, and the link that opens it."""
    from shoal.studio.app import create_app
    from shoal.studio.workspace import Workspace

    once = f"For another browser, once: {address}/enter?code="
    app = create_app(Workspace(folder, store=store), on_code=lambda code: _shared.say(once + code), **about)
    link = f"{address}/enter?code={app.state.door.code}"
    _shared.say(f"Open this link; it works once: {link}")
    return app, link


def _is_taken(host: str, port: int) -> bool:
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(kind, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), port))
        except OSError:
            return True
    return False


Place = Annotated[Path | None, typer.Option("--workspace", help="Folder of the studio (default: ~/shoal-studio).")]
Store = Annotated[
    str | None, typer.Option("--store", envvar="SHOAL_STUDIO_STORE", help="PostgreSQL URL of the studio, where it has one.")
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the user.")]
PasswordStdin = Annotated[bool, typer.Option("--password-stdin", help="Read the password from standard input, one line.")]


def register_users(studio: typer.Typer) -> None:
    user = Commands(name="user", help="Manage the users of the studio.")
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
    typed: PasswordStdin = False,
    workspace: Place = None,
    store: Store = None,
    as_json: options.Json = False,
) -> None:
    """Add a user. Asks for a password at a terminal; otherwise generates one and shows it once."""
    with _people(workspace, store) as people:
        given, secret = _passwords(typed)
        user = people.users.add(name, role, secret, beside=beside)
    content = {"name": user.name, "role": user.role, "workspace": user.space} | ({} if given else {"password": secret})
    once = "" if given else f"\nFirst password, shown this once: {secret}"
    _shared.tell(content, f"Added {user.name} as {user.role}.{once}", as_json=as_json)


def listed(workspace: Place = None, store: Store = None, as_json: options.Json = False) -> None:
    """List the users."""
    with _people(workspace, store) as people:
        users = people.users.all()
    if as_json:
        _shared.put_json({"users": [{"name": u.name, "role": u.role, "workspace": u.space} for u in users]})
        return
    if not users:
        typer.echo("There are no users: 'shoal studio' serves one person on this computer, by its link.")
    for u in users:
        others = [o.name for o in users if o.space == u.space and o.name != u.name]
        typer.echo(f"{u.name}  {u.role}  {'with ' + ', '.join(others) if others else 'own workspace'}")


def remove(
    name: Name,
    tables: Annotated[bool, typer.Option("--delete-tables", help="Also delete everything in their workspace.")] = False,
    workspace: Place = None,
    store: Store = None,
    as_json: options.Json = False,
) -> None:
    """Remove a user and log them out. Their tables stay unless you pass --delete-tables."""
    with _people(workspace, store) as people:
        user = people.users.get(name)
        if tables and any(u.space == user.space and u.name != user.name for u in people.users.all()):
            raise UsageError("others share this workspace.", hint="Remove the user without --delete-tables.")
        people.users.remove(name)
        if tables:
            with people.workspace(user.space) as kept:
                kept.delete_everything()
    _shared.tell(
        {"removed": user.name, "tables_deleted": tables},
        f"Removed {user.name}; {'their tables are deleted' if tables else 'their tables stay'}.",
        as_json=as_json,
    )


def role(
    name: Name,
    role: Annotated[str, typer.Argument(metavar="ROLE", help="viewer, editor or admin.")],
    workspace: Place = None,
    store: Store = None,
    as_json: options.Json = False,
) -> None:
    """Change a user's role; takes effect on the next page."""
    with _people(workspace, store) as people:
        user = people.users.give_role(name, role)
    _shared.tell({"name": user.name, "role": user.role}, f"{user.name} is {user.role} now.", as_json=as_json)


def password(
    name: Name, typed: PasswordStdin = False, workspace: Place = None, store: Store = None, as_json: options.Json = False
) -> None:
    """Change a user's password and end all their sessions."""
    with _people(workspace, store) as people:
        given, secret = _passwords(typed)
        people.users.give_password(name, secret)
    once = "" if given else f"\nIt is shown this once: {secret}"
    content = {"name": name} | ({} if given else {"password": secret})
    _shared.tell(content, f"{name} has another password and is logged out everywhere.{once}", as_json=as_json)


def _people(workspace: Path | None, store: str | None) -> People:
    from shoal.studio.workspace.people import People

    return People(folder_of(workspace), store=store)


def _passwords(typed: bool) -> tuple[str, str]:
    """The password that somebody types, or nothing, and the one that holds: a generated one if nobody typed any."""
    from shoal.studio.workspace.people import invented

    given = _password(typed)
    return given, given or invented()


def _password(typed: bool) -> str:
    """The password that somebody types, or nothing where nobody is there to type one."""
    if typed:
        line = sys.stdin.readline().rstrip("\r\n")
        if not line:
            raise UsageError("no password came.", hint="Send it as the first line of standard input.")
        return line
    if not sys.stdin.isatty():
        return ""
    answer: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return answer


def serve(
    registry: Annotated[
        str, typer.Option("--registry", help="SQLite file or database URL of the registry.")
    ] = "shoal-registry.db",
    vault: Annotated[
        Path | None, typer.Option("--vault", help="Serve this vault too, in a process and on a port of its own.")
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(
            "--key-file", envvar="SHOAL_VAULT_KEY_FILE", help="File with the vault's master key (else SHOAL_VAULT_KEY)."
        ),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="Address to listen on; beyond loopback TLS is needed.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535)] = 8711,
    vault_port: Annotated[
        int | None, typer.Option("--vault-port", min=1, max=65535, help="Port of the vault; else the next one.")
    ] = None,
    name: Annotated[
        list[str] | None, typer.Option("--name", help="A host name under which clients reach it. Repeatable.")
    ] = None,
    proxy: Annotated[str, typer.Option("--proxy", help="Reverse proxy whose X-Forwarded-For header is trusted.")] = "",
    tls_cert: Annotated[Path | None, typer.Option("--tls-cert", help="TLS certificate (PEM).")] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="Key of the TLS certificate (PEM).")] = None,
) -> None:
    """Serve the registry and, with --vault, a vault. Queries are open to anyone; publishing needs a token."""
    from shoal.server.app import Address, registry_beside, serve_registry

    url = registry if "://" in registry else f"sqlite:///{registry}"
    at = Address(host, port, tuple(name or ()), proxy, tls_cert, tls_key)
    address = f"{at.url}/registry/v1/"
    if vault is None:
        _shared.say(f"Serving on {address} (stop with Ctrl-C)")
        serve_registry(url, at)
        return
    from shoal.protector import Vault, keys
    from shoal.protector.crypto.hsm_keys import key_at
    from shoal.server.protector.api import serve as serve_vault

    own = replace(at, port=vault_port or port + 1)
    if own.port == port or own.port > 65535:
        raise UsageError("registry and vault need a port each.", hint="Give --port and --vault-port.")
    opened = Vault.open(vault, key=key_at(key_file) if key_file else keys.from_env(forget=True))
    with registry_beside(url, at) as process:
        _shared.say(f"Serving the registry on {address} (process {process.pid})")
        _shared.say(f"Serving the vault on {own.url}/vault/v1/ (stop with Ctrl-C)")
        serve_vault(opened, host=own.host, port=own.port, names=own.names, tls_cert=own.tls_cert, tls_key=own.tls_key)
