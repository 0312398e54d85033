"""Awkward rows, with the type of each column in the words of :mod:`engines.targets`."""

from __future__ import annotations

import datetime as dt
import itertools
from decimal import Decimal
from typing import Any

NAN = float("nan")

TEXTS = [
    None, "", " ", "a", "A", "a ", "a  ", " a", "ä", "Ä", "ae", "á", "a\u0301", "ß", "ss", "SS", "ı", "i", "I", "İ",
    "'", '"', "`", "\\",
    "''", "a'b", 'a"b', "a\\b", "%", "_", "%s", "{}", "$1", "?", ":x", "NULL", "null", "None", "nan", "NaN", "0", "00", "1", "01",
    "1.0", "true", "line\nbreak", "tab\there", "\r", "; DROP TABLE t; --", "=1+1", "😀", "\u03a9", "\u2126", "日本",
    "\u200b", "x" * 3000,
    "x" * 2999 + "y", "*",
]  # fmt: skip

NUMBERS = [None, 0, 1, -1, 2**31, -(2**31) - 1, 2**53 + 1, 2**53, 2**63 - 1, -(2**63)]
FLOATS = [None, NAN, 0.0, -0.0, 1.0, 0.1, 0.1 + 0.2, 0.3, 1e300, -1e-300, 5e-324, float(2**53), 123456789.123456789]
DECIMALS = [None, Decimal("0.0000"), Decimal("0.0001"), Decimal("-1.5000"), Decimal("1234567890123456.7891"), Decimal("2.0000")]
FINE = [None, Decimal("0.0000001000"), Decimal("1.0000000000"), Decimal("-0.0000000001")]
WIDE = [None, Decimal(10**37), Decimal(10**37 + 1), Decimal(-(10**37)), Decimal(0)]
DATES = [
    None,
    dt.date(1970, 1, 1),
    dt.date(1, 1, 1),
    dt.date(1582, 10, 15),
    dt.date(1900, 2, 28),
    dt.date(2024, 2, 29),
    dt.date(9999, 12, 31),
]
MOMENTS = [
    None, dt.datetime(1970, 1, 1), dt.datetime(2024, 2, 29, 23, 59, 59, 999999), dt.datetime(2024, 2, 29, 23, 59, 59),
    dt.datetime(2024, 3, 31, 2, 30), dt.datetime(1950, 1, 1, 0, 0, 0, 1), dt.datetime(2024, 1, 1, 12, 0, 0, 500000),
]  # fmt: skip
BOOLEANS = [None, True, False]

COLUMNS: dict[str, tuple[str, list[Any]]] = {
    "text": ("text", TEXTS),
    "integer": ("integer", NUMBERS),
    "float": ("float", FLOATS),
    "decimal": ("decimal", DECIMALS),
    "fine": ("fine", FINE),
    "wide": ("wide", WIDE),
    "date": ("date", DATES),
    "timestamp": ("timestamp", MOMENTS),
    "boolean": ("boolean", BOOLEANS),
}

TYPES = {name: kind for name, (kind, _) in COLUMNS.items()} | {"person": "integer", "weight": "float"}


def rows(n: int = 400) -> list[dict[str, Any]]:
    """``n`` rows in which every awkward value occurs, values of different columns drifting past each other."""
    cycles = {name: itertools.cycle(values) for name, (_, values) in COLUMNS.items()}
    out: list[dict[str, Any]] = []
    for i in range(n):
        row = {name: next(cycle) for name, cycle in cycles.items()}
        row["person"] = None if i % 50 == 49 else i // 3
        row["weight"] = 0.5 + i % 4
        out.append(row)
    return out
