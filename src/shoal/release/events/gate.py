"""The gate for event tables: does a table, as it is, meet a policy? Nothing is written and nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.errors import UsageError
from shoal.measures.events.knowledge import most_known
from shoal.model.display import Progress
from shoal.release.events.records import check_named
from shoal.release.gate.check import NoDirect
from shoal.release.gate.result import CheckResult, file_of
from shoal.release.policy.policy import Policy
from shoal.release.proof.events import EventFacts, facts_of_rows, judge_events

if TYPE_CHECKING:
    from shoal.engines.table import Table


@dataclass(frozen=True, repr=False)
class EventCheckResult(CheckResult):
    """What the gate found in an event table."""

    facts: EventFacts | None = None
    unit: str | None = None

    @property
    def named(self) -> str:
        """Whom the table distinguishes: the values of the person column, or only records."""
        return "records" if self.unit is None else f"values of '{self.unit}'"

    def to_json(self) -> dict[str, Any]:
        return {
            "ok": self.met,
            "table": self.table,
            "counted": f"{self.named} of this table as it is",
            **({} if self.facts is None else self.facts.to_json()),
            "requirements": [f.to_json() for f in self.findings],
        }

    @property
    def counted(self) -> str:
        f = self.facts
        return "" if f is None else f"{f.records:,} records of {f.traces:,} {self.named} at {f.points:,} points."

    @property
    def closing(self) -> str:
        where = f"Counted in this table as it is, over its {self.named}."
        if self.met:
            return f"The gate is open. {where}"
        return (
            f"Known records tell too much. {where} If its dates were shifted, shoal verify states what holds at the dates before "
            "the shift."
        )


def check_events(table: Table, policy: Policy, *, progress: Progress | None = None) -> EventCheckResult:
    """Judge an event table as it is. A column of person, time or place that is not there tells nothing; a direct identifier
    that is still there is a failed requirement."""
    rules = policy.events
    if rules is None:
        raise UsageError("the policy names no events.", hint="Add events: {unit: …, time: …, place: …}.")
    there = [n for n in rules.columns if n in table.schema]
    points = [n for n in there if n != rules.unit]
    check_named(table, policy, there)
    if not points:
        raise UsageError(f"'{table.name}' has none of the columns of time and place.", hint="Check the names under events.")
    if progress is not None:
        progress(0.3, "counting known records")
    unit = rules.unit in there
    requirements = policy.requirements
    sensitive = list(dict.fromkeys(r.sensitive for r in requirements if r.sensitive is not None))
    for name in sensitive:
        table.schema.require(name, what="sensitive column")
    facts = facts_of_rows(
        _rows(table, [rules.unit] if unit else [], sensitive, points), unit=unit, person=False, known=most_known(requirements),
        asked=requirements, timed=rules.time in there, sensitive=sensitive,
    )  # fmt: skip
    left = [n for n in policy.direct if n in table.schema]
    extra = [NoDirect().judged(len(left))] if policy.direct else []
    findings = (*judge_events(policy.requirements, facts), *extra)
    return EventCheckResult(table.name, findings, file_of(table), facts=facts, unit=rules.unit if unit else None)


def _rows(table: Table, unit: list[str], sensitive: list[str], points: list[str]) -> Iterator[tuple[Any, ...]]:
    """The records; one without a person, time or place is left out, as in measuring: nobody can know it."""
    names = [*unit, *sensitive, *points]
    for batch in table.scan(names):
        for row in zip(*(batch.column(i).to_pylist() for i in range(len(names))), strict=True):
            if all(v is not None for v, name in zip(row, names, strict=True) if name not in sensitive):
                yield row
