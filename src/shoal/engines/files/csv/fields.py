"""Columns of a CSV file as SQL: every field is read as text, and a value that is more is checked against its text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from shoal.engines.duckdb.sql import literal
from shoal.engines.files.csv.sniff import Dialect

MARKS = "\u2009\u202f\u00a0’\u0027\u0027"
"""Marks between thousands other than decimal marks; the apostrophe twice, as SQL writes it."""
MARKED = (
    r"\((?:0|[1-9][0-9]{0,2}(?:[\x{2009}\x{202f}\x{a0}’'][0-9]{3})+|[1-9][0-9]*)(?:[.,][0-9]+)?\)"
    r"|-?(?:0|[1-9][0-9]{0,2}(?:[\x{2009}\x{202f}\x{a0}’'][0-9]{3})+|[1-9][0-9]*)(?:[.,][0-9]+)?"
)
"""A number with such marks, or in brackets."""
SIGN = r"R\$|[€$£¥₩₽₺₹₴%]|EUR|USD|GBP|CHF|PLN|CZK|HUF|SEK|NOK|DKK|zł|Kč|Ft|руб\.?|TL|lei"
BLANK = "[ \u00a0\u202f]?"


class Amount(NamedTuple):
    """How all amounts of a column are written: the sign before or behind them, and the mark between their thousands."""

    before: str = ""
    behind: str = ""
    thousands: str = ""

    @property
    def pattern(self) -> str:
        """A regular expression for the amounts; its only group is the number."""
        mark, decimal = re.escape(self.thousands), {".": ",", ",": r"\."}.get(self.thousands, "[.,]")
        whole = rf"[1-9][0-9]{{0,2}}(?:{mark}[0-9]{{3}})+|0|[1-9][0-9]*" if mark else "0|[1-9][0-9]*"
        before, behind = (re.escape(sign) for sign in (self.before, self.behind))
        return f"{before}{BLANK if before else ''}(-?(?:{whole})(?:{decimal}[0-9]+)?){BLANK if behind else ''}{behind}"


@dataclass(frozen=True)
class Field:
    """One column of a CSV file: its place, name, SQL type and, for dates, the form of its text."""

    position: int
    name: str
    sql_type: str = "VARCHAR"
    exact: bool = False
    comma: bool = False
    form: str | None = None
    shortest: bool = False
    padded: bool = False
    """Blanks around a value are not part of it."""
    quoted_empty: bool = False
    """An empty text, written in quotes, is a missing number or date."""
    marks: bool = False
    """Thin blanks or apostrophes between thousands are not part of a number, and brackets around it are a minus sign."""
    amount: Amount | None = None
    """The sign and the mark that all its numbers are written with."""

    @property
    def raw(self) -> str:
        return f"f{self.position}"

    @property
    def typed(self) -> str:
        return f"t{self.position}"

    @property
    def _text(self) -> str:
        bare = f"trim({self.raw}, ' ')" if self.padded else self.raw
        bare = f"nullif({bare}, '')" if self.quoted_empty else bare
        if self.marks:
            bare = f"regexp_replace(regexp_replace({bare}, '[{MARKS}]', '', 'g'), '^\\((.*)\\)$', '-\\1')"
        if self.amount is not None:
            bare = f"nullif(regexp_extract({bare}, {literal(f'^{self.amount.pattern}$')}, 1), '')"
            bare = f"replace({bare}, '{self.amount.thousands}', '')" if self.amount.thousands else bare
        return f"replace({bare}, ',', '.')" if self.comma else bare

    def conversion(self) -> str:
        """The value in its type, missing where it does not fit; taken once per value, as :attr:`typed`."""
        if self.form is not None:
            return f"CAST(try_strptime({self._text}, {literal(self.form)}) AS {self.sql_type})"
        return f"TRY_CAST({self._text} AS {self.sql_type})"

    def expression(self) -> str:
        """The typed value; a value that does not fit stops the query, naming the column's position only."""
        if self.sql_type == "VARCHAR":
            return self._text
        text, typed = self._text, self.typed
        fits = f"CAST({typed} AS VARCHAR) = {text}" if self.exact else f"{typed} IS NOT NULL"
        if self.marks:
            fits += f" AND regexp_full_match({self.raw}, {literal(MARKED)})"
        if self.sql_type == "DOUBLE":  # 1e400 is not infinity, 1e-400 not zero
            fits += f" AND (NOT isinf({typed}) OR {text} ILIKE '%inf%')"
            fits += f" AND CASE WHEN {typed} = 0 THEN NOT regexp_matches({text}, '[1-9].*[eE]') ELSE true END"
        if self.shortest:  # two texts must not become one number; digits are looked at last, as that takes longest
            again = f"CAST({typed} AS VARCHAR)"
            own, found = _digits(text), _digits(again)
            few = f"length({own}) <= 15 OR rtrim({own}, '0') = rtrim({found}, '0')"
            fits += f" AND CASE WHEN strlen({text}) <= 15 THEN true WHEN {again} = {text} THEN true ELSE {few} END"
        empty = self.raw if self.amount is not None else text  # an amount that is written in another way is not missing
        return f"CASE WHEN {empty} IS NULL OR ({fits}) THEN {typed} ELSE error('shoal:type:{self.position}') END"


