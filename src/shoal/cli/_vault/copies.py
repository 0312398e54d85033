"""``shoal vault`` for those who plan and run one: plan, backup, restore, copy, serve."""

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
from shoal.errors import UsageError


@acting
def backup(session: Any, out: Annotated[Path, typer.Option("--out", "-o", help="New file (mode 0600).")]) -> Answer:
    """Write the whole vault into one sealed file, while in use, and check the file."""
    made = care_of(session).backup(session, out)
    return made.to_json(), f"{made.events} events, {made.rows:,} rows in {out}, checked. Keep it where the vault is not."


def check_backup(
    file: Annotated[Path, typer.Argument(help="File that `backup` wrote.")],
    key_file: KeyFile = None,
    key_share: KeyShares = None,
    json: Json = False,
) -> None:
    """Check a whole backup."""
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
    """Restore a backup into a new place. Takes two people; the log records it permanently."""
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
    """Serve a vault. Everyone else works with `--vault https://…` or `--vault unix:/socket` and a token."""
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
    """Copy the vault into another database: SQLite or PostgreSQL. Continue with one of the two."""
    from shoal.protector.store.connection import describe

    care_of(session).copy(session, to, parts=parts)
    return {"to": describe(to)}, f"Copied to {describe(to)}. From now on use one of the two: the other is refused as older."


def plan(
    answers: Annotated[Path | None, typer.Argument(help="The filled-in questionnaire; without it, it is printed.")] = None,
    json: Json = False,
) -> None:
    """Find out where a process needs identity: a questionnaire, and alternatives. Needs no vault."""
    from shoal.protector import needs

    if answers is None:
        tell({"questions": needs.QUESTIONS}, needs.questionnaire().rstrip("\n"), as_json=json)
        return
    found = needs.plan(_read_answers(answers))
    rows = [(n.process, n.identity, n.use, n.command) for n in found]
    table = _shared.table_of("Where identity is needed", ("process", "identity", "what serves", "how"), rows)
    tell({"needs": [n.to_json() for n in found]}, table, as_json=json)


def _read_answers(file: Path) -> dict[str, object]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        body = YAML(typ="safe", pure=True).load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, YAMLError):
        body = None
    if not isinstance(body, dict):
        raise UsageError(f"'{file.name}' is not a filled-in questionnaire.", hint="`shoal vault plan > answers.yml` prints one.")
    return body


COMMANDS = {
    "plan": plan,
    "backup": backup,
    "check-backup": check_backup,
    "restore": restore,
    "copy": copy,
    "serve": serve,
}
