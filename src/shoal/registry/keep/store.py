"""Where the service keeps records: SQLite by default, PostgreSQL by URL; an append-only, hash-chained log beside them.

Takes    signed records and statements
Returns  them again, by topic; pages of the log
Keeps    nothing is ever deleted: superseded and revoked records stay, marked; each log line carries the hash of the one before
Speed    frequent questions are read by plain SQL on the driver's own connection; bodies were checked when they were taken
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from threading import local
from typing import TYPE_CHECKING, Any

from shoal.errors import AccessError, DataError, EngineError, TamperError
from shoal.kernels.signatures import canonical
from shoal.model.roles import look
from shoal.registry.keep import submissions
from shoal.registry.keep.database import TOKENS, open_database, sa, writing
from shoal.registry.keep.submissions import EVERYTHING, HEAD, MINE, NAMES, OWNER, SAID, append, revoked, run
from shoal.registry.records.chain import START
from shoal.registry.records.notice import Notice
from shoal.registry.records.population import key_of
from shoal.registry.records.record import LARGEST_BYTES, Record, check_key
from shoal.registry.records.trust import Statement

if TYPE_CHECKING:
    from sqlalchemy import PoolProxiedConnection

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
_REVOKE_ALL = (
    "UPDATE registry_records SET status = 'revoked' WHERE key = ? AND status = 'current'",
    "UPDATE registry_notices SET status = 'revoked' WHERE key = ? AND status = 'current'",
)
_REVOKE = (
    "UPDATE registry_records SET status = 'revoked' WHERE id = ? AND key = ? RETURNING id",
    "UPDATE registry_notices SET status = 'revoked' WHERE id = ? AND key = ? RETURNING id",
)
_STATE = "INSERT INTO registry_statements (key, number, kind, subject, body) VALUES (?, ?, ?, ?, ?)"
_NAMESAKES = (
    "SELECT key FROM registry_records WHERE holder = ? AND key < ? LIMIT 1",
    "SELECT key FROM registry_records WHERE holder = ? AND key > ? LIMIT 1",
)
_NOTICED = "SELECT body, status FROM registry_notices WHERE id > ? ORDER BY id LIMIT ?"
_NOTICES = (
    "SELECT body FROM registry_notices WHERE status = 'current' AND population LIKE ? ESCAPE '!' ORDER BY population, id LIMIT ?"
)
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

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
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
        with writing(self.engine) as db:
            for record, body in zip(records, bodies, strict=True):
                topic = (_codes(record.codes), record.population.key, record.key)
                columns = (record.population.area.casefold(), look(record.holder), record.summary.statistics["kappa"].value)
                submissions.take(db, "record", record, body, topic, *columns)
        return list(records)

    def state(self, statement: Statement) -> Statement:
        """Take an endorsement or revocation; numbers of one key must rise, so nothing can be replayed."""
        body = canonical(statement.verify().to_json()).decode("utf-8")
        submissions.check_time(statement.date)
        with writing(self.engine) as db:
            due = int(run(db, _NEXT, statement.key)[0][0] or 0) + 1
            if statement.number != due:
                raise DataError(f"statement {statement.number} came where {due} is next.", hint="A statement cannot be replayed.")
            if revoked(db, statement.key):
                raise TamperError("the key of this statement was revoked.")
            if statement.kind == "revoke-record" and not any(
                run(db, query, statement.subject, statement.key) for query in _REVOKE
            ):
                hint = "Publish a record of your own: a dispute shows both."
                raise TamperError("only the holder that signed a record can revoke it.", hint=hint)
            if statement.kind == "revoke-key" and statement.subject == statement.key:
                for query in _REVOKE_ALL:
                    run(db, query, statement.key)
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
        rows = self.rows(MINE["record"], _codes(codes), key_of(population), key)
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
        records = [Record.stored(body) for (body,) in self.rows(_LISTED, _containing(text), limit)]
        return [(str(r.population), r.codes) for r in records]

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

    def check_name(self, holder: str, key: str) -> None:
        """Refuse a name that belongs to another key, before anything is counted; :meth:`submit` refuses it for certain."""
        owner = self.rows(OWNER, look(holder)) or submissions.owner_of_like(self.rows(NAMES), look(holder))
        submissions.check_owner(owner, key, lambda: self.rows(SAID, *EVERYTHING))

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


def _codes(codes: Sequence[str]) -> str:
    return ",".join(codes)


class Notices:
    """The catalogue of a store: notices of what holders hold and ask for, taken like records, in the same log."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def submit(self, notice: Notice) -> Notice:
        """Take a notice: verified, not seen before, the next version of its holder's title."""
        body = canonical(notice.verify().to_json()).decode("utf-8")
        with writing(self._store.engine) as db:
            submissions.take(db, "notice", notice, body, (*notice.topic, notice.key))
        return notice

    def latest(self, notice: Notice) -> Notice | None:
        """The newest notice of the same key, kind, title and population, withdrawn or not."""
        rows = self._store.rows(MINE["notice"], *notice.topic, notice.key)
        return Notice.from_json(json.loads(rows[0][0])) if rows else None

    def history(self, *, after: str = "", limit: int = 100) -> list[tuple[Notice, str]]:
        """Notices ever taken, with their status, in order of their id."""
        return [(Notice.from_json(json.loads(body)), status) for body, status in self._store.rows(_NOTICED, after, limit)]

    def current(self, text: str = "", *, limit: int = 1000) -> list[Notice]:
        """Current notices about populations whose name contains the text."""
        return [Notice.from_json(json.loads(body)) for (body,) in self._store.rows(_NOTICES, _containing(text), limit)]


