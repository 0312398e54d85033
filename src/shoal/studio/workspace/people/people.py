"""Users, sessions and workspaces of a studio that several people use."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from shoal.errors import EngineError
from shoal.stores import sa
from shoal.studio.workspace.database import PEOPLE_SCHEMA, USERS, VISITS, connect, open_database
from shoal.studio.workspace.files import Files, known
from shoal.studio.workspace.people.users import User, Users, user_of
from shoal.studio.workspace.sessions import Sessions
from shoal.studio.workspace.workspace import Workspace


class Visits(Sessions):
    """Sessions of users; they end with the user and with the password, too."""

    def who(self, token: str) -> User | None:
        """Whose session this is, with the role that holds now."""
        mine = sa.select(USERS).join(VISITS, VISITS.c.name == USERS.c.name).where(self.is_open(token))
        with self._engine.connect() as db:
            row = db.execute(mine).mappings().first()
        return None if row is None else user_of(row)


class People:
    """The users of a studio's folder. ``store`` is the URL of a PostgreSQL database; without it SQLite is used, in the folder."""

    def __init__(self, folder: str | Path, *, store: str | None = None) -> None:
        self.files = Files(Path(folder))
        self._store = store
        self._engine = open_database(store or f"sqlite:///{self.files.root / 'people.db'}", PEOPLE_SCHEMA)
        self.users = Users(self._engine)
        self.visits = Visits(self._engine, VISITS)

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
            raise EngineError(f"the database of users cannot be opened: {type(error).__name__}.", hint="Check --store.") from None
        finally:
            engine.dispose()
    with People(folder, store=store) as people:
        return bool(people.users.all())
