"""``shoal vault domain``: make, list and connect domains."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell import texts as typed
from shoal.cli._shell.commands import Commands
from shoal.cli._vault.shared import (
    Answer,
    Name,
    acting,
)
from shoal.errors import UsageError


def register(vault: typer.Typer) -> None:
    domain = Commands(name="domain", help="Make, list and connect domains.", no_args_is_help=True, rich_markup_mode=None)
    domain.command("add")(domain_add)
    domain.command("list")(domain_list)
    domain.command("allow")(domain_allow)
    vault.add_typer(domain)


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
