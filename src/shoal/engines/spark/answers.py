"""How the answer of a query comes to us: straight where it is small, through a folder that the executors write where it is not.

What is collected straight goes through the memory of Spark's driver. Beyond :data:`SMALL` bytes the executors write the rows as
Parquet into a passing folder, and we read them from there a batch at a time; neither Spark's driver nor we ever hold them all.
That needs a folder that both see: a local Spark has one, a cluster where ``SHOAL_SPARK_STAGING`` names it.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp, parse_one

from shoal.engines.core.base import Engine, Relation
from shoal.engines.core.kinds import no_rows
from shoal.engines.core.memory import shown
from shoal.engines.servers.tables import Reading
from shoal.errors import MemoryBudgetError
from shoal.model.roles import Column
from shoal.steps.sql import call, column, string

SMALL = 4 << 20
"""Bytes, as Spark's planner expects them, up to which an answer is collected straight."""
MOST_COLLECTED = 128 << 20
"""Bytes that are collected at most where no folder is shared. Spark's driver has 1 GB by default, and packs them twice."""
WIDTH = 24
"""Bytes of a value, about, on its way."""


def shared_folder(spark: Any, url: str) -> Path | None:
    """A place that executors and driver both see, or None."""
    folder = os.environ.get("SHOAL_SPARK_STAGING")
    if folder is not None:
        return Path(folder)
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
        what = f"the answer of Spark ({url}) takes about {shown(size)}, and its driver would have to hold all of it "
        what += f"(at most {shown(MOST_COLLECTED)})."
        hint = "Set SHOAL_SPARK_STAGING to a folder that driver and executors both see: the executors then write it there."
        raise MemoryBudgetError(what, hint=hint, estimate=size, budget=MOST_COLLECTED)


def read_parts(folder: Path, batch_rows: int) -> Iterator[Any]:
    """The rows of the files that the executors wrote, in the order of the query; nothing where there are none."""
    for part in sorted(folder.glob("part-*.parquet")):
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
        return Reading(Column(field.name, "text"), call("RTRIM", value), declared)
    if native.startswith("string collate"):
        plain = call("COLLATE", value, string("UTF8_BINARY"))
        return Reading(Column(field.name, "text"), plain, native)
    if native == "timestamp":
        plain = exp.Cast(this=value, to=exp.DataType.build("TIMESTAMP_NTZ", dialect="spark"))
        return Reading(Column(field.name, "timestamp"), plain, native)
    if native in _KINDS:
        return Reading(Column(field.name, _KINDS[native]), None, native)
    return Reading(Column(field.name, "text"), call("TO_JSON", value), native)


BLOCK = 64
"""Bytes of a block of SHA-256."""
DIGITS = 64
"""Hexadecimal digits of a digest."""
PIECE = 15
"""Digits of it that are read as one number: 60 bits."""
HALF = 30
"""Bits that are added up together."""
SPELLED = ("integer", "text", "boolean", "date")
"""Kinds that Spark spells as we do, for any value."""


def can_add_up(relation: Relation, names: Sequence[str]) -> bool:
    """Whether every column is of a kind that Spark spells as we do."""
    return all(relation.column(n).kind in SPELLED for n in names)


def pads(secret: bytes) -> tuple[bytes, bytes]:
    """The key of an HMAC as its inner and outer block.

    >>> import hmac
    >>> inner, outer = pads(b"key")
    >>> hashlib.sha256(outer + hashlib.sha256(inner + b"row").digest()).digest() == hmac.digest(b"key", b"row", "sha256")
    True
    """
    key = (hashlib.sha256(secret).digest() if len(secret) > BLOCK else secret).ljust(BLOCK, b"\0")
    return bytes(b ^ 0x36 for b in key), bytes(b ^ 0x5C for b in key)


def pieces() -> list[tuple[int, int, int]]:
    """First digit (from 1) and number of digits of each piece of a digest, and the bits that stand after it.

    >>> pieces()
    [(1, 15, 196), (16, 15, 136), (31, 15, 76), (46, 15, 16), (61, 4, 0)]
    """
    cuts = [(first, min(PIECE, DIGITS - first + 1)) for first in range(1, DIGITS + 1, PIECE)]
    return [(first, n, 4 * (DIGITS - first + 1 - n)) for first, n in cuts]


def rows_and_sum(engine: Engine, relation: Relation, names: Sequence[str], secret: bytes) -> tuple[int, int]:
    """Number of rows, and the sum of their HMACs modulo 2²⁵⁶."""
    inner, outer = pads(secret)
    with engine.mapping(pa.table({"i": [inner], "o": [outer]})) as keys:
        answer: Any = engine.fetch(_query(engine, relation, names, keys))
    total = 0
    for j, (_, _, after) in enumerate(pieces()):
        low, high = (int(answer[f"{half}{j}"][0].as_py() or 0) for half in "lh")
        total += (low + (high << HALF)) << after
    return int(answer["n"][0].as_py()), total % 2**256


def _query(engine: Engine, relation: Relation, names: Sequence[str], keys: exp.Expr) -> exp.Select:
    cells = ", CHAR(31), ".join(_cell(engine.render(engine.text(column(n, "t"), relation.column(n)))) for n in names)
    table, pad = engine.render(exp.alias_(relation.sql.copy(), "t", table=True)), engine.render(keys)
    line = f"CAST(CONCAT({cells}) AS BINARY)"
    mac = f"SHA2(CONCAT(k.o, UNHEX(SHA2(CONCAT(k.i, {line}), 256))), 256)"
    numbers = ", ".join(f"CAST(CONV(SUBSTRING(h, {a}, {n}), 16, 10) AS BIGINT) AS c{j}" for j, (a, n, _) in enumerate(pieces()))
    halves = [f"SUM(c{j} & {2**HALF - 1}) AS l{j}, SUM(SHIFTRIGHT(c{j}, {HALF})) AS h{j}" for j in range(len(pieces()))]
    macs = f"SELECT {mac} AS h FROM {table} CROSS JOIN {pad} AS k"  # noqa: S608
    text = f"SELECT COUNT(*) AS n, {', '.join(halves)} FROM (SELECT {numbers} FROM ({macs}) AS m) AS p"  # noqa: S608
    return _parse(text)


def _cell(text: str) -> str:
    """A text with its length before it; ``n`` for a missing one."""
    return f"COALESCE(CONCAT('v', CAST(LENGTH({text}) AS STRING), ':', {text}), 'n')"


def _parse(text: str) -> exp.Select:
    expression = parse_one(text, dialect="spark")
    assert isinstance(expression, exp.Select)
    return expression
