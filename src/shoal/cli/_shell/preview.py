"""``--preview``: the statements that a command would send to a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer

from shoal.cli import _shared


def show_preview(
    verb: str, tables: str | Sequence[str] | None, reading: Mapping[str, Any], *, as_json: bool, **words: Any
) -> None:
    """Print the statements, or all that is known of them as JSON; what they rest on goes to stderr."""
    from shoal.api.preview import preview

    sources = [tables] if tables is None or isinstance(tables, str) else tables
    found = [preview(verb, source, reading=reading, **words) for source in sources]
    if as_json:
        _shared.put_json(found[0].to_json() if len(found) == 1 else {"verb": verb, "tables": [f.to_json() for f in found]})
        return
    for one in found:
        for statement in one.statements:
            typer.echo(f"-- returns {statement.returns}\n{_shared.printable(statement.sql)};")
    for note in dict.fromkeys(f.note for f in found):
        _shared.say(note)
