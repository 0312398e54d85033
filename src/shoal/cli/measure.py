"""``shoal measure``: how anonymous is this table, and what would change it?"""

# no "from __future__ import annotations": typer would compile every annotation again, and --help would wait for it

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import shoal
from shoal.cli import _measurements as events
from shoal.cli import _shared
from shoal.cli._measurements import propose_quasi, propose_unit, read_weights, show_measurement
from shoal.cli._shared import preview_instead
from shoal.cli._shell import options, texts
from shoal.cli._shell.options import Option, from_verb

if TYPE_CHECKING:
    from shoal import Measurement, Table
    from shoal.measures.classes.individual import HouseholdRisk

OPTIONS = {
    "population": Option("Size (17.5M) or table of the population.", "NUMBER|TABLE"),
    "missing": Option("Rule for missing values: own, wildcard or drop.", "RULE"),
    "hierarchies": Option(
        "Hierarchy of a sensitive column, for t-closeness. Repeatable.", "COLUMN=FILE", texts.files, "--hierarchy", list[str]
    ),
    "time": Option("Event tables: column of the time.", "COLUMN"),
    "place": Option("Event tables: columns of the place or item: a,b.", "COLUMNS"),
    "time_widths": Option("Granularities: exact,hour,6h,day,week,month,none.", "WIDTHS", texts.listed, kind=str),
    "place_levels": Option("Granularities: exact,grid:0.1,prefix:3,level:1,none.", "LEVELS", texts.listed, kind=str),
    "known_records": Option("Numbers of known records: 1,2,3,4 or 1-6.", "NUMBERS", texts.whole_numbers, "--known", str),
    "order": Option(
        "Categories from low to high: pain=low,medium,high. Repeatable.", "COLUMN=VALUES", texts.orders, kind=list[str]
    ),
}
REQUIRE = 'Exit code 1 if not met: "k>=5, t[diagnosis]<=0.2".'


def register(app: typer.Typer) -> None:
    app.command("measure")(measure)


@from_verb(
    "measure:measure",
    OPTIONS,
    shared=("quasi", "qi", "sensitive", "direct", "insensitive", "unit", "weight", "counts", "by", "seed"),
    reading=("read", "rename_duplicates", "only_aggregates", "memory", "scale", "missing_values"),
)
def measure(
    table: options.Table,
    verb_options: dict[str, Any],
    reading: dict[str, Any],
    require: Annotated[str | None, typer.Option("--require", metavar="RULES", help=REQUIRE)] = None,
    explain: Annotated[str | None, typer.Option("--explain", metavar="[NUMBER]", help="Explain all numbers, or one: k …")] = None,
    impact: Annotated[
        str | None, typer.Option("--impact", metavar="COLUMN=WEIGHT", help="Weights of sensitive columns: ill=5,income=1.")
    ] = None,
    household: Annotated[
        str | None, typer.Option("--household", metavar="COLUMN", help="Also the risk of households, by this column.")
    ] = None,
    suda: Annotated[bool, typer.Option("--suda", help="Also minimal sample uniques and SUDA scores.")] = False,
    report: Annotated[Path | None, typer.Option("--report", metavar="FILE", help="Write a self-contained HTML report.")] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Plot group sizes or event curves: .svg, .png, .html.")
    ] = None,
    preview: options.Preview = False,
    as_json: options.Json = False,
) -> None:
    """Measure how anonymous a table is: every number, with the sentence that explains it."""
    named = verb_options.get("quasi") or verb_options.get("qi")
    if events.EVENT_ONLY & verb_options.keys() or (plot and verb_options.get("unit") and not named):
        events.refuse(verb_options, suda=suda, impact=impact, household=household)
        events.run(
            table,
            {name: value for name, value in verb_options.items() if name in events.OPTIONS},
            reading,
            require=require,
            preview=preview,
            report=report,
            plot=plot,
            explain=explain is not None,
            as_json=as_json,
        )
        return
    preview_instead(preview, "measure", table, reading, as_json=as_json, **verb_options)
    opened = _open_table(table, reading, verb_options, as_json=as_json)
    with opened.one_state():  # what is shown of subsets and households is counted later
        with _shared.progress("counting") as progress:
            measured: Measurement = shoal.measure(opened, progress=progress, **verb_options)
        measured = measured.with_impact(read_weights(impact)) if impact else measured
        homes = measured.households(household) if household else None
        checked = measured.check(require) if require else None
        if report is not None:
            _shared.say(f"Report written to {measured.report(report)}.")
        if plot is not None:
            _shared.say(f"Plot written to {measured.plot(plot)}.")
        if as_json:
            extra = {"requirement": checked.to_json()} if checked is not None else {}
            extra |= {"households": homes.to_json()} if homes is not None else {}
            _shared.put_json(measured.to_json() | extra | ({"suda": measured.suda().to_json()} if suda else {}))
        else:
            _show(measured, table, homes, checked, suda=suda, explain=explain)
    if checked is not None and not checked:
        raise typer.Exit(1)


def _open_table(table: str, reading: dict[str, Any], options: dict[str, Any], *, as_json: bool) -> "Table":
    """The table; at a terminal, ask for quasi-identifiers and the person column if they are not given."""
    opened: Table = shoal.open(table, **reading)
    for line in () if as_json else texts.how_read(opened.source):
        _shared.say(line)
    if not options.get("quasi") and not options.get("qi"):
        options["quasi"] = propose_quasi(opened, as_json=as_json)
    if options.get("unit") is None and not as_json:
        options |= propose_unit(opened, options)
    return opened


def _show(
    measurement: "Measurement", table: str, homes: "HouseholdRisk | None", checked: object, *, suda: bool, explain: str | None
) -> None:
    """Print the numbers, what else was requested, and the next step."""
    show_measurement(
        measurement, suda=suda, explain=measurement.explain(None if explain == "all" else explain) if explain else ""
    )
    if homes is not None:
        from shoal.cli._predictions import show_households

        show_households(homes)
    if checked is not None:
        _shared.console().print(str(checked), markup=False)
    _shared.next_step(f"shoal anonymize {_shared.named(table)} --draft policy.yml", within=True)
