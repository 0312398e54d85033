"""``shoal vault``: pseudonyms with controlled reversal; making one, and what operators do."""

from __future__ import annotations

import functools
import json as jsonlib
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell import options
from shoal.cli._shell.commands import Commands
from shoal.cli._shell.options import Json
from shoal.cli._shell.texts import names
from shoal.cli._vault import shared
from shoal.errors import UsageError

Role = Annotated[str, typer.Option("--role", help="Role, for role pseudonyms.")]
Relation = Annotated[str, typer.Option("--relation", help="Counterpart, for relationship pseudonyms.")]

HELP = "Pseudonyms with controlled reversal: four eyes to reveal, a log that cannot be quietly changed."


GROUPS = {
    "domain": "Make, list and connect domains.",
    "actor": "People, their roles and tokens.",
    "holder": "For people who make their own pseudonym: needs no vault, only its id.",
    "honeytoken": "Invented people that raise an alarm when somebody asks for them.",
    "issuer": "Issuers of one-time credentials.",
}


def register(app: typer.Typer) -> None:
    """Add ``shoal vault`` and its commands."""
    from shoal.cli._vault import holder, owner, people

    vault = Commands(name="vault", help=HELP)
    own = {"key": key, "init": init, "status": status, "pseudonymize": pseudonymize, "find": find, "translate": translate}
    for name, command in {**own, "filter": filter_lines}.items():
        vault.command(name)(command)
    vault.command("pseudonymise", hidden=True)(pseudonymize)
    groups: dict[str, typer.Typer] = {}
    for name, command in (people.COMMANDS | owner.COMMANDS | holder.COMMANDS).items():
        group, _, last = name.rpartition(" ")
        if group and group not in groups:
            groups[group] = Commands(name=group, help=GROUPS[group])
            vault.add_typer(groups[group])
        (groups[group] if group else vault).command(last)(command)
    app.add_typer(vault)


def key(
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="New file (mode 0600) or pkcs11:…; with --shares a folder.")
    ] = None,
    shares: Annotated[int, typer.Option("--shares", help="Make only shares of it, so many: nobody ever holds the whole.")] = 0,
    needed: Annotated[int, typer.Option("--needed", help="With --shares: how many of them open the vault.")] = 2,
    json: Json = False,
) -> None:
    """Make a master key, or shares of one. Without --out a key is printed, for a secret store."""
    from shoal.protector import keys
    from shoal.protector.crypto.hsm_keys import new_key_at

    if shares:
        shared.tell(*_shares(out, shares, needed), as_json=json)
        return
    if out is None:
        typer.echo(keys.generate())
        return
    created = new_key_at(out)
    shared.tell(
        {"key_id": created.key_id, "file": str(out)},
        f"Master key {created.key_id} in {out}. Keep it away from the vault.",
        as_json=json,
    )


def _shares(folder: Path | None, count: int, needed: int) -> shared.Answer:
    """Shares of a new key, a file for each holder; the key itself is written nowhere."""
    from shoal.protector import keys

    if folder is None:
        raise UsageError("--shares requires a new folder.", hint="Add --out FOLDER.")
    texts = keys.split(keys.generate(), shares=count, needed=needed)
    shared.new_folder(folder)
    for number, text in enumerate(texts, 1):
        with shared.secret_file(folder / f"{number}.share") as put:
            put(text)
    key_id = keys.from_shares(texts).key_id
    note = f"Key {key_id} in {count} shares in {folder}: any {needed} of them open the vault. Give each to another person."
    return {"key_id": key_id, "shares": count, "needed": needed, "folder": str(folder)}, note


