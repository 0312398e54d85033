"""Where the service keeps records: SQLite by default, PostgreSQL by URL; an append-only, hash-chained log beside them.

Takes    signed records and statements
Returns  them again, by topic; pages of the log
Keeps    nothing is ever deleted: superseded and revoked records stay, marked; each log line carries the hash of the one before
Speed    frequent questions are read by plain SQL on the driver's own connection; bodies were checked when they were taken
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from threading import local
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, EngineError, TamperError
from shoal.kernels.signatures import canonical
from shoal.model.roles import look
from shoal.registry.keep.database import open_database, writing
from shoal.registry.keep.notices import Notices, withdraw, withdraw_all
from shoal.registry.keep.submissions import (
    EVERYTHING,
    HEAD,
    NAMES,
    OWNER,
    SAID,
    Tokens,
    append,
    check_key_stands,
    check_next,
    check_owner,
    check_time,
    owner_of_like,
    revoked,
    run,
    take_name,
)
from shoal.registry.records.chain import START
from shoal.registry.records.population import key_of
from shoal.registry.records.record import LARGEST_BYTES, Record
from shoal.registry.records.trust import Statement

if TYPE_CHECKING:
    from sqlalchemy import Connection, PoolProxiedConnection

_TOPIC = "SELECT body FROM registry_records WHERE codes = ? AND population = ? AND status = 'current' ORDER BY id LIMIT 1000"
_CODES = "SELECT DISTINCT codes FROM registry_records WHERE population = ? AND status = 'current' ORDER BY codes LIMIT 1000"
_NEAR = (
    "SELECT population, kappa FROM registry_records WHERE codes = ? AND area = ? AND status = 'current' {keys}"
    "ORDER BY population, kappa LIMIT ?"
)
_HOLDERS = "SELECT DISTINCT key FROM registry_records WHERE population = ? AND status = 'current' ORDER BY key LIMIT ?"
_PAGE = "SELECT body FROM registry_records WHERE id > ? AND status = 'current' ORDER BY id LIMIT ?"
_LISTED = (
    "SELECT body FROM registry_records WHERE status = 'current' AND population LIKE ? ESCAPE '!' "
    "ORDER BY population, codes LIMIT ?"
)
_EVER = "SELECT body, status FROM registry_records WHERE id > ? ORDER BY id LIMIT ?"
_ONE = "SELECT body, status FROM registry_records WHERE id = ?"
_LOG = "SELECT line, kind, subject, digest, hash FROM registry_log WHERE line > ? ORDER BY line LIMIT ?"
_NEXT = "SELECT max(number) FROM registry_statements WHERE key = ?"
_SUPERSEDE = (
    "UPDATE registry_records SET status = 'superseded' WHERE codes = ? AND population = ? AND key = ? AND status = 'current'"
)
_REVOKE_ALL = "UPDATE registry_records SET status = 'revoked' WHERE key = ? AND status = 'current'"
_INSERT = (
    "INSERT INTO registry_records (id, codes, population, key, area, holder, version, status, kappa, body) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_STATE = "INSERT INTO registry_statements (key, number, kind, subject, body) VALUES (?, ?, ?, ?, ?)"
_NAMESAKES = (
    "SELECT key FROM registry_records WHERE holder = ? AND key < ? LIMIT 1",
    "SELECT key FROM registry_records WHERE holder = ? AND key > ? LIMIT 1",
)
_MINE = "SELECT body FROM registry_records WHERE codes = ? AND population = ? AND key = ? ORDER BY version DESC LIMIT 1"
_MOST_KEYS = 10_000
"""Keys that one reading is limited to: more than any database takes are not asked for."""


class Store:
    """Records, statements and log in a database. ``local`` tells that reading is quicker than changing threads."""

    def __init__(self, url: str = "sqlite://") -> None:
        self.engine = open_database(url)
        self.local = self.engine.dialect.name == "sqlite"
        self._held = local()
        self.tokens = Tokens(self)
        self.notices = Notices(self)

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """One writer at a time, so that the log stays a chain."""
        with writing(self.engine) as db:
            yield db

    @contextmanager
    def reading(self) -> Iterator[None]:
        """What this thread reads in the block comes through one connection: taking one costs more than a plain question."""
        if getattr(self._held, "connection", None) is not None:
            yield
            return
        self._held.connection = self._connection()
        try:
            yield
        finally:
            connection, self._held.connection = self._held.connection, None
            connection.close()

    def _connection(self) -> PoolProxiedConnection:
        try:
            return self.engine.raw_connection()
        except self.engine.dialect.loaded_dbapi.Error as error:
            raise _silent(error) from None

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Rows of a query on a plain connection: the one held for a question, else one of the pool."""
        with self.reading():
            try:
                cursor = self._held.connection.cursor()
                cursor.execute(query if self.local else query.replace("?", "%s"), values)
                return list(cursor.fetchall())
            except self.engine.dialect.loaded_dbapi.Error as error:
                raise _silent(error) from None

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
        _check_new(db, record)
        take_name(db, record.holder, record.key)
        topic = (_codes(record.codes), record.population.key, record.key)
        run(db, _SUPERSEDE, *topic)
        kappa = record.summary.statistics["kappa"].value
        area = record.population.area.casefold()
        run(db, _INSERT, record.id, *topic, area, look(record.holder), record.version, "current", kappa, body)
        append(db, "record", record.id, body)

    def state(self, statement: Statement) -> Statement:
        """Take an endorsement or revocation; numbers of one key must rise, so nothing can be replayed."""
        body = canonical(statement.verify().to_json()).decode("utf-8")
        check_time(statement.date)
        with self._writing() as db:
            due = int(run(db, _NEXT, statement.key)[0][0] or 0) + 1
            if statement.number != due:
                raise DataError(f"statement {statement.number} came where {due} is next.", hint="A statement cannot be replayed.")
            if revoked(db, statement.key):
                raise TamperError("the key of this statement was revoked.")
            if statement.kind == "revoke-record":
                _revoke_record(db, statement)
            if statement.kind == "revoke-key" and statement.subject == statement.key:
                run(db, _REVOKE_ALL, statement.key)
                withdraw_all(db, statement.key)
            run(db, _STATE, statement.key, statement.number, statement.kind, statement.subject, body)
            append(db, statement.kind, statement.subject, body)
        return statement

    def next_number(self, key: str) -> int:
        """The number that the next statement of a key must carry."""
        return int(self.rows(_NEXT, key)[0][0] or 0) + 1

    def get(self, identity: str) -> tuple[Record, str] | None:
        """A record and its status."""
        rows = self.rows(_ONE, identity)
        return (Record.stored(rows[0][0]), rows[0][1]) if rows else None

    def topic(self, codes: Sequence[str], population: str) -> list[Record]:
        """Current records about one quasi-identifier in one population."""
        return [Record.stored(body) for (body,) in self.rows(_TOPIC, _codes(codes), key_of(population))]

    def latest(self, codes: Sequence[str], population: str, key: str) -> Record | None:
        """The newest record of one holder's key about a topic, revoked or not."""
        rows = self.rows(_MINE, _codes(codes), key_of(population), key)
        return Record.stored(rows[0][0]) if rows else None

    def codings(self, population: str) -> list[tuple[str, ...]]:
        """Quasi-identifiers of the current records about one population."""
        return [tuple(codes.split(",")) for (codes,) in self.rows(_CODES, key_of(population))]

    def page(self, *, after: str = "", limit: int = 100) -> list[Record]:
        """Current records in order of their id, ``limit`` at a time."""
        return [Record.stored(body) for (body,) in self.rows(_PAGE, after, limit)]

    def history(self, *, after: str = "", limit: int = 100) -> list[tuple[Record, str]]:
        """Records ever taken, with their status, in order of their id."""
        return [(Record.stored(body), status) for body, status in self.rows(_EVER, after, limit)]

    def topics(self, text: str = "", *, limit: int = 1000) -> list[tuple[str, tuple[str, ...]]]:
        """Population and codes of current records whose population contains the text."""
        wanted = "".join(f"!{c}" if c in "!%_" else c for c in text.casefold())
        found = [Record.stored(body) for (body,) in self.rows(_LISTED, f"%{wanted}%", limit)]
        return [(str(r.population), r.codes) for r in found]

    def neighbours(
        self, codes: Sequence[str], area: str, *, limit: int = 500, keys: Collection[str] | None = None
    ) -> list[tuple[str, float]]:
        """Population and κ of current records of the same quasi-identifier directly inside an area, of some keys or of all."""
        some = [] if keys is None else sorted(keys)[:_MOST_KEYS]
        if keys is not None and not some:
            return []
        query = _NEAR.format(keys=f"AND key IN ({', '.join('?' * len(some))}) " if some else "")
        return [(str(p), float(k)) for p, k in self.rows(query, _codes(codes), area.casefold(), *some, limit)]

    def holders(self, population: str, *, limit: int = 100) -> list[str]:
        """Keys that publish about a population."""
        return [str(key) for (key,) in self.rows(_HOLDERS, key_of(population), limit)]

    def namesakes(self, holder: str, key: str) -> bool:
        """Whether another key publishes, or published, under a name that looks the same."""
        return any(self.rows(query, look(holder), key) for query in _NAMESAKES)

    def add_token(self, label: str, *, holder: str = "", key: str = "") -> str:
        """A new token that may publish, for one holder and one key (:mod:`~.keep.tokens`)."""
        return self.tokens.add(label, holder=holder, key=key)

    def knows_token(self, token: str) -> bool:
        """Whether a token may publish."""
        return self.tokens.knows(token)

    def check_name(self, holder: str, key: str) -> None:
        """Refuse a name that belongs to another key, before anything is counted; :meth:`submit` refuses it for certain."""
        check_owner(
            self.rows(OWNER, look(holder)) or owner_of_like(self.rows(NAMES), look(holder)),
            key,
            lambda: self.rows(SAID, *EVERYTHING),
        )

    def statements(self, *, after: tuple[str, int] = ("", 0), limit: int = 10**9) -> list[Statement]:
        """Endorsements and revocations in order of key and number."""
        rows = self.rows(SAID, after[0], after[0], after[1], limit)
        return [Statement.from_json(json.loads(body)) for (body,) in rows]

    def log(self, *, after: int = 0, limit: int = 1000) -> list[dict[str, Any]]:
        names = ("line", "kind", "subject", "digest", "hash")
        return [dict(zip(names, row, strict=True)) for row in self.rows(_LOG, after, limit)]

    def head(self) -> tuple[int, str]:
        """Number and hash of the last log line: what an outside anchor keeps."""
        rows = self.rows(HEAD)
        return (int(rows[0][0]), str(rows[0][1])) if rows else (0, START)


def _silent(error: BaseException) -> EngineError:
    return EngineError(f"the registry's database did not answer: {type(error).__name__}.", hint="See whether it still runs.")


def _check_new(db: Connection, record: Record) -> None:
    if run(db, _ONE, record.id):
        raise DataError("this record was submitted before.", hint="Nothing needs to be done.")
    check_key_stands(db, record.key)
    mine = run(db, _MINE, _codes(record.codes), record.population.key, record.key)
    latest: dict[str, Any] = json.loads(mine[0][0]) if mine else {"version": 0, "id": None, "date": ""}
    check_next((record.version, record.supersedes), latest, record.date)


def _revoke_record(db: Connection, statement: Statement) -> None:
    if withdraw(db, statement.subject, statement.key):
        return
    found = run(db, "SELECT key FROM registry_records WHERE id = ?", statement.subject)
    if not found or found[0][0] != statement.key:
        raise TamperError(
            "only the holder that signed a record can revoke it.", hint="Publish a record of your own: a dispute shows both."
        )
    run(db, "UPDATE registry_records SET status = 'revoked' WHERE id = ?", statement.subject)


def _codes(codes: Sequence[str]) -> str:
    return ",".join(codes)