def _digits(text: str) -> str:
    return f"ltrim(regexp_replace({text}, '[eE].*|[^0-9]', '', 'g'), '0')"


def converted(reading: str, fields: Iterable[Field]) -> str:
    """The source with each text that is more than text beside its value."""
    more = [f", {f.conversion()} AS {f.typed}" for f in fields if f.sql_type != "VARCHAR"]
    return f"(SELECT *{''.join(more)} FROM {reading})" if more else reading  # noqa: S608


_ARROW = {
    "VARCHAR": pa.string(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
    "TIME": pa.time64("us"),
    "BOOLEAN": pa.bool_(),
}


def read_plain(raw: bytes, dialect: Dialect, width: int, null: Sequence[str]) -> Any:
    """The fields of the file as an Arrow table of texts, its heading left out; None where it is not plainly written."""
    from pyarrow import csv

    if width < 2 or dialect.blanks or dialect.rows > 1 or dialect.skip or not _is_plain(raw, dialect):
        return None
    names = [f"f{i}" for i in range(width)]
    try:
        table = csv.read_csv(
            pa.py_buffer(raw),
            read_options=csv.ReadOptions(
                column_names=names, skip_rows=int(dialect.header), block_size=len(raw) + 1, use_threads=False
            ),
            parse_options=csv.ParseOptions(delimiter=dialect.delimiter, quote_char=dialect.quote, ignore_empty_lines=False),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=list(null),
                strings_can_be_null=True,
                quoted_strings_can_be_null=dialect.quoted_empty == "missing",
            ),
        )
    except pa.ArrowInvalid:
        return None
    return table.combine_chunks()


def typed(table: Any, sql_types: Sequence[str], names: Sequence[str]) -> Any:
    """The columns in their types and under their names; None where a text does not fit, which the long way explains."""
    arrays = []
    try:
        for column, sql_type in zip(table.columns, sql_types, strict=True):
            arrays.append(column.cast(arrow_type(sql_type)))
    except pa.ArrowInvalid:
        return None
    return pa.table(dict(zip(names, arrays, strict=True)))


def arrow_type(sql_type: str) -> Any:
    """The Arrow type of a column of that SQL type."""
    if sql_type.startswith("DECIMAL"):
        return pa.decimal128(*(int(x) for x in re.findall(r"\d+", sql_type)))
    return _ARROW[sql_type]


def _is_plain(raw: bytes, dialect: Dialect) -> bool:
    """UTF-8 with one kind of line end, no empty line, and every quote around a whole field."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.removesuffix(end)
    if text.startswith("\ufeff") or "\x00" in text or text.count("\r") != (text.count("\n") if end == "\r\n" else 0):
        return False
    if not all(lines.split(end)):
        return False
    if dialect.quote not in text:
        return True
    q, d = re.escape(dialect.quote), re.escape(dialect.delimiter)
    whole_fields = re.compile(rf"(?:(?<=[{d}\n])|\A){q}(?:[^{q}\r\n]|{q}{q})*{q}(?=[{d}\r\n]|\Z)")
    return dialect.quote not in whole_fields.sub("", lines)
