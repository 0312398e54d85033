"""``shoal verify``: prove a release again, offline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import _shared
from shoal.cli._shell import common
from shoal.cli._shell.preview import show_preview


def register(app: typer.Typer) -> None:
    app.command("verify")(verify)


def verify(
    folder: Annotated[Path, typer.Argument(help="The folder of a release.")],
    key: Annotated[str | None, typer.Option("--key", help="Public key or fingerprint that the publisher announced.")] = None,
    table: Annotated[str, typer.Option("--table", help="ENGINE-URL::table, if the data are in a database.")] = "",
    private: Annotated[
        Path | None, typer.Option("--private", help="FOLDER.private.json: check if its seed is the certified one.")
    ] = None,
    exclude: Annotated[
        str | None,
        typer.Option("--exclude", help="Opt-outs: check if this list is the certified one."),
    ] = None,
    preview: common.Preview = False,
    as_json: common.Json = False,
) -> None:
    """Verify a release offline: signature, files, plan, and every number by counting the data again."""
    import shoal

    if preview:
        show_preview("verify", str(folder), {}, as_json=as_json, table=table or None)
        return
    with _shared.progress("verifying") as told:
        result = shoal.verify(folder, key=key, table=table or None, private=private, exclude=exclude, progress=told)
    if as_json:
        _shared.put_json(result.to_json())
    else:
        for check in result.checks:
            _shared.line(f"{'ok  ' if check.ok else 'FAIL'} {_shared.printable(check.name)}: {_shared.printable(check.sentence)}")
        _shared.line("Verified." if result.ok else "This release does NOT verify. Do not use it.")
        if result.ok:
            _shared.next_step(f"shoal attack {folder}")
    if not result.ok:
        raise typer.Exit(1)
