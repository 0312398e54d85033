"""Workbooks (.xlsx, .xlsm, .xls, .xlsb, .ods): one sheet as a table, read by calamine. Formulas count by their last value.

The sheet is the one named, or the one that people see and that holds a table. Notes around the table, rows of units and of totals
are set aside, as in text files; of two heading rows the second holds the names if the first is bare (X1, X2 …). Formulas that
were never computed and cells merged with others would be read as missing: they are refused.
"""

from __future__ import annotations

import datetime
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shoal.disk.atomic import staged
from shoal.engines.core.base import Relation
from shoal.engines.core.kinds import columns_of
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.files.frames import open_deferred, still_there
from shoal.engines.files.layout import (
    HEAD_ROWS,
    Row,
    doubt,
    filled,
    heading_line,
    labels_apart,
    lay_out,
    names_at,
    need_modes,
    notes_from,
    numbered_names,
    repairs_of,
    several_in_one,
)
from shoal.engines.files.packing import require_option
from shoal.engines.files.shape import (
    ONCE,
    first_is_record,
    kind_of,
    names_below,
    names_recur,
    stands_once,
    strange_shape,
    table_above,
)
from shoal.engines.files.statistical.read import need_range
from shoal.engines.files.workbook_parts import check_size, hidden_columns, part_of, zeros_shown
from shoal.errors import OutputError, ShoalError, UnreadableError, UsageError, missing_column, suggest
from shoal.kernels.arrow import seconds, wall_clock
from shoal.kernels.text import canonical_text
from shoal.model.roles import check_names

OPTIONS = ("sheet", "types", "rename_duplicates", "header", "skip", "totals", "units", "notes", "tables", "groups")
KINDS = ("text", "float")
"""What ``types=`` can ask for: other kinds are in the cells."""
NO_NAMES = (
    "The first row holds numbers as a record does: the columns are called column1, column2 …. Overrule with --read header=1."
)
HEAD = 200
"""Rows by which a sheet is judged."""

_UNCOMPUTED = re.compile(
    rb'<c (?![^>]*\bt="str")[^>]*>\s*<f[^>]*(?:/>|>[^<]*</f>)\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>'
)  # an empty text that a formula computed has t="str"


def open_excel(path: Path, options: dict[str, Any]) -> tuple[DuckDB, Relation]:
    """An engine and relation over a sheet, which is read now."""
    require_option(options, OPTIONS, "Excel")
    need_modes(options)
    types = dict(options.get("types") or {})
    with workbook(path) as book:
        sheet, others = _chosen(book, options.get("sheet"), path)
        rows = [r if any(c != "" for c in r) else [] for r in sheet.to_python()]
        start, left = sheet.start or (0, 0)
        text = part_of(path, str(sheet.name))
        errors, hidden = _check_cells(sheet, start + names_at(rows) + 1, start + notes_from(rows), path, text)
        zeros = zeros_shown(path, text)
        rows = _with_zeros(rows, zeros, start, left) if zeros else rows
        over = not {"header", "skip"} & options.keys() and _merged_names(sheet, start, rows)
    if over:
        raise doubt("heading", path.name)
    table = _find_table(rows, start, str(sheet.name), path, options)
    names = numbered_names(table.names, options)
    check_names(names, table=path.name)
    for name, kind in types.items():
        if name not in names:
            raise missing_column(name, names, table=path.name)
        if kind not in KINDS:
            raise UsageError(f"column '{name}' of a workbook cannot be read as '{kind}'.", hint=f"Types: {', '.join(KINDS)}.")
    data = _table(names, table.records, types)
    renamed = {new: old for new, old in zip(names, table.names, strict=True) if new != old}
    plan = {n: options[n] for n in OPTIONS if n in options} | ({"heading_rows": 2} if any(table.labels) else {})
    plan |= {"sheet": str(sheet.name)} if others else {}
    mended = () if table.has_names or options.get("header") is False else (NO_NAMES,)
    details = repairs_of(table.aside + Counter({"notes": table.above}), renamed, plan, above=table.above, mended=mended)
    details |= {"heading_rows": 2} if any(table.labels) else {}
    repairs = [
        *_sheet_lines(str(sheet.name), others),
        *details.get("repairs", []),
        *_cell_lines(errors, hidden, hidden_columns(text, left + len(names))),
        *_column_lines(names, table.records),
    ]
    details |= {"repairs": repairs} if repairs else {}
    return open_deferred(
        lambda: still_there(path, data),
        data.schema,
        [replace(c, note=label) for c, label in zip(columns_of(data.schema), table.labels, strict=True)],
        str(path),
        format="excel",
        sheet=str(sheet.name),
        header=table.has_names,
        **details,
    )


