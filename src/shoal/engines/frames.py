"""Frames in memory: pyarrow, pandas, polars, DuckDB relations, and dictionaries of columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from shoal.engines.base import Relation
from shoal.engines.duckdb import DuckDB, require_option
from shoal.engines.kinds import columns_of
from shoal.errors import UsageError
from shoal.model.roles import Column


def open_frame(source: Any, options: dict[str, Any]) -> tuple[DuckDB, Relation]:
    """An engine and relation over a frame; the frame is not copied where its memory can be shared."""
    require_option(options, (), "a frame in memory")
    module = type(source).__module__.partition(".")[0]
    if module in ("duckdb", "_duckdb") and hasattr(source, "to_arrow_reader"):
        return _open_relation(source)
    return open_arrow(as_arrow(source), "a frame in memory")


def open_arrow(table: Any, source: str, **details: Any) -> tuple[DuckDB, Relation]:
    """An engine over an Arrow table."""
    return open_deferred(lambda: table, columns_of(table.schema), source, **details)


def open_deferred(load: Callable[[], Any], columns: Sequence[Column], source: str, **details: Any) -> tuple[DuckDB, Relation]:
    """An engine over an Arrow table that is loaded once, when it is first asked for."""
    from shoal.engines.readers import ArrowReader

    reader = ArrowReader(load)
    engine = DuckDB(stable_order=True)
    relation = engine.defer(lambda: reader.table, columns, source, **details)
    return engine, replace(relation, reader=reader)


def as_arrow(source: Any) -> Any:
    """A pyarrow Table from any frame that knows Arrow's PyCapsule interface, or from pandas."""
    import pyarrow as pa

    if isinstance(source, pa.Table):
        return _plain_names(source)
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if isinstance(source, dict):
        return pa.table(source)
    if type(source).__module__.partition(".")[0] == "polars":
        if hasattr(source, "collect"):
            source = source.collect()
        return source.to_arrow()
    if type(source).__module__.partition(".")[0] == "pandas":
        return from_pandas(source)
    if hasattr(source, "__arrow_c_stream__"):
        return pa.table(source)
    raise UsageError(
        f"a source of type '{type(source).__name__}' cannot be opened.",
        hint="Pass a path, ENGINE-URL::table, or a pandas, polars, pyarrow or DuckDB table.",
    )


def from_pandas(frame: Any) -> Any:
    """A pandas frame without its index; a column of mixed types is refused by name, not by value."""
    import pyarrow as pa

    arrays, names = [], []
    for position, label in enumerate(frame.columns):
        try:
            arrays.append(pa.Array.from_pandas(frame.iloc[:, position]))
        except (pa.ArrowException, TypeError, ValueError):
            raise UsageError(
                f"column '{label}' holds values of different types.", hint="Make it one type, for example with astype(str)."
            ) from None
        names.append(str(label))
    return pa.Table.from_arrays([_one(a) for a in arrays], names=names)


def _one(array: Any) -> Any:
    return array.combine_chunks() if hasattr(array, "combine_chunks") else array


def _plain_names(table: Any) -> Any:
    return table.replace_schema_metadata(None)


def _open_relation(source: Any) -> tuple[DuckDB, Relation]:
    """A DuckDB relation is read through its own connection, once, when it is first asked for."""
    schema = source.limit(0).to_arrow_table().schema
    return open_deferred(source.to_arrow_table, columns_of(schema), "a DuckDB relation")
