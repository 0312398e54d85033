"""SQLite files and GeoPackages: a table is copied in one read transaction into a private Parquet file, which is then opened.

SQLite stores a type for every cell, not for a column, so the kind of a column follows from its cells:

* whole numbers stay whole numbers; if some have fractions, all are doubles, as SQLite stores them;
* columns declared as truth values, dates or moments are read as such if every cell is one; otherwise as what they contain;
* texts, and texts beside numbers, are text (a number as SQLite spells it); bytes are bytes, among other values their hex digits.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa

from shoal.engines.core.base import BATCH_ROWS, Relation
from shoal.engines.core.kinds import normalize
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.files.brought import brought
from shoal.engines.files.packing import require_option
from shoal.engines.files.parquet import open_parquet
from shoal.errors import DataError, EngineError, ShoalError, UnreadableError, UsageError, missing_column, suggest
from shoal.model.roles import check_names

if TYPE_CHECKING:
    import sqlite3

SCHEME = "sqlite://"
PATIENCE = 10.0
"""Seconds to wait for a writer."""
STEPS = 20_000
"""SQLite's steps between two calls of its progress handler, which lets Python handle signals."""
EXACT = 2**53
"""Larger whole numbers are not all different as doubles."""
_MAGIC = b"SQLite format 3\x00"
_TABLES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
_INTERNAL = ("sqlite_", "gpkg_", "rtree_")
_AT_ONCE = 100
"""Columns that one statement inspects: a result has at most 2,000 columns."""

_TYPES: dict[str, pa.DataType] = {
    "text": pa.string(), "integer": pa.int64(), "float": pa.float64(), "boolean": pa.bool_(), "date": pa.date32(),
    "timestamp": pa.timestamp("us"), "binary": pa.binary(),
}  # fmt: skip
_TEXT = "CASE TYPEOF({x}) WHEN 'blob' THEN LOWER(HEX({x})) ELSE CAST({x} AS TEXT) END"
_SECONDS = "SUBSTR({x}, 17, 3) || '.' || SUBSTR(SUBSTR({x}, 21) || '000000', 1, 6)"
_MOMENT = (
    "SUBSTR({x}, 1, 10) || ' ' || SUBSTR({x}, 12, 5) || CASE LENGTH({x}) WHEN 16 THEN ':00.000000' ELSE " + _SECONDS + " END"
)
_VALUES = {  # SQL for a cell ``x`` of that sort
    "text": "CAST({x} AS TEXT)", "mixed": _TEXT, "integer": "CAST({x} AS INTEGER)", "float": "CAST({x} AS REAL)",
    "boolean": "CAST({x} AS INTEGER)", "date": "CAST({x} AS TEXT)", "timestamp": _MOMENT, "binary": "CAST({x} AS BLOB)",
}  # fmt: skip
_TYPED = _VALUES | {  # the same for a text ``x``, if a type was requested
    "float": "SHOAL_DOUBLE({x})",
    "boolean": "CASE WHEN LOWER({x}) IN ('1', 'true') THEN 1 WHEN {x} <> '' THEN 0 END",
}
_FORMS = {  # texts that spell a value of that kind
    "integer": re.compile(r"[+-]?[0-9]{1,19}"),
    "float": re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?"),
    "boolean": re.compile(r"[01]|true|false", re.IGNORECASE),
    "date": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "timestamp": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"),
}
_ERRORS = {
    "SQLITE_BUSY": ("is locked: another program is writing to it.", "Try again when it is done."),
    "SQLITE_LOCKED": ("is locked: another program is writing to it.", "Try again when it is done."),
    "SQLITE_NOTADB": ("is not an SQLite file, or is protected by a password.", "Check the path."),
    "SQLITE_CORRUPT": ("is broken.", "Restore it from a copy (PRAGMA integrity_check shows more)."),
    "SQLITE_CANTOPEN": ("cannot be opened.", "Check your rights to the file and its folder."),
    "SQLITE_READONLY": ("was left in the middle of a change.", "Open it once with a program that may write to it."),
    "SQLITE_FULL": ("could not be sorted: the disk is full.", "Free space, or set SQLITE_TMPDIR to a larger disk."),
    "SQLITE_IOERR": ("cannot be read any more.", "Check the disk."),
}


