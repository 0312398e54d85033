"""A measurement as it is shown at a terminal: the sentence, tables of numbers, notes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import shoal
from shoal.cli import _shared
from shoal.cli._shared import preview_instead
from shoal.cli._shell import texts
from shoal.cli.inspect import show as show_inspection
from shoal.errors import UsageError
from shoal.model.display import one_in, written

if TYPE_CHECKING:
    from shoal import EventMeasurement, Measurement


def show_measurement(m: Measurement, *, suda: bool, explain: str) -> None:
    _shared.line(m.sentence, style="bold")
    _shared.show_table("", ("", "", ""), _headline(m))
    s = m.class_sizes
    cells = [_shared.shown(x) for x in (s.sets, s.min, s.q1, s.median, s.mean, s.q3, s.max)]
    heads = ("groups", "smallest", "q1", "median", "mean", "q3", "largest")
    _shared.show_table("Group sizes", heads, [cells], right=range(7))
    at = [f"{n:,}" for n in m.people_at.values()]
    who = "People" if m.counts.unit is not None else "Records"
    _shared.show_table(f"{who} in groups of at most", [str(t) for t in m.people_at], [at], right=range(5))
    together = _told_together(m)
    if together:
        _shared.show_table("What the columns tell together", ("", "", ""), together)
    if m.diversity:
        _shared.show_table(
            "Sensitive columns", ("", "distinct l", "entropy l", "recursive l", "t", "distance", "α", "β"), _secret(m)
        )
    worst = [(" + ".join(w.columns), f"{w.unique:,}", f"{w.k:,}") for w in m.worst_subsets(3)]
    _shared.show_table("Columns that together identify", ("columns", "one of a kind", "smallest group"), worst, right=(1, 2))
    gain = [(c.column, f"{c.unique_without:,}", f"{c.adds:,}") for c in m.contributions()[:5]]
    _shared.show_table("What leaving a column out would do", ("without", "one of a kind", "fewer"), gain, right=(1, 2))
    if m.by is not None:
        rows = [
            (g.name or "(small group)", f"{g.members:,}", f"{g.sizes.min:,}", _shared.shown(g.sizes.median), f"{g.unique:,}")
            for g in m.by.groups[:40]
        ]
        _shared.show_table(f"By {m.by.column}", ("", "members", "k", "median group", "one of a kind"), rows, right=(1, 2, 3, 4))
    if suda:
        from shoal.measures.subsets.suda import OVERLAP

        special = m.suda()
        rows2 = [(name, f"{100 * share:.1f} %") for name, share in sorted(special.by_column.items(), key=lambda x: -x[1])]
        _shared.show_table("Share of the SUDA score by column", ("column", "share"), rows2, right=(1,))
        _shared.line(OVERLAP)
    _shared.notes(m.notes)
    for line in str(explain).splitlines():
        _shared.line(line)


def _told_together(m: Measurement) -> list[tuple[str, str, str]]:
    """Entropy, ANVC, RR, degree of anonymity and κ, each with what it says."""
    e = m.entropy_risk
    if e["entropy_bits"] is None:
        return []
    most = f"never above the average risk, {_shared.shown(e['exact_marketer'], 3)}"
    rows = [
        ("entropy", f"{_shared.shown(e['entropy_bits'], 3)} bits", "that the columns tell about a record on average"),
        ("combinations (ANVC)", _shared.shown(e["anvc"], 3), "equally common ones would tell as much"),
        ("risk by entropy (RR)", _shared.shown(e["rr"], 3), most),
        ("degree of anonymity", _shared.shown(e["degree"], 3), "of the doubt about who it is remains: 1 all, 0 none"),
    ]
    if e["kappa"] is not None:
        cells = f"nats from {e['cells']:,} equally common combinations"
        rows.append(("κ", _shared.shown(e["kappa"], 3), cells))
    return rows


def _headline(m: Measurement) -> list[tuple[str, str, str]]:
    share = f"{_shared.shown(100 * m.unique_share, 3)} % of all"
    rows = [
        ("smallest group (k)", f"{m.k:,}", f"under the rule '{m.policy.value}' for missing values"),
        ("one of a kind", f"{m.unique:,}", share),
        ("prosecutor, highest", one_in(m.risk.prosecutor.max), "knows that the person is in the table"),
        ("prosecutor, average", one_in(m.risk.prosecutor.mean), "the same, for a person at random"),
        _journalist(m),
        ("marketer", one_in(m.risk.marketer), "share of right matches when everybody is matched"),
    ]
    if m.whole_set is not None and not m.counts.adds_up:
        share = f"{_shared.shown(100 * m.whole_set.unique_share, 3)} % of all, by all records of a person together"
        rows.insert(2, ("one of a kind by the set", f"{m.whole_set.unique:,}", share))
    if m.presence is not None:
        ends = f"{_shared.shown(m.presence.delta_min, 3)} to {_shared.shown(m.presence.delta_max, 3)}"
        rows.append(("k-map", f"{m.presence.k_map:,}", f"δ-presence {ends}"))
    if m.individual is not None:
        expected = f"{_shared.shown(m.individual.expected)} re-identifications expected"
        rows.append(("individual risk, mean", one_in(m.individual.mean), expected))
    if m.sample and m.sample.get("value") is not None:
        value, low, high = (one_in(m.sample[end]) for end in ("value", "low", "high"))
        rows.append(("a unique match is right", value, f"{low} to {high}, Skinner and Elliot; grade {m.sample['grade']}"))
    return rows


def _journalist(m: Measurement) -> tuple[str, str, str]:
    guess = m.journalist_estimate
    if guess is None:
        return "journalist, highest", one_in(m.risk.journalist.max), f"against {m.risk.basis}"
    most = f"estimated for {m.population:,} people; {one_in(guess.low)} to {one_in(guess.high)}; grade {guess.grade}"
    return "journalist, highest", one_in(guess.value), most


def _secret(m: Measurement) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name, d in m.diversity.items():
        c = m.closeness[name]
        entropy, t, alpha, beta = (_shared.shown(x, 3) for x in (d.entropy, c.t, d.alpha, c.beta))
        rows.append((name, f"{d.distinct}", entropy, f"{d.recursive}", t, c.distance, alpha, beta))
    return rows


def read_weights(text: str) -> dict[str, float]:
    """Columns with what they are worth, from ``diagnosis=5,income=1``."""
    out = {}
    for part in texts.names(text):
        column, separator, weight = part.rpartition("=")
        try:
            out[column.strip()] = float(weight)
        except ValueError:
            separator = ""
        if not separator:
            raise typer.BadParameter("an impact is given as column=number.")
    return out


def propose_unit(opened: Any, words: dict[str, Any]) -> dict[str, str]:
    """At a terminal: whether a row is a person, where an id repeats. Elsewhere the notes of the measurement say it."""
    from shoal.api.measure import repeating_ids

    if not sys.stdin.isatty() or opened.schema.unit is not None:
        return {}
    taken = [n for role in ("quasi", "sensitive", "direct", "insensitive") for n in words.get(role) or ()]
    repeating = repeating_ids(opened, taken)
    if repeating is None:
        return {}
    _shared.say(f"Column '{repeating.column}' repeats: {repeating.ids:,} ids in {repeating.rows:,} rows.")
    return {} if typer.confirm("Is this one row per person?", default=False, err=True) else {"unit": repeating.column}


def propose_quasi(opened: Any, *, as_json: bool) -> tuple[str, ...]:
    """Quasi-identifiers to confirm at a terminal; elsewhere nothing is guessed."""
    if as_json or not sys.stdin.isatty():
        hint = "Name them with --quasi a,b. 'shoal inspect TABLE' suggests roles with a reason each."
        raise UsageError(f"no quasi-identifier of '{opened.name}' is named, and none is guessed.", hint=hint)
    inspection = shoal.inspect(opened)
    show_inspection(inspection)
    _shared.say(f"Proposed quasi-identifiers: {', '.join(inspection.quasi) or 'none'}")
    if not inspection.quasi or not typer.confirm("Measure with these?", default=True, err=True):
        raise UsageError("no quasi-identifiers were chosen.", hint="Name them with --quasi a,b.")
    return tuple(inspection.quasi)


USUAL = (1, 2, 3, 4)
EVENT_ONLY = {"time", "place", "time_widths", "place_levels", "known_records"}
OPTIONS = EVENT_ONLY | {"unit", "hierarchies", "seed"}
ACCEPTED = OPTIONS | {"missing", "order"}
"""Options that may be given: those with a default look the same as what was typed."""


def refuse(options: Mapping[str, object], *, suda: bool, impact: str | None, household: str | None) -> None:
    """Refuse options that have no meaning for an event table: an option that is given and not used misleads."""
    given = [name for name in options if name not in ACCEPTED]
    given += [name for name, value in (("suda", suda), ("impact", impact), ("household", household)) if value]
    if given:
        hint = "Measure the columns about the person in a second run, with --quasi and --unit."
        raise UsageError(f"--{given[0]} cannot be used with a time or place.", hint=hint)


def run(
    table: str,
    options: dict[str, Any],
    reading: Mapping[str, Any],
    *,
    require: str | None,
    preview: bool,
    report: Path | None,
    plot: Path | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Measure an event table, write the requested files, and print."""
    from shoal.api.events import measure_events

    if require and "known_records" not in options:
        from shoal.measures.events.checking import event_requirements
        from shoal.measures.events.knowledge import most_known

        most = most_known(event_requirements(require))
        options |= {"known_records": tuple(range(1, most + 1))} if most > len(USUAL) else {}
    options |= {"require": require} if require else {}
    preview_instead(preview, "measure_events", table, reading, as_json=as_json, **options)
    opened = shoal.open(table, **reading)
    for line in () if as_json else texts.how_read(opened.source):
        _shared.say(line)
    with _shared.progress("counting") as progress:
        measured = measure_events(opened, progress=progress, **options)
    if report is not None:
        _shared.say(f"Report written to {measured.report(report)}.")
    if plot is not None:
        _shared.say(f"Plot written to {measured.plot(plot)}.")
    checked = measured.check(require) if require else None
    if as_json:
        _shared.put_json(measured.to_json() | ({"requirement": checked.to_json()} if checked is not None else {}))
    else:
        show(measured, explain=explain)
        if checked is not None:
            _shared.console().print(str(checked), markup=False)
        if report is None:
            _shared.next_step("add --report visits.html to plot it; a policy with 'events:' makes a release of it.")
        else:
            _shared.next_step(f"shoal anonymize {_shared.named(table)} --policy events.yml --out release, with 'events:' in it.")
    if checked is not None and not checked:
        raise typer.Exit(1)


