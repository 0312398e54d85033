"""SPSS, Stata and SAS transport output: codes, value and variable labels, formats, measurement levels and declared codes live on.

Labels are written of values that occur; of a column that nothing was hidden in, all. No note, date or name of the source is
carried over.
"""

from __future__ import annotations

import datetime
import errno
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.files.statistical.coding import coded, lettered, of_texts
from shoal.engines.files.statistical.read import need_range, need_whole_texts
from shoal.errors import OutputError
from shoal.kernels.arrow import as_doubles, seconds, wall_clock
from shoal.kernels.text import canonical_text
from shoal.model.roles import Column

Codes = dict[str, dict[str, str]]
"""By column, the codes that are new in a file, and the texts that they stand for."""
_MOMENT = "01JAN00:00:00:00"
_LOOKED_AT = 100
_SPSS_FORM = re.compile(r"[A-Z]+[0-9]+(\.[0-9]+)?")


@dataclass
class _Frame:
    """Columns as pyreadstat takes them, with their metadata."""

    columns: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, dict[Any, str]] = field(default_factory=dict)
    declared: dict[str, list[Any]] = field(default_factory=dict)
    letters: dict[str, list[str]] = field(default_factory=dict)
    forms: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def pandas(self) -> Any:
        import pandas as pd

        return pd.DataFrame(self.columns)


def write_spss(
    path: Path, tables: Iterator[pa.Table], columns: Sequence[Column], hidden: frozenset[str], *, packed: bool = False
) -> Codes:
    """An SPSS .sav file; labels of values that no longer occur are left out for the columns ``hidden``."""
    frame = _prepare(tables, columns, "spss", hidden)
    described = [c for c in columns if not c.grouped or c.measure]
    _call(
        "write_sav",
        frame.pandas(),
        str(path),
        column_labels=frame.notes,
        variable_value_labels=frame.labels,
        missing_ranges=frame.declared,
        variable_format=frame.forms,
        compress=packed,
        variable_measure={c.name: c.measure for c in described if c.measure in ("nominal", "ordinal", "scale")},
        variable_display_width={c.name: c.width for c in columns if c.width},
    )
    _overwrite(path, 92, b"01 Jan 0000:00:00")  # nine bytes of date, eight of time
    rows = len(next(iter(frame.columns.values())))
    if rows and _call("read_sav", str(path), row_offset=rows - 1, row_limit=1)[0].empty:
        raise _cut_off(path)
    return frame.codes


def write_stata(path: Path, tables: Iterator[pa.Table], columns: Sequence[Column], hidden: frozenset[str]) -> Codes:
    """A Stata .dta file."""
    frame = _prepare(tables, columns, "stata", hidden)
    _call(
        "write_dta",
        frame.pandas(),
        str(path),
        column_labels=frame.notes,
        variable_value_labels=frame.labels,
        missing_user_values=frame.letters,
        variable_format=frame.forms,
    )
    with path.open("rb") as file:
        at = file.read(1000).index(b"<timestamp>\x11") + 12
        file.seek(-12, os.SEEK_END)
        if file.read() != b"</stata_dta>":
            raise _cut_off(path)
    _overwrite(path, at, b"01 Jan 2000 00:00")
    return frame.codes


def write_transport(path: Path, tables: Iterator[pa.Table], columns: Sequence[Column], hidden: frozenset[str]) -> None:
    """A SAS transport file (.xpt, version 8): it holds no value labels; groups stay texts."""
    frame = _prepare(tables, columns, "sas", hidden)
    _call("write_xport", frame.pandas(), str(path), column_labels=frame.notes, variable_format=frame.forms)
    with path.open("rb") as file:
        head = file.read(720)
    for stamp in re.finditer(rb"[0-9]{2}[A-Z]{3}[0-9]{2}:[0-9]{2}:[0-9]{2}:[0-9]{2}", head):
        _overwrite(path, stamp.start(), _MOMENT.encode())
    rows = len(next(iter(frame.columns.values())))
    if rows and len(_call("read_xport", str(path))[0]) != rows:
        raise _cut_off(path)


