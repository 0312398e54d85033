"""``shoal registry``: publish how skewed a population is; ask, analyse and decide what to collect."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._registry import catalogue as _registry_catalogue
from shoal.cli._registry import holder as _registry_holder
from shoal.cli._registry import publish as _registry_publish
from shoal.cli._shell import common
from shoal.cli._shell import texts as typed
from shoal.cli._shell.commands import Commands
from shoal.errors import UnreadableError, UsageError
from shoal.model.display import written

Codes = Annotated[str, typer.Option("--attributes", help="Attribute codes, for instance age/5y,sex.")]
People = _registry_holder.People
Source = Annotated[
    str,
    typer.Option(
        "--registry", help="A mirrored folder, an SQLite file or a database URL; else the records of real places in Shoal."
    ),
]
Filled = Annotated[str, typer.Option("--registry", help="SQLite file or database URL to fill.")]
Trust = Annotated[str, typer.Option("--trust", help="Public keys that you trust, separated by commas.")]
Earlier = Annotated[
    Path | None, typer.Option("--earlier", help="A mirror made before, or its head.json: finds a rewritten history.")
]
Group = Annotated[int, typer.Option("--group", "--group-size", min=1, help="How many people will be asked.")]


def register(app: typer.Typer) -> None:
    group = Commands(help="Distribution summaries: publish, query, analyse, decide.", no_args_is_help=True, rich_markup_mode=None)
    for name, command in (
        ("publish", _registry_publish.publish),
        ("list", list_populations),
        ("search", search),
        ("query", query),
        ("analyse", analyse),
        ("decide", decide),
        ("exposed", _registry_catalogue.exposed),
        ("verify", verify),
        ("mirror", mirror),
        ("key", _registry_holder.key),
        ("endorse", _registry_holder.endorse),
        ("revoke", _registry_holder.revoke),
        ("token", _registry_holder.token),
        ("seed", seed),
    ):
        group.command(name)(command)
    group.add_typer(_registry_catalogue.commands(), name="catalogue")
    app.add_typer(group, name="registry")


def query(attributes: Codes, population: People, registry: Source = "", trust: Trust = "", as_json: common.Json = False) -> None:
    """What the registry knows: the exact record, another coding, a wider population, or the margins."""
    from shoal.kernels.signatures import fingerprint
    from shoal.registry.answer.answer import shown

    answer = _asked(registry, trust).query(_split(attributes), population)
    if as_json:
        _shared.put_json(shown(answer))
        return
    typer.echo(f"{', '.join(answer.codes)} in {answer.population}: {answer.fit}")
    for record in answer.records:
        kappa = record.summary.statistics["kappa"]
        size, cells = record.summary.size, record.summary.cells
        who = f"{_shared.printable(record.holder)} ({fingerprint(record.key)})"
        typer.echo(f"  {who}, {record.date}: about {size:,} people in {cells:,} cells")
        drawn = f", drawn with noise of ε = {written(record.summary.noise)}" if record.summary.noise is not None else ""
        typer.echo(f"    κ = {written(kappa.value)} ± {written(kappa.step)} nats from uniform ({record.method}{drawn})")
        if record.source:
            typer.echo(f"    Source: {_shared.printable(record.source)}")
    for note in answer.notes:
        typer.echo(f"  {_shared.printable(note)}")


def analyse(
    attributes: Codes,
    population: People,
    group: Group,
    registry: Source = "",
    trust: Trust = "",
    size: Annotated[
        int | None, typer.Option("--size", min=1, help="How many people live there, if you know: sharpens what neighbours tell.")
    ] = None,
    my_share: Annotated[
        str,
        typer.Option("--my-share", help="For yourself: the share of people who answer as you do (0.004, 1/250; one per answer)."),
    ] = "",
    as_json: common.Json = False,
) -> None:
    """How many of a group will be one of a kind? And, with --my-share, will you be?"""
    from shoal.registry.answer.analyse import one_person
    from shoal.registry.answer.answer import analysed

    you = one_person(_shares(my_share), group) if my_share else None
    found = analysed(_asked(registry, trust).query(_split(attributes), population, size=size), group)
    if you is not None:
        found["you"] = you
    if as_json:
        _shared.put_json(found)
        return
    share = found["unique_share"]
    if share is None:
        for note in found["notes"]:
            typer.echo(_shared.printable(note))
        return
    between = f"between {share['low']:.1%} and {share['high']:.1%}, grade {share['grade']}, {found['fit']}"
    about = "perhaps" if share["grade"] == "C" else "about"
    typer.echo(f"Of {group:,} people {about} {share['value']:.1%} are one of a kind ({between}).")
    if "smallest_group" in found:
        typer.echo(found["smallest_group"]["sentence"])
    for note in [*found["notes"], *share.get("notes", [])]:
        typer.echo(f"  {_shared.printable(note)}")
    if you is not None:
        sure = f"between {you['alone_at_least']:.1%} and {you['alone_at_most']:.1%}, however your answers go together"
        typer.echo(
            f"You would be alone with a chance of {you['alone']:.1%}{f' ({sure})' if ',' in my_share else ''}; "
            f"about {you['alike']:.1f} people would answer as you do, yourself included."
        )


def decide(
    attributes: Codes,
    population: People,
    group: Group,
    registry: Source = "",
    target: Annotated[float, typer.Option("--target", help="Largest share that may be one of a kind.")] = 0.05,
    trust: Trust = "",
    as_json: common.Json = False,
) -> None:
    """Collect, collect in bands, or do not collect: advice per attribute, with the reason and a paragraph for the letter."""
    from shoal.registry.answer.decide import decide as advise
    from shoal.registry.answer.plain import codes_of, population_of

    asked = _asked(registry, trust)
    people = population_of(asked.source, population)
    decision = advise(asked, codes_of(asked.source, _split(attributes), people), people, group_size=group, target=target)
    if as_json:
        _shared.put_json(decision)
        return
    for line in decision.lines:
        typer.echo(f"{line.asked:<24}{line.advice}{f' as {line.code}' if line.advice == 'band' else ''}: {line.reason}")
    typer.echo("")
    for step in decision.log:
        typer.echo(f"  {step}")
    typer.echo("")
    typer.echo(decision.letter)


def verify(
    source: Annotated[str, typer.Argument(metavar="REGISTRY", help="A mirrored folder, an SQLite file or a database URL.")],
    earlier: Earlier = None,
    as_json: common.Json = False,
) -> None:
    """Check a mirror or a store: the chain of the log, every signature, and that what is shown is what the log leaves."""
    from shoal.registry.keep.mirror import Mirror, verify_store

    if "://" in source or Path(source).is_file():
        if earlier is not None:
            raise UsageError("only mirrors are compared with earlier ones.", hint="Mirror the store first.")
        found = verify_store(_registry_holder.store_of(source))
    else:
        found = Mirror(source).verify(earlier=earlier)
    if as_json:
        _shared.put_json({"verified": True, **found})
    else:
        said = f"{found['records']:,} records, {found['lines']:,} log lines, {found['statements']:,} statements"
        more = f", {found['notices']:,} notices" if found["notices"] else ""
        typer.echo(f"Verified: {said}{more}.")


def mirror(
    folder: Annotated[Path, typer.Argument(help="New folder for the copy.")],
    registry: Annotated[str, typer.Option("--registry", help="SQLite file, database URL or https address of the registry.")],
    earlier: Earlier = None,
    trust: Annotated[
        str, typer.Option("--trust", help="Public keys that you trust: the pages show only their records. Default: all.")
    ] = "",
    key: _registry_holder.Key = None,
    as_json: common.Json = False,
) -> None:
    """Copy a registry as static files that any web server can host and that answer offline."""
    from shoal.registry.keep.mirror import write_mirror

    if "://" not in registry and not Path(registry).is_file():
        raise UnreadableError(
            f"registry '{Path(registry).name}' does not exist.", hint="Name a SQLite file, a database URL or an address."
        )
    pages, own = partial(_registry_catalogue.pages_of, trust=trust), _registry_holder.signer_of(key)
    write_mirror(_registry_holder.submit_to(registry), folder, earlier=earlier, also=pages, signer=own)
    if as_json:
        _shared.put_json({"folder": str(folder), "signed_by": own.fingerprint})
    else:
        typer.echo(f"Mirrored into {folder}/. Open {folder}/exposed.html to see how exposed you are: it works offline.")


def search(
    text: Annotated[str, typer.Argument(help="A part of the name of a place.")],
    registry: Source = "",
    most: Annotated[int, typer.Option("--most", min=1, max=10_000, help="How many populations to show.")] = 50,
    as_json: common.Json = False,
) -> None:
    """Populations whose name contains a text, with what is known about them."""
    from shoal.registry.answer.plain import countries, nearby
    from shoal.registry.answer.query import populations

    source = _asked(registry, "").source
    found = populations(source, text.strip(), limit=most + 1)
    if as_json:
        shown = [{"population": x.population, "attributes": [list(c) for c in x.codings]} for x in found[:most]]
        _shared.put_json({"populations": shown, "more": len(found) > most})
        return
    if not text.strip() and found:
        typer.echo(f"Places: {', '.join(f'{country} {n:,}' for country, n in countries(source).items())}.")
    for listed in found[:most]:
        typer.echo(f"{_shared.printable(listed.population)}: {'; '.join(','.join(c) for c in listed.codings)}")
    if not found:
        said = "No population has this in its name." if text.strip() else "The registry is empty."
        typer.echo(_shared.printable(" ".join([said, *nearby(source, text)])))
    elif len(found) > most:
        typer.echo(
            f"… and more: add --most, or search a part of the name. Then: shoal registry query --attributes … --population "
            f'"{_shared.printable(found[0].population)}"'
        )


def list_populations(
    registry: Source = "",
    most: Annotated[int, typer.Option("--most", min=1, max=10_000, help="How many populations to show.")] = 50,
    as_json: common.Json = False,
) -> None:
    """Populations that the registry knows, with the attributes known about each."""
    search("", registry, most, as_json)


def seed(
    registry: Filled,
    data: Annotated[Path | None, typer.Option("--data", help="Folder with the public population tables.")] = None,
    generated: Annotated[bool, typer.Option("--generated", help="Only generated people, no real places.")] = False,
    as_json: common.Json = False,
) -> None:
    """Fill a registry with a first set of records: the real places in Shoal and generated people, or the public tables given."""
    from shoal.registry.publish.seed import fill, fill_built_in

    with _shared.progress("summarising populations") as details:
        store = _registry_holder.store_of(registry)
        found = fill(store, data, progress=details)
        if data is None and not generated:
            found = fill_built_in(store, found)
    if as_json:
        _shared.put_json(found)
    else:
        typer.echo(f"Published {found['records']:,} records about {found['populations']:,} populations ({found['source']}).")


def _shares(text: str) -> list[float]:
    """Shares of people, one per answer: 0.004 or 1/250.

    >>> _shares("0.5, 1/4")
    [0.5, 0.25]
    """
    try:
        return [float(Fraction(part.strip())) for part in text.split(",")]
    except (ValueError, ZeroDivisionError, OverflowError):
        raise UsageError("a share of people is a number or a fraction.", hint="Write 0.004 or 1/250, one per answer.") from None


def _split(attributes: str) -> list[str]:
    return list(typed.names(attributes))


def _asked(registry: str, trust: str) -> Any:
    """The registry to ask, under the keys that the asker trusts."""
    from shoal.registry.answer.query import Registry

    asked = Registry(registry, anchors=_split(trust))
    for note in getattr(asked.source, "notes", []):
        _shared.say(note)
    return asked
