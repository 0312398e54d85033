"""What the commands of ``shoal vault`` share that take whole tables: options, the answer, and the warning of what is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell import texts as typed
from shoal.cli._vault.shared import Answer
from shoal.errors import UsageError

Table = Annotated[
    str | None, typer.Option("--table", help="Or a table: a file (CSV, Parquet …) or ENGINE-URL::table, with --id and --out.")
]
Ids = Annotated[str, typer.Option("--id", help="With --table: its columns, separated by commas.")]
TableOut = Annotated[Path | None, typer.Option("--out", "-o", help="With --table: output file.")]


def table_options(other: object, id: str, out: Path | None) -> tuple[list[str], Path]:
    """The columns and the output of a table; what came beside it is refused."""
    if other or not id or out is None:
        raise UsageError("a table is taken alone: --table FILE --id COLUMN --out FILE.")
    return list(typed.names(id)), out


def replaced(done: Any, out: Path) -> Answer:
    """The message about a table whose columns were replaced."""
    warn_of(done.left)
    told = {"rows": done.rows, "missing": done.missing, "left": {k: list(v) for k, v in done.left.items()}, "out": str(out)}
    return told, f"{done.rows:,} rows written to {out}; {done.missing:,} cells have no value there."


def warn_of(left: Mapping[str, Sequence[str]]) -> None:
    """Say which columns still tell who people are."""
    from shoal.protector.pseudonyms.tables import sentence

    if left and (warning := sentence({role: list(names) for role, names in left.items()})):
        _shared.say(f"Careful: {warning}")
