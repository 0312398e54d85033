"""``shoal registry catalogue``: say what you hold or ask for, without data; see who could join what."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._registry import holder as _holder
from shoal.cli._shell import common
from shoal.cli._shell import texts as typed
from shoal.cli._shell.commands import Commands
from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.registry.keep.mirror import Mirror


Codes = Annotated[str, typer.Option("--attributes", help="Attribute codes, for instance age/years,sex,diagnosis/icd10-3.")]
Title = Annotated[str, typer.Option("--title", help="Name of the data set or questionnaire.")]
Holder = Annotated[str, typer.Option("--holder", help="Who says it.")]
Source = Annotated[str, typer.Option("--registry", help="A mirrored folder, an SQLite file or a database URL.")]
Trust = Annotated[str, typer.Option("--trust", help="Public keys that you trust: only theirs and those they endorse.")]
Text = Annotated[str, typer.Argument(metavar="PLACE", help="A part of the name of a population.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would leave, and stop.")]


def commands() -> typer.Typer:
    group = Commands(
        help="Who holds which columns, who asks for what, and what that means together; no data.", no_args_is_help=True,
        rich_markup_mode=None,
    )  # fmt: skip
    for name, command in (("holds", holds), ("asks", asks), ("list", list_notices), ("matches", matches)):
        group.command(name)(command)
    return group


def holds(
    attributes: Codes,
    population: _holder.People,
    title: Title,
    holder: Holder,
    registry: _holder.Target = "",
    key: _holder.Key = None,
    dry_run: DryRun = False,
    as_json: common.Json = False,
) -> None:
    """Publish which attributes a data set of yours contains, and about which people. Columns only: no values, no counts."""
    _say("holds", attributes, population, title, holder, registry, key, dry_run, as_json)


def asks(
    attributes: Codes,
    population: _holder.People,
    title: Title,
    holder: Holder,
    registry: _holder.Target = "",
    key: _holder.Key = None,
    dry_run: DryRun = False,
    as_json: common.Json = False,
) -> None:
    """Say in public which attributes a questionnaire asks for, and whom."""
    _say("asks", attributes, population, title, holder, registry, key, dry_run, as_json)


def _say(
    kind: str, attributes: str, population: str, title: str, holder: str, registry: str, key: Path | None, dry_run: bool,
    as_json: bool,
) -> None:  # fmt: skip
    from dataclasses import replace

    from shoal.errors import UsageError
    from shoal.registry.records.notice import Notice
    from shoal.registry.records.population import Population
    from shoal.registry.records.vocabulary import canonical

    notice = Notice(kind, title, canonical(typed.names(attributes)), Population.parse(population), holder, _holder.today())
    if dry_run:
        _tell(notice, as_json, "This, and nothing else, would leave the building once signed:")
        return
    if not registry:
        raise UsageError("a notice goes into a registry.", hint="Add --registry FILE or ADDRESS, or --dry-run to look first.")
    own, target = _holder.signer_of(key), _holder.submit_to(registry)
    mine = replace(notice, key=own.public)
    before = target.notices.latest(mine)
    if before is not None:
        mine = replace(mine, version=before.version + 1, supersedes=before.id)
    _tell(target.notices.submit(mine.signed(own)), as_json, "This, and nothing else, left the building:")


def _tell(notice: Any, as_json: bool, head: str) -> None:
    import json

    shown = notice.to_json() if notice.signature else notice.content()
    if as_json:
        _shared.put_json({"notice": shown, "submitted": bool(notice.signature)})
        return
    typer.echo(head)
    typer.echo(json.dumps(shown, indent=1, ensure_ascii=False))
    if notice.signature:
        typer.echo("Next: shoal registry catalogue matches --registry …")


def list_notices(
    registry: Source,
    text: Text = "",
    trust: Trust = "",
    most: Annotated[int, typer.Option("--most", min=1, max=10_000, help="How many to show.")] = 50,
    as_json: common.Json = False,
) -> None:
    """Who holds which columns about whom, and which questionnaires ask for what."""
    from shoal.kernels.signatures import fingerprint
    from shoal.registry.answer.query import Registry

    found = Registry(registry, anchors=typed.names(trust)).catalogue(text.strip(), limit=most + 1)
    if as_json:
        _shared.put_json({"notices": [n.to_json() for n in found[:most]], "more": len(found) > most})
        return
    for n in found[:most]:
        who = f"{n.holder} ({fingerprint(n.key)}) {n.kind}"
        typer.echo(_shared.printable(f"{n.population}: {who} {', '.join(n.codes)} in {n.title}, {n.date}"))
    if not found:
        typer.echo("The catalogue has nothing about this. Say what you hold: shoal registry catalogue holds --help")
    elif len(found) > most:
        typer.echo("… and more: add --most, or name a place.")


def matches(registry: Source, text: Text = "", trust: Trust = "", as_json: common.Json = False) -> None:
    """Who could join what with whom, by which columns, and which questionnaire asks for something held elsewhere."""
    from shoal.registry.answer.matching import match
    from shoal.registry.answer.query import Registry

    asked = Registry(registry, anchors=typed.names(trust))
    found = match(asked.catalogue(), asked, about=text.strip())
    if as_json:
        _shared.put_json(found.to_json())
        return
    for heading, lines in (("Could be joined:", found.joins), ("Asked, and held elsewhere:", found.requests)):
        if lines:
            typer.echo(heading)
            for line in lines:
                typer.echo(f"  {_shared.printable(line.sentence)}")
    if not found.joins and not found.requests:
        typer.echo("Nothing in the catalogue fits together.")
    if found.more:
        typer.echo("… and more: name a place.")


def exposed(
    population: Annotated[str, typer.Option("--population", help="Where you live: Leeds, or place@period: UK/Leeds@2019.")],
    answers: Annotated[str, typer.Option("--answers", help="Your answers: sex=female,age=34. They stay on this computer.")],
    registry: Annotated[str, typer.Option("--registry", help="A mirrored folder, an SQLite file or a database URL.")] = "",
    trust: Annotated[str, typer.Option("--trust", help="Public keys that you trust, separated by commas.")] = "",
    as_json: common.Json = False,
) -> None:
    """How many people are like you after each answer, which one gives you away, and what a coarser one would do."""
    from shoal.registry.answer.exposure import exposure
    from shoal.registry.answer.query import Registry

    found = exposure(Registry(registry).source, population, _pairs(answers), anchors=typed.names(trust))
    if as_json:
        _shared.put_json({**found.to_json(), "notes": list(found.notes)} if found.notes else found.to_json())
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
    for note in found.notes:
        typer.echo(f"  {note}")


def _pairs(text: str) -> list[tuple[str, str]]:
    pairs = [part.partition("=") for part in typed.names(text)]
    if not pairs or not all(equals for _, equals, _ in pairs):
        raise UsageError("an answer is written code=answer.", hint="Write --answers sex=F,age/years=87.")
    return [(code.strip(), answer.strip()) for code, _, answer in pairs]


def pages_of(mirror: Mirror, trust: str = "") -> Mapping[str, bytes]:
    """The pages of a mirror, of trusted keys or of all: "How exposed am I?" and the catalogue."""
    from shoal.registry.answer.exposure import places_of
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
