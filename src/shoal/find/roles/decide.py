"""The role of a column from what its name says and what its values are.

Values that name people decide first; then the name, checked against the values; then the words of the values; then their shape.
Only what a neighbour, colleague or public list could know is taken for a quasi-identifier, with one exception: a code with few
values whose name says nothing (``CH07``) may be anything, so it is treated with care.
"""

from __future__ import annotations

from collections.abc import Callable

from shoal.find.finding import ColumnFacts, EvidenceKind, Scale, ScaleGuess
from shoal.find.identifiers import spread
from shoal.find.name_words import opaque, raw_words
from shoal.find.orders import answers_of_opinion
from shoal.find.people import names_somebody
from shoal.find.questions import answer_texts, question
from shoal.find.roles.by_cells import by_cells, typed_names
from shoal.find.roles.by_name import by_name, counted_inside, inside_a_group
from shoal.find.roles.by_values import by_addresses, by_full_names, by_row_numbers, by_shape, by_value_topic, by_weight
from shoal.find.roles.decision import FEW_VALUES, FEWEST_ROWS, ColumnView, Decision, with_evidence
from shoal.find.roles.keys import (
    below_zero,
    by_last_word,
    by_number_word,
    by_person_word,
    in_unknown_script,
    numbering,
    own_words,
    rarer_than_low,
    repeated_numbers,
    short_codes,
)
from shoal.find.safe_harbor.spellings import certain_in
from shoal.find.topics import BY_KEY, expanded
from shoal.find.vocabulary import word_set
from shoal.find.whole_numbers import MOST_CODES, around_zero, dense
from shoal.model.roles import Role


def _by_table(view: ColumnView) -> Decision | None:
    """By the kind of answers and what the table is about, if neither name nor values say anything; careful with bare codes."""
    facts, scale = view.facts, view.guess.scale
    answers = facts.distinct <= 12 and answers_of_opinion(answer_texts(facts))
    if inside_a_group(facts):
        return counted_inside(facts)
    if view.was_asked and (scale is Scale.ORDERED or question(facts.name)):  # some do not say what they work as either
        return Decision(Role.SENSITIVE, "some did not know or refused to answer, as with questions of opinion", 0.5, "opinion")
    if answers or around_zero(facts):
        topic = BY_KEY["opinion"]
        return Decision(topic.role, "its values are answers about opinions or habits", 0.55, topic.key)
    if view.plain:
        why = "a question with plain answers (yes and no, a list to tick, the same words as others) among others"
        return Decision(Role.SENSITIVE, why, 0.5, "opinion")
    if view.marks:
        return Decision(Role.SENSITIVE, "its values are marks: in letters, or in the range of the marks beside it", 0.5, "marks")
    if view.score and scale is Scale.NUMBER and not view.about_people:
        return Decision(
            Role.SENSITIVE, "its name says a sum, mean or deviation of codes or of answers that others hold", 0.5, "marks"
        )
    if view.battery:
        return Decision(
            Role.SENSITIVE, "one of several questions with the same answers in order, as opinions are asked", 0.5, "opinion"
        )
    if view.private and scale is Scale.NUMBER and not facts.whole:
        why = "it is measured with fractions, and the table is about health, money or conduct"
        return Decision(Role.SENSITIVE, why, 0.5)
    if own_words(facts):
        return Decision(
            Role.DIRECT, "most rows have words of their own, as names of people are", 0.5, "all_different", 18, Scale.ID
        )
    if (opaque(facts.name) and facts.distinct == 2 and view.private and view.well_named) or in_unknown_script(facts):
        return None  # a yes or no that others hardly know, words that nobody can read: nothing shows what it is
    if _own_in_few_rows(facts) and scale not in (Scale.ORDERED, Scale.PLACE):
        why = "its name says nothing, and each of a few rows has its own text or long number, as names and numbers of people are"
        return Decision(Role.DIRECT, why, 0.4, "all_different", 18, Scale.ID)
    fractions = facts.numbers is not None and not facts.whole  # which number nobody
    if opaque(facts.name) and (
        scale in (Scale.NOMINAL, Scale.ORDERED, Scale.PLACE) or facts.distinct <= FEWEST_CODES or fractions
    ):
        return Decision(Role.QUASI, "its name says nothing and its values are codes, which others may know: look it up", 0.35)
    if facts.kind == "text" and facts.numbers is None and facts.distinct > FEW_VALUES:
        return Decision(Role.QUASI, "it has many values, which single people out if others know them", 0.4)
    if scale is Scale.NUMBER and not (view.about_people and facts.whole and facts.distinct <= MOST_CODES):
        return None
    if view.about_people:
        return Decision(Role.QUASI, "the table is about who and what people are, which others know: decide", 0.4)
    return None


def _own_in_few_rows(facts: ColumnFacts) -> bool:
    """Whether each of a few rows has its own text, or long numbers of one length."""
    if not LEAST_OWN <= facts.filled < FEWEST_ROWS:
        return False
    if facts.numbers is None:
        return facts.kind == "text" and facts.distinct == facts.filled
    lengths = {len(v) for v in facts.values}
    return facts.kind == "integer" and len(lengths) == 1 and min(lengths) >= LONG_NUMBER


