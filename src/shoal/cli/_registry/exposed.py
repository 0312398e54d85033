"""``shoal registry exposed``, and the page that a mirror carries: how exposed is one person?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import _shared
from shoal.cli._shell import common, typed
from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.registry.keep.mirror import Mirror


def exposed(
    population: Annotated[str, typer.Option("--population", help="Where you live: place@period, for instance UK/Leeds@2019.")],
    answers: Annotated[str, typer.Option("--answers", help="Your answers: sex=F,age/years=87. They stay on this computer.")],
    registry: Annotated[str, typer.Option("--registry", help="A mirrored folder, an SQLite file or a database URL.")] = "",
    trust: Annotated[str, typer.Option("--trust", help="Public keys that you trust, separated by commas.")] = "",
    as_json: common.Json = False,
) -> None:
    """How many people are like you after each answer, which one gives you away, and what a coarser one would do."""
    from shoal.registry.answer.exposed import exposure
    from shoal.registry.answer.query import Registry

    found = exposure(Registry(registry).source, population, _pairs(answers), anchors=typed.names(trust))
    if as_json:
        _shared.put_json(found.to_json())
        return
    value, low, high = found.crowd
    between = f"between {low:,.0f} and {high:,.0f}, grade {found.grade}"
    typer.echo(f"You hide among about {value:,.0f} people of {found.population} ({between}).")
    for step in found.steps:
        typer.echo(f"  {step.code} = {step.answer}: {step.share[0]:.2%} answer so; the crowd is about {step.crowd[0]:,.0f}")
        for text, crowd in step.coarser:
            typer.echo(f"    {text} instead: about {crowd[0]:,.0f}")
    if len(found.steps) > 1:
        typer.echo(f"Most telling: {found.most_telling}. The number takes your answers as independent of each other.")


def _pairs(text: str) -> list[tuple[str, str]]:
    pairs = [part.partition("=") for part in typed.names(text)]
    if not pairs or not all(equals for _, equals, _ in pairs):
        raise UsageError("an answer is written code=answer.", hint="Write --answers sex=F,age/years=87.")
    return [(code.strip(), answer.strip()) for code, _, answer in pairs]


def pages_of(mirror: Mirror, trust: str = "") -> Mapping[str, bytes]:
    """The pages of a mirror, of trusted keys or of all: "How exposed am I?" and the catalogue."""
    from shoal.registry.answer.exposed import places_of
    from shoal.registry.answer.matching import match
    from shoal.registry.answer.query import Registry
    from shoal.registry.records.record import SHARE_STEP
    from shoal.report.exposed import render, render_catalogue

    anchors = typed.names(trust)
    asked = Registry(mirror, anchors=anchors)
    notices = asked.catalogue(limit=10_000)
    return {
        "exposed.html": render(places_of(mirror, anchors=anchors), share_step=SHARE_STEP).encode("utf-8"),
        "catalogue.html": render_catalogue([n.to_json() for n in notices], match(notices, asked).to_json()).encode("utf-8"),
    }
