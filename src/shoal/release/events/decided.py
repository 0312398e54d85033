"""A decided release of events whose records were searched all together; :mod:`.groups` has the same face for larger tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.disk.atomic import scratch
from shoal.measures.events.traces import NONE
from shoal.model.attack import AttackResult
from shoal.model.certificate.events import Before, EventCost, EventData, EventSteps, EventUse
from shoal.model.display import Progress
from shoal.model.requirement import Requirement
from shoal.release.events.attacks import published_attacks, run_attacks, shown_records
from shoal.release.events.contents import before_of, cost_of, steps_of
from shoal.release.events.plan_file import EventPlan, plan_of
from shoal.release.events.publish import private, published, write_table
from shoal.release.events.records import EventTable
from shoal.release.events.uses import Flows, flow_table, flows_beside, uses_of
from shoal.release.policy.events import EventRules
from shoal.release.proof.events import EventFacts, recount_events
from shoal.search.events.event_search import Solution
from shoal.search.events.problem import EVERY, NEVER, Shape

if TYPE_CHECKING:
    from shoal.release.earlier.ledger import Published


class Together:
    """All records, and the plan that was found for them."""

    def __init__(self, events: EventTable, solution: Solution) -> None:
        self.events, self.solution = events, solution
        self.table, self.policy, self.rules, self.shape = events.table, events.policy, events.rules, solution.shape
        self.asked: tuple[Any, ...] = events.problem.asked
        self.n, self.incomplete, self.loss = events.problem.n, events.incomplete, solution.loss
        self.records = int(solution.stays.sum())  # published ones

    @property
    def plan(self) -> EventPlan:
        return plan_of(self.events, self.solution)

    @property
    def steps(self) -> EventSteps:
        return steps_of(self.rules, self.shape)

    def known(self, asked: int, shown: int, few: int) -> int:
        """Known records that are counted: as many as are asked about, and up to ``shown`` where their sets are few."""
        lengths = np.unique(self.solution.trace[self.solution.stays], return_counts=True)[1].tolist()
        more = [s for s in range(asked + 1, shown + 1) if sum(comb(n, s) for n in lengths) <= few]
        return max([asked, *more])

    def write(self, file: Path) -> None:
        """The published file."""
        write_table(published(self.events, self.solution), file)

    def people(self, known: int) -> EventFacts | None:
        """People, where pseudonyms are not people or dates are shifted: counted in a private file, which is removed."""
        if self.shape.renew == NEVER and not self.rules.shift:
            return None
        import pyarrow.parquet as pq

        with scratch() as hidden:
            rows, points = private(self.events, self.solution)
            pq.write_table(rows, hidden / "data.parquet")
            del rows
            return people_in(hidden / "data.parquet", points, self.rules, self.shape, self.asked, known)

    @cached_property
    def _flows(self) -> Flows | None:
        return flows_beside(self.events, self.solution)

    def flow_table(self) -> Any:
        """The published flows (pyarrow); None if there is no file of them."""
        return None if self._flows is None else flow_table(self.events, self.solution, self._flows)

    def attacks(self, data: Path, source: EventData, progress: Progress) -> list[AttackResult]:
        """Attacks on the records, and on the file where pseudonyms are not people."""
        out = run_attacks(self.events, self.solution, progress)
        if self.shape.renew != NEVER or self.rules.shift:
            out += published_attacks(data, source, self.steps, self.asked, separate=True)
        return out

    def uses(self) -> tuple[EventUse, ...]:
        return uses_of(self.events, self.solution, self._flows)

    def cost(self) -> EventCost:
        return cost_of(self.events, self.solution)

    def before(self, most: int) -> tuple[Before, ...]:
        return before_of(self.events, most)

    def shown(self) -> Published:
        """The release for the ledger."""
        return shown_records(self.events, self.solution)


def people_in(
    file: Path, points: Sequence[str], rules: EventRules, shape: Shape, asked: Sequence[Requirement], known: int
) -> EventFacts:
    """The people behind the pseudonyms of a private file, counted."""
    unit = None if shape.renew == EVERY else "trace"
    more: dict[str, Any] = {"asked": asked, "timed": bool(rules.time) and shape.time != NONE, "values": "value "}
    return recount_events(file, unit=unit, points=points, known=known, person="person", **more)
