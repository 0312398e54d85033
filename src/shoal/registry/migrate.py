"""Bring the tables of a registry's store to the version of this program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shoal.engines.versions import Versions
from shoal.errors import DataError

if TYPE_CHECKING:
    from sqlalchemy import Connection

HEAD = "0003"
"""The newest version of the tables; a test holds it equal to the newest migration."""

VERSIONS = Versions(Path(__file__).parent / "migrations", "registry_version")


def upgrade(connection: Connection, target: str = "head") -> None:
    """Create or update the tables inside the caller's transaction. Tables from before versions were kept count as 0001."""
    if VERSIONS.found(connection) is None and version(connection) == "0001":
        from alembic import command

        command.stamp(VERSIONS.config(connection), "0001")
    VERSIONS.upgrade(connection, target)


def version(connection: Connection) -> str | None:
    """The version of the tables, or None where there is no registry yet."""
    from sqlalchemy import inspect

    found = VERSIONS.found(connection)
    return "0001" if found is None and inspect(connection).has_table("registry_records") else found


def refuse_other(found: str) -> None:
    """Refuse tables of another version than this program's."""
    if found == HEAD:
        return
    older = found < HEAD
    raise DataError(
        f"the registry has tables of version {found}; this program needs {HEAD}.",
        hint="Make a backup, then run `shoal registry migrate`." if older else "Use the newer version of Shoal that made them.",
    )
