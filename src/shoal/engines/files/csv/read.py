"""CSV: dialect guessed from the beginning of the file, shown in ``table.source``, overridable; types given deliberately.

All fields are read as text. A column becomes a number or date only where every sampled value is spelled exactly as that type
spells it (so leading zeros, 20-digit numbers and yes/no stay text), and every later value is checked while it is read. An
empty unquoted field is missing; ``?`` or ``NA`` are values unless ``null=`` says so. A quoted empty field is the empty text, but
missing in a column of numbers or dates, and everywhere if the file has no field that is empty without quotes.
"""

from __future__ import annotations

import codecs
import io
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from shoal.engines.core.base import Relation
from shoal.engines.core.kinds import columns_of
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.duckdb.sql import identifier, literal, path_literal
from shoal.engines.files.csv.clean import cleaned, transcoded
from shoal.engines.files.csv.encodings import SAMPLE_BYTES, UnknownEncodingError, guess_encoding
from shoal.engines.files.csv.fields import Field, converted, read_plain, typed
from shoal.engines.files.csv.sniff import Dialect, sample_bytes, sniff
from shoal.engines.files.csv.types import guess_types
from shoal.engines.files.frames import open_deferred
from shoal.engines.files.layout import MODES, need_modes, numbered_names, repairs_of
from shoal.engines.files.packing import packing_of, require_option
from shoal.engines.files.readers import EngineReader
from shoal.errors import ShoalError, UnreadableError, UsageError, missing_column
from shoal.model.roles import check_names

OPTIONS = (
    *("delimiter", "quote", "encoding", "decimal", "header", "skip", "comment", "null", "types", "dates", "rename_duplicates"),
    *MODES,
)
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
    need_modes(options)
    raw = sample_bytes(path)
    encoding = _encoding(options.get("encoding") or _guessed_encoding(raw, path, options))
    dialect, own = sniff(raw, encoding, path, options)
    names = numbered_names(own, options)
    check_names(names, table=path.name)
    renamed = {new: old for new, old in zip(names, own, strict=True) if new != old}
    aside: Counter[str] = Counter()
    packed, size = packing_of(path) != "none", path.stat().st_size
    content: bytes | None = None
    if len(raw) < SAMPLE_BYTES and not packed and (encoding == "utf-8" or dialect.repaired):
        content = _without_others(raw, encoding, dialect, len(names), path, aside) if dialect.repaired else raw
    elif not packed and encoding == "utf-8" and not dialect.repaired and len(names) > WIDE and size <= WIDE_BYTES:
        content = path.read_bytes()
    details_of = partial(_details, encoding=encoding, aside=aside, renamed=renamed)
    small = None if content is None else _open_small(path, content, dialect, names, options, details_of)
    if small is not None:
        return small
    engine = DuckDB(stable_order=True)
    engine.source = path.name
    folded = dialect.header and any("\n" in n or "\r" in n for n in names)  # DuckDB takes its first line break for all
    file, native = path, _NATIVE.get(encoding, "utf-8")
    if encoding not in _NATIVE or folded or dialect.blanks or dialect.repaired:
        rewritten = folded or dialect.blanks or dialect.repaired
        file, aside = transcoded(path, encoding, engine, ".csv", dialect if rewritten else None, len(names))
        dialect, native = replace(dialect, skip=0) if rewritten else dialect, "utf-8"
    null = _null_texts(options.get("null"))
    reading = _reading(file, dialect, len(names), null, native, packing_of(file))
    sample = engine.run_table(f"FROM {reading} LIMIT {SAMPLE_ROWS}", path.name)
    if dialect.quoted_empty == "numbers" and _quoted_empties_are_missing(sample):
        dialect = replace(dialect, quoted_empty="missing")
        reading = _reading(file, dialect, len(names), null, native, packing_of(file))
        sample = engine.run_table(f"FROM {reading} LIMIT {SAMPLE_ROWS}", path.name)
    fields, decimal = _fields(names, sample, dialect, options)
    chosen = ", ".join(f"{f.expression()} AS {identifier(f.name)}" for f in fields)
    engine.explain_late = lambda position: _late(engine, reading, fields[position], path.name)
    details = _details(dialect, options, encoding, aside, renamed) | {"decimal": decimal}
    if signs := {f.name: sign for f in fields if f.amount is not None and (sign := f.amount.before or f.amount.behind)}:
        details["signs"] = signs
    held = sample.num_rows < SAMPLE_ROWS and size <= HELD_BYTES and len(names) > WIDE
    keep = engine.held if held else engine.view
    relation = keep(f"SELECT {chosen} FROM {converted(reading, fields)}", str(path), None, **details)  # noqa: S608
    if any(dialect.labels):
        labelled = zip(relation.columns, dialect.labels, strict=True)
        relation = replace(relation, columns=tuple(replace(c, note=" ".join(label.split())) for c, label in labelled))
    if packed:
        return engine, relation
    most = size // len(names) + 1  # a row has at least one byte per field
    likely = int(size * raw.count(b"\n") / max(1, len(raw))) + 1
    return engine, replace(relation, reader=EngineReader(engine, relation, most, likely))


