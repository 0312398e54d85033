"""Where the service keeps records: SQLite by default, PostgreSQL by URL; an append-only, hash-chained log beside them.

Takes    signed records and statements
Returns  them again, by topic; pages of the log
Keeps    nothing is ever deleted: superseded and revoked records stay, marked; each log line carries the hash of the one before
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, EngineError, TamperError, need
from shoal.registry.record import LARGEST_BYTES, Record
from shoal.registry.trust import Statement
from shoal.release.sign import canonical

try:
    import sqlalchemy as sa
except ImportError:
    raise need("server", "sqlalchemy") from None

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

META = sa.MetaData()
RECORDS = sa.Table(
    "registry_records",
    META,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("codes", sa.String(1000), nullable=False),
    sa.Column("population", sa.String(600), nullable=False),
    sa.Column("holder", sa.String(200), nullable=False),
    sa.Column("key", sa.String(64), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("status", sa.String(12), nullable=False),
    sa.Column("kappa", sa.Float, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.UniqueConstraint("codes", "population", "key", "version", name="registry_one_version"),
    sa.Index("registry_topic", "codes", "population", "status"),
    sa.Index("registry_population", "population", "status"),
)
STATEMENTS = sa.Table(
    "registry_statements",
    META,
    sa.Column("key", sa.String(64), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("subject", sa.String(64), nullable=False, index=True),
    sa.Column("body", sa.Text, nullable=False),
)
LOG = sa.Table(
    "registry_log",
    META,
    sa.Column("line", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=False),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("subject", sa.String(64), nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
)
TOKENS = sa.Table(
    "registry_tokens",
    META,
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("label", sa.String(120), nullable=False),
)
START = "0" * 64


def link(previous: str, line: int, kind: str, subject: str, digest: str) -> str:
    """Hash of one log line over the hash of the line before."""
    return hashlib.sha256(canonical([previous, line, kind, subject, digest])).hexdigest()


class Store:
    """Records, statements and log in a database."""

    def __init__(self, url: str = "sqlite://") -> None:
        try:
            self.engine: Engine = sa.create_engine(_driver(url), **_options(url))
            if self.engine.dialect.name == "sqlite":
                sa.event.listen(self.engine, "connect", _sqlite_settings)
            META.create_all(self.engine)
        except sa.exc.SQLAlchemyError as error:
            raise EngineError(
                f"the registry's database cannot be opened: {type(error).__name__}.", hint="Check the URL."
            ) from None

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """One writer at a time, so that the log stays a chain."""
        with self.engine.begin() as connection:
            if self.engine.dialect.name == "postgresql":
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(7461)"))
            else:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection

    def submit(self, record: Record) -> Record:
        """Take a record: verified, not seen before, the next version of its holder's topic."""
        return self.submit_many([record])[0]

    def submit_many(self, records: Sequence[Record]) -> list[Record]:
        """Take several records, all or none."""
        bodies = [canonical(record.verify().to_json()).decode("utf-8") for record in records]
        if any(len(body.encode("utf-8")) > LARGEST_BYTES for body in bodies):
            raise DataError("the record is larger than a record can be.")
        with self._writing() as db:
            for record, body in zip(records, bodies, strict=True):
                self._take(db, record, body)
        return list(records)

    def _take(self, db: Connection, record: Record, body: str) -> None:
        self._check_new(db, record)
        topic = (RECORDS.c.codes == _codes(record.codes)) & (RECORDS.c.population == str(record.population))
        mine = topic & (RECORDS.c.key == record.key) & (RECORDS.c.status == "current")
        db.execute(sa.update(RECORDS).where(mine).values(status="superseded"))
        row: dict[str, Any] = {"id": record.id, "codes": _codes(record.codes), "population": str(record.population)}
        row |= {"holder": record.holder, "key": record.key, "version": record.version, "status": "current", "body": body}
        db.execute(sa.insert(RECORDS).values(**row, kappa=record.summary.statistics["kappa"].value))
        self._append(db, "record", record.id, body)

    def _check_new(self, db: Connection, record: Record) -> None:
        if db.scalar(sa.select(RECORDS.c.id).where(RECORDS.c.id == record.id)):
            raise DataError("this record was submitted before.", hint="Nothing needs to be done.")
        if self._revoked(db, record.key):
            raise TamperError("the key of this record was revoked.", hint="Publish under a new, endorsed key.")
        latest = db.execute(
            sa.select(RECORDS.c.version, RECORDS.c.id)
            .where(
                RECORDS.c.codes == _codes(record.codes),
                RECORDS.c.population == str(record.population),
                RECORDS.c.key == record.key,
            )
            .order_by(RECORDS.c.version.desc())
            .limit(1)
        ).first()
        expected = (1, None) if latest is None else (latest.version + 1, latest.id)
        if (record.version, record.supersedes) != expected:
            raise DataError(
                f"version {record.version} was submitted where version {expected[0]} is next.",
                hint="Old records cannot be put back; publish the next version.",
            )

    def state(self, statement: Statement) -> Statement:
        """Take an endorsement or revocation; numbers of one key must rise, so nothing can be replayed."""
        body = canonical(statement.verify().to_json()).decode("utf-8")
        with self._writing() as db:
            last = db.scalar(sa.select(sa.func.max(STATEMENTS.c.number)).where(STATEMENTS.c.key == statement.key)) or 0
            if statement.number != last + 1:
                raise DataError(
                    f"statement {statement.number} came where {last + 1} is next.", hint="A statement cannot be replayed."
                )
            if self._revoked(db, statement.key):
                raise TamperError("the key of this statement was revoked.")
            if statement.kind == "revoke-record":
                self._revoke_record(db, statement)
            db.execute(
                sa.insert(STATEMENTS).values(
                    key=statement.key, number=statement.number, kind=statement.kind, subject=statement.subject, body=body
                )
            )
            self._append(db, statement.kind, statement.subject[:64], body)
        return statement

    def _revoke_record(self, db: Connection, statement: Statement) -> None:
        owner = db.scalar(sa.select(RECORDS.c.key).where(RECORDS.c.id == statement.subject))
        if owner != statement.key:
            raise TamperError(
                "only the holder that signed a record can revoke it.", hint="Publish a record of your own: a dispute shows both."
            )
        db.execute(sa.update(RECORDS).where(RECORDS.c.id == statement.subject).values(status="revoked"))

    @staticmethod
    def _revoked(db: Connection, key: str) -> bool:
        own = sa.select(STATEMENTS.c.key).where(
            STATEMENTS.c.kind == "revoke-key", STATEMENTS.c.subject == key, STATEMENTS.c.key == key
        )
        return db.scalar(own) is not None

    def _append(self, db: Connection, kind: str, subject: str, body: str) -> None:
        last = db.execute(sa.select(LOG.c.line, LOG.c.hash).order_by(LOG.c.line.desc()).limit(1)).first()
        line, previous = (last.line + 1, last.hash) if last else (1, START)
        digest = hashlib.sha256(body.encode("utf-8")).hexdigest()
        db.execute(
            sa.insert(LOG).values(
                line=line, kind=kind, subject=subject, digest=digest, hash=link(previous, line, kind, subject, digest)
            )
        )

    def get(self, identity: str) -> tuple[Record, str] | None:
        """A record and its status."""
        with self.engine.connect() as db:
            row = db.execute(sa.select(RECORDS.c.body, RECORDS.c.status).where(RECORDS.c.id == identity)).first()
        return (Record.from_json(json.loads(row.body)), row.status) if row else None

    def topic(self, codes: Sequence[str], population: str) -> list[Record]:
        """Current records about one quasi-identifier in one population."""
        where = (RECORDS.c.codes == _codes(codes), RECORDS.c.population == population, RECORDS.c.status == "current")
        return self._records(sa.select(RECORDS.c.body).where(*where).order_by(RECORDS.c.id))

    def population(self, population: str) -> list[Record]:
        """Current records about one population."""
        where = (RECORDS.c.population == population, RECORDS.c.status == "current")
        return self._records(sa.select(RECORDS.c.body).where(*where).order_by(RECORDS.c.id))

    def page(self, *, after: str = "", limit: int = 100) -> list[Record]:
        """Current records in order of their id, ``limit`` at a time."""
        where = (RECORDS.c.status == "current", RECORDS.c.id > after)
        return self._records(sa.select(RECORDS.c.body).where(*where).order_by(RECORDS.c.id).limit(limit))

    def kappas(self, codes: Sequence[str], *, limit: int = 500) -> dict[str, float]:
        """κ of current records of the same quasi-identifier anywhere, by record id."""
        where = (RECORDS.c.codes == _codes(codes), RECORDS.c.status == "current")
        with self.engine.connect() as db:
            rows = db.execute(sa.select(RECORDS.c.id, RECORDS.c.kappa).where(*where).limit(limit))
            return {row.id: row.kappa for row in rows}

    def add_token(self, label: str) -> str:
        """A new token that may publish; only its hash is kept, so it is shown once."""
        token = secrets.token_urlsafe(32)
        with self._writing() as db:
            db.execute(sa.insert(TOKENS).values(digest=_digest(token), label=label[:120]))
        return token

    def knows_token(self, token: str) -> bool:
        """Whether a token may publish; compared by its hash, so timing tells nothing of it."""
        with self.engine.connect() as db:
            return db.scalar(sa.select(TOKENS.c.label).where(TOKENS.c.digest == _digest(token))) is not None

    def _records(self, query: sa.Select[Any]) -> list[Record]:
        with self.engine.connect() as db:
            return [Record.from_json(json.loads(row.body)) for row in db.execute(query)]

    def statements(self) -> list[Statement]:
        with self.engine.connect() as db:
            rows = db.execute(sa.select(STATEMENTS.c.body).order_by(STATEMENTS.c.key, STATEMENTS.c.number))
            return [Statement.from_json(json.loads(row.body)) for row in rows]

    def log(self, *, after: int = 0, limit: int = 1000) -> list[dict[str, Any]]:
        with self.engine.connect() as db:
            rows = db.execute(sa.select(LOG).where(LOG.c.line > after).order_by(LOG.c.line).limit(limit))
            return [dict(row._mapping) for row in rows]

    def head(self) -> tuple[int, str]:
        """Number and hash of the last log line: what an outside anchor keeps, and the ETag of every answer."""
        with self.engine.connect() as db:
            row = db.execute(sa.select(LOG.c.line, LOG.c.hash).order_by(LOG.c.line.desc()).limit(1)).first()
        return (row.line, row.hash) if row else (0, START)


def _digest(token: str) -> str:
    return hashlib.sha256(b"shoal registry token|" + token.encode("utf-8", "surrogatepass")).hexdigest()


def _codes(codes: Sequence[str]) -> str:
    return ",".join(codes)


def _driver(url: str) -> str:
    return "postgresql+psycopg" + url[len("postgresql") :] if url.startswith("postgresql:") else url


def _options(url: str) -> dict[str, Any]:
    if url in ("sqlite://", "sqlite:///:memory:"):
        return {"poolclass": sa.pool.StaticPool, "connect_args": {"check_same_thread": False}}
    return {"pool_pre_ping": True}


def _sqlite_settings(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions are begun by hand
    for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=10000"):
        connection.execute(f"PRAGMA {setting}")
