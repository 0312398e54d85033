"""``shoal registry`` for holders: keys, tokens, endorsements, and records from tables of people, of counts or of a study."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import shoal
from shoal.cli import _shared
from shoal.cli._shared import preview_instead
from shoal.cli._shell import options
from shoal.cli._shell import texts as typed
from shoal.errors import UnreadableError, UsageError
from shoal.model import strict_json
from shoal.model.roles import look

if TYPE_CHECKING:
    from shoal.kernels.signatures import Signer
    from shoal.model.counts.classes import IntArray
    from shoal.registry.keep.remote import Remote
    from shoal.registry.keep.store import Store
    from shoal.registry.publish.bulk import Bulk
    from shoal.registry.publish.proposals import Ledger
    from shoal.registry.records.population import Population
    from shoal.registry.records.record import Record

    Latest = Callable[[tuple[str, ...], Population], Record | None]


People = Annotated[str, typer.Option("--population", help="place@period;filters: NL/Utrecht@2021. To ask, Utrecht is enough.")]
Target = Annotated[str, typer.Option("--registry", help="SQLite file, database URL, or https address to submit to.")]
Key = Annotated[
    Path | None, typer.Option("--key", help="Ed25519 key file to sign with (mode 600); else registry.key, made when missing.")
]
Noise = Annotated[
    float | None,
    typer.Option("--noise", metavar="EPSILON", help="Draw the numbers with calibrated noise of this ε (1 is usual)."),
]
Answers = Annotated[
    str, typer.Option("--answers", help="With --noise: counts of every combination. Public answers: 'sex=F,M;work=yes,no'.")
]
Unit = Annotated[str | None, typer.Option("--unit", help="Column that names a person, where a person may have several rows.")]
Count = Annotated[str | None, typer.Option("--count", help="Column with numbers of people: the table holds counts, not people.")]
By = Annotated[
    str | None, typer.Option("--by", help="Column with places: one record for each, as PLACE/value of the population.")
]
OfStudy = Annotated[
    bool, typer.Option("--study", help="TABLE is what 'shoal study … --json' wrote: one record per set and subpopulation.")
]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Write the signed record (of several: all of them) to this file.")]
OWN_KEY, LEDGER = Path("registry.key"), Path("registry-ledger.json")


def key(key: Key = None, as_json: options.Json = False) -> None:
    """Show your public key: what others endorse, and what a record is signed with. Makes one when there is none."""
    if key is not None and not key.exists():
        _make_key(key)
    own = signer_of(key)
    keys = {"key": own.public, "fingerprint": own.fingerprint}
    _shared.tell(keys, f"{own.public}  (fingerprint {own.fingerprint})", as_json=as_json)


def endorse(
    public_key: Annotated[str, typer.Argument(help="The public key that you vouch for.")],
    registry: Target,
    key: Key = None,
    as_json: options.Json = False,
) -> None:
    """Say in public that you vouch for a holder's key: anyone who trusts you may then trust it."""
    _state("endorse", public_key, registry, key, as_json)


def revoke(
    registry: Target,
    record: Annotated[str, typer.Option("--record", help="Id of a record of yours that shall not count any more.")] = "",
    endorsed: Annotated[str, typer.Option("--endorsed", help="A public key that you vouch for no longer.")] = "",
    own_key: Annotated[bool, typer.Option("--own-key", help="Revoke your own key for ever, and every record under it.")] = False,
    key: Key = None,
    as_json: options.Json = False,
) -> None:
    """Take back a record, an endorsement, or your own key (it was stolen, or you stop). It stays in the log."""
    if sum([bool(record), bool(endorsed), own_key]) != 1:
        raise UsageError("name exactly one thing to revoke.", hint="Give --record ID, --endorsed KEY, or --own-key.")
    if record:
        _state("revoke-record", record, registry, key, as_json)
    else:
        _state("revoke-key", endorsed or signer_of(key).public, registry, key, as_json)


def _state(kind: str, subject: str, registry: str, key_file: Path | None, as_json: bool) -> None:
    from shoal.registry.records.trust import Statement

    own, target = signer_of(key_file), submit_to(registry)
    if kind == "endorse" and subject == own.public:
        raise UsageError("nobody vouches for themselves.", hint="Ask another holder to endorse your key.")
    statement = Statement(kind, subject, own.public, today(), target.next_number(own.public)).signed(own)
    target.state(statement)
    sentence = f"Stated: {kind} {subject} (number {statement.number} of {own.fingerprint})."
    _shared.tell({"stated": statement.to_json()}, sentence, as_json=as_json)