def _sheet_lines(sheet: str, others: Sequence[str]) -> Iterator[str]:
    if others:
        shown = ", ".join(f"'{n}'" for n in others[:5]) + (", …" if len(others) > 5 else "")
        ways = " or ".join(f'--read "sheet={n}"' for n in others[:3])
        yield f"Read sheet '{sheet}'; not read: {shown}. Choose another with {ways}."


def _cell_lines(errors: int, rows: int, columns: int) -> Iterator[str]:
    if errors:
        yield f"Read {errors:,} cell{'s' if errors > 1 else ''} with an Excel error as missing."
    for what, number in (("row", rows), ("column", columns)):
        if number:
            plural = "s" if number > 1 else ""
            yield f"Read {number:,} hidden {what}{plural} too. Delete them if they shall not be part of the table."


def _column_lines(names: Sequence[str], body: Sequence[Row]) -> Iterator[str]:
    if mixed := [n for i, n in enumerate(names) if _dates_and_numbers([r[i] for r in body if i < len(r)])]:
        shown = ", ".join(f"'{n}'" for n in mixed[:5])
        yield f"Cells of {shown} are dates, others plain numbers: they are read as texts. Give all cells the format of dates."
    if len(names) > 1 and stands_once([r[0] if r else "" for r in body[:HEAD_ROWS]]):
        yield ONCE.format(names[0])


@dataclass(frozen=True)
class _Table:
    """A sheet as a table. ``aside``: how many rows of each sort are no records; ``above``: notes above the names."""

    names: list[str]
    records: list[Row]
    labels: list[str]
    has_names: bool
    aside: Counter[str]
    above: int


def _find_table(rows: list[Row], start: int, sheet: str, path: Path, options: Mapping[str, Any]) -> _Table:
    """The names, labels and records among the rows of a sheet, of which ``start`` empty ones were left out."""
    header, skip = heading_line(options)
    start_given = "skip" in options or skip > 0
    rows = rows[max(0, skip - start) :] if start_given else rows
    at = 0 if start_given else names_at(rows)
    over, rows = rows[:at], rows[at:]
    held = [r for r in rows if r]
    if not held:
        raise UnreadableError(f"sheet '{sheet}' of '{path.name}' is empty.", hint="Its first row must hold the names.")
    width = max(map(len, held))
    guessed = header is None
    has_names = header is not False and (bool(header) or start_given or at > 0 or not first_is_record(held))
    if width == 1 and guessed and several_in_one([r[0] for r in held]):
        what = f"the cells of sheet '{sheet}' of '{path.name}' look as if they held several fields each."
        hint = "Split them into columns (in Excel: Data, Text to Columns). If it is one column, pass --read header=1."
        raise UnreadableError(what, hint=hint)
    two = has_names and options.get("header") is None and not start_given
    labels, held, _ = labels_apart(held, ids=has_names and guessed, two=two)
    first, body = (held[0], held[1:]) if has_names else ((), held)
    if has_names and guessed and names_recur(first, body):
        raise doubt("header", path.name)
    layout = lay_out(body, rows, width, whole=True, names=first)
    doubts = [strange_shape(first, [r for r in body if tuple(r) != layout.again], rows, over, whole=True)]
    doubts += ["tables"] if table_above(over) else []
    doubts += ["heading"] if guessed and _names_apart(over, held) else []
    layout = layout.asking(doubts).settled(options, path.name)
    sorts = [layout.sort_of(row, i == 0, i - len(body)) for i, row in enumerate(body)]
    texts = [str(_plain(c)).strip() for c in first] if has_names else [""] * width
    return _Table(
        names=[n or f"column{i}" for i, n in enumerate(texts, start=1)],
        records=[row for row, sort in zip(body, sorts, strict=True) if not sort],
        labels=[" ".join(str(c).split()) for c in labels or ("",) * width],
        has_names=has_names,
        aside=Counter(filter(None, sorts)),
        above=sum(map(bool, over)),
    )


