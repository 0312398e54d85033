"""``shoal vault`` for the second person, and for people who claim their token: changes, confirm, refuse, enrol."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell.common import Json
from shoal.cli._vault.shared import (
    Answer,
    CodeOut,
    Factor,
    TokenOut,
    acting,
    derived,
    opening,
    read_json,
    read_secret,
    secret_file,
    tell,
    waits,
)
from shoal.errors import UsageError

Id = Annotated[str, typer.Argument(help="Change, like CHG-4F9K2M7Q.")]


def _change_table(made: Any, _: Mapping[str, Any]) -> Answer:
    rows = [(c.id, c.status, c.action, json.dumps(dict(c.what), ensure_ascii=False), c.proposer, c.second) for c in made]
    table = _shared.table_of("Changes", ("change", "status", "action", "what", "proposed by", "second"), rows)
    return {"changes": [c.to_json() for c in made]}, table


@acting
def confirm(session: Any, change_id: Id, code_out: CodeOut = None, factor: Factor = "") -> Answer:
    """Confirm somebody else's change, after reading it."""
    waiting = {c.id: c for c in session.changes()}
    change = waiting.get(change_id.strip().upper())
    if change is None or change.action not in ("actor", "token"):
        made = session.confirm(change_id, factor=factor)
        return made.to_json(), f"{made.id} is confirmed."
    if code_out is None:
        raise UsageError("this change requires --code-out, for your half of the enrolment code.", hint="Add --code-out FILE.")
    with secret_file(code_out) as put:
        made = session.confirm(change_id, factor=factor)
        put(made.code)
    return {**made.to_json(), "code_file": str(code_out)}, f"{made.id} is confirmed. Your half of the code is in {code_out}."


@opening
def enrol(
    vault: Any,
    code_file: Annotated[list[Path], typer.Option("--code-file", help="File with a half of your code (give both).")],
    token_out: TokenOut,
    secret: Annotated[Path | None, typer.Option("--secret-file", help="For a code sealed to your key (`recipient`).")] = None,
    share_out: Annotated[Path | None, typer.Option("--share-out", help="With --secret-file: new file for your share.")] = None,
) -> Answer:
    """Claim your own token with the code you were given, once."""
    if (secret is None) != (share_out is None):
        raise UsageError(
            "--secret-file and --share-out go together.", hint="The first auditor's code and share are sealed to her."
        )
    with secret_file(token_out) as put:
        if secret is None or share_out is None:
            codes = [read_secret(file) for file in code_file]
        else:
            codes = [_unsealed(code_file[0], secret, share_out)]
        put(vault.enrol(*codes))
    return {"token_file": str(token_out)}, f"Your token is in {token_out}. Nobody else has it; the codes are used up."


@acting
def factor_command(
    session: Any,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="New file for your otpauth:// address (mode 0600).")] = None,
    role: Annotated[
        list[str] | None, typer.Option("--require", help="Owner: these roles decide with a code (approver, auditor, owner).")
    ] = None,
    none: Annotated[bool, typer.Option("--require-none", help="Owner: nobody needs a code any more.")] = False,
) -> Answer:
    """Set up your second factor for an authenticator app, or propose which roles decide with one."""
    if sum((out is not None, bool(role), none)) != 1:
        raise UsageError("give one of --out, --require and --require-none.", hint="--out FILE sets up your factor.")
    if out is None:
        change = session.require_factor(role or [])
        return {"roles": role or [], "change": change.id}, waits(change)
    with secret_file(out) as put:
        put(session.set_up_factor())
    return {"file": str(out)}, f"Your second factor is in {out}: add it to your app and delete the file."


@acting
def renew(session: Any, token_out: TokenOut) -> Answer:
    """Replace your token by a new one, for as long again. What you approved with the old one ends with it."""
    with secret_file(token_out) as put:
        put(session.renew())
    return {"token_file": str(token_out)}, f"Your new token is in {token_out}. The old one has ended."


@acting
def delegate(
    session: Any,
    action: Annotated[str, typer.Argument(help="pseudonymize, find, translate, register, prove, backup, audit, …")],
    token_out: TokenOut,
    domain: Annotated[list[str] | None, typer.Option("--domain", help="Only these domains (repeat).")] = None,
    minutes: Annotated[float, typer.Option("--minutes", help="Valid for so many minutes, at most a day.")] = 15.0,
) -> Answer:
    """Make a token for a program: for one action and a short time. It ends with your own."""
    with secret_file(token_out) as put:
        put(session.delegate(action, domains=domain or (), seconds=minutes * 60))
    return {"action": action, "token_file": str(token_out)}, f"A token to {action} for {minutes:g} minutes is in {token_out}."


def _unsealed(file: Path, secret: Path, share_out: Path) -> str:
    """The auditor's code from what `init` sealed to her; her share goes into its own file."""
    from shoal.protector.log.shares import opened_by

    body = read_json(file, "what `shoal vault init` sealed for the auditor")
    code, share = opened_by(read_secret(secret), str(body.get("sealed", "")), str(body.get("vault", "")))
    with secret_file(share_out) as put:
        put(share)
    return code


def recipient(
    out: Annotated[Path, typer.Option("--out", "-o", help="New file for your secret (mode 0600).")], json: Json = False
) -> None:
    """Make a key for sealed answers: `request --recipient PUBLIC`, then `unseal`."""
    from shoal.protector.crypto import recipients

    secret, public = recipients.generate()
    with secret_file(out) as put:
        put(secret)
    tell({"public": public, "file": str(out)}, public, as_json=json)


def unseal(
    sealed: Annotated[Path, typer.Argument(help="File that `reveal` wrote.")],
    secret: Annotated[Path, typer.Option("--secret-file", help="File with your secret (`recipient`).")],
    out: Annotated[Path, typer.Option("--out", "-o", help="New file for the identities (JSON, mode 0600).")],
    as_json: Json = False,
) -> None:
    """Open an answer that was sealed to your key. Needs no vault."""
    from shoal.protector.crypto import recipients

    body = read_json(sealed, "an answer of `shoal vault reveal`")
    found = recipients.unseal(read_secret(secret), str(body.get("sealed", "")), str(body.get("request", "")))
    with secret_file(out) as put:
        put(json.dumps({"request": body["request"], "identities": found}, ensure_ascii=False, indent=1))
    tell({"records": len(found), "out": str(out)}, f"{len(found)} identities in {out}.", as_json=as_json)


_Everything = Annotated[bool, typer.Option("--all", help="Also those that are done or refused.")]
COMMANDS = {
    "changes": derived("changes", {"everything": _Everything}, _change_table),
    "confirm": confirm,
    "refuse": derived("refuse", {"change_id": Id}, lambda made, _: (made.to_json(), f"{made.id} is refused.")),
    "enrol": enrol,
    "factor": factor_command,
    "renew": renew,
    "delegate": delegate,
    "recipient": recipient,
    "unseal": unseal,
}
