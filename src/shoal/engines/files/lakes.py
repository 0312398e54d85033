"""Whether a folder is a lake table, or lies inside one: by the log in it.

Lake tables keep Parquet files of rows that were removed, too; only the log beside them tells which rows are alive. So no file of
one is ever read as plain Parquet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from shoal.engines.core.base import Relation
from shoal.engines.core.kinds import columns_of
from shoal.engines.core.stored_types import with_stored
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.files.brought import Stored, brought, copied, in_store, reading, stored
from shoal.engines.files.frames import open_deferred
from shoal.engines.files.packing import require_option
from shoal.errors import ShoalError, UnreadableError, UsageError, need
from shoal.model.roles import check_names

DELTA, ICEBERG, METADATA = "_delta_log", "metadata", ".metadata.json"


def lake_of(folder: Path) -> str | None:
    """``delta`` or ``iceberg`` where a folder is such a table, by the log in it."""
    if (folder / DELTA).is_dir():
        return "delta"
    return "iceberg" if any((folder / ICEBERG).glob(f"*{METADATA}")) else None


def refuse_inside_lake(files: Iterable[Path]) -> None:
    """Refuse Parquet files that belong to a lake table: which of their rows are alive only its log tells."""
    known = cache(lake_of)
    for file in files:
        for folder in file.absolute().parents:
            kind = known(folder)
            if kind is not None:
                raise part_of(file.name, kind, str(folder))


def lake_in_store(system: Any, path: str) -> str | None:
    """The same for a folder of an object store, by the file system of Arrow that reads it."""
    from pyarrow import fs

    log, metadata = system.get_file_info([f"{path}/{DELTA}", f"{path}/{ICEBERG}"])
    if log.type == fs.FileType.Directory:
        return "delta"
    if metadata.type != fs.FileType.Directory:
        return None
    inside = system.get_file_info(fs.FileSelector(metadata.path))
    return "iceberg" if any(f.base_name.endswith(METADATA) for f in inside) else None


def refuse_inside_lake_of_store(system: Any, path: str, address: str) -> None:
    """Refuse a file or folder of a store (``address`` without credentials) where a folder above it is a lake table."""
    above = address.rstrip("/")
    for folder in PurePosixPath(path).parents:
        above = above.rpartition("/")[0]
        if str(folder) in (".", "/"):
            return
        kind = lake_in_store(system, str(folder))
        if kind is not None:
            raise part_of(PurePosixPath(path).name, kind, above)


def part_of(name: str, kind: str, table: str) -> UsageError:
    """The error where files of a lake table would be read as plain ones."""
    what = f"'{name}' belongs to the {kind.capitalize()} table '{table}'; some of its rows may be removed ones."
    return UsageError(what, hint=f"Open the table: {kind}::{table}")


_UNDERSTOOD = {"deletionVectors", "timestampNtz"}
"""Features of a reader that tables with deletion vectors may have beside them."""


def open_delta(path: Path, version: int | None) -> tuple[DuckDB, Relation]:
    """A Delta folder at a version; the newest without one."""
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError, DeltaProtocolError
    except ModuleNotFoundError:
        raise need("lake", "deltalake") from None
    at = "" if version is None else f" at version {version}"
    cannot = UnreadableError(f"Delta table '{path}'{at} cannot be read.", hint="Check the version and the log.")
    try:
        table = DeltaTable(str(path), version=version)
        marked = "deletionVectors" in (table.protocol().reader_features or ())
        data = None if marked else table.to_pyarrow_dataset()
    except DeltaProtocolError:
        raise _unknown_feature(path) from None
    except (DeltaError, OSError, ValueError):
        raise cannot from None
    shown, details = f"delta::{path}@{table.version()}", {"format": "delta", "version": table.version()}
    if marked:
        if not set(table.protocol().reader_features or ()) <= _UNDERSTOOD:
            raise _unknown_feature(path)
        engine, relation = _by_query(table, shown, cannot, details)
    else:
        engine = DuckDB()
        relation = engine.register(data, shown, **details)
    engine.version = f"delta version {table.version()}"
    return engine, relation


def _by_query(table: pa.Table, shown: str, cannot: UnreadableError, details: dict[str, Any]) -> tuple[DuckDB, Relation]:
    """A table with deletion vectors: rows marked as removed stay in its files, and the library's query engine leaves them out."""
    from deltalake import QueryBuilder
    from deltalake.exceptions import DeltaError

    schema = pa.schema(table.schema().to_arrow())

    def rows() -> Any:
        try:
            return pa.table(QueryBuilder().register("t", table).execute("SELECT * FROM t")).cast(schema)
        except (DeltaError, pa.ArrowException, OSError, ValueError):
            raise cannot from None

    return open_deferred(rows, schema, with_stored(columns_of(schema), schema), shown, **details)


