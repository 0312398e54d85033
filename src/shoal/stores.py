"""The SQL databases of Shoal's stores (vault, registry, workspace, users): SQLite or PostgreSQL, with versions and migrations.

Every store declares a :class:`Schema`: its tables in the newest version, and for each older version the migration that leads to
the next. :func:`open_store` makes the tables of a new store, or applies the migrations that are missing in one transaction: a
database is never left halfway. A store that a newer Shoal has written is refused.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from shoal.errors import DataError, EngineError, UsageError, refuse

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

__all__ = ["Schema", "Versions", "connect", "open_store", "sa", "writing"]

WAIT = 60
"""Seconds that SQLite waits for another connection."""
PRAGMAS = (f"busy_timeout={1000 * WAIT}", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")
Migration = Callable[["Connection"], None]


@dataclass(frozen=True)
class Versions:
    """The versions of a store: ``newest``, and ``migrations[n]``, which turns version n - 1 into version n."""

    store: str
    newest: int
    migrations: Mapping[int, Migration] = field(default_factory=dict)

    def missing(self, version: int) -> list[int]:
        """The migrations that lead from ``version`` to the newest; a version without such a path is refused."""
        if version > self.newest:
            raise DataError(
                f"the {self.store} was written by a newer version of Shoal (version {version} of its tables; this program "
                f"reads up to {self.newest}).",
                hint="Upgrade Shoal.",
            )
        steps = list(range(version + 1, self.newest + 1))
        if any(step not in self.migrations for step in steps):
            raise DataError(
                f"the {self.store} has version {version} of its tables, which is older than Shoal 0.3.0 wrote.",
                hint="Use the version of Shoal that made it.",
            )
        return steps

    def apply(self, db: Connection, version: int) -> None:
        """Bring the tables from ``version`` to the newest, in the caller's transaction."""
        for step in self.missing(version):
            self.migrations[step](db)


@dataclass(frozen=True)
class Schema:
    """The tables of a store. ``version_table`` has one row, the version.

    ``unversioned`` is the version of a database that has this store's tables but not that one. ``lock`` is the number of the
    advisory lock that all writers take on PostgreSQL.
    """

    versions: Versions
    metadata: sa.MetaData
    version_table: sa.Table
    lock: int
    unversioned: int = 0

    def version(self, db: Connection) -> int | None:
        """The version of a database; None if it has no table of this store."""
        present = set(sa.inspect(db).get_table_names())
        if self.version_table.name in present:
            return int(db.execute(sa.select(self.version_table.c.version)).scalar() or 0)
        return self.unversioned if present & set(self.metadata.tables) else None

    def prepare(self, engine: Engine) -> None:
        """Make the tables, or bring them up to date: all or nothing."""
        with engine.connect() as db:
            if self.version(db) == self.versions.newest and self._complete(db):
                return
        with writing(engine, self.lock) as db:
            version = self.version(db)  # another process may have been faster
            if version is not None:
                self.versions.apply(db, version)
            self.metadata.create_all(db)
            db.execute(self.version_table.delete())
            db.execute(self.version_table.insert().values(version=self.versions.newest))

    def _complete(self, db: Connection) -> bool:
        return set(self.metadata.tables) <= set(sa.inspect(db).get_table_names())


def open_store(url: str, schema: Schema, *, hint: str, pragmas: Sequence[str] = PRAGMAS) -> Engine:
    """The engine of a store whose tables are there and of the newest version."""
    engine = connect(url, hint=hint, pragmas=pragmas)
    try:
        schema.prepare(engine)
    except sa.exc.SQLAlchemyError as error:
        engine.dispose()
        name = schema.versions.store
        raise EngineError(f"the {name}'s database cannot be opened: {type(error).__name__}.", hint="Check the URL.") from None
    except DataError:
        engine.dispose()
        raise
    return engine


def connect(
    url: str,
    *,
    hint: str = "Write a file name, or postgresql://…",
    pragmas: Sequence[str] = PRAGMAS,
    on_connect: Callable[[Any, Any], None] | None = None,
    **options: Any,
) -> Engine:
    """An engine for an SQLite or PostgreSQL URL; nothing is read yet. ``on_connect`` runs for every new connection."""
    scheme, _, rest = url.partition(":")
    if scheme in ("postgresql", "postgres"):
        url = f"postgresql+psycopg:{rest}"
        options.setdefault("pool_pre_ping", True)
    elif url in ("sqlite://", "sqlite:///:memory:"):
        options |= {"poolclass": sa.pool.StaticPool, "connect_args": {"check_same_thread": False}}
    with refuse(UsageError("this is not a database URL.", hint=hint), sa.exc.ArgumentError, ImportError):
        engine = sa.create_engine(url, **options)
    if engine.dialect.name not in ("sqlite", "postgresql"):
        engine.dispose()
        raise UsageError(f"'{scheme}' is not a database for this: only SQLite and PostgreSQL are.", hint=hint)

    def set_pragmas(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions are begun by hand
        for setting in pragmas:
            _set(connection, f"PRAGMA {setting}")

    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", set_pragmas)
    if on_connect is not None:
        sa.event.listen(engine, "connect", on_connect)
    return engine


def _set(connection: sqlite3.Connection, pragma: str) -> None:
    """Run a pragma, waiting for others: SQLite refuses to change to a write-ahead log at once while another connection begins to
    write, whatever ``busy_timeout`` says."""
    ends = time.monotonic() + WAIT
    while True:
        try:
            connection.execute(pragma).fetchall()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > ends:
                raise
            time.sleep(0.02)


@contextmanager
def writing(engine: Engine, lock: int) -> Iterator[Connection]:
    """A transaction that all writers of a store queue for."""
    with engine.begin() as db:
        if engine.dialect.name == "postgresql":
            db.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": lock})
        else:
            db.exec_driver_sql("BEGIN IMMEDIATE")
        yield db
