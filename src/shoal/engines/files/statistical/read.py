"""SPSS, Stata and SAS files through pyreadstat, with value labels and user-missing values kept in the schema.

User-missing values (``-9 "refused"``) are values unless ``user_missing="missing"`` is given: an attacker may know who refused.
A column with Stata's or SAS's lettered missing values is read as text, the letters as ``.a``; of SAS transport files (.xpt) and
portable ones of SPSS (.por) the reader keeps no such values.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.core.base import Relation
from shoal.engines.core.kinds import columns_of
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.files.csv.encodings import UnknownEncodingError, guess_encoding
from shoal.engines.files.frames import from_pandas, open_deferred, still_there
from shoal.engines.files.losses import NAMES, listed
from shoal.engines.files.packing import require_option
from shoal.errors import OutputError, UnreadableError, UsageError, missing_column
from shoal.kernels.arrow import as_doubles
from shoal.model.roles import Column, check_names

SAMPLE_ROWS = 1000
KINDS = ("text", "float")
"""What ``types=`` can ask for."""
_READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}


def open_statistical(path: Path, options: dict[str, Any]) -> tuple[DuckDB, Relation]:
    """An engine and relation; the description and first rows are read now, the rest when first asked for."""
    require_option(options, ("encoding", "user_missing", "types"), "a statistical file")
    missing = options.get("user_missing", "value")
    if missing not in ("value", "missing"):
        raise UsageError("user_missing must be 'value' or 'missing'.", hint="The default is 'value'.")
    head, meta = _read(path, options, SAMPLE_ROWS)
    whole = len(head) < SAMPLE_ROWS
    if not whole and any(kind.kind == "f" for kind in head.dtypes):
        (head, meta), whole = _read(path, options, 0), True  # whether all of them are whole is known at the end only
    if not options.get("encoding"):
        _need_encoding(head, meta, path)
    check_names(list(meta.column_names), table=path.name)
    types = dict(options.get("types") or {})
    for name, kind in types.items():
        if name not in meta.column_names:
            raise missing_column(name, list(meta.column_names), table=path.name)
        if kind not in KINDS:
            raise UsageError(f"column '{name}' cannot be read as '{kind}'.", hint=f"Types: {', '.join(KINDS)}.")
    read = _arrow(head, meta, types)
    return open_deferred(
        lambda: still_there(path, read) if whole else _arrow(*_read(path, options, 0), types),
        read.schema,
        [_describe(c, meta) for c in columns_of(read.schema)],
        str(path),
        hint="Open it with types={{'{column}': 'float'}}; with lettered missing values 'text', or user_missing='missing'.",
        format=path.suffix[1:].lower(),
        user_missing=missing,
        encoding=meta.file_encoding,
        notes=len(meta.notes or ()),
    )


def _need_encoding(head: Any, meta: Any, path: Path) -> None:
    """Ask for the encoding of an old file that states none, or Windows-1252, if its texts are likelier those of another one."""
    if str(meta.file_encoding).lower() not in ("none", "windows-1252", "cp1252", "iso-8859-1"):
        return
    texts = [str(t) for labels in (meta.variable_value_labels or {}).values() for t in labels.values()]
    texts += [str(t) for t in (meta.column_names_to_labels or {}).values() if t] + list(meta.column_names)
    for name in head.columns:
        texts += [t for t in head[name].unique().tolist() if isinstance(t, str)] if head[name].dtype == object else []
    raw = "\n".join(texts).encode("cp1252", errors="ignore")
    likely: tuple[str, ...]
    try:
        likely = (guess_encoding(raw),)
    except UnknownEncodingError as unsure:
        likely = unsure.readings
    if not raw.isascii() and likely[0] not in ("utf-8", "latin-1", "cp1252"):
        what = f"'{path.name}' does not state its encoding, or a wrong one. Likely: {'; '.join(likely)}."
        hint = f"Pass the right one: {' or '.join(f'--read encoding={name}' for name in (*likely, 'cp1252'))}."
        raise UnreadableError(what, hint=hint)


def _read(path: Path, options: Mapping[str, Any], limit: int) -> tuple[Any, Any]:
    import pyreadstat

    name = _READERS[path.suffix.lower()]
    more: dict[str, Any] = {"row_limit": limit} if limit else {}
    if options.get("encoding"):
        more["encoding"] = options["encoding"]
    if name in ("read_sav", "read_dta", "read_sas7bdat"):
        more["user_missing"] = options.get("user_missing", "value") == "value"
    try:
        frame, meta = getattr(pyreadstat, name)(str(path), **more)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeDecodeError, OverflowError, OSError):
        hint = "Is the file whole? Try encoding='latin1'."
        raise UnreadableError(f"'{path}' cannot be read as {path.suffix}.", hint=hint) from None
    return frame, meta


def _arrow(frame: Any, meta: Any, types: Mapping[str, str]) -> Any:
    """Arrow columns: numbers are whole if all of them are (these packages keep most as doubles), and empty text is missing."""
    for name in frame.columns:
        wanted = types.get(name)
        if wanted == "text" or (wanted is None and frame[name].dtype == object and _has_letters(frame[name])):
            frame[name] = _spell(frame[name])
    table = from_pandas(frame)
    for i, name in enumerate(table.column_names):
        values = table.column(i)
        if pa.types.is_floating(values.type) and types.get(name) != "float":
            table = table.set_column(i, name, _as_integers(values))
        elif pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            text = values.cast(pa.string())
            table = table.set_column(i, name, pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text))
        elif pa.types.is_null(values.type):
            table = table.set_column(i, name, values.cast(pa.string()))
    return table


def _has_letters(values: Any) -> bool:
    """Whether numbers stand beside letters: missing values of several kinds."""
    kinds = {type(v) for v in values.dropna()}
    return str in kinds and bool(kinds & {int, float})


def _spell(values: Any) -> Any:
    """Numbers as people write them, the letters of missing values with a point in front: ``.a``."""
    mixed = _has_letters(values)
    return values.astype(object).map(lambda v: _text(v, mixed=mixed))


def _text(value: Any, *, mixed: bool) -> str | None:
    if isinstance(value, str):
        return f".{value}" if mixed else value
    if value is None or value != value:
        return None
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _as_integers(values: Any) -> Any:
    """Doubles as whole numbers; as they are if one of them is not whole, or may be another one rounded."""
    try:
        whole = values.cast(pa.int64())
    except pa.ArrowInvalid:
        return values
    low, high = (x.as_py() for x in pc.min_max(whole).values())
    return whole if low is None or (low > -(2**53) and high < 2**53) else values


def _describe(column: Column, meta: Any) -> Column:
    """Value labels, user-missing values and the variable label of one column."""
    labels = (meta.variable_value_labels or {}).get(column.name, {})
    ranges = (meta.missing_ranges or {}).get(column.name, [])
    plain = (meta.missing_user_values or {}).get(column.name, [])
    user = [r["lo"] if r["lo"] == r["hi"] else (r["lo"], r["hi"]) for r in ranges] + list(plain)
    note = (meta.column_names_to_labels or {}).get(column.name) or ""
    if column.kind == "text" and plain:  # lettered missing values beside numbers
        labels = {_text(k, mixed=True): v for k, v in labels.items()}
        user = [_text(v, mixed=True) for v in user]
    if column.kind == "integer":
        labels = {_int(k): v for k, v in labels.items()}
        user = [(_int(v[0]), _int(v[1])) if isinstance(v, tuple) else _int(v) for v in user]
    form = (meta.original_variable_types or {}).get(column.name) or ""
    measure = (getattr(meta, "variable_measure", None) or {}).get(column.name) or ""
    width = (meta.variable_display_width or {}).get(column.name) or 0
    return replace(
        column,
        labels=dict(labels),
        user_missing=tuple(user),
        note=note,
        form="" if str(form) in ("None", "NULL") else str(form),
        measure="" if measure == "unknown" else str(measure),
        width=int(width),
        coded=column.kind == "text" and bool(plain),
        stored=_width(column, meta),
    )


_WIDTHS = {"int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "float": pa.float32()}


def _width(column: Column, meta: Any) -> Any:
    """The Arrow type of Stata's byte, int, long and float; None for what is double, text or a date."""
    width = _WIDTHS.get(str((meta.readstat_variable_types or {}).get(column.name, "")))
    return width if column.kind == ("float" if width == pa.float32() else "integer") else None


