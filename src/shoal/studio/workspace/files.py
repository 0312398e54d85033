"""The folder of a workspace: private, every path inside it made from ids, never from a name that somebody typed.

What a file is, by its first bytes: the name that a person gave it proves nothing.

Databases that an admin has named: their addresses stand in a private file of the studio's folder, never in a page.

::

    # databases.toml, readable by its owner only
    clinic = "postgresql://reader@db.example.org/clinic"     # password: PGPASSWORD, .pgpass, or in the address
    survey = "duckdb:///srv/survey.duckdb"
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path

from shoal.disk.atomic import sync_folder
from shoal.errors import DataError, OutputError, UsageError, refuse

ID = re.compile(r"[0-9a-f]{16}")
LONGEST = 100
"""Letters of a file's name that are kept."""


class Files:
    """Paths of one workspace's folder."""

    def __init__(self, folder: Path) -> None:
        self.root = folder.absolute()
        with refuse(OutputError("the workspace's folder cannot be made.", hint="Name one that you may write to."), OSError):
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.root.chmod(0o700)
            for part in ("tables", "releases", "incoming", "locks"):
                (self.root / part).mkdir(mode=0o700, exist_ok=True)

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


HEAD = 4096
"""Bytes that are looked at."""

READS = "Choose CSV, Parquet, Excel (.xlsx), JSON lines, Arrow, SPSS, Stata or SAS."
SIGNS = (
    (b"PAR1", ".parquet"),
    (b"ARROW1", ".arrow"),
    (b"$FL2", ".sav"),
    (b"$FL3", ".zsav"),
    (b"<stata_dta>", ".dta"),
    (b"HEADER RECORD*******LIB", ".xpt"),
    (b"\0" * 12 + b"\xc2\xea\x81\x60", ".sas7bdat"),
    (b"\x1f\x8b", ".gz"),
    (b"\x28\xb5\x2f\xfd", ".zst"),
    (b"PK\x03\x04", ".zip"),
)
"""How files of each kind begin."""
OTHERS = (
    (b"%PDF", "a PDF document"),
    (b"\xd0\xcf\x11\xe0", "an old Office document (.xls, .doc)"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"SQLite format 3", "an SQLite database"),
    (b"7z\xbc\xaf", "a packed archive"),
    (b"Rar!", "a packed archive"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
)


def ending_of(head: bytes, name: str) -> str:
    """The ending that the content of a file calls for; where content tells too little, the name is believed.

    A text is a table of separated values, or lines of JSON. What no reader here takes is refused in words.

    >>> ending_of(b"PAR1....", "x.csv"), ending_of(b"a,b\\n1,2\\n", "x.exe"), ending_of(b'{"a": 1}\\n', "x")
    ('.parquet', '.csv', '.jsonl')
    """
    if not head.strip(b"\0 \t\r\n"):
        hint = "Choose a file with a row of column names and at least one row of data."
        raise DataError("Found: the file is empty.", hint=hint)
    for sign, ending in SIGNS:
        if head.startswith(sign):
            workbook = ending == ".zip" and head[30:].startswith(WORKBOOK)
            return ".xlsx" if workbook else _packed_kind(ending, name)
    for sign, what in OTHERS:
        if head.startswith(sign):
            raise DataError(f"This file is {what}, not a table.", hint=READS)
    if head[:1] in (b"r", b"q", b"s") and head[1:2] in (b"\x01", b"\x02") and head[2:3] == b"\x01":
        return ".dta"
    if b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError("Found: a file of a kind that is not known here.", hint=READS)
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return ".jsonl"
    if head.lstrip().lower().startswith((b"<!doctype html", b"<html")):
        raise DataError("This file is a web page, not a table.", hint=READS)
    return ".tsv" if name.lower().endswith((".tsv", ".tab")) else ".csv"


WORKBOOK = (b"[Content_Types]", b"xl/", b"_rels/", b"docProps/")
"""How the name of the first file of a workbook begins, at byte 30 of the zip."""


def _packed_kind(ending: str, name: str) -> str:
    """The kind of a compressed file, from the ending before the last; a table of separated values by default."""
    if ending not in (".gz", ".zst"):
        return ending
    inner = name.lower().removesuffix(ending).rpartition(".")[2]
    return f".{inner}{ending}" if inner in ("csv", "tsv", "jsonl", "ndjson", "txt") else f".csv{ending}"


FILE = "databases.toml"
KINDS = ("postgresql://", "mysql://", "mariadb://", "duckdb://", "sqlite://")
LONGEST_TABLE = 200


class Databases:
    """The named databases of a studio's folder; read at every look, so that a change needs no restart."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE

    def names(self) -> list[str]:
        """What people choose from."""
        return sorted(self._read())

    def source(self, name: str, table: str) -> str:
        """Where a table of a named database is opened; holds the password where the address does: never to be shown."""
        address = self._read().get(name)
        if address is None:
            raise UsageError("no database has this name.", hint="Choose one of those shown.")
        named = table.strip()
        odd = "::" in named or "?" in named or len(named) > LONGEST_TABLE or not named.isprintable()
        if not named or odd:
            raise UsageError("this is not the name of a table.", hint="Write it as TABLE or SCHEMA.TABLE.")
        return f"{address}::{named}"

    def _read(self) -> dict[str, str]:
        if not self._file.is_file():
            return {}
        if stat.S_IMODE(self._file.stat().st_mode) & 0o077:
            raise DataError(f"others on this computer can read {FILE}.", hint=f"Make it private: chmod 600 {FILE}")
        try:
            settings = tomllib.loads(self._file.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError):
            raise DataError(f"{FILE} cannot be read.", hint='Write lines of the form NAME = "ADDRESS".') from None
        wrong = [name for name, url in settings.items() if not isinstance(url, str) or not url.startswith(KINDS) or "::" in url]
        if wrong:
            hint = f"Addresses begin with {', '.join(KINDS)} and name no table."
            raise DataError(f"{len(wrong)} of the databases in {FILE} have no address that is known.", hint=hint)
        return settings
