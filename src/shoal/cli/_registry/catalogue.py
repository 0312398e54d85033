"""``shoal registry catalogue``: say what you hold or ask for, without data; see who could join what."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._registry import holder as _holder
from shoal.cli._shell import common
from shoal.cli._shell import texts as typed
from shoal.cli._shell.commands import Commands

Codes = Annotated[str, typer.Option("--attributes", help="Attribute codes, for instance age/years,sex,diagnosis/icd10-3.")]
Title = Annotated[str, typer.Option("--title", help="Name of the data set or questionnaire.")]
Holder = Annotated[str, typer.Option("--holder", help="Who says it.")]
Source = Annotated[str, typer.Option("--registry", help="A mirrored folder, an SQLite file or a database URL.")]
Trust = Annotated[str, typer.Option("--trust", help="Public keys that you trust: only theirs and those they endorse.")]
Text = Annotated[str, typer.Argument(metavar="[PLACE]", help="A part of the name of a population.")]
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
    """Say in public which attributes of whom stand in a data set of yours. Columns only: no values, no counts."""
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
