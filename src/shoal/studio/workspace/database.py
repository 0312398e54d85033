"""The tables of a workspace's database and of the list of users, their versions, and their rows as frozen values."""

from __future__ import annotations

import functools
import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from shoal import stores
from shoal.errors import UsageError
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


State = Literal["queued", "running", "done", "failed", "cancelled", "lost"]
OPEN: tuple[State, ...] = ("queued", "running")
"""States of jobs that are not at their end."""


@dataclass(frozen=True)
class Kept:
    """A table of the workspace. ``told`` is what its card says: numbers and words of the library, no data value."""

    id: str
    name: str
    file: str
    form: str
    bytes: int
    at: int
    made: float
    touched: float
    told: Mapping[str, Any] = field(default_factory=dict)

    @property
    def read(self) -> dict[str, Any]:
        """How a person has it read, as options of :func:`shoal.open`: for as long as no policy says it."""
        return dict(self.told.get("read", {}))


@dataclass(frozen=True)
class Step:
    """One step of a table's history: its words, the whole policy after it, and the columns that a search leaves alone."""

    number: int
    words: str
    policy: str
    locked: tuple[str, ...]
    made: float

    @property
    def version(self) -> str:
        """Differs from that of every other step, also of one that had the same number and was replaced."""
        return f"{self.number}-{int(1e6 * self.made):x}"


@dataclass(frozen=True)
class Job:
    """Work in a worker process. ``found`` is its result, or the best so far; ``message`` and ``hint`` why there is none."""

    id: str
    table_id: str
    kind: str
    state: State
    asked: Mapping[str, Any]
    share: float
    doing: str
    found: Mapping[str, Any]
    message: str
    hint: str
    made: float
    begun: float
    ended: float

    @property
    def open(self) -> bool:
        return self.state in OPEN


@dataclass(frozen=True)
class Made:
    """A release that was written and proven. ``told`` holds what was counted: k, records, left out …"""

    id: str
    table_id: str
    name: str
    made: float
    told: Mapping[str, Any] = field(default_factory=dict)

    @property
    def own_policy(self) -> bool:
        """Whether it is a release of events or of linked tables, whose policy is not that of the table."""
        return "says" in self.told


@dataclass(frozen=True)
class KeptQuestions:
    id: str
    name: str
    at: int
    made: float
    touched: float


Row = TypeVar("Row", Kept, Job, Made, KeptQuestions)
_JSON = {"told", "asked", "found"}


class Rows(Generic[Row]):
    """One table of the database, its rows as values of ``kind``; the newest by the column ``newest`` comes first."""

    def __init__(self, engine: Engine, table: sa.Table, kind: type[Row], what: str, *, newest: str, home: str = "Tables") -> None:
        self._engine, self._table, self._what, self._home = engine, table, what, home
        self._kind: type[Row] = kind
        self._order = (table.c[newest].desc(), table.c.id)

    def get(self, key: str) -> Row:
        rows = self.some(self._table.c.id == key)
        if not rows:
            raise UsageError(f"this {self._what} is not here any more.", hint=f"Begin at {self._home}.", reason="unknown")
        return rows[0]

    def all(self) -> list[Row]:
        return self.some()

    def some(self, *wanted: Any) -> list[Row]:
        with self._engine.connect() as db:
            rows = db.execute(sa.select(self._table).where(*wanted).order_by(*self._order)).mappings().all()
        return [self._kind(**{k: json.loads(v) if k in _JSON else v for k, v in row.items()}) for row in rows]

    def insert(self, *, id: str = "", **values: Any) -> Row:
        """A new row, under an id of its own unless one is given."""
        key = id or secrets.token_hex(8)
        with writing(self._engine) as db:
            db.execute(self._table.insert().values(id=key, made=time.time(), **values))
        return self.get(key)

    def remove(self, key: str) -> None:
        with writing(self._engine) as db:
            db.execute(self._table.delete().where(self._table.c.id == key))

    def note(self, key: str, more: Callable[[dict[str, Any]], Mapping[str, Any]], **values: Any) -> None:
        """Add what ``more`` makes of a row to what the row states, and set other columns; nothing where the row is gone."""
        with writing(self._engine) as db:
            mine = self._table.c.id == key
            before = db.execute(sa.select(self._table.c.told).where(mine)).scalar()
            if before is not None:
                content = json.loads(before)
                db.execute(self._table.update().where(mine).values(told=json.dumps({**content, **more(content)}), **values))
