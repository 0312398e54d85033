"""The column that names a person who has several rows, found among the columns of a table."""

from __future__ import annotations

from shoal.find.finding import ColumnFacts
from shoal.find.names.lexicon import expanded
from shoal.find.names.words import raw_words
from shoal.find.roles.seen import Decision
from shoal.model.roles import Role

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
_HOUSEHOLD = frozenset(
    "household hh hhid hid hogar haushalt huishouden menage foyer familia family dwelling vivienda serialno hhno".split()
)
_EVENT = frozenset(
    "accident accidents acc crash collision incident unfall ongeval ongeluk accidente acidente incidente sinistro".split()
)
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
