"""The catalogue of a store: notices of what holders hold and ask for, taken like records, in the same log."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError
from shoal.kernels.signatures import canonical
from shoal.registry.keep.database import writing
from shoal.registry.keep.submissions import append, check_key_stands, check_next, run, take_name
from shoal.registry.records.notice import Notice

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from shoal.registry.keep.store import Store

_MINE = (
    "SELECT body FROM registry_notices WHERE kind = ? AND title = ? AND population = ? AND key = ? ORDER BY version DESC LIMIT 1"
)
_SUPERSEDE = (
    "UPDATE registry_notices SET status = 'superseded' "
    "WHERE kind = ? AND title = ? AND population = ? AND key = ? AND status = 'current'"
)
_INSERT = (
    "INSERT INTO registry_notices (id, kind, title, population, key, version, status, body) "
    "VALUES (?, ?, ?, ?, ?, ?, 'current', ?)"
)
_EVER = "SELECT body, status FROM registry_notices WHERE id > ? ORDER BY id LIMIT ?"
_CURRENT = (
    "SELECT body FROM registry_notices WHERE status = 'current' AND population LIKE ? ESCAPE '!' ORDER BY population, id LIMIT ?"
)


class Notices:
    """The notices of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def submit(self, notice: Notice) -> Notice:
        """Take a notice: verified, not seen before, the next version of its holder's title."""
        body = canonical(notice.verify().to_json()).decode("utf-8")
        topic = (*notice.topic, notice.key)
        with writing(self._store.engine) as db:
            if run(db, "SELECT id FROM registry_notices WHERE id = ?", notice.id):
                raise DataError("this notice was submitted before.", hint="Nothing needs to be done.")
            check_key_stands(db, notice.key)
            mine = run(db, _MINE, *topic)
            latest: dict[str, Any] = json.loads(mine[0][0]) if mine else {"version": 0, "id": None, "date": ""}
            check_next((notice.version, notice.supersedes), latest, notice.date)
            take_name(db, notice.holder, notice.key)
            run(db, _SUPERSEDE, *topic)
            run(db, _INSERT, notice.id, *topic, notice.version, body)
            append(db, "notice", notice.id, body)
        return notice

    def latest(self, notice: Notice) -> Notice | None:
        """The newest notice of the same key, kind, title and population, withdrawn or not."""
        rows = self._store.rows(_MINE, *notice.topic, notice.key)
        return Notice.from_json(json.loads(rows[0][0])) if rows else None

    def history(self, *, after: str = "", limit: int = 100) -> list[tuple[Notice, str]]:
        """Notices ever taken, with their status, in order of their id."""
        return [(Notice.from_json(json.loads(body)), status) for body, status in self._store.rows(_EVER, after, limit)]

    def current(self, text: str = "", *, limit: int = 1000) -> list[Notice]:
        """Current notices about populations whose name contains the text."""
        wanted = "".join(f"!{c}" if c in "!%_" else c for c in text.casefold())
        return [Notice.from_json(json.loads(body)) for (body,) in self._store.rows(_CURRENT, f"%{wanted}%", limit)]


def withdraw(db: Connection, identity: str, key: str) -> bool:
    """Mark a notice as revoked by the key that signed it; False where it has no such notice."""
    if not run(db, "SELECT id FROM registry_notices WHERE id = ? AND key = ?", identity, key):
        return False
    run(db, "UPDATE registry_notices SET status = 'revoked' WHERE id = ?", identity)
    return True


def withdraw_all(db: Connection, key: str) -> None:
    """Mark every current notice of a key as revoked."""
    run(db, "UPDATE registry_notices SET status = 'revoked' WHERE key = ? AND status = 'current'", key)
