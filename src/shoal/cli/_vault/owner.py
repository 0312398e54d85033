"""``shoal vault`` for owners: keys, limits, honeytokens, anchors, and the rights of people who are in the vault."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli._shell.common import Json
from shoal.cli._vault.shared import (
    AnchorFile,
    Answer,
    KeyFile,
    KeyShares,
    Name,
    Place,
    TokenFile,
    TokenOut,
    acting,
    care_of,
    derived,
    keyed,
    opened,
    opening,
    read_secret,
    require_ok,
    secret_file,
    tell,
    token,
    waits,
    write_json,
)
from shoal.errors import UsageError

SecondToken = Annotated[
    Path | None, typer.Option("--second-token-file", help="Token of the second person: another owner, or the auditor.")
]


@keyed
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
    """Change the keys of a domain, the master key or the signing key. The vault stays in use."""
    from shoal.protector import keys
    from shoal.protector.crypto.hsm_keys import key_at

    care = care_of(session)
    if sum((domain is not None, master is not None, bool(master_shares), signing)) != 1:
        raise UsageError("give one key to change.", hint="--domain NAME, --new-key-file FILE, --new-key-share or --signing.")
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
    """Destroy every key of a domain: its pseudonyms become irreversible. Cannot be undone."""
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
    """Propose a rate limit. Once confirmed, it replaces the limit of the same window."""
    from shoal.protector.people.limits import Limit

    change = session.set_limit(action, Limit(hours * 3600, most, alarm), purpose=purpose)
    return {"action": action, "max": most, "alarm": alarm, "hours": hours, "change": change.id}, waits(change)


@acting
def honeytoken_plant(
    session: Any,
    domain: Name,
    role: Annotated[str, typer.Option("--role", help="Role, for a pseudonym to lay out in a domain of roles.")] = "",
    relation: Annotated[str, typer.Option("--relation", help="Counterpart, likewise.")] = "",
) -> Answer:
    """Plant a person invented by the vault. Anyone who requests it raises an alarm, under any pseudonym."""
    made = session.plant_honeytoken(domain, role=role, relation=relation)
    words = made.pseudonym or f"Planted: {made.identity}. Name a role or relation for a pseudonym to lay out."
    return {"domain": domain, "pseudonym": made.pseudonym, "identity": made.identity}, words


@acting
def honeytoken_withdraw(
    session: Any,
    domain: Name,
    planted_file: Annotated[Path, typer.Option("--planted-file", help="File with its identity or pseudonym.")],
) -> Answer:
    """Withdraw a honeytoken. Takes two people."""
    session.withdraw_honeytoken(domain, read_secret(planted_file))
    return {"domain": domain, "withdrawn": True}, "The honeytoken is withdrawn."


def _verified(found: Any, _: Mapping[str, Any]) -> Answer:
    require_ok(found.ok, (*found.problems, *found.log.problems))
    return found.to_json(), f"All holds: {found.objects} objects, {found.log.events} events, rows whole."


@acting
def checkpoint(
    session: Any,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to keep outside.")],
    since: Annotated[Path | None, typer.Option("--since", help="Earlier checkpoint: prove that the log continues it.")] = None,
    event: Annotated[int, typer.Option("--event", min=1, help="Prove that the log has this event.")] = 0,
) -> Answer:
    """Sign the current state of the log, to be kept where nobody here can change it."""
    from shoal.protector.log.witness import read

    made = care_of(session).checkpoint(session, since=int(read(since)[-1].get("seq", 0)) if since else 0, event=event)
    write_json(out, made)
    return made, f"Checkpoint at event {made['seq']} in {out}."


@acting
def witness(
    session: Any,
    places: Annotated[list[str] | None, typer.Argument(help="Files (whole path) or https:// addresses.")] = None,
    none: Annotated[bool, typer.Option("--none", help="No witness any more.")] = False,
) -> Answer:
    """Propose where signed checkpoints go before identities leave: every reveal is witnessed first."""
    if bool(places) == none:
        raise UsageError("give either witnesses or --none.")
    change = session.set_witness(places or [])
    return {"places": places or [], "change": change.id}, waits(change)


def anchor_command(
    vault: Place,
    accept: Annotated[bool, typer.Option("--accept", help="Take the present state as this machine's beginning.")] = False,
    second: SecondToken = None,
    key_file: KeyFile = None,
    key_share: KeyShares = None,
    token_file: TokenFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """Show this machine's anchor, or accept the current state of the vault (takes two people; logged permanently)."""
    if accept and second is None:
        raise UsageError("accepting a state takes two people.", hint="Add --second-token-file FILE.")
    pair = (token(token_file), read_secret(second)) if accept and second is not None else None
    place = opened(vault, key_file, key_share, anchor, accept=pair)
    mark = place.store.check_anchor()
    body = {"generation": mark.generation, "audit_events": mark.audit_seq, "accepted": accept}
    tell(body, f"The anchor stands at generation {mark.generation}.", as_json=json)


