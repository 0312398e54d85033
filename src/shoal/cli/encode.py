"""``shoal encode``: records as keyed Bloom filters, to be compared by somebody who must not see a name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell import common, typed
from shoal.cli._shell.preview import show_preview


def register(app: typer.Typer) -> None:
    app.command("encode")(encode)


def encode(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="A table: a file, or ENGINE-URL::table.")],
    id: Annotated[str, typer.Option("--id", help="Column that names a record in the answer: best a pseudonym of yours.")],
    key_file: Annotated[Path, typer.Option("--key-file", help="The key that both holders have (`shoal vault key -o link.key`).")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File for whoever compares: settings, ids and filters, no values.")],
    fields: Annotated[
        str | None, typer.Option("--fields", help="What columns mean: surname=family,dob=birth,id=number:bsn …")
    ] = None,
    rename: Annotated[
        str | None, typer.Option("--rename", help="Columns of kind text by the other holder's names: plaats=city,…")
    ] = None,
    salt: Annotated[str | None, typer.Option("--salt", help="A field that never changes, in place of the birth date.")] = None,
    preview: common.Preview = False,
    as_json: common.Json = False,
) -> None:
    """Encode the people of a table with a key, so that two holders can find whom they share without showing names."""
    import shoal
    from shoal.protector.crypto.master_keys import derived_from_file

    told: dict[str, Any] = {"fields": typed.pairs_of(fields, "--fields"), "rename": typed.pairs_of(rename, "--rename")}
    told |= {"id": id, "salt": salt}
    if preview:
        show_preview("encode", table, {}, as_json=as_json, **told)
        return
    key = derived_from_file(key_file, "linkage")
    with _shared.progress("encoding"):
        made = shoal.encode(table, key=key, **told)
    made.write(out)
    if as_json:
        _shared.put_json({**made.to_json(), "out": out.name})
        return
    typer.echo(f"{len(made):,} records encoded from {', '.join(made.settings.tags)}, salted by {', '.join(made.settings.salts)}.")
    if made.left_out:
        typer.echo(f"Careful: {made.left_out:,} records lack the salt, or everything else, and are left out.")
    _shared.say(f"Written to {out}. Give it to whoever compares, never together with the key.")