def _names_apart(over: Sequence[Row], rows: Sequence[Row]) -> bool:
    """Whether the table begins with a record, and a row of several cells above it may hold the names."""
    value = kind_of(rows[0][0]) not in ("text", "")
    return value and first_is_record(rows) and any(len(filled(r)) > 1 for r in over)


@contextmanager
def workbook(path: Path) -> Iterator[Any]:
    """The workbook; one that is broken, or far larger than it looks, is refused."""
    import python_calamine

    book = None
    try:
        if zipfile.is_zipfile(path):
            check_size(path)
        book = python_calamine.CalamineWorkbook.from_path(str(path))
        yield book
    except ShoalError:
        raise
    except python_calamine.PasswordError:
        raise UnreadableError(f"'{path.name}' is locked with a password.", hint="Save it without one.") from None
    except (python_calamine.CalamineError, zipfile.BadZipFile, zlib.error, KeyError, ValueError, OSError, EOFError):
        raise _unreadable(path) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise _unreadable(path) from None
    finally:
        if book is not None:
            book.close()


def _unreadable(path: Path) -> UnreadableError:
    """Why a workbook cannot be read: many programs write text under the name of one."""
    with path.open("rb") as file:
        head = file.read(512)
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        what, hint = "holds HTML or XML, no Excel workbook", "Open it in a spreadsheet program and save it as .xlsx."
    elif head and not any(sign in head for sign in (b"\x00", b"PK")) and b"\n" in head:
        what, hint = "holds text, no Excel workbook", "Name it .csv, or pass --read format=csv."
    else:
        what, hint = "is not a readable Excel workbook", "Save it again as .xlsx."
    return UnreadableError(f"'{path}' {what}.", hint=hint)


def _chosen(book: Any, sheet: str | int | None, path: Path) -> tuple[Any, list[str]]:
    """The sheet named, else the one that people see and that holds a table; and the other sheets that people see."""
    known = list(book.sheet_names)
    if isinstance(sheet, int) or (sheet is not None and sheet not in known and sheet.isdecimal()):
        number = int(sheet)
        if not 1 <= number <= len(known):
            what = f"'{path.name}' has {len(known)} sheets; there is no sheet {number}."
            raise UsageError(what, hint=f"Sheets: {', '.join(known)}.")
        return book.get_sheet_by_index(number - 1), []
    if sheet is not None:
        if sheet not in known:
            hint = f"Sheets: {', '.join(known)}. {suggest(sheet, known)}".strip()
            raise UsageError(f"sheet '{sheet}' is not in '{path.name}'.", hint=hint)
        return book.get_sheet_by_name(sheet), []
    visible = [
        m.name for m in book.sheets_metadata if str(m.visible).endswith(".Visible") and str(m.typ).endswith(".WorkSheet")
    ] or known
    sheets = [book.get_sheet_by_name(name) for name in visible]
    tables = [s for s in sheets if _holds_table(s)] if len(sheets) > 1 else sheets
    best = tables[0] if tables else sheets[0]
    if len(tables) > 1 and any(s.height > best.height for s in tables):
        names = ", ".join(f"'{s.name}'" for s in tables)
        choices = " or ".join(f'--read "sheet={s.name}"' for s in tables[:5])
        raise UnreadableError(f"'{path.name}' has several sheets with tables: {names}.", hint=f"Choose one: {choices}.")
    return best, [name for name in visible if name != best.name]


def _holds_table(sheet: Any) -> bool:
    """Whether at least two rows have at least two filled cells each, and most rows have."""
    rows = [filled(r) for r in sheet.to_python(nrows=HEAD)]
    rows = [r for r in rows if r]
    wide = sum(len(r) > 1 for r in rows)
    return wide > 1 and 2 * wide > len(rows)


def _with_zeros(rows: list[Row], shown: Mapping[tuple[int, int], int], start: int, left: int) -> list[Row]:
    """The rows with whole numbers as texts where the sheet shows them with zeros before them, as codes are."""
    out = [list(r) for r in rows]
    for (i, j), digits in shown.items():
        row, column = i - start, j - left
        if 0 <= row < len(out) and 0 <= column < len(out[row]):
            value = out[row][column]
            if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 and value == int(value):
                out[row][column] = f"{int(value):0{digits}d}"
    return list(out)


