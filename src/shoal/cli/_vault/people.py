"""``shoal vault`` for requesters, approvers and auditors."""

from __future__ import annotations

import functools
import json
import json as jsonlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell.options import Json
from shoal.cli._shell.texts import names, pairs_of
from shoal.cli._vault import shared
from shoal.errors import UsageError

Id = Annotated[str, typer.Argument(help="Request, like REQ-4F9K2M7Q.")]


@shared.acting
def request(
    session: shared.Session,
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
) -> shared.Answer:
    """Request the identities behind pseudonyms. Another person has to approve."""
    from shoal.protector.pseudonyms.tables import values_of

    if table is not None and (pseudonyms or file is not None or not id):
        raise UsageError("a table is taken alone: --table FILE --id COLUMN.")
    filed = session.request(
        domain,
        shared.lines_of(pseudonyms, file) if table is None else values_of(table, id),
        purpose=reason,
        case=case,
        seconds=days * 86400,
        version=key_version,
        role=role,
        relation=relation,
        recipient=recipient,
    )
    return filed.to_json(), f"{filed.id} waits for approval by another person."


def _request_table(made: Any, _: Mapping[str, Any]) -> shared.Answer:
    rows = [(r.id, r.status, r.domain, r.purpose, r.case, str(r.records)) for r in made]
    heads = ("request", "status", "domain", "purpose", "case", "records")
    return {"requests": [r.to_json() for r in made]}, _shared.table_of("Requests", heads, rows, right=(5,))


def _say_decided(made: Any, _: Mapping[str, Any]) -> shared.Answer:
    return made.to_json(), f"{made.id} is {made.status}."


@shared.acting
def reveal(
    session: shared.Session,
    request_id: Id,
    out: Annotated[Path, typer.Option("--out", "-o", help="New file for the identities (JSON, mode 0600).")],
    table: Annotated[str | None, typer.Option("--table", help="Also a table with identities in place of pseudonyms.")] = None,
    id: Annotated[str, typer.Option("--id", help="With --table: its columns of pseudonyms.")] = "",
    table_out: Annotated[Path | None, typer.Option("--table-out", help="With --table: output file (mode 0600).")] = None,
) -> shared.Answer:
    """Fetch the identities of your approved request, once, into a file."""
    if (table is None) != (table_out is None) or bool(id) != (table is not None):
        raise UsageError("a table takes --table FILE --id COLUMN --table-out FILE.")
    if table is not None and table_out is not None:
        from shoal.protector.pseudonyms.tables import values_of

        for column in names(id):
            values_of(table, column)  # what is wrong with the table shows before the one reveal
    with shared.secret_file(out) as put:
        revealed = session.reveal(request_id)
        body: dict[str, Any] = {"request": revealed.request.id, "domain": revealed.request.domain}
        body |= {"sealed": revealed.sealed} if revealed.sealed else {"identities": dict(revealed.identities)}
        put(jsonlib.dumps(body, ensure_ascii=False, indent=1))
    if revealed.sealed:
        sealed = {"request": revealed.request.id, "records": revealed.request.records, "sealed": True, "out": str(out)}
        return sealed, f"The answer is in {out}, sealed to your key: `shoal vault unseal {out}`. The log remembers it."
    known = sum(v is not None for v in revealed.identities.values())
    result = {"request": revealed.request.id, "records": len(revealed.identities), "known": known, "out": str(out)}
    if table is not None and table_out is not None:
        result["rows"] = _put_identities(table, table_out, id, revealed.identities)
    return result, f"{known} of {len(revealed.identities)} identities in {out}. The log remembers it."


def _put_identities(table: str, out: Path, columns: str, identities: Mapping[str, str | None]) -> int:
    """A table with identities in place of the pseudonyms that were revealed; the others stay. The number of rows."""
    from shoal.protector.pseudonyms.tables import replace_in_table

    def named(texts: list[str]) -> list[str | None]:
        return [identities.get(text) or text for text in texts]

    before = os.umask(0o077)  # nobody else reads it, from its first byte on
    try:
        return replace_in_table(table, out, columns=names(columns), replace=named).rows
    finally:
        os.umask(before)


