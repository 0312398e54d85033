"""``shoal check``, ``verify`` and ``attack``: a gate for pipelines, a release proven again, and what an attacker would try."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import shoal
from shoal.cli import _shared
from shoal.cli._shared import preview_instead
from shoal.cli._shell import options, texts
from shoal.cli._shell.options import Option, from_verb
from shoal.disk.atomic import write_text
from shoal.model.attack import AttackResult

# no "from __future__ import annotations": typer would compile every annotation again, and --help would wait for it


def register(app: typer.Typer) -> None:
    app.command("verify")(verify)
    app.command("check")(check)
    app.command("attack")(attack)


@from_verb(
    "arguments:PolicyOptions",
    shared=("quasi", "qi", "sensitive", "direct", "insensitive", "rest", "unit", "weight", "k"),
    reading=("read", "rename_duplicates", "only_aggregates", "scale", "order", "missing_values"),
)
def check(
    tables: Annotated[list[str], typer.Argument(metavar="TABLE...", help="Files, or ENGINE-URL::table.")],
    verb_options: dict[str, Any],
    reading: dict[str, Any],
    policy: Annotated[
        Path | None, typer.Option("--policy", metavar="FILE", help="Policy (YAML); or use --quasi, --k and other options.")
    ] = None,
    form: Annotated[str, typer.Option("--format", metavar="FORMAT", help="text, json, junit, sarif or md.")] = "text",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the result to a file instead of stdout.")
    ] = None,
    preview: options.Preview = False,
    as_json: options.Json = False,
) -> None:
    """Check if tables meet a policy. Exit code 0 if all do, 1 if not. The output contains counts only."""
    from shoal.release.gate.result import FORMATS, render_all

    if form not in FORMATS:
        raise typer.BadParameter(f"Unknown format '{form}'. Choose {', '.join(FORMATS)}.")
    texts.require_policy(policy, verb_options)
    preview_instead(preview, "check", tables, reading, as_json=as_json, policy=policy, **verb_options)
    with _shared.progress("counting") as progress:
        chosen, how = texts.read_as_policy(policy, reading)
        opened = [shoal.open(table, **how) for table in tables]
        for one in opened:
            _shared.tell_repairs(one.source, how if chosen and chosen.read else None)
        results = [shoal.check(one, chosen, progress=progress, **verb_options) for one in opened]
    text = render_all(results, "json" if as_json else form)
    if out is not None:
        write_text(out, text)
    elif form == "text" and not as_json:
        for line in text.splitlines():
            _shared.line(line)
    else:
        typer.echo(text, nl=False)
    met = all(r.met for r in results)
    if form == "text" and not as_json:
        mend = f"shoal anonymize {_shared.named(tables[0])} --draft policy.yml makes a table that meets it."
        _shared.next_step("continue; --format junit --out k.xml keeps the verdict for a pipeline." if met else mend)
    if not met:
        raise typer.Exit(1)


@from_verb(
    "verify:verify",
    {
        "key": Option("Public key or fingerprint that the publisher announced."),
        "table": Option("ENGINE-URL::table, if the data are in a database."),
        "private": Option("FOLDER.private.json: check if its seed is the certified one."),
        "exclude": Option("Opt-outs: check if this list is the certified one."),
    },
)
def verify(
    folder: Annotated[Path, typer.Argument(help="The folder of a release.")],
    verb_options: dict[str, Any],
    preview: options.Preview = False,
    as_json: options.Json = False,
) -> None:
    """Verify a release offline: signature, files, plan, and every number by counting the data again."""
    preview_instead(preview, "verify", str(folder), {}, as_json=as_json, **verb_options)
    with _shared.progress("verifying") as report:
        result = shoal.verify(folder, progress=report, **verb_options)
    if as_json:
        _shared.put_json(result.to_json())
    else:
        for check in result.checks:
            _shared.line(f"{'ok  ' if check.ok else 'FAIL'} {check.name}: {check.sentence}")
        _shared.line("Verified." if result.ok else "This release does NOT verify. Do not use it.")
        if result.ok:
            _shared.next_step(f"shoal attack {folder}")
    if not result.ok:
        raise typer.Exit(1)


ATTACK_OPTIONS = {
    "with_": Option("Table that the attacker has: original values of people.", "EXTERNAL"),
    "previous": Option("Earlier release about the same people. Repeatable.", "DIR", kind=list[Path]),
    "hunt": Option("With --with: search for the fewest columns by which an attacker wins."),
    "original": Option("People that the table was made from.", "TABLE"),
    "control": Option("Similar people that the table was not made from.", "TABLE"),
    "secrets": Option("With --original: columns to infer from the others.", "COLUMNS", flag="--secret"),
    "key": Option("With --original: column that identifies a person in both tables.", "COLUMN"),
    "numbers": Option("With --key: columns of numbers to compare: a,b.", "COLUMNS"),
    "exposed": Option("With --original: new private file, rows of the most exposed people.", "FILE", kind=Path),
}


CLAIM = "the release claims"


@from_verb("attack:attack", ATTACK_OPTIONS, shared=("seed",))
def attack(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Folder of a release; with --original any table.")],
    verb_options: dict[str, Any],
    preview: options.Preview = False,
    as_json: options.Json = False,
) -> None:
    """Try to link, infer, join and difference. Exit code 1 if an attack does better than the release claims."""
    preview_instead(preview, "attack", folder, {}, as_json=as_json, **verb_options)
    with _shared.progress("attacking"):
        report = shoal.attack(folder, **verb_options)
    original, control = verb_options.get("original"), verb_options.get("control")
    if as_json:
        _shared.put_json(report)
    else:
        for text in attack_lines(report.results, every=_shared.is_verbose()):
            _shared.line(text)
        chance = "chance would" if control is None else "on people who were not in its making"
        bound = CLAIM if original is None else chance
        warnings = sum(r.verdict == "warning" for r in report.results)
        missed = _list_missed(report.results, verb_options)
        _shared.line(_closing(report.holds, warnings, bound, missed))
        if verb_options.get("exposed") is not None:
            _shared.line(
                f"The rows of the most exposed people are in {verb_options['exposed']}: keep it apart, for the owner alone."
            )
        if not report.holds:
            _shared.next_step("ask for more in the policy (a larger k, l-diversity, linkage) and make it again.")
        elif warnings:
            _shared.next_step("read the warnings: each works for somebody. Change more, or accept them before you hand it over.")
        elif missed:
            _shared.next_step("read why; name a table or a folder that can be compared.")
        elif original is None:
            _shared.next_step(f"the release can be handed over; anyone who receives it runs shoal verify {folder}")
        else:
            _shared.next_step("shoal compare ORIGINAL TABLE says what it is still good for.")
    if not report.holds:
        raise typer.Exit(1)


LISTED = {"holds": 1, "warning": 3}
"""Columns with which an attack is listed by verdict, those where it succeeds most first; all columns where it breaks a claim."""


def attack_lines(results: Sequence[AttackResult], *, every: bool = False) -> list[str]:
    """A line for each attack; of one that was tried on many columns with the same verdict, those where it succeeds most."""
    lines: list[str] = []
    groups: dict[tuple[str, str], list[AttackResult]] = {}
    for result in results:
        groups.setdefault((result.verdict, result.name.partition(": ")[0]), []).append(result)
    for (verdict, kind), group in groups.items():
        listed = LISTED.get(verdict, len(group))
        shown = group if every or len(group) <= listed + 1 else group[:listed]
        rates = ("" if r.rate is None else f" {r.rate:.1%}" for r in shown)
        lines += [f"{verdict:<8}{r.name}:{rate} {r.sentence}" for r, rate in zip(shown, rates, strict=True)]
        rest = group[len(shown) :]
        if rest:
            most = max((r.rate for r in rest if r.rate is not None), default=None)
            highest = "" if most is None else f", at most {most:.1%}"
            lines.append(f"{verdict:<8}{kind}: {len(rest)} more columns{highest}. shoal -v attack lists each.")
    return lines


def _list_missed(results: Any, asked: dict[str, Any]) -> int:
    """Attacks that an option asked for and that were not run."""
    kinds = {"with_": ("linkage", "trail matching"), "previous": ("intersection", "earlier release"), "hunt": ("hunt",)}
    wanted = {kind for option, names in kinds.items() if asked.get(option) for kind in names}
    return sum(r.verdict == "not run" and r.name.split(":")[0] in wanted for r in results)


def _closing(holds: bool, warnings: int, bound: str, missed: int = 0) -> str:
    """The last sentences: whether an attack did better than the bound, or works although no claim covers it, or was not run."""
    out = []
    if not holds:
        out.append(f"An attack did better than {bound}.")
    elif warnings and bound != CLAIM:
        out.append(f"Attacks did better than {bound}, surely for no more than a tenth.")
    elif warnings:
        out.append(
            f"{warnings} {'warning' if warnings == 1 else 'warnings'}: attacks that work for somebody, which no claim covers."
        )
    if missed:
        out.append(f"Of the attacks that you asked for, {missed} could not be run: nothing follows about them.")
    return " ".join(out) or f"No attack did better than {bound}."
