"""A workspace: one folder and one database, opened together."""

from __future__ import annotations

from pathlib import Path

from shoal.studio.workspace.database import open_database
from shoal.studio.workspace.files import Files
from shoal.studio.workspace.history import History, Questionnaires
from shoal.studio.workspace.jobs import Jobs
from shoal.studio.workspace.releases import Releases
from shoal.studio.workspace.sessions import Sessions
from shoal.studio.workspace.tables import Tables


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
