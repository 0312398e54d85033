"""``shoal vault`` for requesters, approvers and auditors."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shared import Json
from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.protector.requests import Request

Id = Annotated[str, typer.Argument(help="Request, like REQ-4F9K2M7Q.")]
Where = Annotated[str, typer.Option("--vault", envvar="SHOAL_VAULT")]
KeyFile = Annotated[Path | None, typer.Option("--key-file", envvar="SHOAL_VAULT_KEY_FILE")]
TokenFile = Annotated[Path | None, typer.Option("--token-file", envvar="SHOAL_VAULT_TOKEN_FILE")]
AnchorFile = Annotated[Path | None, typer.Option("--anchor")]


def register(vault: typer.Typer) -> None:
    vault.command("request")(request)
    vault.command("requests")(requests)
    vault.command("approve")(approve)
    vault.command("deny")(deny)
    vault.command("withdraw")(withdraw)
    vault.command("reveal")(reveal)
    vault.command("audit")(audit)
    vault.command("resolve")(resolve)


def request(
    pseudonyms: Annotated[list[str], typer.Argument(help="Pseudonyms to be revealed.")],
    vault: Where,
    domain: Annotated[str, typer.Option("--domain")],
    reason: Annotated[str, typer.Option("--reason", "--purpose", help="Why; goes into the log.")],
    case: Annotated[str, typer.Option("--case", help="Case number.")],
    days: Annotated[float, typer.Option("--days", help="Expires after so many days (at most 30).")] = 7.0,
    key_version: Annotated[int | None, typer.Option("--key-version", help="For format-preserving pseudonyms.")] = None,
    key_file: KeyFile = None,
    token_file: TokenFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """Ask for the identities behind pseudonyms; another person has to approve."""
    from shoal.cli.vault import session, tell

    acting = session(vault, key_file, token_file, anchor)
    made = acting.request(domain, pseudonyms, purpose=reason, case=case, seconds=days * 86400, version=key_version)
    tell(made.to_json(), f"{made.id} waits for approval by another person.", as_json=json)


def requests(
    vault: Where, key_file: KeyFile = None, token_file: TokenFile = None, anchor: AnchorFile = None, json: Json = False
) -> None:
    """List requests: your own, or all for approvers, auditors and owners. No identity is shown."""
    from shoal.cli.vault import session

    found = session(vault, key_file, token_file, anchor).requests()
    if json:
        _shared.put_json({"requests": [r.to_json() for r in found]})
        return
    rows = [(r.id, r.status, r.domain, r.purpose, r.case, str(r.records)) for r in found]
    heads = ("request", "status", "domain", "purpose", "case", "records")
    _shared.console().print(_shared.table_of("Requests", heads, rows, right=(5,)))


def approve(
    request_id: Id,
    vault: Where,
    key_file: KeyFile = None,
    token_file: TokenFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """Approve somebody else's request."""
    from shoal.cli.vault import session

    _told(session(vault, key_file, token_file, anchor).approve(request_id), json)


