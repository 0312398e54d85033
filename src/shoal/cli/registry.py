"""``shoal registry``: publish how skewed a population is; ask, analyse and decide what to collect."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.errors import UsageError

Codes = Annotated[str, typer.Option("--attributes", help="Attribute codes, for instance age/5y,sex.")]
People = Annotated[str, typer.Option("--population", help="place@period;filters, for instance NL/Utrecht@2021.")]
Source = Annotated[str, typer.Option("--registry", help="A mirrored folder, an SQLite file or a database URL.")]
Group = Annotated[int, typer.Option("--group", min=1, help="How many people will be asked.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Distribution summaries: publish, query, analyse, decide.", no_args_is_help=True)
    for name, command in (
        ("publish", publish),
        ("query", query),
        ("analyse", analyse),
        ("decide", decide),
        ("verify", verify),
        ("mirror", mirror),
        ("token", token),
        ("seed", seed),
    ):
        group.command(name)(command)
    app.add_typer(group, name="registry")


def publish(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="A file, or ENGINE-URL::table.")],
    qi: Annotated[str, typer.Option("--qi", help="Columns with their codes: age=age/years,sex=sex.")],
    population: People,
    holder: Annotated[str, typer.Option("--holder", help="Who publishes.")] = "",
    registry: Annotated[str, typer.Option("--registry", help="SQLite file or database URL to submit to.")] = "",
    ledger: Annotated[Path, typer.Option("--ledger", help="Private memory of what was published.")] = Path(
        "registry-ledger.json"
    ),
    key: Annotated[Path | None, typer.Option("--key", help="Ed25519 key file to sign with (mode 600).")] = None,
    cells: Annotated[int | None, typer.Option("--cells", min=1, help="Number of possible cells.")] = None,
    sample: Annotated[bool, typer.Option("--sample", help="The table is a sample, not a complete count.")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="Write the signed record to this file.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would leave, and stop.")] = False,
    as_json: _shared.Json = False,
) -> None:
    """Compute a summary where the data are, show exactly what would leave, sign it and submit it."""
    import shoal
    from shoal.registry.holder import Ledger, propose
    from shoal.registry.holder import publish as sign_and_remember
    from shoal.registry.population import Population
    from shoal.release.sign import signer

    columns, codes = _columns(qi)
    with _shared.progress("counting"):
        counts = shoal.open(table).count(columns)
    if not holder and not dry_run:
        raise UsageError("a record needs its holder's name.", hint="Add --holder NAME, or --dry-run to look first.")
    book = Ledger.load(ledger)
    proposal = propose(
        counts.sizes, codes, Population.parse(population), holder=holder or "(dry run)", date=_today(), cells=cells,
        method="sample" if sample else "complete count", ledger=book,
    )  # fmt: skip
    submitted = False
    record = proposal.record
    if not dry_run:
        record = sign_and_remember(proposal, signer(key), book)
        if registry and not proposal.unchanged:
            _store(registry).submit(record)
            submitted = True
        book.save(ledger)
        if out is not None:
            out.write_text(json.dumps(record.to_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    _tell_published(proposal, record, submitted, dry_run, as_json)


def _tell_published(proposal: Any, record: Any, submitted: bool, dry_run: bool, as_json: bool) -> None:
    if as_json:
        _shared.put_json({"leaves": proposal.shown(), "notes": proposal.notes, "unchanged": proposal.unchanged,
                          "id": None if dry_run else record.id, "submitted": submitted})  # fmt: skip
        return
    typer.echo("This, and nothing else, leaves the building:")
    typer.echo(json.dumps(proposal.shown(), indent=1, ensure_ascii=False))
    for note in proposal.notes:
        typer.echo(note)
    if not dry_run:
        typer.echo(f"Signed as {record.id}." + (" Submitted." if submitted else ""))


def query(attributes: Codes, population: People, registry: Source, as_json: _shared.Json = False) -> None:
    """What the registry knows: the exact record, another coding, a wider population, or the margins."""
    from shoal.registry.query import Registry
    from shoal.registry.tell import shown

    answer = Registry(registry).query(_split(attributes), population)
    if as_json:
        _shared.put_json(shown(answer))
        return
    typer.echo(f"{', '.join(answer.codes)} in {answer.population}: {answer.fit}")
    for record in answer.records:
        kappa = record.summary.statistics["kappa"]
        size, cells = record.summary.size, record.summary.cells
        typer.echo(f"  {_shared.printable(record.holder)}, {record.date}: about {size:,} people in {cells:,} cells")
        typer.echo(f"    κ = {kappa.value:g} ± {kappa.step:g} nats from uniform")
    for note in answer.notes:
        typer.echo(f"  {_shared.printable(note)}")


def analyse(attributes: Codes, population: People, registry: Source, group: Group, as_json: _shared.Json = False) -> None:
    """How many of a group will be one of a kind?"""
    from shoal.registry.query import Registry
    from shoal.registry.tell import analysed

    found = analysed(Registry(registry).query(_split(attributes), population), group)
    if as_json:
        _shared.put_json(found)
        return
    share = found["unique_share"]
    if share is None:
        typer.echo("Nothing is known about this.")
        return
    between = f"between {share['low']:.1%} and {share['high']:.1%}, grade {share['grade']}, {found['fit']}"
    typer.echo(f"Of {group:,} people about {share['value']:.1%} are one of a kind ({between}).")
    if "smallest_group" in found:
        typer.echo(found["smallest_group"]["sentence"])
    for note in found["notes"]:
        typer.echo(_shared.printable(note))


def decide(
    attributes: Codes,
    population: People,
    registry: Source,
    group: Group,
    target: Annotated[float, typer.Option("--target", help="Largest share that may be one of a kind.")] = 0.05,
    as_json: _shared.Json = False,
) -> None:
    """Collect, collect in bands, or do not collect: advice per attribute, with the reason and a paragraph for the letter."""
    from shoal.registry.decide import decide as advise
    from shoal.registry.query import Registry

    decision = advise(Registry(registry), _split(attributes), population, group_size=group, target=target)
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


def verify(folder: Annotated[Path, typer.Argument(help="A mirrored registry.")], as_json: _shared.Json = False) -> None:
    """Check a mirror: the chain of the log, every signature, and that index and log agree."""
    from shoal.registry.static import Mirror

    found = Mirror(folder).verify()
    if as_json:
        _shared.put_json({"verified": True, **found})
    else:
        typer.echo(f"Verified: {found['records']:,} records, {found['lines']:,} log lines, {found['statements']:,} statements.")


def mirror(
    folder: Annotated[Path, typer.Argument(help="New folder for the copy.")], registry: Source, as_json: _shared.Json = False
) -> None:
    """Copy a registry as static files that any web server can host and that answer offline."""
    from shoal.registry.static import write_mirror

    write_mirror(_store(registry), folder)
    if as_json:
        _shared.put_json({"folder": str(folder)})
    else:
        typer.echo(f"Mirrored into {folder}/")


def token(
    label: Annotated[str, typer.Argument(help="For whom the token is.")], registry: Source, as_json: _shared.Json = False
) -> None:
    """Make a token that may publish over HTTP. It is shown once; only its hash is kept."""
    made = _store(registry).add_token(label)
    if as_json:
        _shared.put_json({"token": made})
    else:
        typer.echo(made)


def seed(
    registry: Source,
    data: Annotated[Path | None, typer.Option("--data", help="Folder with the public population tables.")] = None,
    as_json: _shared.Json = False,
) -> None:
    """Fill a registry with a first set of records: public population tables where given, generated people otherwise."""
    from shoal.registry.seed import fill

    with _shared.progress("summarising populations") as told:
        found = fill(_store(registry), data, progress=told)
    if as_json:
        _shared.put_json(found)
    else:
        typer.echo(f"Published {found['records']:,} records about {found['populations']:,} populations ({found['source']}).")


def _columns(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    pairs = [p.rpartition("=")[::2] if "=" in p else (p, p) for p in _shared.names(text)]
    if not pairs:
        raise UsageError("no column was named.", hint="Write --qi age=age/years,sex=sex.")
    return tuple(c for c, _ in pairs), tuple(k for _, k in pairs)


def _split(attributes: str) -> list[str]:
    return list(_shared.names(attributes))


def _store(source: str) -> Any:
    from shoal.registry.store import Store

    return Store(source if "://" in source else f"sqlite:///{source}")


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()
