"""What the values of a column say by themselves: names of people, words and codes of a topic, keys, dates, ages, amounts."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from shoal.find.bands import band_order, lower_end
from shoal.find.finding import ColumnFacts, Evidence, Scale
from shoal.find.identifiers import street_addresses
from shoal.find.name_words import opaque
from shoal.find.people import FULL_SHARE, SINGLE_LEAST, SINGLE_SHARE, full_names_share, initials_share, names_share
from shoal.find.questions import ticked
from shoal.find.roles.decision import FEWEST_ROWS, ColumnView, Decision
from shoal.find.roles.keys import equally_often, in_a_block, is_key, numbering, one_shape
from shoal.find.safe_harbor.spellings import month_or_weekday_share
from shoal.find.scales import reads_as_text
from shoal.find.topics import BY_KEY, expanded, topic_of
from shoal.find.vocabulary import word_set
from shoal.find.whole_numbers import MOST_CODES, amounts
from shoal.model.roles import Role

NO_PEOPLE = frozenset(
    "place country birth_place street postcode industry education diagnosis drug language nationality vehicle race religion "
    "product".split()
)
"""Topics whose values may be written like names of people and are none: towns, firms, saints' schools."""


LEAST_COUNTED = 5
"""Rows from which numbers from 0 or 1, each once and without a gap, count the rows."""


def by_row_numbers(view: ColumnView) -> Decision | None:
    """Whole numbers without a gap, each once: they number the rows, under any column name."""
    facts, numbers = view.facts, view.facts.numbers
    if numbers is None or not facts.whole or facts.missing or not facts.distinct == facts.rows == len(numbers):
        return None
    least = LEAST_COUNTED if facts.low in (0.0, 1.0) else FEWEST_ROWS
    gapless = len(numbers) >= least and facts.high - facts.low + 1 == facts.rows
    if not gapless or (view.topic is not None and view.topic.scale in ("date", "number")):
        return None
    return Decision(Role.DIRECT, "it numbers the rows without a gap", 0.85, "record_number", 18, Scale.ID)


def by_full_names(view: ColumnView) -> Decision | None:
    """Full names of people, however few and under any column name; towns and firms are written so too."""
    facts, topic = view.facts, view.topic
    if facts.kind != "text" or facts.numbers is not None or facts.distinct < 2:
        return None
    thing = topic is not None and topic.key in NO_PEOPLE
    share = initials_share(facts.values) if thing else full_names_share(facts.values)
    if topic is not None and topic.role in (Role.SENSITIVE, Role.INSENSITIVE) and facts.distinct > 2 * SINGLE_LEAST:
        single = names_share(facts.values)  # values outrank a header that would publish them
        share = single if single >= SINGLE_SHARE > share else share
    if share < min(FULL_SHARE, SINGLE_SHARE) or (share < FULL_SHARE and (topic is None or thing)) or ticked(facts):
        return None
    evidence = Evidence("full names of people", round(share, 3), 0.85)
    return Decision(Role.DIRECT, "its values are written as full names of people", 0.85, "person_name", 1, Scale.ID, (evidence,))


def by_addresses(view: ColumnView) -> Decision | None:
    """Street addresses, under any column name."""
    facts = view.facts
    if facts.kind != "text" or facts.numbers is not None or not street_addresses(facts.values):
        return None
    return Decision(Role.DIRECT, "its values are written as street addresses", 0.8, "street", 2, Scale.TEXT)


def by_value_topic(view: ColumnView) -> Decision | None:
    """What the words or codes of the values are about."""
    facts = view.facts
    if facts.kind == "text" and facts.distinct > SINGLE_LEAST and (share := names_share(facts.values)) >= SINGLE_SHARE:
        evidence = Evidence("names of people", round(share, 3), 0.8)
        return Decision(Role.DIRECT, "its values look like names of people", 0.8, "person_name", 1, Scale.ID, (evidence,))
    if view.value_topic is None:
        return None
    key, evidence = view.value_topic
    if facts.distinct >= 0.9 * facts.filled >= FEWEST_ROWS and one_shape(facts):
        return None  # codes of a topic repeat; these number something
    topic = BY_KEY[key]
    return Decision(topic.role, f"its values speak of {evidence.what}", evidence.confidence, key, topic.hipaa, None, (evidence,))


def by_shape(view: ColumnView) -> Decision | None:
    """What the number and form of the values say."""
    facts = view.facts
    if facts.kind == "text" and reads_as_text(facts):
        return Decision(Role.DIRECT, "it holds long texts, which may name people", 0.6, "text", 18, Scale.TEXT)
    if view.guess.scale is Scale.DATE:
        return Decision(Role.QUASI, "it holds dates or times, which others may know", 0.65, "event_date", 3)
    if view.topic is None and facts.kind == "text" and month_or_weekday_share(facts.values) == 1:  # April is a name too
        return Decision(Role.QUASI, "its values are months or days of the week", 0.6, "event_date", 3)
    for form, what, topic in PAIRS if facts.kind == "text" else ():
        if sum(form.fullmatch(v) is not None for v in facts.values) >= RESULTS * len(facts.values):
            return Decision(Role.QUASI, what, 0.5, topic)
    if is_key(facts):
        return Decision(
            Role.DIRECT, "its values are long codes, nearly all different, like a key of people", 0.75, "key", 18, Scale.ID
        )
    if view.topic is None and equally_often(facts):
        why = "its numbers have gaps and are in equally many rows each, as those of people who were all asked as often"
        return Decision(Role.DIRECT, why, 0.6, "key", 18, Scale.ID)
    if in_a_block(facts):
        why = "its numbers lie close together and far from 0, as numbers given out in turn"
        return Decision(Role.DIRECT, why, 0.6, "key", 18, Scale.ID)
    if facts.distinct == facts.filled >= FEWEST_ROWS and (facts.numbers is None or numbering(facts, several=view.several)):
        return Decision(
            Role.DIRECT, "every row has its own value, like a number or code of a person", 0.7, "all_different", 18, Scale.ID
        )
    if facts.numbers is not None and _ages(facts) and opaque(facts.name):
        return Decision(Role.QUASI, "its values are those of ages", 0.7, "age", 3, Scale.NUMBER)
    if facts.kind == "text" and _age_bands(facts.values):
        return Decision(Role.QUASI, "its values are bands as of ages", 0.7, "age", 3, Scale.ORDERED)
    if view.guess.scale is Scale.NUMBER and amounts(facts):
        return Decision(
            Role.SENSITIVE, "its values are large and round, like amounts of money", 0.6, "income", None, Scale.NUMBER
        )
    return None


