"""Excel workbooks (.xlsx): one sheet as a table; openpyxl in read-only mode. Formulas count by their last computed value.

The sheet is the one named, or the first that is not hidden; its first row that is not blank holds the
names; of two heading rows the second where the first says nothing (X1, X2 …). Formulas that were
never computed and cells merged with others would be read as missing: they are refused.
"""

from __future__ import annotations

import datetime
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shoal.disk.atomic import staged
from shoal.engines.core.base import Relation
from shoal.engines.core.kinds import columns_of
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.files.csv.sniff import HEAD_ROWS, says_nothing, second_heading
from shoal.engines.files.frames import open_deferred
from shoal.engines.files.packing import require_option
from shoal.engines.files.statistical.read import need_range
from shoal.errors import OutputError, ShoalError, UnreadableError, UsageError, missing_column, nearest, need
from shoal.kernels.arrow import seconds, wall_clock
from shoal.kernels.text import canonical_text
from shoal.model.roles import check_names, distinct_names

SAMPLE_ROWS = 1000
KINDS = ("text", "float")
"""What ``types=`` can ask for: other kinds are in the cells."""
LARGE, MOST_PACKED = 256 << 20, 100
"""A workbook of more bytes than this when unpacked, and more than this many times its packed ones, is not an honest one."""

_UNCOMPUTED = re.compile(
    rb'<c (?![^>]*\bt="str")[^>]*>\s*<f[^>]*(?:/>|>[^<]*</f>)\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>'
)  # an empty text that a formula computed has t="str"
_MERGED = re.compile(rb'<mergeCell [^>]*ref="[A-Z]+[0-9]+:[A-Z]+([0-9]+)"')


def open_excel(path: Path, options: dict[str, Any]) -> tuple[DuckDB, Relation]:
    """An engine and relation over a sheet; the first rows are read now, the rest when first asked for."""
    require_option(options, ("sheet", "types", "rename_duplicates"), "Excel")
    types = dict(options.get("types") or {})
    names, sheet, head, labels = _read(path, options.get("sheet"), SAMPLE_ROWS)
    once = bool(options.get("rename_duplicates"))
    names = distinct_names(names) if once else names
    check_names(names, table=path.name)
    for name, kind in types.items():
        if name not in names:
            raise missing_column(name, names, table=path.name)
        if kind not in KINDS:
            raise UsageError(f"column '{name}' of a workbook cannot be read as '{kind}'.", hint=f"Types: {', '.join(KINDS)}.")
    schema = _table(names, head, types).schema
    return open_deferred(
        lambda: _whole(path, sheet, types, names),
        schema,
        [replace(c, note=label) for c, label in zip(columns_of(schema), labels, strict=True)],
        str(path),
        hint="Open it with types={{'{column}': 'text'}}.",
        format="excel",
        sheet=sheet,
        **({"heading_rows": 2} if any(labels) else {}),
    )


def _whole(path: Path, sheet: str, types: Mapping[str, str], names: list[str]) -> Any:
    found, _, rows, _ = _read(path, sheet, None)
    if len(found) > len(names):
        raise UnreadableError(
            f"sheet '{sheet}' of '{path.name}' has rows of {len(found)} cells; its first rows have {len(names)}.",
            hint="Give every column a name.",
        )
    return _table(names, rows, types)