def _overwrite(path: Path, at: int, moment: bytes) -> None:
    """Put a fixed moment in place of the time of writing, which tells about the holder and differs from run to run."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(moment)


def _cut_off(path: Path) -> OSError:
    """What pyreadstat does not notice when it closes a file: the end did not reach the disk."""
    full = shutil.disk_usage(path.parent).free < 1 << 20
    return OSError(errno.ENOSPC if full else errno.EIO, "")


def _call(name: str, first: Any, *more: Any, **options: Any) -> Any:
    import pyreadstat

    try:
        return getattr(pyreadstat, name)(first, *more, **options)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
        path = Path(more[0] if more else first)
        if name.startswith("read") or "Unable to write data" in str(error):
            raise _cut_off(path) from None
        hint = "Column names may be too long or hold characters that it does not allow; write CSV or Parquet instead."
        raise OutputError("the file could not be written in this format.", hint=hint) from None


def _prepare(
    tables: Iterator[pa.Table], columns: Sequence[Column], package: Literal["spss", "stata", "sas"], hidden: frozenset[str]
) -> _Frame:
    table = pa.concat_tables(list(tables))
    out = _Frame()
    for column, values in zip(columns, table.columns, strict=True):
        need_range(values, column.name, package)
        if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            need_whole_texts(values, column.name, package)
        coded_column = coded(values, column, package) if package != "sas" else None
        if package == "stata":
            coded_column = lettered(values, column, coded_column)
        if coded_column is not None:
            out.columns[column.name] = _series(coded_column.cells, letters=bool(coded_column.letters))
            labels, declared = coded_column.labels, coded_column.declared
            out.codes |= {column.name: dict(coded_column.texts)} if coded_column.texts else {}
            if coded_column.letters:
                out.letters[column.name] = list(coded_column.letters)
        else:
            out.columns[column.name] = _long(values) if package == "stata" and _is_long(values) else _pandas(values)
            labels, declared = dict(column.labels), column.user_missing
            if package != "sas" and column.kind == "text":
                labels, declared = of_texts(values, column, column.name in hidden) if package == "spss" else ({}, ())
        if package == "sas":
            labels = {}
        if column.name in hidden:
            labels = _of(out.columns[column.name], labels)
        if labels:
            out.labels[column.name] = labels
        if declared and package == "spss" and _fits(declared, coded_column is not None or column.kind != "text"):
            out.declared[column.name] = [{"lo": d[0], "hi": d[1]} if isinstance(d, tuple) else d for d in declared]
        if _own_form(column, package, coded_column is not None):
            out.forms[column.name] = column.form
        elif package == "spss" and coded_column is None and (form := _spss_form(values)):
            out.forms[column.name] = form
        elif package == "spss" and coded_column is not None and all(c is None or isinstance(c, int) for c in coded_column.cells):
            out.forms[column.name] = "F8.0"
        out.notes.append(column.note)
    return out


def _of(values: Any, labels: dict[Any, str]) -> dict[Any, str]:
    """The labels of values that occur."""
    there = set(values.dropna().tolist())
    return {v: label for v, label in labels.items() if v in there}


def _fits(declared: Sequence[object], numeric: bool) -> bool:
    """Whether the declared values are of the column's own type."""
    return all(isinstance(d, tuple) or isinstance(d, str) != numeric for d in declared)


def _own_form(column: Column, package: str, is_coded: bool) -> bool:
    """Whether the source's display format is one of this package, and still true of the values."""
    if not column.form or column.grouped or (column.kind == "text" and not is_coded):
        return False
    if package == "stata":
        return column.form.startswith("%")
    if package == "spss":
        return _SPSS_FORM.fullmatch(column.form) is not None and not column.form.startswith("A")
    return not column.form.startswith("%") and _SPSS_FORM.fullmatch(column.form) is None