def _merged_names(sheet: Any, start: int, rows: Sequence[Row]) -> bool:
    """Whether cells of the row that would hold the names are merged with others beside them, and the names stand below."""
    at = names_at(rows)
    beside = any(first[0] == last[0] == start + at and last[1] > first[1] for first, last in sheet.merged_cell_ranges or ())
    return beside and names_below([r for r in rows[at + 1 :] if r])


def _check_cells(sheet: Any, above: int, below: int, path: Path, text: bytes) -> tuple[int, int]:
    """Refuse cells that look filled to people and empty to programs; how many hold an error, and how many rows are hidden."""
    merged = sum(1 for first, last in sheet.merged_cell_ranges or () if last[0] >= above and first[0] < below)
    formulas = len(_UNCOMPUTED.findall(text)) if b"<f" in text else 0
    if formulas or merged:
        what = f"{formulas} formulas that were never computed" if formulas else f"{merged} groups of merged cells below its names"
        fix = "Open it in a spreadsheet program and save it" if formulas else "Split them and fill in every cell"
        raise UnreadableError(f"sheet '{sheet.name}' of '{path.name}' has {what}.", hint=f"{fix}, then try again.")
    return len(re.findall(rb'<c [^>]*\bt="e"', text)), len(re.findall(rb'<row [^>]*\bhidden="(?:1|true)"[^>]*>\s*<c ', text))


def _table(names: Sequence[str], rows: Sequence[Row], types: Mapping[str, str]) -> Any:
    columns = [[row[i] if i < len(row) and row[i] != "" else None for row in rows] for i in range(len(names))]
    return pa.table({name: _array(values, types.get(name)) for name, values in zip(names, columns, strict=True)})


def _array(values: list[Any], wanted: str | None) -> Any:
    """One type per column: that of all its cells, or the one wanted; else text as Excel would show it plainly."""
    kinds = {type(v) for v in values if v is not None}
    if kinds and kinds <= {int, float} and wanted != "text":
        numbers = pa.array([None if v is None else float(v) for v in values] if int in kinds else values, pa.float64())
        whole = pc.and_(pc.equal(numbers, pc.floor(numbers)), pc.less(pc.abs(numbers), 2.0**53))
        return numbers.cast(pa.int64()) if wanted != "float" and pc.all(whole).as_py() else numbers
    if kinds == {str}:
        return pa.array(values, pa.string())
    if wanted == "text":
        kinds = {str}
    if kinds and kinds <= {datetime.datetime, datetime.date}:
        moments = [v for v in values if isinstance(v, datetime.datetime)]
        if all(v.time() == datetime.time(0) for v in moments):
            return pa.array([v.date() if isinstance(v, datetime.datetime) else v for v in values], pa.date32())
        clock = datetime.time(0)
        days = [
            datetime.datetime.combine(v, clock) if v is not None and not isinstance(v, datetime.datetime) else v for v in values
        ]
        return pa.array(days, pa.timestamp("us"))
    single: dict[type, Any] = {bool: pa.bool_(), datetime.time: pa.time64("us"), datetime.timedelta: pa.duration("us")}
    if len(kinds) == 1 and (kind := kinds.pop()) in single:
        return pa.array(values, single[kind])
    return pa.array([None if v is None else _plain(v) for v in values], pa.string())


def _dates_and_numbers(values: Sequence[Any]) -> bool:
    kinds = {type(v) for v in values}
    return bool(kinds & {datetime.datetime, datetime.date}) and bool(kinds & {int, float})


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


MAX_ROWS = 1_048_576
MAX_TEXT = 32_767


def write_excel(path: Path, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
    """One sheet; whole numbers beyond 15 digits as text, because Excel would round them."""
    import xlsxwriter

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


def _fill(book: Any, sheet: Any, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
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
    elif isinstance(value, datetime.date) and value.year < 1900:
        sheet.write_string(row, column, str(value))
    elif isinstance(value, datetime.date):
        sheet.write_datetime(row, column, value, dates["time" if isinstance(value, datetime.datetime) else "date"])
    elif isinstance(value, int) and abs(value) >= 10**15:
        sheet.write_string(row, column, str(value))
    else:
        sheet.write_number(row, column, _Exact(value) if isinstance(value, float) else value)


class _Exact(float):
    """A number that is written with all its digits: the library takes 16, and a double may have 17."""

    def __format__(self, spec: str) -> str:
        return repr(float(self))
