"""Lake tables: Delta and Iceberg, read at one version through their own libraries, never as plain Parquet.

Their folders hold Parquet files of rows that were removed, too; only the log beside them tells which rows are alive. So a folder
with such a log is opened by it, and a file or pattern inside one is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.engines.core.base import Relation
from shoal.engines.core.kinds import columns_of
from shoal.engines.core.stored import with_stored
from shoal.engines.duckdb.engine import DuckDB, require_option
from shoal.engines.files.brought import brought, from_store, in_store, shown_store
from shoal.engines.files.frames import open_deferred
from shoal.errors import UnreadableError, UsageError, need
from shoal.model.roles import check_names

_UNDERSTOOD = {"deletionVectors", "timestampNtz"}
"""Features of a reader that tables with deletion vectors may have beside them."""
_SOURCE = re.compile(r"(delta|iceberg)::(.*?)(?:@([0-9]+))?")


def is_lake_source(source: str) -> bool:
    """Whether a source is ``delta::PATH``, ``iceberg::PATH`` or one of them with ``@VERSION``.

    >>> is_lake_source("delta::people@12"), is_lake_source("people.csv")
    (True, False)
    """
    return source.startswith(("delta::", "iceberg::"))


def open_lake_source(source: str, options: dict[str, Any]) -> tuple[DuckDB, Relation]:
    """``delta::PATH@12``: the table at a version; the newest without one."""
    found = _SOURCE.fullmatch(source)
    if found is None or not found[2]:
        raise UsageError("the source names no lake table.", hint="Write delta::FOLDER or delta::FOLDER@VERSION.")
    version = None if found[3] is None else int(found[3])
    if in_store(found[2]):
        return _in_store(found[1], found[2], options, version)
    path = Path(found[2])
    if lake_of(path) != found[1]:
        what = f"'{path}' is no {found[1].capitalize()} table." if path.exists() else f"folder '{path}' does not exist."
        raise UnreadableError(what, hint="Name the folder that holds its log (_delta_log, metadata).")
    return open_lake(path, found[1], options, version)


def _in_store(kind: str, address: str, options: dict[str, Any], version: int | None) -> tuple[DuckDB, Relation]:
    """A Delta table of an object store, copied with its log into a private folder; Iceberg names the places of its files."""
    shown = shown_store(address)
    if kind != "delta":
        raise UsageError(
            "Iceberg tables are read from folders of this machine, or by Spark.", hint="Name the table in Spark: spark::table."
        )

    def read(path: Path, given: dict[str, Any]) -> tuple[DuckDB, Relation]:
        if lake_of(path) != kind:
            raise UnreadableError(f"'{shown}' is no Delta table.", hint="Name the folder that holds its log (_delta_log).")
        return open_lake(path, kind, given, version)

    engine, relation = brought(f"delta::{shown}", options, lambda folder: from_store(address, folder), read)
    return engine, replace(relation, source=f"delta::{shown}@{relation.details['version']}")


def lake_of(folder: Path) -> str | None:
    """``delta`` or ``iceberg`` where a folder is such a table, by the log in it."""
    if (folder / "_delta_log").is_dir():
        return "delta"
    return "iceberg" if any((folder / "metadata").glob("*.metadata.json")) else None


def refuse_inside_lake(files: Iterable[Path]) -> None:
    """Refuse Parquet files that belong to a lake table: which of their rows are alive only its log tells."""
    known = cache(lake_of)
    for file in files:
        for folder in file.absolute().parents:
            kind = known(folder)
            if kind is not None:
                raise UsageError(
                    f"'{file.name}' belongs to the {kind.capitalize()} table '{folder}'; some of its rows may be removed ones.",
                    hint=f"Open the table: {kind}::{folder}",
                )


def open_lake(path: Path, kind: str, options: dict[str, Any], version: int | None = None) -> tuple[DuckDB, Relation]:
    """An engine and relation over a lake table at one version."""
    require_option(options, (), f"a {kind.capitalize()} table")
    engine, relation = (_open_delta if kind == "delta" else _open_iceberg)(path, version)
    check_names([c.name for c in relation.columns], table=path.name)
    return engine, relation


def _open_delta(path: Path, version: int | None) -> tuple[DuckDB, Relation]:
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


def _by_query(table: Any, shown: str, cannot: UnreadableError, details: dict[str, Any]) -> tuple[DuckDB, Relation]:
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
    return UnreadableError(
        f"Delta table '{path}' uses a feature that this reader does not know.",
        hint="Rewrite it without (REORG TABLE … APPLY (PURGE)), or read it with Spark.",
    )


def _open_iceberg(path: Path, version: int | None) -> tuple[DuckDB, Relation]:
    try:
        from pyiceberg.exceptions import NoSuchTableError
        from pyiceberg.table import StaticTable
    except ModuleNotFoundError:
        raise need("lake", "pyiceberg") from None
    try:
        table = StaticTable.from_metadata(_newest(path).absolute().as_uri())
        now = table.current_snapshot()
        number = version if version is not None else now.snapshot_id if now is not None else None
        there = number is None or table.snapshot_by_id(number) is not None
        scan = table.scan(snapshot_id=number)
        schema: Any = scan.projection().as_arrow() if there else None
    except (NoSuchTableError, OSError, ValueError, KeyError):
        raise UnreadableError(f"Iceberg table '{path}' cannot be read.", hint="Check its metadata folder.") from None
    if not there:
        raise UnreadableError(f"Iceberg table '{path}' has no snapshot {number}.", hint="Check the number behind @.")
    schema = pa.schema([pa.field(f.name, f.type) for f in schema])
    columns = with_stored(columns_of(schema), schema)
    shown = f"iceberg::{path}@{number if number is not None else ''}"
    engine, relation = open_deferred(scan.to_arrow, schema, columns, shown, format="iceberg", version=number)
    engine.version = f"iceberg snapshot {number}"
    return engine, relation


def _newest(path: Path) -> Path:
    """The newest metadata file: the one that the hint names, else the one with the highest number."""
    folder = path / "metadata"
    hint = folder / "version-hint.text"
    if hint.is_file():
        text = hint.read_text(encoding="utf-8").strip()
        for name in (f"v{text}.metadata.json", f"{text}.metadata.json", text):
            if (folder / name).is_file():
                return folder / name

    def number(file: Path) -> tuple[int, str]:
        digits = re.search(r"[0-9]+", file.name)
        return (int(digits[0]) if digits else -1), file.name

    return max(folder.glob("*.metadata.json"), key=number)