@shared.acting
def audit(
    session: shared.Session,
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
) -> shared.Answer:
    """Read, check and summarize the log. Actors and people appear under audit pseudonyms."""
    from shoal.protector.log import segments as archive
    from shoal.protector.log import witness

    care = shared.care_of(session)
    if segments is not None:
        written = archive.export(segments, functools.partial(care.log_segment, session))
        checked = archive.check(segments)
        note = f"{len(written)} new segments in {segments}; {checked.segments} hold {checked.events} events."
        return {"written": [file.name for file in written], **checked.to_json()}, note
    if verify or checkpoint is not None:
        anchors = [] if checkpoint is None else witness.read(checkpoint)
        verdict = care.verify_log(session, anchors=anchors, acknowledged=acknowledge)
        shared.require_ok(verdict.ok, verdict.problems)
        note = f"The log holds: {verdict.events} events, {verdict.checkpoints} signed checkpoints."
        return verdict.to_json(), note + (" A trial vault: one person began it alone." if verdict.trial else "")
    if report is not None or plot is not None:
        rows = care.report(session, period=report or "month", by=by)
        if plot is not None:
            from shoal.protector.care.reports import timeline

            timeline(session, plot, period=report or "month")
        return {"reveals": rows}, _table("Reveals", rows)
    events = care.read_log(session, last=last)
    return {"events": events}, _table("Log", [_event(e) for e in events])


def segments(
    folder: Annotated[Path, typer.Argument(help="Folder of segments (`audit --segments`), or a file (`checkpoint --out`).")],
    trust: Annotated[list[str] | None, typer.Option("--trust", help="Id of a signing key you trust (repeat; `status`).")] = None,
    since: Annotated[Path | None, typer.Option("--since", help="Of a checkpoint: an earlier one that it continues.")] = None,
    json: Json = False,
) -> None:
    """Check segments of a log, or a checkpoint with its proofs. Needs neither vault nor key."""
    from shoal.protector.log import checkpoints, witness
    from shoal.protector.log import segments as archive

    if folder.is_file():
        signed, earlier = witness.read(folder)[-1], witness.read(since)[-1] if since else None
        problems = checkpoints.check_proofs(signed, earlier)
        keys = [signed["key"], *([earlier["key"]] if earlier and earlier["key"] != signed["key"] else [])] if not problems else []
        if trust and any(key not in trust for key in keys):
            problems.append("a signing key is not among those that are trusted.")
        shared.require_ok(not problems, tuple(problems))
        proven = [f"it continues event {earlier['seq']}"] if earlier else []
        proven += [f"it has event {signed['inclusion']['event']}"] if "inclusion" in signed else []
        note = f"The checkpoint at event {signed['seq']} of vault {signed['vault'][:8]} holds{''.join(f'; {p}' for p in proven)}."
        by = f"Signed by {keys[0]}{f', the earlier one by {keys[1]}' if keys[1:] else ''}: compare with `shoal vault status`."
        shared.tell(signed, f"{note} {by}", as_json=json)
        return
    checked = archive.check(folder, keys=tuple(trust or ()))
    shared.require_ok(checked.ok, checked.problems)
    note = f"The segments hold: {checked.segments} with {checked.events} events of vault {checked.vault[:8]}."
    shared.tell(
        checked.to_json(), f"{note} Signed by {', '.join(checked.keys)}: compare with `shoal vault status`.", as_json=json
    )


@shared.acting
def retire(
    session: shared.Session,
    folder: Annotated[Path, typer.Argument(help="Folder that holds the log so far (`audit --segments`).")],
) -> shared.Answer:
    """Remove archived events from the database, after a second person has confirmed.

    The archive is checked first; the second person compares its last event and hash (`shoal vault segments FOLDER`).
    Reveals, refusals, alarms and changes of rights stay readable in the vault.
    """
    from shoal.protector.log import segments as archive

    checked = archive.check(folder)
    shared.require_ok(checked.ok, checked.problems)
    done = shared.care_of(session).retire_log(session, checked.events, checked.head)
    note = f"{done['events']:,} events left the database; {done['kept']:,} of them stay readable there, all of them in {folder}."
    return done, note


def _reveal_table(rows: Any, _: Mapping[str, Any]) -> shared.Answer:
    shown = [{"day": r["time"][:10], **{k: r[k] for k in ("subject", "actor", "domain", "purpose", "case")}} for r in rows]
    return {"reveals": rows}, _table("Reveals", shown)


