"""The tables of a registry's database, and their version."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from shoal import stores
from shoal.stores import Schema, Versions, sa

if TYPE_CHECKING:
    from sqlalchemy import Engine

__all__ = ["LOG", "METADATA", "NAMES", "NOTICES", "RECORDS", "STATEMENTS", "TOKENS", "VERSION", "VERSIONS", "sa"]

VERSION = 3
"""The version of these tables, as Shoal 0.3.0 writes them."""
_LOCK = 7461

writing = functools.partial(stores.writing, lock=_LOCK)
"""A transaction that all writers queue for, so that the log stays a chain."""

METADATA = sa.MetaData()
VERSIONS = sa.Table("registry_version", METADATA, sa.Column("version", sa.Integer, primary_key=True, autoincrement=False))
RECORDS = sa.Table(
    "registry_records",
    METADATA,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("codes", sa.String(1000), nullable=False),
    sa.Column("population", sa.String(600), nullable=False),
    sa.Column("area", sa.String(600), nullable=False),
    sa.Column("holder", sa.String(200), nullable=False),  # the name as it looks; the body has it as it is written
    sa.Column("key", sa.String(64), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("status", sa.String(12), nullable=False),
    sa.Column("kappa", sa.Float, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.UniqueConstraint("codes", "population", "key", "version", name="registry_one_version"),
    sa.Index("registry_topic", "codes", "population", "status"),
    sa.Index("registry_population", "population", "status", "codes"),
    sa.Index("registry_area", "codes", "area", "status", "population", "kappa"),
    sa.Index("registry_key", "key", "status"),
    sa.Index("registry_holder", "holder", "key"),
)
STATEMENTS = sa.Table(
    "registry_statements",
    METADATA,
    sa.Column("key", sa.String(64), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("subject", sa.String(64), nullable=False, index=True),
    sa.Column("body", sa.Text, nullable=False),
)
LOG = sa.Table(
    "registry_log",
    METADATA,
    sa.Column("line", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=False),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("subject", sa.String(64), nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
)
TOKENS = sa.Table(
    "registry_tokens",
    METADATA,
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("label", sa.String(120), nullable=False),
    sa.Column("holder", sa.String(200)),  # the only name, as it looks, that it may publish under
    sa.Column("key", sa.String(64)),  # the only key
)
NAMES = sa.Table(
    "registry_names",
    METADATA,
    sa.Column("holder", sa.String(200), primary_key=True),  # the name as it looks
    sa.Column("key", sa.String(64), nullable=False),  # the first key that published under it
)
NOTICES = sa.Table(
    "registry_notices",
    METADATA,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("kind", sa.String(12), nullable=False),
    sa.Column("title", sa.String(200), nullable=False),  # as it looks
    sa.Column("population", sa.String(600), nullable=False),
    sa.Column("key", sa.String(64), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("status", sa.String(12), nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.UniqueConstraint("kind", "title", "population", "key", "version", name="registry_one_notice"),
    sa.Index("registry_notice_place", "status", "population"),
)

SCHEMA = Schema(Versions("registry", VERSION), METADATA, VERSIONS, _LOCK)


def open_database(url: str) -> Engine:
    """The engine of a registry's database; an empty database gets its tables, all or none."""
    return stores.open_store(url, SCHEMA, hint="Write a file name, or postgresql://…")