def token(
    holder: Annotated[str, typer.Argument(help="The holder that the token is for: it publishes under this name only.")],
    registry: Annotated[str, typer.Option("--registry", help="SQLite file or database URL of the registry.")],
    public_key: Annotated[
        str, typer.Option("--key", help="The holder's public key: the only one it publishes with; else the first one used.")
    ] = "",
    as_json: options.Json = False,
) -> None:
    """Make a token that may publish over HTTP, for one holder and one key. It is shown once; only its hash is kept."""
    if not look(holder):
        raise UsageError("a token is for a holder with a name.", hint='Write: shoal registry token "A hospital" --registry …')
    added = store_of(registry).tokens.add(holder, holder=holder, key=public_key)
    _shared.tell({"token": added}, added, as_json=as_json)


def store_of(source: str) -> Store:
    from shoal.registry.keep.store import Store

    return Store(source if "://" in source else f"sqlite:///{source}")


def submit_to(source: str) -> Store | Remote:
    """Where records and statements go: a service over HTTP, or a store."""
    if source.startswith(("http://", "https://")):
        from shoal.registry.keep.remote import Remote

        return Remote(source)
    return store_of(source)


def today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def signer_of(key_file: Path | None) -> Signer:
    """The key named, else that of the environment, else the holder's own, made on first use: a forgotten key revokes nothing."""
    from shoal.kernels.signatures import FILE_ENV, KEY_ENV, signer

    if key_file is not None and not key_file.exists():
        hint = f"Make one: shoal registry key --key {key_file.name}"
        raise UnreadableError(f"key file '{key_file.name}' does not exist.", hint=hint)
    if key_file is not None or os.environ.get(FILE_ENV) or os.environ.get(KEY_ENV):
        return signer(key_file)
    if not OWN_KEY.exists():
        _make_key(OWN_KEY)
    return signer(OWN_KEY)


def _make_key(path: Path) -> None:
    from shoal.registry.publish.proposals import make_key

    try:
        make_key(path)
    except OSError as error:
        raise UnreadableError(f"a key cannot be written: {error.strerror}.", hint="Name a file in a folder of yours.") from None
    _shared.say(f"Made a signing key in {path}: keep it safe, later versions and revocations need it.")


def publish(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="A file, or ENGINE-URL::table.")],
    qi: Annotated[str, typer.Option("--quasi", "--qi", help="Columns with their codes: age=age/years,sex=sex.")],
    population: People,
    holder: Annotated[str, typer.Option("--holder", help="Who publishes.")] = "",
    registry: Target = "",
    ledger: Annotated[Path, typer.Option("--ledger", help="Private memory of what was published.")] = LEDGER,
    key: Key = None,
    cells: Annotated[int | None, typer.Option("--cells", min=1, help="Number of possible cells.")] = None,
    noise: Noise = None,
    answers: Answers = "",
    unit: Unit = None,
    count: Count = None,
    by: By = None,
    study: OfStudy = False,
    sample: Annotated[bool, typer.Option("--sample", help="The table is a sample, not a complete count.")] = False,
    out: Out = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would leave, and stop.")] = False,
    preview: options.Preview = False,
    as_json: options.Json = False,
) -> None:
    """Compute a summary where the data are, show exactly what would leave, sign it and submit it."""
    from shoal.registry.records.population import Population

    columns, codes = _columns(qi)
    people = Population.parse(population)
    if study and (unit or count or by or cells):
        raise UsageError("a study was counted before.", hint="Leave out --unit, --count, --by and --cells.")
    if answers and (noise is None or study or by or cells or sample):
        hint = "Add --noise, and leave out --by, --study, --sample and --cells."
        raise UsageError("counts of every combination are drawn with noise, of one population.", hint=hint)
    if preview:
        wanted = columns if by is None else (*columns, by)
        preview_instead(preview, "publish", table, {}, as_json=as_json, columns=wanted, unit=unit, weight=count)
    how = Publishing(holder, registry, ledger, key, noise, sample=sample, dry_run=dry_run, cells=cells)

    def proposed(book: Ledger, latest: Latest, options: dict[str, Any]) -> Bulk:
        if study:
            return _propose_study(_read_study(table), dict(zip(columns, codes, strict=True)), people, book, latest, options)
        counted = _count(table, columns, codes, unit, count, by, answers, options)
        return _propose_counts(counted if by is not None else counted[""], codes, people, book, latest, options)

    one = by is None and not study
    bulk, records, submitted = how.carry_out(proposed)
    if out is not None and not dry_run:
        content = records[0].to_json() if one else [r.to_json() for r in records]
        out.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (_tell_one if one else _tell_many)(bulk, records, submitted, dry_run, as_json)


