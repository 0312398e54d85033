"""Guessing how a CSV file is written: encoding, delimiter, header, decimal mark, types. Every guess can be overruled."""

from __future__ import annotations

import codecs
import csv
import datetime
import io
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.engines.core.kinds import MOST_DIGITS
from shoal.engines.files.packing import ending, opened
from shoal.errors import UnreadableError, UsageError

DELIMITERS = (",", ";", "\t", "|")
RARE_DELIMITERS = ("^", ":", "~", " ")
"""Tried where none of the usual ones splits the lines evenly: they stand inside texts and times as well."""
RARE_SHARE, RARE_WIDTH = 0.98, 3
"""Share of lines that a rare delimiter must split into the same number of fields, and the fewest fields."""

_NAME = re.compile(r"[^\W\d][\w .-]*")
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_NUMBER = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-][0-9]{1,3})?|[0-9]\.[0-9]+[eE][0-9]{1,3})")
"""Also with an exponent as programs write it: 1e+05, 2.5E-07, 1.0E7; never 12E4, which may be a code."""
_COMMA_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(,[0-9]+)?([eE][+-][0-9]{1,3})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}")


@dataclass(frozen=True)
class Dialect:
    """How the fields are separated and quoted, whether the first line holds names, and lines before it that say nothing.

    ``blanks``: any number of blanks separates two fields. ``rows``: rows of the heading, names and labels.
    """

    delimiter: str = ","
    quote: str = '"'
    header: bool = True
    skip: int = 0
    blanks: bool = False
    rows: int = 1
    labels: tuple[str, ...] = ()


def sample_bytes(path: Path) -> bytes:
    """The beginning of the file, unpacked."""
    try:
        with opened(path) as file:
            raw = bytes(file.read(SAMPLE_BYTES))
    except (OSError, EOFError):
        raise UnreadableError(f"file '{path}' may not be read, or is cut off.", hint="Check the path and its rights.") from None
    if not raw.strip():
        raise UnreadableError(f"file '{path}' is empty.", hint="It needs at least a line with the names of the columns.")
    return raw


def sniff(raw: bytes, encoding: str, path: Path, options: Mapping[str, Any]) -> tuple[Dialect, list[str]]:
    """The dialect and the names of the columns."""
    text = raw.decode(encoding, errors="replace").lstrip("\ufeff")
    whole = len(raw) < SAMPLE_BYTES
    quote = options.get("quote", '"')
    said = _SEPARATOR_LINE.match(text)  # Excel's own first line
    if said:
        text = text[said.end() :]
    by_name = "\t" if ending(path) in (".tsv", ".tab") else None
    delimiter = options.get("delimiter") or (said and said.group(1)) or by_name or _delimiter(text, quote, whole)
    blanks = delimiter == " " and _several_blanks(text, quote, whole)
    if len(delimiter) != 1 or len(quote) != 1:
        raise UsageError("delimiter and quote must be one character each.", hint="For example delimiter=';'.")
    rows = _blank_rows(text, whole) if blanks else _rows(text, delimiter, quote, whole)
    if not rows:
        raise UnreadableError(f"file '{path}' is empty.", hint="It needs at least a line with the names of the columns.")
    single = "quote" not in options and _in_single_quotes(rows[0])
    if single and _single_quotes_below(rows, _rows(text, delimiter, "'", whole)):
        return sniff(raw, encoding, path, {**options, "quote": "'"})
    header = options.get("header")
    if header is None:
        header = _has_header(rows)
    two = bool(header) and options.get("header") is None and not said and second_heading(rows)
    labels: tuple[str, ...] = ()
    if two:
        labels, rows = tuple(rows[0]), rows[1:]
        if not says_nothing(labels):
            labels, rows = tuple(rows[0]), [list(labels), *rows[1:]]
    if single:
        rows[0] = [name[1:-1] for name in rows[0]]
    names = rows[0] if header else [f"column{i}" for i in range(1, len(rows[0]) + 1)]
    unnamed = [i for i, n in enumerate(names, start=1) if not n.strip()]
    if unnamed:
        names = [n if n.strip() else f"column{i}" for i, n in enumerate(names, start=1)]
    return Dialect(delimiter, quote, bool(header), int(bool(said)) + int(two), blanks, 2 if two else 1, labels), names


def _in_single_quotes(names: Sequence[str]) -> bool:
    """Whether all names, at least two, stand in single quotes."""
    return len(names) > 1 and all(len(n) > 2 and n[0] == n[-1] == "'" for n in names)


