"""Users: a name, a role, a workspace. Two may share one workspace; nobody sees another one."""

from __future__ import annotations

import re
import secrets
import time
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from shoal.errors import UsageError
from shoal.stores import sa
from shoal.studio.workspace.database import USERS, VISITS, writing
from shoal.studio.workspace.people import passwords

if TYPE_CHECKING:
    from sqlalchemy import Engine

ROLES = ("viewer", "editor", "admin")
"""A viewer looks; an editor also changes; an admin also says who may come in."""
NAME = re.compile(r"[a-z0-9][a-z0-9._@-]{0,63}")


@dataclass(frozen=True)
class User:
    """Somebody who may come in. ``space`` is the id of the workspace."""

    name: str
    role: str
    space: str
    made: float

    @property
    def changes(self) -> bool:
        return self.role != "viewer"


class Users:
    """The users of a studio."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, name: str, role: str, password: str, *, beside: str | None = None) -> User:
        """A new user with a workspace of their own, or with that of the user ``beside`` whom they work."""
        name, role = known_name(name), known_role(role)
        told = passwords.kept(passwords.checked(password, name))
        space = secrets.token_hex(8) if beside is None else self.get(beside).space
        if beside is None and role == "viewer":
            raise UsageError("a viewer looks at somebody's workspace.", hint="Say whose: --with NAME.")
        with writing(self._engine) as db:
            if db.execute(sa.select(USERS.c.name).where(USERS.c.name == name)).scalar() is not None:
                raise UsageError(f"there is a user '{name}' already.", hint="Choose another name, or remove that one first.")
            db.execute(USERS.insert().values(name=name, role=role, space=space, password=told, made=time.time()))
        return self.get(name)

    def get(self, name: str) -> User:
        found = self._row(name.casefold())
        if found is None:
            raise UsageError("this user does not exist.", hint="'shoal studio user list' names them.", reason="unknown")
        return user_of(found)

    def all(self) -> list[User]:
        with self._engine.connect() as db:
            rows = db.execute(sa.select(USERS).order_by(USERS.c.name)).mappings().all()
        return [user_of(row) for row in rows]

    def remove(self, name: str) -> User:
        """Take a user out; sessions end with it. The workspace stays."""
        gone = self.get(name)
        with writing(self._engine) as db:
            db.execute(VISITS.delete().where(VISITS.c.name == gone.name))
            db.execute(USERS.delete().where(USERS.c.name == gone.name))
        return gone

    def give_role(self, name: str, role: str) -> User:
        """Another role, from the next request on."""
        user, role = self.get(name), known_role(role)
        with writing(self._engine) as db:
            db.execute(USERS.update().where(USERS.c.name == user.name).values(role=role))
        return self.get(name)

    def give_password(self, name: str, password: str) -> None:
        """Another password; every session of the user ends."""
        user = self.get(name)
        told = passwords.kept(passwords.checked(password, user.name))
        with writing(self._engine) as db:
            db.execute(VISITS.delete().where(VISITS.c.name == user.name))
            db.execute(USERS.update().where(USERS.c.name == user.name).values(password=told))

    def check(self, name: str, password: str) -> User | None:
        """The user, where the password is theirs. An unknown name takes as long as a wrong password."""
        row = self._row(name.strip().casefold())
        right = passwords.fits(password, _nobody() if row is None else row["password"])
        return user_of(row) if right and row is not None else None

    def _row(self, name: str) -> sa.RowMapping | None:
        with self._engine.connect() as db:
            return db.execute(sa.select(USERS).where(USERS.c.name == name)).mappings().first()


def known_name(text: str) -> str:
    """A name as it is kept: small letters.

    >>> known_name("Anna.K"), known_name("a@b.nl")
    ('anna.k', 'a@b.nl')
    """
    name = text.strip().casefold()
    if not NAME.fullmatch(name):
        raise UsageError(
            "this is not a valid user name.",
            hint="At most 64 small letters, figures and . _ @ -; the first is a letter or a figure.",
        )
    return name


def known_role(text: str) -> str:
    if text not in ROLES:
        raise UsageError("this is not a role.", hint=f"Roles: {', '.join(ROLES)}.")
    return text


@cache
def _nobody() -> str:
    """A password that nobody has."""
    return passwords.kept(secrets.token_urlsafe(24))


def user_of(row: sa.RowMapping) -> User:
    return User(row["name"], row["role"], row["space"], row["made"])
