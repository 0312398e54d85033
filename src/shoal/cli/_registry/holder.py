"""The holder's commands of ``shoal registry``: publish, key, endorse, revoke, token."""

from __future__ import annotations

import datetime
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import _shared
from shoal.errors import UsageError
from shoal.model.roles import look

if TYPE_CHECKING:
    from shoal.kernels.signatures import Signer

People = Annotated[str, typer.Option("--population", help="place@period;filters, for instance NL/Utrecht@2021.")]
Target = Annotated[str, typer.Option("--registry", help="SQLite file, database URL, or https address to submit to.")]
Key = Annotated[
    Path | None, typer.Option("--key", help="Ed25519 key file to sign with (mode 600); else registry.key, made when missing.")
]
OWN_KEY = Path("registry.key")


def publish(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="A file, or ENGINE-URL::table.")],
    qi: Annotated[str, typer.Option("--qi", help="Columns with their codes: age=age/years,sex=sex.")],
    population: People,
    holder: Annotated[str, typer.Option("--holder", help="Who publishes.")] = "",
    registry: Target = "",
    ledger: Annotated[Path, typer.Option("--ledger", help="Private memory of what was published.")] = Path(
        "registry-ledger.json"
    ),
    key: Key = None,
    cells: Annotated[int | None, typer.Option("--cells", min=1, help="Number of possible cells.")] = None,
    noise: Annotated[
        float | None,
        typer.Option("--noise", metavar="EPSILON", help="Draw the numbers with calibrated noise of this ε (1 is usual)."),
    ] = None,
    unit: Annotated[
        str | None, typer.Option("--unit", help="Column that names a person, where a person may have several rows.")
    ] = None,
    sample: Annotated[bool, typer.Option("--sample", help="The table is a sample, not a complete count.")] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the signed record to this file.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would leave, and stop.")] = False,
    as_json: _shared.Json = False,
) -> None:
    """Compute a summary where the data are, show exactly what would leave, sign it and submit it."""
    import shoal
    from shoal.registry.publish.holder import Ledger, propose
    from shoal.registry.publish.holder import publish as sign_and_remember
    from shoal.registry.records.population import Population
    from shoal.registry.records.vocabulary import canonical, check_values

    columns, codes = _columns(qi)
    people = Population.parse(population)
    if not holder and not dry_run:
        raise UsageError("a record needs its holder's name.", hint="Add --holder NAME, or --dry-run to look first.")
    own = None if dry_run else _signer(key)
    target = submit_to(registry) if registry and not dry_run else None
    if target is not None and own is not None:
        target.check_name(holder, own.public)
    with _shared.progress("counting"), shoal.open(table) as opened:
        counts = opened.count(columns, unit=unit)
    if counts.n_people is not None and counts.n_members != counts.n_people:
        raise UsageError(
            f"{counts.n_members - counts.n_people:,} times a person is in more than one cell of {', '.join(columns)}.",
            hint="A record counts each person once: keep one row per person (the latest, say), or fewer attributes.",
        )
    if counts.n_people is None:
        _shared.say("Each row is taken as one person. If a person may have several rows, name the person column (--unit).")
    for column, code, values in zip(columns, codes, counts.categories, strict=True):
        check_values(code, column, values if len(values) > 100_000 else values.to_pylist())
    book = Ledger.load(ledger)
    proposal = propose(
        counts.sizes, codes, people, holder=holder or "(dry run)", date=today(), cells=cells,
        method="sample" if sample else "complete count", ledger=book, noise=noise,
        published=target.latest(canonical(codes), str(people), own.public) if target and own else None,
    )  # fmt: skip
    record, submitted = proposal.record, False
    if own is not None:
        record = sign_and_remember(proposal, own, book)
        if target is not None and not proposal.unchanged:
            target.submit(record)
            submitted = True
        book.save(ledger)
        if out is not None:
            out.write_text(json.dumps(record.to_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    _tell_published(proposal, record, submitted, dry_run, as_json)


def _tell_published(proposal: Any, record: Any, submitted: bool, dry_run: bool, as_json: bool) -> None:
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
        typer.echo("When it is published, the numbers are drawn anew.")
    if proposal.unchanged:
        typer.echo(f"Nothing new leaves: {record.id} stands.")
    elif not dry_run:
        typer.echo(f"Signed as {record.id}." + (" Submitted." if submitted else ""))


def key(key: Key = None, as_json: _shared.Json = False) -> None:
    """Show your public key: what others endorse, and what a record is signed with. Makes one when there is none."""
    own = _signer(key)
    if as_json:
        _shared.put_json({"key": own.public, "fingerprint": own.fingerprint})
    else:
        typer.echo(f"{own.public}  (fingerprint {own.fingerprint})")


def endorse(
    public_key: Annotated[str, typer.Argument(help="The public key that you vouch for.")],
    registry: Target,
    key: Key = None,
    as_json: _shared.Json = False,
) -> None:
    """Say in public that you vouch for a holder's key: whoever trusts you may then trust it."""
    _state("endorse", public_key, registry, key, as_json)


def revoke(
    registry: Target,
    record: Annotated[str, typer.Option("--record", help="Id of a record of yours that shall not count any more.")] = "",
    endorsed: Annotated[str, typer.Option("--endorsed", help="A public key that you vouch for no longer.")] = "",
    own_key: Annotated[bool, typer.Option("--own-key", help="Revoke your own key for ever, and every record under it.")] = False,
    key: Key = None,
    as_json: _shared.Json = False,
) -> None:
    """Take back a record, an endorsement, or your own key (it was stolen, or you stop). It stays in the log."""
    if sum([bool(record), bool(endorsed), own_key]) != 1:
        raise UsageError("name exactly one thing to revoke.", hint="Give --record ID, --endorsed KEY, or --own-key.")
    if record:
        _state("revoke-record", record, registry, key, as_json)
    else:
        _state("revoke-key", endorsed or _signer(key).public, registry, key, as_json)


def _state(kind: str, subject: str, registry: str, key_file: Path | None, as_json: bool) -> None:
    from shoal.registry.records.trust import Statement

    own, target = _signer(key_file), submit_to(registry)
    if kind == "endorse" and subject == own.public:
        raise UsageError("nobody vouches for themselves.", hint="Ask another holder to endorse your key.")
    statement = Statement(kind, subject, own.public, today(), target.next_number(own.public)).signed(own)
    target.state(statement)
    if as_json:
        _shared.put_json({"stated": statement.to_json()})
    else:
        typer.echo(f"Stated: {kind} {subject} (number {statement.number} of {own.fingerprint}).")


def token(
    holder: Annotated[str, typer.Argument(help="The holder that the token is for: it publishes under this name only.")],
    registry: Annotated[str, typer.Option("--registry", help="SQLite file or database URL of the registry.")],
    public_key: Annotated[
        str, typer.Option("--key", help="The holder's public key: the only one it publishes with; else the first one used.")
    ] = "",
    as_json: _shared.Json = False,
) -> None:
    """Make a token that may publish over HTTP, for one holder and one key. It is shown once; only its hash is kept."""
    if not look(holder):
        raise UsageError("a token is for a holder with a name.", hint='Write: shoal registry token "A hospital" --registry …')
    made = store_of(registry).add_token(holder, holder=holder, key=public_key)
    if as_json:
        _shared.put_json({"token": made})
    else:
        typer.echo(made)


def store_of(source: str) -> Any:
    """The store at a file or database URL."""
    from shoal.registry.keep.store import Store

    return Store(source if "://" in source else f"sqlite:///{source}")


def submit_to(source: str) -> Any:
    """Where records and statements go: a service over HTTP, or a store."""
    if source.startswith(("http://", "https://")):
        from shoal.registry.keep.remote import Remote

        return Remote(source)
    return store_of(source)


def today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _signer(key_file: Path | None) -> Signer:
    """The key named, else that of the environment, else the holder's own, made on first use: a forgotten key revokes nothing."""
    from shoal.kernels.signatures import FILE_ENV, KEY_ENV, signer
    from shoal.registry.publish.holder import make_key

    if key_file is not None or os.environ.get(FILE_ENV) or os.environ.get(KEY_ENV):
        return signer(key_file)
    if not OWN_KEY.exists():
        make_key(OWN_KEY)
        _shared.say(f"Made a signing key in {OWN_KEY}: keep it safe, later versions and revocations need it.")
    return signer(OWN_KEY)


def _columns(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    pairs = [p.rpartition("=")[::2] if "=" in p else (p, p) for p in _shared.names(text)]
    if not pairs:
        raise UsageError("no column was named.", hint="Write --qi age=age/years,sex=sex.")
    return tuple(c for c, _ in pairs), tuple(k for _, k in pairs)