def _event(event: dict[str, Any]) -> dict[str, Any]:
    """An event as a line for people: to the minute, with what it was about in one place."""
    about = [str(event[k]) for k in ("change", "detail", "domain", "request", "purpose", "count", "reason") if k in event]
    details = {k: event[k] for k in ("actor", "action", "outcome")}
    return {"n": event["n"], "time": event["time"][:16].replace("T", " "), **details, "about": ", ".join(about)}


@shared.opening
def resolve(
    vault: shared.Vault,
    owner_token: Annotated[Path, typer.Option("--owner-token", help="File with the owner's token.")],
    owner_share: Annotated[Path, typer.Option("--owner-share", help="File with the owner's share.")],
    auditor_token: Annotated[Path, typer.Option("--auditor-token", help="File with the auditor's token.")],
    auditor_share: Annotated[Path, typer.Option("--auditor-share", help="File with the auditor's share.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; goes into the log.")],
    pseudonym: Annotated[str | None, typer.Argument(help="Audit pseudonym, A-… or S-….")] = None,
    identity_file: Annotated[Path | None, typer.Option("--identity-file", help="The other way: file with an identity.")] = None,
    domain: Annotated[str, typer.Option("--domain", help="Domain of that identity.")] = "",
) -> shared.Answer:
    """Show who is behind an audit pseudonym, or which one a person has. Takes owner and auditor, and is logged."""
    from shoal.protector import care

    if (pseudonym is None) == (identity_file is None) or bool(domain) != (identity_file is not None):
        raise UsageError("resolve takes an audit pseudonym, or --identity-file with --domain.")
    owner, auditor = vault.login(shared.read_secret(owner_token)), vault.login(shared.read_secret(auditor_token))
    details = {
        "owner_share": shared.read_secret(owner_share),
        "auditor_share": shared.read_secret(auditor_share),
        "reason": reason,
    }
    if identity_file is not None:
        subject = care.subject_of(owner, auditor, domain, shared.read_secret(identity_file), **details)
        return {"pseudonym": subject}, f"{subject}: see `shoal vault reveals --of {subject}`."
    name = care.resolve(owner, auditor, pseudonym or "", **details)
    return {"pseudonym": pseudonym, "name": name}, name


def _table(title: str, rows: list[dict[str, Any]]) -> Any:
    heads = list(rows[0]) if rows else ["nothing yet"]
    return _shared.table_of(title, heads, [[str(v) for v in r.values()] for r in rows])


