"""Tables of SQLite files (``.sqlite``, ``.db``, ``.gpkg``), read in one transaction into a private copy.

SQLite keeps a type for every cell, not for a column, so how a column is read follows from what its cells hold:

* whole numbers stay whole numbers; with fractions among them all are doubles, as SQLite keeps them;
* columns declared as truth values, dates or moments are read as such where every cell is one; otherwise as what they hold;
* texts, and texts beside numbers, are text (a number as SQLite spells it); bytes are bytes, among others their hex digits.

Counting on the copy compares byte for byte, whatever collations the file declares.
"""

from __future__ import annotations

import datetime as dt
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from shoal.engines.core.base import Relation
from shoal.engines.duckdb.engine import DuckDB, identifier, require_option
from shoal.engines.files.brought import brought
from shoal.engines.files.parquet import open_parquet
from shoal.errors import DataError, UnreadableError, UsageError, missing_column, nearest
from shoal.model.roles import check_names

SCHEME = "sqlite://"
MAGIC = b"SQLite format 3\x00"
ROWS = 65_536
"""Rows that are read at a time."""
PATIENCE = 10.0
"""Seconds that a writer is waited for."""
EXACT = 2**53
"""Whole numbers beyond it are not all different as doubles."""
_TYPES = {
    "text": pa.string(), "integer": pa.int64(), "float": pa.float64(), "boolean": pa.bool_(), "date": pa.date32(),
    "timestamp": pa.timestamp("us"), "binary": pa.binary(),
}  # fmt: skip
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?")
_INTERNAL = ("sqlite_", "gpkg_", "rtree_")


def is_sqlite_source(source: str) -> bool:
    """Whether a source is ``sqlite://FILE::table``."""
    return source.lower().startswith(SCHEME)


def open_sqlite_source(source: str, options: dict[str, Any]) -> tuple[DuckDB, Relation]:
    """``sqlite:///FILE::table``: absolute, or as other tools have it beside the working folder, whichever is there."""
    place, _, table = source[len(SCHEME) :].partition("::")
    if not place.strip("/"):
        raise UsageError("the source names no SQLite file.", hint="Write sqlite:///FILE::table.")
    found = [p for p in dict.fromkeys([Path(place.replace("//", "/", 1)), Path(place.lstrip("/"))]) if p.is_file()]
    if place.startswith("//"):
        found = found[:1]
    if len(found) > 1 and not found[0].samefile(found[1]):
        raise UsageError(
            f"'{place}' is there twice: from the root, and in this folder.", hint="Write sqlite:////FILE (from the root)."
        )
    if not found:
        raise UnreadableError(f"file '{place}' does not exist.", hint="Check the path.")
    return open_sqlite(found[0], {**options, "table": table} if table else options)


