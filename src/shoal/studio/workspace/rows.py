"""What the database holds, as frozen values, and how they are read and written."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from shoal.errors import UsageError
from shoal.stores import sa
from shoal.studio.workspace.database import writing

if TYPE_CHECKING:
    from sqlalchemy import Engine

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


@dataclass(frozen=True)
class KeptQuestions:
    """A questionnaire of the workspace."""

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
        found = self.some(self._table.c.id == key)
        if not found:
            raise UsageError(f"this {self._what} is not here any more.", hint=f"Begin at {self._home}.", reason="unknown")
        return found[0]

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
                told = json.loads(before)
                db.execute(self._table.update().where(mine).values(told=json.dumps({**told, **more(told)}), **values))