def _containing(text: str) -> str:
    """What LIKE is asked with for names that contain a text."""
    return "%" + "".join(f"!{c}" if c in "!%_" else c for c in text.casefold()) + "%"


class Tokens:
    """The tokens of one registry; only their hashes are kept, so timing tells nothing of them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, label: str, *, holder: str = "", key: str = "") -> str:
        """A new token, shown once: for ``holder`` and ``key``, or for those of the first record under it."""
        token = secrets.token_urlsafe(32)
        row = {"digest": _digest(token), "label": label[:120], "holder": look(holder) or None}
        row["key"] = check_key(key) if key else None
        with writing(self._store.engine) as db:
            db.execute(TOKENS.insert().values(**row))
        return token

    def knows(self, token: str) -> bool:
        """Whether a token may publish at all."""
        with self._store.engine.connect() as db:
            return db.execute(sa.select(TOKENS.c.label).where(TOKENS.c.digest == _digest(token))).first() is not None

    def admit_record(self, token: str, record: Record | Notice) -> None:
        """Refuse a record or notice under another name or key than the token's, or under a name that belongs to another key."""
        self._store.check_name(record.holder, record.key)
        self._bind(token, record.key, look(record.holder))

    def admit_statement(self, token: str, statement: Statement) -> None:
        """Refuse a statement of another key than the token's."""
        self._bind(token, statement.key, None)

    def _bind(self, token: str, key: str, holder: str | None) -> None:
        """Settle what the token left open; refuse where it says otherwise."""
        mine = TOKENS.c.digest == _digest(token)
        with writing(self._store.engine) as db:
            row = db.execute(sa.select(TOKENS.c.holder, TOKENS.c.key).where(mine)).first()
            for what, bound, given in (("holder", row and row.holder, holder), ("key", row and row.key, key)):
                if bound is not None and given is not None and bound != given:
                    hint = "Ask the operator of the registry for a token of your own."
                    raise AccessError(f"this token publishes for another {what}.", hint=hint)
            if row is not None and (row.key is None or (row.holder is None and holder is not None)):
                db.execute(TOKENS.update().where(mine).values(key=key, holder=row.holder or holder))


def _digest(token: str) -> str:
    return hashlib.sha256(b"shoal registry token|" + token.encode("utf-8", "surrogatepass")).hexdigest()