def open_sqlite(path: Path, options: dict[str, Any]) -> tuple[DuckDB, Relation]:
    """An engine and relation over a table of the file: the one that is named (``table=``), or the only one."""
    require_option(options, ("table", "types"), "an SQLite file")
    with path.open("rb") as content:
        head = content.read(16)
    if head != MAGIC:
        hint = f"Open it as duckdb://{path}::TABLE." if head[8:12] == b"DUCK" else "It may be locked with a password, or broken."
        raise UnreadableError(f"'{path}' is no SQLite file.", hint=hint)
    with _reading(path) as file:
        table = _named(file, options.get("table"), path)  # the first question: here the transaction begins
        state = _state(path)
        columns = _columns(file, table, options.get("types") or {})

        def copied(folder: Path) -> Path:
            return _copy(file, table, columns, folder / "rows.parquet")

        engine, relation = brought(f"sqlite://{path}::{table}", {}, copied, open_parquet)
    engine.version = state
    return engine, relation


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection inside one transaction: what others write meanwhile is not seen, or waits."""
    place = f"file:{quote(str(path.absolute()))}?mode=ro"
    try:
        with closing(sqlite3.connect(place, uri=True, timeout=PATIENCE, isolation_level=None)) as file:
            file.text_factory = bytes
            file.create_function("shoal_date", 1, lambda v: _is_moment(v, _DATE), deterministic=True)
            file.create_function("shoal_moment", 1, lambda v: _is_moment(v, _MOMENT), deterministic=True)
            file.execute("BEGIN")
            yield file
    except sqlite3.Error as error:
        raise _failed(error, path) from None


def _failed(error: sqlite3.Error, path: Path) -> UnreadableError:
    """SQLite's errors in our words: its own may hold values."""
    words = {
        "SQLITE_BUSY": ("is locked: somebody writes to it.", "Try again when they are done."),
        "SQLITE_NOTADB": ("is no SQLite file, or is locked with a password.", "Check the path."),
        "SQLITE_CORRUPT": ("is broken.", "Restore it from a copy (PRAGMA integrity_check tells more)."),
        "SQLITE_CANTOPEN": ("cannot be opened.", "Check your rights to the file and its folder."),
        "SQLITE_READONLY": ("was left in the middle of a change.", "Open it once with a program that may write to it."),
    }
    name = getattr(error, "sqlite_errorname", None) or ""
    found = next((w for start, w in words.items() if name.startswith(start)), None)
    what, hint = found or (f"cannot be read ({name or type(error).__name__}).", "Check the table with another program.")
    return UnreadableError(f"'{path}' {what}", hint=hint)


def _named(file: sqlite3.Connection, wanted: str | None, path: Path) -> str:
    known: list[str] = [n.decode("utf-8", "replace") for (n,) in file.execute(_TABLES)]
    listed = [n for n in known if not n.lower().startswith(_INTERNAL)]
    if wanted is None and len(listed) == 1:
        return listed[0]
    if wanted is None:
        raise UsageError(
            f"'{path.name}' holds {len(listed)} tables.",
            hint=f"Name one: sqlite://{path}::TABLE. Tables: {', '.join(listed[:20]) or 'none'}.",
        )
    found = next((n for n in known if n == wanted), None) or next((n for n in known if n.lower() == wanted.lower()), None)
    if found is None:
        close = nearest(wanted, known)
        hint = f"Did you mean '{close}'?" if close else f"Tables: {', '.join(listed[:20]) or 'none'}."
        raise UnreadableError(f"table '{wanted}' is not in '{path.name}'.", hint=hint)
    return found


_TABLES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"


def _state(path: Path) -> str:
    """What the certificate calls the state that was read: size and last change, and what is not yet in the file itself."""
    seen, log = path.stat(), path.with_name(path.name + "-wal")
    beside = f", log {log.stat().st_size} bytes" if log.is_file() else ""
    return f"sqlite {seen.st_size} bytes, {seen.st_mtime_ns} ns{beside}"


@dataclass(frozen=True)
class _Read:
    """One column: what it is read as, and the expression that gives it."""

    name: str
    kind: str
    sql: str


def _columns(file: sqlite3.Connection, table: str, types: Mapping[str, str]) -> list[_Read]:
    declared = {}
    for row in file.execute(f"PRAGMA table_xinfo({identifier(table)})"):
        declared[row[1].decode("utf-8", "replace")] = row[2].decode("utf-8", "replace").upper()
    shown = file.execute(f"SELECT * FROM {identifier(table)} LIMIT 0").description  # noqa: S608  a quoted identifier
    names = [d[0] for d in shown]
    check_names(names, table=table)
    for name, kind in types.items():
        if name not in names:
            raise missing_column(name, names, table=table)
        if kind not in _TYPES:
            raise UsageError(f"column '{name}' cannot be read as '{kind}'.", hint=f"Kinds: {', '.join(_TYPES)}.")
    return [_column(file, table, name, declared.get(name, ""), types.get(name)) for name in names]