def _read(path: Path, sheet: str | None, limit: int | None) -> tuple[list[str], str, list[tuple[Any, ...]], list[str]]:
    """Names, the sheet's title, the rows that are not blank, and the labels where the heading has two rows."""
    with _opened(path) as book:
        chosen = _sheet(book, sheet, path)
        chosen.reset_dimensions()  # what the file says of its size need not be so
        rows = (tuple(r) for r in chosen.iter_rows(values_only=True))
        header: tuple[Any, ...] = ()
        above = 0
        for header in rows:
            above += 1
            if any(v is not None for v in header):
                break
        if not any(v is not None for v in header):
            raise UnreadableError(f"sheet '{chosen.title}' of '{path.name}' is empty.", hint="Its first row must hold the names.")
        body = [r for r in islice(rows, limit) if any(v is not None for v in r)]
        if limit is None:
            _check_cells(book, chosen, above, path)
        width = max([len(header), *(len(r) for r in body)])
        header = (*header, *[None] * (width - len(header)))
        labels: tuple[Any, ...] = (None,) * width
        if second_heading([header, *body[: HEAD_ROWS + 1]]):
            labels, header, body = (header, body[0], body[1:]) if says_nothing(header) else (body[0], header, body[1:])
        names = [str(n) if n is not None else f"column{i}" for i, n in enumerate(header, start=1)]
        return names, str(chosen.title), body, ["" if label is None else str(label) for label in labels]


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """The workbook; one that is broken, or far larger than it looks, is refused."""
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise need("excel", "openpyxl") from None
    book, file = None, None
    try:
        with zipfile.ZipFile(path) as packed:
            unpacked = sum(part.file_size for part in packed.infolist())
        if unpacked > LARGE and unpacked > MOST_PACKED * path.stat().st_size:
            raise UnreadableError(
                f"'{path.name}' unpacks to {unpacked / 2**20:,.0f} MiB, more than a workbook of its size does.",
                hint="Open and save it in a spreadsheet program, or export the sheet as CSV.",
            )
        file = path.open("rb")
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        yield book
    except ShoalError:
        raise
    # SyntaxError: what a parser of XML raises
    except (zipfile.BadZipFile, zlib.error, SyntaxError, KeyError, ValueError, OSError, AttributeError, EOFError):
        raise UnreadableError(f"'{path}' is not a readable Excel workbook.", hint="Save it again as .xlsx.") from None
    finally:
        if book is not None:
            book.close()
        if file is not None:
            file.close()


def _sheet(book: Any, sheet: str | None, path: Path) -> Any:
    """The sheet named, else the first that people see."""
    known = [s.title for s in book.worksheets]
    if sheet is None:
        return next((s for s in book.worksheets if s.sheet_state == "visible"), book.worksheets[0])
    if sheet not in known:
        close = nearest(sheet, known)
        raise UsageError(
            f"sheet '{sheet}' is not in '{path.name}'.",
            hint=f"Sheets: {', '.join(known)}." + (f" Did you mean '{close}'?" if close else ""),
        )
    return book[sheet]


def _check_cells(book: Any, sheet: Any, above: int, path: Path) -> None:
    """Refuse cells that look filled to people and empty to programs."""
    with book._archive.open(sheet._worksheet_path) as file:
        text = file.read()
    formulas = len(_UNCOMPUTED.findall(text))
    merged = sum(1 for row in _MERGED.findall(text) if int(row) > above)
    if formulas or merged:
        what = f"{formulas} formulas that were never computed" if formulas else f"{merged} groups of merged cells below its names"
        fix = "Open it in a spreadsheet program and save it" if formulas else "Split them and fill in every cell"
        raise UnreadableError(f"sheet '{sheet.title}' of '{path.name}' has {what}.", hint=f"{fix}, then try again.")


def _table(names: list[str], rows: list[tuple[Any, ...]], types: Mapping[str, str]) -> Any:
    width = len(names)
    columns = [[row[i] if i < len(row) else None for row in rows] for i in range(width)]
    return pa.table({name: _array(values, types.get(name)) for name, values in zip(names, columns, strict=True)})


def _array(values: list[Any], wanted: str | None) -> Any:
    """One type per column: that of all its cells, or the one wanted; else text as Excel would show it plainly."""
    kinds = {type(v) for v in values if v is not None}
    if wanted == "float" and kinds <= {int, float}:
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    if wanted == "text":
        kinds = {str}
    if kinds <= {int, float} and float in kinds:
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    if kinds == {datetime.datetime}:
        midnight = all(v is None or v.time() == datetime.time(0) for v in values)
        return pa.array([v if v is None or not midnight else v.date() for v in values])
    single: dict[type, Any] = {int: pa.int64(), bool: pa.bool_(), datetime.date: pa.date32(), datetime.time: pa.time64("us")}
    if len(kinds) == 1 and (kind := kinds.pop()) in single:
        return pa.array(values, single[kind])
    return pa.array([None if v is None else _plain(v) for v in values], pa.string())


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


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
