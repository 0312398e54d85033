"""``shoal vault`` for those who run it: backup, restore, copy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell.common import Json
from shoal.cli._vault.shared import (
    AnchorFile,
    Answer,
    KeyFile,
    KeyShares,
    Parts,
    Place,
    TokenFile,
    acting,
    care_of,
    master_key,
    opened,
    read_secret,
    tell,
    token,
)


def register(vault: typer.Typer) -> None:
    vault.command("backup")(backup)
    vault.command("check-backup")(check_backup)
    vault.command("restore")(restore)
    vault.command("copy")(copy)
    vault.command("serve")(serve)


@acting
def backup(session: Any, out: Annotated[Path, typer.Option("--out", "-o", help="New file (mode 0600).")]) -> Answer:
    """Write the whole vault into one sealed file while it is in use; it is read back and checked."""
    made = care_of(session).backup(session, out)
    return made.to_json(), f"{made.events} events, {made.rows:,} rows in {out}, checked. Keep it where the vault is not."


def check_backup(
    file: Annotated[Path, typer.Argument(help="File that `backup` wrote.")],
    key_file: KeyFile = None,
    key_share: KeyShares = None,
    json: Json = False,
) -> None:
    """Read a backup and check all of it."""
    from shoal.protector.care.copies import check

    found = check(file, master_key(key_file, key_share))
    tell(found.to_json(), f"Whole: {found.events} events, {found.rows:,} rows, generation {found.generation}.", as_json=json)


def restore(
    file: Annotated[Path, typer.Argument(help="File that `backup` wrote.")],
    vault: Place,
    second: Annotated[Path, typer.Option("--second-token-file", help="Token of the second person.")],
    key_file: KeyFile = None,
    key_share: KeyShares = None,
    token_file: TokenFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """Put a backup into a new place, by two people. What came after the backup is counted, and the log says so for ever."""
    from shoal.protector import care

    pair = (token(token_file), read_secret(second))
    made = care.restore(file, vault, key=master_key(key_file, key_share), accept=pair, anchor=anchor)
    lost = "an unknown number of" if made.events_lost is None else str(made.events_lost)
    words = f"Restored at generation {made.backup.generation}; {lost} events came later and are lost."
    if made.events_lost != 0:
        words += " Pseudonyms given out since then are unknown here: make the tables of that time again."
    tell(made.to_json(), words, as_json=json)
    made.vault.close()


def serve(
    vault: Place,
    host: Annotated[str, typer.Option("--host", help="Address to listen on; beyond loopback TLS is needed.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535)] = 8711,
    socket: Annotated[Path | None, typer.Option("--socket", help="Listen on this unix socket instead.")] = None,
    tls_cert: Annotated[Path | None, typer.Option("--tls-cert", help="TLS certificate (PEM).")] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="Key of the TLS certificate (PEM).")] = None,
    key_file: KeyFile = None,
    key_share: KeyShares = None,
    anchor: AnchorFile = None,
) -> None:
    """Serve a vault: the key stays here, everybody else works with `--vault https://…` or `--vault unix:/socket` and a token."""
    from shoal.errors import need

    try:
        from shoal.server.protector import api
    except ImportError:
        raise need("server", "fastapi") from None
    place = opened(vault, key_file, key_share, anchor, maintenance=False)
    where = f"unix:{socket}" if socket is not None else f"http{'s' if tls_cert else ''}://{host}:{port}"
    _shared.say(f"Serving the vault on {where} (stop with Ctrl-C)")
    api.serve(place, host=host, port=port, socket=socket, tls_cert=tls_cert, tls_key=tls_key)


@acting
def copy(
    session: Any, to: Annotated[str, typer.Option("--to", help="New file (SQLite) or postgresql://…")], parts: Parts = 1
) -> Answer:
    """Copy the whole vault into another database: from SQLite to PostgreSQL or back. Go on with one of the two."""
    from shoal.protector.store.connection import describe

    care_of(session).copy(session, to, parts=parts)
    return {"to": describe(to)}, f"Copied to {describe(to)}. From now on use one of the two: the other is refused as older."
