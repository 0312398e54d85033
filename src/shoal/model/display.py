"""What people see while and after Shoal works: numbers as text, and progress."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable
from typing import Any, TypeVar

SMALLEST = 1e-9
"""A smaller number is not written out."""
LEAST = "nearer to 0 than 0.000000001"


def written(x: float, digits: int = 6) -> str:
    """A number with so many significant digits, written out; without a fraction where it has more digits than that.

    >>> written(0.336), written(1234.5678, 4), written(12345.678, 4), written(1.02718e-05), written(2.7e-16), written(0.0)
    ('0.336', '1,235', '12,346', '0.0000102718', 'nearer to 0 than 0.000000001', '0')
    """
    text = f"{x:,.{digits}g}"
    if "e" not in text or not math.isfinite(x):
        return text
    if abs(x) >= 1:
        return f"{x:,.0f}"
    if abs(x) < SMALLEST:
        return LEAST
    places = digits - 1 - math.floor(math.log10(abs(x)))
    return f"{x:.{places}f}".rstrip("0")


def as_percent(x: float) -> str:
    """A share for people to read.

    >>> as_percent(0.4123), as_percent(0.0004), as_percent(1e-7), as_percent(0.99999), as_percent(0.0)
    ('41 %', '0.04 %', 'under 0.01 %', 'over 99.9 %', '0 %')
    """
    if x <= 0:
        return "0 %"
    if x < 0.0001:
        return "under 0.01 %"
    if 0.999 < x < 1:
        return "over 99.9 %"
    digits = 0 if 0.095 <= x <= 0.99 or x == 1 else 1 if x >= 0.01 else 2
    return f"{100 * x:.{digits}f} %"


def at_most(share: float) -> str:
    """The largest that a share can be.

    >>> at_most(0.0123), at_most(0.00001)
    ('at most 1.2 %', 'under 0.01 %')
    """
    text = as_percent(share)
    return text if text.startswith("under") else f"at most {text}"


_KEPT = "\n\t\u200c\u200d"
"""Control characters that texts need: ends of lines, tabs, and the joiners of Persian, Indic scripts and emoji."""


T = TypeVar("T")


def inert(value: T) -> T:
    """A text for a page or a terminal without control characters: no escape sequence, no change of direction, nothing invisible.

    >>> inert("age\\x1b[2J"), inert("\\u202efdp.exe"), inert(5)
    ('age�[2J', '�fdp.exe', 5)
    """
    if not isinstance(value, str) or value.isprintable():
        return value
    text: Any = value
    for c in {c for c in set(value) if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c not in _KEPT}:
        text = text.replace(c, "\N{REPLACEMENT CHARACTER}")  # of Markup, too, this is Markup
    return text  # type: ignore[no-any-return]


Progress = Callable[[float, str], None]
"""Called with the share done (0 to 1) and what is being done."""


def silent(done: float, what: str) -> None:
    """Progress that nobody watches."""


def one_in(chance: float) -> str:
    """A chance as people say it; only 0 is "none" and only 1 is "certain".

    >>> one_in(0.2), one_in(0.4), one_in(0.9), one_in(0.0834), one_in(0.3333), one_in(0.9999)
    ('1 in 5', '40 in 100', '90 in 100', 'about 1 in 12', 'about 33 in 100', 'nearly certain')
    >>> one_in(1.0), one_in(0.0), one_in(0.0001)
    ('certain', 'none', '1 in 10,000')
    """
    if chance <= 0.0:
        return "none"
    if chance >= 1.0:
        return "certain"
    turns, hundredths = 1.0 / chance, 100.0 * chance
    if abs(turns - round(turns)) < 1e-9 * turns:
        return f"1 in {round(turns):,}"
    if turns >= 10:
        return f"about 1 in {round(turns):,}"
    if hundredths >= 99.5:
        return "nearly certain"
    about = "" if abs(hundredths - round(hundredths)) < 1e-9 else "about "
    return f"{about}{round(hundredths)} in 100"
