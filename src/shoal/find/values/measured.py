"""Numbers that are written with a sign or a unit, and are texts to a reader of files: 10.65%, $1,234.50, € 12, <5, 12 kg."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from shoal.find.values.dates import CACHED
from shoal.find.values.identifiers import spread
from shoal.kernels.text import Pattern

FEWEST, SHARE, BELOW = 10, 0.95, 0.2
"""Different values, share of them that is a number with the same sign, and the most of them that tell a limit only (<5)."""
_SIGN = r"[$€£¥₹%‰°]|us\$|r\$|chf|eur|usd|gbp"
_UNIT = (
    r"kg|g|mg|µg|ug|lbs?|oz|st|cm|mm|m|km|in|inch|inches|ft|miles?|mi|ml|cl|dl|l|h|hrs?|hours?|min|mins|minutes?|s|sec|secs|ms|"
    r"years?|yrs?|months?|weeks?|days?|jahre?|tage?|monate?|stunden|ans|mois|jours|anos|años|meses|dias|anni|jaar|mmhg|bpm|mmol|"
    r"kcal|kwh|w|kw|m2|m²|m³|sqft|sqm|pct|percent|prozent|points?|pts|euros?|dollars?|k|mio|mn|bn"
)
_WRITTEN = Pattern(
    rf"(?P<limit>[<>≤≥]=?\s*)?[-+−(]?\s*(?P<before>{_SIGN})?\s*[-+−]?"
    rf"(?:\d{{1,3}}(?:[., '’]\d{{3}})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?)"
    rf"\s*(?P<after>{_SIGN}|(?:{_UNIT})(?:/[^\W\d_]{{1,6}})?)?\s*\)?"
)


def written_amounts(values: Sequence[str]) -> bool:
    """Whether nearly all texts are numbers with one sign or unit, or with marks between their thousands.

    >>> written_amounts([f"${n},000.50" for n in range(1, 30)]), written_amounts([f"{n} kg" for n in range(50, 99)])
    (True, True)
    >>> written_amounts([f"{n}{'abcdefghijklm'[n % 13]}" for n in range(99)])
    False
    """
    looked = spread(values)
    if len(looked) < FEWEST:
        return False
    told = [sign for v in looked if (sign := _sign_of(v)) is not None]
    limits = sum(v[:1] in "<>≤≥" for v in looked)
    if len(told) < SHARE * len(looked) or limits > BELOW * len(looked):
        return False
    common = Counter(sign for sign in told if sign).most_common(1)
    thousands = any(re.search(r"\d[,.' ]\d{3}(?!\d)", v) for v in looked)
    return common[0][1] >= SHARE * len(looked) if common else thousands or limits > 0


@lru_cache(maxsize=CACHED)
def _sign_of(text: str) -> str | None:
    """The sign or unit that a number is written with, empty where it has none; None where the text is no number."""
    found = _WRITTEN.fullmatch(text.strip().lower())
    return None if found is None else (found["before"] or found["after"] or "")