def _spss_form(values: Any) -> str:
    """Whole numbers without decimals, decimals with theirs, as wide as the longest; empty for other columns."""
    decimals = values.type.scale if pa.types.is_decimal(values.type) else 0
    if not (pa.types.is_integer(values.type) or (pa.types.is_decimal(values.type) and 0 <= decimals <= 16)):
        return ""
    if pa.types.is_integer(values.type) and _beyond_doubles(values):
        return ""
    longest = max((len(str(x)) for x in pc.min_max(values).as_py().values() if x is not None), default=1)
    return f"F{max(8, min(longest, 40))}.{decimals}"


def _series(cells: list[Any], *, letters: bool) -> Any:
    """Codes for pyreadstat: whole numbers where all are, else floats; objects where letters stand among them."""
    import pandas as pd

    if letters:
        return _objects([c if c is None or isinstance(c, str) else float(c) for c in cells])
    if all(isinstance(c, int) for c in cells):
        return pd.Series(cells, dtype="int64")
    return pd.Series([float("nan") if c is None else float(c) for c in cells], dtype="float64")


def _objects(cells: list[Any]) -> Any:
    """Moments, or numbers among letters, as such; pyreadstat takes their type from the first hundred cells.

    Where none of these tells it (a date of death, which few have), it takes categories, of which the first one does.
    """
    import pandas as pd

    telling = next((i for i, c in enumerate(cells) if c is not None and not isinstance(c, str)), 0)
    if telling < _LOOKED_AT:
        return pd.Series(cells, dtype="object")
    place = {c: i for i, c in enumerate(dict.fromkeys([cells[telling], *(c for c in cells if c is not None)]))}
    codes = [-1 if c is None else place[c] for c in cells]
    return pd.Series(pd.Categorical.from_codes(codes, categories=pd.Index(list(place), dtype="object")))


def _pandas(values: Any) -> Any:
    """Objects that pyreadstat writes: numbers as floats or integers, text as str, dates, times and moments as such."""
    import pandas as pd

    kind = values.type
    if pa.types.is_duration(kind):
        values, kind = seconds(values), pa.float64()
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal(kind):
        if pa.types.is_integer(kind) and _beyond_doubles(values):
            return _texts(values)
        whole = pa.types.is_integer(kind) and values.null_count == 0
        return pd.Series((values.cast(pa.int64()) if whole else as_doubles(values)).to_numpy())
    if pa.types.is_timestamp(kind):
        last = pa.scalar(_LAST, pa.timestamp("us"))
        moments = pc.min_element_wise(wall_clock(values).cast(last.type, safe=False), last, skip_nulls=False)
        return _objects(moments.to_pylist())
    if pa.types.is_date(kind) or pa.types.is_time(kind):
        return _objects(values.to_pylist())
    return _texts(values)


_LAST = datetime.datetime(9999, 12, 31, 23, 59, 59, 999_000)
"""A later moment would be one of the year 10000 once it is a double."""

_LONG = (-2_147_483_647, 2_147_483_620)
"""The whole numbers that Stata's long holds; pyreadstat writes no narrower type."""


def _is_long(values: Any) -> bool:
    if not pa.types.is_integer(values.type):
        return False
    low, high = (x.as_py() for x in pc.min_max(values).values())
    return low is None or (_LONG[0] <= low and high <= _LONG[1])


def _long(values: Any) -> Any:
    import pandas as pd

    return pd.Series(values.cast(pa.int32()).to_pylist(), dtype="Int32" if values.null_count else "int32")


def _texts(values: Any) -> Any:
    import pandas as pd

    return pd.Series([v if v is not None else "" for v in canonical_text(values).to_pylist()], dtype="object")


def _beyond_doubles(values: Any) -> bool:
    """Whether a whole number has no double of its own: two ids would become one, so the column is written as text."""
    if values.type.bit_width < 64:
        return False
    low, high = (x.as_py() for x in pc.min_max(values).values())
    return low is not None and (low < -(2**53) or high > 2**53)
