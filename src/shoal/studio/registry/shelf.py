"""The registries that the studio shows: the records that come with Shoal, and the workspace's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.registry.answer.query import Registry
from shoal.registry.keep.store import Store
from shoal.studio.here import Studio

OWN, SHIPPED = "own", "shipped"


class Shelf:
    """Both registries of one workspace. The own one is a file beside the tables, made by the first publication."""

    def __init__(self, studio: Studio) -> None:
        self.folder: Path = studio.workspace.files.root / "registry"
        self.shipped = Registry()

    @property
    def has_own(self) -> bool:
        return self._file.is_file()

    @property
    def key_file(self) -> Path:
        """The key that signs what this workspace publishes."""
        return self.folder / "key"

    @property
    def ledger_file(self) -> Path:
        """The private memory of what was published."""
        return self.folder / "ledger.json"

    @property
    def _file(self) -> Path:
        return self.folder / "registry.db"

    @contextmanager
    def asked(self, which: str) -> Iterator[Registry]:
        """The registry to ask: the own one where it is there and wanted."""
        if which != OWN or not self.has_own:
            yield self.shipped
            return
        with self.store() as opened:
            yield Registry(opened)

    @contextmanager
    def store(self) -> Iterator[Store]:
        self.folder.mkdir(mode=0o700, exist_ok=True)
        opened = Store(f"sqlite:///{self._file}")
        try:
            self._file.chmod(0o600)
            yield opened
        finally:
            opened.close()
