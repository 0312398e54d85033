"""``shoal inspect``: columns, suggested roles with a reason each, and which columns together identify."""

# no "from __future__ import annotations": typer would compile every annotation again, and --help would wait for it

from typing import TYPE_CHECKING, Any

import typer

import shoal
from shoal.cli import _shared
from shoal.cli._shared import preview_instead
from shoal.cli._shell import options, texts
from shoal.cli._shell.options import Option, from_verb

if TYPE_CHECKING:
    from shoal.api.inspect import Inspection
    from shoal.find import ColumnFinding


def register(app: typer.Typer) -> None:
    app.command("inspect")(inspect)


@from_verb(
    "inspect:inspect",
    {"rules": Option("A rule for values: age<=120, admission<=discharge. Repeatable.", "RULE", flag="--rule", kind=list[str])},
    shared=("quasi", "qi", "sensitive", "direct", "insensitive", "unit", "weight"),
    reading=("read", "rename_duplicates", "only_aggregates", "scale", "order", "missing_values"),
)
def inspect(
    table: options.Table,
    verb_options: dict[str, Any],
    reading: dict[str, Any],
    preview: options.Preview = False,
    as_json: options.Json = False,
) -> None:
    """Find which columns identify people: a suggested role for each, with a reason. Shows no data value."""
    preview_instead(preview, "inspect", table, reading, as_json=as_json, **verb_options)
    with _shared.progress("looking at the columns") as progress:
        inspection = shoal.inspect(shoal.open(table, **reading), progress=progress, **verb_options)
    if as_json:
        _shared.put_json(inspection.to_json())
    else:
        show(inspection, "TABLE" if "://" in table else table)  # a URL may hold a password


COLOURS = {"direct": "bold red", "quasi": "yellow", "sensitive": "magenta", "insensitive": "green", "undecided": "bold cyan"}
MEANING = {
    "direct": "name a person by themselves: to be removed",
    "quasi": "others may know them: together they can identify",
    "sensitive": "nobody should learn them about a person",
    "insensitive": "neither",
    "undecided": "not recognized: decide, or they are never published as they are",
}
MOST_SHOWN = 60
"""Columns of one role that are shown; ``--json`` lists all."""
MOST_NAMED = 8
"""Quasi-identifiers that the next step names."""


def show(inspection: "Inspection", table: str = "TABLE") -> None:
    """Print an inspection: what matters in a sentence, a table per role, one next step."""
    for line in texts.how_read(inspection.read):
        _shared.line(line)
    _shared.line(_sentence(inspection), style="bold")
    for role in COLOURS:
        mine = [c for c in inspection.columns if c.role.value == role]
        if mine:
            _show_columns(role, mine)
        if len(mine) > MOST_SHOWN:
            _shared.line(f"  … and {len(mine) - MOST_SHOWN:,} more; --json lists all.")
    if inspection.together:
        sets = [(" + ".join(s.columns), f"{s.unique:,}", f"{s.k:,}") for s in inspection.together]
        _shared.show_table("Columns that together identify", ("columns", "one of a kind", "smallest group"), sets, right=(1, 2))
    if inspection.sanity is not None and inspection.sanity.found:
        _show_impossible(inspection)
    _shared.notes(inspection.notes)
    _shared.next_step(_next(inspection, table), within=True)


def _sentence(inspection: "Inspection") -> str:
    """What matters: how many columns are what, and who stands alone."""
    counts = ", ".join(f"{len(inspection.of_role(role)):,} {role}" for role in COLOURS if inspection.of_role(role))
    whose = f"people of '{inspection.unit}'" if inspection.unit else "records"
    alone = f" {inspection.unique:,} {whose} are one of a kind by the quasi-identifiers." if inspection.unique is not None else ""
    aside = sum(inspection.read.get("set_aside", {}).values())
    left = f" ({aside:,} line{'s' if aside > 1 else ''} set aside)" if aside else ""
    return f"{inspection.table}: {inspection.records:,} records{left}, {len(inspection.columns):,} columns: {counts}.{alone}"


def _show_columns(role: str, columns: "list[ColumnFinding]") -> None:
    rows = []
    for c in columns[:MOST_SHOWN]:
        doubt = f" ({100 * c.confidence:.0f} % sure)" if c.role.value != "undecided" and c.confidence < DOUBTFUL else ""
        spelled = f" '{', '.join(c.missing_values[:3])}' may mean no value." if c.missing_values else ""
        hipaa = f" (HIPAA {c.hipaa})" if c.hipaa is not None else ""
        empty = f"{c.missing:,}" if c.missing else ""
        rows.append((c.name, f"{c.distinct:,}", empty, c.scale.value, f"{c.reason}{hipaa}{doubt}.{spelled}"))
    heads = ("column", "values", "empty", "scale", "because")
    _shared.show_table(f"{role}: {MEANING[role]}", heads, rows, right=(1, 2), style=COLOURS[role])


def _show_impossible(inspection: "Inspection") -> None:
    assert inspection.sanity is not None
    rows = [(", ".join(one.columns), one.what, f"{one.records:,}") for one in inspection.sanity.found]
    share = f"{100 * inspection.sanity.rate:.2g} %"
    title = f"Values that cannot be: {inspection.sanity.records:,} of {inspection.records:,} records ({share})"
    _shared.show_table(title, ("columns", "what", "records"), rows, right=(2,))


DOUBTFUL = 0.6
"""Confidence below which a suggestion says how sure it is."""


def _next(inspection: "Inspection", table: str) -> str:
    """One next step: measure, or with very many quasi-identifiers a draft to correct first."""
    if not inspection.quasi or len(inspection.quasi) > MOST_NAMED:
        return f"shoal anonymize {table} --draft policy.yml"
    command = ["shoal", "measure", table, "--quasi", ",".join(inspection.quasi)]
    command += ["--sensitive", ",".join(inspection.sensitive)] if 0 < len(inspection.sensitive) <= MOST_NAMED else []
    command += ["--unit", inspection.unit] if inspection.unit else []
    return " ".join(command)
