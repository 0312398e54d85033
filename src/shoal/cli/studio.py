"""``shoal studio``: the library in a browser, on this computer only."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import _shared

PORT = 8712


def register(app: typer.Typer) -> None:
    app.command("studio")(studio)


def studio(
    workspace: Annotated[
        Path | None, typer.Option("--workspace", help="Folder that keeps tables and releases (default: ~/shoal-studio).")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option("--store", envvar="SHOAL_STUDIO_STORE", help="PostgreSQL URL for the records; else SQLite in the folder."),
    ] = None,
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Port on 127.0.0.1.")] = PORT,
    limit: Annotated[float, typer.Option("--limit", min=0.001, help="Largest table that is taken, in GB.")] = 2.0,
    workers: Annotated[int, typer.Option("--workers", min=1, max=32, help="Jobs at the same time.")] = 2,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
) -> None:
    """Measure, understand, improve and prove in a browser. Nothing leaves this computer; the link works once."""
    from shoal.errors import UsageError, need

    try:
        from shoal.server.common import run
        from shoal.server.studio.app import create_app
    except ImportError:
        raise need("server", "fastapi") from None
    from shoal.workspace import Workspace

    if _taken(port):
        raise UsageError(f"port {port} is in use.", hint="Is a studio running already? Else choose another with --port.")
    opened = Workspace(workspace or Path.home() / "shoal-studio", store=store)

    def link(code: str) -> str:
        return f"http://127.0.0.1:{port}/enter?code={code}"

    def told(code: str) -> None:
        _shared.say(f"For another browser, once: {link(code)}")

    app = create_app(opened, limit=int(limit * 1e9), workers=workers, told=told)
    _shared.say(f"Open this link; it works once: {link(app.state.door.code)}")
    _shared.say(f"Kept in {opened.files.root} (stop with Ctrl-C)")
    if browser:
        threading.Timer(1.0, _open, args=(link(app.state.door.code),)).start()
    run(app, host="127.0.0.1", port=port)


def _taken(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def _open(link: str) -> None:
    import webbrowser

    webbrowser.open(link)
