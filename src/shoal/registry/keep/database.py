"""The tables of a registry's database, and their version."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

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


def _texts(length: int, *names: str) -> list[sa.Column[Any]]:
    """Columns of texts up to a length, which always have a value."""
    return [sa.Column(name, sa.String(length), nullable=False) for name in names]


def _key(name: str, kind: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, primary_key=True, autoincrement=False)


def _required(name: str, kind: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False)


RECORDS = sa.Table(
    "registry_records",
    METADATA,
    sa.Column("id", sa.String(64), primary_key=True),
    *_texts(1000, "codes"),
    *_texts(600, "population", "area"),
    *_texts(200, "holder"),  # the name as it looks; the body has it as it is written
    *_texts(64, "key"),
    _required("version", sa.Integer),
    *_texts(12, "status"),
    _required("kappa", sa.Float),
    _required("body", sa.Text),
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
    _key("number", sa.Integer),
    *_texts(20, "kind"),
    sa.Column("subject", sa.String(64), nullable=False, index=True),
    _required("body", sa.Text),
)
_LINE = sa.BigInteger().with_variant(sa.Integer, "sqlite")
LOG = sa.Table("registry_log", METADATA, _key("line", _LINE), *_texts(20, "kind"), *_texts(64, "subject", "digest", "hash"))
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
    *_texts(12, "kind"),
    *_texts(200, "title"),  # as it looks
    *_texts(600, "population"),
    *_texts(64, "key"),
    _required("version", sa.Integer),
    *_texts(12, "status"),
    _required("body", sa.Text),
    sa.UniqueConstraint("kind", "title", "population", "key", "version", name="registry_one_notice"),
    sa.Index("registry_notice_place", "status", "population"),
)

SCHEMA = Schema(Versions("registry", VERSION), METADATA, VERSIONS, _LOCK)


def open_database(url: str) -> Engine:
    """The engine of a registry's database; an empty database gets its tables, all or none."""
    return stores.open_store(url, SCHEMA, hint="Write a file name, or postgresql://…")
