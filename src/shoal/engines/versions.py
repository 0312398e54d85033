"""Versions of the tables that Shoal itself keeps in a database (vault, registry), by Alembic.

A package that keeps tables has a folder ``migrations`` with one file per version and an ``env.py`` that calls :func:`run`.
Everything happens on the caller's connection and inside its transaction: whole or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from alembic.config import Config
    from sqlalchemy import Connection, MetaData


@dataclass(frozen=True)
class Versions:
    """The migrations in a folder, and the table that remembers how far a database has come."""

    folder: Path
    table: str

    def config(self, connection: Connection) -> Config:
        """Alembic's settings for an open connection."""
        from alembic.config import Config

        settings = Config()
        settings.set_main_option("script_location", str(self.folder).replace("%", "%%"))
        settings.attributes.update(connection=connection, version_table=self.table)
        return settings

    def upgrade(self, connection: Connection, target: str = "head") -> None:
        """Create or update the tables."""
        from alembic import command

        command.upgrade(self.config(connection), target)

    def downgrade(self, connection: Connection, target: str) -> None:
        """Undo migrations (``base`` drops every table)."""
        from alembic import command

        command.downgrade(self.config(connection), target)

    def found(self, connection: Connection) -> str | None:
        """The version of the tables, or None where it was never noted."""
        from sqlalchemy import column, inspect, select, table

        if not inspect(connection).has_table(self.table):
            return None
        found = connection.execute(select(column("version_num")).select_from(table(self.table))).scalar()
        return None if found is None else str(found)


def run(context: Any, metadata: MetaData) -> None:
    """Carry out the migrations that Alembic asks an ``env.py`` for (nothing when a tool merely imports the file)."""
    if not hasattr(context, "config"):
        return
    given = context.config.attributes
    context.configure(
        connection=given["connection"],
        target_metadata=metadata,
        version_table=given["version_table"],
        render_as_batch=True,
        transaction_per_migration=False,
    )
    with context.begin_transaction():
        context.run_migrations()
