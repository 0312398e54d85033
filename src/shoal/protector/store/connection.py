"""Connections to the database of a vault, and its errors in our words."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import EngineError, TamperError, UsageError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine


WAIT = 60
"""Seconds that a writer waits for another one on SQLite."""
PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "secure_delete=ON",
    "temp_store=MEMORY",
    "cache_size=-524288",
    "wal_autocheckpoint=8000",  # each one makes a commit wait for the disk: seldom enough to stay out of the 99th percentile
)


def connect(place: str | Path) -> Engine:
    """An engine for a path (SQLite) or a PostgreSQL URL."""
    from shoal import stores

    text = str(place)
    if "://" not in text:
        file = Path(text)
        _make_private(file)
        return stores.connect(f"sqlite:///{file}", pragmas=PRAGMAS, connect_args={"timeout": WAIT}, hide_parameters=True)
    scheme, rest = text.split("://", 1)
    if scheme.split("+")[0] not in ("postgresql", "postgres"):
        hint = "Give a file path (SQLite), or a URL postgresql://…"
        raise UsageError(f"a vault cannot live in '{scheme}'.", hint=hint, scheme=scheme)
    if "key=" in rest.lower().replace("sslkey=", ""):
        raise UsageError("the vault's URL contains a key: keys in configuration are refused.", hint="Use keys.from_env().")
    pool: dict[str, Any] = {"pool_size": 8, "max_overflow": 24, "pool_pre_ping": False}
    return stores.connect(f"postgresql://{rest}", on_connect=_require_own_names, hide_parameters=True, **pool)


def describe(place: str | Path) -> str:
    """The place of a vault without a password.

    >>> describe("postgresql://ann:pw@db:5432/vault?sslmode=require")
    'postgresql://db:5432/vault'
    """
    text = str(place)
    if "://" not in text:
        return f"'{Path(text).name}'"
    scheme, rest = text.split("://", 1)
    return f"{scheme}://{rest.split('?')[0].rsplit('@', 1)[-1]}"


def _require_own_names(connection: Any, record: Any) -> None:
    """Refuse a server whose settings let somebody's functions stand in for PostgreSQL's own (``search_path``)."""
    (path,) = connection.execute("SHOW search_path").fetchone()
    connection.rollback()
    if "pg_catalog" in str(path):
        hint = "Take pg_catalog out of it."
        raise TamperError("the database's search_path puts other functions before PostgreSQL's own.", hint=hint)


def _make_private(file: Path) -> None:
    """Let the database file exist with mode 0600 before SQLite opens it."""
    try:
        os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise EngineError(f"the vault file '{file.name}' cannot be opened: {error.strerror}.") from None


@contextlib.contextmanager
def engine_errors() -> Iterator[None]:
    """Driver errors as ShoalErrors, without statements or values."""
    from sqlalchemy.exc import DatabaseError, OperationalError, SQLAlchemyError

    try:
        yield
    except DatabaseError as error:
        raise _refusal(error.orig, operational=isinstance(error, OperationalError)) from None
    except SQLAlchemyError as error:
        raise EngineError(f"the vault's database refused ({type(error).__name__}).") from None
    except sqlite3.DatabaseError as error:  # work done often goes past SQLAlchemy
        raise _refusal(error, operational=isinstance(error, sqlite3.OperationalError)) from None


def _refusal(error: Any, *, operational: bool) -> EngineError | TamperError:
    """A driver's error in our words."""
    text = str(error)
    if "malformed" in text or "not a database" in text or (operational and "disk I/O" in text):
        return TamperError("the vault's database file is damaged.", hint="Restore it from a trusted copy.")
    hint = ""
    if operational:
        hint = "Another writer holds it; try again." if "locked" in text else "Is the server running, and the disk not full?"
    return EngineError(f"the vault's database refused ({type(error).__name__}).", hint=hint)


def blob(cell: Any) -> bytes:
    """A cell as bytes; a damaged one that holds none reads as empty, which nothing opens.

    >>> blob(memoryview(b"ab")), blob("text put in from outside"), blob(None)
    (b'ab', b'', b'')
    """
    return bytes(cell) if isinstance(cell, bytes | bytearray | memoryview) else b""


def execute(connection: Connection, dialect: str, statement: str, *values: object) -> Any:
    """Run a statement written with question marks; on SQLite straight through the driver, which saves a third of the time."""
    if dialect == "sqlite":
        driver: Any = connection.connection.driver_connection
        return driver.execute(statement, values)
    return connection.exec_driver_sql(statement.replace("?", "%s"), values)


def forget_history(connection: Connection, dialect: str) -> None:
    """Empty SQLite's write-ahead log: pages written one after the other would show a thief how many people there are.

    Somebody who still reads an older state hinders it; then the next transaction that writes people does it.
    """
    if dialect != "sqlite":
        return
    with contextlib.suppress(sqlite3.OperationalError):  # what was to be stored is stored
        for statement in ("PRAGMA busy_timeout=20", "PRAGMA wal_checkpoint(TRUNCATE)"):
            execute(connection, dialect, statement).fetchall()
    execute(connection, dialect, f"PRAGMA busy_timeout={1000 * WAIT}").fetchall()
