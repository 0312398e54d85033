"""``shoal vault``: pseudonyms with controlled reversal.

Secrets never stand on the command line: the master key comes from the environment or a file, and so does the token of the
person who acts.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shared import Json
from shoal.errors import TamperError, UsageError

if TYPE_CHECKING:
    from shoal.protector.keys import KeyProvider
    from shoal.protector.session import Session
    from shoal.protector.vault import Vault

Place = Annotated[
    str, typer.Option("--vault", envvar="SHOAL_VAULT", help="File (SQLite) or postgresql://… of the vault.", show_envvar=True)
]
KeyFile = Annotated[
    Path | None,
    typer.Option("--key-file", envvar="SHOAL_VAULT_KEY_FILE", help="File with the master key (else SHOAL_VAULT_KEY)."),
]
TokenFile = Annotated[
    Path | None,
    typer.Option("--token-file", envvar="SHOAL_VAULT_TOKEN_FILE", help="File with your token (else SHOAL_VAULT_TOKEN)."),
]
AnchorFile = Annotated[Path | None, typer.Option("--anchor", help="Anchor file (default: beside the key file).")]
DomainName = Annotated[str, typer.Option("--domain", help="Domain of the pseudonyms.")]
Purpose = Annotated[str, typer.Option("--purpose", help="What it is for; goes into the log.")]
Role = Annotated[str, typer.Option("--role", help="Role, for role pseudonyms.")]
Relation = Annotated[str, typer.Option("--relation", help="Counterpart, for relationship pseudonyms.")]

HELP = "Pseudonyms with controlled reversal: four eyes to reveal, a log that cannot be quietly changed."


def register(app: typer.Typer) -> None:
    """Add ``shoal vault`` and its commands."""
    from shoal.cli import _vault_owner, _vault_people

    vault = typer.Typer(name="vault", help=HELP, no_args_is_help=True, rich_markup_mode=None)
    vault.command("key")(key)
    vault.command("init")(init)
    vault.command("status")(status)
    vault.command("pseudonymize")(pseudonymize)
    vault.command("pseudonymise", hidden=True)(pseudonymize)
    vault.command("find")(find)
    vault.command("translate")(translate)
    _vault_people.register(vault)
    _vault_owner.register(vault)
    app.add_typer(vault)


def master_key(file: Path | None) -> KeyProvider:
    """The master key from a file or the environment."""
    from shoal.protector import keys

    return keys.from_file(file) if file is not None else keys.from_env(forget=True)


def token(file: Path | None, variable: str = "SHOAL_VAULT_TOKEN") -> str:
    """The token of the person who acts."""
    if file is not None:
        return read_secret(file)
    text = os.environ.pop(variable, "")
    if not text:
        raise UsageError("who is acting? No token was given.", hint=f"Set {variable}, or pass --token-file FILE.")
    return text


def read_secret(file: Path) -> str:
    """One secret from a file that others cannot read."""
    try:
        mode = file.stat().st_mode
        if os.name == "posix" and mode & 0o077:
            raise UsageError(f"other users can read '{file.name}'.", hint=f"Run: chmod 600 {file.name}")
        return file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UsageError(f"'{file.name}' cannot be read: {error.strerror}.") from None


def write_secret(file: Path, text: str) -> None:
    """A new file (mode 0600) with one secret."""
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise UsageError(f"'{file.name}' cannot be written: {error.strerror}.", hint="Existing files are kept.") from None
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write(text + "\n")


def opened(place: str, key_file: Path | None, anchor: Path | None = None, **options: Any) -> Vault:
    from shoal.protector.vault import Vault

    return Vault.open(place, key=master_key(key_file), anchor=anchor, **options)


def session(place: str, key_file: Path | None, token_file: Path | None, anchor: Path | None = None) -> Session:
    """An open vault with the acting person logged in."""
    acting = token(token_file)
    return opened(place, key_file, anchor).login(acting)


def tell(result: dict[str, Any], words: str, *, as_json: bool) -> None:
    """The answer: one object, or a sentence."""
    if as_json:
        _shared.put_json(result)
    else:
        typer.echo(_shared.printable(words) if "\n" not in words else words)


def key(
    out: Annotated[Path | None, typer.Option("--out", help="Write it to this new file (mode 0600).")] = None,
    json: Json = False,
) -> None:
    """Make a master key. Without --out it is printed, for a secret store."""
    from shoal.protector import keys

    if out is None:
        typer.echo(keys.generate())
        return
    made = keys.from_file(keys.write_file(out))
    tell(
        {"key_id": made.key_id, "file": str(out)},
        f"Master key {made.key_id} in {out}. Keep it away from the vault.",
        as_json=json,
    )


def init(
    vault: Place,
    owner: Annotated[str, typer.Option("--owner", help="Name of the owner.")],
    auditor: Annotated[str, typer.Option("--auditor", help="Name of the auditor, another person.")],
    secrets: Annotated[Path, typer.Option("--secrets", help="New folder for the first tokens and shares (mode 0700).")],
    domain: Annotated[str | None, typer.Option("--domain", help="Make this domain at once.")] = None,
    kind: Annotated[str, typer.Option("--kind", help="Kind of its pseudonyms.")] = "random",
    key_file: KeyFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """Make a vault: owner and auditor get a token and a share each, to be handed over and deleted here."""
    from shoal.protector.vault import Vault

    provider = master_key(key_file)
    try:
        secrets.mkdir(mode=0o700, parents=False)
    except OSError as error:
        raise UsageError(f"folder '{secrets.name}' cannot be made: {error.strerror}.", hint="Name a new folder.") from None
    made = Vault.create(vault, key=provider, owner=owner, auditor=auditor, anchor=anchor)
    parts = {
        "owner.token": made.owner_token,
        "owner.share": made.owner_share,
        "auditor.token": made.auditor_token,
        "auditor.share": made.auditor_share,
    }
    for name, text in parts.items():
        write_secret(secrets / name, text)
    if domain is not None:
        made.vault.login(made.owner_token).create_domain(domain, kind=kind)
    result = {"vault": made.vault.id, "master_key": provider.key_id, "secrets": sorted(parts), "domain": domain}
    words = f"Vault {made.vault.id[:8]} is made. Hand the files in {secrets} to their owners and delete them here."
    tell(result, words, as_json=json)


def status(vault: Place, key_file: KeyFile = None, anchor: AnchorFile = None, json: Json = False) -> None:
    """Ids, places, number of events; proof that key and data are kept apart."""
    found = opened(vault, key_file, anchor).status()
    tell(found, "\n".join(f"{k}: {v}" for k, v in found.items() if k != "signing_keys"), as_json=json)


def pseudonymize(
    table: Annotated[str, typer.Argument(help="File or ENGINE-URL::table.")],
    vault: Place,
    domain: DomainName,
    id: Annotated[str, typer.Option("--id", help="Columns of identities, separated by commas.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Output file (.csv, .parquet …).")],
    drop: Annotated[str, typer.Option("--drop", help="Columns to leave out.")] = "",
    purpose: Purpose = "",
    role: Role = "",
    relation: Relation = "",
    raw: Annotated[bool, typer.Option("--raw", help="Do not neutralise cells a spreadsheet would run.")] = False,
    key_file: KeyFile = None,
    token_file: TokenFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """Replace identities by pseudonyms; the same person keeps the same one in all files of a domain."""
    from shoal.protector.tables import pseudonymize_table

    acting = session(vault, key_file, token_file, anchor)
    with _shared.progress("pseudonymising") as progress:
        done = pseudonymize_table(
            acting,
            table,
            out,
            domain=domain,
            columns=_shared.names(id),
            drop=_shared.names(drop),
            purpose=purpose,
            role=role,
            relation=relation,
            raw=raw,
            progress=progress,
        )
    words = f"{done.rows:,} rows written to {out}; {done.missing:,} identities were missing. Key {done.key_id}."
    tell(done.to_json(), words, as_json=json)


def find(
    vault: Place,
    domain: DomainName,
    identity_file: Annotated[Path, typer.Option("--identity-file", help="File with one identity per line.")],
    purpose: Purpose = "",
    key_file: KeyFile = None,
    token_file: TokenFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """The pseudonyms identities have now, without making any. Identities come from a file, never from the command line."""
    lines = read_secret(identity_file).splitlines()
    found = session(vault, key_file, token_file, anchor).find_many(domain, lines, purpose=purpose)
    tell({"pseudonyms": found}, "\n".join(f or "-" for f in found), as_json=json)


def translate(
    pseudonyms: Annotated[list[str], typer.Argument(help="Pseudonyms of the source domain.")],
    vault: Place,
    source: Annotated[str, typer.Option("--from", help="Domain the pseudonyms belong to.")],
    target: Annotated[str, typer.Option("--to", help="Domain of the new pseudonyms.")],
    purpose: Purpose,
    key_file: KeyFile = None,
    token_file: TokenFile = None,
    anchor: AnchorFile = None,
    json: Json = False,
) -> None:
    """Pseudonyms of another domain for the same people; no identity is shown."""
    acting = session(vault, key_file, token_file, anchor)
    made = acting.translate(pseudonyms, source=source, target=target, purpose=purpose)
    tell({"pseudonyms": made}, "\n".join(m or "-" for m in made), as_json=json)


def require_ok(ok: bool, problems: tuple[str, ...]) -> None:
    """End with exit code 1 where a check found something."""
    if not ok:
        raise TamperError("the check found: " + " ".join(problems), hint="Stop, keep the files, and restore a trusted copy.")
