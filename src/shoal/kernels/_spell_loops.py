"""Compiled spelling of doubles, in the fewest digits that read back as the same number, as Arrow spells them.

Takes    doubles, and :func:`powers_of_ten`
Keeps    the shortest digits, and of several as short the nearest; exponents from 1e+10 on and below 1e-6
Source   R. Giulietti, The Schubfach way to render doubles (2020), for numbers of many digits
Differs  numbers of at most six decimals and fifteen digits, most of those that people write, are found by one division
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.kernels._bytes import store_word
from shoal.kernels.jit import lean_njit

LEAST, MOST = -292, 324
"""The powers of ten that the digits of a double can need."""
DECIMALS = 6
SCALE = 1e6
DIGITS = 1e15
"""Two numbers of at most fifteen digits are never the same double."""
PLAIN_LEAST, PLAIN_MOST = -6, 9
"""The exponents of numbers that are written without one."""
WIDEST = 24
"""Bytes of the longest double: ``-2.2250738585072014e-308``."""
SPILL = 9
"""Bytes that may be written behind a number: room for them must be there."""
ONE, TWO, TEN, FORTY, HUNDRED, THOUSAND, MYRIAD, EIGHT = (np.uint64(n) for n in (1, 2, 10, 40, 100, 10**3, 10**4, 10**8))
POINT, ZERO = np.uint64(46), np.uint64(48)
ZEROS = np.uint64(0x3030303030303030)
TENS = np.array([10**n for n in range(20)], np.uint64)


@functools.cache
def powers_of_ten() -> npt.NDArray[np.uint64]:
    """The first 128 bits of 10ⁿ for n from :data:`LEAST` to :data:`MOST`, rounded up: high and low words."""
    words = np.empty((MOST - LEAST + 1, 2), np.uint64)
    for n in range(LEAST, MOST + 1):
        top, bottom = (10**n, 1) if n >= 0 else (1, 10**-n)
        shift = 127 - _log2_of_power(n)
        bits = ((top << shift) // bottom if shift >= 0 else top // (bottom << -shift)) + 1
        words[n - LEAST] = bits >> 64, bits & (2**64 - 1)
    words.flags.writeable = False
    return words


def _log2_of_power(n: int) -> int:
    """floor(log2(10ⁿ)), which the compiled loops find in the same way."""
    return (n * 1741647) >> 19


@lean_njit
def _high_word(a: Any, b: Any) -> Any:
    """The upper 64 bits of a product of 128."""
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    a1, a0, b1, b0 = a >> half, a & low, b >> half, b & low
    middle = a1 * b0 + ((a0 * b0) >> half)
    other = a0 * b1 + (middle & low)
    return a1 * b1 + (middle >> half) + (other >> half)


@lean_njit
def _rounded_to_odd(high: Any, low: Any, factor: Any) -> Any:
    """The upper 64 bits of 128 · 64 bits, with the last bit set where something is left below them."""
    below = high * factor
    carried = below + _high_word(low, factor)
    upper = _high_word(high, factor) + np.uint64(carried < below)
    return upper | np.uint64(carried > np.uint64(1))


@lean_njit
def _shortest(bits: Any, powers: Any) -> Any:
    """Digits and exponent of a finite double above zero: ``digits · 10**exponent``; the digits may end in zeros."""
    fraction = np.int64(bits & np.uint64(0xFFFFFFFFFFFFF))
    biased = np.int64((bits >> np.uint64(52)) & np.uint64(0x7FF))
    c = fraction + (np.int64(1) << 52) if biased else fraction
    q = (biased if biased else 1) - 1075
    uneven = fraction == 0 and biased > 1  # the next smaller double is only half as far away as the next larger
    k = (q * 1262611 - (524031 if uneven else 0)) >> 22
    h = q + ((-k * 1741647) >> 19) + 1
    high, low = powers[-k - LEAST, 0], powers[-k - LEAST, 1]
    left = _rounded_to_odd(high, low, np.uint64((4 * c - (1 if uneven else 2)) << h))
    value = _rounded_to_odd(high, low, np.uint64((4 * c) << h))
    right = _rounded_to_odd(high, low, np.uint64((4 * c + 2) << h))
    odd = np.uint64(c & 1)  # halfway to a neighbour, the even one of both is read
    left, right = left + odd, right - odd
    s = value >> TWO
    if s >= TEN:
        tens = s // TEN
        under, over = left <= FORTY * tens, FORTY * tens + FORTY <= right
        if under != over:
            return tens + np.uint64(over), k + 1
    under, over = left <= s << TWO, (s + ONE) << TWO <= right
    if under != over:
        return s + np.uint64(over), k
    half = (s << TWO) + TWO
    return s + np.uint64(value > half or (value == half and s & ONE == ONE)), k


@lean_njit
def eight_digits(number: Any) -> Any:
    """The digits of a number (uint64) below 10⁸ as eight bytes, the first digit lowest: halves, quarters and digits at once."""
    upper = number // MYRIAD
    fours = upper | ((number - MYRIAD * upper) << np.uint64(32))
    upper = ((fours * np.uint64(10486)) >> np.uint64(20)) & np.uint64(0x0000007F0000007F)
    twos = upper | ((fours - HUNDRED * upper) << np.uint64(16))
    upper = ((twos * np.uint64(103)) >> np.uint64(10)) & np.uint64(0x000F000F000F000F)
    return (upper | ((twos - TEN * upper) << np.uint64(8))) + ZEROS


@lean_njit
def put_digits(number: Any, n: int, out: Any, at: int) -> None:
    """The ``n`` digits of a whole number (uint64); up to seven bytes behind them are written too."""
    if n > 16:
        rest = number // (EIGHT * EIGHT)
        number -= rest * (EIGHT * EIGHT)
        if n == 17:  # as many as a double has at most
            out[at] = np.uint8(ZERO + rest)
        else:
            store_word(out, at, eight_digits(rest) >> np.uint64(8 * (24 - n)))
        at += n - 16
        n = 16
    if n > 8:
        rest = number // EIGHT
        number -= rest * EIGHT
        store_word(out, at, eight_digits(rest) >> np.uint64(8 * (16 - n)))
        at += n - 8
        n = 8
    store_word(out, at, eight_digits(number) >> np.uint64(8 * (8 - n)))


@lean_njit
def digits_of(number: Any) -> int:
    """How many digits a whole number (uint64) has: as many as the power of two at or below it, or one more."""
    log2 = (np.float64(number).view(np.int64) >> 52) - 1023
    n = int(log2 * 1233 >> 12) + 1 if number else 1
    return n + 1 if n < 20 and number >= TENS[n] else n


@lean_njit
def put_double(x: float, powers: Any, out: Any, at: int) -> int:
    """One double that is a number; where the next byte goes."""
    if np.isinf(x):
        return _put_infinite(x, out, at)
    if x < 0 or (x == 0 and 1 / x < 0):
        out[at] = 45
        at += 1
        x = -x
    m, exponent = np.uint64(0), 0
    if x * SCALE < DIGITS:
        m, exponent = np.uint64(np.int64(x * SCALE + 0.5)), -DECIMALS
    if x > 0 and (m == 0 or np.float64(m) / SCALE != x):
        m, exponent = _shortest(np.float64(x).view(np.uint64), powers)
    if m % THOUSAND == 0:
        m, exponent = m // THOUSAND, exponent + 3
    while m > 0 and m % TEN == 0:
        m, exponent = m // TEN, exponent + 1
    return _put_decimal(m, exponent if m else 0, out, at)


@lean_njit
def _put_infinite(x: float, out: Any, at: int) -> int:
    if x < 0:
        out[at] = 45
        at += 1
    out[at], out[at + 1], out[at + 2] = 105, 110, 102
    return at + 3


@lean_njit
def _put_decimal(m: Any, exponent: int, out: Any, at: int) -> int:
    """``m · 10**exponent``, m without zeros at its end, plainly or with an exponent."""
    n = digits_of(m)
    first = exponent + n - 1
    if first < PLAIN_LEAST or first > PLAIN_MOST:
        return _put_with_exponent(m, n, first, out, at)
    if exponent >= 0:
        put_digits(m, n, out, at)
        store_word(out, at + n, ZEROS)
        out[at + n + 8] = 48
        return at + n + exponent
    if first < 0:
        store_word(out, at, ZEROS - np.uint64(0x200))  # 0.000000
        put_digits(m, n, out, at + 1 - first)
        return at + 2 - exponent
    if n < 8:
        word = eight_digits(m) >> np.uint64(8 * (8 - n))
        whole = word & ((ONE << np.uint64(8 * first + 8)) - ONE)
        store_word(out, at, whole | (POINT << np.uint64(8 * first + 8)) | ((word - whole) << np.uint64(8)))
        return at + n + 1
    put_digits(m, n, out, at + 1)
    for i in range(at, at + first + 1):
        out[i] = out[i + 1]
    out[at + first + 1] = 46
    return at + n + 1


@lean_njit
def _put_with_exponent(m: Any, n: int, first: int, out: Any, at: int) -> int:
    """As ``1.5e+10`` and ``1e-7``."""
    if n > 1:
        put_digits(m, n, out, at + 1)
        out[at], out[at + 1] = out[at + 1], 46
        at += n + 1
    else:
        put_digits(m, 1, out, at)
        at += 1
    out[at], out[at + 1] = 101, 43 if first > 0 else 45
    at += 2
    size = np.uint64(abs(first))
    for power in (HUNDRED, TEN):
        if size >= power:
            out[at] = np.uint8(ZERO + size // power % TEN)
            at += 1
    out[at] = np.uint8(ZERO + size % TEN)
    return at + 1
