"""Compiled loops that read numbers and days from their usual spelling.

A text that is spelled otherwise is marked in ``unsure`` and counted; whoever calls has it read another way. All take the bytes,
where the texts begin and end, and the form of each field (:mod:`shoal.kernels._csv_loops`); ``blanks`` around a number are no
part of it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shoal.kernels._csv_loops import DOUBLED, MISSING
from shoal.kernels.jit import lean_njit

EXACT = 15
"""Digits of which every number has a float of its own."""
MOST = 17
"""Digits that programs write of a float at most."""
POWERS = np.array([10**i for i in range(19)], np.int64)
TENS = np.array([float(10**i) for i in range(23)])
"""The powers of ten that a float holds exactly."""
MONTHS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], np.int64)
_ZERO, _MINUS, _BLANK, _COLON = 48, 45, 32, 58


@lean_njit
def _first(data: Any, start: int, end: int) -> int:
    while start < end and data[start] == _BLANK:
        start += 1
    return start


@lean_njit
def _last(data: Any, start: int, end: int) -> int:
    while end > start and data[end - 1] == _BLANK:
        end -= 1
    return end


@lean_njit
def decimals(data: Any, starts: Any, ends: Any, forms: Any, blanks: bool, mark: int, scale: int, out: Any, unsure: Any) -> int:
    """Numbers of exactly ``scale`` digits behind the ``mark``, in units of the last; whole numbers where that is 0.

    At most 18 digits, no needless zero, no minus zero.
    """
    left = 0
    for i in range(len(starts)):
        if forms[i] == MISSING:
            out[i] = 0
            continue
        start, end = starts[i], ends[i]
        if blanks:
            start = _first(data, start, end)
            end = _last(data, start, end)
        minus = start < end and data[start] == _MINUS
        if minus:
            start += 1
        whole = end - scale - 1 if scale else end  # where the mark stands
        fits = forms[i] != DOUBLED and whole > start and end - start <= 18 + (scale > 0)
        value: Any = 0
        if fits:
            for at in range(start, end):
                if at == whole:
                    fits &= data[at] == mark
                else:
                    digit = np.int64(data[at]) - _ZERO
                    fits &= (digit >= 0) & (digit <= 9)
                    value = value * 10 + digit
            fits &= data[start] != _ZERO or whole - start == 1
            fits &= value != 0 or not minus
        if not fits:
            unsure[i] = True
            left += 1
            value = 0
        out[i] = -value if minus else value
    return left


@lean_njit
def _number(data: Any, start: int, digits: int) -> int:
    """So many digits as a number; −1 where one of them is none."""
    value: Any = 0
    for at in range(start, start + digits):
        digit = np.int64(data[at]) - _ZERO
        if digit < 0 or digit > 9:
            return -1
        value = value * 10 + digit
    return int(value)


@lean_njit
def _day(data: Any, start: int, months: Any) -> int:
    """Days since 1970 of YYYY-MM-DD, from the year 1 on; −1,000,000 where it is none."""
    none = -1_000_000
    if data[start + 4] != _MINUS or data[start + 7] != _MINUS:
        return none
    year, month, day = _number(data, start, 4), _number(data, start + 5, 2), _number(data, start + 8, 2)
    if year < 1 or month < 1 or month > 12 or day < 1:
        return none
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if day > months[month - 1] + (leap and month == 2):
        return none
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400
    for m in range(month - 1):
        days += months[m]
    return days + (leap and month > 2) + day - 1 - 719_162


@lean_njit
def days(data: Any, starts: Any, ends: Any, forms: Any, months: Any, out: Any, unsure: Any) -> int:
    """Days since 1970 of YYYY-MM-DD."""
    left = 0
    for i in range(len(starts)):
        out[i] = 0
        if forms[i] == MISSING:
            continue
        day = _day(data, starts[i], months) if forms[i] != DOUBLED and ends[i] - starts[i] == 10 else -1_000_000
        if day == -1_000_000:
            unsure[i] = True
            left += 1
        else:
            out[i] = day
    return left


@lean_njit
def moments(data: Any, starts: Any, ends: Any, forms: Any, months: Any, out: Any, unsure: Any) -> int:
    """Microseconds since 1970 of YYYY-MM-DD HH:MM:SS."""
    left = 0
    for i in range(len(starts)):
        out[i] = 0
        if forms[i] == MISSING:
            continue
        start = starts[i]
        fits = forms[i] != DOUBLED and ends[i] - start == 19
        fits = fits and data[start + 10] == _BLANK and data[start + 13] == _COLON and data[start + 16] == _COLON
        if fits:
            day = _day(data, start, months)
            hour, minute, second = _number(data, start + 11, 2), _number(data, start + 14, 2), _number(data, start + 17, 2)
            fits = day != -1_000_000 and 0 <= hour <= 23 and 0 <= minute <= 59 and 0 <= second <= 59
            if fits:
                out[i] = (((day * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000
        if not fits:
            unsure[i] = True
            left += 1
    return left


@lean_njit
def floats(
    data: Any,
    starts: Any,
    ends: Any,
    forms: Any,
    blanks: bool,
    mark: int,
    shortest: bool,
    powers: Any,
    tens: Any,
    out: Any,
    unsure: Any,
) -> int:
    """The nearest float of digits with or without a ``mark`` and digits behind it; no needless zero in front, no exponent.

    ``shortest``: digits beyond :data:`EXACT` must be those that a program writes of the float.
    """
    left = 0
    for i in range(len(starts)):
        out[i] = 0.0
        if forms[i] == MISSING:
            continue
        start, end = starts[i], ends[i]
        if blanks:
            start = _first(data, start, end)
            end = _last(data, start, end)
        minus = start < end and data[start] == _MINUS
        if minus:
            start += 1
        value, whole, digits, fits = np.int64(0), end, 0, forms[i] != DOUBLED
        for at in range(start, end):
            digit = np.int64(data[at]) - _ZERO
            if 0 <= digit <= 9:
                if digits > 0 or digit > 0:
                    digits += 1
                value = value * 10 + digit
            elif data[at] == mark and whole == end:
                whole = at
            else:
                fits = False
                break
            if digits > MOST:
                fits = False
                break
        behind = end - whole - 1 if whole < end else 0
        fits = fits and whole > start and (whole == end or behind > 0) and behind < len(tens)
        fits = fits and (data[start] != _ZERO or whole - start == 1)
        if fits and digits > EXACT:
            found = _nearest(value, behind, shortest, powers)
            fits = found > 0.0
        else:
            found = value / tens[behind] if fits else 0.0
        if fits:
            out[i] = -found if minus else found
        else:
            unsure[i] = True
            left += 1
    return left


@lean_njit
def _nearest(value: Any, behind: int, shortest: bool, powers: Any) -> float:
    """The float nearest to ``value / 10**behind``; 0 where that is not certain, or not the one that a program writes so.

    A first guess is at most two floats away. How far (``off``, in steps of which there are ``2 * ten`` from one float to the
    next) is found in whole numbers modulo 2⁶⁴, which is exact as it is known to be small. A program writes the fewest digits that
    give the float back, and of those the nearest: so the number is less than half of its last place away from the float, and its
    two neighbours with one digit less lie outside of what is rounded to it.
    """
    while shortest and behind > 0 and value % 10 == 0:
        value //= 10
        behind -= 1
    if behind < 1 or behind > 18:
        return 0.0
    ten = powers[behind]
    fraction, exponent = math.frexp(np.float64(value) / np.float64(ten))
    mantissa = np.int64(fraction * 9007199254740992.0)
    shift = 54 - exponent  # the float is mantissa · 2^(1 − shift)
    if shift < 0 or shift > 58:
        return 0.0
    one = np.int64(1) << np.int64(shift)
    off = value * one - 2 * mantissa * ten
    while off > ten:
        mantissa += 1
        off -= 2 * ten
    while off < -ten:
        mantissa -= 1
        off += 2 * ten
    if off == ten or off == -ten or mantissa <= 4503599627370496 or mantissa >= 9007199254740992:
        return 0.0
    if shortest and value >= powers[EXACT]:
        last = value % 10
        if 2 * abs(off) >= one or abs(off - last * one) <= ten or abs(off + (10 - last) * one) <= ten:
            return 0.0
    return math.ldexp(np.float64(mantissa), 1 - shift)
