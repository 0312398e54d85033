"""The role of a column from what its name says and what its values are.

Values that name people decide first; then the name, checked against the values; then the words of the values; then their shape.
Only what a neighbour, colleague or public list could know is taken for a quasi-identifier, with one exception: a code with few
values whose name says nothing (``CH07``) may be anything, so it is treated with care.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from shoal.measures.columns.finding import ColumnFacts, Evidence, Scale
from shoal.measures.columns.names.lexicon import BY_KEY, expanded, topic_of
from shoal.measures.columns.names.topics import Topic
from shoal.measures.columns.names.words import opaque
from shoal.measures.columns.scales import Found, reads_as_text
from shoal.measures.columns.values.identifiers import Form
from shoal.measures.columns.values.ladders import ladder_order
from shoal.measures.columns.values.vocabulary import NAMES_SHARE, names_share
from shoal.model.roles import Role

FEW_VALUES = 60
FEWEST_ROWS = 20
"""Rows from which "every row has its own value" says something."""

NUMBERS = ("patient_number", "person_number", "record_number")
NAMES = ("person_name", "name_part", "name")
_CHANGE = {
    Role.DIRECT: "It is no identifier if many people share its values, or if they name no person.",
    Role.QUASI: "It is sensitive or insensitive if nobody outside can know it.",
    Role.SENSITIVE: "It is a quasi-identifier if neighbours, colleagues or public lists know it.",
    Role.INSENSITIVE: "It is a quasi-identifier if others know it, sensitive if learning it would hurt.",
}


@dataclass(frozen=True)
class Seen:
    """All that is known of one column when its role is decided."""

    facts: ColumnFacts
    topic: Topic | None
    form: tuple[Form, Evidence] | None
    spoken: tuple[str, Evidence] | None
    found: Found
    private: bool = False
    """Whether the table is about health, money or conduct: what is not known is then taken for sensitive."""
    asked: bool = False
    """Whether "don't know" or "refused" are among its values: somebody was asked."""


@dataclass(frozen=True)
class Decision:
    """A role with its reason."""

    role: Role
    reason: str
    confidence: float
    topic: str = ""
    hipaa: int | None = None
    scale: Scale | None = None
    evidence: tuple[Evidence, ...] = field(default=())

    @property
    def change(self) -> str:
        return _CHANGE[self.role]


def decide(seen: Seen) -> Decision:
    """The role of one column."""
    facts = seen.facts
    if facts.distinct == 0:
        return Decision(Role.INSENSITIVE, "it is never filled", 0.95)
    if seen.form is not None:
        form, evidence = seen.form
        scale = Scale.PLACE if form.key == "position" else Scale.ID
        return Decision(
            Role.DIRECT, f"its values look like {form.what}", form.confidence, form.key, form.hipaa, scale, (evidence,)
        )
    if facts.distinct == 1:
        return Decision(Role.INSENSITIVE, "it has one value only", 0.85, seen.topic.key if seen.topic else "")
    for rule in (_weight, _numbered, _named, _spoken, _shaped):
        decision = rule(seen)
        if decision is not None:
            return decision
    return _unknown(seen)


# ── names


_WEIGHT_WORDS = frozenset("weight weights wt wgt gewicht gew peso poids wght".split())


def _weight(seen: Seen) -> Decision | None:
    """Survey weight or body weight: the same words, told apart by the numbers."""
    facts, numbers = seen.facts, seen.facts.numbers
    words = set(expanded(facts.name))
    called = bool(words & _WEIGHT_WORDS)
    bare = topic_of(facts.name.lower())  # WTMEC2YR is one word, whatever its capitals say
    survey = any(topic is not None and topic.key == "survey_weight" for topic in (seen.topic, bare))
    if not (called or survey):
        return None
    if numbers is None:
        return _by_topic(seen, BY_KEY["body"]) if called else None
    body = called and _human_weight(facts, words | set(expanded(facts.label)))
    if body:
        return Decision(Role.QUASI, "its name says weight and its values are those of bodies", 0.7, "body", None, Scale.NUMBER)
    if facts.distinct > 5 and float(np.min(numbers)) >= 0:
        return Decision(Role.INSENSITIVE, "its name says survey weight", 0.88, "survey_weight", None, Scale.NUMBER)
    return None


def _human_weight(facts: ColumnFacts, words: set[str]) -> bool:
    """Kilograms or pounds of people, children included."""
    numbers = facts.numbers
    assert numbers is not None
    if words & {"body", "kg", "lb", "lbs", "pounds", "kilo", "korper", "corporal"}:
        return True
    if words & {"survey", "sample", "sampling", "final", "person", "design", "household", "hh", "weights"}:
        return False
    centre, high, low = float(np.median(numbers)), float(np.max(numbers)), float(np.min(numbers))
    return low >= 1 and high <= 700 and 8 <= centre <= 260 and high < 12 * max(centre, 1) and facts.distinct >= 5


def _numbered(seen: Seen) -> Decision | None:
    """A number of something, different in nearly every row, whatever the something is."""
    facts = seen.facts
    words = set(expanded(facts.name))
    if not words & {"id", "nr", "no", "number", "num", "nbr", "nummer", "numero", "uid", "key", "code"} or facts.kind not in (
        "text",
        "integer",
    ):
        return None
    if facts.distinct < 0.9 * facts.filled or facts.filled < FEWEST_ROWS or seen.found.scale is Scale.DATE:
        return None
    topic = seen.topic if seen.topic is not None and seen.topic.role is Role.DIRECT else BY_KEY["record_number"]
    return Decision(
        Role.DIRECT, f"its name says {topic.says} and nearly every row has its own", 0.9, topic.key, topic.hipaa or 18, Scale.ID
    )


def _named(seen: Seen) -> Decision | None:
    """What the name says, checked against the values."""
    topic = seen.topic
    if topic is None:
        return None
    if topic.role is Role.DIRECT:
        return _named_direct(seen, topic)
    if topic.key == "postcode" and seen.facts.distinct <= 12 and max(map(len, seen.facts.values)) < 3:
        return None
    if topic.key in ("event_date", "technical") and seen.found.scale is Scale.TEXT:
        return None
    if topic.key in ("facility", "place", "industry", "occupation", "group", "vehicle") and reads_as_text(seen.facts):
        return None
    if topic.key in ("care", "technical", "group") and _lettered_key(seen):
        return None
    return _by_topic(seen, topic)


def _lettered_key(seen: Seen) -> bool:
    """Codes of letters and digits, nearly every row its own: they number something, whatever the name says it is about."""
    facts = seen.facts
    if facts.kind != "text" or facts.distinct < 0.9 * facts.filled or seen.found.scale is Scale.DATE or not _is_key(facts):
        return False
    return sum(any(c.isalpha() for c in v) for v in facts.values) >= 0.9 * len(facts.values)


def _by_topic(seen: Seen, topic: Topic) -> Decision:
    return Decision(topic.role, f"its name says {topic.says}", topic.confidence, topic.key, topic.hipaa)


def _named_direct(seen: Seen, topic: Topic) -> Decision | None:
    facts = seen.facts
    few = facts.distinct <= 12 or (facts.distinct <= FEW_VALUES and facts.distinct < 0.02 * facts.filled)
    if topic.key in NUMBERS:
        return _named_number(seen, topic, few)
    if topic.key in NAMES:
        return _named_name(seen, topic, few)
    if topic.key == "position":
        return _direct(topic) if facts.numbers is not None or not few else None
    if topic.key == "text":
        if not few and facts.kind == "text" and (reads_as_text(facts) or facts.distinct > 0.5 * facts.filled):
            return _direct(topic, scale=Scale.TEXT)
        return None
    if facts.kind in ("date", "timestamp", "float", "decimal", "boolean") and not (topic.key == "account" and facts.whole):
        return None
    if few and facts.filled >= FEWEST_ROWS:
        if topic.key == "street":
            return Decision(
                Role.QUASI, "its name says address, but it has few values: a kind of place", 0.6, "place", None, Scale.NOMINAL
            )
        return Decision(
            Role.INSENSITIVE, f"its name says {topic.says}, but it has few values: a code", 0.5, "technical", None, None
        )
    return _direct(topic)


def _direct(topic: Topic, scale: Scale | None = None) -> Decision:
    scales = {"place": Scale.PLACE, "text": Scale.TEXT}
    return Decision(
        Role.DIRECT,
        f"its name says {topic.says}",
        topic.confidence,
        topic.key,
        topic.hipaa,
        scale or scales.get(topic.scale, Scale.ID),
    )


def _named_number(seen: Seen, topic: Topic, few: bool) -> Decision | None:
    """A number of a person, household or record; few small numbers count inside a group, and fractions number nothing."""
    facts = seen.facts
    if facts.numbers is not None and not facts.whole:
        return None
    if seen.found.scale is Scale.DATE and topic.key == "record_number":
        return None
    inside = few and facts.whole and facts.distinct <= 20 and facts.filled >= 50 * facts.distinct
    if inside and topic.key != "patient_number":
        return Decision(
            Role.INSENSITIVE,
            "its name says a number, but it has few values: a number inside a group",
            0.5,
            "technical",
            None,
            Scale.NOMINAL,
        )
    if few and topic.key == "record_number" and facts.filled >= FEWEST_ROWS:
        return Decision(
            Role.INSENSITIVE, "its name says a number or code, but it has few values", 0.5, "technical", None, Scale.NOMINAL
        )
    return _direct(topic)


def _named_name(seen: Seen, topic: Topic, few: bool) -> Decision | None:
    """Names of people; a name with few values may be that of a thing or place."""
    facts = seen.facts
    if facts.kind != "text" or facts.numbers is not None:
        return None
    letters = sum(bool(re.match(r"[^\W\d_]", v.strip())) for v in facts.values) >= 0.8 * len(facts.values)
    if topic.key == "person_name":
        return _direct(topic) if letters and facts.distinct > 2 else None
    if topic.key == "name_part":
        return _direct(topic) if letters and facts.distinct > 12 and seen.found.scale is Scale.NOMINAL else None
    if few and facts.filled >= FEWEST_ROWS and names_share(facts.values) < NAMES_SHARE:
        return Decision(
            Role.QUASI, "its name says a name, but it has few values: of a place or thing", 0.5, "facility", None, Scale.NOMINAL
        )
    return _direct(topic)


# ── values


def _spoken(seen: Seen) -> Decision | None:
    """What the words or codes of the values are about."""
    facts = seen.facts
    if facts.kind == "text" and facts.distinct > 10 and (share := names_share(facts.values)) >= NAMES_SHARE:
        evidence = Evidence("names of people", round(share, 3), 0.8)
        return Decision(Role.DIRECT, "its values look like names of people", 0.8, "person_name", 1, Scale.ID, (evidence,))
    if seen.spoken is None:
        return None
    key, evidence = seen.spoken
    topic = BY_KEY[key]
    return Decision(topic.role, f"its values speak of {evidence.what}", evidence.confidence, key, topic.hipaa, None, (evidence,))


def _shaped(seen: Seen) -> Decision | None:
    """What the number and form of the values say."""
    facts = seen.facts
    if facts.kind == "text" and reads_as_text(facts):
        return Decision(Role.DIRECT, "it holds long texts, which may name people", 0.6, "text", 18, Scale.TEXT)
    if seen.found.scale is Scale.DATE:
        return Decision(Role.QUASI, "it holds dates or times, which others may know", 0.65, "event_date", 3)
    if _is_key(facts):
        return Decision(
            Role.DIRECT, "its values are long codes, nearly all different, like a key of people", 0.75, "key", 18, Scale.ID
        )
    if facts.distinct == facts.filled >= FEWEST_ROWS and (facts.numbers is None or _numbering(facts)):
        return Decision(
            Role.DIRECT, "every row has its own value, like a number or code of a person", 0.7, "all_different", 18, Scale.ID
        )
    if facts.numbers is not None and _ages(facts) and opaque(facts.name):
        return Decision(Role.QUASI, "its values are those of ages", 0.7, "age", 3, Scale.NUMBER)
    if seen.found.scale is Scale.NUMBER and _amounts(facts):
        return Decision(
            Role.SENSITIVE, "its values are large and round, like amounts of money", 0.6, "income", None, Scale.NUMBER
        )
    return None


def _is_key(facts: ColumnFacts) -> bool:
    """Long codes, mostly different: keys that name somebody, also where they repeat."""
    if facts.distinct < 0.5 * facts.filled or facts.filled < FEWEST_ROWS or facts.kind not in ("text", "integer", "binary"):
        return False
    looked = facts.values[:: max(1, len(facts.values) // 500)]
    lengths = {len(v) for v in looked}
    if facts.kind == "integer" or facts.whole:
        return min(lengths) >= 7 and max(lengths) - min(lengths) <= 2
    mixed = sum(bool(re.fullmatch(r"(?=.*\d)[\w\-./]{6,64}", v)) for v in looked)
    return mixed >= 0.95 * len(looked) and max(lengths) - min(lengths) <= 4


def _numbering(facts: ColumnFacts) -> bool:
    """Whole numbers that number rows: close to one another, or nearly all with as many digits. Amounts spread further."""
    numbers = facts.numbers
    if numbers is None or not facts.whole:
        return False
    close = float(np.max(numbers) - np.min(numbers)) < 10 * len(numbers)
    digits = Counter(len(v) for v in facts.values)
    return close or digits.most_common(1)[0][1] >= 0.85 * len(facts.values)


def _ages(facts: ColumnFacts) -> bool:
    """Whole numbers that fill the span of human lives."""
    numbers = facts.numbers
    if numbers is None or not facts.whole:
        return False
    low, high = float(np.min(numbers)), float(np.max(numbers))
    return -1 <= low <= 25 and 60 <= high <= 120 and facts.distinct >= 0.7 * (high - low + 1)


def _amounts(facts: ColumnFacts) -> bool:
    """Large numbers of which many are round, as money that people report is."""
    numbers = facts.numbers
    if numbers is None or facts.distinct < 15 or float(np.max(numbers)) < 1000:
        return False
    large = numbers[np.abs(numbers) >= 100]
    return len(large) >= 10 and float(np.mean(np.mod(large, 50) == 0)) >= 0.3


def _unknown(seen: Seen) -> Decision:
    """Neither name nor values say anything: careful with bare codes, else by what the table is about."""
    facts, scale = seen.facts, seen.found.scale
    kind = ladder_order(facts.values)[0] if facts.kind == "text" and facts.distinct <= 12 else ""
    if seen.asked and scale is not Scale.NUMBER:
        return Decision(Role.SENSITIVE, "some did not know or refused to answer, as with questions of opinion", 0.5, "opinion")
    if kind in ("agreement", "satisfaction", "importance", "frequency", "quality"):
        topic = BY_KEY["opinion"]
        return Decision(topic.role, "its values are answers about opinions or habits", 0.55, topic.key)
    if opaque(facts.name) and scale in (Scale.NOMINAL, Scale.ORDERED, Scale.PLACE):
        return Decision(Role.QUASI, "its name says nothing and its values are codes, which others may know: look it up", 0.35)
    if facts.kind == "text" and facts.distinct > FEW_VALUES:
        return Decision(Role.QUASI, "it has many values, which single people out if others know them", 0.4)
    if scale is Scale.NUMBER:
        return Decision(Role.SENSITIVE, "it is a measurement or amount that others hardly know: decide", 0.4)
    if seen.private:
        return Decision(Role.SENSITIVE, "others hardly know it, and the table is about health, money or conduct: decide", 0.4)
    return Decision(Role.INSENSITIVE, "nothing says that others know it, or that it would hurt: decide", 0.35)


def with_scale(decision: Decision, found: Found) -> Found:
    """The scale of a column whose role may say more than its values do: identifiers are not numbers."""
    if decision.scale is not None and decision.scale is not found.scale:
        return Found(decision.scale)
    if decision.role is Role.DIRECT and decision.scale is None:
        return Found(Scale.ID)
    return found


def said(decision: Decision, role: Role) -> Decision:
    """A role that the caller gave."""
    return replace(decision, role=role, reason="you said so", confidence=1.0)
