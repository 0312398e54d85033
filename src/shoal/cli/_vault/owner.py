"""``shoal vault`` for owners: domains, actors, keys, limits, anchors."""

from __future__ import annotations

import json as jsonlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell import typed
from shoal.cli._shell.commands import Commands
from shoal.cli._shell.common import Json
from shoal.cli._vault.shared import (
    AnchorFile,
    Answer,
    CodeOut,
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
    domain = Commands(name="domain", help="Make, list and connect domains.", no_args_is_help=True, rich_markup_mode=None)
    domain.command("add")(domain_add)
    domain.command("list")(domain_list)
    domain.command("allow")(domain_allow)
    actor = Commands(name="actor", help="People, their roles and tokens.", no_args_is_help=True, rich_markup_mode=None)
    actor.command("add")(actor_add)
    actor.command("grant")(actor_grant)
    actor.command("token")(actor_token)
    actor.command("revoke")(actor_revoke)
    vault.add_typer(domain)
    vault.add_typer(actor)
    vault.command("rotate")(rotate)
    vault.command("shred")(shred)
    vault.command("limit")(limit)
    vault.command("honeytoken")(honeytoken)
    vault.command("verify")(verify)
    vault.command("checkpoint")(checkpoint)
    vault.command("anchor")(anchor_command)
    vault.command("witness")(witness)


@acting
def domain_add(
    session: Any,
    name: Name,
    kind: Annotated[str, typer.Option("--kind", help="random, keyed, reversible, format-preserving, self-generated.")] = "random",
    scope: Annotated[str, typer.Option("--scope", help="person, role, relationship, role-relationship, transaction.")] = "person",
    prefix: Annotated[str, typer.Option("--prefix", help="Start of every pseudonym.")] = "P-",
    matching: Annotated[str, typer.Option("--matching", help="exact, or nfc (Unicode composed first).")] = "exact",
    clean: Annotated[
        str, typer.Option("--clean", help="How identities are cleaned: blanks, case, separators, zeros, or none. Several: a,b.")
    ] = "blanks",
    check: Annotated[str, typer.Option("--check", help="Check digit they carry: luhn, nhs, bsn or mod97.")] = "",
    alphabet: Annotated[
        str, typer.Option("--alphabet", help="digits, letters, LETTERS, alphanumeric, ALPHANUMERIC, or characters.")
    ] = "digits",
    keep: Annotated[str, typer.Option("--keep", help="Separators that stay in place.")] = "",
    check_characters: Annotated[
        bool, typer.Option("--check-characters", help="Two digits behind every pseudonym that tell a mistyped one.")
    ] = False,
    renew_uses: Annotated[int | None, typer.Option("--renew-uses", help="New pseudonym after so many records.")] = None,
    renew_days: Annotated[int | None, typer.Option("--renew-days", help="New pseudonym every so many days.")] = None,
    renew_on: Annotated[list[str] | None, typer.Option("--renew-on", help="New pseudonym from this date on.")] = None,
    renew_zipf: Annotated[
        str | None, typer.Option("--renew-zipf", help="EXPONENT,PLACES,PEOPLE,SHARE: as many records as the model allows.")
    ] = None,
    records_per_row: Annotated[
        int, typer.Option("--records-per-row", help="Places that one row tells, for --renew-zipf: a trip with start and end 2.")
    ] = 1,
) -> Answer:
    """Make a domain: one per study, service or recipient."""
    from shoal.protector.pseudonyms.domains import ALPHABETS, Renewal

    renewal = (
        _by_zipf(renew_zipf, records_per_row)
        if renew_zipf
        else Renewal(uses=renew_uses, days=renew_days, on=tuple(renew_on or ()))
    )
    made = session.create_domain(
        name,
        kind=kind,
        scope=scope,
        prefix=prefix,
        matching=matching,
        clean=() if clean == "none" else typed.names(clean),
        check=check,
        alphabet=ALPHABETS.get(alphabet, alphabet),
        keep=keep,
        check_characters=check_characters,
        renewal=renewal,
    )
    result = {"domain": made.name, "id": made.id, "kind": made.kind, "scope": made.scope, "key_id": made.key_id}
    result |= {"renew_uses": str(made.renewal.uses)} if made.renewal.uses else {}
    words = f"Domain '{made.name}' ({made.kind}, {made.scope}), key {made.key_id}."
    if renew_zipf:
        told = "1 place" if records_per_row == 1 else f"{records_per_row} places"
        words += f" A pseudonym covers {made.renewal.uses} rows of {told} each; if a row tells more, say --records-per-row."
    return result, words


@acting
def domain_list(session: Any) -> Answer:
    """List domains."""
    found = session.domains()
    rows = [(d.name, d.kind, d.scope, d.key_id, d.shredded[:10]) for d in found]
    table = _shared.table_of("Domains", ("domain", "kind", "scope", "key", "shredded"), rows)
    return {"domains": [{**d.to_json(), "key_id": d.key_id} for d in found]}, table


@acting
def domain_allow(
    session: Any,
    source: Annotated[str, typer.Argument(help="Domain to translate from.")],
    target: Annotated[str, typer.Argument(help="Domain to translate to.")],
    end: Annotated[bool, typer.Option("--end", help="No longer allow it.")] = False,
) -> Answer:
    """Let operators translate pseudonyms of one domain into another's."""
    session.allow_translation(source, target, allowed=not end)
    return {"from": source, "to": target, "allowed": not end}, f"{source} to {target}: {'ended' if end else 'allowed'}."


@acting
def actor_add(
    session: Any,
    name: Name,
    role: Annotated[list[str], typer.Option("--role", help="operator, clerk, requester, approver, auditor, owner (repeat).")],
    code_out: CodeOut = None,
) -> Answer:
    """Propose a person. A second person confirms; the new one claims her token with both halves of the code."""
    return _proposed(lambda: session.add_actor(name, role), code_out, {"actor": name, "roles": list(role)})


@acting
def actor_grant(
    session: Any,
    name: Name,
    role: Annotated[list[str], typer.Option("--role", help="All roles the actor shall have.")],
    disable: Annotated[bool, typer.Option("--disable", help="Lock the actor out, at once.")] = False,
) -> Answer:
    """Set the roles of a person, or lock the person out. More roles need a second person."""
    change = session.grant(name, role, enabled=not disable)
    told = {"actor": name, "roles": list(role), "enabled": not disable}
    if change is None:
        return {**told, "change": None}, f"{name}: {'locked out' if disable else ', '.join(role)}."
    return {**told, "change": change.id}, waits(change)


@acting
def actor_token(
    session: Any,
    name: Name,
    scope: Annotated[list[str] | None, typer.Option("--scope", help="Only these of the actor's roles (repeat).")] = None,
    domain: Annotated[list[str] | None, typer.Option("--domain", help="Only these domains (repeat).")] = None,
    days: Annotated[float | None, typer.Option("--days", help="Valid for so many days.")] = None,
    code_out: CodeOut = None,
) -> Answer:
    """Propose another token for a person, narrowed as you like; she claims it as she did the first."""
    expires = None if days is None else time.time() + days * 86400
    asked = {"scopes": scope or (), "domains": domain or (), "expires": expires}
    return _proposed(lambda: session.issue_token(name, **asked), code_out, {"actor": name})


def _proposed(propose: Callable[[], Any], code_out: Path | None, told: dict[str, Any]) -> Answer:
    """Propose a change that enrols somebody; the owner's half of the code goes into a file."""
    if code_out is None:
        raise UsageError("where shall your half of the enrolment code go?", hint="Add --code-out FILE.")
    with secret_file(code_out) as put:
        change = propose()
        put(change.code)
    words = f"{waits(change, ' --code-out FILE')} Your half of the code is in {code_out}."
    return {**told, "change": change.id, "code_file": str(code_out)}, words


@acting
def actor_revoke(session: Any, name: Name) -> Answer:
    """Take back every token of a person."""
    gone = session.revoke_tokens(name)
    return {"actor": name, "revoked": gone}, f"{gone} tokens revoked."


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
    from shoal.protector.crypto.places import key_at

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
    """Plant an invented identity; whoever asks for it raises an alarm, under whatever pseudonym."""
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
    """Propose where the signed log goes before identities leave: nobody is told anything that no witness has seen."""
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


def _by_zipf(text: str, records_per_row: int) -> object:
    from shoal.protector.pseudonyms.renewal import by_trajectory

    try:
        exponent, places, people, share = text.split(",")
        c, limit = float(exponent), float(share)
        return by_trajectory(exponent=c, places=int(places), people=int(people), limit=limit, records_per_row=records_per_row)
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        raise UsageError("--renew-zipf takes EXPONENT,PLACES,PEOPLE,SHARE, like 0.632,2497,42598300,0.05.") from None
