"""The finder: for every column of a table its role, scale, order and missing spellings, with a reason; the person column.

Takes    facts about every column (distinct values with counts, labels)
Returns  one finding per column, in order; at most one is marked ``unit`` and one ``weight``
Keeps    no data value in a reason; values are named only as the order of categories and as spellings of "missing"
Cost     at most a thousand distinct values of a column are looked at for each kind of identifier
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

import numpy as np

from shoal.find.bands import odd_band
from shoal.find.finding import ColumnFacts, ColumnFinding, Scale
from shoal.find.identifiers import identifier_form, spread
from shoal.find.missing_values import BELOW, asked, below_codes, missing_spellings, number_codes
from shoal.find.name_words import raw_words
from shoal.find.questions import Batteries, marks_beside, statement
from shoal.find.roles.by_name import FEW_NUMBERS
from shoal.find.roles.decide import UNITS, decide, person_column, with_scale
from shoal.find.roles.decision import CHANGE, FEWEST_ROWS, ColumnView, Decision
from shoal.find.roles.keys import SEVERAL, short_codes
from shoal.find.scales import scale_of
from shoal.find.topics import BY_KEY, LONG, OF_A_PERSON, Topic, speaks_of_crime, topics_beside
from shoal.find.value_topics import spoken_of
from shoal.find.vocabulary import folded, word_set
from shoal.find.whole_numbers import MOST_CODES
from shoal.model.roles import MOMENTS, Role

PRIVATE_SHARE = 0.25
"""Share of columns about health, money or conduct from which a table is about them."""
LEAST_PRIVATE, PRIVATE_KNOWN = 3, 0.45
"""Such columns, and their share of those whose name tells something, from which it is too, however many names tell nothing."""
LEAST_QUASI, QUASI_SHARE = 3, 0.6
"""Columns that others know, and their share of those whose name tells something, from which a table is a census of people."""
LEAST_KNOWN, LEAST_BESIDE, KNOWN_SHARE, MONEY_SHARE = 3, 2, 0.3, 0.5
"""Columns that tell what they hold, those of them in a table of at most four columns, and their share, from which the others hold
nothing secret; the share beside money."""
PARTLY = 0.25
"""Share of such columns from which values that very many rows share may be known; none says health or crime, and few money."""
ALIKE, HIGHEST = 4, 100
"""Columns of numbers up to the highest mark that no name explains from which they number nobody: a table has one key."""
CENSUS = 6
"""Columns that others know for each about health from which a table is a census: a few of both make a table of patients."""
FOLLOWED, OUTCOME = (word_set("column_names", f"follow-up {what}") for what in ("time", "outcome"))
"""Names of a time that people were followed and of what it ended with: a table with both is about their health or conduct."""
BANDED = ("income", "spending")
"""Topics of amounts that surveys ask in numbered bands."""
FEWEST_PHONES = 20
"""Different values from which digits are telephone numbers where the name does not say so: a few may be codes of anything."""
SHARED = 2
"""Columns that must use a number for "no value" before doubtful ones follow."""


def find_columns(table: Sequence[ColumnFacts]) -> tuple[ColumnFinding, ...]:
    """A finding for every column.

    >>> import numpy as np
    >>> one = np.ones(3, dtype=np.int64)
    >>> mail = ColumnFacts("contact", "text", ["ann@x.org", "bob@y.com", "cy@z.net"], one, 3)
    >>> size = ColumnFacts("size", "text", ["high", "low", "medium"], one, 3)
    >>> [(f.role.value, f.scale.value, f.order) for f in find_columns([mail, size])]
    [('direct', 'id', ()), ('undecided', 'ordered', ('low', 'medium', 'high'))]
    """
    own = [number_codes(facts) for facts in table]
    counted = Counter(code for codes in own for code in codes)
    below = Counter(str(int(float(code))) for facts in table for code in below_codes(facts))
    shared = frozenset(code for code, n in counted.items() if n >= SHARED and code not in below)
    shared |= {code for code, n in below.items() if n >= BELOW}
    spelled = [missing_spellings(facts, shared=shared, own=codes) for facts, codes in zip(table, own, strict=True)]
    bare = [facts.without(gone) for facts, gone in zip(table, spelled, strict=True)]
    topics = topics_beside([(f.name, f.label) for f in table])
    known = {t.key for t in topics if t is not None and t.role is Role.QUASI}
    well_named = "sex" in known and len(known) >= LEAST_QUASI
    dummies = _dummies(bare)
    single = [(topic, facts.name) for topic, facts in zip(topics, table, strict=True) if facts.name not in dummies]
    forms = {f.name: identifier_form(f.values, f.kind) for f in bare}
    spoken = {f.name: spoken_of(f.values, f.kind) for f in bare}
    clear = sum(
        t is None and f.name not in dummies and bool(forms[f.name] or spoken[f.name] or f.kind in MOMENTS)
        for t, f in zip(topics, bare, strict=True)
    )
    private, about_people, understood, partly = _about([topic for topic, _ in single], [name for _, name in single], clear)
    batteries = Batteries.of(bare)
    marks = marks_beside(bare, [t.key if t else "" for t in topics])
    alike = sum(t is None and _rated(f) for t, f in zip(topics, bare, strict=True)) >= ALIKE
    several = sum(f.whole and f.distinct == f.filled >= FEWEST_ROWS for f in bare) >= SEVERAL
    findings = []
    for facts, gone, topic in zip(bare, spelled, topics, strict=True):
        value_topic, form = spoken[facts.name], forms[facts.name]
        if form is not None and form[0].key == "phone" and _few_codes(facts, topic):
            form = None
        usual = _usual(topic, facts) if topic is not None else BY_KEY[value_topic[0]].scale if value_topic else ""
        in_series = batteries.in_series(facts)
        guess = scale_of(facts, usual, battery=batteries.asked_alike(facts, about_people))
        decision = decide(
            ColumnView(
                facts,
                topic,
                form,
                value_topic,
                guess,
                private,
                about_people,
                asked(gone),
                several,
                well_named,
                in_series
                and (
                    guess.scale is Scale.ORDERED
                    or statement(facts)
                    or batteries.opinions(facts, named=topic is not None)
                    or (facts.declared_scale == "nominal" and not about_people)
                ),
                batteries.plain_answers(facts) or batteries.same_labels(facts),
                facts.name in marks,
                understood,
                alike and _rated(facts),
                batteries.score(facts.name),
                partly,
            )
        )
        guess = guess if facts.said_scale else with_scale(decision, guess)
        findings.append((facts, decision, _finding(facts, decision, guess.scale, guess.order, gone)))
    return _mark_columns(findings, dummies)


LEAST_BASE, MOST_DUMMIES = 3, 100
"""Letters of the shortest name of a column that dummies mark values of, and the most values that are marked."""
_SIGNS = re.compile(r"[\W_]+")


def _dummies(table: Sequence[ColumnFacts]) -> dict[str, ColumnFacts]:
    """Columns of two values whose name is that of another column and one of its values (JobNurse marks Nurse in Job)."""
    out: dict[str, ColumnFacts] = {}
    base: ColumnFacts | None = None
    for facts in sorted(table, key=lambda f: f.name):
        if base is not None and facts.distinct <= 2 and facts.name.startswith(base.name) and facts.name != base.name:
            if _SIGNS.sub("", folded(facts.name[len(base.name) :])) in {_SIGNS.sub("", folded(v)) for v in base.values}:
                out[facts.name] = base
        elif len(facts.name) >= LEAST_BASE and 2 < facts.distinct <= MOST_DUMMIES:
            base = facts
    return out


def _about(topics: Sequence[Topic | None], names: Sequence[str], by_values: int) -> tuple[bool, bool, bool, bool]:
    """What a table is about, by the names of its columns: health, money or conduct; who and what people are; nothing secret.

    The last is so if enough names tell what they hold, or ``by_values`` of the others, and hardly one says health, none crime.
    """
    subjects = [topic for topic in topics if topic is None or topic.role is not Role.DIRECT]
    known = [t for t in subjects if _is_known(t)]
    harm = sum(t is not None and (bool(t.about) or speaks_of_crime(n)) for t, n in zip(topics, names, strict=True))
    followed = {n.lower() for n in names}
    crime = any(speaks_of_crime(n) for n in names)
    private = (
        bool(followed & FOLLOWED and followed & OUTCOME)
        or crime
        or harm >= PRIVATE_SHARE * max(len(subjects), 1)
        or harm >= max(LEAST_PRIVATE, PRIVATE_KNOWN * len(known))
    )
    short = [  # one word of a question says little of its table
        t for t, n in zip(topics, names, strict=True) if _is_known(t) and (len(raw_words(n)) <= LONG or t.key in OF_A_PERSON)
    ]
    quasi = sum(t.role is Role.QUASI for t in short)
    health = sum(t.about == "health" for t in short)
    census = quasi >= max(LEAST_QUASI, QUASI_SHARE * len(short), CENSUS * health)
    clear = len(short) + sum(t is not None and t.role is Role.DIRECT for t in topics) + by_values
    least = LEAST_KNOWN if private else min(LEAST_KNOWN, max(LEAST_BESIDE, len(topics) / 2))
    enough = clear >= max(least, (MONEY_SHARE if private else KNOWN_SHARE) * len(topics))
    partly = clear >= PARTLY * len(topics) and not private and not health and not crime
    return private, not private and census, enough and not crime and (not health or clear > CENSUS * health), partly


def _rated(facts: ColumnFacts) -> bool:
    """Whether numbers lie between 0 and 100 and are more than yes and no, as marks and scores are."""
    return facts.numbers is not None and facts.distinct > 2 and 0 <= facts.low <= facts.high <= HIGHEST


def _is_known(topic: Topic | None) -> TypeGuard[Topic]:
    return topic is not None and topic.role is not Role.DIRECT and topic.key != "survey_weight"


def find_column(facts: ColumnFacts) -> ColumnFinding:
    """A finding for one column alone, without what the rest of the table would tell."""
    return find_columns([facts])[0]


def _finding(
    facts: ColumnFacts, decision: Decision, scale: Scale, order: tuple[str, ...], gone: tuple[str, ...]
) -> ColumnFinding:
    odd = scale is Scale.NOMINAL and facts.kind == "text" and odd_band(facts.values)
    return ColumnFinding(
        facts.name,
        facts.kind,
        facts.distinct,
        facts.missing,
        decision.role,
        decision.reason + ("; one label is not a band, so the others have no order" if odd else ""),
        round(decision.confidence, 2),
        scale,
        order if scale is Scale.ORDERED else (),
        tuple(v.removesuffix(".0") for v in gone) if facts.kind == "float" else gone,  # as a person writes the number
        decision.topic,
        decision.change,
        decision.evidence,
        decision.hipaa,
        singled_out=facts.singled_out,
    )


def _usual(topic: Topic, facts: ColumnFacts) -> str:
    """The scale that columns of a topic have; amounts of money from 1 to 25 are numbered bands."""
    if topic.key not in BANDED or not facts.whole or facts.numbers is None or facts.distinct < 3:
        return topic.scale
    return "ordered" if facts.low >= 0 and facts.high <= MOST_CODES else topic.scale


def _few_codes(facts: ColumnFacts, topic: Topic | None) -> bool:
    """Whether bare digits are so few that they may be codes of anything, and the name does not say telephone."""
    bare = all(v.isdecimal() for v in facts.values)
    return bare and facts.distinct < FEWEST_PHONES and (topic is None or topic.key != "phone")


_NAMED = {
    "alike": ("its values repeat exactly as those of the column that names people: another number of theirs", 0.7, "key", 18),
    "surname": ("it holds single words in capitals beside names of people: the other part of the names", 0.6, "person_name", 1),
    "others": ("nearly all its values stand in a column that names people: it names another of them", 0.6, "person_number", 18),
}
"""Why a column names people as another does, how sure that is, and what it is then."""


def _mark_columns(
    made: list[tuple[ColumnFacts, Decision, ColumnFinding]], dummies: Mapping[str, ColumnFacts]
) -> tuple[ColumnFinding, ...]:
    """The findings, with the person column and the weights marked, and dummies in the role of the column that they mark."""
    roles = {facts.name: finding.role for facts, _, finding in made}
    unit = person_column([(facts, decision) for facts, decision, _ in made])
    event = _event_time(made) if unit is not None else None
    named = dict.fromkeys(_of_the_key(made), _NAMED["others"])
    named |= dict.fromkeys(_beside_given_names(made), _NAMED["surname"]) | dict.fromkeys(
        _like_the_key(made, unit), _NAMED["alike"]
    )
    shared = _shared_numbers(made, unit)
    weight = next((facts.name for facts, decision, _ in made if decision.topic == "survey_weight"), None)
    out = []
    for facts, _, finding in made:
        if facts.name == unit:
            also = [f.name for f, d, _ in made if f.name != unit and d.topic in UNITS and f.distinct < f.filled]
            doubt = f" ('{also[0]}' repeats too: take it instead if it names the people)" if also else ""
            reason = f"{finding.reason}; people have several rows: name it as unit{doubt}"
            finding = replace(finding, mark="unit", reason=reason)
        elif (marked := dummies.get(facts.name)) is not None and finding.distinct > 1:
            role = Role.QUASI if roles[marked.name] is Role.DIRECT else roles[marked.name]
            if role is Role.QUASI or finding.role not in (Role.QUASI, Role.DIRECT):  # never less careful than its own name
                finding = replace(finding, role=role, reason=f"it marks one value of '{marked.name}'", change=CHANGE[role])
        elif facts.name in named:
            why, confidence, topic, hipaa = named[facts.name]
            finding = replace(finding, role=Role.DIRECT, reason=why, confidence=confidence, topic=topic, hipaa=hipaa)
            finding = replace(finding, scale=Scale.ID, order=(), change=CHANGE[Role.DIRECT])
        elif facts.name in shared:
            why = "numbers or codes that several of the people share whom another column names: others may know it"
            finding = replace(finding, role=Role.QUASI, reason=why, confidence=0.4, change=CHANGE[Role.QUASI])
        elif facts.name == event:
            why = "people have several rows, and it shows when: others may know it"
            finding = replace(finding, role=Role.QUASI, reason=why, confidence=0.6, topic="event_date")
        elif facts.name == weight:
            finding = replace(finding, mark="weight")
        out.append(finding)
    return tuple(out)


def _like_the_key(made: list[tuple[ColumnFacts, Decision, ColumnFinding]], unit: str | None) -> frozenset[str]:
    """Columns that no name explains and whose values repeat exactly as those of the key, or of people's names, do."""
    keys = [f for f, d, _ in made if f.name == unit or (d.topic == "person_name" and 2 * f.distinct <= f.filled)]
    times = {np.sort(f.counts).tobytes() for f in keys if f.distinct == len(f.counts) >= FEWEST_ROWS and len(set(f.counts)) > 1}
    return frozenset(
        facts.name
        for facts, decision, _ in made
        if times
        and (facts.whole or facts.kind == "text")
        and not decision.topic
        and decision.role is not Role.DIRECT
        and np.sort(facts.counts).tobytes() in times
    )


