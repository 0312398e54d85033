"""``shoal vault domain`` and ``shoal vault actor``: domains, people, their roles and tokens."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell.texts import names
from shoal.cli._vault.shared import Answer, CodeOut, Name, acting, derived, secret_file, waits
from shoal.errors import UsageError


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
        clean=() if clean == "none" else names(clean),
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
        places = "1 place" if records_per_row == 1 else f"{records_per_row} places"
        words += f" A pseudonym covers {made.renewal.uses} rows of {places} each; if a row contains more, give --records-per-row."
    return result, words


def _domain_table(made: Any, _: Mapping[str, Any]) -> Answer:
    rows = [(d.name, d.kind, d.scope, d.key_id, d.shredded[:10]) for d in made]
    table = _shared.table_of("Domains", ("domain", "kind", "scope", "key", "shredded"), rows)
    return {"domains": [{**d.to_json(), "key_id": d.key_id} for d in made]}, table


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


@acting
def actor_add(
    session: Any,
    name: Name,
    role: Annotated[list[str], typer.Option("--role", help="operator, clerk, requester, approver, auditor, owner (repeat).")],
    code_out: CodeOut = None,
) -> Answer:
    """Propose a person. After a second person confirms, the new one claims a token with both halves of the code."""
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
    details = {"actor": name, "roles": list(role), "enabled": not disable}
    if change is None:
        return {**details, "change": None}, f"{name}: {'locked out' if disable else ', '.join(role)}."
    return {**details, "change": change.id}, waits(change)


@acting
def actor_token(
    session: Any,
    name: Name,
    scope: Annotated[list[str] | None, typer.Option("--scope", help="Only these of the actor's roles (repeat).")] = None,
    domain: Annotated[list[str] | None, typer.Option("--domain", help="Only these domains (repeat).")] = None,
    days: Annotated[float | None, typer.Option("--days", help="Valid for so many days.")] = None,
    code_out: CodeOut = None,
) -> Answer:
    """Propose another token for a person, for all or some roles and domains. It is claimed like the first."""
    expires = None if days is None else time.time() + days * 86400
    asked = {"scopes": scope or (), "domains": domain or (), "expires": expires}
    return _proposed(lambda: session.issue_token(name, **asked), code_out, {"actor": name})


def _proposed(propose: Callable[[], Any], code_out: Path | None, details: dict[str, Any]) -> Answer:
    """Propose a change that enrols somebody; the owner's half of the code goes into a file."""
    if code_out is None:
        raise UsageError("--code-out is required, for your half of the enrolment code.", hint="Add --code-out FILE.")
    with secret_file(code_out) as put:
        change = propose()
        put(change.code)
    words = f"{waits(change, ' --code-out FILE')} Your half of the code is in {code_out}."
    return {**details, "change": change.id, "code_file": str(code_out)}, words


def _revoked(count: int, given: Mapping[str, Any]) -> Answer:
    return {"actor": given["name"], "revoked": count}, f"{count} tokens revoked."


COMMANDS = {
    "domain add": domain_add,
    "domain list": derived("domains", {}, _domain_table),
    "domain allow": domain_allow,
    "actor add": actor_add,
    "actor grant": actor_grant,
    "actor token": actor_token,
    "actor revoke": derived("revoke_tokens", {"name": Name}, _revoked),
}
