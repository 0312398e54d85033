"""``shoal registry``: publish how skewed a population is; ask, analyse and decide what to collect."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import _publishing, _shared
from shoal.cli._shell import options
from shoal.cli._shell import texts as typed
from shoal.cli._shell.commands import Commands
from shoal.errors import UnreadableError, UsageError
from shoal.model.display import written

if TYPE_CHECKING:
    from shoal.registry.keep.mirror import Mirror


Codes = Annotated[str, typer.Option("--attributes", help="Attributes or their codes: age,sex or age/5y,sex.")]
People = _publishing.People
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
    group = Commands(help="Distribution summaries: publish, query, analyse, decide.")
    for name, command in (
        ("publish", _publishing.publish),
        ("list", list_populations),
        ("search", search),
        ("query", query),
        ("analyse", analyse),
        ("decide", decide),
        ("exposed", exposed),
        ("verify", verify),
        ("mirror", mirror),
        ("key", _publishing.key),
        ("endorse", _publishing.endorse),
        ("revoke", _publishing.revoke),
        ("token", _publishing.token),
        ("seed", seed),
    ):
        group.command(name)(command)
    group.add_typer(commands(), name="catalogue")
    app.add_typer(group, name="registry")


def query(attributes: Codes, population: People, registry: Source = "", trust: Trust = "", as_json: options.Json = False) -> None:
    """What the registry knows: the exact record, another coding, a wider population, or the margins."""
    from shoal.kernels.signatures import fingerprint
    from shoal.registry.answer.answer import shown

    answer = _registry_of(registry, trust).query(_split(attributes), population)
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
    as_json: options.Json = False,
) -> None:
    """How many of a group will be one of a kind? And, with --my-share, will you be?"""
    from shoal.registry.answer.analyse import one_person
    from shoal.registry.answer.answer import analysed

    you = one_person(_shares(my_share), group) if my_share else None
    analysis = analysed(_registry_of(registry, trust).query(_split(attributes), population, size=size), group)
    if you is not None:
        analysis["you"] = you
    if as_json:
        _shared.put_json(analysis)
        return
    share = analysis["unique_share"]
    if share is None:
        for note in analysis["notes"]:
            typer.echo(_shared.printable(note))
        return
    between = f"between {share['low']:.1%} and {share['high']:.1%}, grade {share['grade']}, {analysis['fit']}"
    about = "perhaps" if share["grade"] == "C" else "about"
    typer.echo(f"Of {group:,} people {about} {share['value']:.1%} are one of a kind ({between}).")
    if "smallest_group" in analysis:
        typer.echo(analysis["smallest_group"]["sentence"])
    for note in [*analysis["notes"], *share.get("notes", [])]:
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
    as_json: options.Json = False,
) -> None:
    """Collect, collect in bands, or do not collect: advice per attribute, with the reason and a paragraph for the letter."""
    from shoal.registry.answer.decide import decide as advise

    decision = advise(_registry_of(registry, trust), _split(attributes), population, group_size=group, target=target)
    if as_json:
        _shared.put_json(decision)
        return
    typer.echo(f"{decision.sentence}\n")
    for line in decision.lines:
        typer.echo(f"{line.asked:<24}{line.advice}{f' as {line.code}' if line.advice == 'band' else ''}: {line.reason}")
    typer.echo("")
    for step in decision.log:
        typer.echo(f"  {step}")
    for note in decision.before.notes:
        typer.echo(f"  {note}")
    typer.echo(f"\n{decision.how_many}\n\n{decision.letter}")


def verify(
    source: Annotated[str, typer.Argument(metavar="REGISTRY", help="A mirrored folder, an SQLite file or a database URL.")],
    earlier: Earlier = None,
    as_json: options.Json = False,
) -> None:
    """Check a mirror or a store: the chain of the log, every signature, and that what is shown is what the log leaves."""
    from shoal.registry.keep.mirror import Mirror, verify_store

    if "://" in source or Path(source).is_file():
        if earlier is not None:
            raise UsageError("only mirrors are compared with earlier ones.", hint="Mirror the store first.")
        checked = verify_store(_publishing.store_of(source))
    else:
        checked = Mirror(source).verify(earlier=earlier)
    if as_json:
        _shared.put_json({"verified": True, **checked})
    else:
        sentence = f"{checked['records']:,} records, {checked['lines']:,} log lines, {checked['statements']:,} statements"
        more = f", {checked['notices']:,} notices" if checked["notices"] else ""
        typer.echo(f"Verified: {sentence}{more}.")


def mirror(
    folder: Annotated[Path, typer.Argument(help="New folder for the copy.")],
    registry: Annotated[str, typer.Option("--registry", help="SQLite file, database URL or https address of the registry.")],
    earlier: Earlier = None,
    trust: Annotated[
        str, typer.Option("--trust", help="Public keys that you trust: the pages show only their records. Default: all.")
    ] = "",
    key: _publishing.Key = None,
    as_json: options.Json = False,
) -> None:
    """Copy a registry as static files that any web server can host and that answer offline."""
    from shoal.registry.keep.mirror import write_mirror

    if "://" not in registry and not Path(registry).is_file():
        hint = "Name a SQLite file, a database URL or an address."
        raise UnreadableError(f"registry '{Path(registry).name}' does not exist.", hint=hint)
    pages, own = partial(pages_of, trust=trust), _publishing.signer_of(key)
    write_mirror(_publishing.submit_to(registry), folder, earlier=earlier, also=pages, signer=own)
    _shared.tell(
        {"folder": str(folder), "signed_by": own.fingerprint},
        f"Mirrored into {folder}/. Open {folder}/exposed.html to see how exposed you are: it works offline.",
        as_json=as_json,
    )


def search(
    text: Annotated[str, typer.Argument(help="A part of the name of a place.")],
    registry: Source = "",
    most: Annotated[int, typer.Option("--most", min=1, max=10_000, help="How many populations to show.")] = 50,
    as_json: options.Json = False,
) -> None:
    """Populations whose name contains a text, with what is known about them."""
    from shoal.registry.answer.plain import grouped, nearby
    from shoal.registry.answer.query import populations

    source = _registry_of(registry, "").source
    places = populations(source, text.strip(), limit=most + 1)
    if as_json:
        shown = [{"population": x.population, "attributes": [list(c) for c in x.codings]} for x in places[:most]]
        _shared.put_json({"populations": shown, "more": len(places) > most})
        return
    if not text.strip() and places:
        for line in grouped(source, most):
            typer.echo(_shared.printable(line))
        return
    for listed in places[:most]:
        typer.echo(f"{_shared.printable(listed.population)}: {'; '.join(','.join(c) for c in listed.codings)}")
    if not places:
        sentence = "No population has this in its name." if text.strip() else "The registry is empty."
        typer.echo(_shared.printable(" ".join([sentence, *nearby(source, text)])))
    elif len(places) > most:
        typer.echo(
            f"… and more: add --most, or search a part of the name. Then: shoal registry query --attributes … --population "
            f'"{_shared.printable(places[0].population)}"'
        )


def list_populations(
    text: Annotated[str, typer.Argument(help="Only those with this in their name.")] = "",
    registry: Source = "",
    most: Annotated[int, typer.Option("--most", min=1, max=10_000, help="How many populations to show.")] = 50,
    as_json: options.Json = False,
) -> None:
    """Populations that the registry knows, with the attributes known about each."""
    search(text, registry, most, as_json)


def seed(
    registry: Filled,
    generated: Annotated[bool, typer.Option("--generated", help="Only generated people, no real places.")] = False,
    as_json: options.Json = False,
) -> None:
    """Fill a registry with a first set of records: the real places in Shoal and generated people."""
    from shoal.registry.publish.seed import fill, fill_built_in

    with _shared.progress("summarising populations") as details:
        store = _publishing.store_of(registry)
        filled = fill(store, progress=details)
        if not generated:
            filled = fill_built_in(store, filled)
    note = f"Published {filled['records']:,} records about {filled['populations']:,} populations ({filled['source']}).\n"
    note += f"Generated people: decide takes the word of their key with --trust {filled['key']}"
    _shared.tell(filled, note, as_json=as_json)


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


def _registry_of(registry: str, trust: str) -> Any:
    """The registry to ask, under the keys that the asker trusts."""
    from shoal.registry.answer.query import Registry

    opened = Registry(registry, anchors=_split(trust))
    for note in getattr(opened.source, "notes", []):
        _shared.say(note)
    return opened


NoticeCodes = Annotated[str, typer.Option("--attributes", help="Attribute codes, for instance age/years,sex,diagnosis/icd10-3.")]
Title = Annotated[str, typer.Option("--title", help="Name of the data set or questionnaire.")]
Holder = Annotated[str, typer.Option("--holder", help="Who says it.")]
Catalogue = Annotated[str, typer.Option("--registry", help="A mirrored folder, an SQLite file or a database URL.")]
Endorsed = Annotated[str, typer.Option("--trust", help="Public keys that you trust: only theirs and those they endorse.")]
Text = Annotated[str, typer.Argument(metavar="PLACE", help="A part of the name of a population.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would leave, and stop.")]


def commands() -> typer.Typer:
    group = Commands(help="Who holds which columns, who asks for what, and what that means together; no data.")
    held = "Publish which attributes a data set of yours contains, and about which people. Columns only: no values, no counts."
    group.command("holds")(_notice_command("holds", held))
    group.command("asks")(_notice_command("asks", "Say in public which attributes a questionnaire asks for, and whom."))
    group.command("list")(list_notices)
    group.command("matches")(matches)
    return group


def _notice_command(kind: str, words: str) -> Callable[..., None]:
    """The command that publishes a notice of a kind."""

    def command(
        attributes: NoticeCodes,
        population: _publishing.People,
        title: Title,
        holder: Holder,
        registry: _publishing.Target = "",
        key: _publishing.Key = None,
        dry_run: DryRun = False,
        as_json: options.Json = False,
    ) -> None:
        from shoal.registry.records.notice import Notice
        from shoal.registry.records.population import Population
        from shoal.registry.records.vocabulary import canonical

        notice = Notice(
            kind, title, canonical(typed.names(attributes)), Population.parse(population), holder, _publishing.today()
        )
        if dry_run:
            _tell(notice, as_json, "This, and nothing else, would leave the building once signed:")
            return
        if not registry:
            raise UsageError("a notice goes into a registry.", hint="Add --registry FILE or ADDRESS, or --dry-run to look first.")
        own, target = _publishing.signer_of(key), _publishing.submit_to(registry)
        mine = replace(notice, key=own.public)
        before = target.notices.latest(mine)
        if before is not None:
            mine = replace(mine, version=before.version + 1, supersedes=before.id)
        _tell(target.notices.submit(mine.signed(own)), as_json, "This, and nothing else, left the building:")

    command.__doc__ = words
    return command


def _tell(notice: Any, as_json: bool, head: str) -> None:
    shown = notice.to_json() if notice.signature else notice.content()
    if as_json:
        _shared.put_json({"notice": shown, "submitted": bool(notice.signature)})
        return
    typer.echo(head)
    typer.echo(json.dumps(shown, indent=1, ensure_ascii=False))
    if notice.signature:
        typer.echo("Next: shoal registry catalogue matches --registry …")


def list_notices(
    registry: Catalogue,
    text: Text = "",
    trust: Endorsed = "",
    most: Annotated[int, typer.Option("--most", min=1, max=10_000, help="How many to show.")] = 50,
    as_json: options.Json = False,
) -> None:
    """Who holds which columns about whom, and which questionnaires ask for what."""
    from shoal.kernels.signatures import fingerprint
    from shoal.registry.answer.query import Registry

    notices = Registry(registry, anchors=typed.names(trust)).catalogue(text.strip(), limit=most + 1)
    if as_json:
        _shared.put_json({"notices": [n.to_json() for n in notices[:most]], "more": len(notices) > most})
        return
    for n in notices[:most]:
        who = f"{n.holder} ({fingerprint(n.key)}) {n.kind}"
        typer.echo(_shared.printable(f"{n.population}: {who} {', '.join(n.codes)} in {n.title}, {n.date}"))
    if not notices:
        typer.echo("The catalogue has nothing about this. Say what you hold: shoal registry catalogue holds --help")
    elif len(notices) > most:
        typer.echo("… and more: add --most, or name a place.")


def matches(registry: Catalogue, text: Text = "", trust: Endorsed = "", as_json: options.Json = False) -> None:
    """Who could join what with whom, by which columns, and which questionnaire asks for something held elsewhere."""
    from shoal.registry.answer.matching import match
    from shoal.registry.answer.query import Registry

    opened = Registry(registry, anchors=typed.names(trust))
    matched = match(opened.catalogue(), opened, about=text.strip())
    if as_json:
        _shared.put_json(matched.to_json())
        return
    for heading, lines in (("Could be joined:", matched.joins), ("Asked, and held elsewhere:", matched.requests)):
        if lines:
            typer.echo(heading)
            for line in lines:
                typer.echo(f"  {_shared.printable(line.sentence)}")
    if not matched.joins and not matched.requests:
        typer.echo("Nothing in the catalogue fits together.")
    if matched.more:
        typer.echo("… and more: name a place.")


def exposed(
    population: Annotated[str, typer.Option("--population", help="Where you live: Leeds, or place@period: UK/Leeds@2019.")],
    answers: Annotated[str, typer.Option("--answers", help="Your answers: sex=female,age=34. They stay on this computer.")],
    registry: Annotated[str, typer.Option("--registry", help="A mirrored folder, an SQLite file or a database URL.")] = "",
    trust: Annotated[str, typer.Option("--trust", help="Public keys that you trust, separated by commas.")] = "",
    as_json: options.Json = False,
) -> None:
    """How many people are like you after each answer, which one gives you away, and what a coarser one would do."""
    from shoal.registry.answer.exposure import exposure
    from shoal.registry.answer.query import Registry
    from shoal.registry.records.vocabulary import label

    exposed_by = exposure(Registry(registry).source, population, _pairs(answers), anchors=typed.names(trust))
    if as_json:
        counted = {"counted": {"crowd": list(exposed_by.counted), "grade": exposed_by.best[1]}} if exposed_by.counted else {}
        _shared.put_json({**exposed_by.to_json(), **counted, **({"notes": list(exposed_by.notes)} if exposed_by.notes else {})})
        return
    (value, low, high), grade = exposed_by.best
    between = f"between {low:,.0f} and {high:,.0f}, grade {grade}" if low < high else f"counted, grade {grade}"
    typer.echo(f"You hide among {'' if low == high else 'about '}{value:,.0f} people of {exposed_by.population} ({between}).")
    for step in exposed_by.steps:
        typer.echo(f"  {label(step.code)}, {step.answer}: {step.share[0]:.2%} of the people; about {step.crowd[0]:,.0f} are left")
        for text, crowd in step.coarser:
            typer.echo(f"    {text} instead: about {crowd[0]:,.0f}")
    if len(exposed_by.steps) > 1:
        taken = "The numbers of the single steps take" if exposed_by.counted else "The number takes"
        typer.echo(f"Most telling: {label(exposed_by.most_telling or '')}. {taken} your answers as independent of each other.")
    for note in exposed_by.notes:
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
    from shoal.report.pages import render, render_catalogue

    anchors = typed.names(trust)
    opened = Registry(mirror, anchors=anchors)
    notices = opened.catalogue(limit=10_000)
    return {
        "exposed.html": render(places_of(mirror, anchors=anchors), share_step=SHARE_STEP).encode("utf-8"),
        "catalogue.html": render_catalogue([n.to_json() for n in notices], match(notices, opened).to_json()).encode("utf-8"),
    }
