"""Sources that are not local files: standard input, object stores, archives and several text files; brought into a private file.

The copy (mode 0600, in a private folder) goes with the engine that reads it. It cannot change under a run.
"""

from __future__ import annotations

import functools
import glob
import io
import os
import select
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from shoal.disk.atomic import disk_full, scratch_of
from shoal.engines.core.base import Relation
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.files.csv.encodings import SAMPLE_BYTES, guess_encoding
from shoal.engines.files.packing import opened
from shoal.errors import OutputError, ShoalError, UnreadableError, UsageError

Opened = tuple[DuckDB, Relation]
Opener = Callable[[Path, dict[str, Any]], Opened]

MOST_UNPACKED = 1_000
"""Times as many bytes as an archive has that its file may have: more is not a table."""


class _Keeper:
    """Holds a private folder until it is collected."""


def brought(source: str, options: dict[str, Any], fetch: Callable[[Path], Path], read: Opener) -> Opened:
    """``fetch`` copies the source into a private folder and gives the copy; ``read`` opens that."""
    keeper = _Keeper()
    folder, remove = scratch_of(keeper)
    try:
        engine, relation = read(fetch(folder), options)
    except OSError as error:
        remove()
        if disk_full(error):
            hint = "Free space."
            raise OutputError(f"not enough disk space for a copy of '{source}' in the temporary folder.", hint=hint) from None
        raise
    except BaseException:
        remove()
        raise
    engine.also_close(remove, keeper)
    return engine, replace(relation, source=source)


def from_stdin(folder: Path, format: str | None) -> Path:
    """Standard input as a file, CSV unless another format is given."""
    endings = {"csv": ".csv", "jsonl": ".jsonl", "parquet": ".parquet", "arrow": ".arrow"}
    form = format or "csv"
    if form not in endings:
        raise UsageError(f"'{form}' cannot be read from standard input.", hint=f"Formats: {', '.join(endings)}.")
    target = folder / f"stdin{endings[form]}"
    with target.open("wb") as out:
        out.writelines(_arriving(sys.stdin.buffer))
    if target.stat().st_size == 0:
        raise UnreadableError("nothing came from standard input.", hint="Pipe a table into the command.")
    return target


def _arriving(source: Any) -> Iterator[bytes]:
    """The bytes of a stream as they arrive. It waits in steps: a signal just before a blocking read would be seen after it."""
    try:
        wait = None if os.name == "nt" else functools.partial(select.select, [source.fileno()], [], [], 0.2)
    except (AttributeError, OSError):
        wait = None
    while True:
        while wait is not None and not wait()[0]:
            pass
        part = source.read1(1 << 18)
        if not part:
            return
        yield part


def from_zip(path: Path, folder: Path) -> Path:
    """The one file of an archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.infolist() if not m.is_dir() and not m.filename.startswith("__MACOSX/")]
            if len(members) != 1:
                raise UnreadableError(f"'{path.name}' holds {len(members)} files.", hint="Unpack it, and open one of them.")
            member = members[0]
            if member.flag_bits & 1:
                raise UnreadableError(f"'{path.name}' is locked with a password.", hint="Unpack it first.")
            target, left = folder / PurePosixPath(member.filename).name, MOST_UNPACKED * path.stat().st_size
            with archive.open(member) as content, target.open("wb") as out:
                while chunk := content.read(1 << 20):
                    left -= len(chunk)
                    if left < 0:
                        hint = "Unpack it by hand."
                        raise UnreadableError(f"'{path.name}' unpacks to much more than a table would.", hint=hint)
                    out.write(chunk)
    except (zipfile.BadZipFile, NotImplementedError, EOFError):
        raise UnreadableError(f"'{path.name}' is not a whole zip archive.", hint="Write it again.") from None
    return target


def text_files(path: Path, endings: Sequence[str]) -> list[Path]:
    """Files with these endings in a folder or of a pattern, in the order of their names."""
    paths = path.rglob("*") if path.is_dir() else (Path(p) for p in glob.glob(str(path), recursive=True))
    return sorted(
        p for p in paths if p.is_file() and p.name.lower().endswith(tuple(endings)) and not p.name.startswith((".", "_"))
    )


def one_csv(files: Sequence[Path], folder: Path) -> Path:
    """CSV files with the same first line as one: that line, then the records of each."""
    target = folder / "files.csv"
    with target.open("w", encoding="utf-8", newline="") as out:
        heading, ending = None, "\n"
        for file in files:
            with opened(file) as head:
                encoding = guess_encoding(head.read(SAMPLE_BYTES))
            with io.TextIOWrapper(opened(file), encoding="utf-8-sig" if encoding == "utf-8" else encoding, newline="") as text:
                line = text.readline()
                first = line.rstrip("\r\n")
                if heading is None:
                    heading, ending = first, line[len(first) :] or "\n"
                    out.write(heading + ending)
                if first != heading:
                    hint = "Open files with one heading together."
                    raise UnreadableError(f"'{file.name}' has other columns than '{files[0].name}'.", hint=hint)
                last = "\n"
                while chunk := text.read(1 << 20):
                    out.write(chunk)
                    last = chunk[-1]
                if last not in "\r\n":
                    out.write(ending)
    return target


STORES = ("s3", "gs", "gcs", "hdfs", "viewfs", "abfs", "abfss")
"""Schemes of the file systems that Arrow knows."""
PATIENCE = 20
"""Seconds that a store of Google's is asked again; ``?retry_limit_seconds=`` says otherwise."""


