"""CSV: dialect guessed from the beginning of the file, shown in ``table.source``, overridable; types given deliberately.

All fields are read as text. A column becomes a number or date only where every sampled value is spelled exactly as that type
spells it (so leading zeros, 20-digit numbers and yes/no stay text), and every later value is checked while it is read. An
empty unquoted field is missing; ``?`` or ``NA`` are values unless ``null=`` says so; a quoted empty field is the empty text.
"""

from __future__ import annotations

import codecs
import io
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.disk.atomic import disk_full
from shoal.engines.core.base import Relation
from shoal.engines.core.kinds import columns_of
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.duckdb.sql import identifier, literal, path_literal
from shoal.engines.files.csv.fields import Field, converted, read_plain, typed
from shoal.engines.files.csv.sniff import SAMPLE_BYTES, SHORTEST, Dialect, guess_encoding, guess_types, sample_bytes, sniff
from shoal.engines.files.frames import open_deferred
from shoal.engines.files.packing import opened, packing_of, require_option
from shoal.engines.files.readers import EngineReader
from shoal.errors import OutputError, ShoalError, UnreadableError, UsageError, missing_column
from shoal.model.roles import check_names, distinct_names

OPTIONS = ("delimiter", "quote", "encoding", "decimal", "header", "null", "types", "dates", "rename_duplicates")
SAMPLE_ROWS = 20_000
WIDE, HELD_BYTES, WIDE_BYTES = 1_000, 1 << 26, 1 << 24
"""Columns from which a file is read into memory at once, where the sample is all of it and it has at most so many bytes; files of
so many columns and up to the last number of bytes are not taken through the database at all."""
_NATIVE = {"utf-8": "utf-8", "latin-1": "latin-1"}

_SQL_TYPES = {
    "text": "VARCHAR",
    "integer": "BIGINT",
    "float": "DOUBLE",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "time": "TIME",
}


def open_csv(path: Path, options: dict[str, Any]) -> tuple[DuckDB, Relation]:
    """An engine and relation over a CSV file; only a sample is read."""
    require_option(options, OPTIONS, "CSV")
    raw = sample_bytes(path)
    encoding = _encoding(options.get("encoding") or guess_encoding(raw))
    dialect, names = sniff(raw, encoding, path, options)
    names = distinct_names(names) if options.get("rename_duplicates") else names
    check_names(names, table=path.name)
    plain = packing_of(path) == "none" and encoding == "utf-8"
    wide = len(raw) >= SAMPLE_BYTES and len(names) > WIDE and path.stat().st_size <= WIDE_BYTES
    small = _open_small(path, path.read_bytes() if wide else raw, dialect, names, options) if plain else None
    if small is not None:
        return small
    engine = DuckDB(stable_order=True)
    engine.source = path.name
    folded = dialect.header and any("\n" in n or "\r" in n for n in names)  # DuckDB takes its first line break for all
    file, native = path, _NATIVE.get(encoding, "utf-8")
    if encoding not in _NATIVE or folded or dialect.blanks:
        heading = (dialect, len(names)) if folded else None
        file, native = transcoded(path, encoding, engine, ".csv", heading, blanks=dialect.blanks), "utf-8"
    dialect = replace(dialect, skip=0) if folded else dialect
    null = _null_texts(options.get("null"))
    reading = _reading(file, dialect, len(names), null, native, packing_of(file))
    sample = engine.run_table(f"FROM {reading} LIMIT {SAMPLE_ROWS}", path.name)
    fields, decimal = _fields(names, sample, dialect, options)
    chosen = ", ".join(f"{f.expression()} AS {identifier(f.name)}" for f in fields)
    engine.explain_late = lambda position: _late(engine, reading, fields[position], path.name)
    details = _details(dialect, encoding, decimal, options)
    whole = sample.num_rows < SAMPLE_ROWS and path.stat().st_size <= HELD_BYTES
    keep = engine.held if whole and len(names) > WIDE else engine.view
    relation = keep(f"SELECT {chosen} FROM {converted(reading, fields)}", str(path), None, **details)  # noqa: S608
    if any(dialect.labels):
        labelled = zip(relation.columns, dialect.labels, strict=True)
        relation = replace(relation, columns=tuple(replace(c, note=" ".join(label.split())) for c, label in labelled))
    if packing_of(path) != "none":
        return engine, relation
    most = path.stat().st_size // len(names) + 1  # a row has at least one byte per field
    likely = int(path.stat().st_size * raw.count(b"\n") / max(1, len(raw))) + 1
    return engine, replace(relation, reader=EngineReader(engine, relation, most, likely))


