"""Iceberg tables at one snapshot, read by the ``pyiceberg`` package, from a folder or an object store.

Its metadata name the address of every file. Files are read from the place that the user named and from no other; the settings
that a table carries in its metadata (classes to load, servers to ask) are not followed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.engines.core.base import Relation
from shoal.engines.core.kinds import columns_of
from shoal.engines.core.stored_types import with_stored
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.files.frames import open_deferred
from shoal.engines.files.lakes.logs import METADATA
from shoal.errors import ShoalError, UnreadableError, need

_SAME = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}
"""Schemes that mean the same store."""


@dataclass(frozen=True)
class IcebergPlace:
    """Where a table lies: Arrow's file system, the path of the table in it, and its address without credentials."""

    system: Any
    path: str
    shown: str
    scheme: str = "file"
    host: str | None = None
    """Of HDFS, whose addresses of files name their cluster."""

    def metadata(self) -> str:
        """The path of the newest metadata file: the one that the hint names, else the one with the highest number."""
        from pyarrow import fs

        folder = f"{self.path}/metadata"
        names = {f.base_name for f in self.system.get_file_info(fs.FileSelector(folder))}
        if "version-hint.text" in names:
            with self.system.open_input_stream(f"{folder}/version-hint.text") as content:
                text = content.read().decode("utf-8").strip()
            for name in (f"v{text}{METADATA}", f"{text}{METADATA}", text):
                if name in names:
                    return f"{folder}/{name}"

        def number(name: str) -> tuple[int, str]:
            digits = re.search(r"[0-9]+", name)
            return (int(digits[0]) if digits else -1), name

        return f"{folder}/{max((n for n in names if n.endswith(METADATA)), key=number)}"

    def system_of(self, scheme: str, host: str | None) -> Any:
        """The file system for an address in the metadata."""
        if _SAME.get(scheme, scheme) != _SAME.get(self.scheme, self.scheme) or self.host not in (None, host):
            raise UnreadableError(
                f"Iceberg table '{self.shown}' has files in another place than the one that was named.",
                hint="Name the place where it was written; a copy of an Iceberg table still names its old files.",
            )
        return self.system


def in_folder(path: Path) -> IcebergPlace:
    """The place of a table in a folder of this machine."""
    from pyarrow import fs

    return IcebergPlace(fs.LocalFileSystem(), str(path.absolute()), str(path))


def open_iceberg(place: IcebergPlace, version: int | None) -> tuple[DuckDB, Relation]:
    """An Iceberg table at a snapshot; the newest without one."""
    cannot = UnreadableError(f"Iceberg table '{place.shown}' cannot be read.", hint="Check its metadata and its files.")
    table = _read(lambda: _table(place), cannot)
    now = table.current_snapshot()
    number = version if version is not None else now.snapshot_id if now is not None else None
    if number is not None and table.snapshot_by_id(number) is None:
        raise UnreadableError(f"Iceberg table '{place.shown}' has no snapshot {number}.", hint="Check the number behind @.")
    scan = table.scan(snapshot_id=number)
    found = _read(lambda: scan.projection().as_arrow(), cannot)
    schema = pa.schema([pa.field(f.name, f.type) for f in found])
    columns = with_stored(columns_of(schema), schema)
    shown = f"iceberg::{place.shown}@{number if number is not None else ''}"
    engine, relation = open_deferred(
        lambda: _read(scan.to_arrow, cannot), schema, columns, shown, format="iceberg", version=number
    )
    engine.version = f"iceberg snapshot {number}"
    return engine, relation


def _table(place: IcebergPlace) -> Any:
    try:
        from pyiceberg.catalog.noop import NoopCatalog
        from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO
        from pyiceberg.serializers import FromInputFile
        from pyiceberg.table import StaticTable
    except ModuleNotFoundError:
        raise need("lake", "pyiceberg") from None
    files = PyArrowFileIO()
    files.fs_by_scheme = place.system_of
    newest = place.metadata()
    metadata = FromInputFile.table_metadata(PyArrowFile(newest, newest, place.system))
    return StaticTable(("static-table", newest), metadata, newest, files, NoopCatalog("static-table"))


def _read(step: Callable[[], Any], cannot: UnreadableError) -> Any:
    """What the package gives; its errors name files and values."""
    try:
        return step()
    except ShoalError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, NotImplementedError):
        raise cannot from None
