"""``shoal vault`` for owners: keys, limits, honeytokens, anchors, and the rights of people who are in the vault."""

from __future__ import annotations

import functools
import json as jsonlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell.options import Json
from shoal.cli._shell.texts import names
from shoal.cli._vault import shared
from shoal.errors import UsageError

SecondToken = Annotated[
    Path | None, typer.Option("--second-token-file", help="Token of the second person: another owner, or the auditor.")
]


@shared.keyed
def rotate(
    session: shared.Session,
    domain: Annotated[str | None, typer.Option("--domain", help="New data keys for this domain.")] = None,
    master: Annotated[Path | None, typer.Option("--new-key-file", help="Change to this master key.")] = None,
    master_shares: Annotated[
        list[Path] | None, typer.Option("--new-key-share", help="The same from shares of it (repeat).")
    ] = None,
    signing: Annotated[bool, typer.Option("--signing", help="New key for signing the log.")] = False,
    destroy: Annotated[int | None, typer.Option("--destroy", help="With --domain: destroy this retired key version.")] = None,
) -> shared.Answer:
    """Change the keys of a domain, the master key or the signing key. The vault stays in use."""
    from shoal.protector import keys
    from shoal.protector.crypto.hsm_keys import key_at

    care = shared.care_of(session)
    if sum((domain is not None, master is not None, bool(master_shares), signing)) != 1:
        raise UsageError("give one key to change.", hint="--domain NAME, --new-key-file FILE, --new-key-share or --signing.")
    if domain is not None:
        rotated = (care.rotate_domain(session, domain) if destroy is None else care.destroy_key(session, domain, destroy)).key_id
    elif master is not None:
        rotated = care.rotate_master(session, key_at(master))
    elif master_shares:
        rotated = care.rotate_master(session, keys.from_shares([shared.read_secret(share) for share in master_shares]))
    else:
        rotated = care.rotate_signer(session)
    return {"key_id": rotated}, f"Now in use: key {rotated}."


