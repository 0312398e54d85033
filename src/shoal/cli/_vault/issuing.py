"""``shoal vault`` for blind issuing: what the participant does alone (``holder``), and the vault's side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell.commands import Commands
from shoal.cli._shell.common import Json
from shoal.cli._vault.shared import Answer, Name, acting, read_json, read_secret, secret_file, tell, write_json

Purpose = Annotated[str, typer.Option("--purpose", help="What it is for; goes into the log.")]


def register(vault: typer.Typer) -> None:
    issuer = Commands(
        name="issuer", help="Issuers of one-time credentials.", no_args_is_help=True, rich_markup_mode=None
    )  # fmt: skip
    issuer.command("add")(issuer_add)
    issuer.command("list")(issuer_list)
    vault.add_typer(issuer)
    vault.command("issue")(issue)
    vault.command("redeem")(redeem)


def register_holder(holder: typer.Typer) -> None:
    holder.command("blind")(holder_blind)
    holder.command("unblind")(holder_unblind)


@acting
def issuer_add(
    session: Any,
    name: Name,
    domain: Annotated[str, typer.Option("--domain", help="Domain whose people get credentials.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File for the public key, for participants.")] = None,
) -> Answer:
    """Make an issuer: its credentials cannot be connected with the people who got them (owner)."""
    made = session.create_issuer(name, domain)
    if out is not None:
        write_json(out, made)
    return made, f"Issuer {name} is made. Publish its key {made['key']}: everybody must see the same one."


@acting
def issuer_list(session: Any) -> Answer:
    """The issuers and the ids of their public keys."""
    found = session.issuers()
    rows = [[one["name"], one["domain"], one["key"]] for one in found]
    return {"issuers": found}, _shared.table_of("Issuers", ("name", "domain", "key"), rows)


def holder_blind(
    issuer: Annotated[Path, typer.Option("--issuer", help="File with the issuer's public key.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to hand to the operator, with who you are.")],
    secret_out: Annotated[Path, typer.Option("--secret-out", help="New file for your secret (mode 0600).")],
    json: Json = False,
) -> None:
    """Ask for a one-time credential: a request that tells the issuer nothing about it."""
    import json as jsonlib

    from shoal.protector.issuing import participant

    request, secret = participant.begin(read_json(issuer, "an issuer's public key"))
    with secret_file(secret_out) as put:
        put(jsonlib.dumps(secret))
    write_json(out, request)
    words = f"Hand {out} to the operator. Is {request['key']} the key that others see too? Keep {secret_out}."
    tell({"issuer": request["issuer"], "key": request["key"]}, words, as_json=json)


def holder_unblind(
    secret: Annotated[Path, typer.Option("--secret-file", help="Your secret from `holder blind`.")],
    answer: Annotated[Path, typer.Option("--answer", help="The operator's answer.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="New file for the credential (mode 0600).")],
    json: Json = False,
) -> None:
    """Make the credential from the issuer's answer. Anyone who has it can use it, once."""
    import json as jsonlib

    from shoal.errors import DataError
    from shoal.protector.issuing import participant

    try:
        kept = jsonlib.loads(read_secret(secret))
    except ValueError:
        raise DataError(f"'{secret.name}' is not the secret of a request.") from None
    made = participant.finish(kept, str(read_json(answer, "the issuer's answer").get("answer", "")))
    with secret_file(out) as put:
        put(jsonlib.dumps(made))
    tell({"issuer": made["issuer"], "key": made["key"], "file": out.name}, f"Your credential is in {out}.", as_json=json)


@acting
def issue(
    session: Any,
    name: Name,
    identity_file: Annotated[Path, typer.Option("--identity-file", help="File with the identity of the enrolled person.")],
    request: Annotated[Path, typer.Option("--request", help="File she handed in.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File with the answer, for her.")],
    purpose: Purpose = "",
) -> Answer:
    """Answer a blinded request of an enrolled person: once for each (operator)."""
    body = read_json(request, "a request for a credential")
    made = session.issue(name, read_secret(identity_file), str(body.get("blinded", "")), purpose=purpose)
    write_json(out, {"issuer": name, "answer": made})
    return {"issuer": name, "out": out.name}, f"Answered; hand {out} to the person."


@acting
def redeem(
    session: Any,
    name: Name,
    credential: Annotated[Path, typer.Option("--credential", help="File with the credential.")],
    purpose: Purpose = "",
) -> Answer:
    """Take a credential: it counts once, and nobody can tell who got it (operator)."""
    body = read_json(credential, "a credential")
    made = session.redeem(name, str(body.get("message", "")), str(body.get("signature", "")), purpose=purpose)
    return {"issuer": name, "pseudonym": made}, f"Taken. Its one-time pseudonym is {made}."
