"""Measured: the figures of a table with what people do with them: check, explain, read in a sentence, write as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.measures.result.figures import Figures
from shoal.measures.result.headline import headline, notes

if TYPE_CHECKING:  # loaded when a requirement or an explanation is asked for: a small table is measured in less time
    from shoal.measures.result.checking import Verdicts
    from shoal.measures.result.headline import Explanation
    from shoal.model.requirement import Verdict


@dataclass(frozen=True, eq=False, repr=False)
class Measured(Figures):
    """All numbers of one table, checked against requirements and explained.

    >>> from shoal.model.counts.classes import ClassCounts
    >>> Measured(ClassCounts((1, 4), columns=("age",), codes=([0, 1],)))
    <Measured of table: 1 of 5 records is one of a kind on age; the smallest group has 1.>
    """

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.table}: {self.sentence}>"

    def check(self, requirement: str) -> Verdict | Verdicts:
        """Whether requirements such as ``"k>=5"`` or ``"k>=5, t[diagnosis]<=0.2"`` are met: true or false as a condition.

        >>> from shoal.model.counts.classes import ClassCounts
        >>> m = Measured(ClassCounts((3, 7)))
        >>> bool(m.check("k>=3")), bool(m.check("k>=3, unique==0, risk.max<=0.3"))
        (True, False)
        """
        from shoal.measures.result.checking import check

        return check(self, requirement)

    def explain(self, name: str | None = None) -> Explanation:
        """Sentence, formula, assumption, attacker and what would change it: of one number, or of the main ones."""
        from shoal.measures.result.headline import explain

        return explain(self, name)

    @property
    def sentence(self) -> str:
        """The headline."""
        return headline(self)

    @property
    def notes(self) -> list[str]:
        """What the reader must know to use the numbers."""
        return notes(self)

    def to_json(self) -> dict[str, Any]:
        """The keys that stay, and what else is known; no data value."""
        out: dict[str, Any] = {
            "table": self.table,
            "quasi": list(self.quasi),
            "records": self.records,
            "people": self.people,
            "classes": self.classes,
            "k": self.k,
            "unique": self.unique,
            "unique_share": self.unique_share,
            "class_sizes": self.class_sizes.to_json(),
            "people_at": {str(t): n for t, n in self.people_at.items()},
            "risk": self.risk.to_json(),
            "diversity": {n: d.to_json() for n, d in self.diversity.items()},
            "closeness": {n: c.to_json() for n, c in self.closeness.items()},
            "missing": self.missing,
            "entropy_risk": self.entropy_risk,
            "grouping_loss": self.grouping_loss,
            "worst_subsets": [s.to_json() for s in self.worst_subsets()] if self.knows_subsets else [],
            "contribution": [c.to_json() for c in self.contributions()] if self.knows_subsets else [],
            "sentence": self.sentence,
            "notes": self.notes,
        }
        extra = {"presence": self.presence, "individual": self.individual, "by": self.by}
        out |= {name: part.to_json() for name, part in extra.items() if part is not None}
        if self.whole_set is not None:
            out |= {"unit": self.counts.unit, "memberships": self.memberships, "whole_set": self.whole_set.to_json()}
        if self.population is not None:
            out["population"] = self.population
        if self.journalist_estimate is not None:
            out["risk"]["journalist"]["estimate"] = self.journalist_estimate.to_json()
        return out | ({"sample": dict(self.sample)} if self.sample else {})
