"""What the name of a column says, checked against its values."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shoal.find.finding import ColumnFacts, Scale
from shoal.find.identifiers import spread
from shoal.find.name_words import raw_words, words_of
from shoal.find.orders import answers_of_opinion
from shoal.find.people import SINGLE_SHARE, names_share
from shoal.find.questions import NO, YES, YES_NO, answer_texts, statement, ticked
from shoal.find.roles.decision import FEW_VALUES, FEWEST_ROWS, ColumnView, Decision
from shoal.find.roles.keys import CLUSTERED, below_zero, drawn_key, is_key
from shoal.find.scales import reads_as_text
from shoal.find.topics import BY_KEY, OF_A_PERSON, Topic, expanded
from shoal.find.vocabulary import alternatives, folded, word_set
from shoal.find.whole_numbers import amounts
from shoal.model.roles import Role

NUMBERS = ("patient_number", "person_number", "record_number")
NAMES = ("person_name", "name_part", "name")

SCHOOL_ENDS = (6.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 16.0)
"""Years after which schools usually end."""
MOST_ANSWERS = 5
"""How many different answers a question has that takes yes and no."""
TITLES = word_set("names", "title")
SHORTEST_WORD = 3
MOST_ORDINALS = 12
"""Different words up to which a column called "first" or "last" may hold something else than names: months, choices."""
LONGEST_TITLE = 12
"""Letters of the longest usual form of address: Mademoiselle."""
FEW_NUMBERS = "its name says a number or code, but it has few values"
LONGEST_NAME, SURE = 5, 0.85
"""Words of a name that is not a question; how sure the values must be to outrank a name."""
MOST_RUNGS = 12
"""Different answers that a question about an opinion has."""
OFTEN_REPEATED = 0.2
"""Answers per row below which a question about people is not answered with their names, if no list has these."""
OWN_TEXTS = 0.4
"""Share of rows with a text of their own from which people typed it."""
MOST_DEGREES = 180
"""Whole numbers up to it are not a position on earth: it has fractions, or is in metres."""
MARKS = word_set("column_names", "marks in numbers")
"""Words for notes and for marks at school: numbers are marks."""
YEARS = word_set("column_names", "year")
PERCENT = word_set("column_names", "percentage")
_HOW_OFTEN = re.compile(alternatives("questions", "how often"))
_WORDS = re.compile(r"[^\W\d_]{3,}(?:[ -][^\W\d_]{2,}){0,2}")
"""One to three words; numbers of vehicles, cards and devices have digits, and names of people capitals."""
_PLAIN_WORD = re.compile(r"[^\W\d_]{3}[^\d@]*")
"""Neither an address nor a number."""
_DECIMALS = re.compile(r"[.,]\d{3,}$")


def by_name(view: ColumnView) -> Decision | None:
    """What the name says, checked against the values."""
    topic = view.topic
    if topic is None or topic.key == "survey_weight":
        return None
    if topic.key == "text" and view.facts.numbers is not None and set(raw_words(view.facts.name)) & MARKS:
        return Decision.of(BY_KEY["marks"])
    if topic.role is Role.DIRECT:
        return _named_direct(view, topic)
    if topic.role is Role.INSENSITIVE and len(raw_words(view.facts.name)) > LONGEST_NAME:
        return None  # one harmless word in a question says nothing of its answers
    if (known := _known_by_values(view, topic)) is not None:
        return known
    if topic.role is Role.QUASI and topic.key not in OF_A_PERSON:
        if view.battery and _rated_statement(view.facts):
            why = "a statement about oneself, with the same answers in order as others: one word of it does not decide"
            return Decision(Role.SENSITIVE, why, 0.55, "opinion")
        if _asked_for_opinion(view.facts):
            why = "a question that is answered with opinions: one word of it does not decide"
            return Decision(Role.SENSITIVE, why, 0.55, "opinion")
    if topic.role is Role.SENSITIVE and _own_texts(view.facts):
        return Decision(Role.DIRECT, "it holds long texts, which may name people", 0.6, "text", 18, Scale.TEXT)
    if view.guess.scale is Scale.DATE and topic.role is not Role.QUASI and topic.key != "technical" and topic.scale != "date":
        date = BY_KEY["event_date"]
        return Decision(date.role, "its values are dates or times, which others may know", 0.7, date.key, date.hipaa)
    if topic.key in ("vehicle", "family", "relation") and inside_a_group(view.facts):
        return counted_inside(view.facts)
    for check in CHECKS:
        if topic.key in check.topics and check.applies(view):
            return check.decision
    return Decision.of(topic)


def _rated_statement(facts: ColumnFacts) -> bool:
    """A statement about oneself with more answers than yes and no."""
    return facts.distinct > 2 and statement(facts)


def _asked_for_opinion(facts: ColumnFacts) -> bool:
    """A question or statement whose answers are those of opinions or habits, or that asks how often something happens.

    The question may be the name of the column, or the label beside a short name.
    """
    named, labelled = (len(raw_words(text)) > LONGEST_NAME for text in (facts.name, facts.label))
    if facts.distinct > MOST_RUNGS or not (named or labelled):
        return False
    often = named and bool(_HOW_OFTEN.search(folded(facts.name)))
    return often or answers_of_opinion(answer_texts(facts))


def _own_texts(facts: ColumnFacts) -> bool:
    """Whether most rows have a text of their own, of several words: typed by people, under any name."""
    alone = int((facts.counts == 1).sum())
    if facts.kind != "text" or facts.numbers is not None or alone < OWN_TEXTS * facts.filled:
        return False
    looked = spread(facts.values)
    return sum(v.count(" ") for v in looked) >= 2 * len(looked) and not is_key(facts) and not ticked(facts)


def _known_by_values(view: ColumnView, topic: Topic) -> Decision | None:
    """Values that others know of a person, such as the sexes, under a name that would publish them: SEX_OF_CANDIDATE."""
    if view.value_topic is None or topic.role not in (Role.SENSITIVE, Role.INSENSITIVE) or topic.about == "health":
        return None
    key, evidence = view.value_topic
    known = BY_KEY[key]
    if known.role is not Role.QUASI or evidence.confidence < SURE:
        return None
    return Decision(known.role, f"its values speak of {evidence.what}", evidence.confidence, key, known.hipaa, None, (evidence,))


def _few_small(facts: ColumnFacts) -> bool:
    """A few whole numbers, each in many rows."""
    return facts.whole and facts.distinct <= 20 and facts.filled >= 50 * facts.distinct


def inside_a_group(facts: ColumnFacts) -> bool:
    """Whether it numbers the members of a group, as VEH_NO does the cars of an accident: the word for number stands last."""
    return raw_words(facts.name)[-1:] in (("no",), ("nr",), ("nbr",), ("reference",)) and _few_small(facts)


def counts_up(facts: ColumnFacts) -> bool:
    """Whether it numbers the members of groups from 0 or 1: no number is left out, and each is at most as frequent as the last.

    Numbers of people who have several rows are not: they are about equally frequent, or leave some out.
    """
    numbers = facts.numbers
    if numbers is None or len(facts.counts) != len(numbers) or facts.distinct < 2:
        return False
    order = np.argsort(numbers)
    values, counts = np.asarray(numbers)[order], np.asarray(facts.counts)[order]
    steady = bool(np.all(np.diff(values) == 1) and np.all(np.diff(counts) <= 0))
    return steady and float(values[0]) in (0.0, 1.0) and int(counts[0]) >= 2 * int(counts[-1])


def counted_inside(facts: ColumnFacts) -> Decision:
    """A number inside a group tells nothing by itself; whether it is one shows in how often each number stands there."""
    if counts_up(facts):
        why = "its name says a number, and it counts up inside groups"
        return Decision(Role.INSENSITIVE, why, 0.5, "technical", None, Scale.NOMINAL)
    return Decision(Role.UNDECIDED, FEW_NUMBERS, 0.0, "", None, Scale.NOMINAL)


def _years_at_school(facts: ColumnFacts) -> bool:
    """Whether whole numbers up to 25, the end of some school the most frequent, are years there and no codes of schools."""
    numbers = facts.numbers
    if (
        words_of(facts.name)[-1:] not in (("school",), ("grade",))
        or numbers is None
        or not facts.whole
        or len(facts.counts) != len(numbers)
    ):
        return False
    most = float(numbers[int(np.argmax(facts.counts))])
    return facts.distinct >= 6 and facts.high <= 25 and most in SCHOOL_ENDS


def _answers(facts: ColumnFacts) -> bool:
    """Whether yes and no are among a few values: an answer about the thing, not its name."""
    answers = {folded(v.strip()) for v in facts.values}
    return facts.kind == "text" and facts.distinct <= MOST_ANSWERS and bool(answers & YES) and bool(answers & NO)


def _is_measured(facts: ColumnFacts) -> bool:
    """Whether most values are numbers with at least three decimals, as measurements are and no code is."""
    looked = spread(facts.values)
    return facts.numbers is not None and 2 * sum(bool(_DECIMALS.search(v)) for v in looked) > len(looked)


def _no_dates(view: ColumnView) -> bool:
    """Words without a digit that are not months or weekdays: whether a date changed, not a date."""
    facts = view.facts
    plain_text = facts.kind == "text" and not any(c.isdigit() for v in facts.values for c in v)
    return plain_text and view.guess.scale is Scale.NOMINAL


def _words_without_order(view: ColumnView) -> bool:
    """More words than a question has answers, without a digit and without an order, as no amount is written."""
    return _no_dates(view) and view.facts.distinct > MOST_ANSWERS


def _has_titles(facts: ColumnFacts) -> bool:
    """Whether a form of address is among texts; codes may stand for one."""
    return facts.kind != "text" or any(
        folded(v.strip()).strip(".") in TITLES or len(v.strip()) < SHORTEST_WORD for v in facts.values
    )


def _longer_than_titles(facts: ColumnFacts) -> bool:
    """Whether most values are longer than a form of address is, as titles of books, loans and jobs are."""
    return 2 * sum(len(v.strip()) > LONGEST_TITLE for v in facts.values) > len(facts.values)


def _small_groups(facts: ColumnFacts) -> bool:
    """Whether the clusters hold at most ten records each on average: those of a survey hold whole villages."""
    return facts.filled >= FEWEST_ROWS and facts.distinct >= CLUSTERED * facts.filled


def _lettered_key(view: ColumnView) -> bool:
    """Codes of letters and digits, nearly every row its own: they number something, under any name."""
    facts = view.facts
    if drawn_key(facts):
        return True
    if facts.kind != "text" or facts.distinct < 0.9 * facts.filled or view.guess.scale is Scale.DATE or not is_key(facts):
        return False
    return sum(any(c.isalpha() for c in v) for v in facts.values) >= 0.9 * len(facts.values)


def _named_direct(view: ColumnView, topic: Topic) -> Decision | None:
    facts = view.facts
    few = facts.distinct <= 12 or (facts.distinct <= FEW_VALUES and facts.distinct < 0.02 * facts.filled)
    if topic.key in NUMBERS:
        return _named_number(view, topic, few)
    if topic.key in NAMES:
        return _named_name(view, topic, few)
    if topic.key in ("email", "url", "ip", "biometric", "photo") and facts.numbers is not None:
        return None
    if topic.key == "street" and facts.numbers is not None:
        why = "its name says address, but its values are numbers: of houses, or of years there"
        return Decision(Role.QUASI, why, 0.6, "moved", None, Scale.NUMBER)
    if topic.key == "position":
        return _direct(topic) if _degrees(facts) and (facts.numbers is not None or not few) else None
    if topic.key == "text":
        if not few and facts.kind == "text" and (reads_as_text(facts) or facts.distinct > 0.5 * facts.filled):
            return _direct(topic, scale=Scale.TEXT)
        return None
    if facts.kind in ("date", "timestamp", "float", "decimal", "boolean") and not facts.whole:
        return None
    if few and facts.filled >= FEWEST_ROWS:
        if topic.key in ("email", "phone") and all(_PLAIN_WORD.fullmatch(v.strip()) for v in facts.values):
            why = f"its name says {topic.says}, but its few values are words: of a provider or program"
            return Decision(Role.QUASI, why, 0.5, "technical", None, Scale.NOMINAL)
        if {folded(v.strip()) for v in facts.values} <= YES_NO:
            why = f"its name says {topic.says}, but it is answered with yes or no: others may know whether"
            return Decision(Role.QUASI, why, 0.4, "", None, Scale.NOMINAL)
        if topic.scale == "id" and all(_WORDS.fullmatch(v.strip()) and v.islower() for v in facts.values):
            why = f"its name says {topic.says}, but its few values are words, which others may know"
            return Decision(Role.QUASI, why, 0.4, "", None, Scale.NOMINAL)
        if topic.key == "street":
            return Decision(
                Role.QUASI, "its name says address, but it has few values: a kind of place", 0.6, "place", None, Scale.NOMINAL
            )
        return Decision(Role.UNDECIDED, f"its name says {topic.says}, but it has few values", 0.0, "", None, None)
    if topic.key in ("phone", "fax") and 2 * sum(any(map(str.isdigit, v)) for v in facts.values) < len(facts.values):
        return Decision(Role.UNDECIDED, f"its name says {topic.says}, but its values are words", 0.0, "", None, None)
    return _direct(topic)


def _degrees(facts: ColumnFacts) -> bool:
    """Whether values may be positions on earth: with fractions, in metres, or with signs for degrees."""
    if facts.numbers is not None:
        return not facts.whole or float(np.max(np.abs(facts.numbers))) > MOST_DEGREES
    return any(re.search(r"\d[.,]\d{2}|°", v) for v in spread(facts.values))


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


def _named_number(view: ColumnView, topic: Topic, few: bool) -> Decision | None:
    """A number of a person, household or record; few small numbers count inside a group, and fractions number nothing."""
    facts = view.facts
    if facts.numbers is not None and (not facts.whole or below_zero(facts)):
        return None
    if view.guess.scale is Scale.DATE and topic.key != "patient_number":
        return None
    own = 2 < facts.distinct == facts.filled < FEWEST_ROWS  # a, b, c of a short table
    if facts.kind == "text" and not own and not _written_as_numbers(facts, few):
        return None
    if few and _few_small(facts) and topic.key != "patient_number" and (topic.key == "record_number" or counts_up(facts)):
        return counted_inside(facts)
    if few and topic.key == "record_number" and facts.filled >= FEWEST_ROWS:
        return Decision(Role.UNDECIDED, FEW_NUMBERS, 0.0, "", None, Scale.NOMINAL)
    return _direct(topic)


def _written_as_numbers(facts: ColumnFacts, few: bool) -> bool:
    """Whether texts may number people or records: no words apart but before a number, and digits where there are few."""
    looked = spread(facts.values)
    apart = sum(" " in v and not v[-2:].isdigit() for v in looked)  # SAN JOSE_001
    return apart < 0.2 * len(looked) and (not few or 2 * sum(any(c.isdigit() for c in v) for v in looked) >= len(looked))


def _named_name(view: ColumnView, topic: Topic, few: bool) -> Decision | None:
    """Names of people; a name with few values may be that of a thing or place."""
    facts = view.facts
    if facts.kind != "text" or facts.numbers is not None:
        return None
    repeated = len(raw_words(facts.name)) > LONGEST_NAME and facts.distinct < OFTEN_REPEATED * facts.filled
    if repeated and names_share(facts.values) < SINGLE_SHARE:
        return None  # what one expects of a candidate
    letters = sum(bool(re.match(r"[^\W\d_]", v.strip())) for v in facts.values) >= 0.8 * len(facts.values)
    if topic.key == "person_name":
        return _direct(topic) if letters and facts.distinct > 2 else None
    if topic.key == "name_part":
        many = facts.distinct > MOST_ORDINALS and view.guess.scale is Scale.NOMINAL
        names = facts.distinct > 2 and names_share(facts.values) >= SINGLE_SHARE
        return _direct(topic) if letters and (many or names) else None
    if few and facts.filled >= FEWEST_ROWS and names_share(facts.values) < SINGLE_SHARE:
        return Decision(
            Role.QUASI, "its name says a name, but it has few values: of a place or thing", 0.5, "facility", None, Scale.NOMINAL
        )
    return _direct(topic)


class Check(NamedTuple):
    """What the values say against the topics of a name: then ``decision`` holds, or the name says nothing (None)."""

    topics: tuple[str, ...]
    applies: Callable[[ColumnView], bool]
    decision: Decision | None = None


_ATTAINED = ("education", "employment", "housing", "family")
CHECKS: tuple[Check, ...] = (
    Check(
        ("lab",),
        lambda view: _metres(view.facts),
        Decision(Role.QUASI, "its values are heights of people in metres", 0.7, "body", None, Scale.NUMBER),
    ),
    Check(("postcode",), lambda view: view.facts.distinct <= 12 and max(map(len, view.facts.values)) < 3),
    # few codes in a census are not a measurement: ESR is the employment status there
    Check(("lab",), lambda view: view.about_people and view.facts.whole and 2 < view.facts.distinct <= 7),
    Check(("event_date", "technical"), lambda view: view.guess.scale is Scale.TEXT),
    Check(("facility", "place", "industry", "occupation", "group", "vehicle"), lambda view: reads_as_text(view.facts)),
    Check(
        ("technical",),
        lambda view: view.guess.scale is Scale.DATE and _span(view.facts) >= LIFETIME,
        Decision(Role.QUASI, "its years are as far apart as years of birth", 0.65, "birth_date", 3, Scale.DATE),
    ),
    Check(  # the year of study; nothing else that says year holds words
        ("technical",),
        lambda view: (
            YEARS.issuperset(raw_words(view.facts.name)) and view.facts.numbers is None and view.guess.scale is not Scale.DATE
        ),
        Decision(
            Role.QUASI, "its name says year, and its values are words: a year of study, which others may know", 0.5, "education"
        ),
    ),
    Check(
        ("technical",),
        lambda view: "cluster" in expanded(view.facts.name) and _small_groups(view.facts),
        Decision(Role.DIRECT, "it numbers small groups of records, as those of one person", 0.6, "person_number", 18, Scale.ID),
    ),
    # PCS is a list of occupations in France and a score of health elsewhere
    Check(("occupation", "facility", "group", "employment"), lambda view: _is_measured(view.facts)),
    Check(
        _ATTAINED,
        lambda view: view.guess.scale is not Scale.ORDERED and amounts(view.facts),
        Decision(Role.SENSITIVE, "its values are large and round, like amounts of money", 0.6, "spending", None, Scale.NUMBER),
    ),
    Check(
        _ATTAINED,
        lambda view: view.guess.scale is not Scale.ORDERED and _percentage(view.facts),
        Decision(Role.SENSITIVE, "its name says a share or score of something", 0.6, "marks", None, Scale.NUMBER),
    ),
    Check(("event_date",), lambda view: _no_dates(view)),
    Check(("income", "spending"), lambda view: _words_without_order(view)),  # sales is a department too
    Check(("facility", "industry"), lambda view: _answers(view.facts)),
    Check(("title",), lambda view: _longer_than_titles(view.facts) or not _has_titles(view.facts)),
    Check(
        ("facility",),
        lambda view: view.guess.scale is Scale.NUMBER and raw_words(view.facts.name)[-1:] == ("count",),
    ),
    Check(
        ("facility", "marks"),
        lambda view: _years_at_school(view.facts),
        Decision(
            Role.QUASI, "its name says school or grade, and its values are years there", 0.75, "education", None, Scale.NUMBER
        ),
    ),
    Check(("care", "technical", "group"), lambda view: _lettered_key(view)),
)
"""Checks in the order in which they are made."""


LIFETIME = 40
"""Years between the first and the last from which a year may be that of birth; surveys are seldom repeated for so long."""


def _span(facts: ColumnFacts) -> float:
    """How far apart the numbers are; 0 for others."""
    return 0.0 if facts.numbers is None else float(np.ptp(facts.numbers))


def _metres(facts: ColumnFacts) -> bool:
    """Whether numbers with fractions are heights of people in metres."""
    numbers = facts.numbers
    if numbers is None or facts.whole or facts.distinct < MOST_ANSWERS:
        return False
    return facts.low >= 1 and facts.high <= 2.3 and 1.45 <= float(np.median(numbers)) <= 1.9


def _percentage(facts: ColumnFacts) -> bool:
    """Whether the last word of the name says a share or score, and the values are numbers."""
    return not PERCENT.isdisjoint(raw_words(facts.name)[-1:]) and facts.numbers is not None