@dataclass(frozen=True)
class _Reading:
    """How a column is read: its kind and the SQL of its values."""

    name: str
    kind: str
    sql: str


def file_of(source: str) -> tuple[Path, str | None]:
    """File and table of ``sqlite:///FILE::table``: an absolute path, or as in other tools one relative to the working folder."""
    place, _, table = source[len(SCHEME) :].partition("::")
    if not place.strip("/"):
        raise UsageError("the source names no SQLite file.", hint="Write sqlite:///FILE::table.")
    candidates = [p for p in dict.fromkeys([Path(place.replace("//", "/", 1)), Path(place.lstrip("/"))]) if p.is_file()]
    if place.startswith("//"):
        candidates = candidates[:1]
    if len(candidates) > 1 and not candidates[0].samefile(candidates[1]):
        hint = "Write sqlite:////FILE (from the root)."
        raise UsageError(f"'{place}' exists twice: from the root, and in this folder.", hint=hint)
    if not candidates:
        raise UnreadableError(f"file '{place}' does not exist.", hint="Check the path.")
    return candidates[0], table or None


def open_sqlite(path: Path, options: dict[str, Any]) -> tuple[DuckDB, Relation]:
    """An engine and relation over a copy of a table of the file: the one that is named (``table=``), or the only one."""
    require_option(options, ("table", "types"), "an SQLite file")
    with _reading(path) as connection:
        table = _table_name(connection, path, options.get("table"))
        readings = _readings(connection, table, dict(options.get("types") or {}))
        version = _state(path)
        source = f"{SCHEME}{path}::{table}"
        copy = lambda folder: _copy(connection, table, readings, folder / "rows.parquet")  # noqa: E731
        engine, relation = brought(source, {}, copy, open_parquet)
    engine.version = version
    return engine, relation


# -- the connection -----------------------------------------------------------------------------------------------------------


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection in one read transaction; SQLite's errors in our words."""
    _require_sqlite(path)
    import sqlite3  # only for such files

    place = f"file:{quote(str(path.absolute()))}?mode=ro"
    try:
        with closing(sqlite3.connect(place, uri=True, timeout=PATIENCE, isolation_level=None)) as connection:
            connection.create_function("SHOAL_IS", 2, _spells, deterministic=True)
            connection.create_function("SHOAL_DOUBLE", 1, _double, deterministic=True)
            connection.set_progress_handler(_go_on, STEPS)
            connection.execute("BEGIN")
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()  # the transaction's state begins here
            yield connection
    except sqlite3.Error as error:
        raise _translate(error, path) from None


def _go_on() -> int:
    """Called by SQLite every so many steps: a signal that arrived is handled here."""
    return 0


def _translate(error: sqlite3.Error, path: Path) -> ShoalError:
    """An error without SQLite's own message, which may contain values."""
    name, message = getattr(error, "sqlite_errorname", None) or "", str(error)
    if name.startswith("SQLITE_INTERRUPT"):
        raise KeyboardInterrupt from None
    gone = re.match(r"no such (table|column)", message)
    if gone:
        return EngineError(f"a {gone[1]} does not exist (any more) in '{path}'.", hint="Check the table or view in the file.")
    if "UTF-8" in message or "user-defined function" in message:  # which gets a text as Python decodes it, or fails
        return UnreadableError(f"a text in '{path}' is not valid UTF-8.", hint="Correct it, or read the column as binary.")
    known = next((reason for start, reason in _ERRORS.items() if name.startswith(start)), None)
    what, hint = known or (f"cannot be read ({name or type(error).__name__}).", "Check the table with another program.")
    return UnreadableError(f"'{path}' {what}", hint=hint)


def _require_sqlite(path: Path) -> None:
    with path.open("rb") as content:
        head = content.read(16)
    if head != _MAGIC:
        hint = f"Open it as duckdb://{path}::TABLE." if head[8:12] == b"DUCK" else "It may be protected by a password, or broken."
        raise UnreadableError(f"'{path}' is not an SQLite file.", hint=hint)


