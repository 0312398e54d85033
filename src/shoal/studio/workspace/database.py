"""The tables of a workspace's database, and their version."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from shoal import stores
from shoal.stores import PRAGMAS, Schema, Versions, sa

if TYPE_CHECKING:
    from sqlalchemy import Engine

__all__ = [
    "JOBS",
    "QUESTIONNAIRES",
    "QUESTION_STEPS",
    "RELEASES",
    "SESSIONS",
    "STEPS",
    "TABLES",
    "connect",
    "open_database",
    "sa",
    "writing",
]

VERSION = 1
"""The version of these tables, as Shoal 0.3.0 writes them."""
LOCK = 7462
HINT = "Write postgresql://…, or leave --store out."
CAREFUL = (*PRAGMAS, "secure_delete=ON")

writing = functools.partial(stores.writing, lock=LOCK)
"""A transaction that all writers queue for."""
connect = functools.partial(stores.connect, hint=HINT, pragmas=CAREFUL)

METADATA = sa.MetaData()
VERSIONS = sa.Table("studio_version", METADATA, sa.Column("version", sa.Integer, nullable=False))
TABLES = sa.Table(
    "studio_tables",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("file", sa.Text, nullable=False),
    sa.Column("form", sa.Text, nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
    sa.Column("at", sa.Integer, nullable=False),
    sa.Column("told", sa.Text, nullable=False),
    sa.Column("made", sa.Double, nullable=False),
    sa.Column("touched", sa.Double, nullable=False),
)
"""``at`` is the step of the history that holds now; ``told`` what the cards say of the table, as JSON."""
STEPS = sa.Table(
    "studio_steps",
    METADATA,
    sa.Column("table_id", sa.Text, sa.ForeignKey("studio_tables.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("words", sa.Text, nullable=False),
    sa.Column("policy", sa.Text, nullable=False),
    sa.Column("locked", sa.Text, nullable=False),
    sa.Column("made", sa.Double, nullable=False),
)
JOBS = sa.Table(
    "studio_jobs",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("table_id", sa.Text, sa.ForeignKey("studio_tables.id", ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False, index=True),
    sa.Column("asked", sa.Text, nullable=False),
    sa.Column("share", sa.Double, nullable=False),
    sa.Column("doing", sa.Text, nullable=False),
    sa.Column("found", sa.Text, nullable=False),
    sa.Column("message", sa.Text, nullable=False),
    sa.Column("hint", sa.Text, nullable=False),
    sa.Column("made", sa.Double, nullable=False),
    sa.Column("begun", sa.Double, nullable=False),
    sa.Column("ended", sa.Double, nullable=False),
)
RELEASES = sa.Table(
    "studio_releases",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("table_id", sa.Text, sa.ForeignKey("studio_tables.id", ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("told", sa.Text, nullable=False),
    sa.Column("made", sa.Double, nullable=False),
)
QUESTIONNAIRES = sa.Table(
    "studio_questionnaires",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("at", sa.Integer, nullable=False),
    sa.Column("made", sa.Double, nullable=False),
    sa.Column("touched", sa.Double, nullable=False),
)
QUESTION_STEPS = sa.Table(
    "studio_question_steps",
    METADATA,
    sa.Column("table_id", sa.Text, sa.ForeignKey("studio_questionnaires.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("words", sa.Text, nullable=False),
    sa.Column("policy", sa.Text, nullable=False),
    sa.Column("locked", sa.Text, nullable=False),
    sa.Column("made", sa.Double, nullable=False),
)
"""Steps as tables have them; ``policy`` is the text of the questionnaire, nothing is locked."""
SESSIONS = sa.Table(
    "studio_sessions",
    METADATA,
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("ends", sa.Double, nullable=False),
)

SCHEMA = Schema(Versions("workspace", VERSION), METADATA, VERSIONS, LOCK)


def open_database(url: str) -> Engine:
    """The engine of a workspace's database; an empty database gets its tables, all or none."""
    return stores.open_store(url, SCHEMA, hint=HINT, pragmas=CAREFUL)
