"""``shoal vault`` for requesters, approvers and auditors."""

from __future__ import annotations

import functools
import json as jsonlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell import texts as typed
from shoal.cli._shell.common import Json
from shoal.cli._vault.shared import (
    Answer,
    Factor,
    acting,
    care_of,
    lines_of,
    opening,
    read_secret,
    require_ok,
    secret_file,
    tell,
)
from shoal.errors import UsageError

Id = Annotated[str, typer.Argument(help="Request, like REQ-4F9K2M7Q.")]


def register(vault: typer.Typer) -> None:
    vault.command("request")(request)
    vault.command("requests")(requests)
    vault.command("approve")(approve)
    vault.command("deny")(_decision("deny", "Deny somebody else's request."))
    vault.command("withdraw")(_decision("withdraw", "Take back your own request."))
    vault.command("reveal")(reveal)
    vault.command("audit")(audit)
    vault.command("segments")(segments)
    vault.command("retire")(retire)
    vault.command("reveals")(reveals)
    vault.command("resolve")(resolve)


@acting
def request(
    session: Any,
    domain: Annotated[str, typer.Option("--domain", help="Domain the pseudonyms belong to.")],
    reason: Annotated[str, typer.Option("--reason", "--purpose", help="Why; goes into the log.")],
    case: Annotated[str, typer.Option("--case", help="Case number.")],
    pseudonyms: Annotated[list[str] | None, typer.Argument(help="Pseudonyms to be revealed.")] = None,
    file: Annotated[Path | None, typer.Option("--file", help="Or a file with one on each line; - is standard input.")] = None,
    table: Annotated[str | None, typer.Option("--table", help="Or a table (file or ENGINE-URL::table), with --id.")] = None,
    id: Annotated[str, typer.Option("--id", help="With --table: its column of pseudonyms.")] = "",
    recipient: Annotated[str, typer.Option("--recipient", help="Public key the answer is sealed to (`recipient`).")] = "",
    days: Annotated[float, typer.Option("--days", help="Expires after so many days (at most 30).")] = 7.0,
    key_version: Annotated[int | None, typer.Option("--key-version", help="For format-preserving pseudonyms.")] = None,
    role: Annotated[str, typer.Option("--role", help="Role, for format-preserving role pseudonyms.")] = "",
    relation: Annotated[str, typer.Option("--relation", help="Counterpart, likewise.")] = "",
) -> Answer:
    """Ask for the identities behind pseudonyms; another person has to approve."""
    from shoal.protector.pseudonyms.tables import values_of

    if table is not None and (pseudonyms or file is not None or not id):
        raise UsageError("a table is taken alone: --table FILE --id COLUMN.")
    made = session.request(
        domain,
        lines_of(pseudonyms, file, "pseudonyms") if table is None else values_of(table, id),
        purpose=reason,
        case=case,
        seconds=days * 86400,
        version=key_version,
        role=role,
        relation=relation,
        recipient=recipient,
    )
    return made.to_json(), f"{made.id} waits for approval by another person."


@acting
def requests(session: Any) -> Answer:
    """List requests: your own, or all for approvers, auditors and owners. No identity is shown."""
    found = session.requests()
    rows = [(r.id, r.status, r.domain, r.purpose, r.case, str(r.records)) for r in found]
    heads = ("request", "status", "domain", "purpose", "case", "records")
    return {"requests": [r.to_json() for r in found]}, _shared.table_of("Requests", heads, rows, right=(5,))


@acting
def approve(
    session: Any,
    request_id: Id,
    digest: Annotated[
        str | None, typer.Option("--digest", help="Only the request you read (`requests --json` shows it).")
    ] = None,
    factor: Factor = "",
) -> Answer:
    """Approve somebody else's request."""
    made = session.approve(request_id, digest=digest, factor=factor)
    return made.to_json(), f"{made.id} is {made.status}."


def _decision(verb: str, words: str) -> Callable[..., None]:
    """The command for denying or withdrawing a request."""

    def decide(session: Any, request_id: Id) -> Answer:
        made = getattr(session, verb)(request_id)
        return made.to_json(), f"{made.id} is {made.status}."

    decide.__doc__ = words
    return acting(decide)


