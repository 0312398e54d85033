"""``shoal vault`` for people's rights: what is held about a person, corrections, and how somebody is forgotten."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli._vault.shared import Answer, Name, acting, care_of, read_secret, secret_file
from shoal.errors import UsageError


def register(vault: typer.Typer) -> None:
    vault.command("export")(export)
    vault.command("correct")(correct)
    vault.command("forget")(forget)


@acting
def export(
    session: Any,
    domain: Name,
    identity_file: Annotated[Path, typer.Option("--identity-file", help="File with the person's identity.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="New file (JSON, mode 0600).")],
) -> Answer:
    """What a domain holds about a person: pseudonyms, and who received the identity, when and what for. Takes two people."""
    with secret_file(out) as put:
        found = care_of(session).export(session, domain, read_secret(identity_file))
        put(jsonlib.dumps(found, ensure_ascii=False, indent=1))
    told = {"pseudonyms": len(found["pseudonyms"]), "told": len(found["told"]), "out": str(out)}
    return told, f"{told['pseudonyms']} pseudonyms, told {told['told']} times: in {out}."


@acting
def forget(
    session: Any,
    domain: Name,
    identity_file: Annotated[Path, typer.Option("--identity-file", help="File with the identity (or the self-made pseudonym).")],
    out: Annotated[Path, typer.Option("--out", "-o", help="New file for the signed certificate.")],
) -> Answer:
    """Overwrite everything a domain holds about a person. Takes two people; cannot be undone."""
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
    """Merge two identities of one person, or split a wrong merge. Takes two people; old pseudonyms stay valid."""
    if (into_file is None) != split:
        raise UsageError("say what to correct.", hint="--into-file FILE merges two identities, --split takes a merge back.")
    care, identity = care_of(session), read_secret(identity_file)
    if into_file is None:
        done = care.split(session, domain, identity)
        return done, f"{done['split']} is a person of its own again. Tables made while it was merged hold the other's pseudonym."
    done = care.merge(session, domain, identity, read_secret(into_file))
    return done, f"{done['merged']} is merged into {done['into']}, whose pseudonym it gets from now on."
