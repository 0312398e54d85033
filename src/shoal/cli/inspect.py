"""``shoal inspect``: columns, suggested roles with a reason each, and which columns together identify."""

# no "from __future__ import annotations": typer would compile every annotation again, and --help would wait for it

from typing import TYPE_CHECKING

import typer

from shoal.cli import _shared

if TYPE_CHECKING:
    from shoal.api.inspect import Inspection


def register(app: typer.Typer) -> None:
    app.command("inspect")(inspect)


def inspect(
    table: _shared.Table,
    quasi: _shared.Quasi = None,
    sensitive: _shared.Sensitive = None,
    direct: _shared.Direct = None,
    insensitive: _shared.Insensitive = None,
    unit: _shared.Unit = None,
    weight: _shared.Weight = None,
    scale: _shared.Scale = None,
    order: _shared.Order = None,
    missing_values: _shared.MissingValues = None,
    read: _shared.Read = None,
    rename_duplicates: _shared.RenameDuplicates = False,
    as_json: _shared.Json = False,
    qi: _shared.Qi = None,
) -> None:
    """Which columns identify people? Suggested roles with a reason each; no data value is shown. Roles that you name are kept."""
    import shoal

    known = _shared.roles(
        quasi=quasi, qi=qi, sensitive=sensitive, direct=direct, insensitive=insensitive, unit=unit, weight=weight
    )
    reading = _shared.read_options(read, rename=rename_duplicates) | _shared.properties(scale, missing_values, order)
    with _shared.progress("looking at the columns") as told:
        found = shoal.inspect(shoal.open(table, **reading), progress=told, **known)
    if as_json:
        _shared.put_json(found.to_json())
    else:
        show(found, "TABLE" if "://" in table else table)  # a URL may hold a password


def show(found: "Inspection", table: str = "TABLE") -> None:
    """Print an inspection."""
    out = _shared.console()
    if how := _shared.how_read(found.read):
        out.print(_shared.printable(how), markup=False)
    rows = []
    for c in found.columns:
        hipaa = f" (HIPAA {c.hipaa})" if c.hipaa is not None else ""
        filled = f"{c.distinct:,}" + (f", {c.missing:,} missing" if c.missing else "")
        rows.append((c.name, c.kind, filled, c.role.value, f"{c.reason}{hipaa}", f"{100 * c.confidence:.0f} %"))
    heads = ("column", "kind", "values", "suggested", "because", "sure")
    out.print(_shared.table_of(f"{_shared.printable(found.table)}: {found.records:,} records", heads, rows, right=(2, 5)))
    if found.together:
        sets = [(" + ".join(s.columns), f"{s.unique:,}", f"{s.k:,}") for s in found.together]
        out.print(
            _shared.table_of("Columns that together identify", ("columns", "one of a kind", "smallest group"), sets, right=(1, 2))
        )
    for note in found.notes:
        out.print(_shared.printable(f"• {note}"), markup=False)
    if found.quasi:
        words = ["shoal", "measure", table, "--quasi", ",".join(found.quasi)]
        words += ["--sensitive", ",".join(found.sensitive)] if found.sensitive else []
        words += ["--unit", found.unit] if found.unit else []
        out.print(_shared.printable("Next: " + " ".join(words)), markup=False)
