"""MySQL's types: how a column is read, how bytes become Arrow, what a new table's columns are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from shoal.engines.servers.tables import Reading
from shoal.errors import DataError
from shoal.model.roles import Column
from shoal.steps.sql import cast, column

_WORDS = {
    "integer": "tinyint smallint mediumint int bigint year",
    "decimal": "decimal",
    "float": "float double",
    "date": "date",
    "timestamp": "datetime timestamp",
    "time": "time",
    "text": "char varchar tinytext text mediumtext longtext",
    "binary": "binary varbinary tinyblob blob mediumblob longblob",
}
_KINDS = {word: kind for kind, words in _WORDS.items() for word in words.split()}

# type codes of the protocol
_INTEGERS = {1, 2, 3, 8, 9, 13}
_FLOATS = {4, 5}
_DECIMALS = {0, 246}
_DATES = {10, 14}
_MOMENTS = {7, 12}
_TIME = 11
_BINARY_CHARSET = 63


def reading(name: str, data_type: str, column_type: str, precision: int, scale: int, *, booleans: bool) -> Reading:
    """How a column is read, from information_schema."""
    word = data_type.lower()
    native = column_type.lower()
    if word == "bit":
        return Reading(Column(name, "integer"), cast(column(name, "r"), "BIGINT"), native)
    if word == "tinyint" and native.startswith("tinyint(1)") and booleans:
        return Reading(Column(name, "boolean"), None, native)
    if word == "year" or ("zerofill" in native and word not in ("float", "double")):  # spelled with zeros in front
        plain = exp.Add(this=column(name, "r"), expression=exp.convert(0))
        return Reading(Column(name, _KINDS[word], stored=_stored(word, native)), plain, native)
    if word in _KINDS:
        return Reading(Column(name, _KINDS[word], stored=_stored(word, native)), None, native)
    return Reading(Column(name, "text"), cast(column(name, "r"), "TEXT"), native)  # enum, set, json, uuid, inet …


def _stored(word: str, native: str) -> Any:
    """The type to keep where the kind alone does not tell it: whole numbers beyond 2⁶³."""
    return pa.uint64() if word == "bigint" and "unsigned" in native else None


def arrow_column(values: Sequence[bytes | None], field: Any) -> Any:
    """One column of a result: the driver's bytes, parsed by Arrow."""
    raw = pa.array(values, pa.binary())
    code = field.type_code
    try:
        if code in _INTEGERS:
            return _integers(raw.cast(pa.string()))
        if code in _FLOATS:
            return raw.cast(pa.string()).cast(pa.float64())
        if code in _DECIMALS:
            digits = 38 if field.length <= 38 else 76
            kind = pa.decimal128(digits, field.scale) if digits == 38 else pa.decimal256(digits, field.scale)
            return raw.cast(pa.string()).cast(kind)
        if code in _DATES:
            return raw.cast(pa.string()).cast(pa.date32())
        if code in _MOMENTS:
            return raw.cast(pa.string()).cast(pa.timestamp("us"))
        if code == _TIME:
            return _times(raw.cast(pa.string()))
        return raw if field.charsetnr == _BINARY_CHARSET else raw.cast(pa.string())
    except pa.ArrowInvalid:
        raise DataError(
            "a date or time column holds a value that is not a date (0000-00-00) or not a time of day.",
            hint="Replace such values in the database, or open the table with types={column: 'text'}.",
        ) from None


def _times(text: Any) -> Any:
    """Times of day; MySQL's TIME may also be a duration of many hours, which is none."""
    moment = pc.binary_join_element_wise("1970-01-01", text, " ").cast(pa.timestamp("us"))
    return moment.cast(pa.time64("us"))


def _integers(text: Any) -> Any:
    try:
        return text.cast(pa.int64())
    except pa.ArrowInvalid:  # BIGINT UNSIGNED
        return text.cast(pa.decimal128(38, 0))


def native_type(arrow_type: Any) -> str:
    """The column type of a new table for an Arrow type."""
    test = pa.types
    if test.is_decimal(arrow_type):
        return f"DECIMAL({min(arrow_type.precision, 65)},{arrow_type.scale})"
    words = (
        (test.is_boolean, "BOOLEAN"),
        (test.is_uint64, "BIGINT UNSIGNED"),
        (test.is_integer, "BIGINT"),
        (test.is_floating, "DOUBLE"),
        (test.is_date, "DATE"),
        (test.is_timestamp, "DATETIME(6)"),
        (test.is_time, "TIME(6)"),
        (test.is_binary, "LONGBLOB"),
    )
    return next((word for check, word in words if check(arrow_type)), "LONGTEXT")


def mapping_types(data: Any) -> dict[str, str]:
    """Column types of a mapping, no longer than its values: short ones stay in memory and can be indexed.

    Columns whose names begin with ``k`` are keys and held as bytes.

    >>> import pyarrow as pa
    >>> mapping_types(pa.table({"k": ["a", "ë"], "l": ["long", None], "n": [1, 2]}))
    {'k': 'VARBINARY(2)', 'l': 'VARCHAR(4) CHARACTER SET utf8mb4', 'n': 'BIGINT'}
    """
    out = {}
    for field in data.schema:
        if pa.types.is_integer(field.type):
            out[field.name] = "BIGINT"
            continue
        measure, word, longest = pc.utf8_length, "VARCHAR({}) CHARACTER SET utf8mb4", 4000
        if field.name.startswith("k"):
            measure, word, longest = pc.binary_length, "VARBINARY({})", 16_000
        size = int(pc.max(measure(data[field.name].cast(pa.string()))).as_py() or 1)
        large = "LONGBLOB" if "BINARY" in word else "LONGTEXT CHARACTER SET utf8mb4"
        out[field.name] = word.format(max(size, 1)) if size <= longest else large
    return out


def arrow_batch(rows: Sequence[Any], fields: Sequence[Any]) -> Any:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(fields)
    arrays = [arrow_column(values, field) for values, field in zip(columns, fields, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=[f.name if isinstance(f.name, str) else f.name.decode() for f in fields])


def python_rows(batch: Any) -> list[tuple[Any, ...]]:
    return list(zip(*(c.to_pylist() for c in batch.columns), strict=True))


def booleans_of(values: Any, column: Column) -> Any:
    if pa.types.is_boolean(values.type):
        return values
    numbers = values.cast(pa.int64())
    limits = pc.min_max(numbers).as_py()
    if limits["min"] is not None and (limits["min"] < 0 or limits["max"] > 1):
        raise DataError(
            f"column '{column.name}' is declared tinyint(1), a boolean, but holds other numbers than 0 and 1.",
            hint="Open the table with booleans=False to read such columns as whole numbers.",
            column=column.name,
        )
    return numbers.cast(pa.bool_())
