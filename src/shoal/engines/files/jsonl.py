"""JSON lines: one flat object per line; types given deliberately, as for CSV.

A field is a number, boolean, date or moment only where every sampled value is spelled exactly so; every later value is checked
while it is read, and so are the names of the fields: a field that the sample lacks stops the reading rather than being left out.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.engines.core.base import Relation
from shoal.engines.core.kinds import is_nested
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.duckdb.sql import identifier, literal, path_literal
from shoal.engines.files.csv.encodings import guess_encoding
from shoal.engines.files.csv.read import transcoded
from shoal.engines.files.csv.sniff import sample_bytes
from shoal.engines.files.csv.types import is_date
from shoal.engines.files.packing import Packing, packed, packing_of, require_option
from shoal.engines.files.statistical.read import need_range
from shoal.errors import ShoalError, UnreadableError
from shoal.kernels.arrow import seconds, spelled
from shoal.kernels.text import canonical_text
from shoal.model.roles import check_names

SAMPLE_ROWS = 20_000
EXACT = 2**53
"""Whole numbers from here on do not all have a double of their own."""

_WHOLE = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_NUMBERS = "('BIGINT', 'UBIGINT', 'DOUBLE')"  # DuckDB's words for the types of a JSON value


class _Number(str):
    """A number as it is spelled."""


@dataclass(frozen=True)
class Field:
    """One field: its position, name and type; ``said`` is the JSON type that its values must have."""

    position: int
    name: str
    sql_type: str
    said: str

    @property
    def pointer(self) -> str:
        return "/" + self.name.replace("~", "~0").replace("/", "~1")

    @property
    def raw(self) -> str:
        return f"v[{self.position + 1}]"

    @property
    def value(self) -> str:
        """The typed value, or NULL where the field does not have it."""
        text = f"({self.raw} ->> '$')"
        fits = f"json_type({self.raw}) IN {self.said}"
        if self.sql_type == "VARCHAR":
            return f"CASE WHEN {fits} THEN {text} END"
        typed = f"TRY_CAST({text} AS {self.sql_type})"
        if self.sql_type in ("DATE", "TIMESTAMP"):
            fits += f" AND CAST({typed} AS VARCHAR) = {text}"
        elif self.sql_type == "DOUBLE":
            fits += f" AND NOT isinf({typed}) AND (abs({typed}) < {EXACT} OR regexp_matches({text}, '[.eE]'))"
        return f"CASE WHEN {fits} THEN {typed} END"

    @property
    def missing(self) -> str:
        return f"({self.raw} IS NULL OR json_type({self.raw}) = 'NULL')"

    def expression(self) -> str:
        """The typed value; a value that does not fit stops the query, naming the field's position only."""
        return f"CASE WHEN {self.missing} THEN NULL ELSE COALESCE({self.value}, error('shoal:type:{self.position}')) END"


def open_jsonl(path: Path, options: dict[str, Any]) -> tuple[DuckDB, Relation]:
    """An engine and relation over a file of JSON lines; only a sample is read."""
    require_option(options, (), "JSON lines")
    raw = sample_bytes(path)
    engine = DuckDB(stable_order=True)
    engine.source = path.name
    encoding = "utf-8-sig" if raw.startswith(b"\xef\xbb\xbf") else guess_encoding(raw)
    file = transcoded(path, encoding, engine, ".jsonl")[0] if encoding.startswith(("utf-8-", "utf-16", "utf-32")) else path
    packing = packing_of(file)
    form = "array" if raw.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[") else "newline_delimited"
    reading = f"read_json_objects({path_literal(file)}, format = '{form}', compression = '{packing}')"
    sample = engine.run_table(f"SELECT CAST(json AS VARCHAR) AS j FROM {reading} LIMIT {SAMPLE_ROWS}", path.name)  # noqa: S608
    fields = _fields(sample["j"].to_pylist(), path.name)
    pointers = ", ".join(literal(f.pointer) for f in fields)
    values = f"SELECT json, json_extract(json, [{pointers}]) AS v FROM {reading}"  # noqa: S608
    engine.explain_late = _explain(engine, values, fields, path.name)
    chosen = ", ".join(f"{f.expression()} AS {identifier(f.name)}" for f in fields)
    checked = f"SELECT CASE WHEN {_KNOWN} THEN v ELSE error('shoal:type:{len(fields)}') END AS v FROM ({values})"  # noqa: S608
    return engine, engine.view(f"SELECT {chosen} FROM ({checked})", str(path), format="jsonl")  # noqa: S608


_KNOWN = "json_type(json) = 'OBJECT' AND len(json_keys(json)) = list_count(v)"
"""Whether a line is an object whose fields are all known, each there once."""


def _fields(lines: Sequence[str | None], source: str) -> list[Field]:
    """The fields of the sampled lines in order of appearance, each with the type of its values."""
    seen: dict[str, set[Any]] = {}
    for number, line in enumerate(lines, start=1):
        pairs = json.loads(line or "null", object_pairs_hook=_Pairs, parse_int=_Number, parse_float=_Number)
        if not isinstance(pairs, _Pairs) or len({k for k, _ in pairs}) != len(pairs):
            raise _not_flat_object(number, 1, source)
        for name, value in pairs:
            seen.setdefault(name, set()).add(value if isinstance(value, (str, bool, type(None))) else _Pairs)
    if not seen:
        raise UnreadableError(f"'{source}' has no line with a field.", hint="Write one object per line.")
    names = list(seen)
    check_names(names, table=source)
    return [Field(i, name, *_type_of(name, seen[name], source)) for i, name in enumerate(names)]


class _Pairs(list[Any]):
    """The fields of an object in order, with those that are there twice."""


def _type_of(name: str, values: set[Any], source: str) -> tuple[str, str]:
    """SQL type and JSON types of a field."""
    values = values - {None}
    kinds = {type(v) for v in values}
    if not kinds:
        return "VARCHAR", "('VARCHAR')"
    if kinds == {bool}:
        return "BOOLEAN", "('BOOLEAN')"
    if kinds == {str}:
        return _text_type(values), "('VARCHAR')"
    if kinds == {_Number}:
        if all(_WHOLE.fullmatch(v) for v in values):
            return "BIGINT", "('BIGINT', 'UBIGINT')"
        return ("DOUBLE" if all(_is_double(v) for v in values) else "VARCHAR"), _NUMBERS
    hint = "Give each line the same flat fields, each of one type."
    raise UnreadableError(f"column '{name}' of '{source}' is not flat or holds values of several types.", hint=hint, column=name)


def _is_double(text: str) -> bool:
    return math.isfinite(float(text)) and (abs(float(text)) < EXACT or not _WHOLE_SPELLED.fullmatch(text))


_WHOLE_SPELLED = re.compile(r"-?[0-9]+", re.ASCII)
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}", re.ASCII)


