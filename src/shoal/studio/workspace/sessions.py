"""Sessions: who has come in by a one-time link. Only digests are kept, so that a copy of the database opens no door."""

from __future__ import annotations

import hashlib
import secrets
import time
from typing import TYPE_CHECKING

from shoal.studio.workspace.database import SESSIONS, sa, writing

if TYPE_CHECKING:
    from sqlalchemy import Engine

HOURS = 12.0
"""How long a session lasts."""


class Sessions:
    """Open sessions of a studio; they outlive a restart."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def begin(self, *, hours: float = HOURS) -> str:
        """A new session's token: shown once, to the browser."""
        token, now = new_token(), time.time()
        with writing(self._engine) as db:
            db.execute(SESSIONS.delete().where(SESSIONS.c.ends <= now))
            db.execute(SESSIONS.insert().values(digest=digest(token), ends=now + 3600 * hours))
        return token

    def holds(self, token: str) -> bool:
        """Whether a session of this token is open."""
        with self._engine.connect() as db:
            ends = db.execute(sa.select(SESSIONS.c.ends).where(SESSIONS.c.digest == digest(token))).scalar()
        return ends is not None and ends > time.time()

    def end(self, token: str) -> None:
        with writing(self._engine) as db:
            db.execute(SESSIONS.delete().where(SESSIONS.c.digest == digest(token)))


def new_token() -> str:
    return secrets.token_urlsafe(32)


def digest(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode("utf-8")).hexdigest()