@acting
def reveal(
    session: Any,
    request_id: Id,
    out: Annotated[Path, typer.Option("--out", "-o", help="New file for the identities (JSON, mode 0600).")],
    table: Annotated[str | None, typer.Option("--table", help="Also a table with identities in place of pseudonyms.")] = None,
    id: Annotated[str, typer.Option("--id", help="With --table: its columns of pseudonyms.")] = "",
    table_out: Annotated[Path | None, typer.Option("--table-out", help="With --table: output file (mode 0600).")] = None,
) -> Answer:
    """Fetch the identities of your approved request, once, into a file."""
    if (table is None) != (table_out is None) or bool(id) != (table is not None):
        raise UsageError("a table takes --table FILE --id COLUMN --table-out FILE.")
    if table is not None and table_out is not None:
        from shoal.protector.pseudonyms.tables import values_of

        for column in typed.names(id):
            values_of(table, column)  # what is wrong with the table shows before the one reveal
    with secret_file(out) as put:
        found = session.reveal(request_id)
        body: dict[str, Any] = {"request": found.request.id, "domain": found.request.domain}
        body |= {"sealed": found.sealed} if found.sealed else {"identities": dict(found.identities)}
        put(jsonlib.dumps(body, ensure_ascii=False, indent=1))
    if found.sealed:
        sealed = {"request": found.request.id, "records": found.request.records, "sealed": True, "out": str(out)}
        return sealed, f"The answer is in {out}, sealed to your key: `shoal vault unseal {out}`. The log remembers it."
    known = sum(v is not None for v in found.identities.values())
    result = {"request": found.request.id, "records": len(found.identities), "known": known, "out": str(out)}
    if table is not None and table_out is not None:
        result["rows"] = _named(table, table_out, id, found.identities)
    return result, f"{known} of {len(found.identities)} identities in {out}. The log remembers it."


def _named(table: str, out: Path, columns: str, identities: Mapping[str, str | None]) -> int:
    """A table with identities in place of the pseudonyms that were revealed; the others stay. The number of rows."""
    from shoal.protector.pseudonyms.tables import replace_in_table

    def named(texts: list[str]) -> list[str | None]:
        return [identities.get(text) or text for text in texts]

    before = os.umask(0o077)  # nobody else reads it, from its first byte on
    try:
        return replace_in_table(table, out, columns=typed.names(columns), replace=named).rows
    finally:
        os.umask(before)


@acting
def audit(
    session: Any,
    verify: Annotated[bool, typer.Option("--verify", help="Check chain, signatures, state and anchors.")] = False,
    report: Annotated[str | None, typer.Option("--report", help="Reveals per person, purpose and day, month or year.")] = None,
    by: Annotated[
        str, typer.Option("--by", help="Which person: actor (who got identities) or subject (whose they are).")
    ] = "actor",
    plot: Annotated[Path | None, typer.Option("--plot", help="Write the timeline as SVG.")] = None,
    checkpoint: Annotated[Path | None, typer.Option("--against", help="Checkpoint or witness file kept outside.")] = None,
    acknowledge: Annotated[
        int, typer.Option("--acknowledge", help="Accepted older states that you know of; one more is a problem.", min=0)
    ] = 0,
    segments: Annotated[
        Path | None, typer.Option("--segments", help="Write what is new into a folder, as closed and signed segments.")
    ] = None,
    last: Annotated[int, typer.Option("--last", help="Show so many events.", min=1)] = 20,
) -> Answer:
    """Read, check and sum up the log. Actors and people appear under audit pseudonyms."""
    from shoal.protector.log import segments as archive
    from shoal.protector.log import witness

    care = care_of(session)
    if segments is not None:
        written = archive.export(segments, functools.partial(care.log_segment, session))
        found = archive.check(segments)
        words = f"{len(written)} new segments in {segments}; {found.segments} hold {found.events} events."
        return {"written": [file.name for file in written], **found.to_json()}, words
    if verify or checkpoint is not None:
        anchors = [] if checkpoint is None else witness.read(checkpoint)
        verdict = care.verify_log(session, anchors=anchors, acknowledged=acknowledge)
        require_ok(verdict.ok, verdict.problems)
        words = f"The log holds: {verdict.events} events, {verdict.checkpoints} signed checkpoints."
        return verdict.to_json(), words + (" A trial vault: one person began it alone." if verdict.trial else "")
    if report is not None or plot is not None:
        rows = care.report(session, period=report or "month", by=by)
        if plot is not None:
            from shoal.protector.care.reports import timeline

            timeline(session, plot, period=report or "month")
        return {"reveals": rows}, _table("Reveals", rows)
    events = care.read_log(session, last=last)
    return {"events": events}, _table("Log", [_event(e) for e in events])


