"""Places: which are as large as a state, so that the rule lets them stay."""

from __future__ import annotations

import re
from collections.abc import Iterable

from shoal.find.names.words import folded

_STATES = (
    "alabama al alaska ak arizona az arkansas ar california ca colorado co connecticut ct delaware de florida fl georgia ga "
    "hawaii hi idaho id illinois il indiana in iowa ia kansas ks kentucky ky louisiana la maine me maryland md massachusetts ma "
    "michigan mi minnesota mn mississippi ms missouri mo montana mt nebraska ne nevada nv ohio oh oklahoma ok oregon or "
    "pennsylvania pa tennessee tn texas tx utah ut vermont vt virginia va washington wa wisconsin wi wyoming wy "
    "nh nj nm ny nc nd ri sc sd wv dc pr gu vi as mp"
).split()
_TWO_WORDS = (
    "new hampshire",
    "new jersey",
    "new mexico",
    "new york",
    "north carolina",
    "north dakota",
    "rhode island",
    "south carolina",
    "south dakota",
    "west virginia",
    "district of columbia",
    "puerto rico",
)
STATES = frozenset((*_STATES, *_TWO_WORDS))
"""States and territories of the United States, by name and by two letters."""
LARGE = frozenset(
    (
        *("northeast", "midwest", "south", "west", "us", "usa", "united states"),
        *("new england", "middle atlantic", "mid atlantic", "east north central", "west north central", "south atlantic"),
        *("east south central", "west south central", "mountain", "pacific"),
    )
)
"""Regions and divisions of the census, which hold several states."""
KINDS = frozenset(
    "urban rural suburban metro nonmetro metropolitan micropolitan nonmetropolitan city town village inner outer small large "
    "medium yes no remote frontier mixed big open country".split()
)
"""Words for kinds of places, which name none."""
LARGE_WORDS = frozenset(
    "state states statecode statefips stfips fipst stcode st country countries countrycode nation continent land bundesland "
    "staat pais pays paese cntry ctry".split()
)
"""Words of names that say a place as large as a state."""


def as_large_as_a_state(words: Iterable[str], values: Iterable[str]) -> bool:
    """Whether a column of places stays: it is named a state or country and holds none smaller, or all values are states.

    >>> as_large_as_a_state(["home"], ["CA", "NY"]), as_large_as_a_state(["region"], ["Midwest"]), as_large_as_a_state([], ["x"])
    (True, True, False)
    """
    plain = {folded(v.strip()) for v in values}
    if plain and all(v in STATES or v in LARGE for v in plain):
        return True
    named = any(w in LARGE_WORDS for w in words)
    return named and len(plain) <= 300 and not any(re.fullmatch(r"\d{5,}(-\d+)?", v) for v in plain)


def kinds_of_places(values: Iterable[str]) -> bool:
    """Whether the values are kinds of places (urban, rural), not names of places.

    >>> kinds_of_places(["urban", "Small town"]), kinds_of_places(["Cook"])
    (True, False)
    """
    allowed = KINDS | {"or", "and", "area", "of"}
    said = [set(re.split(r"[^a-z]+", folded(v))) - {""} for v in values]
    return all(words and words <= allowed for words in said)