def _shared(view: ColumnView) -> Decision | None:
    """A few values or counts that many rows share, in a table that is understood: others may know which one a person has.

    Not so for questions, words that nobody can read, values that may name people, and numbers that may be theirs.
    """
    facts = view.facts
    each = ROWS_EACH if view.understood else MANY_EACH
    known = view.understood or view.partly_understood
    if (
        not known
        or view.topic is not None
        or facts.filled < max(min(FEWEST_ROWS, MANY_EACH * facts.distinct), each * facts.distinct)
    ):
        return None
    if (
        (facts.distinct == 2 and view.private and view.well_named)
        or question(facts.name)
        or view.was_asked
        or in_unknown_script(facts)
    ):
        return None
    if _codes(facts) if facts.numbers is None else not (view.rated or _counts(facts)):  # codes of people need not look alike
        return None
    if facts.numbers is None and (
        certain_in(spread(facts.values)) or typed_names(facts) or any(map(names_somebody, facts.values))
    ):
        return None
    why = "its values repeat in many rows, and the columns beside it are known: others may know which one a person has"
    return Decision(Role.QUASI, why, 0.3)


def _codes(facts: ColumnFacts) -> bool:
    """Whether half of the texts are one word with a digit, or one of many has a digit."""
    digits = [v for v in facts.values if any(map(str.isdigit, v))]
    words = sum(not any(map(str.isspace, v.strip())) for v in digits)
    return 2 * words >= len(facts.values) or (bool(digits) and facts.distinct > FEWEST_CODES)


def _counts(facts: ColumnFacts) -> bool:
    """Whether they number nobody: fractions, two numbers, a short range of codes, counts with few high ones, numbers below 0."""
    numbers = facts.numbers
    assert numbers is not None
    if below_zero(facts) or rarer_than_low(numbers):
        return True
    few = facts.distinct == 2 or (dense(facts) and facts.high <= MOST_CODES)
    high = float(facts.counts[numbers > facts.high / 2].sum())
    return few or not facts.whole or (facts.low == 0 and high <= FEW_HIGH * facts.filled)


RULES: tuple[tuple[Callable[[ColumnView], Decision | None], EvidenceKind], ...] = (
    (by_weight, "name"),
    (by_row_numbers, "shape"),
    (by_number_word, "name"),
    (by_last_word, "name"),
    (by_person_word, "name"),
    (by_full_names, "values"),
    (by_addresses, "shape"),
    (by_name, "name"),
    (by_value_topic, "values"),
    (by_shape, "shape"),
    (_by_table, "table"),
    (_shared, "table"),
)
"""Rules with the kind of evidence they look at. The first one that recognizes the column decides."""


LEAST_OWN, LONG_NUMBER = 5, 7
"""Rows from which each has its own text because they name people, not by accident; digits of numbers that do so too."""
ROWS_EACH, MANY_EACH, FEW_HIGH = 2, 5, 0.25
"""Rows per value from which values repeat, the same in a table understood in part, and the share of rows with high numbers
up to which numbers count something."""
FEWEST_CODES = 12
"""Different values up to which numbers without a name are codes, also those with fractions."""
OWN_CODES = 0.5
"""Share of the rows that are the only ones with their code from which codes may number people."""
NEARLY_OWN = 0.98
"""Different numbers per row from which rows that share one do so by a slip, if the numbers lie as those that are given out."""
FEW_FOUND = 0.05
"""Share of the rows that a column may find by itself before it is taken for known under any name."""


def decide(view: ColumnView) -> Decision:
    """The role of one column: what its name and values say, unless it finds people by itself or names some in its texts."""
    return by_cells(view, _by_count(view, _recognize(view)))


OF_THINGS = ("record_number", "device", "url", "name", "text")
"""Topics of direct identifiers that name a thing, not a person, if all rows have the same one."""


