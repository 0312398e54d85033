"""A small, plainly written CSV file, parsed by Arrow: no database is started for a few hundred rows.

Takes    the bytes of the whole file, and its dialect
Returns  all fields as text, missing where unquoted and listed as missing; None where the file is not so plain
Keeps    the same cells as the long way gives (a test compares both); what is not certainly alike is left to it: odd line ends,
         quotes inside fields, line breaks inside quotes, empty or ragged lines, other encodings
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from shoal.engines.files.csv.sniff import Dialect

_ARROW = {
    "VARCHAR": pa.string(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
    "TIME": pa.time64("us"),
    "BOOLEAN": pa.bool_(),
}


def read_plain(raw: bytes, dialect: Dialect, width: int, null: Sequence[str]) -> Any:
    """The fields of the file as an Arrow table of texts, its heading left out; None where it is not plainly written."""
    from pyarrow import csv

    if width < 2 or dialect.blanks or dialect.rows > 1 or dialect.skip or not _is_plain(raw, dialect):
        return None
    names = [f"f{i}" for i in range(width)]
    try:
        table = csv.read_csv(
            pa.py_buffer(raw),
            read_options=csv.ReadOptions(
                column_names=names, skip_rows=int(dialect.header), block_size=len(raw) + 1, use_threads=False
            ),
            parse_options=csv.ParseOptions(delimiter=dialect.delimiter, quote_char=dialect.quote, ignore_empty_lines=False),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=list(null),
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid:
        return None
    return table.combine_chunks()


def typed(table: Any, sql_types: Sequence[str], names: Sequence[str]) -> Any:
    """The columns in their types and under their names; None where a text does not fit, which the long way explains."""
    arrays = []
    try:
        for column, sql_type in zip(table.columns, sql_types, strict=True):
            arrays.append(column.cast(arrow_type(sql_type)))
    except pa.ArrowInvalid:
        return None
    return pa.table(dict(zip(names, arrays, strict=True)))


def arrow_type(sql_type: str) -> Any:
    """The Arrow type of a column of that SQL type."""
    if sql_type.startswith("DECIMAL"):
        return pa.decimal128(*(int(x) for x in re.findall(r"\d+", sql_type)))
    return _ARROW[sql_type]


def _is_plain(raw: bytes, dialect: Dialect) -> bool:
    """UTF-8 with one kind of line end, no empty line, and every quote around a whole field."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.removesuffix(end)
    if text.startswith("\ufeff") or "\x00" in text or text.count("\r") != (text.count("\n") if end == "\r\n" else 0):
        return False
    if not all(lines.split(end)):
        return False
    if dialect.quote not in text:
        return True
    q, d = re.escape(dialect.quote), re.escape(dialect.delimiter)
    whole_fields = re.compile(rf"(?:(?<=[{d}\n])|\A){q}(?:[^{q}\r\n]|{q}{q})*{q}(?=[{d}\r\n]|\Z)")
    return dialect.quote not in whole_fields.sub("", lines)
