"""What the rule lets stay: three digits of a ZIP code, years, ages up to 89 and one group above.

45 CFR 164.514(b)(2)(i)(B): the first three digits of a ZIP code where the area holds more than 20,000 people, else 000.
(C): no element of a date but the year; ages over 89, and years that tell such an age, only as one group "90 or older".
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from shoal.find.name_words import raw_words
from shoal.find.safe_harbor.spellings import date_share, day_or_month, month_or_weekday_share
from shoal.find.topics import expanded
from shoal.find.vocabulary import folded, word_set

OLDEST = 89
"""The highest age that may be published."""
NOBODY = 120
"""A band that ends here or above is open: nobody is older."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_OPEN_ABOVE = re.compile(
    r"\+|>|≥|&gt|\b(plus|over|above|older|more|up|onwards|later|after|since|from|ab|uber|mehr|alter|mas|mais|piu|oltre|ouder|"
    r"meer|vanaf|ge|gt|max|inf)\b|∞"
)
_OPEN_BELOW = re.compile(
    r"<|≤|\b(under|below|less|younger|fewer|earlier|before|until|up to|bis|unter|moins|menos|meno|minder|lt|le)\b"
)


class Reach(NamedTuple):
    """The numbers that a label stands for, ends included."""

    low: float
    high: float


def reach(label: str) -> Reach | None:
    """The ages or years that a label stands for; None where it holds no number.

    >>> reach("85-94"), reach("[85, 90)"), reach("90+"), reach("under 18"), reach("34"), reach("*")
    (Reach(low=85.0, high=94.0), Reach(low=85.0, high=89.0), Reach(low=90.0, high=inf), Reach(low=-inf, high=17.0), \
Reach(low=34.0, high=34.0), None)
    """
    plain = folded(label.strip())
    numbers = [float(n.replace(",", ".")) for n in _NUMBER.findall(plain)]
    if not numbers:
        return None
    low, high = min(numbers), max(numbers)
    if len(numbers) == 1 and _OPEN_BELOW.search(plain):
        closed = re.search(r"≤|<=|\b(earlier|until|up to|bis|le)\b|\bor (less|younger|under|fewer)\b", plain)
        return Reach(-math.inf, low if closed else low - 1)
    if len(numbers) == 1 and _OPEN_ABOVE.search(plain):
        return Reach(low + 1 if re.search(r">(?!=)|\b(over|above|more than|older than|after|gt)\b", plain) else low, math.inf)
    if len(numbers) > 1 and (re.search(r"[)\[]$", plain) or re.search(r"<\s*\d", plain)):
        high -= 1  # the upper end is left out
    if re.fullmatch(r"\d{3}0'?s", plain):
        high = low + 9  # 1930s
    return Reach(low, high)


def too_old(labels: Iterable[str], *, per_year: float = 1.0) -> bool:
    """Whether labels tell ages above 89 otherwise than as one group that begins at 90 or below and has no end.

    >>> too_old(["34", "89"]), too_old(["34", "90"]), too_old(["34", "90+"]), too_old(["85-94"]), too_old(["90+", "95+"])
    (False, True, False, True, True)
    """
    over = set()
    for label in set(labels):
        age = reach(label)
        if age is not None and age.high / per_year >= OLDEST + 1:
            over.add((label, age))
    if not over:
        return False
    (_, age), *others = over
    return bool(others) or age.high / per_year < NOBODY or age.low / per_year > OLDEST + 1


def too_long_ago(labels: Iterable[str], year: int) -> bool:
    """Whether years tell an age above 89 in ``year`` otherwise than as one group without a beginning.

    Born 89 years before, a person is 88 or 89; born 90 years before, 89 or 90: that year belongs into the group.

    >>> too_long_ago(["1937", "1990"], 2026), too_long_ago(["1936"], 2026), too_long_ago(["1936 or earlier", "1937"], 2026)
    (False, True, False)
    """
    last = year - OLDEST - 1
    over = set()
    for label in set(labels):
        reached = reach(label)
        if reached is not None and reached.low <= last:
            over.add((label, reached))
    if not over:
        return False
    (_, reached), *others = over
    return bool(others) or reached.low > 0 or reached.high < last