LEAST_NAMED, INSIDE, LEAST_SIGNS = 3, 0.9, 4
"""Values, their share and their signs from which values that all stand among the names or numbers of people are theirs too."""


def _of_the_key(made: list[tuple[ColumnFacts, Decision, ColumnFinding]]) -> frozenset[str]:
    """Columns that name other people of the table: a superior, a parent, somebody who brought them in."""
    keys = [set(f.values) for f, d, _ in made if d.role is Role.DIRECT and d.topic in (*UNITS, "person_name", "all_different")]
    return frozenset(
        facts.name
        for facts, decision, _ in made
        if decision.role in (Role.QUASI, Role.UNDECIDED, Role.INSENSITIVE)
        and facts.kind == "text"
        and facts.distinct >= LEAST_NAMED
        and any(_inside(facts, key) for key in keys)
    )


def _inside(facts: ColumnFacts, key: set[str]) -> bool:
    """Whether most values are long enough and stand among the values of a key, of which there are more."""
    long = sum(len(v) >= LEAST_SIGNS and v in key for v in facts.values)
    return facts.distinct < len(key) and long >= INSIDE * facts.distinct


PEOPLE_EACH, ROWS_EACH = 2, 5
"""People, and rows, for each number from which it is that of a group: a branch, a physician, a product."""


