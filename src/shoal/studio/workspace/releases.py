"""Releases of a workspace: folders that were written and proven, with what was counted in them."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import UsageError
from shoal.studio.workspace.database import RELEASES, sa, writing
from shoal.studio.workspace.files import ID, Files
from shoal.studio.workspace.rows import Made

if TYPE_CHECKING:
    from sqlalchemy import Engine


class Releases:
    """What was released, by table."""

    def __init__(self, engine: Engine, files: Files) -> None:
        self._engine = engine
        self._files = files

    def place(self) -> tuple[str, Path]:
        """An id and a folder for a release that is about to be written; nothing is there yet."""
        key = secrets.token_hex(8)
        return key, self._files.of_release(key)

    def add(self, release_id: str, table_id: str, name: str, told: Mapping[str, Any]) -> Made:
        """A release whose folder stands; until this is called it does not count, and :meth:`sweep` would remove it."""
        row = {"id": release_id, "table_id": table_id, "name": name, "told": json.dumps(told), "made": time.time()}
        with writing(self._engine) as db:
            db.execute(RELEASES.insert().values(**row))
        return self.get(release_id)

    def get(self, release_id: str) -> Made:
        with self._engine.connect() as db:
            row = db.execute(sa.select(RELEASES).where(RELEASES.c.id == release_id)).mappings().first()
        if row is None:
            raise UsageError("this release is not here any more.", hint="Begin at Tables.", reason="unknown")
        return _made(row)

    def accept(self, release_id: str, findings: Mapping[str, Mapping[str, Any]]) -> None:
        """Note findings that somebody accepted: by name, with their sentence, the reason, who and when."""
        with writing(self._engine) as db:
            row = db.execute(sa.select(RELEASES.c.told).where(RELEASES.c.id == release_id)).scalar()
            told = json.loads(row or "{}")
            told["accepted"] = {**told.get("accepted", {}), **findings}
            db.execute(RELEASES.update().where(RELEASES.c.id == release_id).values(told=json.dumps(told)))

    def of_table(self, table_id: str) -> list[Made]:
        """The newest comes first."""
        return self._some(sa.select(RELEASES).where(RELEASES.c.table_id == table_id))

    def all(self) -> list[Made]:
        return self._some(sa.select(RELEASES))

    def folder(self, made: Made) -> Path:
        return self._files.of_release(made.id)

    def delete(self, release_id: str) -> None:
        with writing(self._engine) as db:
            db.execute(RELEASES.delete().where(RELEASES.c.id == release_id))
        self._files.forget(self._files.of_release(release_id))

    def sweep(self) -> None:
        """Remove folders without a release. Only if no job runs: the folder of a running job is not recorded yet."""
        here = {made.id for made in self.all()}
        for left in (self._files.root / "releases").iterdir():
            if (key := left.name.partition(".")[0]) not in here and ID.fullmatch(key):
                self._files.forget(left.parent / key)

    def _some(self, query: sa.Select[Any]) -> list[Made]:
        with self._engine.connect() as db:
            rows = db.execute(query.order_by(RELEASES.c.made.desc(), RELEASES.c.id)).mappings().all()
        return [_made(row) for row in rows]


def _made(row: sa.RowMapping) -> Made:
    return Made(**{**row, "told": json.loads(row["told"])})