def fine_zip(labels: Iterable[str]) -> str:
    """Why ZIP codes may not stay as they are; empty where they may.

    >>> fine_zip(["021", "000", "10*"]), bool(fine_zip(["02139"])), bool(fine_zip(["036"])), bool(fine_zip(["36", "606"]))
    ('', True, True, True)
    """
    from shoal.hierarchies.builders.postcodes import SMALL_ZIP3  # loads every builder of levels

    known = [label.strip() for label in labels]
    numbers = any(re.fullmatch(r"\d{3}", label) for label in known)  # then 36 is 036, which lost its zero
    for label in known:
        digits = re.match(r"\d*", label)
        shown = digits.group() if digits else ""
        shown = shown.zfill(3) if numbers and shown == label else shown
        if len(shown) > 3 or (digits and re.search(r"\d{2,}", label[digits.end() :])):
            return "it shows more than the first three digits of ZIP codes"
        if len(shown) == 3 and shown in SMALL_ZIP3:
            return "it shows a three-digit ZIP area with at most 20,000 people; it must be 000"
    return ""


def fine_date(labels: Iterable[str]) -> str:
    """Why dates may not stay as they are; empty if only years are published."""
    values = list(labels)
    if any(map(day_or_month, values)) or date_share(values) > 0 or month_or_weekday_share(values) > 0:
        return "it shows more of dates than the year"
    if any(reach(v) is not None and not _year_like(v) for v in values):
        return "it shows parts of dates other than years"
    return ""


def _year_like(label: str) -> bool:
    return all(re.fullmatch(r"1[5-9]\d\d|2[01]\d\d", n.split(".")[0]) for n in _NUMBER.findall(folded(label)))


_DEATH = word_set("safe_harbor", "death")
_FILLERS = word_set("safe_harbor", "not an event")
LEAST = 3
_YEAR = re.compile(r"(?<!\d)(1[89]\d\d|20\d\d)(?!\d)")
_AGE = re.compile(r"\d{1,3}(\.\d+)?")


def _words(name: str) -> frozenset[str]:
    return frozenset((*expanded(name), *raw_words(name)))


def _alike(one: str, other: str) -> bool:
    """Whether two words begin alike: admission, admit, adm."""
    return len(one) >= LEAST and len(other) >= LEAST and one[:LEAST] == other[:LEAST]


def triples(kinds: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Columns of an age, of the year in which it was counted, and of a year of death, by the kinds of their classes and names.

    An age is counted at the event that its name says; an age without an event, at the only event that has a year.

    >>> triples({"age_at_admission": "age", "admission_year": "year", "diagnosis_year": "year", "death_year": "year"})
    [('age_at_admission', 'admission_year', 'death_year')]
    >>> triples({"age_at_death": "age", "admission_year": "year", "death_year": "year"})
    []
    """
    dated = [c for c, kind in kinds.items() if kind in ("year", "date")]
    deaths = [c for c in dated if _words(c) & _DEATH]
    events = [c for c in dated if c not in deaths]
    out = []
    for age in (c for c, kind in kinds.items() if kind == "age"):
        age_words = _words(age) - _FILLERS
        if age_words & _DEATH:
            continue
        named = [e for e in events if any(_alike(a, b) for a in age_words for b in _words(e) - _FILLERS)]
        if not named and len(events) == 1 and not age_words:
            named = events
        out += [(age, event, death) for event in named for death in deaths]
    return out


def reveals_age(rows: Iterable[Sequence[object]]) -> bool:
    """Whether an age, the year it was counted in and a year of death, row by row, give an age at death above 89.

    >>> reveals_age([("80", "2010", "2019")]), reveals_age([("80", "2010", "2020")]), reveals_age([("80-89", "2010", "2020")])
    (False, True, False)
    """
    for age, event, death in rows:
        match = _AGE.fullmatch(str(age))
        when, last = _YEAR.search(str(event)), _YEAR.search(str(death))
        if match and when and last and int(float(match.group())) + int(last.group()) - int(when.group()) > OLDEST:
            return True
    return False