def _int(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


LARGEST = {
    "stata": 8.988465674311579e307,
    "sas": 9.046256971665327e74,
    "excel": 9.99999999999999e307,
    "jsonl": 1.7976931348623157e308,
}
"""The largest number of a format; larger ones become infinite in SAS transport, as it is written. SPSS holds every double."""

_WRITERS = {"spss": "write_sav", "stata": "write_dta", "sas": "write_xport"}


def need_names(names: Sequence[str], format: str) -> None:
    """Refuse names that the format does not allow, before any row is read. The library that writes it is asked."""
    if format not in _WRITERS or _is_allowed(names, format):
        return
    wrong = [n for n in names if not _is_allowed([n], format)]
    if wrong:
        what = f"{NAMES[format]} does not allow the name{'s' if len(wrong) > 1 else ''} of {listed([repr(n) for n in wrong])}."
        hint = "Rename (letters, digits and _, a letter first, not too long, no word of the program), or write CSV or Parquet."
        raise OutputError(what, hint=hint)


def need_range(values: Any, column: str, format: str) -> None:
    """Refuse numbers that the format has no room for: infinite ones, and those beyond its largest."""
    if format not in LARGEST or not (pa.types.is_floating(values.type) or pa.types.is_decimal(values.type)):
        return
    beyond = int((np.abs(as_doubles(values).to_numpy(zero_copy_only=False)) > LARGEST[format]).sum())
    if beyond:
        raise OutputError(
            f"{beyond} number{'s' if beyond > 1 else ''} of '{column}' {'are' if beyond > 1 else 'is'} infinite or too large for "
            f"{NAMES[format]}.",
            hint="Limit the column (clamp), or write CSV or Parquet.",
        )


def need_whole_texts(values: Any, column: str, format: str) -> None:
    """Refuse texts with a zero byte: they would end there, and two of them become one."""
    cut = int(pc.sum(pc.match_substring(values.cast(pa.string()), "\x00")).as_py() or 0)
    if cut:
        what = f"{cut} text{'s' if cut > 1 else ''} of '{column}' {'hold' if cut > 1 else 'holds'} a zero byte, where a text of "
        what += f"{NAMES[format]} ends."
        raise OutputError(what, hint="Take it out first, or write CSV or Parquet.")


def _is_allowed(names: Sequence[str], format: str) -> bool:
    import pandas as pd
    import pyreadstat

    with tempfile.TemporaryDirectory() as folder:
        frame = pd.DataFrame({n: [0.0] for n in names})
        try:
            getattr(pyreadstat, _WRITERS[format])(frame, str(Path(folder) / "names"))
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError):
            return False
    return True