@dataclass(frozen=True)
class Publishing:
    """Who publishes where, with what key and ledger; ``dry_run`` signs and submits nothing."""

    holder: str
    registry: str
    ledger: Path
    key: Path | None
    noise: float | None = None
    sample: bool = False
    dry_run: bool = False
    cells: int | None = None

    def carry_out(self, proposed: Callable[[Ledger, Latest, dict[str, Any]], Bulk]) -> tuple[Bulk, list[Record], bool]:
        """Propose, sign and submit; the records, and whether anything was submitted."""
        from shoal.registry.publish.bulk import publish_each
        from shoal.registry.publish.proposals import Ledger

        if not self.holder and not self.dry_run:
            raise UsageError("a record needs its holder's name.", hint="Add --holder NAME, or --dry-run to look first.")
        own = None if self.dry_run else signer_of(self.key)
        target = submit_to(self.registry) if self.registry and not self.dry_run else None
        if target is not None and own is not None:
            target.check_name(self.holder, own.public)
        book = Ledger.load(self.ledger)
        options: dict[str, Any] = {
            "holder": self.holder or "(dry run)", "date": today(), "cells": self.cells, "noise": self.noise,
            "method": "sample" if self.sample else "complete count",
        }  # fmt: skip

        def latest(wanted: tuple[str, ...], place: Population) -> Record | None:
            return target.latest(wanted, str(place), own.public) if target and own else None

        bulk = proposed(book, latest, options)
        records = [p.record for p in bulk.proposals] if own is None else publish_each(bulk, own, book)
        fresh = [r for r, p in zip(records, bulk.proposals, strict=True) if not p.unchanged]
        if target is not None and fresh:
            target.submit_many(fresh)
        if own is not None:
            book.save(self.ledger)
        return bulk, records, target is not None and bool(fresh)


def publish_study(content: dict[str, Any], codes: str, population: str, how: Publishing, *, as_json: bool) -> dict[str, Any]:
    """Publish the result of a study as it stands, tell what leaves, and give it back for the JSON."""
    from shoal.registry.records.population import Population

    coded = dict(zip(*_columns(codes), strict=True))
    people = Population.parse(population)
    bulk, records, submitted = how.carry_out(partial(_propose_study, content, coded, people))
    if not as_json:
        _tell_many(bulk, records, submitted, how.dry_run, as_json)
    return _many(bulk, records, submitted, how.dry_run)


def _propose_counts(
    counted: IntArray | dict[str, IntArray],
    codes: tuple[str, ...],
    people: Population,
    book: Ledger,
    latest: Latest,
    options: dict[str, Any],
) -> Bulk:
    """One proposal for everybody, or one for each place if cell sizes come by place."""
    from shoal.registry.publish.bulk import Bulk, propose_each
    from shoal.registry.publish.proposals import propose
    from shoal.registry.records.vocabulary import canonical

    wanted = canonical(codes)
    if isinstance(counted, dict):
        return propose_each(counted, codes, people, ledger=book, published=lambda p: latest(wanted, p), **options)
    return Bulk((propose(counted, codes, people, ledger=book, published=latest(wanted, people), **options),), {})


def _read_study(file: str) -> dict[str, Any]:
    try:
        content = strict_json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise UnreadableError("the result of the study cannot be read.", hint="Write it with: shoal study … --json") from None
    if not isinstance(content, dict):
        raise UnreadableError("this is not the result of a study.", hint="Write it with: shoal study … --json")
    return content


def _propose_study(
    content: dict[str, Any], coded: dict[str, str], people: Population, book: Ledger, latest: Latest, options: dict[str, Any]
) -> Bulk:
    """Proposals for every set of columns of a study, of everybody and of each subpopulation."""
    from shoal.registry.publish.bulk import propose_study

    return propose_study(content, coded, people, ledger=book, published=latest, **options)