def _by_count(view: ColumnView, decision: Decision) -> Decision:
    """The decision, or what the count says: a column that finds many rows is not published for want of a meaning.

    A sensitive column stays one: what it is about must be protected too. Drafts and releases count what it finds.
    """
    facts = view.facts
    if decision.role not in (Role.INSENSITIVE, Role.UNDECIDED) or facts.filled < FEWEST_ROWS:
        return decision
    if decision.topic == "leisure" and facts.kind == "text" and facts.distinct > FEWEST_CODES:
        why = "it has many values, which single people out if others know them"
        return with_evidence(Decision(Role.QUASI, why, 0.4, decision.topic), "shape")
    if decision.role is Role.UNDECIDED and view.topic is None and repeated_numbers(facts):
        why = "many numbers of equal length that repeat: they may number people who have several rows"
        return with_evidence(Decision(Role.DIRECT, why, 0.4, "", 18, Scale.ID), "shape")
    if facts.singled_out <= FEW_FOUND or decision.topic == "survey_weight":
        return decision
    if decision.role is Role.UNDECIDED and in_unknown_script(facts):
        return decision  # it may name people
    percent = f"{100 * facts.singled_out:.0f} % of the rows are the only ones with their value"
    own = facts.distinct >= NEARLY_OWN * facts.filled and facts.whole and not below_zero(facts) and not view.several
    own = own and (facts.distinct == facts.filled or numbering(facts))
    coded = facts.kind == "text" and facts.singled_out >= OWN_CODES and short_codes(facts)
    if decision.role is Role.UNDECIDED and own:
        why = "every row has its own whole number, and nothing says that it is an amount"
        direct = Decision(Role.DIRECT, why, 0.6, "all_different", 18, Scale.ID)
    elif decision.role is Role.UNDECIDED and coded:
        why = "codes of letters and digits, most of them in one row only: they may number people"
        direct = Decision(Role.DIRECT, why, 0.5, "all_different", 18, Scale.ID)
    else:
        direct = Decision(
            Role.QUASI, f"{percent}: whoever knows it finds them", 0.5, decision.topic, decision.hipaa, decision.scale
        )
    return with_evidence(direct, "shape")


def _recognize(view: ColumnView) -> Decision:
    """What the first rule says that recognizes the column."""
    facts = view.facts
    if facts.distinct == 0:
        return with_evidence(Decision(Role.INSENSITIVE, "it is never filled", 0.95), "shape")
    if view.form is not None:
        form, evidence = view.form
        scale = Scale.PLACE if form.key == "position" else Scale.ID
        return Decision(
            Role.DIRECT, f"its values look like {form.what}", form.confidence, form.key, form.hipaa, scale, (evidence,)
        )
    if facts.distinct == 1 and facts.missing == 0:  # one value or none is a mark of some people
        if view.topic is not None and view.topic.role is Role.DIRECT and view.topic.key not in OF_THINGS and facts.kind == "text":
            why = f"its name says {view.topic.says}, and all rows have the same: a table of one person, or of one household"
            return with_evidence(Decision(Role.DIRECT, why, 0.7, view.topic.key, view.topic.hipaa, Scale.ID), "name")
        one = Decision(Role.INSENSITIVE, "it has one value only", 0.85, view.topic.key if view.topic else "")
        return with_evidence(one, "shape")
    for rule, kind in RULES:
        decision = rule(view)
        if decision is not None:
            return with_evidence(decision, kind)
    return Decision.open(facts)


def with_scale(decision: Decision, guess: ScaleGuess) -> ScaleGuess:
    """The scale of a column whose role may say more than its values do: identifiers are not numbers."""
    if decision.scale is not None and decision.scale is not guess.scale:
        return ScaleGuess(decision.scale)
    if decision.role is Role.DIRECT and decision.scale is None:
        return ScaleGuess(Scale.ID)
    return guess


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
    keys = [(f, d) for f, d in made if d.role is Role.DIRECT and d.topic in UNITS and f.missing <= f.filled]
    repeating = [(f, d) for f, d in keys if _repeats(f, d) and not _event(f, d)]
    if not repeating:
        return None
    single = any(f.distinct == f.filled for f, _ in keys)

    def preference(item: tuple[ColumnFacts, Decision]) -> tuple[int, int]:
        facts, decision = item
        return UNITS.index(decision.topic) + len(UNITS) * _household(facts.name), -facts.distinct

    best, decision = min(repeating, key=preference)
    names = [f for f, d in made if d.topic == "person_name" and _several_papers(f, best)]
    if decision.topic == "record_number" and names:
        return min(names, key=lambda f: f.distinct).name  # it names people, the other their papers
    if any(f.distinct == f.filled and raw_words(f.name) == ("id",) for f, _ in keys) and decision.topic == "record_number":
        return None  # each row has its own id: the other number is of something else
    by_accident = best.distinct > (1 - ACCIDENTS) * best.filled
    return None if single and (_household(best.name) or by_accident) else best.name


def _repeats(facts: ColumnFacts, decision: Decision) -> bool:
    """Whether people have several rows by this column; addresses count where every row has one and few are shared."""
    if decision.topic in _CONTACTS:
        return facts.missing == 0 and facts.distinct < SHARED_CONTACT * facts.filled
    return facts.distinct < facts.filled


def _several_papers(people: ColumnFacts, papers: ColumnFacts) -> bool:
    """Whether people who are named in every row have several numbered papers each, such as orders."""
    return people.missing == 0 and people.distinct >= FEWEST_ROWS and people.distinct < SHARED_CONTACT * papers.distinct


def _household(name: str) -> bool:
    return bool(_HOUSEHOLD & set(expanded(name)))


def _event(facts: ColumnFacts, decision: Decision) -> bool:
    """Whether it numbers events, each with several people: not so where the name says a person's number too."""
    return decision.topic in ("record_number", "key", "hash", "uuid") and bool(_EVENT & set(expanded(facts.name)))