def _shared_numbers(made: list[tuple[ColumnFacts, Decision, ColumnFinding]], unit: str | None) -> frozenset[str]:
    """Numbers of a thing or another person that are few beside the people whom another column names or numbers."""
    people = (f.distinct for f, d, _ in made if d.role is Role.DIRECT and (d.topic in PEOPLE or f.name == unit))
    most = max(people, default=0)
    return frozenset(
        facts.name
        for facts, decision, _ in made
        if decision.role is Role.UNDECIDED
        and (decision.reason == FEW_NUMBERS or (not decision.topic and short_codes(facts)))
        and PEOPLE_EACH * facts.distinct <= most
        and facts.filled >= max(FEWEST_ROWS, ROWS_EACH * facts.distinct)
    )


PEOPLE = ("person_name", "name_part", "email", "phone", "national_number", "patient_number", "insurance_number", "person_number")
"""Topics of columns that name the people of a table."""


_ONE_WORD = re.compile(r"[^\W\d_]{2,}(?:[ '’-][^\W\d_]{2,}){0,2}")
NAME_SHARE, RARE = 0.9, 0.25
"""Share of values that are words in capitals, and different values per row, from which they may be family names."""


NAME_ALONE = frozenset((word,) for word in word_set("column_names", "person: name"))
"""Names of columns that are a word for "name" and nothing else."""


