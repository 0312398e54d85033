"""The role of a column from what its name says and what its values are.

Values that name people decide first; then the name, checked against the values; then the words of the values; then their shape.
Only what a neighbour, colleague or public list could know is taken for a quasi-identifier, with one exception: a code with few
values whose name says nothing (``CH07``) may be anything, so it is treated with care.
"""

from __future__ import annotations

from shoal.find.finding import ColumnFacts, Found, Scale
from shoal.find.name_words import opaque, raw_words
from shoal.find.orders import ladder_order
from shoal.find.roles.by_name import counted_inside, inside_a_group, named
from shoal.find.roles.by_values import addresses, people, row_numbers, shaped, spoken, survey_weight
from shoal.find.roles.decision import FEW_VALUES, Decision, Seen
from shoal.find.roles.keys import ends_with_number, numbered, persons_numbered
from shoal.find.topics import BY_KEY, expanded
from shoal.find.vocabulary import word_set
from shoal.find.whole_numbers import MOST_CODES
from shoal.model.roles import Role

RULES = (survey_weight, row_numbers, numbered, ends_with_number, persons_numbered, people, addresses, named, spoken, shaped)
"""The first of them that knows a column decides."""


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
    if facts.distinct == 1 and (facts.missing == 0 or seen.topic is None):  # one value or none is a mark: the name decides
        return Decision(Role.INSENSITIVE, "it has one value only", 0.85, seen.topic.key if seen.topic else "")
    for rule in RULES:
        decision = rule(seen)
        if decision is not None:
            return decision
    return _unknown(seen)


def _unknown(seen: Seen) -> Decision:
    """Neither name nor values say anything: careful with bare codes, else by what the table is about."""
    facts, scale = seen.facts, seen.found.scale
    kind = ladder_order(facts.values)[0] if facts.kind == "text" and facts.distinct <= 12 else ""
    if inside_a_group(facts):
        return counted_inside()
    if seen.asked and scale is not Scale.NUMBER:
        return Decision(Role.SENSITIVE, "some did not know or refused to answer, as with questions of opinion", 0.5, "opinion")
    if kind in ("agreement", "satisfaction", "importance", "frequency", "quality"):
        topic = BY_KEY["opinion"]
        return Decision(topic.role, "its values are answers about opinions or habits", 0.55, topic.key)
    if seen.battery:
        return Decision(
            Role.SENSITIVE, "one of several questions with the same answers in order, as opinions are asked", 0.5, "opinion"
        )
    if opaque(facts.name) and facts.distinct == 2 and seen.private and seen.named:
        why = "its name says nothing; others hardly know a yes or no in a table about health, money or conduct: decide"
        return Decision(Role.SENSITIVE, why, 0.35)
    if opaque(facts.name) and scale in (Scale.NOMINAL, Scale.ORDERED, Scale.PLACE):
        return Decision(Role.QUASI, "its name says nothing and its values are codes, which others may know: look it up", 0.35)
    if facts.kind == "text" and facts.numbers is None and facts.distinct > FEW_VALUES:
        return Decision(Role.QUASI, "it has many values, which single people out if others know them", 0.4)
    if scale is Scale.NUMBER and not (seen.about_people and facts.whole and facts.distinct <= MOST_CODES):
        return Decision(Role.SENSITIVE, "it is a measurement or amount that others hardly know: decide", 0.4)
    if seen.private:
        return Decision(Role.SENSITIVE, "others hardly know it, and the table is about health, money or conduct: decide", 0.4)
    if seen.about_people:
        return Decision(Role.QUASI, "the table is about who and what people are, which others know: decide", 0.4)
    return Decision(Role.INSENSITIVE, "nothing says that others know it, or that it would hurt: decide", 0.35)


def with_scale(decision: Decision, found: Found) -> Found:
    """The scale of a column whose role may say more than its values do: identifiers are not numbers."""
    if decision.scale is not None and decision.scale is not found.scale:
        return Found(decision.scale)
    if decision.role is Role.DIRECT and decision.scale is None:
        return Found(Scale.ID)
    return found


UNITS = (
    "national_number",
    "patient_number",
    "insurance_number",
    "person_number",
    "uuid",
    "hash",
    "key",
    "email",
    "phone",
    "account",
    "device",
    "record_number",
)
"""Topics of columns that may name a person who has several rows, the surest first."""
_CONTACTS = ("email", "phone", "account", "device")
SHARED_CONTACT = 0.7
"""Different values per row below which an address or telephone repeats because people do, not because families share it."""
ACCIDENTS = 0.05
"""Share of rows up to which a number that repeats does so by accident, where another column numbers the rows."""
_HOUSEHOLD = word_set("column_names", "household")
_EVENT = word_set("column_names", "accident")
"""Words for what happens to several people at once: its number repeats with them and names none of them."""


def person_column(made: list[tuple[ColumnFacts, Decision]]) -> str | None:
    """The column that names a person who has several rows; a household only where no column numbers the people."""
    keys = [(f, d) for f, d in made if d.role is Role.DIRECT and d.topic in UNITS]
    repeating = [(f, d) for f, d in keys if _repeats(f, d) and not _event(f, d)]
    if not repeating:
        return None
    single = any(f.distinct == f.filled for f, _ in keys)

    def preference(item: tuple[ColumnFacts, Decision]) -> tuple[int, int]:
        facts, decision = item
        return UNITS.index(decision.topic) + len(UNITS) * _household(facts.name), -facts.distinct

    best, decision = min(repeating, key=preference)
    if any(f.distinct == f.filled and raw_words(f.name) == ("id",) for f, _ in keys) and decision.topic == "record_number":
        return None  # each row has its own id: the other number is of something else
    by_accident = best.distinct > (1 - ACCIDENTS) * best.filled
    return None if single and (_household(best.name) or by_accident) else best.name


def _repeats(facts: ColumnFacts, decision: Decision) -> bool:
    """Whether people have several rows by this column; addresses count where every row has one and few are shared."""
    if decision.topic in _CONTACTS:
        return facts.missing == 0 and facts.distinct < SHARED_CONTACT * facts.filled
    return facts.distinct < facts.filled


def _household(name: str) -> bool:
    return bool(_HOUSEHOLD & set(expanded(name)))


def _event(facts: ColumnFacts, decision: Decision) -> bool:
    """Whether it numbers events, each with several people: not so where the name says a person's number too."""
    return decision.topic in ("record_number", "key", "hash", "uuid") and bool(_EVENT & set(expanded(facts.name)))
