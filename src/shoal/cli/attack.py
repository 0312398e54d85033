"""``shoal attack``: try what an attacker would try on a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import _shared


def register(app: typer.Typer) -> None:
    app.command("attack")(attack)


def attack(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a release.")],
    external: Annotated[
        str | None, typer.Option("--with", metavar="EXTERNAL", help="A table the attacker has: original values of people.")
    ] = None,
    previous: Annotated[
        list[Path] | None, typer.Option("--previous", metavar="DIR", help="An earlier release about the same people; may repeat.")
    ] = None,
    seed: _shared.Seed = 0,
    as_json: _shared.Json = False,
) -> None:
    """Try to link, infer, join and difference. Exit code 1 when an attack does better than the release claims."""
    import shoal

    with _shared.progress("attacking"):
        report = shoal.attack(folder, with_=external, previous=previous or (), seed=seed)
    if as_json:
        _shared.put_json(report)
    else:
        for result in report.results:
            rate = "" if result.rate is None else f" {result.rate:.1%}"
            typer.echo(f"{result.verdict:<8}{_shared.printable(result.name)}:{rate} {_shared.printable(result.sentence)}")
        typer.echo(
            "No attack did better than the release claims." if report.holds else "An attack did better than the release claims."
        )
    if not report.holds:
        raise typer.Exit(1)
