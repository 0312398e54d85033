"""Users, sessions and workspaces of a studio that several people use."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.studio.workspace.database import connect, sa, writing
from shoal.studio.workspace.files import Files, known
from shoal.studio.workspace.people.database import USERS, VISITS, open_people, unopened
from shoal.studio.workspace.people.users import User, Users, user_of
from shoal.studio.workspace.sessions import HOURS, digest, new_token
from shoal.studio.workspace.workspace import Workspace

if TYPE_CHECKING:
    from sqlalchemy import Engine


class Visits:
    """Sessions of users; they outlive a restart, and end with the user, the password or the hours."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def begin(self, user: User, *, hours: float = HOURS) -> str:
        """A new session's token: shown once, to the browser."""
        token, now = new_token(), time.time()
        with writing(self._engine) as db:
            db.execute(VISITS.delete().where(VISITS.c.ends <= now))
            db.execute(VISITS.insert().values(digest=digest(token), name=user.name, ends=now + 3600 * hours))
        return token

    def who(self, token: str) -> User | None:
        """Whose session this is, with the role that holds now."""
        mine = sa.and_(VISITS.c.digest == digest(token), VISITS.c.ends > time.time())
        with self._engine.connect() as db:
            row = db.execute(sa.select(USERS).join(VISITS, VISITS.c.name == USERS.c.name).where(mine)).mappings().first()
        return None if row is None else user_of(row)

    def end(self, token: str) -> None:
        with writing(self._engine) as db:
            db.execute(VISITS.delete().where(VISITS.c.digest == digest(token)))


class People:
    """The users of a studio's folder. ``store`` is the URL of a PostgreSQL database; without it SQLite is used, in the folder."""

    def __init__(self, folder: str | Path, *, store: str | None = None) -> None:
        self.files = Files(Path(folder))
        self._store = store
        self._engine = open_people(store or f"sqlite:///{self.files.root / 'people.db'}")
        self.users = Users(self._engine)
        self.visits = Visits(self._engine)

    def workspace(self, space: str) -> Workspace:
        """The workspace of an id: a folder of its own and, in PostgreSQL, a schema of its own."""
        folder = self.files.root / "people" / known(space)
        if self._store is None:
            return Workspace(folder)
        schema = f"shoal_studio_{known(space)}"
        with self._engine.begin() as db:
            db.execute(sa.schema.CreateSchema(schema, if_not_exists=True))
        return Workspace(folder, store=within(self._store, schema))

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> People:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def within(url: str, schema: str) -> str:
    """A PostgreSQL URL whose tables are those of one schema; options that it has already stay.

    >>> within("postgresql://h/d", "s1"), within("postgresql://h/d?sslmode=require", "s1")
    ('postgresql://h/d?options=-csearch_path%3Ds1', 'postgresql://h/d?sslmode=require&options=-csearch_path%3Ds1')
    """
    if not re.fullmatch(r"[a-z0-9_]+", schema):
        raise ValueError("a schema is named by small letters and figures")
    address, _, query = url.partition("?")
    asked = [part for part in query.split("&") if part]
    given = [part.removeprefix("options=") for part in asked if part.startswith("options=")]
    others = [part for part in asked if not part.startswith("options=")]
    return f"{address}?{'&'.join([*others, 'options=' + '%20'.join([*given, f'-csearch_path%3D{schema}'])])}"


def has_users(folder: str | Path, *, store: str | None = None) -> bool:
    """Whether a studio's folder has named users; makes nothing where it has none."""
    if store is None and not (Path(folder) / "people.db").exists():
        return False
    if store is not None:
        engine = connect(store)
        try:
            with engine.connect() as db:
                if not sa.inspect(db).has_table(USERS.name):
                    return False
        except sa.exc.SQLAlchemyError as error:
            raise unopened(error) from None
        finally:
            engine.dispose()
    with People(folder, store=store) as people:
        return bool(people.users.all())
