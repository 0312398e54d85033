"""Columns that tell an age above 89 only together: an age at one event, the year of that event, and the year of death."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from shoal.find.names.lexicon import expanded
from shoal.find.names.words import raw_words
from shoal.find.safe_harbor.classes import Classed
from shoal.find.safe_harbor.coarse import OLDEST

_DEATH = frozenset("death died dod deceased dead decease tod sterbe deces defuncion morte obito expired expiry".split())
_FILLERS = frozenset("age ages aged at of in on yr yrs year years date dt time the alter edad leeftijd".split())
LEAST = 3
_YEAR = re.compile(r"(?<!\d)(1[89]\d\d|20\d\d)(?!\d)")
_AGE = re.compile(r"\d{1,3}(\.\d+)?")


def _words(name: str) -> frozenset[str]:
    return frozenset((*expanded(name), *raw_words(name)))


def _alike(one: str, other: str) -> bool:
    """Whether two words begin alike: admission, admit, adm."""
    return len(one) >= LEAST and len(other) >= LEAST and one[:LEAST] == other[:LEAST]


def triples(classed: Mapping[str, Classed]) -> list[tuple[str, str, str]]:
    """Columns of an age, of the year in which it was counted, and of a year of death, by their classes and names.

    An age is counted at the event that its name says; an age without an event, at the only event that has a year.

    >>> age, year = Classed(3, "age", "", ""), Classed(3, "year", "", "")
    >>> triples({"age_at_admission": age, "admission_year": year, "diagnosis_year": year, "death_year": year})
    [('age_at_admission', 'admission_year', 'death_year')]
    >>> triples({"age_at_death": age, "admission_year": year, "death_year": year})
    []
    """
    dated = [c for c, found in classed.items() if found.kind in ("year", "date")]
    deaths = [c for c in dated if _words(c) & _DEATH]
    events = [c for c in dated if c not in deaths]
    out = []
    for age in (c for c, found in classed.items() if found.kind == "age"):
        said = _words(age) - _FILLERS
        if said & _DEATH:
            continue
        named = [e for e in events if any(_alike(a, b) for a in said for b in _words(e) - _FILLERS)]
        if not named and len(events) == 1 and not said:
            named = events
        out += [(age, event, death) for event in named for death in deaths]
    return out


def told(rows: Iterable[Sequence[object]]) -> bool:
    """Whether an age, the year it was counted in and a year of death, row by row, give an age at death above 89.

    >>> told([("80", "2010", "2019")]), told([("80", "2010", "2020")]), told([("80-89", "2010", "2020")])
    (False, True, False)
    """
    for age, event, death in rows:
        found = _AGE.fullmatch(str(age))
        when, last = _YEAR.search(str(event)), _YEAR.search(str(death))
        if found and when and last and int(float(found.group())) + int(last.group()) - int(when.group()) > OLDEST:
            return True
    return False
