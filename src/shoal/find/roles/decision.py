"""What is known of a column when its role is decided, and the decision."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from shoal.find.finding import ColumnFacts, Evidence, EvidenceKind, Scale, ScaleGuess
from shoal.find.identifiers import Form
from shoal.find.topics import Topic
from shoal.model.roles import Role

FEW_VALUES = 60
FEWEST_ROWS = 20
"""Rows from which "every row has its own value" says something."""

CHANGE = {
    Role.DIRECT: "It is not an identifier if many people share its values, or if they name no person.",
    Role.QUASI: "It is sensitive or insensitive if nobody outside can know it.",
    Role.SENSITIVE: "It is a quasi-identifier if neighbours, colleagues or public lists know it.",
    Role.INSENSITIVE: "It is a quasi-identifier if others know it, sensitive if learning it would hurt.",
    Role.UNDECIDED: "It is a quasi-identifier if others know it, sensitive if learning it would hurt, insensitive if neither.",
}
"""What would change a role, by role."""


@dataclass(frozen=True)
class ColumnView:
    """All that is known of one column when its role is decided."""

    facts: ColumnFacts
    topic: Topic | None
    form: tuple[Form, Evidence] | None
    value_topic: tuple[str, Evidence] | None
    guess: ScaleGuess
    private: bool = False
    """Whether the table is about health, money or conduct: what is not known is then taken for sensitive."""
    about_people: bool = False
    """Whether most that is known of the table is what others know of a person, as in a census."""
    was_asked: bool = False
    """Whether "don't know" or "refused" are among its values: somebody was asked."""
    several: bool = False
    """Whether several columns of whole numbers differ in every row: amounts, since a table has one key."""
    well_named: bool = False
    """Whether sex and two more columns that others know say so in their names: what is left is seldom another one."""
    battery: bool = False
    """Whether several columns of one name and running number have the same answers in order."""
    plain: bool = False
    """Whether it is answered with yes and no, by ticking a list, or in the words of many others, in a table of questions."""
    marks: bool = False
    """Whether its numbers lie in the range of marks beside it."""
    understood: bool = False
    """Whether the names of most columns tell what they hold, and the table is not about health, money or conduct."""
    rated: bool = False
    """Whether it is one of several columns of numbers up to 100 that no name explains."""
    score: bool = False
    """Whether its name is a word for a statistic beside a code, or beside what several columns of answers begin with."""
    partly_understood: bool = False
    """Whether a quarter of the columns tell what they hold, none of them health or crime, and few money or conduct."""


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

    @classmethod
    def open(cls, facts: ColumnFacts) -> Decision:
        """No rule recognizes the column: a person decides."""
        alone = int((facts.counts == 1).sum()) if facts.distinct == len(facts.counts) else 0
        single = f", {alone:,} of them in one row only" if alone else ""
        return cls(
            Role.UNDECIDED, f"not recognized by name or values: {facts.kind}, {facts.distinct:,} different values{single}", 0.0
        )

    @classmethod
    def of(cls, topic: Topic) -> Decision:
        """What the name of a column says, with nothing against it."""
        return cls(topic.role, f"its name says {topic.says}", topic.confidence, topic.key, topic.hipaa)

    @property
    def change(self) -> str:
        return CHANGE[self.role]


def with_evidence(decision: Decision, kind: EvidenceKind) -> Decision:
    """A decision with at least one item of evidence: its reason, unless the rule gave shares of values itself."""
    if decision.evidence:
        return decision
    return replace(decision, evidence=(Evidence(decision.reason, 1.0, decision.confidence, kind),))
