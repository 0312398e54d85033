"""``shoal attack``: try what an attacker would try on a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell import common, texts
from shoal.cli._shell.preview import show_preview


def register(app: typer.Typer) -> None:
    app.command("attack")(attack)


def attack(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="The folder of a release; with --original any table.")],
    external: Annotated[
        str | None, typer.Option("--with", metavar="EXTERNAL", help="A table the attacker has: original values of people.")
    ] = None,
    previous: Annotated[
        list[Path] | None, typer.Option("--previous", metavar="DIR", help="An earlier release about the same people; may repeat.")
    ] = None,
    original: Annotated[str | None, typer.Option("--original", help="People that the table was made from.")] = None,
    control: Annotated[
        str | None, typer.Option("--control", help="People of the same kind that the table was not made from.")
    ] = None,
    secrets: Annotated[str | None, typer.Option("--secret", help="With --original: columns to infer from the others.")] = None,
    key: Annotated[
        str | None, typer.Option("--key", help="With --original: names the same person in both; changed numbers are compared.")
    ] = None,
    numbers: Annotated[str | None, typer.Option("--numbers", help="With --key: these columns of numbers: a,b.")] = None,
    preview: common.Preview = False,
    seed: common.Seed = 0,
    as_json: common.Json = False,
) -> None:
    """Try to link, infer, join and difference. Exit code 1 when an attack does better than the release claims."""
    import shoal

    words: dict[str, Any] = {
        "with_": external,
        "previous": previous or (),
        "original": original,
        "control": control,
        "secrets": texts.names(secrets) or None,
        "key": key,
        "numbers": texts.names(numbers) or None,
        "seed": seed,
    }
    if preview:
        show_preview("attack", folder, {}, as_json=as_json, **words)
        return
    with _shared.progress("attacking"):
        report = shoal.attack(folder, **words)
    if as_json:
        _shared.put_json(report)
    else:
        for result in report.results:
            rate = "" if result.rate is None else f" {result.rate:.1%}"
            _shared.line(f"{result.verdict:<8}{_shared.printable(result.name)}:{rate} {_shared.printable(result.sentence)}")
        chance = "chance would" if control is None else "on people who were not in its making"
        bound = "the release claims" if original is None else chance
        read = original is not None and report.holds and any(r.verdict == "warning" for r in report.results)
        _shared.line(_closing(report.holds, read, bound))
        if read:
            _shared.next_step("read the warnings: each works for somebody. More noise, or coarser values, and make it again.")
        elif original is None and report.holds:
            _shared.next_step(f"the release can be handed over; anyone who receives it runs shoal verify {folder}")
        elif report.holds:
            _shared.next_step("shoal compare ORIGINAL TABLE says what it is still good for.")
        else:
            _shared.next_step("ask for more in the policy (a larger k, l-diversity, linkage) and make it again.")
    if not report.holds:
        raise typer.Exit(1)


def _closing(holds: bool, read: bool, bound: str) -> str:
    """The last sentence: better than the bound for many, for somebody, or for nobody."""
    if not holds:
        return f"An attack did better than {bound}."
    return f"Attacks did better than {bound}, surely for no more than a tenth." if read else f"No attack did better than {bound}."
