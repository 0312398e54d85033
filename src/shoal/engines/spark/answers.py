"""How the answer of a query comes to us: straight where it is small, through a folder that the executors write where it is not.

What is collected straight goes through the memory of Spark's driver. Beyond :data:`SMALL` bytes the executors write the rows as
Parquet into a passing folder, and we read them from there a batch at a time; neither Spark's driver nor we ever hold them all.
That needs a folder that both see: a local Spark has one, a cluster where ``SHOAL_SPARK_STAGING`` names it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from shoal.engines.core.memory import shown
from shoal.engines.servers.tables import Reading
from shoal.errors import MemoryBudgetError
from shoal.model.roles import Column
from shoal.steps.sql import column, string

SMALL = 4 << 20
"""Bytes, as Spark's planner expects them, up to which an answer is collected straight."""
MOST_COLLECTED = 128 << 20
"""Bytes that are collected at most where no folder is shared. Spark's driver has 1 GB by default, and packs them twice."""
WIDTH = 24
"""Bytes of a value, about, on its way."""


def shared_folder(spark: Any, url: str) -> Path | None:
    """A place that executors and driver both see, or None."""
    said = os.environ.get("SHOAL_SPARK_STAGING")
    if said is not None:
        return Path(said)
    if url.startswith("sc://") or not spark.sparkContext.master.startswith("local"):
        return None
    return Path(tempfile.gettempdir())


def is_one_row(query: exp.Expr) -> bool:
    """Whether the answer is one row of counts."""
    return query.args.get("group") is None and all(e.find(exp.AggFunc) for e in query.expressions)


def expected_bytes(frame: Any) -> int | None:
    """How large Spark's planner expects an answer to be, from the size of what is read; None where it cannot be asked (Connect).

    It knows the size of files, not of their values: groups are taken for as many as rows.
    """
    if not hasattr(frame, "_jdf"):
        return None
    return int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))


def require_collectable(frame: Any, expected: int, url: str) -> None:
    """Refuse an answer that Spark's driver would have to hold whole; where it may be large, its rows are counted first."""
    if expected <= MOST_COLLECTED:
        return
    size = frame.count() * WIDTH * len(frame.columns)
    if size > MOST_COLLECTED:
        raise MemoryBudgetError(
            f"the answer of Spark ({url}) takes about {shown(size)}, and its driver would have to hold all of it "
            f"(at most {shown(MOST_COLLECTED)}).",
            hint="Set SHOAL_SPARK_STAGING to a folder that driver and executors both see: the executors then write it there.",
            estimate=size,
            budget=MOST_COLLECTED,
        )


def parts_of(folder: Path) -> list[Path]:
    """The files that the executors wrote, in the order of the query."""
    return sorted(folder.glob("part-*.parquet"))


def read_parts(folder: Path, batch_rows: int) -> Iterator[Any]:
    """The rows, some at a time; nothing where there are none."""
    for part in parts_of(folder):
        with pq.ParquetFile(part) as file:
            yield from (batch for batch in file.iter_batches(batch_rows) if batch.num_rows)


def streamed(frame: Any, batch_rows: int) -> Iterator[Any]:
    """The rows of a Spark Connect frame as they arrive, in the types that ``toArrow`` gives."""
    from pyspark.sql.pandas.types import to_arrow_schema

    schema = to_arrow_schema(frame.schema, error_on_duplicated_field_names_in_struct=True, timezone="UTC")
    client, empty = frame._session.client, True
    for piece in client.to_table_as_iterator(frame._plan.to_proto(client), frame._plan.observations):
        if isinstance(piece, pa.Table) and piece.num_rows:
            empty = False
            yield from piece.cast(schema).to_batches(max_chunksize=batch_rows)
    if empty:
        yield no_rows(schema)


def no_rows(schema: Any) -> Any:
    """An empty batch, so that the schema is known."""
    return pa.RecordBatch.from_pylist([], schema=schema)


def ddl_of(schema: Any) -> str:
    """The columns of a mapping in Spark's words: texts and whole numbers."""
    return ", ".join(f"`{f.name}` {'bigint' if pa.types.is_integer(f.type) else 'string'}" for f in schema)


_WORDS_OF = {
    "integer": "tinyint smallint int bigint",
    "float": "float double",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp_ntz",
    "time": "time",
    "text": "string",
    "binary": "binary",
}
_KINDS = {word: kind for kind, words in _WORDS_OF.items() for word in words.split()}


def reading(field: Any) -> Reading:
    """How a column is read, from its Spark type."""
    native = field.dataType.simpleString()
    declared = (field.metadata or {}).get("__CHAR_VARCHAR_TYPE_STRING", "")
    value: exp.Expr = column(field.name, "r")
    if native.startswith("decimal"):
        return Reading(Column(field.name, "decimal"), None, native)
    if declared.startswith("char"):
        return Reading(Column(field.name, "text"), exp.Anonymous(this="RTRIM", expressions=[value]), declared)
    if native.startswith("string collate"):
        plain = exp.Anonymous(this="COLLATE", expressions=[value, string("UTF8_BINARY")])
        return Reading(Column(field.name, "text"), plain, native)
    if native == "timestamp":
        return Reading(Column(field.name, "timestamp"), _cast(value, "TIMESTAMP_NTZ"), native)
    if native in _KINDS:
        return Reading(Column(field.name, _KINDS[native]), None, native)
    return Reading(Column(field.name, "text"), exp.Anonymous(this="TO_JSON", expressions=[value]), native)


def _cast(value: exp.Expr, to: str) -> exp.Expr:
    return exp.Cast(this=value, to=exp.DataType.build(to, dialect="spark"))
