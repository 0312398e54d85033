"""CSV output that a spreadsheet cannot be made to run.

A text cell (or column name) that begins, perhaps after blanks or quotes, with ``= + - @``, a tab or a line break, or with the
full-width form of one, gets an apostrophe in front; a cell that already begins with an apostrophe and would run gets one more,
so that no two texts become one. A text that is a plain number stays as it is. If a spreadsheet splits cells at semicolons (as
in most of Europe), text after one, or after a line break, is a cell of its own: it gets its apostrophe there. ``raw=True``
writes every cell as it is, for machines.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.files.packing import Packing, packed
from shoal.kernels.arrow import ArrowValues, from_texts, seconds, spelled, without_nan
from shoal.kernels.text import canonical_text

BLANKS = r" \x{00A0}\x{1680}\x{2000}-\x{200D}\x{202F}\x{205F}\x{2060}\x{3000}\x{FEFF}"
QUOTES = r"'\"`\x{2018}\x{2019}\x{201C}\x{201D}"
STARTS = r"=+\-@\t\r\n\x{0B}\x{0C}\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}\x{FE66}\x{FE62}\x{FE63}\x{FE6B}"
RUNS = f"^[{BLANKS}{QUOTES}]*[{STARTS}]"
SIGNS, OTHERS = r"+\-\x{FF0B}\x{FF0D}\x{FE62}\x{FE63}", r"=@\x{FF1D}\x{FF20}\x{FE66}\x{FE6B}"
INNER = rf"([;\r\n])([{BLANKS}{QUOTES}]*(?:[{OTHERS}]|[{SIGNS}][0-9.,]*[^0-9.,;\r\n]))"
NUMBER = r"^[+\-]?[0-9]+([.,][0-9]+)?$"


def inert(text: ArrowValues) -> ArrowValues:
    """Texts of a pyarrow string array with an apostrophe where a spreadsheet would run them.

    >>> import pyarrow as pa
    >>> inert(pa.array(["=1+1", " @x", "＝A1", "-5", "a=b", None, "'=x"])).to_pylist()
    ["'=1+1", "' @x", "'＝A1", '-5', 'a=b', None, "''=x"]
    >>> inert(pa.array(["see; =1+1", "1;-5", "a;'=b", "x;-2+3"])).to_pylist()
    ["see;' =1+1", '1;-5', "a;''=b", "x;'-2+3"]
    """
    if isinstance(text, pa.DictionaryArray):
        return pa.DictionaryArray.from_arrays(text.indices, inert(text.dictionary))
    if not _may_run(text):
        return text
    if pc.any(pc.match_substring_regex(text, INNER)).as_py():
        text = pc.replace_substring_regex(text, pattern=INNER, replacement=r"\1'\2")
    danger = pc.match_substring_regex(text, RUNS)
    if not pc.any(danger).as_py():
        return text
    number = pc.match_substring_regex(text, NUMBER)
    return pc.if_else(pc.and_not(danger, number), pc.binary_join_element_wise("'", text, ""), text)


_MARKS = [bytes([b]) for b in b"=+-@\t\r\n\x0b\x0c\xef"]
"""The bytes that every text which could run holds one of; those of full-width signs begin with EF."""


def _may_run(text: ArrowValues) -> bool:
    """Whether any text of a pyarrow string array holds such a byte: most columns hold none, and need no closer look."""
    _, offsets, data = text.buffers()
    if data is None or not len(text):
        return False
    ends = np.frombuffer(offsets, np.int64 if pa.types.is_large_string(text.type) else np.int32)
    here = data[int(ends[text.offset]) : int(ends[text.offset + len(text)])].to_pybytes()
    return any(mark in here for mark in _MARKS)  # each looked for by itself: many times as quick as byte by byte


def write_csv(
    path: Path,
    schema: pa.Schema,
    tables: Iterator[pa.Table],
    *,
    raw: bool = False,
    delimiter: str = ",",
    packing: Packing = "none",
) -> None:
    """UTF-8, text always quoted, numbers never. Missing is an empty field, the empty text is ``""``.

    Moments with a zone have its distance from UTC behind them; durations are seconds; nested values are JSON.
    """
    names = schema.names if raw else inert(from_texts(schema.names)).to_pylist()
    heading = pa.Table.from_batches([], schema=pa.schema([pa.field(n, pa.string()) for n in names]))
    with packed(path, packing) as sink:
        _write(sink, heading, delimiter, header=True)
        for table in tables:
            columns = [_print_values(values, raw) for values in table.columns]
            _write(sink, pa.Table.from_arrays(columns, names=table.column_names), delimiter, header=False)


def _write(sink: Any, table: pa.Table, delimiter: str, *, header: bool) -> None:
    import pyarrow.csv as pc_csv

    options = pc_csv.WriteOptions(include_header=header, quoting_style="needed", delimiter=delimiter)
    pc_csv.write_csv(table, sink, write_options=options)


def _printed_type(kind: pa.DataType) -> pa.DataType:
    plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if pa.types.is_duration(kind):
        return pa.float64()
    return kind if plain or pa.types.is_boolean(kind) or pa.types.is_date32(kind) else pa.string()


def _print_values(values: ArrowValues, raw: bool) -> ArrowValues:
    if pa.types.is_duration(values.type):
        return seconds(values)
    if pa.types.is_floating(values.type):
        return without_nan(values)
    if _printed_type(values.type) != pa.string():
        return values
    text = spelled if pa.types.is_timestamp(values.type) else canonical_text
    chunks = [text(c) for c in values.chunks]
    if not raw:
        chunks = [inert(c) for c in chunks]
    return pa.chunked_array(chunks, pa.string())
