"""Checks of every signed submission (key, owner of the name, date, line of the log), and the tokens that may submit."""

from __future__ import annotations

import datetime
import hashlib
import json
import secrets
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from shoal.errors import AccessError, DataError, TamperError
from shoal.model.names import alike, require_plain
from shoal.model.roles import look
from shoal.registry.keep.database import TOKENS, sa, writing
from shoal.registry.records.chain import START, digest_of, link
from shoal.registry.records.notice import Notice
from shoal.registry.records.record import Record, check_key
from shoal.registry.records.trust import Statement, trusted_keys

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from shoal.registry.keep.store import Store


HEAD = "SELECT line, hash FROM registry_log ORDER BY line DESC LIMIT 1"
NAMES = "SELECT holder, key FROM registry_names ORDER BY holder"
OWNER = "SELECT key FROM registry_names WHERE holder = ?"
SAID = "SELECT body FROM registry_statements WHERE key > ? OR (key = ? AND number > ?) ORDER BY key, number LIMIT ?"
EVERYTHING = ("", "", 0, 10**9)
"""What :data:`SAID` is asked with for all statements."""
_REVOKED = "SELECT number FROM registry_statements WHERE kind = 'revoke-key' AND subject = ? AND key = ? LIMIT 1"
_LOGGED = "INSERT INTO registry_log (line, kind, subject, digest, hash) VALUES (?, ?, ?, ?, ?)"


def run(db: Connection, query: str, *values: Any) -> list[Any]:
    """Run a plain query inside a transaction; its rows, if it has any."""
    done = db.exec_driver_sql(query if db.dialect.name == "sqlite" else query.replace("?", "%s"), values)
    return list(done.fetchall()) if done.returns_rows else []


def append(db: Connection, kind: str, subject: str, body: str) -> None:
    """One more line of the log."""
    last = run(db, HEAD)
    line, previous = (last[0][0] + 1, last[0][1]) if last else (1, START)
    digest = digest_of(body.encode("utf-8"))
    run(db, _LOGGED, line, kind, subject, digest, link(previous, line, kind, subject, digest))


def revoked(db: Connection, key: str) -> bool:
    """Whether a key revoked itself."""
    return bool(run(db, _REVOKED, key, key))


def check_key_stands(db: Connection, key: str) -> None:
    """Refuse whatever a revoked key signed."""
    if revoked(db, key):
        raise TamperError("the key of this record was revoked.", hint="Publish under a new, endorsed key.")


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


def check_owner(owner: Sequence[Any], key: str, said: Callable[[], Iterable[Any]]) -> None:
    """Refuse a name that belongs to another key: the first that published under it, or under one that looks the same.

    It may pass the name on by endorsing the other key; when it is revoked, the name is free.
    """
    if not owner or owner[0][0] == key:
        return
    reached = trusted_keys([owner[0][0]], [Statement.from_json(json.loads(body)) for (body,) in said()])
    if reached and reached.get(key) != 1:
        raise AccessError(
            "this holder's name belongs to another key.",
            hint="Sign with that key, have it endorse yours, or publish under another name.",
        )


def check_next(given: tuple[int, str | None], latest: dict[str, Any], date: str) -> None:
    """Refuse anything but the next version after the latest one, and a date before that one's or still to come."""
    check_time(date, latest["date"])
    if given != (latest["version"] + 1, latest["id"]):
        raise DataError(
            f"version {given[0]} was submitted where version {latest['version'] + 1} is next.",
            hint="Old records cannot be put back; publish the next version.",
        )


def check_time(date: str, before: str = "") -> None:
    """Refuse a date that is still to come, or before that of the version it follows."""
    tomorrow = datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=1)
    if datetime.date.fromisoformat(date) > tomorrow:
        raise DataError("the date is still to come.", hint="Date it today; see whether your clock is right.")
    if date < before:
        raise DataError("the date is before that of the version it follows.", hint="Date it today.")


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
                    raise AccessError(
                        f"this token publishes for another {what}.",
                        hint="Ask the operator of the registry for a token of your own.",
                    )
            if row is not None and (row.key is None or (row.holder is None and holder is not None)):
                db.execute(TOKENS.update().where(mine).values(key=key, holder=row.holder or holder))


def _digest(token: str) -> str:
    return hashlib.sha256(b"shoal registry token|" + token.encode("utf-8", "surrogatepass")).hexdigest()
