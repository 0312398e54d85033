"""Who may use a studio: named users with passwords and roles, their sessions, and the workspace of each.

Kept apart from every workspace, in a database of its own beside them. Passwords are kept as scrypt (RFC 7914) with a salt of
their own, and of sessions only digests, so that a copy of the database opens no door.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import threading
import time
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import EngineError, UsageError
from shoal.stores import sa
from shoal.studio.workspace.database import PEOPLE_SCHEMA, USERS, VISITS, connect, open_database, writing
from shoal.studio.workspace.files import Files, known
from shoal.studio.workspace.workspace import Sessions, Workspace

if TYPE_CHECKING:
    from sqlalchemy import Engine


LEAST = 12
MOST = 1024
"""Letters of a password."""
COST, BLOCK, LANES = 15, 8, 1
"""scrypt's settings: 2^15 rounds of 1 KiB blocks, 32 MiB of memory for each try."""
_AT_ONCE = threading.BoundedSemaphore(2)


def checked(password: str, name: str = "") -> str:
    """A password that is long enough and is not the name.

    >>> checked("eleven char")
    Traceback (most recent call last):
    shoal.errors.UsageError: the password is too short.
      Take at least 12 letters; a few words in a row are easy to remember.
    """
    if len(password) < LEAST:
        hint = f"Take at least {LEAST} letters; a few words in a row are easy to remember."
        raise UsageError("the password is too short.", hint=hint)
    if len(password) > MOST:
        raise UsageError("the password is too long.", hint=f"Take at most {MOST} letters.")
    if (name and password.casefold().strip() == name.casefold()) or len(set(password)) < 4:
        raise UsageError("the password is too easy to guess.", hint="Take a few words in a row.")
    return password


def kept(password: str) -> str:
    salt = secrets.token_bytes(16)
    return f"scrypt${COST}${BLOCK}${LANES}${_text(salt)}${_text(_derived(password, salt, COST, BLOCK, LANES))}"


def fits(password: str, kept: str) -> bool:
    """Whether a password is the one that was kept; takes as long for a wrong one."""
    kind, cost, block, lanes, salt, digest = kept.split("$")
    if kind != "scrypt" or len(password) > MOST:
        return False
    derived = _derived(password, base64.b64decode(salt), int(cost), int(block), int(lanes))
    return hmac.compare_digest(derived, base64.b64decode(digest))


def invented() -> str:
    """A password for somebody's first log-in: 100 bits, in groups that can be read aloud."""
    letters = "abcdefghijkmnpqrstuvwxyz23456789"
    return "-".join("".join(secrets.choice(letters) for _ in range(5)) for _ in range(4))


def _derived(password: str, salt: bytes, cost: int, block: int, lanes: int) -> bytes:
    memory = 2 * 128 * block * 2**cost
    typed = unicodedata.normalize("NFC", password).encode("utf-8", errors="surrogatepass")
    with _AT_ONCE:  # each takes its memory: a crowd at the door waits instead of filling the machine
        return hashlib.scrypt(typed, salt=salt, n=2**cost, r=block, p=lanes, maxmem=memory, dklen=32)


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


FREE = 5
"""Failures that cost nothing."""
MOST_WAIT = {"name": 60.0, "address": 900.0}
FORGOTTEN = 3600.0
"""Seconds without a failure after which a name or an address starts again."""
MOST_KNOWN = 10_000


class Throttle:
    """Failures of log-ins, by name and by address."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failed: dict[tuple[str, str], tuple[int, float]] = {}

    def wait(self, name: str, address: str) -> float:
        """Seconds until another try is looked at; 0 where it may be made now."""
        now = self._clock()
        with self._lock:
            return max(0.0, *(self._ends(key, now) - now for key in _keys(name, address)))

    def failed(self, name: str, address: str) -> None:
        now = self._clock()
        with self._lock:
            for key in _keys(name, address):
                many, last = self._failed.pop(key, (0, now))
                self._failed[key] = (1 if now - last >= FORGOTTEN else many + 1, now)
            while len(self._failed) > MOST_KNOWN:
                del self._failed[next(iter(self._failed))]

    def succeeded(self, name: str, address: str) -> None:
        with self._lock:
            for key in _keys(name, address):
                self._failed.pop(key, None)

    def _ends(self, key: tuple[str, str], now: float) -> float:
        many, last = self._failed.get(key, (0, now))
        return now if many < FREE else last + min(MOST_WAIT[key[0]], 2.0 ** min(many - FREE, 20))


def _keys(name: str, address: str) -> tuple[tuple[str, str], tuple[str, str]]:
    return ("name", name), ("address", address)


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

    def __exit__(self, *_: object) -> None:
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
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, name: str, role: str, password: str, *, beside: str | None = None) -> User:
        """A new user with a workspace of their own, or with that of the user ``beside`` whom they work."""
        name, role = known_name(name), known_role(role)
        stored = kept(checked(password, name))
        space = secrets.token_hex(8) if beside is None else self.get(beside).space
        if beside is None and role == "viewer":
            raise UsageError("a viewer looks at somebody's workspace.", hint="Say whose: --with NAME.")
        with writing(self._engine) as db:
            if db.execute(sa.select(USERS.c.name).where(USERS.c.name == name)).scalar() is not None:
                raise UsageError(f"there is a user '{name}' already.", hint="Choose another name, or remove that one first.")
            db.execute(USERS.insert().values(name=name, role=role, space=space, password=stored, made=time.time()))
        return self.get(name)

    def get(self, name: str) -> User:
        row = self._row(name.casefold())
        if row is None:
            raise UsageError("this user does not exist.", hint="'shoal studio user list' names them.", reason="unknown")
        return user_of(row)

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
        stored = kept(checked(password, user.name))
        with writing(self._engine) as db:
            db.execute(VISITS.delete().where(VISITS.c.name == user.name))
            db.execute(USERS.update().where(USERS.c.name == user.name).values(password=stored))

    def check(self, name: str, password: str) -> User | None:
        """The user, where the password is theirs. An unknown name takes as long as a wrong password."""
        row = self._row(name.strip().casefold())
        right = fits(password, _nobody() if row is None else row["password"])
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
        hint = "At most 64 small letters, figures and . _ @ -; the first is a letter or a figure."
        raise UsageError("this is not a valid user name.", hint=hint)
    return name


def known_role(text: str) -> str:
    if text not in ROLES:
        raise UsageError("this is not a role.", hint=f"Roles: {', '.join(ROLES)}.")
    return text


@cache
def _nobody() -> str:
    """A password that nobody has."""
    return kept(secrets.token_urlsafe(24))


def user_of(row: sa.RowMapping) -> User:
    return User(row["name"], row["role"], row["space"], row["made"])
