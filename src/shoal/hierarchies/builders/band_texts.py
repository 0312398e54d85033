"""Bands written as text (``[0-10)``, ``25 to 34``, ``<18``, ``85+``): where they lie, and the text of several joined."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from shoal.kernels.text import Pattern

_NUMBER = r"-?\d+(?:[,' ]\d{3})*(?:\.\d+)?"
_MONEY = r"\s*[$€£]?\s*"
_BELOW_WORDS = r"(?:<=?|≤|under|below|less than|up to|unter|bis|moins de|menos de|minder dan)"
_FROM_WORDS = r"(?:>=?|≥|over|above|at least|ab|über|plus de|más de|meer dan)"
_BETWEEN = Pattern(
    rf"(?P<before>[\[(]?{_MONEY})(?P<low>{_NUMBER})"
    rf"(?P<middle>\s*[^\d,.<>-]{{0,8}}(?:\s*[-–—,;:]\s*|\s(?:to|bis|à|a|tot|until)\s){_MONEY})"
    rf"(?P<high>{_NUMBER})(?P<after>\s*[^\d]{{0,12}})"
)
_BELOW = Pattern(rf"(?P<before>{_BELOW_WORDS}{_MONEY})(?P<high>{_NUMBER})(?P<after>[^\d]{{0,12}})", re.IGNORECASE)
_FROM = Pattern(rf"(?P<before>(?:{_FROM_WORDS})?{_MONEY})(?P<low>{_NUMBER})(?P<after>\s*[^\d]{{0,24}})", re.IGNORECASE)
_OPEN_WORDS = Pattern(r"\+|more|over|older|above|up$|mehr|älter|plus|más|mas|mais|oltre|ouder|meer", re.IGNORECASE)


@dataclass(frozen=True)
class Band:
    """A band as it is written: its ends (None: open) and the pieces of text around them."""

    low: float | None
    high: float | None
    text: str
    low_text: str = ""
    high_text: str = ""
    before: str = ""
    middle: str = ""
    after: str = ""


def band_of(text: str) -> Band | None:
    """The band that a text writes; None where it writes none.

    >>> band_of("[40-50)").low, band_of("<18").high, band_of("85+").low, band_of("$10,000 - $14,999").high
    (40.0, 18.0, 85.0, 14999.0)
    >>> band_of("blue") is None, band_of("42") is None
    (True, True)
    """
    plain = text.strip()
    if found := _BETWEEN.fullmatch(plain):
        low, high = _value(found["low"]), _value(found["high"])
        if low <= high:
            return Band(low, high, plain, found["low"], found["high"], found["before"], found["middle"], found["after"])
        return None
    if found := _BELOW.fullmatch(plain):
        return Band(None, _value(found["high"]), plain, "", found["high"], found["before"], "", found["after"])
    found = _FROM.fullmatch(plain)
    if found and (found["before"].strip("$€£ ") or _OPEN_WORDS.search(found["after"])):
        return Band(_value(found["low"]), None, plain, found["low"], "", found["before"], "", found["after"])
    return None


def bands_in_order(texts: Sequence[str]) -> tuple[str, ...]:
    """The texts from low to high, where each is a band or a number, two at least are bands, and none lies across another.

    >>> bands_in_order(["[10-20)", "[0-10)", "[20-30)"]), bands_in_order(["1", "2"]), bands_in_order(["0-9", "5-20"])
    (('[0-10)', '[10-20)', '[20-30)'), (), ())
    """
    placed: list[tuple[float, float, str]] = []
    bands = 0
    for text in texts:
        band = band_of(text)
        if band is not None:
            bands += 1
            low = float("-inf") if band.low is None else band.low
            placed.append((low, float("inf") if band.high is None else band.high, text))
        elif re.fullmatch(_NUMBER, text.strip()):
            placed.append((_value(text.strip()), _value(text.strip()), text))
        else:
            return ()
    placed.sort()
    across = any(a[1] > b[0] or a[:2] == b[:2] for a, b in pairwise(placed))
    return () if bands < 2 or across else tuple(t for _, _, t in placed)


def joined(texts: Sequence[str]) -> str:
    """The text of neighbours joined, in the manner in which they are written.

    >>> joined(["[0-10)", "[10-20)"]), joined(["20-29", "30-39", "40-49"]), joined(["80-84", "85+"]), joined(["<20", "20-29"])
    ('[0-20)', '20-49', '80+', 'up to 29')
    >>> joined(["low"]), joined(["low", "medium"]), joined(["Jan", "Feb", "Mar"])
    ('low', 'low to medium', 'Jan to Mar')
    """
    first, last = texts[0], texts[-1]
    if len(texts) == 1:
        return first
    a, b = band_of(first), band_of(last)
    if a is None or b is None:
        return f"{first} to {last}"
    if a.low is not None and b.high is not None:
        return f"{a.before}{a.low_text}{a.middle or b.middle}{b.high_text}{b.after}"
    if a.low is not None:
        return f"{b.before}{a.low_text}{b.after}"
    if b.high is not None:
        half_open = b.after.strip().endswith((")", "["))
        return f"{a.before}{b.high_text}{a.after}" if half_open else f"up to {b.high_text}"
    return f"{first} to {last}"


def _value(text: str) -> float:
    return float(re.sub(r"[,' ](?=\d{3})", "", text))
