"""The tables of a workspace's database and of the list of users, and their versions."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from shoal import stores
from shoal.stores import PRAGMAS, Schema, Versions, sa

if TYPE_CHECKING:
    from sqlalchemy import Engine

VERSION = 1
"""The version of these tables, as Shoal 0.3.0 writes them."""
LOCK = 7462
HINT = "Write postgresql://…, or leave --store out."
CAREFUL = (*PRAGMAS, "secure_delete=ON")

writing = functools.partial(stores.writing, lock=LOCK)
"""A transaction that all writers queue for."""
connect = functools.partial(stores.connect, hint=HINT, pragmas=CAREFUL)


def _columns(kind: Any, *names: str) -> list[sa.Column[Any]]:
    """Columns of one type that always have a value."""
    return [sa.Column(name, kind, nullable=False) for name in names]


def _owner(column: str, **options: Any) -> sa.Column[Any]:
    """The column of the row that another row belongs to, and with which it goes."""
    return sa.Column("table_id", sa.Text, sa.ForeignKey(column, ondelete="CASCADE"), **options)


def _id(name: str = "id") -> sa.Column[Any]:
    return sa.Column(name, sa.Text, primary_key=True)


METADATA = sa.MetaData()
VERSIONS = sa.Table("studio_version", METADATA, *_columns(sa.Integer, "version"))
TABLES = sa.Table(
    "studio_tables", METADATA, _id(), *_columns(sa.Text, "name", "file", "form"), *_columns(sa.BigInteger, "bytes"),
    *_columns(sa.Integer, "at"), *_columns(sa.Text, "told"), *_columns(sa.Double, "made", "touched"),
)  # fmt: skip
"""``at`` is the step of the history that holds now; ``told`` what the cards say of the table, as JSON."""
QUESTIONNAIRES = sa.Table(
    "studio_questionnaires", METADATA, _id(), *_columns(sa.Text, "name"), *_columns(sa.Integer, "at"),
    *_columns(sa.Double, "made", "touched"),
)  # fmt: skip


def _steps(name: str, owner: str) -> sa.Table:
    number = sa.Column("number", sa.Integer, primary_key=True)
    rest = (*_columns(sa.Text, "words", "policy", "locked"), *_columns(sa.Double, "made"))
    return sa.Table(name, METADATA, _owner(owner, primary_key=True), number, *rest)


STEPS = _steps("studio_steps", "studio_tables.id")
QUESTION_STEPS = _steps("studio_question_steps", "studio_questionnaires.id")
"""Steps as tables have them; ``policy`` is the text of the questionnaire, nothing is locked."""
JOBS = sa.Table(
    "studio_jobs", METADATA, _id(), _owner("studio_tables.id", nullable=False, index=True), *_columns(sa.Text, "kind"),
    sa.Column("state", sa.Text, nullable=False, index=True), *_columns(sa.Text, "asked"), *_columns(sa.Double, "share"),
    *_columns(sa.Text, "doing", "found", "message", "hint"), *_columns(sa.Double, "made", "begun", "ended"),
)  # fmt: skip
RELEASES = sa.Table(
    "studio_releases", METADATA, _id(), _owner("studio_tables.id", nullable=False, index=True),
    *_columns(sa.Text, "name", "told"), *_columns(sa.Double, "made"),
)  # fmt: skip
SESSIONS = sa.Table("studio_sessions", METADATA, _id("digest"), *_columns(sa.Double, "ends"))
SCHEMA = Schema(Versions("workspace", VERSION), METADATA, VERSIONS, LOCK)

PEOPLE = sa.MetaData()
USERS = sa.Table(
    "studio_users", PEOPLE, _id("name"), *_columns(sa.Text, "role", "space", "password"), *_columns(sa.Double, "made")
)  # fmt: skip
"""``space`` names the workspace of a user; users who share one have the same."""
VISITS = sa.Table(
    "studio_visits", PEOPLE, _id("digest"),
    sa.Column("name", sa.Text, sa.ForeignKey("studio_users.name", ondelete="CASCADE"), nullable=False, index=True),
    *_columns(sa.Double, "ends"),
)  # fmt: skip
"""Sessions: only the digest of a token is kept. They go with their user."""
PEOPLE_SCHEMA = Schema(
    Versions("list of users", 1), PEOPLE, sa.Table("studio_users_version", PEOPLE, *_columns(sa.Integer, "version")), LOCK,
    unversioned=1,
)  # fmt: skip
"""Shoal 0.3.0 wrote version 1 without saying so."""


def open_database(url: str, schema: Schema = SCHEMA) -> Engine:
    """The engine of a workspace's database, or of the list of users; an empty database gets its tables, all or none."""
    return stores.open_store(url, schema, hint=HINT, pragmas=CAREFUL)