def deny(
    request_id: Id,
    vault: Where,
    key_file: KeyFile = None,
    token_file: TokenFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """Deny somebody else's request."""
    from shoal.cli.vault import session

    _told(session(vault, key_file, token_file, anchor).deny(request_id), json)


def withdraw(
    request_id: Id,
    vault: Where,
    key_file: KeyFile = None,
    token_file: TokenFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """Take back your own request."""
    from shoal.cli.vault import session

    _told(session(vault, key_file, token_file, anchor).withdraw(request_id), json)


def reveal(
    request_id: Id,
    vault: Where,
    out: Annotated[Path, typer.Option("--out", "-o", help="New file for the identities (JSON, mode 0600).")],
    key_file: KeyFile = None,
    token_file: TokenFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """Fetch the identities of your approved request, once, into a file."""
    from shoal.cli.vault import session, tell, write_secret

    if out.exists():
        raise UsageError(f"'{out.name}' exists already.", hint="Name a new file: the identities are delivered once.")
    acting = session(vault, key_file, token_file, anchor)
    found = acting.reveal(request_id)
    body = {"request": found.request.id, "domain": found.request.domain, "identities": dict(found.identities)}
    write_secret(out, jsonlib.dumps(body, ensure_ascii=False, indent=1))
    known = sum(v is not None for v in found.identities.values())
    result = {"request": found.request.id, "records": len(found.identities), "known": known, "out": str(out)}
    tell(result, f"{known} of {len(found.identities)} identities in {out}. The log remembers it.", as_json=json)


def audit(
    vault: Where,
    verify: Annotated[bool, typer.Option("--verify", help="Check chain, signatures, state and anchors.")] = False,
    report: Annotated[str | None, typer.Option("--report", help="Reveals per actor, purpose and day, month or year.")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Write the timeline as SVG.")] = None,
    checkpoint: Annotated[Path | None, typer.Option("--against", help="Checkpoint kept outside, to check against.")] = None,
    last: Annotated[int, typer.Option("--last", help="Show so many events.")] = 20,
    key_file: KeyFile = None,
    token_file: TokenFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """Read, check and sum up the log. Actors and people appear under audit pseudonyms."""
    from shoal.cli.vault import require_ok, session, tell
    from shoal.protector import upkeep

    acting = session(vault, key_file, token_file, anchor)
    if verify:
        anchors = [jsonlib.loads(checkpoint.read_text(encoding="utf-8"))] if checkpoint is not None else []
        verdict = upkeep.verify_log(acting, anchors=anchors)
        words = f"The log holds: {verdict.events} events, {verdict.checkpoints} signed checkpoints."
        if verdict.ok:
            tell(verdict.to_json(), words, as_json=json)
        require_ok(verdict.ok, verdict.problems)
    elif report is not None or plot is not None:
        rows = upkeep.report(acting, period=report or "month")
        if plot is not None:
            from shoal.protector.plot import timeline

            timeline(acting, plot, period=report or "month")
        _table(rows, {"reveals": rows}, "Reveals", json)
    else:
        events = upkeep.read_log(acting, last=last)
        shown = [
            {k: e.get(k, "") for k in ("n", "time", "actor", "action", "outcome", "domain", "purpose", "count")} for e in events
        ]
        _table(shown, {"events": events}, "Log", json)


def resolve(
    pseudonym: Annotated[str, typer.Argument(help="Audit pseudonym, A-… or S-….")],
    vault: Where,
    owner_token: Annotated[Path, typer.Option("--owner-token", help="File with the owner's token.")],
    owner_share: Annotated[Path, typer.Option("--owner-share", help="File with the owner's share.")],
    auditor_token: Annotated[Path, typer.Option("--auditor-token", help="File with the auditor's token.")],
    auditor_share: Annotated[Path, typer.Option("--auditor-share", help="File with the auditor's share.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; goes into the log.")],
    key_file: KeyFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """Who is behind an audit pseudonym: owner and auditor together, and the log remembers it."""
    from shoal.cli.vault import opened, read_secret, tell
    from shoal.protector import upkeep

    place = opened(vault, key_file, anchor)
    name = upkeep.resolve(
        place.login(read_secret(owner_token)),
        place.login(read_secret(auditor_token)),
        pseudonym,
        owner_share=read_secret(owner_share),
        auditor_share=read_secret(auditor_share),
        reason=reason,
    )
    tell({"pseudonym": pseudonym, "name": name}, name, as_json=json)


def _told(made: Request, as_json: bool) -> None:
    from shoal.cli.vault import tell

    tell(made.to_json(), f"{made.id} is {made.status}.", as_json=as_json)


def _table(rows: list[dict[str, Any]], body: dict[str, Any], title: str, as_json: bool) -> None:
    if as_json:
        _shared.put_json(body)
        return
    heads = list(rows[0]) if rows else ["nothing yet"]
    _shared.console().print(_shared.table_of(title, heads, [[str(v) for v in r.values()] for r in rows]))
