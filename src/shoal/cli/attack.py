"""``shoal attack``: try what an attacker would try on a release."""

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell import common
from shoal.cli._shell.options import Option, from_verb
from shoal.cli._shell.preview import show_preview

OPTIONS = {
    "with_": Option("Table that the attacker has: original values of people.", "EXTERNAL"),
    "previous": Option("Earlier release about the same people. Repeatable.", "DIR", kind=list[Path]),
    "hunt": Option("With --with: search for the fewest columns by which an attacker wins."),
    "original": Option("People that the table was made from.", "TABLE"),
    "control": Option("Similar people that the table was not made from.", "TABLE"),
    "secrets": Option("With --original: columns to infer from the others.", "COLUMNS", flag="--secret"),
    "key": Option("With --original: column that identifies a person in both tables.", "COLUMN"),
    "numbers": Option("With --key: columns of numbers to compare: a,b.", "COLUMNS"),
}


CLAIM = "the release claims"


def register(app: typer.Typer) -> None:
    app.command("attack")(attack)


@from_verb("attack:attack", OPTIONS, shared=("seed",))
def attack(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Folder of a release; with --original any table.")],
    verb_options: dict[str, Any],
    preview: common.Preview = False,
    as_json: common.Json = False,
) -> None:
    """Try to link, infer, join and difference. Exit code 1 if an attack does better than the release claims."""
    import shoal

    if preview:
        show_preview("attack", folder, {}, as_json=as_json, **verb_options)
        return
    with _shared.progress("attacking"):
        report = shoal.attack(folder, **verb_options)
    original, control = verb_options.get("original"), verb_options.get("control")
    if as_json:
        _shared.put_json(report)
    else:
        for result in report.results:
            rate = "" if result.rate is None else f" {result.rate:.1%}"
            _shared.line(f"{result.verdict:<8}{_shared.printable(result.name)}:{rate} {_shared.printable(result.sentence)}")
        chance = "chance would" if control is None else "on people who were not in its making"
        bound = CLAIM if original is None else chance
        warnings = sum(r.verdict == "warning" for r in report.results)
        _shared.line(_closing(report.holds, warnings, bound))
        if not report.holds:
            _shared.next_step("ask for more in the policy (a larger k, l-diversity, linkage) and make it again.")
        elif warnings:
            _shared.next_step("read the warnings: each works for somebody. Change more, or accept them before you hand it over.")
        elif original is None:
            _shared.next_step(f"the release can be handed over; anyone who receives it runs shoal verify {folder}")
        else:
            _shared.next_step("shoal compare ORIGINAL TABLE says what it is still good for.")
    if not report.holds:
        raise typer.Exit(1)


def _closing(holds: bool, warnings: int, bound: str) -> str:
    """The last sentence: whether an attack did better than the bound, or works although no claim covers it."""
    if not holds:
        return f"An attack did better than {bound}."
    if warnings and bound != CLAIM:
        return f"Attacks did better than {bound}, surely for no more than a tenth."
    if warnings:
        return f"{warnings} {'warning' if warnings == 1 else 'warnings'}: attacks that work for somebody, which no claim covers."
    return f"No attack did better than {bound}."
