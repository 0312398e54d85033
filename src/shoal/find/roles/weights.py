"""Weights: of a survey, which say nothing of a person, or of bodies, which others see."""

from __future__ import annotations

import numpy as np

from shoal.find.finding import ColumnFacts, Scale
from shoal.find.names.lexicon import BY_KEY, expanded, topic_of
from shoal.find.roles.seen import Decision, Seen
from shoal.model.roles import Role

_WEIGHT_WORDS = frozenset("weight weights wt wgt gewicht gew peso poids wght".split())


def survey_weight(seen: Seen) -> Decision | None:
    """Survey weight or body weight: the same words, told apart by the numbers."""
    facts, numbers = seen.facts, seen.facts.numbers
    words = set(expanded(facts.name))
    called = bool(words & _WEIGHT_WORDS)
    bare = topic_of(facts.name.lower())  # WTMEC2YR is one word, whatever its capitals say
    survey = any(topic is not None and topic.key == "survey_weight" for topic in (seen.topic, bare))
    if not (called or survey) or (called and seen.topic is not None and seen.topic.key == "pregnancy"):
        return None
    if numbers is None:
        return Decision.of(BY_KEY["body"]) if called else None
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
