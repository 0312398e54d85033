"""SPSS and Stata output: kept columns keep their value labels; a column of new bands becomes codes with the bands as labels."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.engines.count.assemble import encode
from shoal.errors import OutputError, need
from shoal.kernels.text import canonical_text
from shoal.model.roles import Column
from shoal.steps.expression import BANDS

MAX_LABELS = 1000


def write_spss(path: Path, tables: Iterator[Any], columns: Sequence[Column]) -> None:
    """An SPSS .sav file."""
    frame, labels, notes, missing = _prepared(tables, columns)
    _call("write_sav", frame, str(path), column_labels=notes, variable_value_labels=labels, missing_ranges=missing)
    _overwrite(path, 92, b"01 Jan 0000:00:00")  # nine bytes of date, eight of time
    if len(frame) and _call("read_sav", str(path), row_offset=len(frame) - 1, row_limit=1)[0].empty:
        raise _cut_off(path)


def write_stata(path: Path, tables: Iterator[Any], columns: Sequence[Column]) -> None:
    """A Stata .dta file."""
    frame, labels, notes, _ = _prepared(tables, columns)
    _call("write_dta", frame, str(path), column_labels=notes, variable_value_labels=labels)
    with path.open("rb") as file:
        at = file.read(1000).index(b"<timestamp>\x11") + 12
        file.seek(-12, os.SEEK_END)
        if file.read() != b"</stata_dta>":
            raise _cut_off(path)
    _overwrite(path, at, b"01 Jan 2000 00:00")


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
    try:
        import pyreadstat
    except ModuleNotFoundError:
        raise need("stats", "pyreadstat") from None
    try:
        return getattr(pyreadstat, name)(first, *more, **options)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
        path = Path(more[0] if more else first)
        if name.startswith("read") or "Unable to write data" in str(error):
            raise _cut_off(path) from None
        raise OutputError(
            "the file could not be written in this format.",
            hint="Column names may be too long or hold characters that it does not allow; write CSV or Parquet instead.",
        ) from None


def _prepared(tables: Iterator[Any], columns: Sequence[Column]) -> tuple[Any, dict[str, Any], list[str], dict[str, Any]]:
    """A pandas frame, value labels, variable labels and user-missing ranges."""
    import pandas as pd

    table = pa.concat_tables(list(tables))
    frame: dict[str, Any] = {}
    labels: dict[str, Any] = {}
    missing: dict[str, Any] = {}
    for column, values in zip(columns, table.columns, strict=True):
        if column.note == BANDS:
            frame[column.name], labels[column.name] = _banded(values)
            continue
        frame[column.name] = _pandas(values)
        if column.kind == "text" and any(str(m).startswith(".") for m in column.user_missing):
            continue  # lettered missing values beside numbers: neither format labels such a text
        if column.labels:
            labels[column.name] = dict(column.labels)
        if column.user_missing:
            missing[column.name] = [
                {"lo": m[0], "hi": m[1]} if isinstance(m, tuple) else {"lo": m, "hi": m} for m in column.user_missing
            ]
    notes = ["" if c.note == BANDS else c.note for c in columns]
    return pd.DataFrame(frame), labels, notes, missing


def _banded(values: Any) -> tuple[Any, dict[int, str]]:
    """Codes 1, 2 … in the order of the labels; too many labels stay text."""
    import pandas as pd

    codes, categories = encode(values)
    if len(categories) > MAX_LABELS:
        return _pandas(values), {}
    numbers = pd.Series(codes.astype("int64") + 1)
    if (codes < 0).any():
        numbers = numbers.astype("float64").where(codes >= 0)
    return numbers, dict(enumerate(categories.to_pylist(), start=1))


def _pandas(values: Any) -> Any:
    """Objects that pyreadstat writes: numbers as floats or integers, text as str, dates as dates."""
    import pandas as pd

    kind = values.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal(kind):
        whole = pa.types.is_integer(kind) and values.null_count == 0
        return pd.Series(values.cast(pa.int64() if whole else pa.float64()).to_numpy())
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return pd.Series(values.to_pylist(), dtype="object")
    return pd.Series([v if v is not None else "" for v in canonical_text(values).to_pylist()], dtype="object")
