"""``shoal measure TABLE --unit id --time t --place p``: what a few known records of a person reveal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell import texts
from shoal.cli._shell.preview import show_preview
from shoal.errors import UsageError
from shoal.model.display import written

if TYPE_CHECKING:
    from shoal import EventMeasurement

USUAL = (1, 2, 3, 4)
EVENT_ONLY = {"time", "place", "time_widths", "place_levels", "known_records"}
OPTIONS = EVENT_ONLY | {"unit", "hierarchies", "seed"}
ACCEPTED = OPTIONS | {"missing", "order"}
"""Options that may be given: those with a default cannot be told from what was typed."""


def refuse(options: Mapping[str, object], *, suda: bool, impact: str | None, household: str | None) -> None:
    """Refuse options that have no meaning for an event table: an option that is given and not used misleads."""
    given = [name for name in options if name not in ACCEPTED]
    given += [name for name, value in (("suda", suda), ("impact", impact), ("household", household)) if value]
    if given:
        raise UsageError(
            f"--{given[0]} cannot be used with a time or place.",
            hint="Measure the columns about the person in a second run, with --quasi and --unit.",
        )


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
    import shoal
    from shoal.api.events import measure_events

    if require and "known_records" not in options:
        options |= _known_for(require)
    if preview:
        show_preview("measure_events", table, reading, as_json=as_json, **options)
        return
    opened = shoal.open(table, **reading)
    for line in () if as_json else texts.how_read(opened.source):
        _shared.say(line)
    with _shared.progress("counting") as progress:
        found = measure_events(opened, progress=progress, **options)
    if report is not None:
        _shared.say(f"Report written to {found.report(report)}.")
    if plot is not None:
        _shared.say(f"Plot written to {found.plot(plot)}.")
    checked = found.check(require) if require else None
    if as_json:
        _shared.put_json(found.to_json() | ({"requirement": checked.to_json()} if checked is not None else {}))
    else:
        show(found, explain=explain)
        if checked is not None:
            _shared.console().print(str(checked), markup=False)
        if report is None:
            _shared.next_step("add --report visits.html to plot it; a policy with 'events:' makes a release of it.")
        else:
            _shared.next_step(f"shoal anonymize {_shared.named(table)} --policy events.yml --out release, with 'events:' in it.")
    if checked is not None and not checked:
        raise typer.Exit(1)


def _known_for(require: str) -> dict[str, tuple[int, ...]]:
    """The numbers of known records that the requirements need, if they need more than the usual four."""
    from shoal.measures.events.checking import event_requirements, most_known

    most = most_known(event_requirements(require))
    return {"known_records": tuple(range(1, most + 1))} if most > len(USUAL) else {}


def show(m: EventMeasurement, *, explain: bool) -> None:
    """The sentence, the curve, the grid and the habits as tables."""
    out = _shared.console()
    out.print(_shared.printable(m.sentence), style="bold", markup=False)
    heads: tuple[str, ...] = ("known", "people", "alone", "smallest set", "quartiles", "mean", "in sets < 5")
    rows = []
    for k in m.curve:
        s, e = k.sets, k.unique
        between = "" if e.grade == "A" else f" ({written(100 * e.low, 3)}–{written(100 * e.high, 3)})"
        smallest = f"{s.min:,}" if k.exact or s.min == 1 else f"≤ {s.min:,}"
        sizes = (smallest, f"{s.q1:,} · {s.median:,} · {s.q3:,}", written(s.mean, 4), _percent(s.below[5]))
        rows.append((f"{k.records}", f"{k.people:,}", f"{_percent(e.value)}{between}", *sizes))
    out.print(_shared.table_of("What known records reveal", heads, rows, right=range(7)))
    if len(m.grid) > 1:
        cells = []
        for g in m.grid:
            by = {k.records: _percent(k.unique.value) for k in g.curve}
            grain = [part for part in (g.time, g.place) if part is not None]
            cells.append((*grain, f"{g.points:,}", *(by.get(k.records, "") for k in m.curve)))
        first = ["time"] * (m.time is not None) + ["place"] * bool(m.place)
        heads = (*first, "points", *(f"{k.records} known" for k in m.curve))
        out.print(_shared.table_of("Alone, by granularity", heads, cells, right=range(len(first), len(heads))))
    if m.rare:
        few = [(f"fewer than {r.below}", f"{r.places:,}", _percent(r.people), _percent(r.records)) for r in m.rare]
        heads = ("visited by", f"of {m.rare[0].of:,} places", "people there", "records there")
        out.print(_shared.table_of("Rare places", heads, few, right=(1, 2, 3)))
    if m.top:
        top = [(f"{t.places}", _percent(t.unique), f"{t.sets.median:,}", f"{t.tied:,}") for t in m.top]
        heads = ("places", "alone", "median set", "people with ties")
        out.print(_shared.table_of("By the most frequent places of each person", heads, top, right=range(4)))
    for name, found in (("Most telling hours", m.hours), ("Most telling weekdays", m.weekdays)):
        if found:
            lines = [(s.name, f"{s.people:,}", f"{s.points:,}", _percent(s.alone)) for s in found[:3]]
            out.print(_shared.table_of(name, ("", "people", "points", "one person's only"), lines, right=(1, 2, 3)))
    if m.shared:
        shown = [(f"{s.m}", f"{s.k:,}" if s.exact else f"at most {s.k:,}") for s in m.shared]
        out.print(_shared.table_of("k^m: every set of up to m points is shared by", ("m", "people (k)"), shown, right=(0, 1)))
    for note in m.notes:
        out.print(_shared.printable(f"• {note}"), markup=False)
    if explain:
        for line in m.explain().splitlines():
            out.print(_shared.printable(line), markup=False)


def _percent(share: float) -> str:
    from shoal.report.numbers import percent

    return percent(share)