def _beside_given_names(made: list[tuple[ColumnFacts, Decision, ColumnFinding]]) -> frozenset[str]:
    """Columns of words in capitals, most of them rare, that no name explains, in a table with a column of people's names."""
    if not any(decision.role is Role.DIRECT and _may_name(facts, decision) for facts, decision, _ in made):
        return frozenset()
    return frozenset(
        facts.name
        for facts, decision, _ in made
        if facts.kind == "text"
        and decision.role in (Role.QUASI, Role.UNDECIDED)
        and (
            raw_words(facts.name) in NAME_ALONE
            or (not decision.topic and facts.distinct >= max(FEWEST_ROWS, RARE * facts.filled))
        )
        and _words_in_capitals(facts.values)
    )


def _may_name(facts: ColumnFacts, decision: Decision) -> bool:
    """Whether a direct identifier names people, or holds words in capitals of which most rows have their own."""
    capitals = decision.topic == "all_different" and facts.kind == "text" and _words_in_capitals(facts.values)
    return decision.topic == "person_name" or capitals


def _words_in_capitals(values: Sequence[str]) -> bool:
    looked = [v.strip() for v in spread(values)]
    return sum(v[:1].isupper() and _ONE_WORD.fullmatch(v) is not None for v in looked) >= NAME_SHARE * len(looked)


def _event_time(made: list[tuple[ColumnFacts, Decision, ColumnFinding]]) -> str | None:
    """The only column of times, where its name says a technical one (``created_at``): of records of people it is the event."""
    dates = [(f, d) for f, d, finding in made if finding.scale is Scale.DATE]
    return dates[0][0].name if len(dates) == 1 and dates[0][1].topic == "technical" and dates[0][0].distinct > 1 else None