def init(
    vault: shared.Place,
    owner: Annotated[str, typer.Option("--owner", help="Name of the owner.")],
    auditor: Annotated[str, typer.Option("--auditor", help="Name of the auditor, another person.")],
    secrets: Annotated[Path, typer.Option("--secrets", help="New folder for the first token, code and shares (mode 0700).")],
    domain: Annotated[str | None, typer.Option("--domain", help="Make this domain at once.")] = None,
    kind: Annotated[str, typer.Option("--kind", help="Kind of its pseudonyms.")] = "random",
    auditor_key: Annotated[
        str,
        typer.Option("--auditor-key", help="Public key the auditor made (`recipient`). Without it the vault is for trying out."),
    ] = "",
    witness: Annotated[
        list[str] | None, typer.Option("--witness", help="File on another disk, https://… or local (default), for heads. Repeat.")
    ] = None,
    parts: shared.Parts = 1,
    key_file: shared.KeyFile = None,
    key_share: shared.KeyShares = None,
    anchor: shared.AnchorFile = None,
    json: Json = False,
) -> None:
    """Make a vault. The owner gets a token, the auditor a code to claim hers (`enrol`), and each a share."""
    from shoal.protector.vault import Vault

    provider = shared.master_key(key_file, key_share)
    shared.new_folder(secrets)
    try:
        people: dict[str, Any] = {"owner": owner, "auditor": auditor, "auditor_key": auditor_key}
        new = Vault.create(vault, key=provider, anchor=anchor, parts=parts, witnesses=witness or ("local",), **people)
    except BaseException:
        secrets.rmdir()
        raise
    handed = {"owner.token": new.owner_token, "owner.share": new.owner_share}
    if not auditor_key:
        handed |= {"auditor.code": new.auditor_code, "auditor.share": new.auditor_share}
    else:
        handed["auditor.sealed"] = jsonlib.dumps({"vault": new.vault.id, "sealed": new.auditor_sealed})
    for name, text in handed.items():
        with shared.secret_file(secrets / name) as put:
            put(text)
    if domain is not None:
        new.vault.login(new.owner_token).create_domain(domain, kind=kind)
    result: dict[str, Any] = {"vault": new.vault.id, "master_key": provider.key_id, "secrets": sorted(handed), "domain": domain}
    result["trial"] = not auditor_key
    note = f"Vault {new.vault.id[:8]} is made. Hand the files in {secrets} to their owners and delete them here."
    shared.tell(result, note, as_json=json)
    if auditor_key and not witness:
        _shared.say(
            f"Careful: the only witness of this vault is {new.vault.store.witness}. Shoal does not notice if somebody puts back "
            "the whole machine, with database, anchor and this file. Name another with `shoal vault witness`."
        )
    if not auditor_key:
        _shared.say(
            "Careful: you hold the means of two people, so this vault is for trying out, and says so for ever. In earnest the "
            "auditor makes a key (`shoal vault recipient`), and you give its public half with --auditor-key."
        )
    new.vault.close()


@shared.opening
def status(vault: shared.Vault) -> shared.Answer:
    """Show ids, places and the number of events, and that key and data are kept apart."""
    state = vault.status()
    return state, "\n".join(f"{k}: {v}" for k, v in state.items() if k != "signing_keys")


@shared.acting
def pseudonymize(
    session: shared.Session,
    table: Annotated[str, typer.Argument(help="File or ENGINE-URL::table.")],
    domain: shared.DomainName,
    id: Annotated[str, typer.Option("--id", help="Columns of identities, separated by commas.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Output file (.csv, .parquet …).")],
    drop: Annotated[str, typer.Option("--drop", help="Columns to leave out.")] = "",
    purpose: shared.Purpose = "",
    role: Role = "",
    relation: Relation = "",
    raw: Annotated[bool, typer.Option("--raw", help="Do not neutralise cells a spreadsheet would run.")] = False,
    exclude: options.Exclude = None,
    exclude_by: Annotated[
        str | None, typer.Option("--exclude-by", help="The column that holds the ids of --exclude; the first of --id without it.")
    ] = None,
) -> shared.Answer:
    """Replace identities by pseudonyms. A person has the same one in all files of a domain."""
    from shoal.protector.pseudonyms.tables import pseudonymize_table

    details: dict[str, Any] = {"domain": domain, "purpose": purpose, "role": role, "relation": relation, "raw": raw}
    details |= {"exclude": exclude, "exclude_by": exclude_by}
    with _shared.progress("pseudonymising") as progress:
        done = pseudonymize_table(session, table, out, columns=names(id), drop=names(drop), progress=progress, **details)
    note = f"{done.rows:,} rows written to {out}; {done.missing:,} identities were missing. Key {done.key_id}."
    note += f" {done.excluded.sentence}" if done.excluded else ""
    shared.warn_of(done.left)
    return done.to_json(), note