def _state(path: Path) -> str:
    """The name of the copied state in the certificate: size and last change, and what is not yet in the file itself."""
    seen, log = path.stat(), path.with_name(path.name + "-wal")
    beside = f", log {log.stat().st_size} bytes" if log.is_file() else ""
    return f"sqlite {seen.st_size} bytes, {seen.st_mtime_ns} ns{beside}"


def _table_name(connection: sqlite3.Connection, path: Path, wanted: str | None) -> str:
    """The table of that name, as the file spells it; without a name the only one."""
    known = [str(n) for (n,) in connection.execute(_TABLES)]
    own = [n for n in known if not n.lower().startswith(_INTERNAL)]
    if wanted is None and len(own) == 1:
        return own[0]
    shown = ", ".join(own[:20]) or "none"
    if wanted is None:
        hint = f"Name one: {SCHEME}{path}::TABLE. Tables: {shown}."
        raise UsageError(f"'{path.name}' contains {len(own)} tables.", hint=hint)
    exact = next((n for n in known if n == wanted), None) or next((n for n in known if n.lower() == wanted.lower()), None)
    if exact is None:
        hint = suggest(wanted, known) or f"Tables: {shown}."
        raise UnreadableError(f"table '{wanted}' is not in '{path.name}'.", hint=hint)
    return exact


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# -- the kinds of columns -----------------------------------------------------------------------------------------------------


def _spells(kind: str, text: object) -> int:
    """Whether a text spells a number, a truth value, or a day or moment that exists, without a zone.

    >>> [_spells("date", t) for t in ("2024-02-29", "2023-02-29", "2024-02-29 ")], _spells("integer", "01")
    ([1, 0, 0], 1)
    """
    if not isinstance(text, str) or _FORMS[kind].fullmatch(text) is None:
        return 0
    if kind == "integer":
        return int(-(2**63) <= int(text) < 2**63)
    try:
        return int(kind not in ("date", "timestamp") or dt.datetime.fromisoformat(text) is not None)
    except ValueError:
        return 0


def _double(text: str | None) -> float | None:
    """A double to the last bit: SQLite reads and shows 15 digits."""
    return None if text is None else float(text)


def _readings(connection: sqlite3.Connection, table: str, types: Mapping[str, str]) -> list[_Reading]:
    """How each column is read, from the types that are declared, requested (``types``), and present in the cells."""
    source = _identifier(table)
    declared = {str(row[1]): str(row[2]).upper() for row in connection.execute(f"PRAGMA table_xinfo({source})")}
    names = [d[0] for d in connection.execute(f"SELECT * FROM {source} LIMIT 0").description]  # noqa: S608  a quoted identifier
    check_names(names, table=table)
    for name, kind in types.items():
        if name not in names:
            raise missing_column(name, names, table=table)
        if kind not in _TYPES:
            raise UsageError(f"column '{name}' cannot be read as '{kind}'.", hint=f"Kinds: {', '.join(_TYPES)}.")
    readings: list[_Reading] = []
    for start in range(0, len(names), _AT_ONCE):
        flags = {n: _flags(n, declared.get(n, ""), types.get(n)) for n in names[start : start + _AT_ONCE]}
        terms = ", ".join(term for terms in flags.values() for term in terms)
        answers = iter(connection.execute(f"SELECT {terms} FROM {source}").fetchone())  # noqa: S608  quoted identifiers
        for name, wanted in flags.items():
            facts = [next(answers) for _ in wanted]
            requested = name in types
            readings.append(_read_as(name, types[name], facts) if requested else _by_cells(name, declared.get(name, ""), facts))
    return readings


def _flags(name: str, declared: str, wanted: str | None) -> list[str]:
    """The aggregates that describe the cells of one column: flags and type names, never a value."""
    x = _identifier(name)
    zero = f"MAX(TYPEOF({x}) = 'text' AND INSTR({x}, CHAR(0)) > 0)"
    if wanted is not None:
        wrong = _any(f"NOT SHOAL_IS('{wanted}', {_TEXT.format(x=x)})", x) if wanted in _FORMS else "0"
        return [wrong, zero]
    kind = _declared_moment(declared)
    wrong = "0" if kind is None else _any(f"TYPEOF({x}) <> 'text' OR NOT SHOAL_IS('{kind}', {x})", x)
    return [
        f"TYPEOF(MIN({x}))", f"TYPEOF(MAX({x}))", f"MAX(TYPEOF({x}) = 'real')", f"MAX(TYPEOF({x}) = 'integer')",
        f"MIN({x}) < 0 OR MAX({x}) > 1", _any(f"TYPEOF({x}) = 'integer' AND NOT {x} BETWEEN -{EXACT} AND {EXACT}", x), wrong,
        zero,
    ]  # fmt: skip