def _count(
    table: str,
    columns: tuple[str, ...],
    codes: tuple[str, ...],
    unit: str | None,
    count: str | None,
    by: str | None,
    answers: str,
    options: dict[str, Any],
) -> dict[str, IntArray]:
    """Cell sizes, by place; under no name without a column of places. Public ``answers`` add the joint counts to the options."""
    from shoal.registry.publish.bulk import by_place, joint_table, whole_numbers
    from shoal.registry.records.vocabulary import check_values

    if count is not None and unit is not None:
        raise UsageError("a table of counts has no column that names a person.", hint="Give --count or --unit, not both.")
    if by is not None and by in columns:
        raise UsageError(f"'{by}' is both a place and an attribute.", hint="Leave it out of --quasi.")
    wanted = columns if by is None else (*columns, by)
    with _shared.progress("counting"), shoal.open(table) as opened:
        counts = opened.count(wanted, unit=unit, weight=count)
    if counts.n_people is not None and counts.n_members != counts.n_people:
        what = f"{counts.n_members - counts.n_people:,} times a person is in more than one cell of {', '.join(wanted)}."
        hint = "A record counts each person once: keep one row per person (the latest, say), or fewer attributes."
        raise UsageError(what, hint=hint)
    if counts.n_people is None and count is None:
        _shared.say("Each row is taken as one person. If a person may have several rows, name the person column (--unit).")
    for column, code, values in zip(columns, codes, counts.categories, strict=False):
        check_values(code, column, values if len(values) > 100_000 else values.to_pylist())
    sizes = counts.sizes if counts.weights is None or count is None else whole_numbers(counts.weights, count)
    if answers:
        coded, values = dict(zip(columns, codes, strict=True)), [c.to_pylist() for c in counts.categories]
        parts = [part.partition("=") for part in answers.split(";")]
        listed = {coded.get(column.strip(), ""): typed.names(texts) for column, _, texts in parts}
        options["joint"] = joint_table(codes, listed, values, counts.codes, sizes)
    return {"": sizes} if by is None else by_place(sizes, counts.codes[-1], counts.categories[-1].to_pylist())


def _tell_one(bulk: Bulk, records: list[Record], submitted: bool, dry_run: bool, as_json: bool) -> None:
    (proposal,), (record,) = bulk.proposals, records
    leaves = proposal.shown() if dry_run else record.to_json()
    if as_json:
        _shared.put_json({"leaves": leaves, "notes": proposal.notes, "unchanged": proposal.unchanged,
                          "id": None if dry_run else record.id, "submitted": submitted})  # fmt: skip
        return
    typer.echo("This, and nothing else, leaves the building" + (" (once signed):" if dry_run else ":"))
    typer.echo(json.dumps(leaves, indent=1, ensure_ascii=False))
    for note in proposal.notes:
        typer.echo(note)
    if dry_run and record.summary.noise is not None and not proposal.unchanged:
        typer.echo("When it is published, new noise is drawn.")
    if proposal.unchanged:
        typer.echo(f"Nothing new leaves: {record.id} stands.")
    elif not dry_run:
        typer.echo(f"Signed as {record.id}." + (" Submitted." if submitted else ""))


def _tell_many(bulk: Bulk, records: list[Record], submitted: bool, dry_run: bool, as_json: bool) -> None:
    """One preview for all places: what leaves of each, who is left out, and what it costs."""
    details = _many(bulk, records, submitted, dry_run)
    if as_json:
        _shared.put_json(details)
        return
    typer.echo(f"This, and nothing else, leaves the building{' (once signed)' if dry_run else ''}: {len(records):,} records.")
    for record in records[:20]:
        kappa = record.summary.statistics["kappa"]
        size, cells = record.summary.size, record.summary.cells
        about = f"{record.population}, {', '.join(record.codes)}: about {size:,} people in {cells:,} cells"
        typer.echo(f"  {about}, κ = {kappa.value:g} ± {kappa.step:g}")
    if len(records) > 20:
        typer.echo(f"  and {len(records) - 20:,} more (--json shows every number).")
    for reason, places in sorted(bulk.left_out.items()):
        typer.echo(f"Left out: {places:,} ({reason}).")
    for note in details["notes"][:5]:
        typer.echo(note)
    if not dry_run:
        typer.echo(f"Signed: {len(bulk.new):,} new." + (" Submitted." if submitted else ""))


def _many(bulk: Bulk, records: list[Record], submitted: bool, dry_run: bool) -> dict[str, Any]:
    leaves = [r.content() if dry_run else r.to_json() for r in records]
    notes = sorted({note for p in bulk.proposals for note in p.notes})
    return {"leaves": leaves, "records": len(records), "new": len(bulk.new), "left_out": dict(bulk.left_out),
            "notes": notes, "submitted": submitted}  # fmt: skip


def _columns(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    pairs = [p.rpartition("=")[::2] if "=" in p else (p, p) for p in typed.names(text)]
    if not pairs:
        raise UsageError("no column was named.", hint="Write --quasi age=age/years,sex=sex.")
    return tuple(c for c, _ in pairs), tuple(k for _, k in pairs)
