"""Lines of a CSV file that are plainly written, as Arrow columns, by compiled loops.

Takes    the bytes of whole lines, the dialect, and the columns wanted
Returns  a RecordBatch in the types of the columns; None where a line is not plainly written or a value does not fit
Keeps    the same cells as the database gives (a test compares both): what the loops do not read for certain is read by the
         database from its text (``convert``), with the rule of :mod:`shoal.engines.files.csv.fields`
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.engines.files.csv.fields import Field
from shoal.engines.files.csv.small import arrow_type
from shoal.errors import ShoalError
from shoal.kernels import _csv_loops as loops
from shoal.kernels import _csv_values as values

Convert = Callable[[Field, Any], Any]
"""Texts of a column as its values."""


@dataclass(frozen=True)
class Form:
    """How lines are written: one byte each for delimiter and quote, \\r\\n or \\n at the end, texts that mean missing."""

    delimiter: int
    quote: int
    width: int
    returns: bool
    null: tuple[bytes, ...] = ()

    def nulls(self) -> tuple[Any, Any]:
        """The texts one after the other, and where each ends."""
        ends = np.cumsum([len(n) for n in self.null], dtype=np.int64)
        return np.frombuffer(b"".join(self.null) or b"\x00", np.uint8), ends


@dataclass(frozen=True)
class _Cells:
    """One column of the lines: where its texts stand."""

    data: Any
    starts: Any
    ends: Any
    forms: Any
    size: int

    def texts(self, quote: int) -> Any:
        offsets, out = np.empty(len(self.starts) + 1, np.int32), np.empty(self.size, np.uint8)
        loops.copy_texts(self.data, self.starts, self.ends, self.forms, quote, offsets, out)
        missing, buffer = self.validity()
        return pa.StringArray.from_buffers(
            len(self.starts), pa.py_buffer(offsets), pa.py_buffer(out[: offsets[-1]]), buffer, missing
        )

    def validity(self) -> tuple[int, Any]:
        """How many are missing, and Arrow's bits of those that are not."""
        given = self.forms != loops.MISSING
        missing = len(given) - int(np.count_nonzero(given))
        return missing, pa.py_buffer(np.packbits(given, bitorder="little")) if missing else None

    def only(self, chosen: Any) -> _Cells:
        starts, ends = self.starts[chosen], self.ends[chosen]
        return _Cells(self.data, starts, ends, self.forms[chosen], int((ends - starts).sum()))


def read_lines(raw: Any, form: Form, fields: Mapping[str, Field], convert: Convert) -> Any:
    """The wanted columns of whole lines; None where the database must read them."""
    data = np.frombuffer(raw, np.uint8)
    if len(data) and data.max() > 127 and not _is_utf8(raw):
        return None
    cells = _cut(data, form, [f.position for f in fields.values()])
    if cells is None:
        return None
    try:
        arrays = [_column(c, f, form.quote, convert) for c, f in zip(cells, fields.values(), strict=True)]
    except ShoalError:  # a value that does not fit, which the database explains
        return None
    return pa.RecordBatch.from_arrays(arrays, names=list(fields))


def is_one_line(raw: bytearray, form: Form) -> bool:
    """Whether the bytes are one line of as many fields, plainly written."""
    cells = _cut(np.frombuffer(raw, np.uint8), form, [0])
    return cells is not None and len(cells[0].starts) == 1


def _is_utf8(raw: Any) -> bool:
    ends = pa.py_buffer(np.array([0, len(raw)], np.int32))
    try:
        pa.StringArray.from_buffers(1, ends, pa.py_buffer(raw)).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _cut(data: Any, form: Form, positions: Sequence[int]) -> list[_Cells] | None:
    wanted = np.full(form.width, -1, np.int64)
    wanted[list(positions)] = np.arange(len(positions))
    lines = int(np.count_nonzero(data == 10))
    starts, ends = (np.empty((len(positions), lines), np.int32) for _ in range(2))
    forms, sizes = np.empty((len(positions), lines), np.uint8), np.zeros(len(positions), np.int64)
    kinds = loops.byte_kinds(form.delimiter, form.quote)
    found = loops.cut_fields(data, kinds, form.returns, wanted, *form.nulls(), starts, ends, forms, sizes)
    if found < 0:
        return None
    return [_Cells(data, starts[i], ends[i], forms[i], int(sizes[i])) for i in range(len(positions))]


def _column(cells: _Cells, field: Field, quote: int, convert: Convert) -> Any:
    made = _made(cells, field)
    if made is None:
        texts = cells.texts(quote)
        return texts if field.sql_type == "VARCHAR" else convert(field, texts)
    out, unsure, left = made
    if left:
        chosen = np.flatnonzero(unsure)
        given = convert(field, cells.only(chosen).texts(quote))
        out[chosen] = _numbers(given, out.dtype)
    missing, buffer = cells.validity()
    kind = arrow_type(field.sql_type)
    data = _wide(out) if pa.types.is_decimal(kind) else out
    return pa.Array.from_buffers(kind, len(out), [buffer, pa.py_buffer(data)], missing)


def _made(cells: _Cells, field: Field) -> tuple[Any, Any, int] | None:
    """The values that the loops read, which they did not read, and how many those are; None for texts and other types."""
    where = (cells.data, cells.starts, cells.ends, cells.forms)
    n, mark = len(cells.starts), ord("," if field.comma else ".")
    unsure = np.zeros(n, bool)
    if field.form is not None:
        return None
    if field.sql_type == "BIGINT" or field.sql_type.startswith("DECIMAL(18,"):
        scale = 0 if field.sql_type == "BIGINT" else int(re.findall(r"\d+", field.sql_type)[1])
        out = np.empty(n, np.int64)
        return out, unsure, values.decimals(*where, field.padded, mark, scale, out, unsure)
    if field.sql_type == "DOUBLE":
        out = np.empty(n, np.float64)
        left = values.floats(*where, field.padded, mark, field.shortest, values.POWERS, values.TENS, out, unsure)
        return out, unsure, left
    if field.padded:
        return None
    if field.sql_type == "DATE":
        out = np.empty(n, np.int32)
        return out, unsure, values.days(*where, values.MONTHS, out, unsure)
    if field.sql_type == "TIMESTAMP":
        out = np.empty(n, np.int64)
        return out, unsure, values.moments(*where, values.MONTHS, out, unsure)
    return None


def _numbers(given: Any, kind: Any) -> Any:
    """Values of a column without missing ones as they stand in memory; of decimals the lower half, as none has more digits."""
    step = 2 if pa.types.is_decimal(given.type) else 1
    return np.frombuffer(given.buffers()[1], kind)[step * given.offset : step * (given.offset + len(given)) : step]


def _wide(units: Any) -> Any:
    """Whole numbers of 64 bits in 128, as Arrow's decimals are."""
    both = np.empty((len(units), 2), np.int64)
    both[:, 0] = units
    both[:, 1] = units >> 63
    return both
