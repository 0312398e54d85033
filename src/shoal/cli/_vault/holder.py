"""``shoal vault`` for self-generated pseudonyms and blind issuing: what the holder does alone, and the vault's side."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell.options import Json
from shoal.cli._vault import shared
from shoal.errors import AccessError, DataError, UsageError, refuse
from shoal.protector import Holder

Secret = Annotated[Path, typer.Option("--secret-file", help="File with the holder's secret.")]
VaultId = Annotated[str, typer.Option("--vault-id", help="Id of the vault (`shoal vault status`).")]
DomainId = Annotated[str, typer.Option("--domain-id", help="Id of the domain (`shoal vault domain list --json`).")]
Pseudonym = Annotated[str, typer.Argument(help="Self-generated pseudonym, H-….")]
DomainName = Annotated[str, typer.Option("--domain", help="Domain of kind self-generated.")]


def holder_new(
    out: Annotated[Path, typer.Option("--out", "-o", help="New file for the secret (mode 0600).")], json: Json = False
) -> None:
    """Make a holder's secret; one is enough for all domains."""
    with shared.secret_file(out) as put:
        put(Holder.generate().to_text())
    shared.tell({"file": str(out)}, f"Your secret is in {out}. Anyone who has it can prove to be you.", as_json=json)


def holder_register(
    secret: Secret,
    vault_id: VaultId,
    domain_id: DomainId,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to hand to an operator.")],
    json: Json = False,
) -> None:
    """Write a registration: the pseudonym, its public key and a signature. It contains no secret."""
    registration = _holder(secret).registration(vault_id, domain_id)
    shared.write_json(out, registration)
    shared.tell(registration, f"Your pseudonym is {registration['pseudonym']}; hand {out} to the operator.", as_json=json)


def holder_prove(
    secret: Secret,
    vault_id: VaultId,
    domain_id: DomainId,
    challenge: Annotated[str, typer.Option("--challenge", help="The challenge the operator gave you.")],
    json: Json = False,
) -> None:
    """Answer a challenge, which only the person who made the pseudonym can."""
    proof = _holder(secret).prove(vault_id, domain_id, challenge)
    shared.tell({"proof": proof}, proof, as_json=json)


@shared.acting
def accept(
    session: shared.Session,
    domain: DomainName,
    registration: Annotated[Path, typer.Option("--registration", help="File the holder handed in.")],
    identity_file: Annotated[
        Path | None, typer.Option("--identity-file", help="File with the identity, where a way back is agreed.")
    ] = None,
) -> shared.Answer:
    """Register a pseudonym that a person made, after checking that it is theirs."""
    given = {k: str(v) for k, v in shared.read_json(registration, "a registration").items()}
    if set(given) != {"pseudonym", "public_key", "signature"}:
        raise DataError(f"'{registration.name}' is not a registration.", hint="`shoal vault holder register` writes one.")
    session.register(domain, given, identity=None if identity_file is None else shared.read_secret(identity_file))
    return {"domain": domain, "pseudonym": given["pseudonym"]}, f"{given['pseudonym']} is registered."


@shared.acting
def challenge(session: shared.Session, pseudonym: Pseudonym, domain: DomainName) -> shared.Answer:
    """Make a new challenge for the holder of a pseudonym: valid for five minutes and one answer."""
    issued = session.challenge(domain, pseudonym)
    return {"challenge": issued, "vault": session.vault.id}, issued


@shared.acting
def prove(
    session: shared.Session,
    pseudonym: Pseudonym,
    domain: DomainName,
    challenge: Annotated[str, typer.Option("--challenge", help="The challenge that was given.")],
    proof: Annotated[str, typer.Option("--proof", help="The holder's answer.")],
) -> shared.Answer:
    """Check the holder's answer to a challenge."""
    good = session.check_ownership(domain, pseudonym, challenge, proof)
    if not good:
        raise AccessError("the answer is not the holder's, or the challenge is used up.", hint="Ask for a new challenge.")
    return {"pseudonym": pseudonym, "proved": good}, f"{pseudonym} belongs to the one who answered."


def _holder(file: Path) -> Any:
    return Holder.from_text(shared.read_secret(file))


@shared.acting
def issuer_add(
    session: shared.Session,
    name: shared.Name,
    domain: Annotated[str, typer.Option("--domain", help="Domain whose people get credentials.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File for the public key, for participants.")] = None,
) -> shared.Answer:
    """Make an issuer: its credentials cannot be connected with the people who got them (owner)."""
    issuer = session.create_issuer(name, domain)
    if out is not None:
        shared.write_json(out, issuer)
    return issuer, f"Issuer {name} is made. Publish its key {issuer['key']}: everybody must see the same one."


