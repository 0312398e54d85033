"""The database of a workspace: its tables, made where there are none; another version of them is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, EngineError, UsageError, need

try:
    import sqlalchemy as sa
except ImportError:
    raise need("server", "sqlalchemy") from None

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

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


def open_database(url: str) -> Engine:
    """The engine of a workspace's database; an empty database gets its tables, all or none."""
    engine = connect(url)
    try:
        with writing(engine) as db:
            if not sa.inspect(db).has_table(VERSIONS.name):
                VERSIONS.create(db)
                db.execute(VERSIONS.insert().values(version=VERSION))
            found = db.execute(sa.select(VERSIONS.c.version)).scalar()
            if found == VERSION:
                METADATA.create_all(db)
    except sa.exc.SQLAlchemyError as error:
        engine.dispose()
        raise EngineError(f"the studio's database cannot be opened: {type(error).__name__}.", hint="Check the URL.") from None
    if found != VERSION:
        engine.dispose()
        raise DataError(
            f"the workspace is of version {found}; this program knows version {VERSION}.",
            hint="Use the version of Shoal that made it, or name another folder.",
        )
    return engine


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that all writers queue for."""
    with engine.begin() as db:
        if engine.dialect.name == "postgresql":
            db.execute(sa.text("SELECT pg_advisory_xact_lock(7462)"))
        else:
            db.exec_driver_sql("BEGIN IMMEDIATE")
        yield db


def connect(url: str) -> Engine:
    driver = "postgresql+psycopg" + url[len("postgresql") :] if url.startswith("postgresql:") else url
    try:
        engine = sa.create_engine(driver, **({} if url.startswith("sqlite") else {"pool_pre_ping": True}))
    except (sa.exc.ArgumentError, ImportError):
        raise UsageError("this is not a database URL.", hint="Write postgresql://…, or leave --store out.") from None
    if engine.dialect.name not in ("sqlite", "postgresql"):
        engine.dispose()
        raise UsageError("a workspace is kept in SQLite or PostgreSQL.", hint="Write postgresql://…, or leave --store out.")
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", _sqlite_settings)
    return engine


def _sqlite_settings(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions are begun by hand
    for setting in ("busy_timeout=60000", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
        connection.execute(f"PRAGMA {setting}")
