"""How a signed submission is taken: its key, version, date and name are checked, and the log gets a line."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from shoal.errors import AccessError, DataError, TamperError
from shoal.model.names import alike, require_plain
from shoal.model.roles import look
from shoal.registry.records.chain import START, digest_of, link
from shoal.registry.records.notice import Notice
from shoal.registry.records.record import Record
from shoal.registry.records.trust import Statement, trusted_keys

if TYPE_CHECKING:
    from sqlalchemy import Connection

HEAD = "SELECT line, hash FROM registry_log ORDER BY line DESC LIMIT 1"
NAMES = "SELECT holder, key FROM registry_names ORDER BY holder"
OWNER = "SELECT key FROM registry_names WHERE holder = ?"
SAID = "SELECT body FROM registry_statements WHERE key > ? OR (key = ? AND number > ?) ORDER BY key, number LIMIT ?"
EVERYTHING = ("", "", 0, 10**9)
"""What :data:`SAID` is asked with for all statements."""
_SUBMITTED = {"record": "SELECT id FROM registry_records WHERE id = ?", "notice": "SELECT id FROM registry_notices WHERE id = ?"}
MINE = {
    "record": "SELECT body FROM registry_records WHERE codes = ? AND population = ? AND key = ? ORDER BY version DESC LIMIT 1",
    "notice": "SELECT body FROM registry_notices WHERE kind = ? AND title = ? AND population = ? AND key = ? "
    "ORDER BY version DESC LIMIT 1",
}
"""The newest version of a holder's topic."""
_SUPERSEDE = {
    "record": "UPDATE registry_records SET status = 'superseded' "
    "WHERE codes = ? AND population = ? AND key = ? AND status = 'current'",
    "notice": "UPDATE registry_notices SET status = 'superseded' "
    "WHERE kind = ? AND title = ? AND population = ? AND key = ? AND status = 'current'",
}
_INSERT = {
    "record": "INSERT INTO registry_records (id, codes, population, key, version, body, area, holder, kappa, status) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'current')",
    "notice": "INSERT INTO registry_notices (id, kind, title, population, key, version, body, status) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, 'current')",
}
_REVOKED = "SELECT number FROM registry_statements WHERE kind = 'revoke-key' AND subject = ? AND key = ? LIMIT 1"
_LOGGED = "INSERT INTO registry_log (line, kind, subject, digest, hash) VALUES (?, ?, ?, ?, ?)"


def run(db: Connection, query: str, *values: object) -> list[Any]:
    """Run a plain query inside a transaction; its rows, if it has any."""
    done = db.exec_driver_sql(query if db.dialect.name == "sqlite" else query.replace("?", "%s"), values)
    return list(done.fetchall()) if done.returns_rows else []


def take(db: Connection, kind: str, given: Record | Notice, body: str, topic: Sequence[str], *more: object) -> None:
    """Take a record or notice: not seen before, the next version of its holder's ``topic``; ``more`` are further columns."""
    if run(db, _SUBMITTED[kind], given.id):
        raise DataError(f"this {kind} was submitted before.", hint="Nothing needs to be done.")
    if revoked(db, given.key):
        raise TamperError("the key of this record was revoked.", hint="Publish under a new, endorsed key.")
    mine = run(db, MINE[kind], *topic)
    latest: dict[str, Any] = json.loads(mine[0][0]) if mine else {"version": 0, "id": None, "date": ""}
    check_next((given.version, given.supersedes), latest, given.date)
    take_name(db, given.holder, given.key)
    run(db, _SUPERSEDE[kind], *topic)
    run(db, _INSERT[kind], given.id, *topic, given.version, body, *more)
    append(db, kind, given.id, body)


def append(db: Connection, kind: str, subject: str, body: str) -> None:
    """One more line of the log."""
    last = run(db, HEAD)
    line, previous = (last[0][0] + 1, last[0][1]) if last else (1, START)
    digest = digest_of(body.encode("utf-8"))
    run(db, _LOGGED, line, kind, subject, digest, link(previous, line, kind, subject, digest))


def revoked(db: Connection, key: str) -> bool:
    """Whether a key revoked itself."""
    return bool(run(db, _REVOKED, key, key))


def take_name(db: Connection, holder: str, key: str) -> None:
    """Refuse a name that belongs to another key, or looks like one that does; a free one belongs to this key from now on."""
    name = look(holder)
    owner = run(db, OWNER, name) or owner_of_like(run(db, NAMES), name)
    if not owner:
        require_plain(holder, "holder")
    check_owner(owner, key, lambda: run(db, SAID, *EVERYTHING))
    if not run(db, OWNER, name):
        run(db, "INSERT INTO registry_names (holder, key) VALUES (?, ?)", name, key)
    elif owner[0][0] != key and revoked(db, owner[0][0]):
        run(db, "UPDATE registry_names SET key = ? WHERE holder = ?", key, name)


def owner_of_like(known: Iterable[Any], name: str) -> list[tuple[str]]:
    """The key of the first holder whose name, as it is kept, looks like ``name``."""
    return [(str(key),) for kept, key in known if alike(kept, name)][:1]


def check_owner(owner: Sequence[Any], key: str, statements: Callable[[], Iterable[Any]]) -> None:
    """Refuse a name that belongs to another key: the first that published under it, or under one that looks the same.

    It may pass the name on by endorsing the other key; when it is revoked, the name is free.
    """
    if not owner or owner[0][0] == key:
        return
    reached = trusted_keys([owner[0][0]], [Statement.from_json(json.loads(body)) for (body,) in statements()])
    if reached and reached.get(key) != 1:
        hint = "Sign with that key, have it endorse yours, or publish under another name."
        raise AccessError("this holder's name belongs to another key.", hint=hint)


def check_next(given: tuple[int, str | None], latest: dict[str, Any], date: str) -> None:
    """Refuse anything but the next version after the latest one, and a date before that one's or still to come."""
    check_time(date, latest["date"])
    if given != (latest["version"] + 1, latest["id"]):
        hint = "Old records cannot be put back; publish the next version."
        raise DataError(f"version {given[0]} was submitted where version {latest['version'] + 1} is next.", hint=hint)


def check_time(date: str, before: str = "") -> None:
    """Refuse a date that is still to come, or before that of the version it follows."""
    tomorrow = datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=1)
    if datetime.date.fromisoformat(date) > tomorrow:
        raise DataError("the date is still to come.", hint="Date it today; see whether your clock is right.")
    if date < before:
        raise DataError("the date is before that of the version it follows.", hint="Date it today.")
