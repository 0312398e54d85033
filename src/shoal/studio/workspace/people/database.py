"""The database of users and their sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal import stores
from shoal.errors import EngineError
from shoal.studio.workspace.database import CAREFUL, HINT, LOCK, sa

if TYPE_CHECKING:
    from sqlalchemy import Engine

METADATA = sa.MetaData()
VERSIONS = sa.Table("studio_users_version", METADATA, sa.Column("version", sa.Integer, nullable=False))
USERS = sa.Table(
    "studio_users",
    METADATA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("space", sa.Text, nullable=False),
    sa.Column("password", sa.Text, nullable=False),
    sa.Column("made", sa.Double, nullable=False),
)
"""``space`` names the workspace of a user; users who share one have the same."""
VISITS = sa.Table(
    "studio_visits",
    METADATA,
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, sa.ForeignKey("studio_users.name", ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("ends", sa.Double, nullable=False),
)
"""Sessions: only the digest of a token is kept. They go with their user."""


SCHEMA = stores.Schema(stores.Versions("list of users", 1), METADATA, VERSIONS, LOCK, unversioned=1)
"""Shoal 0.3.0 wrote version 1 without saying so."""


def open_people(url: str) -> Engine:
    """The engine; tables that are not there are made."""
    return stores.open_store(url, SCHEMA, hint=HINT, pragmas=CAREFUL)


def unopened(error: Exception) -> EngineError:
    """The message about a database that cannot be used: never its address."""
    return EngineError(f"the database of users cannot be opened: {type(error).__name__}.", hint="Check --store.")
