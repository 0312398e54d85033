"""``shoal serve``: the registry (and a vault) over HTTP, on loopback."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import _shared


def register(app: typer.Typer) -> None:
    app.command("serve")(serve)


def serve(
    registry: Annotated[
        str, typer.Option("--registry", help="SQLite file or database URL of the registry.")
    ] = "shoal-registry.db",
    vault: Annotated[Path | None, typer.Option("--vault", help="Serve this vault too.")] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(
            "--key-file", envvar="SHOAL_VAULT_KEY_FILE", help="File with the vault's master key (else SHOAL_VAULT_KEY)."
        ),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="Address to listen on; beyond loopback TLS is needed.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535)] = 8711,
    name: Annotated[
        list[str] | None, typer.Option("--name", help="A host name under which clients reach it. Repeatable.")
    ] = None,
    proxy: Annotated[
        str, typer.Option("--proxy", help="Address of a reverse proxy whose X-Forwarded-For is believed; else nobody's is.")
    ] = "",
    tls_cert: Annotated[Path | None, typer.Option("--tls-cert", help="TLS certificate (PEM).")] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="Key of the TLS certificate (PEM).")] = None,
) -> None:
    """Serve the registry and, where one is named, the vault. Anybody may ask the registry; publishing needs a token."""
    from shoal.errors import need

    try:
        from shoal.server.app import create_app
        from shoal.server.common import LOOPBACK, run
        from shoal.server.registry.workers import Workers
    except ImportError:
        raise need("server", "fastapi") from None
    from shoal.registry.keep.store import Store

    store = Store(registry if "://" in registry else f"sqlite:///{registry}")
    opened = None
    if vault is not None:
        from shoal.protector import Vault, keys

        opened = Vault.open(vault, key=keys.from_file(key_file) if key_file else keys.from_env(forget=True))
    _shared.say(f"Serving on http{'s' if tls_cert else ''}://{host}:{port}/registry/v1/ (stop with Ctrl-C)")
    workers = Workers(registry if "://" in registry else f"sqlite:///{registry}")
    app = create_app(store, opened, hosts=(*LOOPBACK, host, *(name or ())), workers=workers)
    run(app, host=host, port=port, tls_cert=tls_cert, tls_key=tls_key, proxy=proxy)
