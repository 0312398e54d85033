"""Object stores and HDFS, by Arrow's file systems; credentials come from their usual places in the environment."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from shoal.disk.atomic import disk_full
from shoal.errors import ShoalError, UnreadableError

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
        found = place.system.get_file_info(place.path)
        if found.type == fs.FileType.NotFound:
            raise UnreadableError(f"'{place.shown}' does not exist.", hint="Check bucket and path.")
        if found.type == fs.FileType.Directory:
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
        raise UnreadableError(
            f"'{shown}' cannot be read.",
            hint="Check the address, and the credentials in the environment (such as AWS_ACCESS_KEY_ID).",
        ) from None


def _patient(source: str) -> str:
    """Google's library would ask for a quarter of an hour where nobody answers, and cannot be stopped meanwhile."""
    if not source.lower().startswith(("gs://", "gcs://")) or "retry_limit_seconds=" in source:
        return source
    return f"{source}{'&' if '?' in source else '?'}retry_limit_seconds={PATIENCE}"
