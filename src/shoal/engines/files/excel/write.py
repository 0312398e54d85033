"""Excel output: text as text cells (never formulas or links), numbers as numbers, dates as dates; fixed properties."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shoal.disk.folder import staged
from shoal.engines.files.statistical.refused import need_range
from shoal.errors import OutputError, need
from shoal.kernels.moments import seconds, wall_clock
from shoal.kernels.text import canonical_text

MAX_ROWS = 1_048_576
MAX_TEXT = 32_767


def write_excel(path: Path, schema: Any, tables: Iterator[Any]) -> None:
    """One sheet; whole numbers beyond 15 digits as text, because Excel would round them."""
    try:
        import xlsxwriter
    except ModuleNotFoundError:
        raise need("excel", "xlsxwriter") from None
    with staged(path.parent) as folder, path.open("wb") as target:
        options = {"constant_memory": True, "tmpdir": str(folder), "strings_to_formulas": False, "strings_to_urls": False}
        book = xlsxwriter.Workbook(target, {**options, "strings_to_numbers": False})
        sheet = book.add_worksheet("data")
        try:
            _fill(book, sheet, schema, tables)
            book.close()
        except xlsxwriter.exceptions.FileCreateError as error:
            raise OSError(str(error)) from None
        finally:
            book.fileclosed = True  # where it stopped early there is nothing more to write
            sheet.row_data_fh.close()


def _fill(book: Any, sheet: Any, schema: Any, tables: Iterator[Any]) -> None:
    book.set_properties({"created": datetime.datetime(2000, 1, 1), "author": "", "comments": ""})
    dates = {
        "date": book.add_format({"num_format": "yyyy-mm-dd"}),
        "time": book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}),
    }
    for j, name in enumerate(schema.names):
        sheet.write_string(0, j, name)
    row = 1
    for table in tables:
        if row + table.num_rows > MAX_ROWS:
            raise OutputError("the table has more rows than an Excel sheet can hold.", hint="Write CSV or Parquet instead.")
        for name, column in zip(schema.names, table.columns, strict=True):
            need_range(column, name, "excel")
        for values in zip(*[_cells(c) for c in table.columns], strict=True):
            for j, value in enumerate(values):
                _write(sheet, row, j, value, dates)
            row += 1


def _cells(values: Any) -> list[Any]:
    plain = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_date, pa.types.is_timestamp)
    if pa.types.is_duration(values.type):
        values = seconds(values)
    if pa.types.is_timestamp(values.type):  # no zone, as the clock there showed, and no finer than Excel: it would round up
        values = pc.floor_temporal(wall_clock(values).cast(pa.timestamp("us"), safe=False), unit="millisecond")
    if any(test(values.type) for test in plain):
        return [None if v != v else v for v in values.to_pylist()]
    return list(canonical_text(values).to_pylist())


def _write(sheet: Any, row: int, column: int, value: Any, dates: Any) -> None:
    if value is None:
        return
    if isinstance(value, str):
        if len(value) > MAX_TEXT:
            raise OutputError("a text is longer than an Excel cell can hold.", hint="Write CSV or Parquet instead.")
        sheet.write_string(row, column, value)
    elif isinstance(value, bool):
        sheet.write_boolean(row, column, value)
    elif isinstance(value, datetime.datetime):
        if value.year < 1900:
            sheet.write_string(row, column, value.isoformat(sep=" "))
        else:
            sheet.write_datetime(row, column, value.replace(tzinfo=None), dates["time"])
    elif isinstance(value, datetime.date):
        if value.year < 1900:
            sheet.write_string(row, column, value.isoformat())
        else:
            sheet.write_datetime(row, column, datetime.datetime(value.year, value.month, value.day), dates["date"])
    elif isinstance(value, int) and abs(value) >= 10**15:
        sheet.write_string(row, column, str(value))
    else:
        sheet.write_number(row, column, _Exact(value) if isinstance(value, float) else value)


class _Exact(float):
    """A number that is written with all its digits: the library takes 16, and a double may have 17."""

    def __format__(self, spec: str) -> str:
        return repr(float(self))
