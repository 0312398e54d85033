"""Numbers that are given to people, households, records or things, told by the name and by how many there are."""

from __future__ import annotations

import re

from shoal.find.finding import Scale
from shoal.find.names.lexicon import BY_KEY, expanded
from shoal.find.names.words import raw_words
from shoal.find.roles.keys import below_zero
from shoal.find.roles.seen import FEWEST_ROWS, Decision, Seen
from shoal.model.roles import Role

CODED = ("postcode", "place", "country", "birth_place", "occupation", "industry", "diagnosis", "drug")
"""Topics that are written as codes: these name a place or a thing, also where every row has its own."""
CLUSTERED = 0.1
"""Clusters per record from which they are groups of a few records."""


def numbered(seen: Seen) -> Decision | None:
    """A number of something, different in nearly every row, whatever the something is."""
    facts = seen.facts
    words = set(expanded(facts.name))
    if not words & {"id", "nr", "no", "number", "num", "nbr", "nummer", "numero", "uid", "key", "code"} or facts.kind not in (
        "text",
        "integer",
    ):
        return None
    if facts.distinct < 0.9 * facts.filled or facts.filled < FEWEST_ROWS or seen.found.scale is Scale.DATE or below_zero(facts):
        return None
    if seen.topic is not None and seen.topic.key in CODED and "code" in words:
        return None
    topic = seen.topic if seen.topic is not None and seen.topic.role is Role.DIRECT else BY_KEY["record_number"]
    return Decision(
        Role.DIRECT, f"its name says {topic.says} and nearly every row has its own", 0.9, topic.key, topic.hipaa or 18, Scale.ID
    )


NUMBER_WORDS = ("num", "nbr", "nr", "nummer", "number", "numero")
_JOINED_ID = re.compile(r"[a-z]{4,}(?<!pa)(?<!o)(?<!br)(?<!gr)(?<!ac)id")
"""Joined names that end with id (utilityid); words that end so by themselves are none: unpaid, thyroid, hybrid."""
LEAST_NUMBERED = 100
"""Different numbers from which a name that ends with a word for "number" (casenum) numbers people or households."""


def ends_with_number(seen: Seen) -> Decision | None:
    """A name that no topic explains and that ends with a word for "number": its many whole numbers are given to somebody.

    Such a word in front counts something (``numvisit``), as do few numbers for the rows there are.
    """
    facts, last = seen.facts, raw_words(seen.facts.name)[-1:]
    if seen.topic is not None or not facts.whole or below_zero(facts) or seen.found.scale is Scale.DATE or not last:
        return None
    joined = bool(_JOINED_ID.fullmatch(last[0]))
    if not joined and not last[0].endswith(NUMBER_WORDS):
        return None
    if facts.distinct >= max(LEAST_NUMBERED, CLUSTERED * facts.filled):
        key = BY_KEY["person_number"]
        return Decision(key.role, "its name ends with a word for number, and it has many", 0.6, key.key, 18, Scale.ID)
    if joined and facts.distinct >= FEWEST_ROWS:
        why = "its name ends with id: it numbers things or places, which others may know"
        return Decision(Role.QUASI, why, 0.45, "facility", None, Scale.NOMINAL)
    return None


PERSONS = frozenset(
    "kid child infant baby twin son daughter mom mum mother dad father parent woman man girl boy wife husband spouse sibling "
    "pupil enfant mere pere femme homme kind mutter vater frau mann moeder vader vrouw nino nina madre padre mujer hombre "
    "crianca mae pai mulher homem bambino donna uomo".split()
)
"""Words for people that a number of somebody is called by; what is counted by them (kids at home) stays below the limit."""


def persons_numbered(seen: Seen) -> Decision | None:
    """A name that is a word for somebody, with many whole numbers: it numbers them (``kid``, ``mom``), and counts nothing."""
    facts = seen.facts
    if raw_words(facts.name) not in {(word,) for word in PERSONS} or not facts.whole or below_zero(facts):
        return None
    if facts.distinct < max(LEAST_NUMBERED, CLUSTERED * facts.filled):
        return None
    key = BY_KEY["person_number"]
    return Decision(key.role, "its name says a person, and it has many numbers", 0.7, key.key, 18, Scale.ID)
