"""Bring the tables of a registry's store to the version of this program (Alembic)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import DataError

if TYPE_CHECKING:
    from alembic.config import Config
    from sqlalchemy import Connection

HEAD = "0003"
"""The newest version of the tables; a test holds it equal to the newest migration."""
TABLE = "registry_version"


def config(connection: Connection) -> Config:
    """Alembic's settings, with the migrations of this package and an open connection."""
    from alembic.config import Config

    settings = Config()
    settings.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    settings.attributes["connection"] = connection
    return settings


def upgrade(connection: Connection, target: str = "head") -> None:
    """Create or update the tables inside the caller's transaction. Tables from before versions were kept count as 0001."""
    from alembic import command

    if version(connection) == "0001" and not _has(connection, TABLE):
        command.stamp(config(connection), "0001")
    command.upgrade(config(connection), target)


def downgrade(connection: Connection, target: str) -> None:
    """Undo migrations inside the caller's transaction (``base`` drops every table)."""
    from alembic import command

    command.downgrade(config(connection), target)


def version(connection: Connection) -> str | None:
    """The version of the tables, or None where there is no registry yet."""
    from sqlalchemy import text

    if not _has(connection, TABLE):
        return "0001" if _has(connection, "registry_records") else None
    found = connection.execute(text("SELECT version_num FROM registry_version")).scalar()
    return None if found is None else str(found)


def _has(connection: Connection, table: str) -> bool:
    from sqlalchemy import inspect

    return inspect(connection).has_table(table)


def refuse_other(found: str) -> None:
    """Refuse tables of another version than this program's."""
    if found == HEAD:
        return
    older = found < HEAD
    raise DataError(
        f"the registry has tables of version {found}; this program needs {HEAD}.",
        hint="Make a backup, then run `shoal registry migrate`." if older else "Use the newer version of Shoal that made them.",
    )
