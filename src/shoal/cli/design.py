"""``shoal design``: the questionnaire meter."""

import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import shoal
from shoal.cli import _shared
from shoal.cli._shared import preview_instead
from shoal.cli._shell import options, process, texts
from shoal.cli._shell.options import Option, from_verb
from shoal.errors import ShoalError
from shoal.model.display import as_percent

if TYPE_CHECKING:
    from shoal.prediction import Degradation, Meter, Questionnaire, Suggestion


OPTIONS = {
    "population": Option("Number of people who could be asked, or a place: 17.5M, Utrecht.", "PEOPLE"),
    "respondents": Option("Number of people who answer.", "NUMBER", flag="--respondents --group"),
    "target": Option('Largest share of unique respondents: "unique<=5%".', "SHARE"),
    "registry": Option("Registry to look up answers: folder, SQLite file or http://HOST:PORT.", "REGISTRY", kind=str),
    "sensitive": Option("Questions whose answers others do not know: a,b.", "QUESTIONS"),
    "trust": Option("Public keys whose records you trust: KEY,KEY.", "KEYS"),
    "pilot": Option("Table of answers, one column per question.", "TABLE"),
    "columns": Option("With --pilot and no QUESTIONS.yml: its columns, a,b.", "COLUMNS", flag="--quasi"),
}
MOST_WARNINGS = 5
MOST_TEXTS, LONGEST_TEXT = 12, 100
"""Questions whose texts are shown beside their names, and letters of a text."""


def register(app: typer.Typer) -> None:
    app.command("design")(design)


