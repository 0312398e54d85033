"""The folder of a workspace: private, every path inside it made from ids, never from a name that somebody typed."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from shoal.disk.atomic import sync_folder
from shoal.errors import OutputError, UsageError

ID = re.compile(r"[0-9a-f]{16}")
LONGEST = 100
"""Letters of a file's name that are kept."""


class Files:
    """Paths of one workspace's folder."""

    def __init__(self, folder: Path) -> None:
        self.root = folder.absolute()
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.root.chmod(0o700)
            for part in ("tables", "releases", "incoming", "locks"):
                (self.root / part).mkdir(mode=0o700, exist_ok=True)
        except OSError:
            raise OutputError("the workspace's folder cannot be made.", hint="Name one that you may write to.") from None

    def of_table(self, table_id: str) -> Path:
        return self.root / "tables" / known(table_id)

    def of_release(self, release_id: str) -> Path:
        return self.root / "releases" / known(release_id)

    def lock_of(self, job_id: str) -> Path:
        return self.root / "locks" / known(job_id)

    @contextlib.contextmanager
    def incoming(self, key: str) -> Iterator[Path]:
        """A private file for what arrives; gone at the end unless it was moved away."""
        place = self.root / "incoming" / known(key)
        try:
            os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            yield place
        finally:
            place.unlink(missing_ok=True)

    def take(self, arrived: Path, table_id: str, name: str) -> Path:
        """Give an arrived file its place; on the disk when this returns."""
        folder = self.of_table(table_id)
        folder.mkdir(mode=0o700)
        with arrived.open("rb") as written:
            os.fsync(written.fileno())
        target = folder / name
        arrived.replace(target)
        sync_folder(folder)
        sync_folder(folder.parent)
        return target

    def forget(self, folder: Path) -> None:
        """Remove a table's or a release's folder, and the private file beside it."""
        shutil.rmtree(folder, ignore_errors=True)
        (folder.parent / f"{folder.name}.private.json").unlink(missing_ok=True)

    def size(self, folder: Path) -> int:
        return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) if folder.is_dir() else 0


def known(key: str) -> str:
    """An id, as ids are made here; anything else never becomes a path."""
    if not ID.fullmatch(key):
        raise UsageError("there is nothing at this address.", hint="Begin at Tables.", reason="unknown")
    return key


def safe_name(given: str, ending: str) -> str:
    """A file name to keep: the stem that was given, without what systems or spreadsheets take for more; the ending by content.

    >>> safe_name("../../etc/pass wd.CSV", ".csv"), safe_name("a.csv.gz", ".csv.gz"), safe_name("\\u202e\\n", ".csv")
    ('pass wd.csv', 'a.csv.gz', 'table.csv')
    """
    base = re.split(r"[/\\]", given)[-1]
    for _ in range(2):
        stem, dot, last = base.rpartition(".")
        if stem and dot and 1 <= len(last) <= 8 and last.isalnum():
            base = stem
    kept = "".join(c for c in base if c.isprintable() and c not in '<>:"/\\|?*').strip(" .")
    return f"{kept[:LONGEST].strip(' .') or 'table'}{ending}"