def time_command(
    vault: Place,
    correct: Annotated[bool, typer.Option("--correct", help="Take the clock of this machine as the vault's time.")] = False,
    second: SecondToken = None,
    key_file: KeyFile = None,
    key_share: KeyShares = None,
    token_file: TokenFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """Show the newest time the vault has seen, or correct it (takes two people; logged permanently)."""
    if correct and second is None:
        raise UsageError("correcting the time takes two people.", hint="Add --second-token-file FILE.")
    place = opened(vault, key_file, key_share, anchor, maintenance=not correct)
    if correct and second is not None:
        place.correct_time(token(token_file), read_secret(second))
    seen = place.status().get("time_seen", "")
    tell({"time_seen": seen, "corrected": correct}, f"The newest time of this vault is {seen}.", as_json=json)


@opening
def break_glass(
    vault: Any,
    owner_share: Annotated[Path, typer.Option("--owner-share-file", help="File with the owner's share.")],
    auditor_share: Annotated[Path, typer.Option("--auditor-share-file", help="File with the auditor's share.")],
    token_out: TokenOut,
    name: Annotated[str, typer.Option("--name", help="Name of the person (default: the first auditor or owner).")] = "",
) -> Answer:
    """Give an auditor or owner a token if none can log in. Takes both shares; raises an alarm."""
    with secret_file(token_out) as put:
        put(vault.break_glass(read_secret(owner_share), read_secret(auditor_share), name=name))
    return {"token_file": str(token_out)}, f"The token is in {token_out}. The log says how it was made."


@acting
def export(
    session: Any,
    domain: Name,
    identity_file: Annotated[Path, typer.Option("--identity-file", help="File with the person's identity.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="New file (JSON, mode 0600).")],
) -> Answer:
    """Export what a domain contains about a person: pseudonyms and reveals. Takes two people."""
    with secret_file(out) as put:
        found = care_of(session).export(session, domain, read_secret(identity_file))
        put(jsonlib.dumps(found, ensure_ascii=False, indent=1))
    details = {"pseudonyms": len(found["pseudonyms"]), "told": len(found["told"]), "out": str(out)}
    return details, f"{details['pseudonyms']} pseudonyms, told {details['told']} times: in {out}."


@acting
def forget(
    session: Any,
    domain: Name,
    identity_file: Annotated[Path, typer.Option("--identity-file", help="File with the identity (or the self-made pseudonym).")],
    out: Annotated[Path, typer.Option("--out", "-o", help="New file for the signed certificate.")],
) -> Answer:
    """Overwrite everything a domain contains about a person. Takes two people; cannot be undone."""
    with secret_file(out) as put:
        certificate = care_of(session).forget(session, domain, read_secret(identity_file))
        put(jsonlib.dumps(certificate, indent=1, sort_keys=True))
    return certificate, f"{certificate['records']} records overwritten. Rotate the domain's key, and destroy older backups."


@acting
def correct(
    session: Any,
    domain: Name,
    identity_file: Annotated[Path, typer.Option("--identity-file", help="File with the identity that is corrected.")],
    into_file: Annotated[Path | None, typer.Option("--into-file", help="File with the identity it is merged into.")] = None,
    split: Annotated[bool, typer.Option("--split", help="Take a merge back.")] = False,
) -> Answer:
    """Merge two identities of one person, or undo a merge. Takes two people; old pseudonyms stay valid."""
    if (into_file is None) != split:
        raise UsageError("give either --into-file or --split.", hint="--into-file merges two identities, --split undoes a merge.")
    care, identity = care_of(session), read_secret(identity_file)
    if into_file is None:
        done = care.split(session, domain, identity)
        return done, f"{done['split']} is a person of its own again. Tables made while it was merged hold the other's pseudonym."
    done = care.merge(session, domain, identity, read_secret(into_file))
    return done, f"{done['merged']} is merged into {done['into']}, whose pseudonym it gets from now on."


COMMANDS = {
    "rotate": rotate,
    "shred": shred,
    "limit": limit,
    "honeytoken plant": honeytoken_plant,
    "honeytoken withdraw": honeytoken_withdraw,
    "time": time_command,
    "break-glass": break_glass,
    "verify": derived("verify", {}, _verified),
    "checkpoint": checkpoint,
    "anchor": anchor_command,
    "witness": witness,
    "export": export,
    "correct": correct,
    "forget": forget,
}
