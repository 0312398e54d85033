"""Two rows of heading: names and labels, in text files and workbooks alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

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
