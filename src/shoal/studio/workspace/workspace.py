"""A workspace: one folder and one database, opened together; its tables and its releases."""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.stores import sa
from shoal.studio.workspace.database import RELEASES, SESSIONS, TABLES, Kept, Made, Rows, open_database, writing
from shoal.studio.workspace.files import HEAD, ID, Files, ending_of, safe_name
from shoal.studio.workspace.history import History, Questionnaires
from shoal.studio.workspace.jobs import Jobs

if TYPE_CHECKING:
    from sqlalchemy import Engine


class Tables(Rows[Kept]):
    """The tables that people brought; the one that was touched last comes first."""

    def __init__(self, engine: Engine, files: Files) -> None:
        super().__init__(engine, TABLES, Kept, "table", newest="touched")
        self._files = files

    def add(self, arrived: Path, name: str) -> Kept:
        """Take a file that has arrived; its content decides its kind; anything but a table is refused.

        The row is written after the file: a process killed in between leaves a folder that :meth:`sweep` removes, never a row
        without its file.
        """
        with arrived.open("rb") as file:
            ending = ending_of(file.read(HEAD), name)
        key = secrets.token_hex(8)
        placed = self._files.take(arrived, key, safe_name(name, ending))
        about = {"name": placed.name.removesuffix(ending), "file": placed.name, "form": ending, "bytes": placed.stat().st_size}
        try:
            return self.insert(id=key, **about, at=-1, told="{}", touched=time.time())
        except BaseException:
            self._files.forget(placed.parent)
            raise

    def path(self, kept: Kept) -> Path:
        return self._files.of_table(kept.id) / kept.file

    def tell(self, table_id: str, facts: Mapping[str, Any]) -> None:
        """Add to what the card says."""
        self.note(table_id, lambda _: facts, touched=time.time())

    def delete(self, table_id: str) -> None:
        """Forget a table: first the row, with all that hangs on it, then the files."""
        self.remove(table_id)
        self._files.forget(self._files.of_table(table_id))

    def sweep(self) -> None:
        """Remove what a killed process left: files that arrived half, folders without a row."""
        here = {kept.id for kept in self.all()}
        for left in (self._files.root / "incoming").iterdir():
            left.unlink(missing_ok=True)
        for folder in (self._files.root / "tables").iterdir():
            if folder.name not in here:
                self._files.forget(folder)


class Releases(Rows[Made]):
    """What was released, by table; the newest comes first."""

    def __init__(self, engine: Engine, files: Files) -> None:
        super().__init__(engine, RELEASES, Made, "release", newest="made")
        self._files = files

    def place(self) -> tuple[str, Path]:
        """An id and a folder for a release that is about to be written; nothing is there yet."""
        key = secrets.token_hex(8)
        return key, self._files.of_release(key)

    def add(self, release_id: str, table_id: str, name: str, facts: Mapping[str, Any]) -> Made:
        """A release whose folder stands; until this is called it does not count, and :meth:`sweep` would remove it."""
        return self.insert(id=release_id, table_id=table_id, name=name, told=json.dumps(facts))

    def accept(self, release_id: str, findings: Mapping[str, Mapping[str, Any]]) -> None:
        """Note findings that somebody accepted: by name, with their sentence, the reason, who and when."""
        self.note(release_id, lambda facts: {"accepted": {**facts.get("accepted", {}), **findings}})

    def of_table(self, table_id: str) -> list[Made]:
        return self.some(RELEASES.c.table_id == table_id)

    def folder(self, made: Made) -> Path:
        return self._files.of_release(made.id)

    def delete(self, release_id: str) -> None:
        self.remove(release_id)
        self._files.forget(self._files.of_release(release_id))

    def sweep(self) -> None:
        """Remove folders without a release. Only if no job runs: the folder of a running job is not recorded yet."""
        here = {made.id for made in self.all()}
        for left in (self._files.root / "releases").iterdir():
            if (key := left.name.partition(".")[0]) not in here and ID.fullmatch(key):
                self._files.forget(left.parent / key)


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
        with self._engine.connect() as db:
            return db.execute(sa.select(self._table.c.ends).where(self.is_open(token))).first() is not None

    def is_open(self, token: str) -> sa.ColumnElement[bool]:
        """The condition that a row is the open session of this token."""
        return sa.and_(self._table.c.digest == digest(token), self._table.c.ends > time.time())

    def end(self, token: str) -> None:
        with writing(self._engine) as db:
            db.execute(self._table.delete().where(self._table.c.digest == digest(token)))


def digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8")).hexdigest()


class Workspace:
    """Tables, histories, jobs, releases and sessions of one studio.

    ``store`` is the URL of a PostgreSQL database; without it SQLite is used, in the folder. Several processes may have the same
    workspace open.
    """

    def __init__(self, folder: str | Path, *, store: str | None = None) -> None:
        self.files = Files(Path(folder))
        self.store = store or f"sqlite:///{self.files.root / 'studio.db'}"
        self._engine = open_database(self.store)
        self.tables = Tables(self._engine, self.files)
        self.history = History(self._engine)
        self.jobs = Jobs(self._engine, self.files)
        self.questionnaires = Questionnaires(self._engine)
        self.releases = Releases(self._engine, self.files)
        self.sessions = Sessions(self._engine)

    def delete_table(self, table_id: str) -> None:
        """Everything about a table: its steps, jobs and releases, and all their files."""
        for job in self.jobs.of_table(table_id):
            self.jobs.cancel(job.id)
        for made in self.releases.of_table(table_id):
            self.releases.delete(made.id)
        self.tables.delete(table_id)

    def delete_everything(self) -> None:
        """Every table with all that belongs to it. Sessions stay, so open pages keep working."""
        for kept in self.tables.all():
            self.delete_table(kept.id)
        for asked in self.questionnaires.all():
            self.questionnaires.delete(asked.id)
        self.files.forget(self.files.root / "registry")

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
