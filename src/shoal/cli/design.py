"""``shoal design``: the questionnaire meter."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell import common, process, texts
from shoal.cli._shell.options import Option, from_verb
from shoal.cli._shell.preview import show_preview
from shoal.errors import ShoalError
from shoal.model.display import as_percent

if TYPE_CHECKING:
    from shoal.prediction import Degradation, Meter, Questionnaire, Suggestion


OPTIONS = {
    "population": Option("Number of people who could be asked: 17.5M, 1200.", "NUMBER"),
    "respondents": Option("Number of people who answer.", "NUMBER"),
    "target": Option('Largest share of unique respondents: "unique<=5%".', "SHARE"),
    "registry": Option("Registry to look up answers: folder, SQLite file or http://HOST:PORT.", "REGISTRY", kind=str),
    "pilot": Option("Table of answers, one column per question.", "TABLE"),
    "columns": Option("With --pilot and no QUESTIONS.yml: its columns, a,b.", "COLUMNS", flag="--quasi"),
}


def register(app: typer.Typer) -> None:
    app.command("design")(design)


@from_verb("design:design", OPTIONS, shared=("unit",))
def design(
    verb_options: dict[str, Any],
    questions: Annotated[
        Path | None, typer.Argument(metavar="QUESTIONS.yml", help="questions.yml, or a form of another tool; none with --pilot.")
    ] = None,
    require: Annotated[bool, typer.Option("--require", help="Exit code 1 if the target is not reached.")] = False,
    letter: Annotated[bool, typer.Option("--letter", help="Also print a paragraph for the information letter.")] = False,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Write the waterfall: .svg, .png or .html.")] = None,
    curve: Annotated[
        Path | None, typer.Option("--curve", metavar="FILE", help="Plot the unique share against the respondents.")
    ] = None,
    answers: Annotated[
        str | None, typer.Option("--answers", metavar="ANSWERS", help="One person's answers: age=12,sex=female.")
    ] = None,
    heat_map: Annotated[
        Path | None, typer.Option("--heat-map", metavar="FILE", help="Write the pair heat map: .svg, .png or .html.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Print the meter again whenever the file changes.")] = False,
    every: Annotated[float, typer.Option("--every", help="Seconds between checks of the file.", hidden=True)] = 0.5,
    rounds: Annotated[int, typer.Option("--rounds", help="Stop watching after this many meters.", hidden=True)] = 0,
    preview: common.Preview = False,
    as_json: common.Json = False,
) -> None:
    """Predict how identifying a questionnaire will be, and find the cheapest change that reaches the target."""
    pilot = verb_options.get("pilot")
    if watch and as_json:
        raise typer.BadParameter("--watch and --json cannot be used together.")
    if questions is None and pilot is None:
        raise typer.BadParameter("Name QUESTIONS.yml, or pass --pilot.")
    if watch:
        if questions is None or pilot is not None:
            raise typer.BadParameter("--watch requires QUESTIONS.yml and cannot be used with --pilot.")
        _watch(questions, verb_options, every=every, rounds=rounds)
        return
    if preview:
        show_preview("design", None if questions is None else str(questions), {}, as_json=as_json, **verb_options)
        return
    q, meter, suggestion = _compute(questions, verb_options)
    _plots(q, meter, plot, heat_map, curve)
    person = q.answer(_answers(answers)) if answers else None
    if as_json:
        _shared.put_json(_json(q, meter, suggestion, person) | ({"letter": q.paragraph()} if letter else {}))
    else:
        _show(q, meter, suggestion)
        if person is not None:
            _show_person(person)
        if letter:
            _shared.console().print(q.paragraph(), markup=False)
    if require and not meter.reached:
        raise typer.Exit(1)


def _json(q: "Questionnaire", meter: "Meter", suggestion: "Suggestion", person: "Degradation | None") -> dict[str, Any]:
    out = meter.to_json() | {"suggestion": suggestion.to_json(), "skipped": list(q.skipped)}
    out |= {"notes": [*meter.unique.notes, *q.notes], "roles": {"quasi": list(q.questions)}}
    if person is not None:
        out["person"] = {"chain": list(person.chain), "crowd": person.crowd.to_json()}
    return out


def _show_person(person: "Degradation") -> None:
    chain, crowd = " → ".join(f"{x:,.1f}" for x in person.chain), person.crowd
    said = f"With these answers: {chain} people; between {crowd.low:,.0f} and {crowd.high:,.0f} for any dependence."
    _shared.console().print(said, markup=False)


def _compute(path: Path | None, options: dict[str, Any]) -> tuple["Questionnaire", "Meter", "Suggestion"]:
    import shoal
    from shoal.api.design import questionnaire

    q = questionnaire(path, **options)
    return q, shoal.design(q), q.suggest()


def _answers(text: str) -> dict[str, int | str]:
    """Answers from ``question=number or label``, separated by commas."""
    out: dict[str, int | str] = {}
    for part in texts.names(text):
        name, separator, value = part.partition("=")
        if not separator:
            raise typer.BadParameter("answers are given as question=answer,question=answer.")
        out[name.strip()] = int(value) if value.strip().isdecimal() else value.strip()
    return out


def _plots(q: "Questionnaire", meter: "Meter", plot: Path | None, heat_map: Path | None, curve: Path | None) -> None:
    if plot is None and heat_map is None and curve is None:
        return
    from shoal.report import plots
    from shoal.report.charts import save

    if plot is not None:
        text = f"{as_percent(meter.unique.value)} of {q.respondents} respondents are expected to be one of a kind."
        save(plots.waterfall(meter), plot, text=text)
        _shared.say(f"Waterfall written to {plot}.")
    if heat_map is not None:
        save(plots.pair_heat_map(q), heat_map)
        _shared.say(f"Heat map written to {heat_map}.")
    if curve is not None:
        sizes = sorted({min(q.population, max(1, round(q.respondents * i / 20))) for i in range(1, 41)})
        save(plots.respondents_curve(q, sizes), curve)
        _shared.say(f"Curve written to {curve}.")


def _watch(path: Path, options: dict[str, Any], *, every: float, rounds: int) -> None:
    seen, shown = -1, 0
    while True:
        try:
            stamp = path.stat().st_mtime_ns
        except OSError:
            stamp = 0
        if stamp != seen:
            seen, shown = stamp, shown + 1
            try:
                _show(*_compute(path, options))
            except ShoalError as error:  # keep watching: the file is being edited
                process.print_error(error)
            if rounds and shown >= rounds:
                return
            _shared.say("Watching for changes; Ctrl-C ends.")
        time.sleep(every)


def _show(q: "Questionnaire", meter: "Meter", suggestion: "Suggestion") -> None:
    out = _shared.console()
    u = meter.unique
    filled = round(40 * u.value)
    out.print(
        f"[{'#' * filled}{'.' * (40 - filled)}] {as_percent(u.value)} of {q.respondents} respondents one of a kind", markup=False
    )
    how = "for any dependence" if q.pilot is None else f"(95 %), from a pilot of {q.pilot.people:,} people"
    out.print(
        f"  between {as_percent(u.low)} and {as_percent(u.high)} {how}; grade {u.grade}; "
        f"{meter.light}: target {as_percent(meter.target)} {'reached' if meter.reached else 'not reached'}",
        markup=False,
    )
    out.print(
        f"  in the whole population of {q.population}: {as_percent(meter.population_unique.value)} one of a kind", markup=False
    )
    crowd = f"{meter.crowd:,.0f} {'person' if round(meter.crowd) == 1 else 'people'}"
    least = f"smallest group of respondents about {meter.smallest_group.value:.1f}"
    out.print(f"  {least}; a typical set of answers is shared by about {crowd}", markup=False)
    rows = [
        [s.question, f"{s.factor:.2f}", f"{s.crowd:,.0f}", f"{s.mean_crowd:,.0f}", as_percent(s.unique)] for s in meter.waterfall
    ]
    heads = ["question", "divides by", "typical crowd", "mean crowd", "unique so far"]
    out.print(_shared.table_of("Crowd after each question", heads, rows, right=(1, 2, 3, 4)))
    worst = [[" + ".join(names), as_percent(share)] for names, share in (*meter.pairs[:3], *meter.triples[:3])]
    if worst:
        out.print(_shared.table_of("Worst pairs and triples", ["questions", "unique"], worst, right=(1,)))
    for w in meter.warnings:
        out.print(f"small groups: {_shared.printable(w)}", markup=False)
    for note in q.notes:
        out.print(f"note: {_shared.printable(note)}", markup=False)
    for name in q.skipped:
        out.print(f"left out (open answers): {_shared.printable(name)}", markup=False)
    best = "Cheapest change" if suggestion.proven else "Best change found (a cheaper one is not ruled out)"
    out.print(f"{best}: {_shared.printable(suggestion.text)}", markup=False)
    if meter.reached:
        _shared.next_step("the same with --letter writes what to tell the people who are asked.", within=True)
    else:
        _shared.next_step(
            "change the questions as it says and run it again; --watch does so whenever the file is saved.", within=True
        )
