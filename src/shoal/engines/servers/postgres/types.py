"""Types of PostgreSQL: how a column is read, and batches without extension types."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from shoal.engines.servers.tables import Reading
from shoal.errors import DataError
from shoal.model.roles import Column
from shoal.steps.sql import cast, column, string

_KINDS = {
    "int2": "integer", "int4": "integer", "int8": "integer", "oid": "integer", "numeric": "decimal", "float4": "float",
    "float8": "float", "bool": "boolean", "date": "date", "timestamp": "timestamp", "timestamptz": "timestamp", "time": "time",
    "bytea": "binary", "text": "text", "varchar": "text",
}  # fmt: skip


class LooseNumeric(exp.Expression):
    """A ``numeric`` column without a declared scale; becomes a cast to the scale that its values need when SQL is rendered."""

    arg_types = {"this": True, "table": True}  # noqa: RUF012  sqlglot's own form


def reading(field: Any, table: exp.Table) -> Reading:
    """How a column is read, from the type that the server names in its answer."""
    facts = {k.decode(): v.decode() for k, v in (field.metadata or {}).items()}
    native = facts.get("POSTGRESQL:type") or facts.get("ADBC:postgresql:typname") or "unknown"
    kind = _KINDS.get(native, "text")
    value: exp.Expr | None = None
    if native not in _KINDS:
        value = cast(column(field.name, "r"), "TEXT")
    elif native == "timestamptz":
        value = exp.AtTimeZone(this=column(field.name, "r"), zone=string("UTC"))
    elif native == "numeric":
        precision, scale = _digits(facts.get("POSTGRESQL:typmod", "-1"))
        if precision is None or scale < 0 or precision > 76:
            value = LooseNumeric(this=column(field.name, "r"), table=table)
        else:
            number = exp.func("NULLIF", column(field.name, "r"), cast(string("NaN"), "DECIMAL"))
            value = exp.Cast(this=number, to=exp.DataType.build(f"DECIMAL({precision}, {scale})"))
    return Reading(Column(field.name, kind), value, native)


def _digits(typmod: str) -> tuple[int | None, int]:
    """Precision and scale of a numeric type modifier; no precision where none is declared."""
    packed = int(typmod)
    if packed < 4:
        return None, 0
    scale = (packed - 4) & 0x7FF
    return ((packed - 4) >> 16) & 0xFFFF, scale - 0x800 if scale & 0x400 else scale


def plain(batch: Any) -> Any:
    """A batch without extension types: numbers as decimals, the rest as their storage."""
    if not any(isinstance(f.type, pa.BaseExtensionType) for f in batch.schema):
        return batch
    return pa.RecordBatch.from_arrays(
        [_column(a, f) for a, f in zip(batch.columns, batch.schema, strict=True)], batch.schema.names
    )


def _column(values: Any, field: Any) -> Any:
    if not isinstance(field.type, pa.BaseExtensionType):
        return values
    facts = field.metadata or {}
    stored = values.storage
    if facts.get(b"POSTGRESQL:type") != b"numeric":
        return stored
    precision, scale = _digits(facts.get(b"POSTGRESQL:typmod", b"-1").decode())
    if precision is None:
        return _sum(stored)
    try:
        return stored.cast(pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale))
    except pa.ArrowInvalid:
        raise DataError("a numeric column holds infinity.", hint="Replace it in the database, or leave the column out.") from None


def _sum(stored: Any) -> Any:
    """Computed numbers without a declared scale: whole ones as decimals, others as floats."""
    try:
        return stored.cast(pa.decimal128(38, 0))
    except pa.ArrowInvalid:
        return stored.cast(pa.float64())


def check_finite(values: Any, column: Column) -> None:
    """PostgreSQL has infinite dates, which nothing else can write down."""
    unit = pa.int32() if pa.types.is_date32(values.type) else pa.int64()
    days = pc.min_max(values.view(unit)).as_py()
    limit = 3_000_000 if unit == pa.int32() else 3_000_000 * 86_400_000_000
    if days["min"] is not None and (days["min"] < -limit or days["max"] > limit):
        raise DataError(
            f"column '{column.name}' holds infinite dates, which cannot be published.",
            hint=f"Replace them in the database, or open the table with types={{'{column.name}': 'text'}}.",
            column=column.name,
        )
