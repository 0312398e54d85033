"""Bands written as text, in order: ``[10-20)``, ``25 to 34``, ``<18``, ``85+``, ``unter 20``, ``GT3``, ``$10,000 - $14,999``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from shoal.find.dates import CACHED
from shoal.find.identifiers import spread
from shoal.find.vocabulary import alternatives, folded, word_set
from shoal.kernels.text import Pattern

_N = r"-?\d+(?:[ .,']\d{3})*(?:[.,]\d+)?|-?\d+(?:[.,]\d+)?"


def _any(*names: str) -> str:
    return alternatives("quantities", *names)


_UNIT = rf"(?:\s*(?:{_any('unit')}|(?:{_any('per')}) ?(?:{_any('period')})))*"
_BELOW = Pattern(rf"(?:<=?|≤|{_any('below')})\s*\.?\s*({_N}){_UNIT}|({_N}){_UNIT}\s*(?:{_any('or below')})")
_ABOVE = Pattern(rf"(?:>=?|≥|{_any('above')})\s*\.?\s*({_N}){_UNIT}|({_N}){_UNIT}\s*(?:\+{_UNIT}|{_any('or above')})")
_BETWEEN = Pattern(rf"[\[\](]?\s*({_N}){_UNIT}\s*(?:-|–|—|;|:|,|/|<|{_any('to')})\s*<?\s*({_N}|inf|max)?{_UNIT}\s*[\])(]?")
_STRICT = Pattern(rf">(?!=)|{_any('strictly above')}")
_FROM = Pattern(rf"^(?:{_any('from')})\s+")
_SINGLE = Pattern(rf"({_N}){_UNIT}")
_DIGIT = re.compile(r"\d")
"""Each of them needs one: without, none is asked, and none has to be compiled."""
_LOWEST = word_set("quantities", "none")


@lru_cache(maxsize=CACHED)
def _single(plain: str) -> str:
    """The number of a text that is one, with a unit or a sign of money; empty where it is none."""
    match = _SINGLE.fullmatch(re.sub(r"[$€£]", "", plain)) if _DIGIT.search(plain) else None
    return match.group(1) if match else ""


@lru_cache(maxsize=CACHED)
def lower_end(text: str) -> tuple[float, int] | None:
    """Where a band begins: a number and, for equals, 0 for "below it", 1 for "from it", 2 for "above it"; None for other texts.

    >>> [lower_end(t) for t in ("[40-50)", "<18", "85+", "GT3", "$10,000 - $14,999", "blue")]
    [(40.0, 1), (18.0, 0), (85.0, 1), (3.0, 2), (10000.0, 1), None]
    """
    plain = re.sub(r"[$€£¥]|\busd\b|\beur\b", "", folded(text)).strip()
    if not _DIGIT.search(plain):
        return None
    plain = _FROM.sub("", plain)
    if match := _BELOW.fullmatch(plain):
        return _number(match), 0
    if match := _ABOVE.fullmatch(plain):
        strict = _STRICT.match(plain) is not None
        return _number(match), 2 if strict else 1
    if match := _BETWEEN.fullmatch(plain):
        return None if _upside_down(*match.groups()) else (_value(match.group(1)), 1)
    return None


def _upside_down(low: str, high: str | None) -> bool:
    """Whether a second number below the first makes it a code (718-7); 1998-99 is a span of years."""
    if high is None or not high[-1].isdecimal():
        return False
    years = len(low) == 4 and len(high) == 2 and low.isdecimal() and high.isdecimal()
    return _value(high) < _value(low) and not years


FEWEST_BANDS, MOST_BANDS = 4, 40
"""Labels among which one that is not a band is looked for."""


def odd_band(values: Sequence[str]) -> bool:
    """Whether all labels but one are bands, so that none has a place in an order.

    >>> odd_band(["0-4", "5-9", "10-14", "unknown"]), odd_band(["0-4", "5-9", "10-14", "15-19"]), odd_band(["0-4", "a", "b", "c"])
    (True, False, False)
    """
    words = [v for v in values if not any(map(str.isdigit, v))]
    if not FEWEST_BANDS <= len(values) <= MOST_BANDS or len(words) != 1 or band_order(values):
        return False
    return bool(band_order([v for v in values if v is not words[0]]))


def band_order(values: Sequence[str]) -> tuple[str, ...]:
    """The values from low to high, where they are bands (numbers and a word such as ``normal`` may stand among them); else empty.

    >>> band_order([">30", "NO", "<30"]), band_order(["a", "b"]), band_order(["1", "2", "3"])
    (('NO', '<30', '>30'), (), ())
    >>> band_order(["1 year", "10+ years", "2 years", "3 years"])
    ('1 year', '2 years', '3 years', '10+ years')
    """
    places: dict[str, tuple[float, int]] = {}
    bands, measured, none = 0, len(values) > 2, False
    unit = _common_unit(values)
    for value in values:
        plain = _without(folded(value.strip()), unit)
        end = lower_end(_without(value, unit))
        if end is not None:
            bands += 1
        elif single := _single(plain):
            end = (_value(single), 1)
            measured = measured and folded(value.strip()) != single  # with a unit: 1 year
        elif plain in _LOWEST:
            end, none = (float("-inf"), 0), len(values) > 3
        else:
            return ()
        places[value] = end
    open_ended = bands == 1 and (measured or none)
    if not open_ended and (bands < 2 or (bands < 0.4 * len(values) and not measured)):
        return ()
    return tuple(sorted(places, key=lambda v: places[v]))


def open_numbers(values: Sequence[str]) -> tuple[str, ...]:
    """Whole numbers with one or two open ends (``<18``, ``> 89``, ``90+``) that lie outside all others, in order; else empty.

    >>> open_numbers(["> 89", *(str(n) for n in range(60, 90))])[-2:]
    ('89', '> 89')
    >>> open_numbers(["1", ">3", "3", "2"]), open_numbers(["1", ">5", "5", "2"])
    (('1', '2', '3', '>3'), ())
    """
    numbers = [v for v in values if v.strip().isdecimal()]
    ends = [v for v in values if not v.strip().isdecimal()]
    if len(numbers) < SHORT_RUN or not 1 <= len(ends) <= 2:
        return ()
    places = {v: lower_end(v) for v in ends}
    low, high = min(map(int, numbers)), max(map(int, numbers))
    if len(numbers) < MOST_NUMBERS and (low > 1 or high - low + 1 != len(numbers) or None in places.values()):
        return ()
    if any(p is None or not (p[0] <= low if p[1] == 0 else p[0] >= high) for p in places.values()):
        return ()
    key = {v: (float(v), 1) for v in numbers} | {v: p for v, p in places.items() if p is not None}
    return tuple(sorted(values, key=lambda v: key[v]))


SHORT_RUN = 3
"""Numbers from 0 or 1 without a gap that an open end (``>3``, ``4+``) makes a scale."""
MOST_NUMBERS = 10
"""Numbers beside an open end from which they are a scale of numbers that was cut, not a few categories."""


def lowest_word(text: str) -> bool:
    """Whether a text says "none": the lowest of all."""
    return folded(text.strip()) in _LOWEST


def _common_unit(values: Sequence[str]) -> str:
    """The word that nearly all values end with, behind a number: ``1 a 2 SM``, ``2 a 5 SM``; empty where there is none."""
    ends = Counter(end for v in values if (end := _end_word(v)))
    word, n = ends.most_common(1)[0] if ends else ("", 0)
    return word if n >= 2 and n >= 0.6 * len(values) else ""


@lru_cache(maxsize=CACHED)
def _end_word(text: str) -> str:
    """The word behind a number at the end of a text."""
    match = re.search(r"\d\+?\s+([^\W\d_][\w²³.]{0,11})\s*$", folded(text))
    return match.group(1) if match else ""


def _without(text: str, unit: str) -> str:
    """A text without a unit at its end."""
    return text.strip()[: -len(unit)].strip() if unit and folded(text.strip()).endswith(" " + unit) else text


def _number(match: re.Match[str]) -> float:
    return _value(next(g for g in match.groups() if g is not None))


def _value(text: str) -> float:
    """A number with thousands marks of any kind."""
    plain = re.sub(r"(?<=\d)[ .,'](?=\d{3}(?:\D|$))", "", text)
    return float(plain.replace(",", "."))


FEWEST, SHARE, MOST_LIMITS = 10, 0.95, 0.2
"""Different values, share of them that is a number with the same sign, and the most of them that tell a limit only (<5)."""
_SIGN = r"[$€£¥₹%‰°]|us\$|r\$|chf|eur|usd|gbp"
_AMOUNT_UNIT = _any("amount unit")
_WRITTEN = Pattern(
    rf"(?P<limit>[<>≤≥]=?\s*)?[-+−(]?\s*(?P<before>{_SIGN})?\s*[-+−]?"
    rf"(?:\d{{1,3}}(?:[., '’]\d{{3}})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?)"
    rf"\s*(?P<after>{_SIGN}|(?:{_AMOUNT_UNIT})(?:/[^\W\d_]{{1,6}})?)?\s*\)?"
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
    signs = [sign for v in looked if (sign := _sign_of(v)) is not None]
    limits = sum(v[:1] in "<>≤≥" for v in looked)
    if len(signs) < SHARE * len(looked) or limits > MOST_LIMITS * len(looked):
        return False
    common = Counter(sign for sign in signs if sign).most_common(1)
    thousands = any(re.search(r"\d[,.' ]\d{3}(?!\d)", v) for v in looked)
    return common[0][1] >= SHARE * len(looked) if common else thousands or limits > 0


@lru_cache(maxsize=CACHED)
def _sign_of(text: str) -> str | None:
    """The sign or unit that a number is written with, empty where it has none; None if the text is not a number."""
    match = _WRITTEN.fullmatch(text.strip().lower())
    return None if match is None else (match["before"] or match["after"] or "")
