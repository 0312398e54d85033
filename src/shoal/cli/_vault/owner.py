"""``shoal vault`` for owners: keys, limits, honeytokens and anchors of the log."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli._shell.common import Json
from shoal.cli._vault import actors, domains
from shoal.cli._vault.shared import (
    AnchorFile,
    Answer,
    KeyFile,
    KeyShares,
    Name,
    Place,
    TokenFile,
    acting,
    care_of,
    opened,
    read_secret,
    require_ok,
    secret_file,
    tell,
    token,
    waits,
    write_json,
)
from shoal.errors import UsageError


def register(vault: typer.Typer) -> None:
    domains.register(vault)
    actors.register(vault)
    vault.command("rotate")(rotate)
    vault.command("shred")(shred)
    vault.command("limit")(limit)
    vault.command("honeytoken")(honeytoken)
    vault.command("verify")(verify)
    vault.command("checkpoint")(checkpoint)
    vault.command("anchor")(anchor_command)
    vault.command("witness")(witness)


@acting
def rotate(
    session: Any,
    domain: Annotated[str | None, typer.Option("--domain", help="New data keys for this domain.")] = None,
    master: Annotated[Path | None, typer.Option("--new-key-file", help="Change to this master key.")] = None,
    master_shares: Annotated[
        list[Path] | None, typer.Option("--new-key-share", help="The same from shares of it (repeat).")
    ] = None,
    signing: Annotated[bool, typer.Option("--signing", help="New key for signing the log.")] = False,
    destroy: Annotated[int | None, typer.Option("--destroy", help="With --domain: destroy this retired key version.")] = None,
) -> Answer:
    """Change keys while the vault stays in use: of a domain, the master key, or the signing key."""
    from shoal.protector import keys
    from shoal.protector.crypto.hsm_keys import key_at

    care = care_of(session)

    if sum((domain is not None, master is not None, bool(master_shares), signing)) != 1:
        raise UsageError("say which key to change.", hint="--domain NAME, --new-key-file FILE, --new-key-share or --signing.")
    if domain is not None and destroy is not None:
        made = care.destroy_key(session, domain, destroy).key_id
    elif domain is not None:
        made = care.rotate_domain(session, domain).key_id
    elif master is not None:
        made = care.rotate_master(session, key_at(master))
    elif master_shares:
        made = care.rotate_master(session, keys.from_shares([read_secret(share) for share in master_shares]))
    else:
        made = care.rotate_signer(session)
    return {"key_id": made}, f"Now in use: key {made}."


@acting
def shred(
    session: Any,
    domain: Name,
    confirm: Annotated[str, typer.Option("--confirm", help="Repeat the name of the domain.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="New file for the signed certificate.")],
) -> Answer:
    """Destroy every key of a domain: its pseudonyms can never be reversed again. Cannot be undone."""
    care = care_of(session)

    with secret_file(out) as put:
        certificate = care.shred(session, domain, confirm=confirm)
        put(jsonlib.dumps(certificate, indent=1, sort_keys=True))
    return certificate, f"Domain '{domain}' is irreversible. Certificate in {out}."


@acting
def limit(
    session: Any,
    action: Annotated[str, typer.Argument(help="find, translate, request, reveal, pseudonymize or honeytoken.")],
    most: Annotated[int | None, typer.Option("--max", help="Records allowed in the window.")] = None,
    alarm: Annotated[int | None, typer.Option("--alarm", help="Records that raise an alarm.")] = None,
    hours: Annotated[float, typer.Option("--hours", help="Length of the window.")] = 24.0,
    purpose: Annotated[str, typer.Option("--purpose", help="Only for this purpose.")] = "*",
) -> Answer:
    """Propose another rate limit; it replaces the one of the same window when a second person confirms."""
    from shoal.protector.people.limits import Limit

    change = session.set_limit(action, Limit(hours * 3600, most, alarm), purpose=purpose)
    return {"action": action, "max": most, "alarm": alarm, "hours": hours, "change": change.id}, waits(change)


@acting
def honeytoken(
    session: Any,
    domain: Name,
    identity_file: Annotated[Path, typer.Option("--identity-file", help="File with the invented identity.")],
    role: Annotated[str, typer.Option("--role", help="Role, for a pseudonym to lay out in a domain of roles.")] = "",
    relation: Annotated[str, typer.Option("--relation", help="Counterpart, likewise.")] = "",
) -> Answer:
    """Plant an invented identity; anyone who asks for it raises an alarm, under any pseudonym."""
    made = session.plant_honeytoken(domain, read_secret(identity_file), role=role, relation=relation)
    return {"domain": domain, "pseudonym": made}, made or "Planted; name a role or relation for a pseudonym to lay out."


@acting
def verify(session: Any) -> Answer:
    """Check every row, object and event of the vault."""
    care = care_of(session)

    found = care.verify(session)
    require_ok(found.ok, (*found.problems, *found.log.problems))
    return found.to_json(), f"All holds: {found.objects} objects, {found.log.events} events, rows whole."


@acting
def checkpoint(
    session: Any,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to keep outside.")],
) -> Answer:
    """Sign the log as it stands, to be kept where nobody here can change it."""
    care = care_of(session)

    made = care.checkpoint(session)
    write_json(out, made)
    return made, f"Checkpoint at event {made['seq']} in {out}."


@acting
def witness(
    session: Any,
    places: Annotated[list[str] | None, typer.Argument(help="Files (whole path) or https:// addresses.")] = None,
    none: Annotated[bool, typer.Option("--none", help="No witness any more.")] = False,
) -> Answer:
    """Propose where the signed log goes before identities leave: nothing is revealed that no witness has seen."""
    if bool(places) == none:
        raise UsageError("name witnesses, or say --none.")
    change = session.set_witness(places or [])
    return {"places": places or [], "change": change.id}, waits(change)


def anchor_command(
    vault: Place,
    accept: Annotated[bool, typer.Option("--accept", help="Take the present state as this machine's beginning.")] = False,
    second: Annotated[
        Path | None, typer.Option("--second-token-file", help="Token of the second person: another owner, or the auditor.")
    ] = None,
    key_file: KeyFile = None,
    key_share: KeyShares = None,
    token_file: TokenFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """Show this machine's anchor, or let two people accept the present state of the vault: the log says so for ever."""
    if accept and second is None:
        raise UsageError("accepting a state takes two people.", hint="Add --second-token-file FILE.")
    pair = (token(token_file), read_secret(second)) if accept and second is not None else None
    place = opened(vault, key_file, key_share, anchor, accept=pair)
    mark = place.store.check_anchor()
    body = {"generation": mark.generation, "audit_events": mark.audit_seq, "accepted": accept}
    tell(body, f"The anchor stands at generation {mark.generation}.", as_json=json)
