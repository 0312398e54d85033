"""``shoal vault`` for owners: domains, actors, keys, limits, anchors."""

from __future__ import annotations

import json as jsonlib
import time
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import _shared
from shoal.cli._shared import Json
from shoal.cli._vault_people import AnchorFile, KeyFile, TokenFile, Where
from shoal.errors import UsageError

Name = Annotated[str, typer.Argument(help="Name.")]


def register(vault: typer.Typer) -> None:
    domain = typer.Typer(name="domain", help="Make, list and connect domains.", no_args_is_help=True, rich_markup_mode=None)
    domain.command("add")(domain_add)
    domain.command("list")(domain_list)
    domain.command("allow")(domain_allow)
    actor = typer.Typer(name="actor", help="People, their roles and tokens.", no_args_is_help=True, rich_markup_mode=None)
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
    vault.command("migrate")(migrate)


def domain_add(
    name: Name,
    vault: Where,
    kind: Annotated[str, typer.Option("--kind", help="random, keyed, reversible, format-preserving, self-generated.")] = "random",
    scope: Annotated[str, typer.Option("--scope", help="person, role, relationship, role-relationship, transaction.")] = "person",
    prefix: Annotated[str, typer.Option("--prefix")] = "P-",
    matching: Annotated[str, typer.Option("--matching", help="exact, or nfc (Unicode composed first).")] = "exact",
    alphabet: Annotated[
        str, typer.Option("--alphabet", help="digits, letters, LETTERS, alphanumeric, ALPHANUMERIC, or characters.")
    ] = "digits",
    keep: Annotated[str, typer.Option("--keep", help="Separators that stay in place.")] = "",
    renew_uses: Annotated[int | None, typer.Option("--renew-uses", help="New pseudonym after so many records.")] = None,
    renew_days: Annotated[int | None, typer.Option("--renew-days", help="New pseudonym every so many days.")] = None,
    renew_on: Annotated[list[str] | None, typer.Option("--renew-on", help="New pseudonym from this date on.")] = None,
    renew_zipf: Annotated[
        str | None, typer.Option("--renew-zipf", help="EXPONENT,PLACES,PEOPLE,SHARE: as many records as the model allows.")
    ] = None,
    key_file: KeyFile = None,
    token_file: TokenFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """Make a domain: one per study, service or recipient."""
    from shoal.cli.vault import session, tell
    from shoal.protector.domains import ALPHABETS, Renewal

    renewal = _by_zipf(renew_zipf) if renew_zipf else Renewal(uses=renew_uses, days=renew_days, on=tuple(renew_on or ()))
    made = session(vault, key_file, token_file, anchor).create_domain(
        name,
        kind=kind,
        scope=scope,
        prefix=prefix,
        matching=matching,
        alphabet=ALPHABETS.get(alphabet, alphabet),
        keep=keep,
        renewal=renewal,
    )
    result = {"domain": made.name, "id": made.id, "kind": made.kind, "scope": made.scope, "key_id": made.key_id}
    result |= {"renew_uses": str(made.renewal.uses)} if made.renewal.uses else {}
    tell(result, f"Domain '{made.name}' ({made.kind}, {made.scope}), key {made.key_id}.", as_json=json)


def domain_list(
    vault: Where, key_file: KeyFile = None, token_file: TokenFile = None, anchor: AnchorFile = None, json: Json = False
) -> None:
    """List domains."""
    from shoal.cli.vault import session

    found = session(vault, key_file, token_file, anchor).domains()
    if json:
        _shared.put_json({"domains": [{**d.to_json(), "key_id": d.key_id} for d in found]})
        return
    rows = [(d.name, d.kind, d.scope, d.key_id, d.shredded[:10]) for d in found]
    _shared.console().print(_shared.table_of("Domains", ("domain", "kind", "scope", "key", "shredded"), rows))


def domain_allow(
    source: Annotated[str, typer.Argument(help="Domain to translate from.")],
    target: Annotated[str, typer.Argument(help="Domain to translate to.")],
    vault: Where,
    end: Annotated[bool, typer.Option("--end", help="No longer allow it.")] = False,
    key_file: KeyFile = None,
    token_file: TokenFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """Let operators translate pseudonyms of one domain into another's."""
    from shoal.cli.vault import session, tell

    session(vault, key_file, token_file, anchor).allow_translation(source, target, allowed=not end)
    tell(
        {"from": source, "to": target, "allowed": not end},
        f"{source} to {target}: {'ended' if end else 'allowed'}.",
        as_json=json,
    )


def actor_add(
    name: Name,
    vault: Where,
    role: Annotated[list[str], typer.Option("--role", help="operator, requester, approver, auditor, owner (repeat).")],
    token_out: Annotated[Path, typer.Option("--token-out", help="New file for the token (mode 0600).")],
    key_file: KeyFile = None,
    token_file: TokenFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """Add a person; the token goes into a file, to be handed over."""
    from shoal.cli.vault import session, tell, write_secret

    if token_out.exists():
        raise UsageError(f"'{token_out.name}' exists already.", hint="Name a new file.")
    made = session(vault, key_file, token_file, anchor).add_actor(name, role)
    write_secret(token_out, made)
    tell({"actor": name, "roles": list(role), "token_file": str(token_out)}, f"Token of {name} in {token_out}.", as_json=json)


def actor_grant(
    name: Name,
    vault: Where,
    role: Annotated[list[str], typer.Option("--role", help="All roles the actor shall have.")],
    disable: Annotated[bool, typer.Option("--disable", help="Lock the actor out.")] = False,
    key_file: KeyFile = None,
    token_file: TokenFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """Set the roles of a person, or lock the person out."""
    from shoal.cli.vault import session, tell

    session(vault, key_file, token_file, anchor).grant(name, role, enabled=not disable)
    tell({"actor": name, "roles": list(role), "enabled": not disable}, f"{name}: {', '.join(role)}.", as_json=json)


def actor_token(
    name: Name,
    vault: Where,
    token_out: Annotated[Path, typer.Option("--token-out", help="New file for the token (mode 0600).")],
    scope: Annotated[list[str] | None, typer.Option("--scope", help="Only these of the actor's roles (repeat).")] = None,
    domain: Annotated[list[str] | None, typer.Option("--domain", help="Only these domains (repeat).")] = None,
    days: Annotated[float | None, typer.Option("--days", help="Valid for so many days.")] = None,
    key_file: KeyFile = None,
    token_file: TokenFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """Another token for a person, narrowed as you like."""
    from shoal.cli.vault import session, tell, write_secret

    if token_out.exists():
        raise UsageError(f"'{token_out.name}' exists already.", hint="Name a new file.")
    expires = None if days is None else time.time() + days * 86400
    acting = session(vault, key_file, token_file, anchor)
    write_secret(token_out, acting.issue_token(name, scopes=scope or (), domains=domain or (), expires=expires))
    tell({"actor": name, "token_file": str(token_out)}, f"Token of {name} in {token_out}.", as_json=json)


def actor_revoke(
    name: Name,
    vault: Where,
    key_file: KeyFile = None,
    token_file: TokenFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """Take back every token of a person."""
    from shoal.cli.vault import session, tell

    gone = session(vault, key_file, token_file, anchor).revoke_tokens(name)
    tell({"actor": name, "revoked": gone}, f"{gone} tokens revoked.", as_json=json)


def rotate(
    vault: Where,
    domain: Annotated[str | None, typer.Option("--domain", help="New data keys for this domain.")] = None,
    master: Annotated[Path | None, typer.Option("--new-key-file", help="Change to this master key.")] = None,
    signing: Annotated[bool, typer.Option("--signing", help="New key for signing the log.")] = False,
    destroy: Annotated[int | None, typer.Option("--destroy", help="With --domain: destroy this retired key version.")] = None,
    key_file: KeyFile = None,
    token_file: TokenFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """Change keys while the vault stays in use: of a domain, the master key, or the signing key."""
    from shoal.cli.vault import session, tell
    from shoal.protector import keys, upkeep

    if sum((domain is not None, master is not None, signing)) != 1:
        raise UsageError("say which key to change.", hint="--domain NAME, --new-key-file FILE, or --signing.")
    acting = session(vault, key_file, token_file, anchor)
    if domain is not None and destroy is not None:
        made = upkeep.destroy_key(acting, domain, destroy).key_id
    elif domain is not None:
        made = upkeep.rotate_domain(acting, domain).key_id
    elif master is not None:
        made = upkeep.rotate_master(acting, keys.from_file(master))
    else:
        made = upkeep.rotate_signer(acting)
    tell({"key_id": made}, f"Now in use: key {made}.", as_json=json)


def shred(
    domain: Name,
    vault: Where,
    confirm: Annotated[str, typer.Option("--confirm", help="Repeat the name of the domain.")],
    out: Annotated[Path, typer.Option("--out", help="File for the signed certificate.")],
    key_file: KeyFile = None,
    token_file: TokenFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """Destroy every key of a domain: its pseudonyms can never be reversed again. Cannot be undone."""
    from shoal.cli.vault import session, tell
    from shoal.engines.writers import atomic
    from shoal.protector import upkeep

    certificate = upkeep.shred(session(vault, key_file, token_file, anchor), domain, confirm=confirm)
    with atomic(out) as temporary:
        temporary.write_text(jsonlib.dumps(certificate, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    tell(certificate, f"Domain '{domain}' is irreversible. Certificate in {out}.", as_json=json)


def limit(
    action: Annotated[str, typer.Argument(help="find, translate, request, reveal or pseudonymize.")],
    vault: Where,
    most: Annotated[int | None, typer.Option("--max", help="Records allowed in the window.")] = None,
    alarm: Annotated[int | None, typer.Option("--alarm", help="Records that raise an alarm.")] = None,
    hours: Annotated[float, typer.Option("--hours", help="Length of the window.")] = 24.0,
    purpose: Annotated[str, typer.Option("--purpose", help="Only for this purpose.")] = "*",
    key_file: KeyFile = None,
    token_file: TokenFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """Change a rate limit."""
    from shoal.cli.vault import session, tell
    from shoal.protector.limits import Limit

    session(vault, key_file, token_file, anchor).set_limit(action, Limit(hours * 3600, most, alarm), purpose=purpose)
    tell({"action": action, "max": most, "alarm": alarm, "hours": hours}, f"Limit on {action} set.", as_json=json)


def honeytoken(
    domain: Name,
    vault: Where,
    identity_file: Annotated[Path, typer.Option("--identity-file", help="File with the invented identity.")],
    key_file: KeyFile = None,
    token_file: TokenFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """Plant an invented identity; whoever asks for it raises an alarm."""
    from shoal.cli.vault import read_secret, session, tell

    made = session(vault, key_file, token_file, anchor).plant_honeytoken(domain, read_secret(identity_file))
    tell({"domain": domain, "pseudonym": made}, made, as_json=json)


def verify(
    vault: Where, key_file: KeyFile = None, token_file: TokenFile = None, anchor: AnchorFile = None, json: Json = False
) -> None:
    """Check every row, object and event of the vault."""
    from shoal.cli.vault import require_ok, session, tell
    from shoal.protector import upkeep

    found = upkeep.verify(session(vault, key_file, token_file, anchor))
    if found.ok:
        tell(found.to_json(), f"All holds: {found.objects} objects, {found.log.events} events, rows whole.", as_json=json)
    require_ok(found.ok, (*found.problems, *found.log.problems))


def checkpoint(
    vault: Where,
    out: Annotated[Path, typer.Option("--out", help="File to keep outside.")],
    key_file: KeyFile = None,
    token_file: TokenFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """Sign the log as it stands, to be kept where nobody here can change it."""
    from shoal.cli.vault import session, tell
    from shoal.engines.writers import atomic
    from shoal.protector import upkeep

    made = upkeep.checkpoint(session(vault, key_file, token_file, anchor))
    with atomic(out) as temporary:
        temporary.write_text(jsonlib.dumps(made, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    tell(made, f"Checkpoint at event {made['seq']} in {out}.", as_json=json)


def anchor_command(
    vault: Where,
    accept: Annotated[bool, typer.Option("--accept", help="Take the present state as this machine's beginning.")] = False,
    key_file: KeyFile = None,
    token_file: TokenFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """Show this machine's anchor, or let an owner accept the present state of the vault."""
    from shoal.cli.vault import opened, tell, token

    place = opened(vault, key_file, anchor, accept=token(token_file) if accept else None)
    mark = place.store.check_anchor()
    body = {"generation": mark.generation, "audit_events": mark.audit_seq, "accepted": accept}
    tell(body, f"The anchor stands at generation {mark.generation}.", as_json=json)


def migrate(vault: Where, key_file: KeyFile = None, anchor: AnchorFile = None, json: Json = False) -> None:
    """Bring the tables of the vault to the version of this program."""
    from shoal.cli.vault import master_key, tell
    from shoal.protector.migrate import HEAD
    from shoal.protector.vault import Vault

    Vault.migrate(vault, key=master_key(key_file), anchor=anchor)
    tell({"version": HEAD}, f"The tables have version {HEAD}.", as_json=json)


def _by_zipf(text: str) -> object:
    from shoal.protector.renewal import by_trajectory

    try:
        exponent, places, people, share = text.split(",")
        return by_trajectory(exponent=float(exponent), places=int(places), people=int(people), limit=float(share))
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        raise UsageError("--renew-zipf takes EXPONENT,PLACES,PEOPLE,SHARE, like 0.632,2497,42598300,0.05.") from None
