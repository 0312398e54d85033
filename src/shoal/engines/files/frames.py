"""Frames in memory: pyarrow, pandas, polars, DuckDB relations, and dictionaries of columns."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.engines.core.base import Relation
from shoal.engines.core.kinds import check_digits, columns_of
from shoal.engines.core.stored_types import WHOLE, fine_durations, with_stored
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.duckdb.sql import flat
from shoal.engines.files.packing import require_option
from shoal.engines.files.readers import ArrowReader
from shoal.errors import ShoalWarning, UnreadableError, UsageError
from shoal.kernels.text import canonical_text
from shoal.model.roles import Column


def open_frame(source: Any, options: dict[str, Any]) -> tuple[DuckDB, Relation]:
    """An engine and relation over a frame; the frame is not copied where its memory can be shared."""
    require_option(options, (), "a frame in memory")
    module = type(source).__module__.partition(".")[0]
    if module in ("duckdb", "_duckdb") and hasattr(source, "to_arrow_reader"):
        return _open_relation(source)
    return open_arrow(as_arrow(source), "a frame in memory")


def open_arrow(table: pa.Table, source: str, **details: Any) -> tuple[DuckDB, Relation]:
    """An engine over an Arrow table."""
    check_digits(table.schema, source)
    stored = with_stored(columns_of(table.schema), table.schema)
    columns = [replace(c, order=o) if (o := _order(values)) else c for c, values in zip(stored, table.columns, strict=True)]
    return open_deferred(lambda: table, table.schema, columns, source, **details)


def _order(values: Any) -> tuple[str, ...]:
    """The categories of an ordered dictionary (an ordered pandas Categorical) from low to high; empty for other columns."""
    if not (pa.types.is_dictionary(values.type) and values.type.ordered and values.num_chunks):
        return ()
    return tuple(canonical_text(values.chunk(0).dictionary).to_pylist())


def open_deferred(
    load: Callable[[], Any], schema: pa.Schema, columns: Sequence[Column], source: str, *, hint: str = "", **details: Any
) -> tuple[DuckDB, Relation]:
    """An engine over an Arrow table that is loaded once, when it is first asked for.

    Where only its beginning was seen so far, the whole may turn out to be of another type: then it is refused, with ``hint``.
    """
    reader = ArrowReader(lambda: _as_announced(load(), columns, source, hint))
    engine = DuckDB(stable_order=True)
    engine.source = source
    relation = flat(engine.defer(lambda: _for_duckdb(reader.table), columns, source, **details), schema)
    odd = any(relation.column(n).stored is None for n in relation.reads_as_text)  # in a form that only the engine reads
    return engine, relation if odd else replace(relation, reader=reader)


def still_there(path: Path, table: pa.Table) -> Any:
    """The table of a file that was read when it was opened, unless the file is gone."""
    if not path.exists():
        raise UnreadableError(f"file '{path.name}' is not there any more.", hint="Was it moved or replaced?")
    return table


def _for_duckdb(table: pa.Table) -> Any:
    """The table with half floats, which DuckDB does not read, in the next type that holds them; durations of nanoseconds, which
    it cuts to microseconds, as whole numbers, too."""
    for i, field in enumerate(table.schema):
        if pa.types.is_float16(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(pa.float32()))
        if fine_durations(field.type):
            table = table.append_column(field.name + WHOLE, table.column(i).cast(pa.int64()))
    return table


def _as_announced(table: pa.Table, columns: Sequence[Column], source: str, hint: str) -> Any:
    """The table, if its columns have the kinds that its beginning showed; a column without any value fits every kind."""
    for i, (column, column_found) in enumerate(zip(columns, columns_of(table.schema), strict=True)):
        if column.kind == column_found.kind:
            continue
        if table.column(i).null_count < table.num_rows and not (column.kind == "float" and column_found.kind == "integer"):
            what = f"column '{column.name}' of '{source}' begins as {column.kind}, but holds {column_found.kind} further on."
            raise UnreadableError(what, hint=hint.format(column=column.name) or "Make it one type.", column=column.name)
        wanted = pa.string() if column.kind == "text" else pa.float64()
        if column.kind in ("text", "float"):
            table = table.set_column(i, column.name, table.column(i).cast(wanted))
    return table


def as_arrow(source: Any) -> Any:
    """A pyarrow Table from any frame that knows Arrow's PyCapsule interface, or from pandas."""
    if isinstance(source, pa.Table):
        return source.replace_schema_metadata(None)
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    module = type(source).__module__.partition(".")[0]
    if module == "polars":
        return from_polars(source)
    if module == "pandas":
        return from_pandas(source.to_frame() if hasattr(source, "to_frame") and not hasattr(source, "columns") else source)
    if not isinstance(source, dict) and not hasattr(source, "__arrow_c_stream__"):
        hint = "Pass a path, ENGINE-URL::table, or a pandas, polars, pyarrow or DuckDB table."
        raise UsageError(f"a source of type '{type(source).__name__}' cannot be opened.", hint=hint)
    try:
        return pa.table(source)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        hint = "Make each column one type."
        raise UsageError("the columns of the frame are not lists of equal length, each of one type.", hint=hint) from None


def from_polars(frame: Any) -> Any:
    """A polars frame, lazy frame or series; columns that Arrow has no form for are refused by name."""
    if hasattr(frame, "collect"):
        frame = frame.collect()
    if not hasattr(frame, "columns"):
        frame = frame.to_frame()
    for name, kind in frame.schema.items():
        if str(kind) in ("Object", "Int128", "UInt128", "Unknown"):
            raise _no_form(name)
    try:
        return frame.to_arrow()
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise UsageError("the frame has a column that cannot be passed on.", hint="Cast it to text or a smaller type.") from None


def from_pandas(frame: Any) -> Any:
    """A pandas frame without its index; a column of mixed types is refused by name, not by value."""
    named = [n for n in frame.index.names if n is not None]
    if named:
        warnings.warn(
            f"the index of the frame ({', '.join(map(str, named))}) is left out; call reset_index() to keep it as columns.",
            ShoalWarning,
            stacklevel=2,
        )
    arrays, names = [], []
    for position, label in enumerate(frame.columns):
        values = frame.iloc[:, position]
        try:
            if values.dtype == object and _several_types(values):
                raise TypeError
            arrays.append(pa.Array.from_pandas(values))
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            raise _no_form(label) from None
        names.append(str(label))
    return pa.Table.from_arrays([a.combine_chunks() if hasattr(a, "combine_chunks") else a for a in arrays], names=names)


def _several_types(values: Any) -> bool:
    """Whether a column of objects mixes types that Arrow would silently make one: bytes with text, days with moments."""
    kinds = {type(v) for v in values}
    moments = {k for k in kinds if issubclass(k, dt.datetime) and k.__name__ != "NaTType"}
    days = {k for k in kinds if issubclass(k, dt.date) and not issubclass(k, dt.datetime)}
    return (bytes in kinds and str in kinds) or bool(moments and days)


def _no_form(label: Any) -> UsageError:
    hint = "Make it one type, for example with astype(str)."
    return UsageError(f"column '{label}' holds values of different types, or of a type of its own.", hint=hint)


def _open_relation(source: Any) -> tuple[DuckDB, Relation]:
    """A DuckDB relation is read through its own connection, once, when it is first asked for."""
    schema = source.limit(0).to_arrow_table().schema
    return open_deferred(source.to_arrow_table, schema, columns_of(schema), "a DuckDB relation")
