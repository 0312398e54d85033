"""``shoal measure``: how anonymous is this table, and what would change it?"""

# no "from __future__ import annotations": typer would compile every annotation again, and --help would wait for it

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from shoal.cli import _event_measurements as events
from shoal.cli import _measure_options as options
from shoal.cli import _shared
from shoal.cli._measurements import pair, proposed, weights, who_is_a_row
from shoal.cli._shell import common, texts
from shoal.cli._shell.preview import show_preview

if TYPE_CHECKING:
    from shoal import Measurement
    from shoal.measures.classes.household import HouseholdRisk


def register(app: typer.Typer) -> None:
    app.command("measure")(measure)


def measure(
    table: common.Table,
    quasi: options.Quasi = None,
    sensitive: common.Sensitive = None,
    direct: common.Direct = None,
    insensitive: common.Insensitive = None,
    unit: common.Unit = None,
    weight: common.Weight = None,
    population: options.Population = None,
    missing: options.Missing = "own",
    by: options.By = None,
    hierarchy: options.Hierarchies = None,
    require: options.Require = None,
    explain: options.Explain = None,
    impact: options.Impact = None,
    household: options.Household = None,
    suda: options.Suda = False,
    report: options.Report = None,
    time: options.Time = None,
    place: options.Place = None,
    time_widths: options.TimeWidths = None,
    place_levels: options.PlaceLevels = None,
    known: options.Known = None,
    plot: options.Plot = None,
    seed: common.Seed = 0,
    read: common.Read = None,
    rename_duplicates: common.RenameDuplicates = False,
    statement_timeout: common.StatementTimeout = None,
    only_aggregates: common.OnlyAggregates = False,
    preview: common.Preview = False,
    memory: common.Memory = None,
    order: common.Order = None,
    scale: common.Scale = None,
    missing_values: common.MissingValues = None,
    as_json: common.Json = False,
    qi: common.Qi = None,
) -> None:
    """How anonymous is a table? Every number, with the sentence that explains it."""
    trees = dict(pair(h) for h in hierarchy or ())
    reading = texts.read_options(
        read, rename=rename_duplicates, memory=memory, timeout=statement_timeout, only_aggregates=only_aggregates
    )
    of_events = any(given is not None for given in (time, place, time_widths, place_levels, known))
    if of_events or (plot and unit and not (quasi or qi)):
        events.refuse(
            {"quasi": quasi or qi, "sensitive": sensitive, "direct": direct, "insensitive": insensitive, "weight": weight,
             "population": population, "by": by, "suda": suda or None, "impact": impact, "household": household}
        )  # fmt: skip
        asked = events.Asked(unit, time, place, time_widths, place_levels, known, trees, seed, require, preview)
        events.run(table, asked, reading, report=report, plot=plot, explain=explain is not None, as_json=as_json)
        return
    words = texts.roles(
        quasi=quasi, qi=qi, sensitive=sensitive or "", direct=direct, insensitive=insensitive, unit=unit, weight=weight
    )
    reading |= texts.properties(scale, missing_values)
    rules: dict[str, Any] = {"population": population, "missing": missing, "by": by, "hierarchies": trees}
    rules["order"] = texts.orders(order)
    if preview:
        show_preview("measure", table, reading, as_json=as_json, **rules, **words)
        return
    found = _measured(table, reading, rules, words, as_json=as_json)
    found = found.with_impact(weights(impact)) if impact else found
    homes = found.households(household) if household else None
    checked = found.check(require) if require else None
    _write(found, report, plot)
    if as_json:
        extra = {"requirement": checked.to_json()} if checked is not None else {}
        extra |= {"households": homes.to_json()} if homes is not None else {}
        _shared.put_json(found.to_json() | extra | ({"suda": found.suda().to_json()} if suda else {}))
    else:
        _tell(found, table, homes, checked, suda=suda, explain=explain)
    if checked is not None and not checked:
        raise typer.Exit(1)


def _measured(
    table: str, reading: dict[str, Any], rules: dict[str, Any], words: dict[str, Any], *, as_json: bool
) -> "Measurement":
    """Open and count; what was not said is asked for at a terminal."""
    import shoal

    opened = shoal.open(table, **reading)
    if (how := texts.how_read(opened.source)) and not as_json:
        _shared.say(how)
    if not words.get("quasi") and not words.get("qi"):
        words["quasi"] = proposed(opened, as_json=as_json)
    if words.get("unit") is None and not as_json:
        words |= who_is_a_row(opened, words)
    with _shared.progress("counting") as told:
        found: Measurement = shoal.measure(opened, progress=told, **rules, **words)
    return found


def _write(found: "Measurement", report: Path | None, plot: Path | None) -> None:
    """The report and the plot that were asked for."""
    if report is not None:
        _shared.say(f"Report written to {found.report(report)}.")
    if plot is not None:
        from shoal.report.charts import save
        from shoal.report.measure_report import group_sizes

        _shared.say(f"Plot written to {save(group_sizes(found), plot)}.")


def _tell(
    found: "Measurement", table: str, homes: "HouseholdRisk | None", checked: object, *, suda: bool, explain: str | None
) -> None:
    """The numbers in words, what was asked besides, and what to do next."""
    from shoal.cli._measurements import show_measurement

    show_measurement(found, suda=suda, explain=found.explain(None if explain == "all" else explain) if explain else "")
    if homes is not None:
        from shoal.cli._predictions import show_households

        show_households(homes)
    if checked is not None:
        _shared.console().print(str(checked), markup=False)
    _shared.next_step(f"shoal anonymize {_shared.named(table)} --draft policy.yml", within=True)
