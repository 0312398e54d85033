"""Bring the tables of a vault to the version of this program (Alembic)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import DataError

if TYPE_CHECKING:
    from alembic.config import Config
    from sqlalchemy import Connection

HEAD = "0003"
"""The newest version of the tables; a test holds it equal to the newest migration."""


def config(connection: Connection) -> Config:
    """Alembic's settings, with the migrations of this package and an open connection."""
    from alembic.config import Config

    settings = Config()
    settings.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    settings.attributes["connection"] = connection
    return settings


def upgrade(connection: Connection, target: str = "head") -> None:
    """Create or update the tables inside the caller's transaction."""
    from alembic import command

    command.upgrade(config(connection), target)


def downgrade(connection: Connection, target: str) -> None:
    """Undo migrations inside the caller's transaction (``base`` drops every table)."""
    from alembic import command

    command.downgrade(config(connection), target)


def version(connection: Connection) -> str | None:
    """The version of the tables, or None where there is no vault."""
    from sqlalchemy import inspect, text

    if not inspect(connection).has_table("vault_version"):
        return None
    found = connection.execute(text("SELECT version_num FROM vault_version")).scalar()
    return None if found is None else str(found)


def require_known(connection: Connection, *, place: str) -> str:
    """The version of the tables; a place without a vault, or with one of a later program, is refused."""
    found = version(connection)
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
