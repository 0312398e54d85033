"""Words of ``shoal measure`` that are taken apart, and what is asked at a terminal."""

from __future__ import annotations

import sys
from typing import Any

import typer

from shoal.cli import _shared
from shoal.cli._shell import typed
from shoal.errors import UsageError


def pair(text: str) -> tuple[str, str]:
    column, separator, file = text.partition("=")
    if not separator or not file:
        raise typer.BadParameter("a hierarchy is given as column=file.")
    return column.strip(), file.strip()


def weights(text: str) -> dict[str, float]:
    """Columns with what they are worth, from ``diagnosis=5,income=1``."""
    out = {}
    for part in typed.names(text):
        column, separator, weight = part.rpartition("=")
        try:
            out[column.strip()] = float(weight)
        except ValueError:
            separator = ""
        if not separator:
            raise typer.BadParameter("an impact is given as column=number.")
    return out


def who_is_a_row(opened: Any, words: dict[str, Any]) -> dict[str, str]:
    """At a terminal: whether a row is a person, where an id repeats. Elsewhere the notes of the measurement say it."""
    from shoal.api.readers.person_column import repeating_ids

    if not sys.stdin.isatty() or opened.schema.unit is not None:
        return {}
    taken = [n for role in ("quasi", "sensitive", "direct", "insensitive") for n in words.get(role) or ()]
    found = repeating_ids(opened, taken)
    if found is None:
        return {}
    _shared.say(f"Column '{found.column}' repeats: {found.ids:,} ids in {found.rows:,} rows.")
    return {} if typer.confirm("Is this one row per person?", default=False, err=True) else {"unit": found.column}


def proposed(opened: Any, *, as_json: bool) -> tuple[str, ...]:
    """Quasi-identifiers to confirm at a terminal; elsewhere nothing is guessed."""
    import shoal
    from shoal.cli.inspect import show

    if as_json or not sys.stdin.isatty():
        raise UsageError(
            f"no quasi-identifier of '{opened.name}' is named, and none is guessed.",
            hint="Name them with --quasi a,b. 'shoal inspect TABLE' suggests roles with a reason each.",
        )
    found = shoal.inspect(opened)
    show(found)
    _shared.say(f"Proposed quasi-identifiers: {', '.join(found.quasi) or 'none'}")
    if not found.quasi or not typer.confirm("Measure with these?", default=True, err=True):
        raise UsageError("no quasi-identifiers were chosen.", hint="Name them with --quasi a,b.")
    return tuple(found.quasi)