def _open_small(
    path: Path, raw: bytes, dialect: Dialect, names: list[str], options: Mapping[str, Any]
) -> tuple[DuckDB, Relation] | None:
    """A file that is whole in the sample, without the database; None where it is long or not plainly written."""
    if len(raw) < path.stat().st_size or options.get("types") or options.get("dates"):
        return None
    sample = read_plain(raw, dialect, len(names), _null_texts(options.get("null")))
    if sample is None or sample.num_rows > SAMPLE_ROWS:
        return None
    fields, decimal = _fields(names, sample, dialect, options)
    table = None if any(f.comma or f.padded for f in fields) else typed(sample, [f.sql_type for f in fields], names)
    if table is None:
        return None

    def load() -> Any:
        if not path.exists():
            raise UnreadableError(f"file '{path.name}' is not there any more.", hint="Was it moved or replaced?")
        return table

    details = _details(dialect, "utf-8", decimal, options)
    return open_deferred(load, table.schema, columns_of(table.schema), str(path), **details)


def _details(dialect: Dialect, encoding: str, decimal: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """How the file is read, for people."""
    return {
        "format": "csv",
        "delimiter": dialect.delimiter,
        "quote": dialect.quote,
        "encoding": encoding,
        "decimal": decimal,
        "header": dialect.header,
        "null": _null_texts(options.get("null")),
        **({"heading_rows": dialect.rows} if dialect.rows > 1 else {}),
    }


def _encoding(name: str) -> str:
    try:
        found = codecs.lookup(name).name
    except LookupError:
        raise UsageError(f"encoding '{name}' is not known.", hint="Use utf-8, utf-16, latin-1, cp1252 …") from None
    return {"iso8859-1": "latin-1", "utf-8-sig": "utf-8"}.get(found, found)


def _null_texts(null: str | Iterable[str] | None) -> list[str]:
    if null is None:
        return [""]
    more = [null] if isinstance(null, str) else list(null)
    return list(dict.fromkeys(["", *more]))


def _reading(path: Path, dialect: Dialect, width: int, null: list[str], encoding: str, compression: str) -> str:
    columns = ", ".join(f"'f{i}': 'VARCHAR'" for i in range(width))
    texts = ", ".join(literal(n) for n in null)
    quote = literal(dialect.quote)
    return (
        f"read_csv({path_literal(path)}, auto_detect = false, columns = {{{columns}}}, delim = {literal(dialect.delimiter)}, "
        f"quote = {quote}, escape = {quote}, header = {str(dialect.header).lower()}, skip = {dialect.skip}, "
        f"compression = '{compression}', nullstr = [{texts}], "
        f"allow_quoted_nulls = false, encoding = '{encoding}', strict_mode = true, null_padding = false)"
    )


def transcoded(
    path: Path,
    encoding: str,
    engine: DuckDB,
    suffix: str,
    headed: tuple[Dialect, int] | None = None,
    *,
    blanks: bool = False,
) -> Path:
    """A private UTF-8 copy (mode 0600) that goes with the engine, for encodings that DuckDB does not read.

    With ``headed`` (dialect and number of columns) the copy has a heading of one line instead of its own; with ``blanks``
    one blank between two fields instead of any number.
    """
    with tempfile.NamedTemporaryFile(dir=engine.folder, suffix=suffix, delete=False) as out:
        target = Path(out.name)
    try:
        with (
            io.TextIOWrapper(opened(path), encoding=encoding, newline="") as source,
            target.open("w", encoding="utf-8", newline="") as copy,
        ):
            if headed is not None:
                copy.write(_plain_heading(source, *headed))
            if blanks:
                copy.writelines(" ".join(line.split()) + "\n" for line in source if line.strip())
            else:
                shutil.copyfileobj(source, copy, 1 << 20)
    except OSError as error:
        if disk_full(error):
            raise OutputError(
                f"not enough disk space for a copy of '{path.name}' in the temporary folder.",
                hint="Free space, or save it as UTF-8.",
            ) from None
        raise UnreadableError(f"'{path}' may not be read.", hint="Check the file and its rights.") from None
    except UnicodeError:
        raise UnreadableError(f"'{path}' is not valid in encoding '{encoding}'.", hint="Pass the right encoding=.") from None
    return target


def _plain_heading(source: io.TextIOWrapper, dialect: Dialect, width: int) -> str:
    """Read over the heading, lines until every quote is closed; a heading of as many names on one line, ended as it was."""
    for _ in range(dialect.skip):
        source.readline()
    quotes, line = 0, "\n"
    while more := source.readline():
        quotes, line = quotes + more.count(dialect.quote), more
        if quotes % 2 == 0:
            break
    ending = line[len(line.rstrip("\r\n")) :] or "\n"
    return dialect.delimiter.join(f"f{i}" for i in range(width)) + ending


def _fields(names: list[str], sample: Any, dialect: Dialect, options: Mapping[str, Any]) -> tuple[list[Field], str]:
    """Types asked for, and types that the sample shows; and the decimal mark."""
    asked = dict(options.get("types") or {})
    dates = dict(options.get("dates") or {})
    for name in (*asked, *dates):
        if name not in names:
            raise missing_column(name, names, table="the CSV file")
    decimal = options.get("decimal")
    if decimal not in (None, ".", ","):
        raise UsageError("the decimal mark must be '.' or ','.", hint="Pass decimal=',' or decimal='.'.")
    guesses, mark = guess_types([sample.column(i) for i in range(len(names))], dialect, decimal)
    fields = []
    for i, name in enumerate(names):
        if name in dates:
            kind = asked.get(name, "date")
            fields.append(Field(i, name, _sql_type(kind, name), form=str(dates[name])))
        elif name in asked:
            fields.append(Field(i, name, _sql_type(asked[name], name), comma=mark == ","))
        else:
            sql_type, exact, comma, padded = guesses[i]
            shortest = sql_type == SHORTEST
            fields.append(Field(i, name, "DOUBLE" if shortest else sql_type, exact, comma, shortest=shortest, padded=padded))
    return fields, mark


def _sql_type(kind: str, name: str) -> str:
    if kind not in _SQL_TYPES:
        raise UsageError(f"type '{kind}' of column '{name}' is not known.", hint=f"Types: {', '.join(_SQL_TYPES)}.")
    return _SQL_TYPES[kind]


def _late(engine: DuckDB, reading: str, field: Field, source: str) -> ShoalError:
    """Which record does not fit: found by reading on, and told without its content."""
    fits = field.expression().replace(f"error('shoal:type:{field.position}')", "NULL")
    found = engine.run_table(
        f"SELECT min(r) AS r, count(*) AS n FROM (SELECT row_number() OVER () AS r, {field.raw}, {fits} AS v "  # noqa: S608
        f"FROM {converted(reading, [field])}) "
        f"WHERE {field.raw} IS NOT NULL AND v IS NULL",
        source,
    )
    record, n = found["r"][0].as_py(), found["n"][0].as_py()
    kind = {v: k for k, v in _SQL_TYPES.items()}.get(field.sql_type, "decimal")
    return UnreadableError(
        f"column '{field.name}' of '{source}' is read as {kind}, but {n} record(s) do not fit; the first is record {record}.",
        hint=f"Open it with types={{'{field.name}': 'text'}}, or repair the records.",
        column=field.name,
        record=record,
    )