@shared.acting
def shred(
    session: shared.Session,
    domain: shared.Name,
    confirm: Annotated[str, typer.Option("--confirm", help="Repeat the name of the domain.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="New file for the signed certificate.")],
) -> shared.Answer:
    """Destroy every key of a domain: its pseudonyms become irreversible. Cannot be undone."""
    care = shared.care_of(session)
    with shared.secret_file(out) as put:
        certificate = care.shred(session, domain, confirm=confirm)
        put(jsonlib.dumps(certificate, indent=1, sort_keys=True))
    return certificate, f"Domain '{domain}' is irreversible. Certificate in {out}."


@shared.acting
def limit(
    session: shared.Session,
    action: Annotated[str, typer.Argument(help="find, translate, request, reveal, pseudonymize or honeytoken.")],
    most: Annotated[int | None, typer.Option("--max", help="Records allowed in the window.")] = None,
    alarm: Annotated[int | None, typer.Option("--alarm", help="Records that raise an alarm.")] = None,
    hours: Annotated[float, typer.Option("--hours", help="Length of the window.")] = 24.0,
    purpose: Annotated[str, typer.Option("--purpose", help="Only for this purpose.")] = "*",
) -> shared.Answer:
    """Propose a rate limit. Once confirmed, it replaces the limit of the same window."""
    from shoal.protector.people.limits import Limit

    change = session.set_limit(action, Limit(hours * 3600, most, alarm), purpose=purpose)
    return {"action": action, "max": most, "alarm": alarm, "hours": hours, "change": change.id}, shared.waits(change)


@shared.acting
def honeytoken_plant(
    session: shared.Session,
    domain: shared.Name,
    role: Annotated[str, typer.Option("--role", help="Role, for a pseudonym to lay out in a domain of roles.")] = "",
    relation: Annotated[str, typer.Option("--relation", help="Counterpart, likewise.")] = "",
) -> shared.Answer:
    """Plant a person invented by the vault. Anyone who requests it raises an alarm, under any pseudonym."""
    planted = session.plant_honeytoken(domain, role=role, relation=relation)
    note = planted.pseudonym or f"Planted: {planted.identity}. Name a role or relation for a pseudonym to lay out."
    return {"domain": domain, "pseudonym": planted.pseudonym, "identity": planted.identity}, note


@shared.acting
def honeytoken_withdraw(
    session: shared.Session,
    domain: shared.Name,
    planted_file: Annotated[Path, typer.Option("--planted-file", help="File with its identity or pseudonym.")],
) -> shared.Answer:
    """Withdraw a honeytoken. Takes two people."""
    session.withdraw_honeytoken(domain, shared.read_secret(planted_file))
    return {"domain": domain, "withdrawn": True}, "The honeytoken is withdrawn."


def _say_verified(findings: Any, _: Mapping[str, Any]) -> shared.Answer:
    shared.require_ok(findings.ok, (*findings.problems, *findings.log.problems))
    return findings.to_json(), f"All holds: {findings.objects} objects, {findings.log.events} events, rows whole."


@shared.acting
def checkpoint(
    session: shared.Session,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to keep outside.")],
    since: Annotated[Path | None, typer.Option("--since", help="Earlier checkpoint: prove that the log continues it.")] = None,
    event: Annotated[int, typer.Option("--event", min=0, help="Prove that the log has this event.")] = 0,
) -> shared.Answer:
    """Sign the current state of the log, to be kept where nobody here can change it."""
    from shoal.protector.log.witness import read

    checkpoint_of_now = shared.care_of(session).checkpoint(
        session, since=int(read(since)[-1].get("seq", 0)) if since else 0, event=event
    )
    shared.write_json(out, checkpoint_of_now)
    return checkpoint_of_now, f"Checkpoint at event {checkpoint_of_now['seq']} in {out}."


@shared.acting
def witness(
    session: shared.Session,
    places: Annotated[list[str] | None, typer.Argument(help="Files (whole path) or https:// addresses.")] = None,
    none: Annotated[bool, typer.Option("--none", help="No witness any more.")] = False,
) -> shared.Answer:
    """Propose where signed checkpoints go before identities leave: every reveal is witnessed first."""
    if bool(places) == none:
        raise UsageError("give either witnesses or --none.")
    change = session.set_witness(places or [])
    return {"places": places or [], "change": change.id}, shared.waits(change)


def _by_two(
    flag: str, help: str, work: Callable[[tuple[str, str] | None, Callable[..., Any]], shared.Answer]
) -> Callable[..., None]:
    """A command that shows something, or changes it by two people: ``work`` gets their tokens, and what opens the vault."""

    def command(
        vault: shared.Place,
        change: bool = False,
        second: SecondToken = None,
        key_file: shared.KeyFile = None,
        key_share: shared.KeyShares = None,
        token_file: shared.TokenFile = None,
        anchor: shared.AnchorFile = None,
        json: Json = False,
    ) -> None:
        if change and second is None:
            raise UsageError(f"{flag} takes two people.", hint="Add --second-token-file FILE.")
        pair = (shared.token(token_file), shared.read_secret(second)) if change and second is not None else None
        shared.tell(*work(pair, functools.partial(shared.opened, vault, key_file, key_share, anchor)), as_json=json)

    command.__annotations__["change"] = Annotated[bool, typer.Option(flag, help=help)]
    command.__doc__ = work.__doc__
    return command


def _anchor(pair: tuple[str, str] | None, enter: Callable[..., Any]) -> shared.Answer:
    """Show this machine's anchor, or accept the current state of the vault (takes two people; logged permanently)."""
    mark = enter(accept=pair).store.check_anchor()
    body = {"generation": mark.generation, "audit_events": mark.audit_seq, "accepted": pair is not None}
    return body, f"The anchor stands at generation {mark.generation}."


def _time(pair: tuple[str, str] | None, enter: Callable[..., Any]) -> shared.Answer:
    """Show the newest time the vault has seen, or correct it (takes two people; logged permanently)."""
    place = enter(maintenance=pair is None)
    if pair is not None:
        place.correct_time(*pair)
    seen = place.status().get("time_seen", "")
    return {"time_seen": seen, "corrected": pair is not None}, f"The newest time of this vault is {seen}."


@shared.opening
def break_glass(
    vault: shared.Vault,
    owner_share: Annotated[Path, typer.Option("--owner-share-file", help="File with the owner's share.")],
    auditor_share: Annotated[Path, typer.Option("--auditor-share-file", help="File with the auditor's share.")],
    token_out: shared.TokenOut,
    name: Annotated[str, typer.Option("--name", help="Name of the person (default: the first auditor or owner).")] = "",
) -> shared.Answer:
    """Give an auditor or owner a token if none can log in. Takes both shares; raises an alarm."""
    with shared.secret_file(token_out) as put:
        put(vault.break_glass(shared.read_secret(owner_share), shared.read_secret(auditor_share), name=name))
    return {"token_file": str(token_out)}, f"The token is in {token_out}. The log says how it was made."


@shared.acting
def export(
    session: shared.Session,
    domain: shared.Name,
    identity_file: Annotated[Path, typer.Option("--identity-file", help="File with the person's identity.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="New file (JSON, mode 0600).")],
) -> shared.Answer:
    """Export what a domain contains about a person: pseudonyms and reveals. Takes two people."""
    with shared.secret_file(out) as put:
        exported = shared.care_of(session).export(session, domain, shared.read_secret(identity_file))
        put(jsonlib.dumps(exported, ensure_ascii=False, indent=1))
    details = {"pseudonyms": len(exported["pseudonyms"]), "told": len(exported["told"]), "out": str(out)}
    return details, f"{details['pseudonyms']} pseudonyms, told {details['told']} times: in {out}."


@shared.acting
def forget(
    session: shared.Session,
    domain: shared.Name,
    identity_file: Annotated[Path, typer.Option("--identity-file", help="File with the identity (or the self-made pseudonym).")],
    out: Annotated[Path, typer.Option("--out", "-o", help="New file for the signed certificate.")],
) -> shared.Answer:
    """Overwrite everything a domain contains about a person. Takes two people; cannot be undone."""
    with shared.secret_file(out) as put:
        certificate = shared.care_of(session).forget(session, domain, shared.read_secret(identity_file))
        put(jsonlib.dumps(certificate, indent=1, sort_keys=True))
    return certificate, f"{certificate['records']} records overwritten. Rotate the domain's key, and destroy older backups."


@shared.acting
def correct(
    session: shared.Session,
    domain: shared.Name,
    identity_file: Annotated[Path, typer.Option("--identity-file", help="File with the identity that is corrected.")],
    into_file: Annotated[Path | None, typer.Option("--into-file", help="File with the identity it is merged into.")] = None,
    split: Annotated[bool, typer.Option("--split", help="Take a merge back.")] = False,
) -> shared.Answer:
    """Merge two identities of one person, or undo a merge. Takes two people; old pseudonyms stay valid."""
    if (into_file is None) != split:
        raise UsageError("give either --into-file or --split.", hint="--into-file merges two identities, --split undoes a merge.")
    care, identity = shared.care_of(session), shared.read_secret(identity_file)
    if into_file is None:
        done = care.split(session, domain, identity)
        return done, f"{done['split']} is a person of its own again. Tables made while it was merged hold the other's pseudonym."
    done = care.merge(session, domain, identity, shared.read_secret(into_file))
    return done, f"{done['merged']} is merged into {done['into']}, whose pseudonym it gets from now on."


@shared.acting
def domain_add(
    session: shared.Session,
    name: shared.Name,
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
) -> shared.Answer:
    """Make a domain: one per study, service or recipient."""
    from shoal.protector.pseudonyms.domains import ALPHABETS, Renewal

    renewal = (
        _by_zipf(renew_zipf, records_per_row)
        if renew_zipf
        else Renewal(uses=renew_uses, days=renew_days, on=tuple(renew_on or ()))
    )
    domain = session.create_domain(
        name,
        kind=kind,
        scope=scope,
        prefix=prefix,
        matching=matching,
        clean=() if clean == "none" else names(clean),
        check=check,
        alphabet=ALPHABETS.get(alphabet, alphabet),
        keep=keep,
        check_characters=check_characters,
        renewal=renewal,
    )
    result = {"domain": domain.name, "id": domain.id, "kind": domain.kind, "scope": domain.scope, "key_id": domain.key_id}
    result |= {"renew_uses": str(domain.renewal.uses)} if domain.renewal.uses else {}
    note = f"Domain '{domain.name}' ({domain.kind}, {domain.scope}), key {domain.key_id}."
    if renew_zipf:
        places = "1 place" if records_per_row == 1 else f"{records_per_row} places"
        note += (
            f" A pseudonym covers {domain.renewal.uses} rows of {places} each; if a row contains more, give --records-per-row."
        )
    return result, note


def _domain_table(made: Any, _: Mapping[str, Any]) -> shared.Answer:
    rows = [(d.name, d.kind, d.scope, d.key_id, d.shredded[:10]) for d in made]
    table = _shared.table_of("Domains", ("domain", "kind", "scope", "key", "shredded"), rows)
    return {"domains": [{**d.to_json(), "key_id": d.key_id} for d in made]}, table


@shared.acting
def domain_allow(
    session: shared.Session,
    source: Annotated[str, typer.Argument(help="Domain to translate from.")],
    target: Annotated[str, typer.Argument(help="Domain to translate to.")],
    end: Annotated[bool, typer.Option("--end", help="No longer allow it.")] = False,
) -> shared.Answer:
    """Let operators translate pseudonyms of one domain into another's."""
    session.allow_translation(source, target, allowed=not end)
    return {"from": source, "to": target, "allowed": not end}, f"{source} to {target}: {'ended' if end else 'allowed'}."


def _by_zipf(text: str, records_per_row: int) -> object:
    from shoal.protector.pseudonyms.domains import by_trajectory

    try:
        exponent, places, people, share = text.split(",")
        c, limit = float(exponent), float(share)
        return by_trajectory(exponent=c, places=int(places), people=int(people), limit=limit, records_per_row=records_per_row)
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        raise UsageError("--renew-zipf takes EXPONENT,PLACES,PEOPLE,SHARE, like 0.632,2497,42598300,0.05.") from None


@shared.acting
def actor_add(
    session: shared.Session,
    name: shared.Name,
    role: Annotated[list[str], typer.Option("--role", help="operator, clerk, requester, approver, auditor, owner (repeat).")],
    code_out: shared.CodeOut = None,
) -> shared.Answer:
    """Propose a person. After a second person confirms, the new one claims a token with both halves of the code."""
    return _propose(lambda: session.add_actor(name, role), code_out, {"actor": name, "roles": list(role)})


@shared.acting
def actor_grant(
    session: shared.Session,
    name: shared.Name,
    role: Annotated[list[str], typer.Option("--role", help="All roles the actor shall have.")],
    disable: Annotated[bool, typer.Option("--disable", help="Lock the actor out, at once.")] = False,
) -> shared.Answer:
    """Set the roles of a person, or lock the person out. More roles need a second person."""
    change = session.grant(name, role, enabled=not disable)
    details = {"actor": name, "roles": list(role), "enabled": not disable}
    if change is None:
        return {**details, "change": None}, f"{name}: {'locked out' if disable else ', '.join(role)}."
    return {**details, "change": change.id}, shared.waits(change)


@shared.acting
def actor_token(
    session: shared.Session,
    name: shared.Name,
    scope: Annotated[list[str] | None, typer.Option("--scope", help="Only these of the actor's roles (repeat).")] = None,
    domain: Annotated[list[str] | None, typer.Option("--domain", help="Only these domains (repeat).")] = None,
    days: Annotated[float | None, typer.Option("--days", help="Valid for so many days.")] = None,
    code_out: shared.CodeOut = None,
) -> shared.Answer:
    """Propose another token for a person, for all or some roles and domains. It is claimed like the first."""
    expires = None if days is None else time.time() + days * 86400
    rights = {"scopes": scope or (), "domains": domain or (), "expires": expires}
    return _propose(lambda: session.issue_token(name, **rights), code_out, {"actor": name})


def _propose(propose: Callable[[], Any], code_out: Path | None, details: dict[str, Any]) -> shared.Answer:
    """Propose a change that enrols somebody; the owner's half of the code goes into a file."""
    if code_out is None:
        raise UsageError("--code-out is required, for your half of the enrolment code.", hint="Add --code-out FILE.")
    with shared.secret_file(code_out) as put:
        change = propose()
        put(change.code)
    note = f"{shared.waits(change, ' --code-out FILE')} Your half of the code is in {code_out}."
    return {**details, "change": change.id, "code_file": str(code_out)}, note


def _say_revoked(count: int, given: Mapping[str, Any]) -> shared.Answer:
    return {"actor": given["name"], "revoked": count}, f"{count} tokens revoked."


COMMANDS: dict[str, Callable[..., None]] = {
    "domain add": domain_add,
    "domain list": shared.derived("domains", {}, _domain_table),
    "domain allow": domain_allow,
    "actor add": actor_add,
    "actor grant": actor_grant,
    "actor token": actor_token,
    "actor revoke": shared.derived("revoke_tokens", {"name": shared.Name}, _say_revoked),
    "rotate": rotate,
    "shred": shred,
    "limit": limit,
    "honeytoken plant": honeytoken_plant,
    "honeytoken withdraw": honeytoken_withdraw,
    "time": _by_two("--correct", "Take the clock of this machine as the vault's time.", _time),
    "break-glass": break_glass,
    "verify": shared.derived("verify", {}, _say_verified),
    "checkpoint": checkpoint,
    "anchor": _by_two("--accept", "Take the present state as this machine's beginning.", _anchor),
    "witness": witness,
    "export": export,
    "correct": correct,
    "forget": forget,
}
