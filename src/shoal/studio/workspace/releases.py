"""Releases of a workspace: folders that were written and proven, with what was counted in them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.studio.workspace.database import RELEASES
from shoal.studio.workspace.files import ID, Files
from shoal.studio.workspace.rows import Made, Rows

if TYPE_CHECKING:
    from sqlalchemy import Engine


class Releases(Rows[Made]):
    """What was released, by table; the newest comes first."""

    def __init__(self, engine: Engine, files: Files) -> None:
        super().__init__(engine, RELEASES, Made, "release", newest="made")
        self._files = files

    def place(self) -> tuple[str, Path]:
        """An id and a folder for a release that is about to be written; nothing is there yet."""
        key = secrets.token_hex(8)
        return key, self._files.of_release(key)

    def add(self, release_id: str, table_id: str, name: str, told: Mapping[str, Any]) -> Made:
        """A release whose folder stands; until this is called it does not count, and :meth:`sweep` would remove it."""
        return self.insert(id=release_id, table_id=table_id, name=name, told=json.dumps(told))

    def accept(self, release_id: str, findings: Mapping[str, Mapping[str, Any]]) -> None:
        """Note findings that somebody accepted: by name, with their sentence, the reason, who and when."""
        self.note(release_id, lambda told: {"accepted": {**told.get("accepted", {}), **findings}})

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
