"""Delta tables at one version, read by the ``deltalake`` package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.engines.core.base import Relation
from shoal.engines.core.kinds import columns_of
from shoal.engines.core.stored_types import with_stored
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.files.frames import open_deferred
from shoal.errors import UnreadableError, need

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
