"""Tables of a workspace: the file that was dropped, its name, and what its card says."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import UsageError
from shoal.studio.workspace.database import TABLES, sa, writing
from shoal.studio.workspace.files import Files, safe_name
from shoal.studio.workspace.kinds import HEAD, ending_of
from shoal.studio.workspace.rows import Kept

if TYPE_CHECKING:
    from sqlalchemy import Engine


class Tables:
    """The tables that people brought."""

    def __init__(self, engine: Engine, files: Files) -> None:
        self._engine = engine
        self._files = files

    def add(self, arrived: Path, name: str) -> Kept:
        """Take a file that has arrived; its content decides its kind; anything but a table is refused.

        The row is written after the file: a process killed in between leaves a folder that :meth:`sweep` removes, never a row
        without its file.
        """
        with arrived.open("rb") as file:
            ending = ending_of(file.read(HEAD), name)
        key, now = secrets.token_hex(8), time.time()
        placed = self._files.take(arrived, key, safe_name(name, ending))
        try:
            with writing(self._engine) as db:
                db.execute(
                    TABLES.insert().values(
                        id=key,
                        name=placed.name.removesuffix(ending),
                        file=placed.name,
                        form=ending,
                        bytes=placed.stat().st_size,
                        at=-1,
                        told="{}",
                        made=now,
                        touched=now,
                    )
                )
        except BaseException:
            self._files.forget(placed.parent)
            raise
        return self.get(key)

    def get(self, table_id: str) -> Kept:
        with self._engine.connect() as db:
            row = db.execute(sa.select(TABLES).where(TABLES.c.id == table_id)).mappings().first()
        if row is None:
            raise UsageError("this table is not here any more.", hint="Begin at Tables.", reason="unknown")
        return _kept(row)

    def all(self) -> list[Kept]:
        """The one that was touched last comes first."""
        with self._engine.connect() as db:
            rows = db.execute(sa.select(TABLES).order_by(TABLES.c.touched.desc(), TABLES.c.id)).mappings().all()
        return [_kept(row) for row in rows]

    def path(self, kept: Kept) -> Path:
        return self._files.of_table(kept.id) / kept.file

    def tell(self, table_id: str, told: Mapping[str, Any]) -> None:
        """Add to what the card says."""
        with writing(self._engine) as db:
            before = db.execute(sa.select(TABLES.c.told).where(TABLES.c.id == table_id)).scalar()
            if before is not None:
                said = json.dumps({**json.loads(before), **told})
                db.execute(TABLES.update().where(TABLES.c.id == table_id).values(told=said, touched=time.time()))

    def delete(self, table_id: str) -> None:
        """Forget a table: first the row, with all that hangs on it, then the files."""
        with writing(self._engine) as db:
            db.execute(TABLES.delete().where(TABLES.c.id == table_id))
        self._files.forget(self._files.of_table(table_id))

    def sweep(self) -> None:
        """Remove what a killed process left: files that arrived half, folders without a row."""
        here = {kept.id for kept in self.all()}
        for left in (self._files.root / "incoming").iterdir():
            left.unlink(missing_ok=True)
        for folder in (self._files.root / "tables").iterdir():
            if folder.name not in here:
                self._files.forget(folder)


def _kept(row: sa.RowMapping) -> Kept:
    return Kept(**{**row, "told": json.loads(row["told"])})