@dataclass(frozen=True)
class Stored:
    """A place in a store: Arrow's file system, the path in it, scheme and host of the address, and the address to be shown."""

    system: Any
    path: str
    scheme: str
    host: str
    shown: str


def in_store(source: str) -> bool:
    """Whether a source lies in an object store or on HDFS.

    >>> in_store("s3://bucket/people.parquet"), in_store("people.parquet")
    (True, False)
    """
    return source.partition("://")[0].lower() in STORES and "://" in source


def shown_store(source: str) -> str:
    """An address as it may stand in messages and certificates: without the credentials that Arrow allows in it.

    >>> shown_store("s3://key:secret@bucket/people.parquet?region=eu")
    's3://bucket/people.parquet'
    """
    scheme, _, rest = source.partition("?")[0].partition("://")
    place, slash, path = rest.rpartition("@")[2].partition("/")
    return f"{scheme}://{place}{slash}{path}"


def stored(source: str) -> Stored:
    """The place that an address names; the store is not contacted."""
    from pyarrow import fs

    shown = shown_store(source)
    scheme, _, rest = shown.partition("://")
    with reading(shown):
        system, path = fs.FileSystem.from_uri(_patient(source))
    return Stored(system, path.rstrip("/"), scheme.lower(), rest.partition("/")[0], shown)


def copied(place: Stored, folder: Path) -> Path:
    """A copy of a file, or of a folder with everything in it."""
    from pyarrow import fs

    target = folder / (PurePosixPath(place.path).name or "table")
    with reading(place.shown):
        info = place.system.get_file_info(place.path)
        if info.type == fs.FileType.NotFound:
            raise UnreadableError(f"'{place.shown}' does not exist.", hint="Check bucket and path.")
        if info.type == fs.FileType.Directory:
            target.mkdir()
            fs.copy_files(place.path, str(target), source_filesystem=place.system, destination_filesystem=fs.LocalFileSystem())
        else:
            with place.system.open_input_stream(place.path) as content, target.open("wb") as out:
                shutil.copyfileobj(content, out, 1 << 20)
    return target


@contextmanager
def reading(shown: str) -> Iterator[None]:
    """Errors of a store in our words; a full disk here stays one."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, ShoalError) or disk_full(error):
            raise
        hint = "Check the address, and the credentials in the environment (such as AWS_ACCESS_KEY_ID)."
        raise UnreadableError(f"'{shown}' cannot be read.", hint=hint) from None


def _patient(source: str) -> str:
    """Google's library would ask for a quarter of an hour where nobody answers, and cannot be stopped meanwhile."""
    if not source.lower().startswith(("gs://", "gcs://")) or "retry_limit_seconds=" in source:
        return source
    return f"{source}{'&' if '?' in source else '?'}retry_limit_seconds={PATIENCE}"