def _unknown_feature(path: Path) -> UnreadableError:
    hint = "Rewrite it without (REORG TABLE … APPLY (PURGE)), or read it with Spark."
    return UnreadableError(f"Delta table '{path}' uses a feature that this reader does not know.", hint=hint)


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
            what = f"Iceberg table '{self.shown}' has files in another place than the one that was named."
            hint = "Name the place where it was written; a copy of an Iceberg table still names its old files."
            raise UnreadableError(what, hint=hint)
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
    rows = _read(lambda: scan.projection().as_arrow(), cannot)
    schema = pa.schema([pa.field(f.name, f.type) for f in rows])
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


_SOURCE = re.compile(r"(delta|iceberg)::(.*?)(?:@([0-9]+))?")


def is_lake_source(source: str) -> bool:
    """Whether a source is ``delta::PATH``, ``iceberg::PATH`` or one of them with ``@VERSION``.

    >>> is_lake_source("delta::people@12"), is_lake_source("people.csv")
    (True, False)
    """
    return source.startswith(("delta::", "iceberg::"))


def open_lake_source(source: str, options: dict[str, Any]) -> tuple[DuckDB, Relation]:
    """``delta::PATH@12``: the table at a version; the newest without one."""
    match = _SOURCE.fullmatch(source)
    if match is None or not match[2]:
        raise UsageError("the source names no lake table.", hint="Write delta::FOLDER or delta::FOLDER@VERSION.")
    version = None if match[3] is None else int(match[3])
    if in_store(match[2]):
        place = stored(match[2])
        with reading(place.shown):
            kind = lake_in_store(place.system, place.path)
        if kind is None or kind != match[1]:
            raise _is_none(place.shown, match[1])
        return open_lake_of_store(place, kind, options, version)
    path = Path(match[2])
    if lake_of(path) != match[1]:
        raise _is_none(str(path), match[1]) if path.exists() else UnreadableError(f"folder '{path}' does not exist.", hint=_LOG)
    return open_lake(path, match[1], options, version)


_LOG = "Name the folder that holds its log (_delta_log, metadata)."


def _is_none(shown: str, kind: str) -> UnreadableError:
    return UnreadableError(f"'{shown}' is not {'an Iceberg' if kind == 'iceberg' else 'a Delta'} table.", hint=_LOG)


def open_lake_of_store(place: Stored, kind: str, options: dict[str, Any], version: int | None = None) -> tuple[DuckDB, Relation]:
    """A lake table of an object store: Delta is copied with its log into a private folder, Iceberg read from its files there."""
    if kind == "delta":
        shown = f"delta::{place.shown}"
        engine, relation = brought(
            shown, options, lambda folder: copied(place, folder), lambda path, given: open_lake(path, kind, given, version)
        )
        return engine, replace(relation, source=f"{shown}@{relation.details['version']}")
    if place.scheme in ("abfs", "abfss"):
        raise UsageError("Iceberg tables in Azure's stores are not read.", hint="Name the table in Spark: spark::table.")
    host = place.host if place.scheme in ("hdfs", "viewfs") else None
    return _open_checked(
        open_iceberg, IcebergPlace(place.system, place.path, place.shown, place.scheme, host), kind, options, version
    )


def open_lake(path: Path, kind: str, options: dict[str, Any], version: int | None = None) -> tuple[DuckDB, Relation]:
    """An engine and relation over a lake table of this machine at one version."""
    if kind == "delta":
        return _open_checked(open_delta, path, kind, options, version)
    return _open_checked(open_iceberg, in_folder(path), kind, options, version)


def _open_checked(open: Any, place: Any, kind: str, options: dict[str, Any], version: int | None) -> tuple[DuckDB, Relation]:
    require_option(options, (), f"a {kind.capitalize()} table")
    engine, relation = open(place, version)
    try:
        check_names([c.name for c in relation.columns], table=relation.source)
    except BaseException:
        engine.close()
        raise
    return engine, relation
