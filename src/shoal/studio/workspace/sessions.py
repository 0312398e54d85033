"""Sessions: who has come in by a one-time link. Only digests are kept, so that a copy of the database opens no door."""

from __future__ import annotations

import hashlib
import secrets
import time
from typing import TYPE_CHECKING

from shoal.stores import sa
from shoal.studio.workspace.database import SESSIONS, writing

if TYPE_CHECKING:
    from sqlalchemy import Engine

HOURS = 12.0
"""How long a session lasts."""


class Sessions:
    """Open sessions of a studio; they outlive a restart, and end after their hours."""

    def __init__(self, engine: Engine, table: sa.Table = SESSIONS) -> None:
        self._engine, self._table = engine, table

    def begin(self, *, hours: float = HOURS, **whose: str) -> str:
        """A new session's token: shown once, to the browser."""
        token, now = secrets.token_urlsafe(32), time.time()
        with writing(self._engine) as db:
            db.execute(self._table.delete().where(self._table.c.ends <= now))
            db.execute(self._table.insert().values(digest=digest(token), ends=now + 3600 * hours, **whose))
        return token

    def holds(self, token: str) -> bool:
        """Whether a session of this token is open."""
        with self._engine.connect() as db:
            return db.execute(sa.select(self._table.c.ends).where(self.is_open(token))).first() is not None

    def is_open(self, token: str) -> sa.ColumnElement[bool]:
        """The condition that a row is the open session of this token."""
        return sa.and_(self._table.c.digest == digest(token), self._table.c.ends > time.time())

    def end(self, token: str) -> None:
        with writing(self._engine) as db:
            db.execute(self._table.delete().where(self._table.c.digest == digest(token)))


def digest(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode("utf-8")).hexdigest()