def _issuer_table(made: Any, _: Mapping[str, Any]) -> shared.Answer:
    rows = [[one["name"], one["domain"], one["key"]] for one in made]
    return {"issuers": made}, _shared.table_of("Issuers", ("name", "domain", "key"), rows)


def holder_blind(
    issuer: Annotated[Path, typer.Option("--issuer", help="File with the issuer's public key.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to hand to the operator, with who you are.")],
    secret_out: Annotated[Path, typer.Option("--secret-out", help="New file for your secret (mode 0600).")],
    json: Json = False,
) -> None:
    """Prepare a blinded request for a one-time credential."""
    from shoal.protector import issuing

    request, secret = issuing.begin(shared.read_json(issuer, "an issuer's public key"))
    with shared.secret_file(secret_out) as put:
        put(jsonlib.dumps(secret))
    shared.write_json(out, request)
    note = f"Hand {out} to the operator. Is {request['key']} the key that others see too? Keep {secret_out}."
    shared.tell({"issuer": request["issuer"], "key": request["key"]}, note, as_json=json)


def holder_unblind(
    secret: Annotated[Path, typer.Option("--secret-file", help="Your secret from `holder blind`.")],
    answer: Annotated[Path, typer.Option("--answer", help="The operator's answer.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="New file for the credential (mode 0600).")],
    json: Json = False,
) -> None:
    """Make the credential from the issuer's answer. Anyone who has it can use it, once."""
    from shoal.protector import issuing

    with refuse(DataError(f"'{secret.name}' is not the secret of a request."), ValueError):
        kept = jsonlib.loads(shared.read_secret(secret))
    token = issuing.finish(kept, str(shared.read_json(answer, "the issuer's answer").get("answer", "")))
    with shared.secret_file(out) as put:
        put(jsonlib.dumps(token))
    shared.tell({"issuer": token["issuer"], "key": token["key"], "file": out.name}, f"Your credential is in {out}.", as_json=json)


@shared.acting
def issue(
    session: shared.Session,
    name: shared.Name,
    identity_file: Annotated[Path, typer.Option("--identity-file", help="File with the identity of the enrolled person.")],
    request: Annotated[Path, typer.Option("--request", help="File she handed in.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File with the answer, for her.")],
    purpose: shared.Purpose = "",
) -> shared.Answer:
    """Sign the blinded request of an enrolled person, once for each (operator)."""
    body = shared.read_json(request, "a request for a credential")
    issued = session.issue(name, shared.read_secret(identity_file), str(body.get("blinded", "")), purpose=purpose)
    shared.write_json(out, {"issuer": name, "answer": issued})
    return {"issuer": name, "out": out.name}, f"Answered; hand {out} to the person."


@shared.acting
def redeem(
    session: shared.Session,
    name: shared.Name,
    credential: Annotated[Path, typer.Option("--credential", help="File with the credential.")],
    purpose: shared.Purpose = "",
) -> shared.Answer:
    """Accept a credential, once. Nobody can tell who received it (operator)."""
    body = shared.read_json(credential, "a credential")
    redeemed = session.redeem(name, str(body.get("message", "")), str(body.get("signature", "")), purpose=purpose)
    return {"issuer": name, "pseudonym": redeemed}, f"Taken. Its one-time pseudonym is {redeemed}."


@shared.acting
def backup(
    session: shared.Session, out: Annotated[Path, typer.Option("--out", "-o", help="New file (mode 0600).")]
) -> shared.Answer:
    """Write the whole vault into one sealed file, while in use, and check the file."""
    kept_copy = shared.care_of(session).backup(session, out)
    return (
        kept_copy.to_json(),
        f"{kept_copy.events} events, {kept_copy.rows:,} rows in {out}, checked. Keep it where the vault is not.",
    )


def check_backup(
    file: Annotated[Path, typer.Argument(help="File that `backup` wrote.")],
    key_file: shared.KeyFile = None,
    key_share: shared.KeyShares = None,
    json: Json = False,
) -> None:
    """Check a whole backup."""
    from shoal.protector.care.copies import check

    backup = check(file, shared.master_key(key_file, key_share))
    shared.tell(
        backup.to_json(), f"Whole: {backup.events} events, {backup.rows:,} rows, generation {backup.generation}.", as_json=json
    )


def restore(
    file: Annotated[Path, typer.Argument(help="File that `backup` wrote.")],
    vault: shared.Place,
    second: Annotated[Path, typer.Option("--second-token-file", help="Token of the second person.")],
    key_file: shared.KeyFile = None,
    key_share: shared.KeyShares = None,
    token_file: shared.TokenFile = None,
    anchor: shared.AnchorFile = None,
    json: Json = False,
) -> None:
    """Restore a backup into a new place. Takes two people; the log records it permanently."""
    from shoal.protector import care

    pair = (shared.token(token_file), shared.read_secret(second))
    restored = care.restore(file, vault, key=shared.master_key(key_file, key_share), accept=pair, anchor=anchor)
    lost = "an unknown number of" if restored.events_lost is None else str(restored.events_lost)
    note = f"Restored at generation {restored.backup.generation}; {lost} events came later and are lost."
    if restored.events_lost != 0:
        note += " Pseudonyms given out since then are unknown here: make the tables of that time again."
    shared.tell(restored.to_json(), note, as_json=json)
    restored.vault.close()


def serve(
    vault: shared.Place,
    host: Annotated[str, typer.Option("--host", help="Address to listen on; beyond loopback TLS is needed.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535)] = 8711,
    socket: Annotated[Path | None, typer.Option("--socket", help="Listen on this unix socket instead.")] = None,
    tls_cert: Annotated[Path | None, typer.Option("--tls-cert", help="TLS certificate (PEM).")] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="Key of the TLS certificate (PEM).")] = None,
    key_file: shared.KeyFile = None,
    key_share: shared.KeyShares = None,
    anchor: shared.AnchorFile = None,
) -> None:
    """Serve a vault. Everyone else works with `--vault https://…` or `--vault unix:/socket` and a token."""

    from shoal.server.protector import api

    place = shared.opened(vault, key_file, key_share, anchor, maintenance=False)
    where = f"unix:{socket}" if socket is not None else f"http{'s' if tls_cert else ''}://{host}:{port}"
    _shared.say(f"Serving the vault on {where} (stop with Ctrl-C)")
    api.serve(place, host=host, port=port, socket=socket, tls_cert=tls_cert, tls_key=tls_key)


@shared.acting
def copy(
    session: shared.Session,
    to: Annotated[str, typer.Option("--to", help="New file (SQLite) or postgresql://…")],
    parts: shared.Parts = 1,
) -> shared.Answer:
    """Copy the vault into another database: SQLite or PostgreSQL. Continue with one of the two."""
    from shoal.protector.store.connection import describe

    shared.care_of(session).copy(session, to, parts=parts)
    return {"to": describe(to)}, f"Copied to {describe(to)}. From now on use one of the two: the other is refused as older."


def plan(
    answers: Annotated[Path | None, typer.Argument(help="The filled-in questionnaire; without it, it is printed.")] = None,
    json: Json = False,
) -> None:
    """Find out where a process needs identity: a questionnaire, and alternatives. Needs no vault."""
    from shoal.protector import needs

    if answers is None:
        shared.tell({"questions": needs.QUESTIONS}, needs.questionnaire().rstrip("\n"), as_json=json)
        return
    needed = needs.plan(_read_answers(answers))
    rows = [(n.process, n.identity, n.use, n.command) for n in needed]
    table = _shared.table_of("Where identity is needed", ("process", "identity", "what serves", "how"), rows)
    shared.tell({"needs": [n.to_json() for n in needed]}, table, as_json=json)


def _read_answers(file: Path) -> dict[str, object]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        body = YAML(typ="safe", pure=True).load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, YAMLError):
        body = None
    if not isinstance(body, dict):
        raise UsageError(f"'{file.name}' is not a filled-in questionnaire.", hint="`shoal vault plan > answers.yml` prints one.")
    return body


COMMANDS: dict[str, Callable[..., None]] = {
    "holder new": holder_new,
    "holder register": holder_register,
    "holder prove": holder_prove,
    "register": accept,
    "challenge": challenge,
    "prove": prove,
    "issuer add": issuer_add,
    "issuer list": shared.derived("issuers", {}, _issuer_table),
    "issue": issue,
    "redeem": redeem,
    "holder blind": holder_blind,
    "holder unblind": holder_unblind,
    "plan": plan,
    "backup": backup,
    "check-backup": check_backup,
    "restore": restore,
    "copy": copy,
    "serve": serve,
}