def _any(condition: str, x: str) -> str:
    return f"MAX({x} IS NOT NULL AND ({condition}))"


def _by_cells(name: str, declared: str, facts: Sequence[Any]) -> _Reading:
    """The reading that the flags of :func:`_flags` imply."""
    least, most, reals, wholes, beyond_one, beyond_exact, wrong, zero = facts
    _refuse_zero(name, zero)
    if least == "null":
        kind = _without_values(declared)
    elif {least, most} <= {"integer", "real"}:
        if reals and wholes and beyond_exact:
            raise DataError(
                f"column '{name}' contains whole numbers beyond {EXACT:,} beside fractions; as doubles some would become equal.",
                hint=f"Read it as text: types={{'{name}': 'text'}}.",
                column=name,
            )
        kind = "float" if reals else "boolean" if "BOOL" in declared and not beyond_one else "integer"
    elif least == most == "text":
        kind = (not wrong and _declared_moment(declared)) or "text"
    else:
        kind = "binary" if least == "blob" else "mixed"  # bytes sort last
    return _Reading(name, "text" if kind == "mixed" else kind, _VALUES[kind].format(x=_identifier(name)))


def _read_as(name: str, kind: str, facts: Sequence[Any]) -> _Reading:
    """The reading of a column whose type was requested."""
    wrong, zero = facts
    if kind != "binary":
        _refuse_zero(name, zero)
    if wrong:
        hint = f"Correct them in the file, or read it otherwise (types={{'{name}': 'text'}})."
        raise DataError(f"column '{name}' contains values that are not of type {kind}.", hint=hint, column=name)
    x = _identifier(name)
    return _Reading(name, kind, _TYPED[kind].format(x=x if kind == "binary" else f"({_TEXT.format(x=x)})"))


def _refuse_zero(name: str, zero: object) -> None:
    if zero:
        what = f"column '{name}' contains texts with a zero character, of which SQLite's functions see the start only."
        raise DataError(what, hint=f"Correct them in the file, or read it as bytes: types={{'{name}': 'binary'}}.", column=name)


def _declared_moment(declared: str) -> str | None:
    if "DATETIME" in declared or "TIMESTAMP" in declared:
        return "timestamp"
    return "date" if "DATE" in declared and "TIME" not in declared else None


def _without_values(declared: str) -> str:
    """The kind of a column without a single value."""
    kinds = {"INT": "integer", "REAL": "float", "FLOA": "float", "DOUB": "float", "BOOL": "boolean"}
    return next((kind for word, kind in kinds.items() if word in declared), _declared_moment(declared) or "text")


# -- the copy -----------------------------------------------------------------------------------------------------------------


def _copy(connection: sqlite3.Connection, table: str, readings: Sequence[_Reading], target: Path) -> Path:
    """The rows as a Parquet file, a part at a time."""
    import pyarrow.parquet as pq  # brings file systems and TLS: text files need neither

    terms = ", ".join(r.sql for r in readings)
    cursor = connection.execute(f"SELECT {terms} FROM {_identifier(table)}")  # noqa: S608  quoted identifiers
    schema = pa.schema([(r.name, _TYPES[r.kind]) for r in readings])
    with pq.ParquetWriter(target, schema) as out:
        while rows := cursor.fetchmany(BATCH_ROWS):
            arrays = [_array(cells, r) for cells, r in zip(zip(*rows, strict=True), readings, strict=True)]
            out.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
    return target


def _array(cells: Sequence[Any], reading: _Reading) -> pa.Array:
    if reading.kind in ("date", "timestamp"):
        return pa.array(cells, pa.string()).cast(_TYPES[reading.kind])
    values = pa.array(cells, pa.int64()).cast(pa.bool_()) if reading.kind == "boolean" else pa.array(cells, _TYPES[reading.kind])
    return normalize(values, reading.kind)
