"""Bring the tables of a vault to the version of this program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shoal.engines.versions import Versions
from shoal.errors import DataError

if TYPE_CHECKING:
    from sqlalchemy import Connection

HEAD = "0003"
"""The newest version of the tables; a test holds it equal to the newest migration."""

VERSIONS = Versions(Path(__file__).parent / "migrations", "vault_version")


def require_known(connection: Connection, *, place: str) -> str:
    """The version of the tables; a place without a vault, or with one of a later program, is refused."""
    found = VERSIONS.found(connection)
    if found is None:
        raise DataError(f"there is no vault at {place}.", hint="Make one with `shoal vault init`.")
    if found > HEAD:
        raise DataError(
            f"the vault at {place} has tables of version {found}; this program knows {HEAD}.", hint="Use a newer Shoal."
        )
    return found


def require_current(connection: Connection, *, place: str) -> None:
    """Refuse a place without a vault, or with tables of another version."""
    found = require_known(connection, place=place)
    if found != HEAD:
        raise DataError(
            f"the vault at {place} has tables of version {found}; this program needs {HEAD}.",
            hint="Make a backup, then run `shoal vault migrate`.",
        )