@shared.acting
def find(
    session: shared.Session,
    domain: shared.DomainName,
    identity_file: Annotated[Path | None, typer.Option("--identity-file", help="File with one identity per line.")] = None,
    table: shared.Table = None,
    id: shared.Ids = "",
    out: shared.TableOut = None,
    purpose: shared.Purpose = "",
    role: Role = "",
    relation: Relation = "",
) -> shared.Answer:
    """Find the pseudonyms of identities, without making any. Identities come from a file, never from the command line."""
    details = {"purpose": purpose, "role": role, "relation": relation}
    if table is not None:
        from shoal.protector.pseudonyms.tables import find_in_table

        columns, path = shared.table_options(identity_file, id, out)
        return shared.replaced(find_in_table(session, table, path, columns=columns, domain=domain, **details), path)
    if identity_file is None:
        raise UsageError("no identities were given.", hint="--identity-file FILE, or --table FILE --id COLUMN --out FILE.")
    lines = shared.read_secret(identity_file).splitlines()
    pseudonyms = session.find_many(domain, lines, **details)
    return {"pseudonyms": pseudonyms}, "\n".join(f or "-" for f in pseudonyms)


@shared.acting
def translate(
    session: shared.Session,
    source: Annotated[str, typer.Option("--from", help="Domain the pseudonyms belong to.")],
    target: Annotated[str, typer.Option("--to", help="Domain of the new pseudonyms.")],
    purpose: shared.Purpose,
    pseudonyms: Annotated[list[str] | None, typer.Argument(help="Pseudonyms of the source domain.")] = None,
    file: Annotated[Path | None, typer.Option("--file", help="Or a file with one on each line; - is standard input.")] = None,
    table: shared.Table = None,
    id: shared.Ids = "",
    out: shared.TableOut = None,
    role: Role = "",
    relation: Relation = "",
) -> shared.Answer:
    """Translate pseudonyms into those of another domain, also in whole tables. No identity is shown."""
    if table is not None:
        from shoal.protector.pseudonyms.tables import translate_table

        columns, path = shared.table_options(pseudonyms or file, id, out)
        details = {"source": source, "target": target, "purpose": purpose}
        return shared.replaced(translate_table(session, table, path, columns=columns, **details), path)
    given = shared.lines_of(pseudonyms, file)
    translated = session.translate(given, source=source, target=target, purpose=purpose, role=role, relation=relation)
    return {"pseudonyms": translated}, "\n".join(m or "-" for m in translated)


def filter_lines(
    vault: shared.Place,
    domain: shared.DomainName,
    field: Annotated[str, typer.Option("--field", help="Fields of JSON lines that hold identities: user,src.ip")] = "",
    pattern: Annotated[str, typer.Option("--pattern", help="For text: a regular expression; its group is the identity.")] = "",
    key_file: shared.KeyFile = None,
    key_share: shared.KeyShares = None,
    token_file: shared.TokenFile = None,
    anchor: shared.AnchorFile = None,
) -> None:
    """Pseudonymize a log from standard input to standard output. Lines that cannot be made safe are dropped."""
    from shoal.protector.pseudonyms.filtering import LogFilter, arriving, encoded

    acting_person = shared.session(vault, key_file, key_share, token_file, anchor)
    lines = LogFilter(acting_person, domain, fields=names(field), pattern=pattern)
    for part in arriving(functools.partial(os.read, sys.stdin.fileno())):
        sys.stdout.buffer.write(encoded(lines.part(part)))
        sys.stdout.flush()
