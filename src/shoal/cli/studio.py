"""``shoal studio``: the library in a browser, for one person on this computer or for named users over TLS."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell.commands import Commands
from shoal.cli._studio import users
from shoal.errors import UsageError, need

if TYPE_CHECKING:
    from shoal.studio.workspace import Workspace

PORT = 8712


def register(app: typer.Typer) -> None:
    group = Commands(name="studio", invoke_without_command=True, rich_markup_mode=None)
    group.callback()(studio)
    users.register(group)
    app.add_typer(group)


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
    try:
        from shoal.server.common import LOOPBACK, check_address, run
        from shoal.studio.workspace.people.people import has_users
    except ImportError:
        raise need("server", "fastapi") from None

    folder, own = users.folder_of(workspace), host in LOOPBACK
    check_address(host, tls_cert, tls_key)
    named = has_users(folder, store=store)
    if not own and not named:
        raise UsageError(
            "beyond this computer a studio needs named users, and there are none.",
            hint="Let the first one in: shoal studio user add NAME --role admin",
        )
    if _taken(host, port):
        raise UsageError(f"port {port} is in use.", hint="Is a studio running already? Else choose another with --port.")
    about: dict[str, Any] = {"limit": int(limit * 1e9), "workers": workers, "vault": vault}
    about["hosts"] = (*LOOPBACK, host, *(name or ()))
    scheme = "https" if tls_cert else "http"
    if named:
        from shoal.studio.accounts import create_house
        from shoal.studio.workspace.people import People

        app = create_house(People(folder, store=store), **about)
        link = f"{scheme}://{_address(name[0] if name else host)}:{port}/login"
        _shared.say(f"Log in at {link}")
    else:
        from shoal.studio.workspace import Workspace

        app, link = _for_one(Workspace(folder, store=store), f"{scheme}://{_address(host)}:{port}", **about)
    _shared.say(f"Kept in {folder.absolute()} (stop with Ctrl-C)")
    if browser and own:
        threading.Timer(1.0, _open, args=(link,)).start()
    run(app, host=host, port=port, tls_cert=tls_cert, tls_key=tls_key)


def _for_one(workspace: Workspace, address: str, **about: Any) -> tuple[Any, str]:
    """The studio of one person, and the link that opens it."""
    from shoal.studio.app import create_app

    def told(code: str) -> None:
        _shared.say(f"For another browser, once: {address}/enter?code={code}")

    app = create_app(workspace, told=told, **about)
    link = f"{address}/enter?code={app.state.door.code}"
    _shared.say(f"Open this link; it works once: {link}")
    return app, link


def _address(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _taken(host: str, port: int) -> bool:
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(kind, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), port))
        except OSError:
            return True
    return False


def _open(link: str) -> None:
    import webbrowser

    webbrowser.open(link)
