"""What ``shoal predict population`` shows: a unique match, the models of class sizes, and the fitted population of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.cli import _shared
from shoal.cli._predict import households
from shoal.errors import UsageError
from shoal.model.display import as_percent

if TYPE_CHECKING:
    from shoal.prediction import PopulationEstimate, PopulationRisk


def tell(found: PopulationEstimate, *, household: str | None, records: Path | None, plot: Path | None, as_json: bool) -> None:
    """Write what was asked for, then one JSON object or the tables."""
    fitted: Any = found.fitted
    if fitted is None and (household is not None or records is not None):
        raise UsageError("records and households are those of a table.", hint="Name the sample with --table.")
    homes = None if household is None else fitted.households(household)
    if records is not None:
        _shared.say(f"Risk of each record written to {fitted.write(records)}.")
    if plot is not None:
        from shoal.report import plots
        from shoal.report.charts import save

        others = [] if fitted is None else fitted.by_other_models()
        _shared.say(f"Plot written to {save(plots.population_chart(found, others), plot)}.")
    if as_json:
        _shared.put_json(found.to_json() | ({} if homes is None else {"households": homes.to_json()}))
        return
    out = _shared.console()
    if fitted is not None:
        _fitted(fitted)
    if homes is not None:
        households.show(homes)
    _class_sizes(found)
    for note in found.notes:
        out.print(note, markup=False)
    if fitted is None:
        _shared.next_step("with --table SAMPLE --quasi a,b it is fitted to the records themselves.")
    elif records is None:
        _shared.next_step("the same with --records risk.csv tells the risk of each record.")
    else:
        _shared.next_step("shoal anonymize TABLE --draft policy.yml makes a release of it.")


def _fitted(risk: PopulationRisk) -> None:
    out = _shared.console()
    m = risk.right_matches
    out.print(
        f"Of {risk.people:,} records, matched with {risk.population:,} people, about {m.value:,.0f} would be named rightly "
        f"({m.low:,.0f} to {m.high:,.0f}, 95 %, grade {m.grade}): {as_percent(risk.mean)} on average, "
        f"{as_percent(risk.max)} for the record at most risk.",
        markup=False,
    )
    alone, everybody = risk.sample_uniques_alone, risk.population_uniques
    rows = [
        ["records unique here and in the population", f"{alone.value:,.0f}", f"{alone.low:,.0f} – {alone.high:,.0f}"],
        ["unique people of the population", f"{everybody.value:,.0f}", f"{everybody.low:,.0f} – {everybody.high:,.0f}"],
        *([f"records with a risk of {step:.0%} or more".replace("%", " %"), f"{n:,}", ""] for step, n in risk.above.items()),
    ]
    title = f"Risk in the population, by the fitted model '{risk.model}'"
    out.print(_shared.table_of(title, ["what", "value", "95 %"], rows, right=(1, 2)))
    for note in m.notes:
        out.print(note, markup=False)
    if risk.scores:
        tried = [[name, f"{score:.4f}", ""] for name, score in sorted(risk.scores.items(), key=lambda x: -x[1])]
        tried += [[name, "", why] for name, why in (risk.refused or {}).items()]
        heads = ["model", "log-likelihood per person left out", "not fitted"]
        out.print(_shared.table_of("How well each model foretells people left out of its fit", heads, tried, right=(1,)))


def _class_sizes(found: PopulationEstimate) -> None:
    out = _shared.console()
    if found.match is not None:
        out.print(f"chance that a unique match is right: {found.match}", markup=False)
    rows = [[m.name, f"{m.uniques:,.1f}" if m.uniques is not None else "failed", m.failed] for m in found.models]
    if rows:
        out.print(_shared.table_of("Unique people in the population, by model", ["model", "uniques", "why"], rows, right=(1,)))
    u = found.uniques
    if u is None:
        return
    if u.grade == "A":
        out.print(f"unique people in the population: {u.value:,.0f}, counted", markup=False)
        return
    least, most = u.details["spread"]
    said = f"{u.method}: {u.value:,.0f}, grade {u.grade}; the models say {least:,.0f} to {most:,.0f}; "
    out.print(f"{said}without a model {u.low:,.0f} to {u.high:,.0f} ({u.level:.0%})".replace("%", " %"), markup=False)