def _single_quotes_below(rows: Sequence[Sequence[str]], quoted: Sequence[Sequence[str]]) -> bool:
    """Whether fields below the names stand in single quotes too: read so (``quoted``) as many rows differ and have all fields.

    One that only begins with such a quote (``'t Hart``) would run on into the next line.
    """
    width = len(rows[0])
    return len(quoted) == len(rows) and quoted[1:] != rows[1:] and all(len(row) == width for row in quoted)


def _blank_rows(text: str, whole: bool) -> list[list[str]]:
    """Lines cut at any number of blanks; the last, perhaps cut off, is left out."""
    rows = [line.split() for line in text.splitlines() if line.strip()]
    return rows if whole or len(rows) < 2 else rows[:-1]


def _several_blanks(text: str, quote: str, whole: bool) -> bool:
    """Whether any number of blanks separates two fields: cutting at each blank is less even, or gives names that are empty."""
    single, several = _rows(text, " ", quote, whole), _blank_rows(text, whole)
    return _even(several) > _even(single) or (_even(several) == _even(single) and bool(single) and "" in single[0])


def _even(rows: Sequence[Sequence[str]]) -> float:
    """The share of lines with the most common number of fields."""
    widths = Counter(map(len, rows[:2000]))
    return max(widths.values()) / widths.total() if widths else 0.0


