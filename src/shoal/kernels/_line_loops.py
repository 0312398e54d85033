"""Compiled writing of delimited lines: one column after the other, each cell behind the one before it in its line.

``out`` holds the lines, with room between them; ``at`` is where the next byte of each line goes, and moves on. ``missing`` is
empty where no value is. ``end`` is the byte behind the cell: a delimiter or a line break.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels._bytes import copy_bytes, load_word, store_word
from shoal.kernels._spell_loops import HUNDRED, MYRIAD, digits_of, eight_digits, put_digits, put_double
from shoal.kernels.jit import lean_njit

QUOTE = 34
CENTURIES = np.uint64(146097)
"""Days of 400 years."""
YEAR, MONTH, DASHES = np.uint64(0xFFFFFFFF), np.uint64(0xFFFF << 32), np.uint64(45 << 32 | 45 << 56)


@lean_njit
def put_texts(offsets: Any, data: Any, missing: Any, quoted: bool, doubling: bool, out: Any, at: Any, end: int) -> None:
    """Texts of an Arrow string array, in quotes or bare; quotes inside are doubled where ``doubling`` says there are any."""
    some = len(missing) > 0
    for i in range(len(at)):
        to = at[i]
        if not (some and missing[i]):
            if quoted:
                out[to] = QUOTE
                to += 1
            if doubling:
                for j in range(offsets[i], offsets[i + 1]):
                    if data[j] == QUOTE:
                        out[to] = QUOTE
                        to += 1
                    out[to] = data[j]
                    to += 1
            else:
                to = copy(data, offsets[i], offsets[i + 1], out, to)
            if quoted:
                out[to] = QUOTE
                to += 1
        out[to] = end
        at[i] = to + 1


@lean_njit
def copy(data: Any, start: int, stop: int, out: Any, to: int) -> int:
    """Bytes from one array into another, words of a short text at once; where the next one goes."""
    size = stop - start
    if size <= 64 and stop + 8 <= len(data):
        for j in range(0, size, 8):
            store_word(out, to + j, load_word(data, start + j))
    else:
        copy_bytes(data, start, size, out, to)
    return to + size


@lean_njit
def put_integers(values: Any, missing: Any, out: Any, at: Any, end: int) -> None:
    """Whole numbers (int64)."""
    some = len(missing) > 0
    for i in range(len(at)):
        to = at[i]
        if not (some and missing[i]):
            number = np.uint64(values[i])
            if values[i] < 0:
                out[to] = 45
                to += 1
                number = np.uint64(0) - number
            n = digits_of(number)
            put_digits(number, n, out, to)
            to += n
        out[to] = end
        at[i] = to + 1


@lean_njit
def put_doubles(values: Any, missing: Any, powers: Any, out: Any, at: Any, end: int) -> None:
    """Doubles; one that is no number is missing."""
    some = len(missing) > 0
    for i in range(len(at)):
        to = at[i]
        if not (some and missing[i]) and values[i] == values[i]:
            to = put_double(values[i], powers, out, to)
        out[to] = end
        at[i] = to + 1


@lean_njit
def put_dates(values: Any, missing: Any, out: Any, at: Any, end: int) -> None:
    """Days since 1970 (int32) as ``2024-02-29``, of the years 0 to 9999.

    Years that begin in March put the odd day at their end; 400 of them have 146,097 days (the days of the civil calendar).
    """
    some = len(missing) > 0
    for i in range(len(at)):
        to = at[i]
        if not (some and missing[i]):
            year, month, day = _of_march_years(np.uint64(values[i] + 719468))
            word = eight_digits(year * MYRIAD + month * HUNDRED + day)
            store_word(out, to, word & YEAR | (word & MONTH) << np.uint64(8) | DASHES)
            store_word(out, to + 8, word >> np.uint64(48))
            to += 10
        out[to] = end
        at[i] = to + 1


@lean_njit
def _of_march_years(days: Any) -> Any:
    """Year, month and day of a number of days since the first of March of the year 0."""
    era = days // CENTURIES
    rest = days - era * CENTURIES
    leap = rest // np.uint64(1460) - rest // np.uint64(36524) + rest // np.uint64(146096)
    year = (rest - leap) // np.uint64(365)
    day = rest - (year * np.uint64(365) + year // np.uint64(4) - year // HUNDRED)
    month = (day * np.uint64(5) + np.uint64(2)) // np.uint64(153)
    day = day - (month * np.uint64(153) + np.uint64(2)) // np.uint64(5) + np.uint64(1)
    early = np.uint64(month >= np.uint64(10))  # January and February are of the next year
    return year + era * np.uint64(400) + early, month + np.uint64(3) - np.uint64(12) * early, day


@lean_njit
def joined(starts: Any, ends: Any, lines: Any, out: Any) -> int:
    """The lines one behind the other; how many bytes they are."""
    to = 0
    for i in range(len(starts)):
        copy_bytes(lines, starts[i], ends[i] - starts[i], out, to)
        to += ends[i] - starts[i]
    return to
