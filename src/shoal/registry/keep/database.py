"""The database of a registry: opened, its tables made where there are none, another version of them refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, EngineError, UsageError, need

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine


def open_database(url: str) -> Engine:
    """The engine of a registry's database; an empty database gets its tables, all or none."""
    engine = connect(url)
    try:
        with engine.connect() as db:
            there = _version(db) is not None
        if not there:
            with writing(engine) as db:
                if _version(db) is None:  # another process may have been quicker
                    METADATA.create_all(db)
                    db.execute(VERSIONS.insert().values(version=VERSION))
        with engine.connect() as db:
            _require(_version(db))
    except (sa.exc.SQLAlchemyError, DataError) as error:
        engine.dispose()
        if isinstance(error, DataError):
            raise
        raise EngineError(f"the registry's database cannot be opened: {type(error).__name__}.", hint="Check the URL.") from None
    return engine


def connect(url: str) -> Engine:
    """An engine for a database URL; nothing is read yet."""
    try:
        engine = sa.create_engine(_driver(url), **_options(url))
    except (sa.exc.ArgumentError, ImportError):
        raise UsageError("this is not a database URL.", hint="Write a file name, or postgresql://…") from None
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", _sqlite_settings)
    return engine


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that all writers queue for, so that the log stays a chain."""
    with engine.begin() as db:
        if engine.dialect.name == "postgresql":
            db.execute(sa.text("SELECT pg_advisory_xact_lock(7461)"))
        else:
            db.exec_driver_sql("BEGIN IMMEDIATE")
        yield db


def _version(db: Connection) -> int | None:
    """The version of the tables; None where there is no registry, 0 where tables say nothing of their version."""
    names = set(sa.inspect(db).get_table_names())
    if VERSIONS.name in names:
        return int(db.execute(sa.select(VERSIONS.c.version)).scalar() or 0)
    return 0 if "registry_records" in names else None


def _require(found: int | None) -> None:
    if found != VERSION:
        raise DataError(
            f"the registry has tables of version {found}; this program knows version {VERSION}.",
            hint="Use the version of Shoal that made them.",
        )


def _driver(url: str) -> str:
    return "postgresql+psycopg" + url[len("postgresql") :] if url.startswith("postgresql:") else url


def _options(url: str) -> dict[str, Any]:
    if url in ("sqlite://", "sqlite:///:memory:"):
        return {"poolclass": sa.pool.StaticPool, "connect_args": {"check_same_thread": False}}
    return {} if url.startswith("sqlite") else {"pool_pre_ping": True}


def _sqlite_settings(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions are begun by hand
    for setting in ("busy_timeout=60000", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {setting}")


try:
    import sqlalchemy as sa
except ImportError:
    raise need("server", "sqlalchemy") from None

__all__ = ["LOG", "METADATA", "NAMES", "NOTICES", "RECORDS", "STATEMENTS", "TOKENS", "VERSION", "VERSIONS", "sa"]

VERSION = 3
"""The version of these tables; a registry with tables of another version is refused."""

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
