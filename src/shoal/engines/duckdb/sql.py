"""Literals, names and expressions in DuckDB's words."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.engines.core.base import Relation
from shoal.engines.core.kinds import is_nested
from shoal.engines.core.stored_types import RAW, WHOLE, fine_durations
from shoal.errors import EngineError, MemoryBudgetError, OutputError, ShoalError, UnreadableError
from shoal.kernels.arrow import kind_of
from shoal.model.roles import Column
from shoal.steps.sql import aliased, call, cast, exp, named, string, when
from shoal.steps.sql import column as column_of

if TYPE_CHECKING:
    import pyarrow as pa


def literal(value: str) -> str:
    """A text literal in DuckDB's words.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """A quoted identifier in DuckDB's words."""
    return '"' + name.replace('"', '""') + '"'


def path_literal(path: Path) -> str:
    """A path as a literal, its wildcard characters made ordinary ones."""
    return literal(re.sub(r"([*?\[])", r"[\1]", str(path)))


def flat(relation: Relation, schema: pa.Schema) -> Relation:
    """The relation with lists, structures and other types of DuckDB's own read as text: JSON where they are nested.

    Each of them is there in its own type too, under its name and :data:`~shoal.engines.core.stored_types.RAW`; durations of
    nanoseconds, which DuckDB cuts, come as whole numbers under it.
    """
    odd = {f.name: is_nested(f.type) for f in schema if kind_of(f.type) == "other"}
    if not odd:
        return relation
    terms = []
    for c in relation.columns:
        value: exp.Expr = column_of(c.name, "r")
        if c.name in odd:
            value = cast(call("to_json", value) if odd[c.name] else value, "TEXT")
            raw = c.name + WHOLE if fine_durations(c.stored) else c.name
            terms.append(named(column_of(raw, "r"), c.name + RAW))
        terms.append(named(value, c.name))
    inside = aliased(relation.sql, "r")
    columns = tuple(replace(c, kind="text") if c.name in odd else c for c in relation.columns)
    query, names = exp.Subquery(this=exp.select(*terms).from_(inside)), tuple(odd)
    return replace(relation, query=query, columns=columns, reads_as_text=names, not_as_codes=names)


def to_microseconds(value: exp.Expr, column: Column) -> exp.Expr:
    """Moments and times of day of nanoseconds as classes and steps take them."""
    if getattr(column.stored, "unit", "") != "ns" or column.kind not in ("timestamp", "time"):
        return value
    if column.kind == "time":
        return cast(value, "TIME")
    plain = cast(value, "TIMESTAMPTZ") if getattr(column.stored, "tz", None) is not None else value  # no direct cast from a zone
    return cast(plain, "TIMESTAMP")


def moment(value: exp.Expr, form: str) -> exp.Expr:
    """A timestamp's text; six more digits only where there is a fraction of a second."""

    def spelled(pattern: str) -> exp.Expr:
        return call("strftime", value.copy(), string(pattern))

    whole = (call("epoch_us", value.copy()) % exp.convert(1_000_000)).eq(0)
    return when(whole, spelled(form), spelled(form + ".%f"))


def fraction_of_time(text: exp.Expr) -> exp.Expr:
    """DuckDB writes 10:00:00.5; the canonical text has six digits."""
    padded = call("rpad", text.copy(), exp.convert(15), string("0"))
    return when(exp.Length(this=text.copy()) <= 8, text.copy(), padded)


UNEVEN = (
    "Repair the line, or set such lines aside with --read bad_lines=set-aside. If the guess is wrong, pass delimiter=, quote=, "
    "encoding=, or skip=N for lines above the names."
)
"""What to do about a line with another number of fields."""

_CSV_LINE = re.compile(r"CSV Error on Line: (\d+)")
_JSON_LINE = re.compile(r"Malformed JSON in file .* in line (\d+)")
_CSV_COLUMNS = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")
_TYPE = re.compile(r"shoal:type:(\d+)")


class LateTypeError(UnreadableError):
    """A column typed from a sample holds something else further on; ``position`` is the column's."""

    position: int


def translated(error: BaseException, source: str) -> ShoalError:
    """Our own words for a driver's error: its text may hold data values, so only line and field numbers are taken from it."""
    message = str(error)
    if match := _TYPE.search(message):
        return LateTypeError("a column typed from a sample holds something else.", position=int(match.group(1)))
    if match := _CSV_LINE.search(message):
        return _csv_error(int(match.group(1)), message, source)
    if "state machine reached an invalid state" in message:
        what = f"'{source}' is not a regular CSV file: its lines end in different ways, or a quote stands where none may."
        hint = "Save it with one kind of line end (\\n or \\r\\n), or pass quote= if the guess is wrong."
        return UnreadableError(what, hint=hint)
    if "not latin-1 encoded" in message:
        return UnreadableError(f"'{source}' is not valid in encoding 'latin-1'.", hint="Pass encoding='cp1252' or the right one.")
    if match := _JSON_LINE.search(message):
        line = int(match.group(1)) - 1  # DuckDB counts the line break before it
        return UnreadableError(f"line {line} of '{source}' is not JSON.", hint="Write one whole object per line.", line=line)
    kind = type(error).__name__
    if "different configuration" in message:
        return EngineError(f"'{source}' is open for writing in this process.", hint="Close that connection first.")
    if "Could not set lock" in message:
        return EngineError(f"'{source}' is open in another process that writes to it.", hint="Close it there, or copy the file.")
    if "No files found" in message or "No such file" in message or "Cannot open file" in message:
        return UnreadableError(
            f"the file behind '{source}' is not there (any more) or may not be read.", hint="Check the path and its rights."
        )
    if stopped(error):
        raise KeyboardInterrupt from None
    if kind == "OutOfMemoryException" or "Out of Memory" in message:
        return MemoryBudgetError(
            "DuckDB ran out of memory.", hint="Raise --memory where it is given, count fewer or coarser columns, or free memory."
        )
    if "No space left" in message or "could not write" in message.lower():
        return OutputError(
            "the disk is full, or the file may not be written.", hint="Free space and run again; nothing was left behind."
        )
    if kind == "CatalogException" or "Catalog Error" in message:
        return UnreadableError(f"'{source}' does not exist in the database (any more).", hint="Check the name of the table.")
    if kind == "BinderException":
        return EngineError(f"DuckDB could not resolve a column of '{source}'.", hint="Has the table changed since it was opened?")
    return EngineError(
        f"DuckDB refused to read or write '{source}' ({kind}).", hint="Check that the source is whole and readable."
    )


def stopped(error: BaseException) -> bool:
    """Whether somebody asked the query to stop."""
    return type(error).__name__ == "InterruptException" or "INTERRUPT" in str(error) or "Query interrupted" in str(error)


def _csv_error(line: int, words: str, source: str) -> UnreadableError:
    if match := _CSV_COLUMNS.search(words):
        expected, seen = int(match.group(1)), int(match.group(2))
        what = f"line {line} of '{source}' has {seen} fields; {expected} were expected."
        return UnreadableError(what, hint=UNEVEN, line=line, expected=expected, found=seen)
    if "unicode" in words or "utf-8" in words:
        hint = "Pass encoding='latin-1' or the right one."
        return UnreadableError(f"line {line} of '{source}' is not valid in the encoding assumed.", hint=hint, line=line)
    what = f"line {line} of '{source}' cannot be read as CSV (a quote that is not closed, or a field too long)."
    hint = "Repair the line, or pass delimiter=, quote= or encoding= if the guess is wrong."
    return UnreadableError(what, hint=hint, line=line)
