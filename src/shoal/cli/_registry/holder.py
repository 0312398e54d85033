"""The holder's commands of ``shoal registry``: key, endorse, revoke, token; where they sign and submit."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell import common
from shoal.errors import UnreadableError, UsageError
from shoal.model.roles import look

if TYPE_CHECKING:
    from shoal.kernels.signatures import Signer

People = Annotated[str, typer.Option("--population", help="place@period;filters, for instance NL/Utrecht@2021.")]
Target = Annotated[str, typer.Option("--registry", help="SQLite file, database URL, or https address to submit to.")]
Key = Annotated[
    Path | None, typer.Option("--key", help="Ed25519 key file to sign with (mode 600); else registry.key, made when missing.")
]
OWN_KEY = Path("registry.key")


def key(key: Key = None, as_json: common.Json = False) -> None:
    """Show your public key: what others endorse, and what a record is signed with. Makes one when there is none."""
    if key is not None and not key.exists():
        _made(key)
    own = signer_of(key)
    if as_json:
        _shared.put_json({"key": own.public, "fingerprint": own.fingerprint})
    else:
        typer.echo(f"{own.public}  (fingerprint {own.fingerprint})")


def endorse(
    public_key: Annotated[str, typer.Argument(help="The public key that you vouch for.")],
    registry: Target,
    key: Key = None,
    as_json: common.Json = False,
) -> None:
    """Say in public that you vouch for a holder's key: anyone who trusts you may then trust it."""
    _state("endorse", public_key, registry, key, as_json)


def revoke(
    registry: Target,
    record: Annotated[str, typer.Option("--record", help="Id of a record of yours that shall not count any more.")] = "",
    endorsed: Annotated[str, typer.Option("--endorsed", help="A public key that you vouch for no longer.")] = "",
    own_key: Annotated[bool, typer.Option("--own-key", help="Revoke your own key for ever, and every record under it.")] = False,
    key: Key = None,
    as_json: common.Json = False,
) -> None:
    """Take back a record, an endorsement, or your own key (it was stolen, or you stop). It stays in the log."""
    if sum([bool(record), bool(endorsed), own_key]) != 1:
        raise UsageError("name exactly one thing to revoke.", hint="Give --record ID, --endorsed KEY, or --own-key.")
    if record:
        _state("revoke-record", record, registry, key, as_json)
    else:
        _state("revoke-key", endorsed or signer_of(key).public, registry, key, as_json)


def _state(kind: str, subject: str, registry: str, key_file: Path | None, as_json: bool) -> None:
    from shoal.registry.records.trust import Statement

    own, target = signer_of(key_file), submit_to(registry)
    if kind == "endorse" and subject == own.public:
        raise UsageError("nobody vouches for themselves.", hint="Ask another holder to endorse your key.")
    statement = Statement(kind, subject, own.public, today(), target.next_number(own.public)).signed(own)
    target.state(statement)
    if as_json:
        _shared.put_json({"stated": statement.to_json()})
    else:
        typer.echo(f"Stated: {kind} {subject} (number {statement.number} of {own.fingerprint}).")


def token(
    holder: Annotated[str, typer.Argument(help="The holder that the token is for: it publishes under this name only.")],
    registry: Annotated[str, typer.Option("--registry", help="SQLite file or database URL of the registry.")],
    public_key: Annotated[
        str, typer.Option("--key", help="The holder's public key: the only one it publishes with; else the first one used.")
    ] = "",
    as_json: common.Json = False,
) -> None:
    """Make a token that may publish over HTTP, for one holder and one key. It is shown once; only its hash is kept."""
    if not look(holder):
        raise UsageError("a token is for a holder with a name.", hint='Write: shoal registry token "A hospital" --registry …')
    made = store_of(registry).add_token(holder, holder=holder, key=public_key)
    if as_json:
        _shared.put_json({"token": made})
    else:
        typer.echo(made)


def store_of(source: str) -> Any:
    """The store at a file or database URL."""
    from shoal.registry.keep.store import Store

    return Store(source if "://" in source else f"sqlite:///{source}")


def submit_to(source: str) -> Any:
    """Where records and statements go: a service over HTTP, or a store."""
    if source.startswith(("http://", "https://")):
        from shoal.registry.keep.remote import Remote

        return Remote(source)
    return store_of(source)


def today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def signer_of(key_file: Path | None) -> Signer:
    """The key named, else that of the environment, else the holder's own, made on first use: a forgotten key revokes nothing."""
    from shoal.kernels.signatures import FILE_ENV, KEY_ENV, signer

    if key_file is not None and not key_file.exists():
        raise UnreadableError(
            f"key file '{key_file.name}' does not exist.", hint=f"Make one: shoal registry key --key {key_file.name}"
        )
    if key_file is not None or os.environ.get(FILE_ENV) or os.environ.get(KEY_ENV):
        return signer(key_file)
    if not OWN_KEY.exists():
        _made(OWN_KEY)
    return signer(OWN_KEY)


def _made(path: Path) -> None:
    from shoal.registry.publish.proposals import make_key

    try:
        make_key(path)
    except OSError as error:
        raise UnreadableError(f"a key cannot be written: {error.strerror}.", hint="Name a file in a folder of yours.") from None
    _shared.say(f"Made a signing key in {path}: keep it safe, later versions and revocations need it.")