def _without_others(raw: bytes, encoding: str, dialect: Dialect, width: int, path: Path, aside: Counter[str]) -> bytes:
    """A short file in UTF-8 without what is not a record; that is counted in ``aside``."""
    try:
        text = raw.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    except UnicodeError:
        raise UnreadableError(f"'{path}' is not valid in encoding '{encoding}'.", hint="Pass the right encoding=.") from None
    return "".join(cleaned(io.StringIO(text, newline=""), dialect, width, path.name, aside)).encode()


def _open_small(
    path: Path, raw: bytes, dialect: Dialect, names: list[str], options: Mapping[str, Any], details_of: Any
) -> tuple[DuckDB, Relation] | None:
    """A file that is whole in ``raw``, without the database; None where it is long or not plainly written."""
    if options.get("types") or options.get("dates"):
        return None
    plain_dialect = replace(dialect, skip=0, rows=1) if dialect.repaired else dialect
    sample = read_plain(raw, plain_dialect, len(names), _null_texts(options.get("null")))
    if sample is None or sample.num_rows > SAMPLE_ROWS:
        return None
    if dialect.quoted_empty == "numbers" and _quoted_empties_are_missing(sample):
        dialect = replace(dialect, quoted_empty="missing")
        sample = read_plain(raw, replace(plain_dialect, quoted_empty="missing"), len(names), _null_texts(options.get("null")))
    fields, decimal = _fields(names, sample, dialect, options)
    plain = not any(f.comma or f.padded or f.quoted_empty or f.marks or f.amount for f in fields)
    table = typed(sample, [f.sql_type for f in fields], names) if plain else None
    if table is None:
        return None

    def load() -> Any:
        if not path.exists():
            raise UnreadableError(f"file '{path.name}' is not there any more.", hint="Was it moved or replaced?")
        return table

    details = details_of(dialect, options) | {"decimal": decimal}
    labels = dialect.labels or ("",) * len(names)
    columns = [replace(c, note=" ".join(label.split())) for c, label in zip(columns_of(table.schema), labels, strict=True)]
    return open_deferred(load, table.schema, columns, str(path), **details)


def _quoted_empties_are_missing(sample: Any) -> bool:
    """Whether the file writes missing values as ``\"\"``: it has such fields, and no field that is empty without quotes."""
    if any(column.null_count for column in sample.columns):
        return False
    return any(pc.min(pc.binary_length(column)).as_py() == 0 for column in sample.columns)


def _details(
    dialect: Dialect, options: Mapping[str, Any], encoding: str, aside: Mapping[str, int], renamed: Mapping[str, str]
) -> dict[str, Any]:
    """How the file is read, for people."""
    counts = Counter(aside) + Counter({"notes": dialect.above})
    plan = {
        n: options[n] for n in ("quote", "skip", "header", "null", "types", "dates", "rename_duplicates", *MODES) if n in options
    }
    usual = {"delimiter": ",", "encoding": "utf-8", "quoted_empty": "numbers"}
    own = {"delimiter": dialect.delimiter, "encoding": encoding, "quoted_empty": dialect.quoted_empty}
    plan |= {n: value for n, value in own.items() if value != usual[n]} | ({"heading_rows": 2} if dialect.rows > 1 else {})
    return {
        "format": "csv",
        "delimiter": dialect.delimiter,
        "quote": dialect.quote,
        "encoding": encoding,
        "header": dialect.header,
        "null": _null_texts(options.get("null")),
        **({"heading_rows": dialect.rows} if dialect.rows > 1 else {}),
        **({"quoted_empty": dialect.quoted_empty} if dialect.quoted_empty != "numbers" else {}),
        **repairs_of(counts, renamed, plan, above=dialect.above, comment=dialect.comment, mended=dialect.mended),
    }


def _guessed_encoding(raw: bytes, path: Path, options: Mapping[str, Any]) -> str:
    """The likeliest encoding; where two are close, an error with the names of the columns in each reading."""
    try:
        return guess_encoding(raw)
    except UnknownEncodingError as error:
        readings = []
        for encoding in error.readings:
            dialect, names = sniff(raw, encoding, path, options)
            odd = [n for n in names if not n.isascii()] if dialect.header and any(dialect.layout.numeric) else []
            readings.append(f"{encoding} ({', '.join(odd[:3])})" if odd else encoding)
        raise UnreadableError(
            f"the encoding of '{path.name}' is not certain. Likely: {'; '.join(readings)}.", hint=error.hint
        ) from None


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
        f"allow_quoted_nulls = {str(dialect.quoted_empty == 'missing').lower()}, "
        f"encoding = '{encoding}', strict_mode = true, null_padding = false)"
    )


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
            fields.append(replace(guesses[i], position=i, name=name))
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
