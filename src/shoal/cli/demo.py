"""``shoal demo``: the whole walk on generated people; leaves shoal-demo/ to look at."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli import _shared
from shoal.cli._shell import common


def register(app: typer.Typer) -> None:
    app.command("demo")(demo)


def demo(
    people: Annotated[int, typer.Option("--people", min=1000, help="How many people to generate.")] = 20_000,
    seed: common.Seed = 1,
    as_json: common.Json = False,
) -> None:
    """Run every step on generated people: inspect, measure, predict, anonymize, prove. Writes shoal-demo/."""
    from shoal.api.demo import demo as walk

    with _shared.progress("demonstration") as told:
        found = walk("shoal-demo", people=people, seed=seed, progress=told)
    if as_json:
        _shared.put_json(found)
        return
    for sentence in found.story():
        typer.echo(sentence)
    typer.echo("")
    typer.echo("Now open shoal-demo/release/report.html in a browser, or try (shoal-demo/README.txt says more):")
    typer.echo("  shoal verify shoal-demo/release")
    typer.echo("  shoal attack shoal-demo/release --with shoal-demo/people.parquet")
    typer.echo("  shoal inspect YOUR-TABLE.csv")
