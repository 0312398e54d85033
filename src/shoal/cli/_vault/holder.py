"""``shoal vault`` for self-generated pseudonyms: what the holder does alone (``holder``), and the operator's side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli._shell.commands import Commands
from shoal.cli._shell.common import Json
from shoal.cli._vault.issuing import register_holder
from shoal.cli._vault.shared import Answer, acting, read_json, read_secret, secret_file, tell, write_json
from shoal.errors import AccessError, DataError

Secret = Annotated[Path, typer.Option("--secret-file", help="File with the holder's secret.")]
VaultId = Annotated[str, typer.Option("--vault-id", help="Id of the vault (`shoal vault status`).")]
DomainId = Annotated[str, typer.Option("--domain-id", help="Id of the domain (`shoal vault domain list --json`).")]
Pseudonym = Annotated[str, typer.Argument(help="Self-generated pseudonym, H-….")]
DomainName = Annotated[str, typer.Option("--domain", help="Domain of kind self-generated.")]


def register(vault: typer.Typer) -> None:
    holder = Commands(
        name="holder",
        help="For people who make their own pseudonym: needs no vault, only its id.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    holder.command("new")(holder_new)
    holder.command("register")(holder_register)
    holder.command("prove")(holder_prove)
    register_holder(holder)
    vault.add_typer(holder)
    vault.command("register")(accept)
    vault.command("challenge")(challenge)
    vault.command("prove")(prove)


def holder_new(
    out: Annotated[Path, typer.Option("--out", "-o", help="New file for the secret (mode 0600).")], json: Json = False
) -> None:
    """Make a holder's secret; one is enough for all domains."""
    from shoal.protector import Holder

    with secret_file(out) as put:
        put(Holder.generate().to_text())
    tell({"file": str(out)}, f"Your secret is in {out}. Anyone who has it can prove to be you.", as_json=json)


def holder_register(
    secret: Secret,
    vault_id: VaultId,
    domain_id: DomainId,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to hand to an operator.")],
    json: Json = False,
) -> None:
    """Write a registration: the pseudonym, its public key and a signature. It holds no secret."""
    made = _holder(secret).registration(vault_id, domain_id)
    write_json(out, made)
    tell(made, f"Your pseudonym is {made['pseudonym']}; hand {out} to the operator.", as_json=json)


def holder_prove(
    secret: Secret,
    vault_id: VaultId,
    domain_id: DomainId,
    challenge: Annotated[str, typer.Option("--challenge", help="The challenge the operator gave you.")],
    json: Json = False,
) -> None:
    """Answer a challenge: only the one who made the pseudonym can."""
    proof = _holder(secret).prove(vault_id, domain_id, challenge)
    tell({"proof": proof}, proof, as_json=json)


@acting
def accept(
    session: Any,
    domain: DomainName,
    registration: Annotated[Path, typer.Option("--registration", help="File the holder handed in.")],
    identity_file: Annotated[
        Path | None, typer.Option("--identity-file", help="File with the identity, where a way back is agreed.")
    ] = None,
) -> Answer:
    """Accept a pseudonym that a person made, after checking that it is theirs."""
    given = {k: str(v) for k, v in read_json(registration, "a registration").items()}
    if set(given) != {"pseudonym", "public_key", "signature"}:
        raise DataError(f"'{registration.name}' is not a registration.", hint="`shoal vault holder register` writes one.")
    session.register(domain, given, identity=None if identity_file is None else read_secret(identity_file))
    return {"domain": domain, "pseudonym": given["pseudonym"]}, f"{given['pseudonym']} is registered."


@acting
def challenge(session: Any, pseudonym: Pseudonym, domain: DomainName) -> Answer:
    """A fresh challenge for the holder of a pseudonym: good for five minutes and one answer."""
    made = session.challenge(domain, pseudonym)
    return {"challenge": made, "vault": session.vault.id}, made


@acting
def prove(
    session: Any,
    pseudonym: Pseudonym,
    domain: DomainName,
    challenge: Annotated[str, typer.Option("--challenge", help="The challenge that was given.")],
    proof: Annotated[str, typer.Option("--proof", help="The holder's answer.")],
) -> Answer:
    """Check the holder's answer to a challenge."""
    good = session.check_ownership(domain, pseudonym, challenge, proof)
    if not good:
        raise AccessError("the answer is not the holder's, or the challenge is used up.", hint="Ask for a new challenge.")
    return {"pseudonym": pseudonym, "proved": good}, f"{pseudonym} belongs to the one who answered."


def _holder(file: Path) -> Any:
    from shoal.protector import Holder

    return Holder.from_text(read_secret(file))