def _text_type(values: set[str]) -> str:
    if all(len(v) == 10 and is_date(v) for v in values):
        return "DATE"
    return "TIMESTAMP" if all(_MOMENT.fullmatch(v) and is_date(v[:10]) for v in values) else "VARCHAR"


def _explain(engine: DuckDB, values: str, fields: Sequence[Field], source: str) -> Callable[[int], ShoalError]:
    """Which record does not fit: found by reading on, and told without its content."""

    def explain(position: int) -> ShoalError:
        numbered = f"SELECT row_number() OVER () AS r, json, v FROM ({values})"  # noqa: S608
        misfits = [f"NOT {f.missing} AND {f.value} IS NULL" for f in fields]
        wrong = [*misfits, f"NOT ({_KNOWN})"][position]
        first = engine.run_table(f"SELECT min(r) AS r, count(*) AS n FROM ({numbered}) WHERE {wrong}", source)  # noqa: S608
        record, n = first["r"][0].as_py(), first["n"][0].as_py()
        if position == len(fields):
            return _not_flat_object(record, n, source)
        name = fields[position].name
        what = f"column '{name}' of '{source}' has values of another type in {n} record(s); the first is record {record}."
        return UnreadableError(what, hint="Give each line the same flat fields, each of one type.", column=name, record=record)

    return explain


def _not_flat_object(record: int, n: int, source: str) -> UnreadableError:
    return UnreadableError(
        f"{n} record(s) of '{source}' are not objects, or have a field twice or one that the first {SAMPLE_ROWS:,} records lack; "
        f"the first is record {record}.",
        hint="Write one object per line, with the same fields in each (null for a missing value).",
        record=record,
    )


ROWS = 1 << 16


def write_jsonl(path: Path, schema: pa.Schema, tables: Iterator[pa.Table], *, packing: Packing = "none") -> None:
    """UTF-8; numbers as numbers, dates and moments as text; NaN is null, and infinite numbers, which JSON lacks, are refused."""
    names = [json.dumps(name, ensure_ascii=False) for name in schema.names]
    with packed(path, packing) as sink:
        for table in tables:
            for name, column in zip(schema.names, table.columns, strict=True):
                need_range(column, name, "jsonl")
            for start in range(0, table.num_rows, ROWS):
                part = table.slice(start, ROWS)
                cells = [_cells(c) for c in part.columns]
                lines = ("{" + ",".join(map(":".join, zip(names, row, strict=True))) + "}\n" for row in zip(*cells, strict=True))
                sink.write("".join(lines).encode("utf-8", "surrogatepass"))


def _cells(values: Any) -> list[str]:
    """The JSON of each value."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    kind = values.type
    if pa.types.is_duration(kind):
        values, kind = seconds(values), pa.float64()
    if pa.types.is_floating(kind):
        return [_number(v) for v in values.cast(pa.float64()).to_pylist()]
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_boolean(kind) or is_nested(kind):
        return ["null" if t is None else t for t in canonical_text(values).to_pylist()]
    texts = spelled(values) if pa.types.is_timestamp(kind) else canonical_text(values)
    return ["null" if t is None else json.dumps(t, ensure_ascii=False) for t in texts.to_pylist()]


def _number(value: float | None) -> str:
    return "null" if value is None or not math.isfinite(value) else repr(value + 0.0)
