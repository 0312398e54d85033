"""Words that stand in an order, in 40 languages: low to high, never to always, disagree to agree, no schooling to doctorate.

A ladder is a list of rungs, lowest first; each rung lists its spellings, folded. A column is ordered where every value stands on
a rung of one ladder and at least three rungs are used (two where the ladder says so).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache

from shoal.find.dates import CACHED, MONTHS, WEEKDAYS
from shoal.find.name_words import inflected
from shoal.find.vocabulary import folded, ranked, sections, texts, word_set
from shoal.kernels.text import Pattern

KINDS = (
    "amount", "how often", "frequency", "agreement", "satisfaction", "quality", "importance", "trend", "weight class",
    "age group", "rank", "certainty", "class", "job level", "intensity",
)  # fmt: skip
"""Kinds of order, in the order in which they are tried."""
LADDERS = {"month": MONTHS, "weekday": WEEKDAYS} | {kind: ranked("orders", kind) for kind in KINDS}
LEAST_SHORT = 3
"""Rungs that must be used if all values are abbreviations of one or two signs."""
COMMON = 0.7
"""Share of the values from which a word that they begin or end with says nothing of their order."""
_YES_NO = word_set("values", "yes or no")


@cache
def _places() -> dict[str, dict[str, int]]:
    return {kind: {word: rank for rank, rung in enumerate(rungs) for word in rung} for kind, rungs in LADDERS.items()}


@lru_cache(maxsize=CACHED)
def _rungs(text: str) -> dict[str, int]:
    """The rung of a word, in any gender and number, on every ladder that has one."""
    forms = inflected(text)
    ranks = ((kind, next((places[form] for form in forms if form in places), None)) for kind, places in _places().items())
    return {kind: rank for kind, rank in ranks if rank is not None}


def ladder_order(values: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The kind of ladder and the values from low to high; empty texts if the values are not a ladder.

    >>> ladder_order(["medium", "low", "high"])
    ('amount', ('low', 'medium', 'high'))
    >>> ladder_order(["Insatisfaction", "Satisfaction", "Equilibre"])[1]
    ('Insatisfaction', 'Equilibre', 'Satisfaction')
    >>> ladder_order(["red", "blue", "low"])
    ('', ())
    """
    plain = {v: _plain(v) for v in values}
    if len(values) < 2 or set(plain.values()) <= _YES_NO:
        return "", ()
    return _on_rungs(values, plain) or _on_rungs(values, _without_common(plain)) or ("", ())


OPINIONS = ("agreement", "satisfaction", "importance", "frequency", "how often", "quality", "intensity")
"""Kinds of answers about opinions and habits."""
MOST, LEAST_ANSWERS = 0.6, 3
"""Share and number of different answers that stand on one ladder, from which the others are answers of it too."""


def answers_of_opinion(values: Sequence[str]) -> bool:
    """Whether texts are answers about opinions or habits, also if some of them are spelled as no list has them.

    >>> answers_of_opinion(["agree", "disagree", "strongly agree", "cannot agree more"]), answers_of_opinion(["a", "agree"])
    (True, False)
    """
    if not values:
        return False
    rungs = [_rungs(_plain(v)) or _rungs(_first_words(v)) for v in values]
    known = max(sum(kind in ranks for ranks in rungs) for kind in OPINIONS)
    return known >= MOST * len(values) and (
        known >= LEAST_ANSWERS or (known == len(values) and ladder_order(values)[0] in OPINIONS)
    )


@lru_cache(maxsize=CACHED)
def _first_words(text: str) -> str:
    """The words before the first sign of an answer that says more: "often, but not daily", "good (5-8 h)"."""
    return re.split(r"\s*[,;:(]|\s[–-]\s", _plain(text), maxsplit=1)[0]


def _without_common(plain: dict[str, str]) -> dict[str, str]:
    """The texts without a word that most of them end or begin with: low risk, medium risk; grade: poor, grade: fair."""
    for end in (-1, 0):
        words = Counter(text.split()[end] for text in plain.values() if " " in text)
        word, n = words.most_common(1)[0] if words else ("", 0)
        if n >= 2 and n >= COMMON * len(plain):
            return {
                v: (text.removesuffix(" " + word) if end else text.removeprefix(word + " ")).strip(" :-")
                for v, text in plain.items()
            }
    return {}


def _on_rungs(values: Sequence[str], plain: dict[str, str]) -> tuple[str, tuple[str, ...]] | None:
    """The first ladder that has a rung of its own for every text."""
    if not plain:
        return None
    stood = {v: _rungs(p) for v, p in plain.items()}
    short = all(len(p) < 3 for p in plain.values())
    for kind in LADDERS:
        rungs = {v: ranks[kind] for v, ranks in stood.items() if kind in ranks}
        if len(rungs) == len(plain) and len(set(rungs.values())) == len(values) >= (LEAST_SHORT if short else 2):
            return kind, tuple(sorted(values, key=lambda v: rungs[v]))
    return None


@lru_cache(maxsize=CACHED)
def _plain(text: str) -> str:
    """Folded, without a number or letter in front ("1 = low", "(2) medium") and brackets around."""
    plain = folded(text.strip()).strip(".[]()\"'")
    return (
        re.sub(r"^\(?\d{1,2}\)?\s*[.:=)\-]+\s*|_", lambda m: " " if m.group() == "_" else "", plain).strip()
        if plain not in _RAW
        else plain
    )


_RAW = frozenset(word for rungs in LADDERS.values() for rung in rungs for word in rung if "_" in word)


_SCHOOLING = {section: Pattern("|".join(texts("schooling", section))) for section in sections("schooling")}
_UNFINISHED, _FINISHED = _SCHOOLING.pop("not finished"), _SCHOOLING.pop("finished")
_HEIGHTS = tuple((float(height), pattern) for height, pattern in _SCHOOLING.items())
"""Heights of schooling with what says so, in the order in which they are tried; the last: never went to school."""
_NUMBERED = Pattern(r"(?:grade|class|year|jahr|annee|ano|anno)?\s*(\d{1,2})(?:st|nd|rd|th)?\b.*")


def schooling_order(values: Sequence[str]) -> tuple[str, ...]:
    """Labels of schooling from low to high; empty where a label does not speak of schooling or two speak of the same height.

    >>> schooling_order(["Masters", "HS-grad", "10th", "Bachelors", "Some-college"])
    ('10th', 'HS-grad', 'Some-college', 'Bachelors', 'Masters')
    """
    heights = {v: _height(folded(v)) for v in values}
    if len(values) < 3 or any(h is None for h in heights.values()) or len(set(heights.values())) < 0.7 * len(values):
        return ()
    return tuple(sorted(values, key=lambda v: heights[v] or (0.0, 0.0)))


def _height(text: str) -> tuple[float, float] | None:
    plain = text.replace("_", " ")
    never = _HEIGHTS[-1][1].search(plain)
    if never and not re.search(r"less than", plain):
        return 0.0, 0.0
    for height, pattern in _HEIGHTS:
        if pattern.search(plain):
            half = (
                -0.2
                if _UNFINISHED.search(plain) and "some college" not in plain.replace("-", " ")
                else 0.2
                if _FINISHED.search(plain)
                else 0.0
            )
            number = _NUMBERED.match(plain)
            return height + half, float(number.group(1)) if number else 0.0
    return None
