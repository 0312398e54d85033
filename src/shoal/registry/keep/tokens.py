"""Publishing tokens: each is for one holder's name and one key.

A token is made for a holder, and for a key where it is known; what was left open is settled by the first thing that is
published with it. So a stolen token publishes nothing without the holder's key, and a holder publishes only as itself.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING, Protocol

from shoal.errors import AccessError
from shoal.model.roles import look
from shoal.registry.keep.database import TOKENS, sa, writing
from shoal.registry.records.notice import Notice
from shoal.registry.records.record import Record, check_key
from shoal.registry.records.trust import Statement

if TYPE_CHECKING:
    from sqlalchemy import Engine


class Shelf(Protocol):
    """What tokens need of a store: its database, and whose a name is."""

    engine: Engine

    def check_name(self, holder: str, key: str) -> None: ...


class Tokens:
    """The tokens of one registry; only their hashes are kept, so timing tells nothing of them."""

    def __init__(self, store: Shelf) -> None:
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
