"""``shoal serve``: the registry over HTTP, on loopback; a vault beside it, in a process of its own."""

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
    from dataclasses import replace

    from shoal.errors import UsageError, need

    try:
        from shoal.server.registry.process import Address, registry_beside, serve_registry
    except ImportError:
        raise need("server", "fastapi") from None

    url = registry if "://" in registry else f"sqlite:///{registry}"
    at = Address(host, port, tuple(name or ()), proxy, tls_cert, tls_key)
    told = f"{at.url}/registry/v1/"
    if vault is None:
        _shared.say(f"Serving on {told} (stop with Ctrl-C)")
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
        _shared.say(f"Serving the registry on {told} (process {process.pid})")
        _shared.say(f"Serving the vault on {own.url}/vault/v1/ (stop with Ctrl-C)")
        serve_vault(opened, host=own.host, port=own.port, names=own.names, tls_cert=own.tls_cert, tls_key=own.tls_key)