@shared.acting
def intake(
    session: shared.Session,
    table: Annotated[str, typer.Argument(help="File or ENGINE-URL::table.")],
    domain: shared.DomainName,
    fields: Annotated[str, typer.Option("--fields", help="What columns mean: surname=family,dob=birth,id=number:bsn …")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Output file: pseudonyms in place of these columns.")],
    purpose: shared.Purpose = "",
    match: Annotated[float, typer.Option("--match", help="Probability from which it is a known person.")] = 0.99,
    possible: Annotated[float, typer.Option("--possible", help="And from which a clerk decides.")] = 0.05,
) -> shared.Answer:
    """Make pseudonyms for people recognized by name, birth date … despite typing errors. A clerk decides uncertain cases."""
    from shoal.protector.pseudonyms.tables import intake_table

    details: dict[str, Any] = {
        "domain": domain,
        "fields": pairs_of(fields, "--fields"),
        "purpose": purpose,
        "match": match,
        "possible": possible,
    }
    with _shared.progress("recognising"):
        done = intake_table(session, table, out, **details)
    counts = done["counts"]
    note = f"{done['rows']:,} rows written to {out}: " + ", ".join(f"{count:,} {name}" for name, count in counts.items()) + "."
    if counts["waiting"]:
        note += " A clerk decides what waits (`shoal vault waiting`); then run the same again."
    return done, note


def _waiting_table(records: Any, _: Mapping[str, Any]) -> shared.Answer:
    lines = []
    for one in records:
        lines.append([one.id, "", "", _fields(one.record)])
        lines.extend(["", c.pseudonym, f"{c.probability:.2f}", _fields(c.record)] for c in one.candidates)
    table = _shared.table_of("Waiting", ("number", "pseudonym", "probability", "record"), lines)
    return {"waiting": [one.to_json() for one in records]}, table


def _say_matched(made: str, given: Mapping[str, Any]) -> shared.Answer:
    number = given["number"].strip().upper()
    return {"number": number, "pseudonym": made}, f"{number} is decided: {made}."


def _fields(record: Mapping[str, str]) -> str:
    return ", ".join(f"{key} {text}" for key, text in record.items())


_WaitingNumber = Annotated[str, typer.Argument(help="Number of the waiting record, like WAIT-4F9K2M7Q.")]
_Digest = Annotated[str | None, typer.Option("--digest", help="Only the request you read (`requests --json` shows it).")]


ChangeId = Annotated[str, typer.Argument(help="Change, like CHG-4F9K2M7Q.")]


def _change_table(made: Any, _: Mapping[str, Any]) -> shared.Answer:
    rows = [(c.id, c.status, c.action, json.dumps(dict(c.what), ensure_ascii=False), c.proposer, c.second) for c in made]
    table = _shared.table_of("Changes", ("change", "status", "action", "what", "proposed by", "second"), rows)
    return {"changes": [c.to_json() for c in made]}, table


@shared.acting
def confirm(
    session: shared.Session, change_id: ChangeId, code_out: shared.CodeOut = None, factor: shared.Factor = ""
) -> shared.Answer:
    """Confirm somebody else's change, after reading it."""
    waiting = {c.id: c for c in session.changes()}
    change = waiting.get(change_id.strip().upper())
    if change is None or change.action not in ("actor", "token"):
        confirmed = session.confirm(change_id, factor=factor)
        return confirmed.to_json(), f"{confirmed.id} is confirmed."
    if code_out is None:
        raise UsageError("this change requires --code-out, for your half of the enrolment code.", hint="Add --code-out FILE.")
    with shared.secret_file(code_out) as put:
        confirmed = session.confirm(change_id, factor=factor)
        put(confirmed.code)
    return {
        **confirmed.to_json(),
        "code_file": str(code_out),
    }, f"{confirmed.id} is confirmed. Your half of the code is in {code_out}."


@shared.opening
def enrol(
    vault: shared.Vault,
    code_file: Annotated[list[Path], typer.Option("--code-file", help="File with a half of your code (give both).")],
    token_out: shared.TokenOut,
    secret: Annotated[Path | None, typer.Option("--secret-file", help="For a code sealed to your key (`recipient`).")] = None,
    share_out: Annotated[Path | None, typer.Option("--share-out", help="With --secret-file: new file for your share.")] = None,
) -> shared.Answer:
    """Claim your own token with the code you were given, once."""
    if (secret is None) != (share_out is None):
        hint = "The first auditor's code and share are sealed to her."
        raise UsageError("--secret-file and --share-out go together.", hint=hint)
    with shared.secret_file(token_out) as put:
        if secret is None or share_out is None:
            codes = [shared.read_secret(file) for file in code_file]
        else:
            codes = [_unseal_code(code_file[0], secret, share_out)]
        put(vault.enrol(*codes))
    return {"token_file": str(token_out)}, f"Your token is in {token_out}. Nobody else has it; the codes are used up."


@shared.acting
def factor_command(
    session: shared.Session,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="New file for your otpauth:// address (mode 0600).")] = None,
    role: Annotated[
        list[str] | None, typer.Option("--require", help="Owner: these roles decide with a code (approver, auditor, owner).")
    ] = None,
    none: Annotated[bool, typer.Option("--require-none", help="Owner: nobody needs a code any more.")] = False,
) -> shared.Answer:
    """Set up your second factor for an authenticator app, or propose which roles decide with one."""
    if sum((out is not None, bool(role), none)) != 1:
        raise UsageError("give one of --out, --require and --require-none.", hint="--out FILE sets up your factor.")
    if out is None:
        change = session.require_factor(role or [])
        return {"roles": role or [], "change": change.id}, shared.waits(change)
    with shared.secret_file(out) as put:
        put(session.set_up_factor())
    return {"file": str(out)}, f"Your second factor is in {out}: add it to your app and delete the file."


@shared.acting
def renew(session: shared.Session, token_out: shared.TokenOut) -> shared.Answer:
    """Replace your token by a new one, for as long again. What you approved with the old one ends with it."""
    with shared.secret_file(token_out) as put:
        put(session.renew())
    return {"token_file": str(token_out)}, f"Your new token is in {token_out}. The old one has ended."


