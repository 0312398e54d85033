"""Guessing the types of the columns of a CSV file from a sample of their values."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.core.kinds import MOST_DIGITS
from shoal.engines.duckdb.sql import literal
from shoal.engines.files.csv.days import day_sql, east_day
from shoal.engines.files.csv.sniff import Dialect

MARKS = " \u2009\u202f\u00a0’\u0027\u0027"
"""Marks between thousands other than decimal marks; the apostrophe twice, as SQL writes it."""
_DIGITS = r"(?:0|[1-9][0-9]{0,2}(?:[ \x{2009}\x{202f}\x{a0}’'][0-9]{3})+|[1-9][0-9]*)(?:[.,][0-9]+)?"
MARKED = rf"\({_DIGITS}\)|[-\x{{2212}}]?{_DIGITS}|{_DIGITS}-"
"""A number with such marks, in brackets, or with the minus sign of print or behind it."""
MINUS = r"^\((.*)\)$|^\x{2212}(.*)$|^(.*)-$"
"""A number below zero that is written so; one of the groups is its digits."""
SIGN = (
    r"(?:R|US|HK|NT|[ACS])\$|[€$£¥₩₽₺₹₴₫₦₪₱฿%‰円元원]|EUR|USD|GBP|CHF|PLN|CZK|HUF|SEK|NOK|DKK|ISK|JPY|CNY|RMB|KRW|INR|CAD|AUD|NZD|ZAR|BRL|MXN|"
    r"TRY|RON|BGN|RUB|UAH|zł|Kč|Ft|[Kk]r\.?|Fr\.|руб\.?|грн\.?|лв\.?|TL|lei|RM|Rp\.?"
)
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
    """Thin blanks or apostrophes between thousands do not belong to a number; brackets around it, a dash behind it mean minus."""
    days: bool = False
    """Days as East Asia writes them."""
    amount: Amount | None = None
    """The sign and the mark that all its numbers are written with."""

    @property
    def raw(self) -> str:
        return f"f{self.position}"

    @property
    def typed(self) -> str:
        return f"t{self.position}"

    @property
    def _bare(self) -> str:
        return f"trim({self.raw}, ' ')" if self.padded else self.raw

    @property
    def _text(self) -> str:
        bare = f"nullif({self._bare}, '')" if self.quoted_empty else self._bare
        if self.days:
            return day_sql(bare)
        if self.marks:
            bare = f"regexp_replace(regexp_replace({bare}, '[{MARKS}]', '', 'g'), {literal(MINUS)}, '-\\1\\2\\3')"
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
            fits += f" AND regexp_full_match({self._bare}, {literal(MARKED)})"
        if self.sql_type == "DOUBLE":  # 1e400 is not infinity, 1e-400 not zero
            fits += f" AND (NOT isinf({typed}) OR {text} ILIKE '%inf%')"
            fits += f" AND CASE WHEN {typed} = 0 THEN NOT regexp_matches({text}, '[1-9].*[eE]') ELSE true END"
        if self.shortest:  # two texts must not become one number; digits are looked at last, as that takes longest
            again = f"CAST({typed} AS VARCHAR)"
            own, written = _digits_sql(text), (again, f"printf('%.17g', {typed})")
            same = " OR ".join(f"rtrim({own}, '0') = rtrim({_digits_sql(w)}, '0')" for w in written)
            few = f"length({own}) <= 15 OR {same}"
            fits += f" AND CASE WHEN strlen({text}) <= 15 THEN true WHEN {again} = {text} THEN true ELSE {few} END"
        empty = (
            self.raw if self.amount is not None or self.days else text
        )  # an amount that is written in another way is not missing
        return f"CASE WHEN {empty} IS NULL OR ({fits}) THEN {typed} ELSE error('shoal:type:{self.position}') END"


def _digits_sql(text: str) -> str:
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


def read_plain(raw: bytes, dialect: Dialect, width: int, null: Sequence[str]) -> pa.Table:
    """The fields of the file as an Arrow table of texts, its heading left out; None where it is not plainly written."""
    from pyarrow import csv

    if (
        width < 2
        or dialect.blanks
        or not (dialect.delimiter + dialect.quote).isascii()
        or dialect.rows > 1
        or dialect.skip
        or not _is_plain(raw, dialect)
    ):
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


def typed(table: pa.Table, sql_types: Sequence[str], names: Sequence[str]) -> pa.Table:
    """The columns in their types and under their names; None where a text does not fit, which the long way explains."""
    arrays = []
    try:
        for column, sql_type in zip(table.columns, sql_types, strict=True):
            arrays.append(column.cast(arrow_type(sql_type)))
    except pa.ArrowInvalid:
        return None
    return pa.table(dict(zip(names, arrays, strict=True)))


def arrow_type(sql_type: str) -> pa.DataType:
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


_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_NUMBER = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-][0-9]{1,3})?|[0-9]\.[0-9]+[eE][0-9]{1,3})")
"""Also with an exponent as programs write it: 1e+05, 2.5E-07, 1.0E7; never 12E4, which may be a code."""
_COMMA_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(,[0-9]+)?([eE][+-][0-9]{1,3})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}")


@dataclass(frozen=True)
class _Texts:
    """The different texts of a column without what is not part of its values: blanks around them, marks, quoted empties."""

    values: list[str]
    padded: bool
    empty: bool
    marks: bool

    @classmethod
    def of(cls, column: pa.ChunkedArray, dialect: Dialect) -> _Texts:
        values = [v for v in column.unique().to_pylist() if v is not None]
        if empty := dialect.quoted_empty == "numbers" and "" in values:
            values.remove("")
        if padded := _padded_numbers(values) or (dialect.padded and _padded_texts(values)):
            values = [v.strip(" ") for v in values]
            empty = empty or "" in values
            values = [v for v in values if v]
        if marks := _has_marks(values):
            values = [_without_marks(v) for v in values]
        return cls(values, padded, empty, marks)

    def field(self, decimal: str) -> Field:
        """How the texts are read."""
        plain = not (self.padded or self.empty or self.marks)
        if plain and (amount := written_amount(self.values)) and (amounts := _amount_field(self.values, amount)):
            return amounts
        if plain and self.values and all(map(east_day, self.values)):
            return Field(0, "", "DATE", days=True)
        sql_type, exact, comma = _guess(self.values, decimal)
        shortest, typed = sql_type == SHORTEST, sql_type != "VARCHAR"
        kind, marks = "DOUBLE" if shortest else sql_type, self.marks and typed
        return Field(0, "", kind, exact, comma, None, shortest, self.padded, self.empty and typed, marks)


def guess_types(sample: Sequence[Any], dialect: Dialect, decimal: str | None) -> tuple[list[Field], str]:
    """For each column how its texts are read, from its sampled values; and the decimal mark."""
    columns = [_Texts.of(column, dialect) for column in sample]
    if decimal is not None:
        return [c.field(decimal) for c in columns], decimal
    decimal = "," if dialect.delimiter != "," and any(_comma_decimals(c.values) for c in columns) else "."
    unclear = [_thousands_or_decimals(c.values, decimal) for c in columns]
    fields = [c.field(decimal) for c in columns]
    shown = any(f.sql_type[:3] in ("DEC", "DOU") and f.amount is None for f, u in zip(fields, unclear, strict=True) if not u)
    if shown or (decimal == "." and dialect.delimiter != ";"):  # another column shows what the mark is
        return fields, decimal
    return [c.field("") if u else f for c, f, u in zip(columns, fields, unclear, strict=True)], decimal


def _thousands_or_decimals(values: Sequence[str], mark: str) -> bool:
    """Whether numbers may have marks between thousands as well as three decimals: 950, 1.250.

    >>> [_thousands_or_decimals(v, ".") for v in (["950", "1.250"], ["0.125", "1.250"], ["950", "1250"], ["1.25", "1.250"])]
    [True, False, False, False]
    """
    form = re.compile(rf"-?[1-9][0-9]{{0,2}}(\{mark}[0-9]{{3}})?|0")
    return any(mark in v for v in values) and all(map(form.fullmatch, values))


def _amount_field(values: Sequence[str], amount: Amount) -> Field | None:
    """How amounts are read that are all written so; None where they are not numbers."""
    plain = [match[1].replace(amount.thousands, "") for v in values if (match := re.fullmatch(amount.pattern, v))]
    sql_type, exact, comma = _guess(plain, "," if any("," in v for v in plain) else ".")
    if sql_type in ("BIGINT", "DOUBLE") or sql_type.startswith("DECIMAL"):
        return Field(0, "", sql_type, exact, comma, amount=amount)
    return None


_WRITTEN = re.compile(f"({SIGN})?{BLANK}(-?[0-9][0-9.,]*){BLANK}({SIGN})?")


_ANY_SIGN = re.compile(SIGN)


def written_amount(values: Sequence[str]) -> Amount | None:
    """How all values are written, if they are amounts with one sign or with marks between thousands; None if that is not certain.

    Numbers such as 1.001 may have a decimal mark, and 12.345.678 may be the number of a person.

    >>> [written_amount(v) for v in (["1.001,50 €", "12,00 €"], ["$1,200", "$1,200,300"], ["5 %", "7,5 %"])]
    [Amount(before='', behind='€', thousands='.'), Amount(before='$', behind='', thousands=','), Amount(before='', behind='%', thousands='')]
    >>> [written_amount(v) for v in (["1.001 €", "2.500 €"], ["5 €", "5 $"], ["1.001", "2.500"], ["12.345.678", "9.876.543"], ["1,5", "2"])]
    [None, None, None, None, None]
    """  # noqa: E501
    together = "\n".join(values)
    if not ("." in together and "," in together) and _ANY_SIGN.search(together) is None:
        return None
    amounts = []
    for value in values:
        if (read := _WRITTEN.fullmatch(value)) is None:
            return None
        amounts.append(read)
    signs = {(read[1] or "", read[3] or "") for read in amounts}
    if len(values) < 2 or len(signs) != 1 or all(sign := signs.pop()):
        return None
    numbers = [read[2] for read in amounts]
    both = {n[min(n.index("."), n.index(","))] for n in numbers if "." in n and "," in n}
    marks = both or {mark for mark in ".," if any(sign) and any(n.count(mark) > 1 for n in numbers)}
    if len(marks) > 1 or not (marks or any(sign)):
        return None
    if not marks and (
        any(re.search("[.,][0-9]{3}$", n) for n in numbers) or len({c for n in numbers for c in n if c in ".,"}) > 1
    ):
        return None
    amount = Amount(*sign, *marks)
    return amount if all(re.fullmatch(amount.pattern, v) for v in values) else None


_MARK = re.compile(f"[(−{MARKS}]|-$", re.MULTILINE)
_MARKED, _MINUS = (re.compile(re.sub(r"\\x\{(\w+)\}", lambda m: chr(int(m[1], 16)), text)) for text in (MARKED, MINUS))


def _has_marks(values: Sequence[str]) -> bool:
    """Whether all values are numbers, and some have marks between thousands, stand in brackets or have an odd minus sign.

    >>> _has_marks(["1\u2009250", "980"]), _has_marks(["(12.50)", "3.10"]), _has_marks(["(1)", "(2)"]), _has_marks(["06 12"])
    (True, True, False, False)
    >>> _has_marks(["12.50-", "3.10"]), _has_marks(["−5", "3"]), _has_marks(["1-", "2-"])
    (True, True, False)
    >>> _has_marks(["1 250,50", "980,00"]), _has_marks(["123 456", "980 123"])  # the second may be numbers of people
    (True, False)
    """
    if not _MARK.search("\n".join(values)):
        return False
    if not all(map(_MARKED.fullmatch, values)):
        return False
    marked = [v for v in values if _MARK.search(v)]
    if any(" " in v for v in marked) and not any(re.search("[.,][0-9]{1,2}[)-]?$", v) for v in values):
        return False
    return len(marked) < len(values) or not all(map(_MINUS.fullmatch, marked))  # numbers that are all in brackets may be labels


def _without_marks(text: str) -> str:
    bare = "".join(c for c in text if c not in MARKS)
    return "-" + "".join(filter(None, below.groups())) if (below := _MINUS.fullmatch(bare)) else bare


_SHORTENED = re.compile(r"-?[0-9]([.,][0-9]{1,5})?E\+1[1-9]")


def shortened(column: pa.ChunkedArray) -> bool:
    """Whether some texts of a column are whole numbers of 12 to 20 digits as spreadsheets show them, without most of the digits.

    >>> shortened(pa.array(["1.23E+15", "17"])), shortened(pa.array(["1.5e+12"])), shortened(pa.array(["1.5E+03"]))
    (True, False, False)
    """
    if not pc.any(pc.match_substring(column, "E+1")).as_py():
        return False
    return any(v is not None and _SHORTENED.fullmatch(v) for v in column.unique().to_pylist())


def _padded_numbers(values: Sequence[str]) -> bool:
    """Whether all values are numbers and blanks stand around some: ``1, 65.78``."""
    if not any(v[:1] == " " or v[-1:] == " " for v in values):
        return False
    bare = [t for v in values if (t := v.strip(" "))]  # SAS and SPSS write a missing number as a blank
    return bool(bare) and all(_NUMBER.fullmatch(t) or _COMMA_NUMBER.fullmatch(t) for t in bare)


def _padded_texts(values: Sequence[str]) -> bool:
    """Whether blanks stand before or behind all values."""
    return bool(values) and (all(v[:1] == " " for v in values) or all(v[-1:] == " " for v in values))


def _comma_decimals(values: Sequence[str]) -> bool:
    return bool(values) and any("," in v for v in values) and all(map(_COMMA_NUMBER.fullmatch, values))


def _guess(values: Sequence[str], decimal: str) -> tuple[str, bool, bool]:
    """The narrowest type that spells every sampled value exactly as it is."""
    text = ("VARCHAR", False, False)
    if not values:
        return text
    if all(map(_INTEGER.fullmatch, values)):
        return ("BIGINT", True, False)
    if decimal == "," and _comma_decimals(values):
        sql_type, exact, _ = _number_type([v.replace(",", ".") for v in values])
        return (sql_type, exact, sql_type != "VARCHAR")
    if decimal == "." and all(map(_NUMBER.fullmatch, values)):
        return _number_type(values)
    if all(_DATE.fullmatch(v) and is_date(v) for v in values):
        return ("DATE", True, False)
    if all(_MOMENT.fullmatch(v) and is_date(v[:10]) for v in values):
        return ("TIMESTAMP", True, False)
    return text


def _number_type(values: Sequence[str]) -> tuple[str, bool, bool]:
    """A decimal where all have the same number of decimals; else a float, unless digits would be lost."""
    together = "".join(values)
    plain = "e" not in together and "E" not in together
    bare = values if plain else [re.split("[eE]", v)[0] for v in values]
    scales = {len(v.partition(".")[2]) for v in bare}
    digits = max(len(v.replace("-", "").replace(".", "")) for v in bare)
    same = len(scales) == 1 and plain and not any(v.startswith("-") and float(v) == 0 for v in values)
    if same and digits <= 17:
        return (f"DECIMAL(18, {scales.pop()})", True, False)
    if not (plain and digits <= MOST_DIGITS) and any(map(_out_of_range, values)):
        return ("VARCHAR", False, False)
    if digits <= 15:
        return ("DOUBLE", False, False)
    if any("." in v for v in bare):
        if all(_as_float(v) for v in values):
            return (SHORTEST, False, False)
        if same and digits <= MOST_DIGITS:
            return (f"DECIMAL({MOST_DIGITS}, {scales.pop()})", True, False)
    return ("VARCHAR", False, False)


def _out_of_range(text: str) -> bool:
    """Whether a number is too large or too near to zero for a float.

    >>> [_out_of_range(v) for v in ("1e+308", "1e+309", "1e-300", "1e-400", "0e+00")]
    [False, True, False, True, False]
    """
    number = float(text)
    return math.isinf(number) or (number == 0 and re.search("[1-9]", re.split("[eE]", text)[0]) is not None)


SHORTEST = "DOUBLE, shortest"
"""A float of 16 or 17 digits as programs write it: the fewest digits that give it back, or all 17. No two numbers are merged."""


def _as_float(text: str) -> bool:
    """Whether a number has the digits that programs write of a float, with or without an exponent, or so few that none is lost.

    >>> [_as_float(v) for v in ("0.00005768648854043157", "5.768648854043157E-5", "0.1234567890123456", "0.12345678901234567890")]
    [True, True, True, False]
    >>> [_as_float(v) for v in ("85.728957930000007", "85.728957930000008")]  # 17 digits of a float, and of none
    [True, False]
    """
    written = (_digits(w).rstrip("0") for w in (repr(float(text)), f"{float(text):.17g}"))
    return len(_digits(text)) <= 15 or _digits(text).rstrip("0") in written


def _digits(text: str) -> str:
    return re.sub(r"[eE].*|\D", "", text).lstrip("0")


def is_date(text: str) -> bool:
    """Whether a text is a day of the calendar, as YYYY-MM-DD."""
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True