def show(m: EventMeasurement, *, explain: bool) -> None:
    """The sentence, the curve, the grid and the habits as tables."""
    _shared.line(m.sentence, style="bold")
    heads: tuple[str, ...] = ("known", "people", "alone", "smallest set", "quartiles", "mean", "in sets < 5")
    rows = []
    for k in m.curve:
        s, e = k.sets, k.unique
        between = "" if e.grade == "A" else f" ({written(100 * e.low, 3)}–{written(100 * e.high, 3)})"
        smallest = f"{s.min:,}" if k.exact or s.min == 1 else f"≤ {s.min:,}"
        sizes = (smallest, f"{s.q1:,} · {s.median:,} · {s.q3:,}", written(s.mean, 4), _percent(s.below[5]))
        rows.append((f"{k.records}", f"{k.people:,}", f"{_percent(e.value)}{between}", *sizes))
    _shared.show_table("What known records reveal", heads, rows, right=range(7))
    if len(m.grid) > 1:
        cells = []
        for g in m.grid:
            by = {k.records: _percent(k.unique.value) for k in g.curve}
            grain = [part for part in (g.time, g.place) if part is not None]
            cells.append((*grain, f"{g.points:,}", *(by.get(k.records, "") for k in m.curve)))
        first = ["time"] * (m.time is not None) + ["place"] * bool(m.place)
        heads = (*first, "points", *(f"{k.records} known" for k in m.curve))
        _shared.show_table("Alone, by granularity", heads, cells, right=range(len(first), len(heads)))
    if m.rare:
        few = [(f"fewer than {r.below}", f"{r.places:,}", _percent(r.people), _percent(r.records)) for r in m.rare]
        heads = ("visited by", f"of {m.rare[0].of:,} places", "people there", "records there")
        _shared.show_table("Rare places", heads, few, right=(1, 2, 3))
    if m.top:
        top = [(f"{t.places}", _percent(t.unique), f"{t.sets.median:,}", f"{t.tied:,}") for t in m.top]
        heads = ("places", "alone", "median set", "people with ties")
        _shared.show_table("By the most frequent places of each person", heads, top, right=range(4))
    for name, shares in (("Most telling hours", m.hours), ("Most telling weekdays", m.weekdays)):
        if shares:
            lines = [(s.name, f"{s.people:,}", f"{s.points:,}", _percent(s.alone)) for s in shares[:3]]
            _shared.show_table(name, ("", "people", "points", "one person's only"), lines, right=(1, 2, 3))
    if m.shared:
        shown = [(f"{s.m}", f"{s.k:,}" if s.exact else f"at most {s.k:,}") for s in m.shared]
        _shared.show_table("k^m: every set of up to m points is shared by", ("m", "people (k)"), shown, right=(0, 1))
    _shared.notes(m.notes)
    if explain:
        for line in m.explain().splitlines():
            _shared.line(line)


def _percent(share: float) -> str:
    from shoal.report.numbers import percent

    return percent(share)
