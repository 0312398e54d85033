"""Excel workbooks (.xlsx): one sheet as a table; openpyxl in read-only mode. Formulas count by their last computed value."""

from __future__ import annotations

import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from shoal.engines.base import Relation
from shoal.engines.duckdb import DuckDB, require_option
from shoal.engines.frames import open_deferred
from shoal.engines.kinds import columns_of
from shoal.errors import UnreadableError, UsageError, nearest, need
from shoal.model.roles import check_names

SAMPLE_ROWS = 1000


def open_excel(path: Path, options: dict[str, Any]) -> tuple[DuckDB, Relation]:
    """An engine and relation over a sheet; the first rows are read now, the rest when first asked for."""
    require_option(options, ("sheet", "types"), "Excel")
    names, sheet, head = _read(path, options.get("sheet"), SAMPLE_ROWS)
    check_names(names, table=path.name)
    schema = _table(names, head).schema
    return open_deferred(lambda: _whole(path, sheet), columns_of(schema), str(path), format="excel", sheet=sheet)


def _whole(path: Path, sheet: str) -> Any:
    names, _, rows = _read(path, sheet, None)
    return _table(names, rows)


def _read(path: Path, sheet: str | None, limit: int | None) -> tuple[list[str], str, list[tuple[Any, ...]]]:
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise need("excel", "openpyxl") from None
    import zipfile

    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (zipfile.BadZipFile, KeyError, ValueError, OSError):
        raise UnreadableError(f"'{path}' is not a readable Excel workbook.", hint="Save it again as .xlsx.") from None
    try:
        if sheet is not None and sheet not in book.sheetnames:
            close = nearest(sheet, book.sheetnames)
            raise UsageError(
                f"sheet '{sheet}' is not in '{path.name}'.",
                hint=f"Sheets: {', '.join(book.sheetnames)}." + (f" Did you mean '{close}'?" if close else ""),
            )
        chosen = book[sheet] if sheet is not None else book[book.sheetnames[0]]
        rows = (tuple(r) for r in chosen.iter_rows(values_only=True))
        header = next(rows, ())
        names = [str(n) if n is not None else f"column{i}" for i, n in enumerate(header, start=1)]
        if not names:
            raise UnreadableError(f"sheet '{chosen.title}' of '{path.name}' is empty.", hint="Its first row must hold the names.")
        body = [r for r in islice(rows, limit) if any(v is not None for v in r)]
        return names, str(chosen.title), body
    finally:
        book.close()


def _table(names: list[str], rows: list[tuple[Any, ...]]) -> Any:
    import pyarrow as pa

    width = len(names)
    columns = [[row[i] if i < len(row) else None for row in rows] for i in range(width)]
    return pa.table({name: _array(values) for name, values in zip(names, columns, strict=True)})


def _array(values: list[Any]) -> Any:
    """One type per column: that of all its cells, else text as Excel would show it plainly."""
    import pyarrow as pa

    kinds = {type(v) for v in values if v is not None}
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