def _column(file: sqlite3.Connection, table: str, name: str, declared: str, wanted: str | None) -> _Read:
    """How a column is read, from the types of its cells."""
    cell, rows = identifier(name), f"FROM {identifier(table)} WHERE {identifier(name)} IS NOT NULL"
    found = {k.decode() for (k,) in file.execute(f"SELECT DISTINCT typeof({cell}) {rows}")}

    def every(condition: str) -> bool:
        return file.execute(f"SELECT 1 {rows} AND NOT ({condition}) LIMIT 1").fetchone() is None

    text = f"CASE typeof({cell}) WHEN 'blob' THEN lower(hex({cell})) ELSE CAST({cell} AS TEXT) END"
    if wanted is not None:
        return _Read(name, wanted, cell if wanted == "binary" else text)
    if not found:
        return _Read(name, _declared_kind(declared), cell)
    if found == {"integer"}:
        return _Read(name, "boolean" if "BOOL" in declared and every(f"{cell} IN (0, 1)") else "integer", cell)
    if found <= {"integer", "real"}:
        if "integer" in found and not every(f"typeof({cell}) = 'real' OR {cell} BETWEEN -{EXACT} AND {EXACT}"):
            raise DataError(
                f"column '{name}' holds whole numbers beyond {EXACT:,} beside fractions; as doubles some would become equal.",
                hint=f"Read it as text: types={{'{name}': 'text'}}.",
                column=name,
            )
        return _Read(name, "float", cell)
    if found == {"text"} and "DATE" in declared and "TIME" not in declared and every(f"shoal_date({cell})"):
        return _Read(name, "date", cell)
    if found == {"text"} and ("DATETIME" in declared or "TIMESTAMP" in declared) and every(f"shoal_moment({cell})"):
        return _Read(name, "timestamp", cell)
    return _Read(name, "binary", cell) if found == {"blob"} else _Read(name, "text", text)


def _declared_kind(declared: str) -> str:
    """The kind of a column without a single value."""
    words = {"INT": "integer", "REAL": "float", "FLOA": "float", "DOUB": "float", "BOOL": "boolean"}
    return next((kind for word, kind in words.items() if word in declared), "text")


def _is_moment(value: Any, form: re.Pattern[str]) -> int:
    """Whether a text is a date or moment that exists, without a zone."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    try:
        return int(form.fullmatch(text) is not None and dt.datetime.fromisoformat(text) is not None)
    except ValueError:
        return 0


def _copy(file: sqlite3.Connection, table: str, columns: list[_Read], target: Path) -> Path:
    """The rows as a Parquet file, a part at a time."""
    schema = pa.schema([pa.field(c.name, _TYPES[c.kind]) for c in columns])
    terms = ", ".join(c.sql for c in columns)
    rows = file.execute(f"SELECT {terms} FROM {identifier(table)}")  # noqa: S608  quoted identifiers
    with pq.ParquetWriter(target, schema) as out:
        while part := rows.fetchmany(ROWS):
            cells = zip(*part, strict=True)
            out.write_batch(pa.record_batch([_array(list(v), c) for v, c in zip(cells, columns, strict=True)], schema=schema))
    return target


def _array(values: list[Any], column: _Read) -> Any:
    kind = _TYPES[column.kind]
    try:
        if any(isinstance(v, bytes) for v in values) and column.kind != "binary":
            texts = pa.array(values, pa.binary()).cast(pa.string())
            return texts if column.kind == "text" else texts.cast(kind)
        return pa.array(values, pa.int64()).cast(kind) if column.kind == "boolean" else pa.array(values, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        what = "text that is not UTF-8" if column.kind == "text" else f"values that are no {column.kind}"
        raise DataError(
            f"column '{column.name}' holds {what}.",
            hint=f"Mend them in the file, or read it otherwise (types={{'{column.name}': 'binary'}}).",
            column=column.name,
        ) from None
