"""Guessing how a CSV file is written: encoding, delimiter, header, decimal mark, types. Every guess can be overruled."""

from __future__ import annotations

import codecs
import csv
import datetime
import gzip
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import UnreadableError, UsageError

SAMPLE_BYTES = 1 << 18
DELIMITERS = (",", ";", "\t", "|")

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
_COMMA_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(,[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_C1 = re.compile(rb"[\x80-\x9f]")  # control characters in Latin-1, the euro sign and quotes in Windows-1252
_NOT_CP1252 = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}")


@dataclass(frozen=True)
class Dialect:
    """How the fields are separated and quoted, whether the first line holds names, and lines before it that say nothing."""

    delimiter: str = ","
    quote: str = '"'
    header: bool = True
    skip: int = 0


def is_packed(path: Path) -> bool:
    """Whether a file is gzip, by its first bytes: its name may say otherwise."""
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def opened(path: Path) -> gzip.GzipFile | io.BufferedReader:
    """The file's bytes, unpacked if it is gzip."""
    return gzip.GzipFile(path) if is_packed(path) else path.open("rb")


def sample_bytes(path: Path) -> bytes:
    """The beginning of the file, unpacked if it is gzip."""
    try:
        with opened(path) as file:
            raw = file.read(SAMPLE_BYTES)
    except (OSError, EOFError):
        raise UnreadableError(f"file '{path}' may not be read, or is cut off.", hint="Check the path and its rights.") from None
    if not raw.strip():
        raise UnreadableError(f"file '{path}' is empty.", hint="It needs at least a line with the names of the columns.")
    return raw


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
        return "cp1252" if _C1.search(raw) and not _NOT_CP1252.search(raw) else "latin-1"
    return "utf-8"


def sniff(raw: bytes, encoding: str, path: Path, options: Mapping[str, Any]) -> tuple[Dialect, list[str]]:
    """The dialect and the names of the columns."""
    text = raw.decode(encoding, errors="replace").lstrip("\ufeff")
    whole = len(raw) < SAMPLE_BYTES
    quote = options.get("quote", '"')
    said = _SEPARATOR_LINE.match(text)  # Excel's own first line
    if said:
        text = text[said.end() :]
    by_name = "\t" if path.suffix.lower() in (".tsv", ".tab") else None
    delimiter = options.get("delimiter") or (said and said.group(1)) or by_name or _delimiter(text, quote, whole)
    if len(delimiter) != 1 or len(quote) != 1:
        raise UsageError("delimiter and quote must be one character each.", hint="For example delimiter=';'.")
    rows = _rows(text, delimiter, quote, whole)
    if not rows:
        raise UnreadableError(f"file '{path}' is empty.", hint="It needs at least a line with the names of the columns.")
    header = options.get("header")
    if header is None:
        header = _has_header(rows)
    names = rows[0] if header else [f"column{i}" for i in range(1, len(rows[0]) + 1)]
    unnamed = [i for i, n in enumerate(names, start=1) if not n.strip()]
    if unnamed:
        names = [n if n.strip() else f"column{i}" for i, n in enumerate(names, start=1)]
    return Dialect(delimiter, quote, bool(header), int(bool(said))), names


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
    return best


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


def guess_types(sample: Sequence[Any], dialect: Dialect, decimal: str | None) -> tuple[list[tuple[str, bool, bool]], str]:
    """For each column: SQL type, whether every value must be spelled exactly so, whether it has decimal commas; and the mark."""
    distinct = [[v for v in column.unique().to_pylist() if v is not None] for column in sample]
    if decimal is None:
        decimal = "," if dialect.delimiter != "," and any(_comma_decimals(v) for v in distinct) else "."
    return [_guess(values, decimal) for values in distinct], decimal


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
        return ("DOUBLE", False, True)
    if decimal == "." and all(_NUMBER.fullmatch(v) for v in values):
        return _number_type(values)
    if all(_DATE.fullmatch(v) and is_date(v) for v in values):
        return ("DATE", True, False)
    if all(_MOMENT.fullmatch(v) and is_date(v[:10]) for v in values):
        return ("TIMESTAMP", True, False)
    return text


def _number_type(values: Sequence[str]) -> tuple[str, bool, bool]:
    """A decimal where all have the same number of decimals; else a float, unless digits would be lost."""
    scales = {len(v.partition(".")[2]) for v in values}
    digits = max(len(v.replace("-", "").replace(".", "")) for v in values)
    if len(scales) == 1 and digits <= 17 and not any(v.startswith("-") and float(v) == 0 for v in values):
        return (f"DECIMAL(18, {scales.pop()})", True, False)
    return ("DOUBLE", False, False) if digits <= 15 else ("VARCHAR", False, False)


def is_date(text: str) -> bool:
    """Whether a text is a day of the calendar, as YYYY-MM-DD."""
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True