@shared.acting
def delegate(
    session: shared.Session,
    action: Annotated[str, typer.Argument(help="pseudonymize, find, translate, register, prove, backup, audit, …")],
    token_out: shared.TokenOut,
    domain: Annotated[list[str] | None, typer.Option("--domain", help="Only these domains (repeat).")] = None,
    minutes: Annotated[float, typer.Option("--minutes", help="Valid for so many minutes, at most a day.")] = 15.0,
) -> shared.Answer:
    """Make a token for a program: for one action and a short time. It ends with your own."""
    with shared.secret_file(token_out) as put:
        put(session.delegate(action, domains=domain or (), seconds=minutes * 60))
    return {"action": action, "token_file": str(token_out)}, f"A token to {action} for {minutes:g} minutes is in {token_out}."


def _unseal_code(file: Path, secret: Path, share_out: Path) -> str:
    """The auditor's code from what `init` sealed to her; her share goes into its own file."""
    from shoal.protector.log.shares import opened_by

    body = shared.read_json(file, "what `shoal vault init` sealed for the auditor")
    code, share = opened_by(shared.read_secret(secret), str(body.get("sealed", "")), str(body.get("vault", "")))
    with shared.secret_file(share_out) as put:
        put(share)
    return code


def recipient(
    out: Annotated[Path, typer.Option("--out", "-o", help="New file for your secret (mode 0600).")], json: Json = False
) -> None:
    """Make a key for sealed answers: `request --recipient PUBLIC`, then `unseal`."""
    from shoal.protector.crypto import recipients

    secret, public = recipients.generate()
    with shared.secret_file(out) as put:
        put(secret)
    shared.tell({"public": public, "file": str(out)}, public, as_json=json)


def unseal(
    sealed: Annotated[Path, typer.Argument(help="File that `reveal` wrote.")],
    secret: Annotated[Path, typer.Option("--secret-file", help="File with your secret (`recipient`).")],
    out: Annotated[Path, typer.Option("--out", "-o", help="New file for the identities (JSON, mode 0600).")],
    as_json: Json = False,
) -> None:
    """Open an answer that was sealed to your key. Needs no vault."""
    from shoal.protector.crypto import recipients

    body = shared.read_json(sealed, "an answer of `shoal vault reveal`")
    opened = recipients.unseal(shared.read_secret(secret), str(body.get("sealed", "")), str(body.get("request", "")))
    with shared.secret_file(out) as put:
        put(json.dumps({"request": body["request"], "identities": opened}, ensure_ascii=False, indent=1))
    shared.tell({"records": len(opened), "out": str(out)}, f"{len(opened)} identities in {out}.", as_json=as_json)


_Everything = Annotated[bool, typer.Option("--all", help="Also those that are done or refused.")]


COMMANDS: dict[str, Callable[..., None]] = {
    "request": request,
    "requests": shared.derived("requests", {}, _request_table),
    "approve": shared.derived("approve", {"request_id": Id, "digest": _Digest, "factor": shared.Factor}, _say_decided),
    "deny": shared.derived("deny", {"request_id": Id}, _say_decided),
    "withdraw": shared.derived("withdraw", {"request_id": Id}, _say_decided),
    "reveal": reveal,
    "audit": audit,
    "segments": segments,
    "retire": retire,
    "reveals": shared.derived(
        "reveals",
        {
            "of": Annotated[str, typer.Option("--of", help="Only this audit pseudonym: S-… of a subject, A-… of an actor.")],
            "purpose": Annotated[str, typer.Option("--purpose", help="Only this purpose.")],
            "since": Annotated[str, typer.Option("--since", help="Only from this day on, like 2025-01-31.")],
            "until": Annotated[str, typer.Option("--until", help="Only up to this day.")],
        },
        _reveal_table,
    ),
    "resolve": resolve,
    "intake": intake,
    "waiting": shared.derived("waiting", {"domain": shared.DomainName}, _waiting_table),
    "decide": shared.derived(
        "decide",
        {
            "number": _WaitingNumber,
            "same_as": Annotated[str, typer.Option("--same-as", help="Pseudonym of the person, or `new`.")],
        },
        _say_matched,
    ),
    "changes": shared.derived("changes", {"everything": _Everything}, _change_table),
    "confirm": confirm,
    "refuse": shared.derived("refuse", {"change_id": ChangeId}, lambda made, _: (made.to_json(), f"{made.id} is refused.")),
    "enrol": enrol,
    "factor": factor_command,
    "renew": renew,
    "delegate": delegate,
    "recipient": recipient,
    "unseal": unseal,
}
