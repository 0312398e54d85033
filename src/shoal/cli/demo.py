"""``shoal demo``: the whole walk on generated people; leaves shoal-demo/ to look at."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli import _shared


def register(app: typer.Typer) -> None:
    app.command("demo")(demo)


def demo(
    people: Annotated[int, typer.Option("--people", min=1000, help="How many people to generate.")] = 20_000,
    seed: _shared.Seed = 1,
    as_json: _shared.Json = False,
) -> None:
    """The whole walk on generated people: look, measure, predict, make safe, prove. Writes shoal-demo/."""
    from shoal.api.demo import demo as walk

    with _shared.progress("demonstration") as told:
        found = walk("shoal-demo", people=people, seed=seed, progress=told)
    if as_json:
        _shared.put_json(found)
        return
    for sentence in found.story():
        typer.echo(sentence)
    typer.echo("")
    typer.echo("Look at shoal-demo/release/report.html in a browser; shoal-demo/README.txt says what the other files are.")