_MONTH = r"(?:(?:19|20)\d\d[-/.](?:0?[1-9]|1[0-2])(?:[-/.]\d{1,2})?|(?:\d{1,2}[-/.])?(?:0?[1-9]|1[0-2])[-/.](?:19|20)\d\d)"
PAIRS = (
    (re.compile(r"\s*1?\d{1,2}\s*:\s*1?\d{1,2}\s*"), "its values are pairs of numbers, as results of games are", ""),
    (
        re.compile(rf"\s*{_MONTH}\s*(?:[-–—]|\D{{2,5}})\s*{_MONTH}\s*"),
        "its values are periods, which others may know",
        "event_date",
    ),
)
RESULTS = 0.95
"""Share of values that are results of games or periods from a day or month to another."""


def _ages(facts: ColumnFacts) -> bool:
    """Whole numbers that fill the span of human lives."""
    numbers = facts.numbers
    if numbers is None or not facts.whole:
        return False
    low, high = facts.low, facts.high
    return -1 <= low <= 25 and 60 <= high <= 120 and facts.distinct >= 0.7 * (high - low + 1)


_TURNS, FEWEST_TURNS, OLDEST = frozenset((18, 25, 35, 45, 55, 65)), 3, 100
"""Ages at which questionnaires begin a band, how many of them ages show, and the highest."""


def _age_bands(values: Sequence[str]) -> bool:
    """Whether texts are bands that begin where those of ages do.

    >>> _age_bands(["18–24", "25–34", "35–44", "55+"]), _age_bands(["0-9", "10-19", "20-29"]), _age_bands(["25-34", "35-44"])
    (True, False, False)
    """
    begins = [end[0] for v in band_order(values) if (end := lower_end(v)) is not None]
    return len(_TURNS.intersection(begins)) >= FEWEST_TURNS and min(begins) >= 0 and max(begins) < OLDEST


_WEIGHT_WORDS, _BIRTH_WORDS = word_set("column_names", "weight"), word_set("column_names", "weight: at birth")


def by_weight(view: ColumnView) -> Decision | None:
    """Survey weight or body weight: the same words, told apart by the numbers."""
    facts, numbers = view.facts, view.facts.numbers
    words = set(expanded(facts.name))
    called = bool(words & _WEIGHT_WORDS)
    bare = topic_of(facts.name.lower())  # WTMEC2YR is one word in spite of its capitals
    survey = any(topic is not None and topic.key == "survey_weight" for topic in (view.topic, bare))
    if not (called or survey) or (called and view.topic is not None and view.topic.key == "pregnancy"):
        return None
    if numbers is None:
        return Decision.of(BY_KEY["body"]) if called else None
    all_words = words | set(expanded(facts.label))
    body = bool(all_words & _BIRTH_WORDS and all_words & _WEIGHT_WORDS) or (called and _human_weight(facts, all_words))
    if body:
        return Decision(Role.QUASI, "its name says weight and its values are those of bodies", 0.7, "body", None, Scale.NUMBER)
    if called and not survey and _newborn_weight(facts):
        why = "its name says weight and its values may be those of newborns"
        return Decision(Role.QUASI, why, 0.5, "body", None, Scale.NUMBER)
    if facts.distinct > 5 and facts.low >= 0 and not facts.missing:  # every record has a survey weight
        return Decision(Role.INSENSITIVE, "its name says survey weight", 0.88, "survey_weight", None, Scale.NUMBER)
    return None


def _newborn_weight(facts: ColumnFacts) -> bool:
    """Kilograms or pounds of newborns; survey weights lie around 1 or far above."""
    numbers = facts.numbers
    assert numbers is not None
    return 1.5 <= float(np.median(numbers)) <= 12 and facts.high <= 20


def _human_weight(facts: ColumnFacts, words: set[str]) -> bool:
    """Kilograms or pounds of people, children included, or grams of newborns, which lie closer together than survey weights."""
    numbers = facts.numbers
    assert numbers is not None
    if words & {"body", "kg", "lb", "lbs", "pounds", "kilo", "korper", "corporal"}:
        return True
    if words & {"survey", "sample", "sampling", "final", "person", "design", "household", "hh", "weights"}:
        return False
    centre, high, low = float(np.median(numbers)), facts.high, facts.low
    newborn = facts.whole and facts.distinct > MOST_CODES and 2_300 <= centre <= 4_200 and low >= 100 and high <= 2.2 * centre
    return newborn or (low >= 1 and high <= 700 and 8 <= centre <= 260 and high < 12 * max(centre, 1) and facts.distinct >= 5)
