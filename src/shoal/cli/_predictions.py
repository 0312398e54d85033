"""What the ``shoal predict`` commands share: reading what was given, telling an answer, writing a plot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.cli import _shared
from shoal.cli._shell import texts
from shoal.errors import UsageError, refuse
from shoal.model.display import as_percent, written

if TYPE_CHECKING:
    from shoal import Prediction
    from shoal.measures.classes.individual import HouseholdRisk
    from shoal.model.estimate import Estimate
    from shoal.prediction import PopulationEstimate, PopulationRisk


def record_counts(text: str) -> list[int]:
    """Numbers of records from ``1,2,4,8``."""
    parts = texts.listed(text)
    if not parts or not all(word.isdecimal() for word in parts):
        raise UsageError(f"Invalid --records '{text}'.", hint="Expected whole numbers separated by commas: 1,2,4,8.")
    return [int(word) for word in parts]


def show_prediction(prediction: Prediction, plot: Path | None = None, *, as_json: bool) -> None:
    """One JSON object with everything; or the answer in a line, the rest below it under the names people use, then the notes."""
    if plot is not None:
        _shared.say(f"Plot written to {prediction.plot(plot)}.")
    answer, rest = prediction.answer, dict(prediction.more)
    if as_json:
        _shared.put_json(prediction.to_json())
        return
    _shared.line(f"{prediction.what}: {answer}")
    if answer.log_value is not None and 0 <= answer.value < 1e-6:
        _shared.line(f"  natural logarithm: {written(answer.log_value)}")
    tables = {n: rest.pop(n) for n, v in [*rest.items()] if isinstance(v, list) and v and all(isinstance(row, dict) for row in v)}
    notes = list(answer.notes)
    for name, value in rest.items():
        if isinstance(value, dict):
            notes += value.get("notes", ())
            value = {k: v for k, v in value.items() if k != "notes"}
        _shared.line(f"  {SPOKEN.get(name, name.replace('_', ' '))}: {short(value)}")
    for name, rows in tables.items():
        cells = [[short(v) for v in row.values()] for row in rows]
        _shared.show_table(SPOKEN.get(name, name), [SPOKEN.get(h, h) for h in rows[0]], cells)
    for note in notes:
        _shared.line(f"  note: {note}")
    _shared.next_step("shoal measure TABLE --quasi a,b counts it where there is a table.")


SPOKEN = {
    "p_none": "chance that nobody is unique",
    "share": "share of unique people",
    "pmf": "chance of 0, 1, 2, … unique people",
    "interval": "95 % of groups have",
    "in_groups_of": "share of people in groups of",
    "best": "most unique people are expected",
    "possible": "can make that share unique",
    "needed": "combinations needed for it",
    "subsets": "Sets of columns, most identifying first",
    "bound": "at most unique",
    "allowed": "for k people per cell",
    "fit": "fitted law",
    "independence": "independence of the records of a person",
    "shares": "Share of people in cells under k, by records",
    "law": "Zipf's law",
    "chain": "Markov chain",
    "known_places": "known places",
    "group_size": "group size",
}
"""Keys of the JSON object in words."""


def short(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{_shared.printable(str(k)).replace('_', ' ')} {short(v)}" for k, v in value.items())
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(v, str) for v in value):
            return " + ".join(_shared.printable(v) for v in value)
        shown = [short(v) for v in value[:12]]
        return "; ".join(shown) + (" …" if len(value) > 12 else "")
    if isinstance(value, int) and abs(value) >= 1e5:
        return f"{value:,}"
    return written(value) if isinstance(value, float) else _shared.printable(str(value))


def read_second(text: str) -> tuple[float, float, float]:
    """Standard deviation, width and correlation of a second normal value."""
    numbers = texts.numbers(text)
    if len(numbers) != 3:
        raise UsageError(f"--second takes 3 numbers; found {len(numbers)}.", hint="Expected SD,WIDTH,CORRELATION.")
    return numbers[0], numbers[1], numbers[2]


def sizes(text: str) -> dict[str, int]:
    """Whole numbers by name, ``sex=2,age=100``; a number without a name gets one."""
    wrong = UsageError("sizes are given as name=number,name=number.", hint="Each name once, each number whole.")
    out: dict[str, int] = {}
    for i, part in enumerate((x for x in text.split(",") if x.strip()), start=1):
        name, separator, number = part.rpartition("=")
        key = name.strip() if separator else f"column {i}"
        if key in out:
            raise wrong
        try:
            out[key] = int(number)
        except ValueError:
            raise wrong from None
    if not out:
        raise wrong
    return out


def frequencies(text: str) -> dict[int, int]:
    """Numbers of classes by their size, ``1=120,2=25``."""
    with refuse(UsageError("classes are given as size=number,size=number.", hint="For example 1=120,2=25,3=10."), ValueError):
        return {int(size): number for size, number in sizes(text).items()}


def show_households(homes: HouseholdRisk) -> None:
    """How many households there are, and how likely somebody of one is named."""
    _shared.line(
        f"Households: {homes.risk.size:,}; somebody of one is named with a chance of {as_percent(homes.mean)} on average, "
        f"{as_percent(homes.max)} at worst."
    )


def show_population(
    estimate: PopulationEstimate, *, household: str | None, records: Path | None, plot: Path | None, as_json: bool
) -> None:
    """Write the files that were requested, then one JSON object or the tables."""
    fitted: Any = estimate.fitted
    if fitted is None and (household is not None or records is not None):
        raise UsageError("records and households are those of a table.", hint="Name the sample with --table.")
    homes = None if household is None else fitted.households(household)
    if homes is not None and bool((homes.members > 1).any()) and f"'{household}'" not in "".join(estimate.notes):
        from shoal.api.table_predictions import not_one_by_one
        from shoal.prediction.population.without_model import ONE_BY_ONE

        why = f"Column '{household}' names households, and some have several people here, so grade C. {ONE_BY_ONE}"
        estimate = not_one_by_one(estimate, why)
        fitted = estimate.fitted
    if records is not None:
        _shared.say(f"Risk of each record written to {fitted.write(records)}.")
    if plot is not None:
        from shoal.report import plots
        from shoal.report.charts import save

        others = [] if fitted is None else fitted.by_other_models()
        _shared.say(f"Plot written to {save(plots.population_chart(estimate, others), plot)}.")
    if as_json:
        _shared.put_json(estimate.to_json() | ({} if homes is None else {"households": homes.to_json()}))
        return
    if fitted is not None:
        _estimate_lines(estimate, fitted)
    else:
        _class_sizes(estimate)
    if homes is not None:
        show_households(homes)
    for note in estimate.notes:
        _shared.line(note)
    if fitted is None:
        _shared.next_step("with --table SAMPLE --quasi a,b it is fitted to the records themselves.")
    elif records is None:
        _shared.next_step("the same with --records risk.csv tells the risk of each record.")
    else:
        _shared.next_step("shoal anonymize TABLE --draft policy.yml makes a release of it.")


def _estimate_lines(estimate: PopulationEstimate, risk: PopulationRisk) -> None:
    """One headline, which needs no model; then the numbers behind it, and which of them to believe."""
    counted, m = risk.model == "counted", estimate.match
    if m is not None and not counted:
        one = estimate.sample_uniques == 1
        _shared.line(
            f"Of {risk.people:,} records, {estimate.sample_uniques:,} {'is' if one else 'are'} unique in the "
            f"sample. A match of {'it' if one else 'one of them'} with the "
            f"population of {risk.population:,} is correct with a chance of {as_percent(m.value)} ({as_percent(m.low)} to "
            f"{as_percent(m.high)}, 95 %, grade {m.grade}). This needs no model: believe it first."
        )
    for sentence in _trust(risk):
        _shared.line(sentence)
    estimates = {
        "records identified correctly if all are matched": risk.right_matches,
        "records unique here and in the population": risk.sample_uniques_alone,
        "unique people of the population": risk.population_uniques,
    }
    rows = [[what, *_show_estimate(e, refuted=bool(risk.refutation))] for what, e in estimates.items()]
    rows += [
        [f"records with a risk of {step:.0%} or more".replace("%", " %"), f"{n:,}", "", "A" if counted else "C"]
        for step, n in risk.above.items()
    ]
    _shared.show_table("Why: the numbers behind it", ["what", "value", "95 %", "grade"], rows, right=(1, 2))
    if risk.calibration is not None:
        tried = [[f"{rate:.0%}".replace("%", " %"), f"{held} of {n}"] for rate, (held, n) in risk.calibration.held.items()]
        _shared.show_table("Subsamples of the sample: intervals that held", ["rate", "held"], tried, right=(0, 1))
    if risk.scores:
        share = {risk.model: 1.0, **(risk.weights or {})}
        best = sorted(risk.scores.items(), key=lambda x: -x[1])
        tried = [[name, f"{score:.4f}", as_percent(share.get(name, 0.0)), ""] for name, score in best]
        tried += [[name, "", "", why] for name, why in (risk.refused or {}).items()]
        heads = ["model", "log-likelihood per person left out", "weight", "not fitted"]
        _shared.show_table("How well each model predicts people left out of its fit", heads, tried, right=(1, 2))


def _trust(risk: PopulationRisk) -> list[str]:
    """Which numbers to believe."""
    from shoal.prediction.population.without_model import ONE_BY_ONE

    if risk.model == "counted":
        return ["The sample is the population: every number is counted."]
    fitted = "the average of the fitted models" if risk.model == "average" else f"the fitted model '{risk.model}'"
    if risk.refutation:
        return [
            f"The sample refutes {fitted}: {risk.refutation}. The ranges below need no model; risks of "
            "single records have grade C."
        ]
    if any(ONE_BY_ONE in note for note in risk.right_matches.notes):
        return []  # the note on the sampling design says it
    if risk.right_matches.grade == "C":
        return [f"{fitted.capitalize()} is outside its limits here: believe the ranges, which need no model."]
    return [f"{fitted.capitalize()} agrees with the sample; the risks of the records are scaled to this chance."]


def _show_estimate(e: Estimate, *, refuted: bool) -> list[str]:
    """Value, range and grade; of a refuted model no value."""
    value = "not known" if refuted else f"{e.value:,.0f}"
    return [value, "" if e.grade == "A" else f"{e.low:,.0f} – {e.high:,.0f}", e.grade]


def _class_sizes(estimate: PopulationEstimate) -> None:
    if estimate.match is not None:
        _shared.line(f"chance that a unique match is right: {estimate.match}")
    rows = [[m.name, f"{m.uniques:,.1f}" if m.uniques is not None else "failed", m.failed] for m in estimate.models]
    if rows:
        _shared.show_table("Unique people in the population, by model", ["model", "uniques", "why"], rows, right=(1,))
    u = estimate.uniques
    if u is None:
        return
    if u.grade == "A":
        _shared.line(f"unique people in the population: {u.value:,.0f}, counted")
        return
    least, most = u.details["spread"]
    sentence = f"{u.method}: {u.value:,.0f}, grade {u.grade}; the models say {least:,.0f} to {most:,.0f}; "
    _shared.line(f"{sentence}without a model {u.low:,.0f} to {u.high:,.0f} ({u.level:.0%})".replace("%", " %"))