@from_verb("design:QuestionnaireOptions", OPTIONS, shared=("unit", "counts"))
def design(
    verb_options: dict[str, Any],
    questions: Annotated[
        Path | None, typer.Argument(metavar="QUESTIONS.yml", help="questions.yml, or a form of another tool; none with --pilot.")
    ] = None,
    require: Annotated[bool, typer.Option("--require", help="Exit code 1 unless the target is surely met.")] = False,
    letter: Annotated[bool, typer.Option("--letter", help="Also print a paragraph for a letter.")] = False,
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
    watch: Annotated[bool, typer.Option("--watch", help="Print the meter again if the file changes.")] = False,
    every: Annotated[float, typer.Option("--every", help="Seconds between checks of the file.", hidden=True)] = 0.5,
    rounds: Annotated[int, typer.Option("--rounds", help="Stop watching after this many meters.", hidden=True)] = 0,
    preview: options.Preview = False,
    as_json: options.Json = False,
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
    preview_instead(preview, "design", None if questions is None else str(questions), {}, as_json=as_json, **verb_options)
    q, meter, ways = _compute(questions, verb_options)
    _plots(q, meter, plot, heat_map, curve)
    person = q.answer(_answers(answers)) if answers else None
    if as_json:
        _shared.put_json(_json(q, meter, ways, person) | ({"letter": q.paragraph()} if letter else {}))
    else:
        _show(q, meter, ways)
        if person is not None:
            _show_person(person)
        if letter:
            _shared.console().print(q.paragraph(), markup=False)
    if require and meter.verdict != "within":
        raise typer.Exit(1)


def _json(q: "Questionnaire", meter: "Meter", ways: "list[Suggestion]", person: "Degradation | None") -> dict[str, Any]:
    out = meter.to_json() | {"suggestion": ways[0].to_json(), "suggestions": [one.to_json() for one in ways]}
    roles = {"quasi": list(q.counted), "other": [n for n in q.questions if n not in q.counted], "not_counted": dict(q.ignored)}
    expected, certain = q.enough()
    out["enough"] = {"expected": expected, "certain": certain}
    flags = [{"question": f.question, "kind": f.kind, "says": f.says, "do": f.do} for f in q.flags]
    out |= {"notes": [*meter.unique.notes, *q.notes], "roles": roles, "skipped": list(q.skipped), "flags": flags}
    if person is not None:
        out["person"] = {"chain": list(person.chain), "crowd": person.crowd.to_json()}
    return out


def _show_person(person: "Degradation") -> None:
    chain, crowd = " → ".join(f"{x:,.1f}" for x in person.chain), person.crowd
    between = f"; between {crowd.low:,.0f} and {crowd.high:,.0f} for any dependence" if crowd.low < crowd.high else ""
    _shared.line(f"With these answers: {chain} people{between}.")


def _compute(path: Path | None, options: dict[str, Any]) -> tuple["Questionnaire", "Meter", "list[Suggestion]"]:
    from shoal.api.design import questionnaire

    q = questionnaire(path, **options)
    return q, shoal.design(q), q.suggestions() or [q.suggest()]


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


def _show(q: "Questionnaire", meter: "Meter", ways: "list[Suggestion]") -> None:
    from shoal.prediction.questionnaire.meter import about_percent

    u = meter.unique
    _shared.line(meter.sentence)
    notes = [f"grade {u.grade}, evidence: {meter.evidence}", f"by {len(q.counted)} of {len(q.questions)} closed questions"]
    if meter.surely_known is not None:
        sure = sum(x.role == "quasi" for x in q.counted.values())
        notes.append(f"by the {sure} of them that others surely know, {about_percent(meter.surely_known.value)}")
    if meter.every_answer is not None:
        notes.append(f"by every answer, also those that others do not know, {about_percent(meter.every_answer.value)}")
    _shared.line(f"  {'; '.join(notes)}")
    _shared.line(f"  {_enough(q, meter)}")
    _show_changes(ways, meter)
    _show_texts(q, [*meter.matters, *(name for one in ways for name in one.text.replace(",", " ").replace(":", " ").split())])
    _show_set_aside(q)
    crowd = f"{meter.crowd:,.0f} {'person' if round(meter.crowd) == 1 else 'people'}"
    least = f"smallest group of respondents about {meter.smallest_group.value:.1f}"
    unique = about_percent(meter.population_unique.value)
    _shared.line(f"In the population of {q.population:,}, {unique} would be unique;")
    _shared.line(f"  {least}; a typical set of answers is shared by about {crowd}.")
    rows = [
        [s.question, f"{s.factor:.2f}", f"{s.crowd:,.0f}", f"{s.mean_crowd:,.0f}", as_percent(s.unique)] for s in meter.waterfall
    ]
    heads = ["question", "divides by", "typical crowd", "mean crowd", "unique so far"]
    _shared.show_table("Crowd after each question", heads, rows, right=(1, 2, 3, 4))
    worst = [[" + ".join(names), as_percent(share)] for names, share in (*meter.pairs[:3], *meter.triples[:3])]
    if worst:
        _shared.show_table("Worst pairs and triples", ["questions", "unique"], worst, right=(1,))
    for w in meter.warnings[:MOST_WARNINGS]:
        _shared.line(f"small groups: {w}")
    if len(meter.warnings) > MOST_WARNINGS:
        _shared.line(f"small groups: {len(meter.warnings) - MOST_WARNINGS} more questions with such answers")
    for note in q.notes:
        _shared.line(f"note: {note}")
    if meter.verdict == "within":
        _shared.next_step("the same with --letter writes what to tell the people who are asked.", within=True)
    else:
        _shared.next_step(
            "change the questions as it says and run it again; --watch does so whenever the file is saved.", within=True
        )


def _enough(q: "Questionnaire", meter: "Meter") -> str:
    """How many people must answer. More people who answer are more people alike, so there is no largest number."""
    expected, certain = q.enough()
    if expected is None:
        return f"No number of respondents up to {q.population:,} is expected to meet the target."
    sentence = f"The target is expected to be met with at least {expected:,} respondents"
    if meter.open_questions:
        return f"By the closed questions alone, t{sentence[1:]}; with open answers nothing is certain."
    if certain is None:
        return f"{sentence}; for certain with no number of them."
    return f"{sentence}." if certain == expected else f"{sentence}, and for certain with at least {certain:,}."


def _show_changes(ways: "list[Suggestion]", meter: "Meter") -> None:
    if not ways[0].changes and meter.verdict != "within":
        first = f"offer answers to choose from for {', '.join(meter.open_questions)}" if meter.open_questions else "none"
        _shared.line(f"Cheapest change: {first}; the closed questions need no change if the expected share is right.")
        return
    for number, one in enumerate(ways, start=1):
        head = "" if one.proven else " (a cheaper one is not ruled out)"
        _shared.line(f"{'Cheapest change' if number == 1 else f'Or, {number}'}{head}: {one.text}")


def _show_texts(q: "Questionnaire", names: list[str]) -> None:
    """What the questions ask that are named above, where their names do not say it."""
    texts = {name: text for name in dict.fromkeys(names) if (text := q.texts.get(name, ""))}
    for name, text in list(texts.items())[:MOST_TEXTS]:
        _shared.line(f"  {name}: {textwrap.shorten(text, LONGEST_TEXT, placeholder=' …')}")


def _show_set_aside(q: "Questionnaire") -> None:
    """What names people, what has open answers, and what does not count."""
    from shoal.prediction.questionnaire.questionnaire import APART
    from shoal.prediction.questionnaire.questions import whole_question

    named = [f for f in q.flags if f.kind in APART]
    if named:
        _shared.line("Direct identifiers (leave them out, or keep them apart from the answers):")
    for flag in named:
        _shared.line(f"  {flag.question}: {flag.says}")
    opened = [f.question for f in q.flags if f not in named]
    if opened:
        heading = "Not counted, because the answers are open (the true share is higher if others know them)"
        _shared.line(f"{heading}: {', '.join(opened)}")
    for flag in (f for f in q.flags if f.kind == "date"):
        _shared.line(f"  {flag.question}: {flag.says} {flag.do}")
    doubt = [n for n, x in q.counted.items() if x.role == "undecided"]
    if doubt:
        heading = "Counted, although it is not known whether others know the answer (name those they do not with --sensitive)"
        _shared.line(f"{heading}: {', '.join(dict.fromkeys(map(whole_question, doubt)))}")
    quiet = [n for n in q.questions if n not in q.counted]
    if quiet:
        _shared.line(
            f"Not counted, because others rarely know the answer: {', '.join(dict.fromkeys(map(whole_question, quiet)))}"
        )
    for reason in dict.fromkeys(q.ignored.values()):
        names = ", ".join(n for n, why in q.ignored.items() if why == reason)
        _shared.line(f"Not counted, {reason}: {names}")