def segments(
    folder: Annotated[Path, typer.Argument(help="Folder of segments (`audit --segments`).")],
    trust: Annotated[list[str] | None, typer.Option("--trust", help="Id of a signing key you trust (repeat; `status`).")] = None,
    json: Json = False,
) -> None:
    """Check segments of a log: that none is missing or altered. Needs no vault and no key."""
    from shoal.protector.log import segments as archive

    found = archive.check(folder, keys=tuple(trust or ()))
    require_ok(found.ok, found.problems)
    words = f"The segments hold: {found.segments} with {found.events} events of vault {found.vault[:8]}."
    tell(found.to_json(), f"{words} Signed by {', '.join(found.keys)}: compare with `shoal vault status`.", as_json=json)


@acting
def retire(
    session: Any, folder: Annotated[Path, typer.Argument(help="Folder that holds the log so far (`audit --segments`).")]
) -> Answer:
    """Let events that lie in an archive leave the database: proposed by an owner, done after a second person agreed.

    The archive is checked first; who agrees compares its last event and hash (`shoal vault segments FOLDER`).
    Reveals, refusals, alarms and changes of rights stay readable in the vault.
    """
    from shoal.protector.log import segments as archive

    found = archive.check(folder)
    require_ok(found.ok, found.problems)
    done = care_of(session).retire_log(session, found.events, found.head)
    words = f"{done['events']:,} events left the database; {done['kept']:,} of them stay readable there, all of them in {folder}."
    return done, words


@acting
def reveals(
    session: Any,
    of: Annotated[str, typer.Option("--of", help="Only this audit pseudonym: S-… of a subject, A-… of an actor.")] = "",
    purpose: Annotated[str, typer.Option("--purpose", help="Only this purpose.")] = "",
    since: Annotated[str, typer.Option("--since", help="Only from this day on, like 2025-01-31.")] = "",
    until: Annotated[str, typer.Option("--until", help="Only up to this day.")] = "",
) -> Answer:
    """List every identity that was revealed: whose, to whom, when, what for. All under audit pseudonyms (auditor)."""
    care = care_of(session)

    rows = care.reveals(session, of=of, purpose=purpose, since=since, until=until)
    shown = [{k: r[k] for k in ("subject", "actor", "domain", "purpose", "case")} for r in rows]
    days = [{"day": r["time"][:10], **told} for r, told in zip(rows, shown, strict=True)]
    return {"reveals": rows}, _table("Reveals", days)


def _event(event: dict[str, Any]) -> dict[str, Any]:
    """An event as a line for people: to the minute, with what it was about in one place."""
    about = [str(event[k]) for k in ("change", "detail", "domain", "request", "purpose", "count", "reason") if k in event]
    told = {k: event[k] for k in ("actor", "action", "outcome")}
    return {"n": event["n"], "time": event["time"][:16].replace("T", " "), **told, "about": ", ".join(about)}


@opening
def resolve(
    vault: Any,
    owner_token: Annotated[Path, typer.Option("--owner-token", help="File with the owner's token.")],
    owner_share: Annotated[Path, typer.Option("--owner-share", help="File with the owner's share.")],
    auditor_token: Annotated[Path, typer.Option("--auditor-token", help="File with the auditor's token.")],
    auditor_share: Annotated[Path, typer.Option("--auditor-share", help="File with the auditor's share.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; goes into the log.")],
    pseudonym: Annotated[str | None, typer.Argument(help="Audit pseudonym, A-… or S-….")] = None,
    identity_file: Annotated[Path | None, typer.Option("--identity-file", help="The other way: file with an identity.")] = None,
    domain: Annotated[str, typer.Option("--domain", help="Domain of that identity.")] = "",
) -> Answer:
    """Who is behind an audit pseudonym, or which one a person has: owner and auditor together, and the log remembers it."""
    from shoal.protector import care

    if (pseudonym is None) == (identity_file is None) or bool(domain) != (identity_file is not None):
        raise UsageError("resolve takes an audit pseudonym, or --identity-file with --domain.")
    owner, auditor = vault.login(read_secret(owner_token)), vault.login(read_secret(auditor_token))
    told = {"owner_share": read_secret(owner_share), "auditor_share": read_secret(auditor_share), "reason": reason}
    if identity_file is not None:
        subject = care.subject_of(owner, auditor, domain, read_secret(identity_file), **told)
        return {"pseudonym": subject}, f"{subject}: see `shoal vault reveals --of {subject}`."
    name = care.resolve(owner, auditor, pseudonym or "", **told)
    return {"pseudonym": pseudonym, "name": name}, name


def _table(title: str, rows: list[dict[str, Any]]) -> Any:
    heads = list(rows[0]) if rows else ["nothing yet"]
    return _shared.table_of(title, heads, [[str(v) for v in r.values()] for r in rows])
