"""Tables of a workspace: the file that was dropped, its name, and what its card says."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.studio.workspace.database import TABLES
from shoal.studio.workspace.files import Files, safe_name
from shoal.studio.workspace.kinds import HEAD, ending_of
from shoal.studio.workspace.rows import Kept, Rows

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

    def tell(self, table_id: str, told: Mapping[str, Any]) -> None:
        """Add to what the card says."""
        self.note(table_id, lambda _: told, touched=time.time())

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