def _rows(text: str, delimiter: str, quote: str, whole: bool) -> list[list[str]]:
    """Parsed lines of the sample; the last, perhaps cut off, is left out."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quotechar=quote, doublequote=True)
    rows: list[list[str]] = []
    try:
        for row in reader:
            if row:
                rows.append(row)
    except csv.Error:
        whole = True  # what was parsed so far stands; reading will tell the line
    return rows if whole or len(rows) < 2 else rows[:-1]


def _delimiter(text: str, quote: str, whole: bool) -> str:
    """The candidate that splits most lines into the same number of fields, more than one."""
    best, best_score = ",", (0.0, 0)
    for candidate in DELIMITERS:
        widths = Counter(len(row) for row in _rows(text, candidate, quote, whole)[:2000])
        if not widths:
            continue
        width, lines = widths.most_common(1)[0]
        score = (round(lines / widths.total(), 2), width)
        if width > 1 and score > best_score:
            best, best_score = candidate, score
    return best if best_score[0] >= 0.5 else _rare_delimiter(text, quote, whole) or best


def _rare_delimiter(text: str, quote: str, whole: bool) -> str | None:
    """A sign that splits nearly all lines into the same number of fields, at least three; None where there is none.

    Two fields are enough where every line has them and the first one holds two names.
    """
    for candidate in RARE_DELIMITERS[:3]:
        rows = _rows(text, candidate, quote, whole)[:2000]
        if len(rows) > 1 and all(len(row) == 2 for row in rows) and all(_NAME.fullmatch(cell) for cell in rows[0]):
            return candidate
    for candidate in RARE_DELIMITERS:
        ways = [_rows(text, candidate, quote, whole)[:2000]]
        if candidate == " ":
            ways.append(_blank_rows(text, whole)[:2000])
        for rows in ways:
            widths = Counter(map(len, rows))
            if (
                len(rows) > 1
                and max(widths) >= RARE_WIDTH
                and _even(rows) >= RARE_SHARE
                and len(rows[0]) == widths.most_common(1)[0][0]
            ):
                return candidate
    return None


def _has_header(rows: Sequence[Sequence[str]]) -> bool:
    """No header only where the first line holds a number and no column has a word above numbers."""
    first, rest = rows[0], rows[1:200]
    numbers = [bool(_NUMBER.fullmatch(cell.strip())) for cell in first]
    if not any(numbers) or not rest:
        return True
    for i, is_number in enumerate(numbers):
        below = [row[i].strip() for row in rest if len(row) > i and row[i].strip()]
        if not is_number and below and all(_NUMBER.fullmatch(cell) for cell in below):
            return True
    return False


def guess_types(sample: Sequence[Any], dialect: Dialect, decimal: str | None) -> tuple[list[tuple[str, bool, bool, bool]], str]:
    """For each column: SQL type, whether every value must be spelled exactly so, whether it has decimal commas, whether blanks
    stand around its numbers; and the mark."""
    spelled = [[v for v in column.unique().to_pylist() if v is not None] for column in sample]
    padded = [_padded_numbers(values) for values in spelled]
    distinct = [[v.strip(" ") for v in values] if blanks else values for values, blanks in zip(spelled, padded, strict=True)]
    if decimal is None:
        decimal = "," if dialect.delimiter != "," and any(_comma_decimals(v) for v in distinct) else "."
    return [(*_guess(values, decimal), blanks) for values, blanks in zip(distinct, padded, strict=True)], decimal


def _padded_numbers(values: Sequence[str]) -> bool:
    """Whether all values are numbers and blanks stand around some: ``1, 65.78``."""
    if not any(v[:1] == " " or v[-1:] == " " for v in values):
        return False
    return all(_NUMBER.fullmatch(t) or _COMMA_NUMBER.fullmatch(t) for t in (v.strip(" ") for v in values))


def _comma_decimals(values: Sequence[str]) -> bool:
    return bool(values) and any("," in v for v in values) and all(_COMMA_NUMBER.fullmatch(v) for v in values)


def _guess(values: Sequence[str], decimal: str) -> tuple[str, bool, bool]:
    """The narrowest type that spells every sampled value exactly as it is."""
    text = ("VARCHAR", False, False)
    if not values:
        return text
    if all(_INTEGER.fullmatch(v) for v in values):
        return ("BIGINT", True, False)
    if decimal == "," and _comma_decimals(values):
        sql_type, exact, _ = _number_type([v.replace(",", ".") for v in values])
        return (sql_type, exact, sql_type != "VARCHAR")
    if decimal == "." and all(_NUMBER.fullmatch(v) for v in values):
        return _number_type(values)
    if all(_DATE.fullmatch(v) and is_date(v) for v in values):
        return ("DATE", True, False)
    if all(_MOMENT.fullmatch(v) and is_date(v[:10]) for v in values):
        return ("TIMESTAMP", True, False)
    return text


def _number_type(values: Sequence[str]) -> tuple[str, bool, bool]:
    """A decimal where all have the same number of decimals; else a float, unless digits would be lost."""
    bare = [re.split("[eE]", v)[0] for v in values]
    scales = {len(v.partition(".")[2]) for v in bare}
    digits = max(len(v.replace("-", "").replace(".", "")) for v in bare)
    same = len(scales) == 1 and bare == list(values) and not any(v.startswith("-") and float(v) == 0 for v in values)
    if same and digits <= 17:
        return (f"DECIMAL(18, {scales.pop()})", True, False)
    if any(_out_of_range(v) for v in values):
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
    found = float(text)
    return math.isinf(found) or (found == 0 and re.search("[1-9]", re.split("[eE]", text)[0]) is not None)


SHORTEST = "DOUBLE, shortest"
"""A float of 16 or 17 digits as programs write it: each text has the fewest digits that give it back, so none are merged."""


def _as_float(text: str) -> bool:
    """Whether a number has the digits that programs write of a float, with or without an exponent, or so few that none is lost.

    >>> [_as_float(v) for v in ("0.00005768648854043157", "5.768648854043157E-5", "0.1234567890123456", "0.12345678901234567890")]
    [True, True, True, False]
    """
    return len(_digits(text)) <= 15 or _digits(repr(float(text))).rstrip("0") == _digits(text).rstrip("0")


def _digits(text: str) -> str:
    return re.sub(r"[eE].*|\D", "", text).lstrip("0")


def is_date(text: str) -> bool:
    """Whether a text is a day of the calendar, as YYYY-MM-DD."""
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


SAMPLE_BYTES = 1 << 18

_C1 = re.compile(rb"[\x80-\x9f]")  # control characters in Latin-1, the euro sign and quotes in Windows-1252
_NOT_CP1252 = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")


def guess_encoding(raw: bytes) -> str:
    """By the byte order mark; then UTF-16 by its zero bytes; then UTF-8 if it is valid; else that of Western spreadsheets.

    >>> guess_encoding("naïve".encode("utf-8")), guess_encoding("naïve".encode("latin-1")), guess_encoding("5 €".encode("cp1252"))
    ('utf-8', 'latin-1', 'cp1252')
    """
    if raw.startswith(b"\xef\xbb\xbf"):
        return "utf-8"
    if raw.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    head = raw[:4096]
    if head.count(b"\x00") > len(head) // 4:
        return "utf-16-le" if head[1::2].count(0) > head[0::2].count(0) else "utf-16-be"
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(raw, final=len(raw) < SAMPLE_BYTES)  # a longer file may be cut in the middle of a character
    except UnicodeDecodeError:
        return _western_or_central(raw)
    return "utf-8"


_BESIDE_LETTERS = re.compile(r"(?<=[^\W\d_])[^\w\s.,;:'\"!?()\[\]{}/&+\-–—’@_|*=%<>#\\^~]|[¹³¿£¥¼½¾](?=[^\W\d_])")


_WESTERN = (
    *("àâæçéèêëîïôœùûüÿ", "äöüß", "áéíñóúü", "áâãàçéêíóôõúü", "àèéìíîòóùú", "åäæöøéü", "áæðéíóöþúý", "áéëïóöüèê"),
    *("àçèéíïòóúü", "äöåõüšž"),
)
"""Letters beyond a to z of French, German, Spanish, Portuguese, Italian, Scandinavian languages, Icelandic, Dutch, Catalan, and
Finnish with Estonian."""
_CENTRAL = ("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "čćđšž", "ăâîşţ", "çë")
"""Those of Polish, Czech, Slovak, Hungarian, the South Slavic languages, Romanian and Albanian."""


def _western_or_central(raw: bytes) -> str:
    """Latin-1, Windows-1252 or Windows-1250: the one in which no sign stands inside a word, and whose letters one language has.

    >>> guess_encoding("Zażółć gęślą jaźń; Łódź".encode("cp1250")), guess_encoding("Řehoř, Děčín, Plzeň".encode("cp1250"))
    ('cp1250', 'cp1250')
    """
    if _NOT_CP1252.search(raw):
        western = "latin-1"
    else:
        western = "cp1252" if _C1.search(raw) else "latin-1"
    west, central = (raw.decode(page, errors="replace") for page in ("cp1252", "cp1250"))
    strange, still = (len(_BESIDE_LETTERS.findall(text)) for text in (west, central))
    if strange > 2 * still and strange > 1:
        return "cp1250"
    apart = sum(a != b and b.isalpha() for a, b in zip(west, central, strict=True))
    foreign = _foreign(west, _WESTERN)
    return "cp1250" if apart > 1 and foreign > 1 and foreign > 10 * _foreign(central, _CENTRAL) else western


def _foreign(text: str, alphabets: Sequence[str]) -> int:
    """Letters beyond a to z that the best of these languages does not have."""
    found = Counter(c for c in text.lower() if c > "\x7f" and c.isalpha())
    return min(sum(n for c, n in found.items() if c not in letters) for letters in alphabets)


HEAD_ROWS = 50
"""Rows below two rows of words that are looked at for numbers."""


def second_heading(rows: Sequence[Sequence[Any]]) -> bool:
    """Whether the second row is a heading too: both hold words only, and below them at least half of the columns hold numbers.

    >>> second_heading([["X1", "X2"], ["age", "income"], ["30", "100"], ["31", "2"]]), second_heading([["age"], ["x"], ["y"]])
    (True, False)
    """
    if len(rows) < 4 or len(rows[0]) != len(rows[1]) or len(rows[1]) < 2:
        return False
    first, second, below = rows[0], rows[1], rows[2 : 2 + HEAD_ROWS]
    if any(_is_amount(cell) for cell in (*first, *second)) or sum(_filled(c) for c in second) < 0.9 * len(second):
        return False
    if len({str(c) for c in second}) < len(second):
        return False
    numeric = sum(_column_of_numbers([row[i] for row in below if len(row) > i]) for i in range(len(second)))
    return numeric >= 0.5 * len(second)


def says_nothing(names: Sequence[Any]) -> bool:
    """Whether most names of a row are blank or bare codes (X1, V2): then the row below holds the names.

    >>> says_nothing(["", "X1", "X2"]), says_nothing(["age", "sex", "q1"])
    (True, False)
    """
    bare = sum(not _filled(n) or re.fullmatch(r"[A-Za-z]?|[A-Za-z]{0,3}_?\d+", str(n).strip()) is not None for n in names)
    return bare > 0.6 * len(names)


def _filled(cell: Any) -> bool:
    return cell is not None and bool(str(cell).strip())


def _is_amount(cell: Any) -> bool:
    return _filled(cell) and re.fullmatch(r"[-+]?\d+([.,]\d+)?(e[-+]?\d+)?", str(cell).strip(), re.IGNORECASE) is not None


def _column_of_numbers(cells: Sequence[Any]) -> bool:
    held = [c for c in cells if _filled(c)]
    return bool(held) and all(_is_amount(c) for c in held)
