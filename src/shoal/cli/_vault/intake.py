"""``shoal vault`` at the intake: records of people recognised, and what waits for a clerk."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell import texts as typed
from shoal.cli._vault.shared import Answer, acting

DomainName = Annotated[str, typer.Option("--domain", help="Domain of the pseudonyms.")]


def register(vault: typer.Typer) -> None:
    vault.command("intake")(intake)
    vault.command("waiting")(waiting)
    vault.command("decide")(decide)


@acting
def intake(
    session: Any,
    table: Annotated[str, typer.Argument(help="File or ENGINE-URL::table.")],
    domain: DomainName,
    fields: Annotated[str, typer.Option("--fields", help="What columns mean: surname=family,dob=birth,id=number:bsn …")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Output file: pseudonyms in place of these columns.")],
    purpose: Annotated[str, typer.Option("--purpose", help="What it is for; goes into the log.")] = "",
    match: Annotated[float, typer.Option("--match", help="Probability from which it is a known person.")] = 0.99,
    possible: Annotated[float, typer.Option("--possible", help="And from which a clerk decides.")] = 0.05,
) -> Answer:
    """Pseudonyms for people recognised by name, birth date … in spite of typing errors; what is not sure waits for a clerk."""
    from shoal.protector.intake.tables import intake_table

    told: dict[str, Any] = {
        "domain": domain,
        "fields": typed.pairs_of(fields, "--fields"),
        "purpose": purpose,
        "match": match,
        "possible": possible,
    }
    with _shared.progress("recognising"):
        done = intake_table(session, table, out, **told)
    counts = done["counts"]
    words = f"{done['rows']:,} rows written to {out}: " + ", ".join(f"{count:,} {name}" for name, count in counts.items()) + "."
    if counts["waiting"]:
        words += " A clerk decides what waits (`shoal vault waiting`); then run the same again."
    return done, words


@acting
def waiting(session: Any, domain: DomainName) -> Answer:
    """What waits for a decision: each record beside the known people it may be of (clerk; seeing it is logged)."""
    found = session.waiting(domain)
    lines = []
    for one in found:
        lines.append([one.id, "", "", _told(one.record)])
        lines.extend(["", c.pseudonym, f"{c.probability:.2f}", _told(c.record)] for c in one.candidates)
    table = _shared.table_of("Waiting", ("number", "pseudonym", "probability", "record"), lines)
    return {"waiting": [one.to_json() for one in found]}, table


@acting
def decide(
    session: Any,
    number: Annotated[str, typer.Argument(help="Number of the waiting record, like WAIT-4F9K2M7Q.")],
    same_as: Annotated[str, typer.Option("--same-as", help="Pseudonym of the person it is of; or `new`.")],
) -> Answer:
    """Decide whom a waiting record is of: a known person, or a new one (clerk)."""
    made = session.decide(number, same_as)
    return {"number": number.strip().upper(), "pseudonym": made}, f"{number.strip().upper()} is decided: {made}."


def _told(record: dict[str, str]) -> str:
    return ", ".join(f"{key} {text}" for key, text in record.items())
