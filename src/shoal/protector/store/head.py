"""The head of a vault: its id, its root key wrapped by the master key, and the rule that key and vault lie apart."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.disk.atomic import state_folder
from shoal.errors import DataError, OutputError, TamperError
from shoal.protector.crypto.master_keys import KeyProvider, KeyRefusedError
from shoal.protector.crypto.primitives import Prf, Secret, derive
from shoal.protector.store.anchor import Anchor, default_path
from shoal.protector.store.database import Store

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from shoal.stores import Migration, Versions

FORMAT = b"shoal-vault/"
VERSION = 2
"""The version of the tables and of everything sealed in them, as Shoal 0.3.0 writes them."""
MIGRATIONS: dict[int, Migration] = {}
"""``MIGRATIONS[n]`` turns a vault of version n - 1 into one of version n: tables only, since no key is known yet."""
_LOCK = 7460


def new_store(engine: Engine, vault_id: str, root: Secret, key: KeyProvider, anchor: str | Path | None) -> Store:
    """The storage of a vault, with its anchor (beside the key unless named) and this machine's witness.

    The witness lies in the user's state folder; beside the anchor if somebody said where that lies.
    """
    store = Store(engine, vault_id, root)
    path = Path(anchor) if anchor is not None else default_path(vault_id, key.location)
    store.anchor = Anchor(path, Prf(derive(root, "anchor", context=store.bound)), store.bound)
    store.witness = path.absolute().with_name(f"{path.name}.witness")
    if anchor is None and not os.environ.get("SHOAL_VAULT_ANCHOR"):
        with contextlib.suppress(OutputError):  # a user without a home folder
            store.witness = state_folder() / f"{vault_id}.witness"
    return store


def require_separation(place: str | Path, key: KeyProvider) -> None:
    """Refuse a key file in the folder of the vault: anyone who steals one steals both."""
    if "://" in str(place) or not os.path.isabs(key.location):
        return
    if Path(key.location).parent == Path(place).resolve().parent:
        what = "the master key lies in the same folder as the vault: anyone who copies one copies both."
        raise KeyRefusedError(what, hint="Move the key file to another folder, better to another machine or a secret store.")


def context(vault_id: str) -> bytes:
    """What the wrapped root key is bound to."""
    return b"shoal-vault root key " + bytes.fromhex(vault_id)


def exists(connection: Connection) -> bool:
    """Whether the database holds a vault, of any version."""
    from sqlalchemy import inspect

    return bool(inspect(connection).has_table("vault_meta"))


def create(connection: Connection, vault_id: str, key: KeyProvider, root: Secret, parts: int = 1) -> None:
    """Create the tables of a new vault and write its head."""
    from shoal.protector.store.schema import make_tables, meta

    values = {
        "format": FORMAT + str(VERSION).encode(),
        "vault": bytes.fromhex(vault_id),
        "master_key": key.key_id.encode(),
        "root": key.wrap(root.expose(), context(vault_id)),
    }
    make_tables(connection, parts)
    for name, value in values.items():
        connection.execute(meta.insert().values(name=name, value=value))


def read(connection: Connection, key: KeyProvider, *, place: str) -> tuple[str, Secret]:
    """The id of a vault and its root key; a place without a vault, or with one of another version, is refused."""
    if not exists(connection):
        raise DataError(f"no vault exists at {place}.", hint="Make one with `shoal vault init`.")
    return unwrapped(raw(connection), key, place=place)


def upgrade(engine: Engine) -> None:
    """Bring the tables of a vault that an older Shoal wrote up to date, in one transaction."""
    from shoal.protector.store.schema import meta
    from shoal.stores import writing

    with engine.connect() as connection:
        if not exists(connection) or version(raw(connection)) in (None, VERSION):
            return
    with writing(engine, _LOCK) as connection:
        older = version(raw(connection))
        if older is not None:
            _versions("").apply(connection, older)
            connection.execute(meta.update().where(meta.c.name == "format").values(value=FORMAT + str(VERSION).encode()))


def version(fields: dict[str, bytes]) -> int | None:
    """The version of a vault from its head, 0 if it is not a number; None if this is not the head of a vault."""
    text = fields.get("format", b"")
    number = text.removeprefix(FORMAT)
    return (int(number) if number.isdigit() else 0) if text.startswith(FORMAT) else None


def _versions(place: str) -> Versions:
    from shoal.stores import Versions

    return Versions(f"vault at {place}" if place else "vault", VERSION, MIGRATIONS)


def raw(connection: Connection) -> dict[str, bytes]:
    """The head as it is stored: it holds nothing open that is secret."""
    from shoal.protector.store.schema import meta

    return {row.name: bytes(row.value) for row in connection.execute(meta.select()).all()}


def unwrapped(fields: dict[str, bytes], key: KeyProvider, *, place: str) -> tuple[str, Secret]:
    """The id of a vault and its root key, from its head."""
    stated = version(fields)
    if stated is None or len(fields.get("vault", b"")) != 16 or "root" not in fields:
        raise TamperError("the vault's head record is missing or altered.", hint="Restore the database from a trusted copy.")
    if stated != VERSION:
        _versions(place).missing(stated)  # refuses a version that cannot be brought up to date
        raise DataError(f"the copy of the vault at {place} has version {stated}.", hint="Open the vault, and copy it again.")
    vault_id = fields["vault"].hex()
    return vault_id, Secret(key.unwrap(fields["root"], context(vault_id)))
