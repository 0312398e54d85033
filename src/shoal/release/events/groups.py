"""A release of more records than are searched together: groups of people, drawn at random, one after the other.

Takes    a table and a policy whose requirements may be met group by group (:func:`divides`)
Returns  Groups: the plan, found on the first group and tried on all; what was published of each, on disk
Keeps    every group meets the requirements by itself, so that the whole does: traces that share a set of points in one group
         share it in the whole, and nobody is in two groups. The requirement is counted again on the whole file all the same.
         Nothing that is published tells of a group: pseudonyms are dealt over all
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.disk.atomic import scratch_of
from shoal.engines.core.memory import give_back
from shoal.errors import EmptyTableError, InfeasibleError, InternalError, UsageError
from shoal.measures.events.traces import EXACT, NONE, Traces, no_complete_record
from shoal.model.attack import AttackResult
from shoal.model.certificate.events import Before, EventCost, EventData, EventSteps, EventUse
from shoal.model.counts.classes import IntArray
from shoal.model.display import Progress, silent
from shoal.model.requirement import AlphaK, DistinctDiversity, KnownLength, KnownRecords, Unicity
from shoal.release.events.attacks import published_attacks, run_attacks
from shoal.release.events.contents import before_of_traces, cost_of, steps_of
from shoal.release.events.decided import people_in
from shoal.release.events.group_flows import GroupFlows
from shoal.release.events.pieces import MOST_KEY, Pieces, dealt_by, drawn
from shoal.release.events.plan_file import EventPlan, plan_of, with_shape
from shoal.release.events.publish import points_shown, published, with_shown, write_table
from shoal.release.events.records import (
    EventTable,
    check_size,
    checked_rules,
    columns_read,
    events_of,
    fewest_of,
    with_all,
)
from shoal.release.events.uses import Read, added_up, uses_of
from shoal.release.policy.events import ONLY, EventRules
from shoal.release.policy.policy import Policy
from shoal.release.proof.events import EventFacts
from shoal.search.events.event_search import Solution, best_plan, tried_plan
from shoal.search.events.problem import CUT, EVERY, LOCAL, NEVER, Shape

if TYPE_CHECKING:
    from shoal.engines.table import Table
    from shoal.release.earlier.ledger import Published

TOGETHER = 3_000_000
"""Records that are searched together at most; of a larger table about so many at a time."""
FIRST = 1_000_000
"""Records of the first group, on which plans are compared and attacks tried."""
READ = 2_000_000
"""Records that are read before they are dealt to the groups."""
PRIVATE = "private.parquet"
ROWS = 500_000
"""Records in a group of rows of a file on the way."""


def divides(policy: Policy, rules: EventRules) -> bool:
    """Whether groups of people can be released one by one: the requirements hold in the whole if they hold in each group, and
    nothing is chosen from all records at once.

    Those who fit what is known in the whole are those who fit in any group. So people add up, nobody is in two groups, and a
    share of the whole is a mean of the shares of groups. Not so for ``near`` and ``absent``: what is known of a person of one
    group may fit somebody's many pseudonyms in another group, where nobody knows just that, so that it is not counted there. Nor
    for ``t``: the values of a group are compared with those of the group.
    """
    kinds = (KnownRecords, KnownLength, Unicity, AlphaK, DistinctDiversity)
    possible = all(type(r) in kinds for r in policy.requirements)
    whole = rules.hierarchy or rules.vault or rules.shift or rules.flows == ONLY or CUT in rules.place_levels
    return possible and bool(policy.requirements) and not whole


def in_groups(table: Table, policy: Policy) -> bool:
    """Whether the people of a table are divided: it is large, and the policy lets it be."""
    if policy.events is None or not divides(policy, policy.events) or table.most_rows() <= TOGETHER:
        return False
    return table.n_rows() > TOGETHER


@dataclass(frozen=True, eq=False, repr=False)
class Part:
    """What one group adds to the whole."""

    cost: EventCost
    records: int
    traces: int
    uses: tuple[EventUse, ...]
    lengths: IntArray


class Groups:
    """Every group solved by one plan; the published records lie in pieces in a private folder."""

    def __init__(self, table: Table, policy: Policy, progress: Progress = silent, *, most: int | None = None) -> None:
        self.table, self.policy = table, policy
        self.folder, self._remove = scratch_of(self)
        self._rules = checked_rules(table, policy)
        check_size(table, TOGETHER)
        rows = table.n_rows()
        self.files, self.sizes, self.incomplete = self._dealt(rows)
        left: tuple[Shape, ...] | None = None
        self.shapes = self.tried = 0
        while True:
            left = self._choose(left, most, progress)
            if self._solve(progress):
                break
            left = tuple(s for s in left if s != self.shape)
            if not left:
                hint = "Allow more records to be left out."
                raise InfeasibleError("no plan that does for the first group of people does for all groups.", hint=hint)

    def _choose(self, left: tuple[Shape, ...] | None, most: int | None, progress: Progress) -> tuple[Shape, ...]:
        """The plan that loses least on the first group, among these (None: all that the policy allows)."""
        progress(0.1, "looking for a plan on the first group of people")
        events = self._group(0, self.policy)
        problem = events.problem
        if left is None:
            left = tuple(s for s in problem.shapes if most is None or s.most == most)
            self.shapes, self.rules = len(left), events.rules
        solution = best_plan(problem.with_shapes(left), lambda done, what: progress(0.1 + 0.2 * done, what))
        self.tried = min(self.shapes, self.tried + solution.tried)
        self.shape = next(s for s in left if _same(s, solution.shape))
        return left

    @property
    def n(self) -> int:
        return sum(self.sizes)

    @property
    def records(self) -> int:
        """Published records."""
        return sum(p.records for p in self.parts)

    @property
    def asked(self) -> tuple[Any, ...]:
        return tuple(self.policy.requirements)

    @property
    def steps(self) -> EventSteps:
        return steps_of(self.rules, self.shape)

    @property
    def loss(self) -> float:
        return self.cost().loss

    def _dealt(self, rows: int) -> tuple[list[Path], list[int], int]:
        """The complete records, each person's in one file; their numbers, and how many are not complete."""
        import pyarrow.parquet as pq

        names, needed = columns_read(self.policy, self._rules), self._rules.columns
        rest = max(1, -(-(rows - FIRST) // TOGETHER))
        files = [self.folder / f"group-{g}.parquet" for g in range(rest + 1)]
        sizes, seen = [0] * len(files), 0
        with ExitStack() as stack:
            writers: list[Any] = [None] * len(files)

            def deal(batches: list[Any]) -> None:
                whole = with_all(pa.Table.from_batches(batches), needed)
                draw = drawn(whole[self._rules.unit], self.policy.seed)
                share = FIRST / rows
                group = np.where(draw < share, 0, 1 + ((draw - share) / (1 - share) * rest).astype(np.int64).clip(0, rest - 1))
                for g, some in dealt_by(group, whole, len(files)):
                    if writers[g] is None:
                        writers[g] = stack.enter_context(pq.ParquetWriter(files[g], whole.schema))
                    writers[g].write_table(some)
                    sizes[g] += some.num_rows

            held: list[Any] = []
            for batch in self.table.scan(names):
                held.append(batch)
                seen += batch.num_rows
                if sum(b.num_rows for b in held) >= READ:
                    deal(held)
                    held = []
            if held:
                deal(held)
        give_back()
        if not seen:
            raise EmptyTableError("the table has no rows.", hint="Check the file or the filter.")
        if not sum(sizes):
            raise no_complete_record()
        there = [i for i, n in enumerate(sizes) if n]
        return [files[i] for i in there], [sizes[i] for i in there], seen - sum(sizes)

    def _group(self, g: int, policy: Policy) -> EventTable:
        import pyarrow.parquet as pq

        own = replace(policy, seed=int(np.random.default_rng([policy.seed, 5, g]).integers(1, 2**62)))
        return with_shown(events_of(self.table, own, pq.read_table(self.files[g]).combine_chunks(), 0))

    def _solved(self, g: int) -> tuple[EventTable, Solution | None]:
        """A group and its plan of the chosen shape."""
        events = self._group(g, with_shape(self.policy, self._rules, self.shape))
        solution = tried_plan(events.problem, self.shape, events.problem.allow)
        if solution is None:
            return events, None
        if self.shape.place == LOCAL and solution.shape.place != LOCAL:  # places are written alike in all groups
            solution = replace(solution, shape=self.shape, blank=np.zeros(events.problem.n, dtype=np.int64))
        return events, solution

    def _solve(self, progress: Progress) -> bool:
        """Every group by the chosen shape: what is published of it, in pieces; False if one cannot be."""
        self.parts: list[Part] = []
        self.flows = GroupFlows(self.folder, self._rules, fewest_of(self.asked))
        self._labels: list[EventPlan] = []
        people = traces = 0
        with Pieces(self.folder, len(self.files)) as pieces:
            for g in range(len(self.files)):
                progress(0.3 + 0.3 * g / len(self.files), f"trying {self.shape.words}: group {g + 1} of {len(self.files)}")
                events, solution = self._solved(g)
                if solution is None:
                    return False
                read = Read.of(events, solution) if self.rules.place and self.shape.place != NONE else None
                self.flows.add(events, solution, read, people)
                index = np.flatnonzero(solution.stays)
                used, which = np.unique(solution.trace[index], return_inverse=True)
                uses = uses_of(events, solution, None, read)
                self.parts.append(Part(cost_of(events, solution), len(index), len(used), uses, np.bincount(np.bincount(which))))
                names = (*self.policy.insensitive, *self.policy.sensitive)
                more = {n: events.records[n].take(pa.array(index)).combine_chunks() for n in names}
                keys = np.random.default_rng([self.policy.seed, 2, g]).integers(0, MOST_KEY, len(used))[which]
                pieces.add(
                    points_shown(events, solution, index), more, people + events.problem.person[index], traces + which, keys
                )
                self._keep_points(g, events, people)
                people, traces = people + events.n_people, traces + len(used)
                self._labels.append(plan_of(events, solution))
                self._weights = events.problem.weights
                del events, solution, read, used, which, index, more, keys
                give_back()
            self.pieces = pieces
        progress(0.6, "protecting the flows of all groups")
        self.flows.protect()
        give_back()
        return True

    def _keep_points(self, g: int, events: EventTable, people: int) -> None:
        """The true points of a group: what is known of the table as it came."""
        columns = [c for c in (events.time, *events.places) if c is not None]
        kept = {f"codes{i}": c.codes.astype(np.int32) for i, c in enumerate(columns)}
        kept["person"] = (people + events.problem.person).astype(np.int32)
        np.savez(self.folder / f"points-{g}.npz", **kept)  # type: ignore[arg-type]
        self._values = getattr(self, "_values", {})
        self._values[g] = [c.values for c in columns]

    @property
    def plan(self) -> EventPlan:
        first = self._labels[0]
        merged: dict[str, dict[str, str]] = {}
        for plan in self._labels:
            for column, labels in plan.labels.items():
                merged.setdefault(column, {}).update(labels)
        return replace(first, labels=merged)

    def known(self, asked: int, shown: int, few: int) -> int:
        """Known records that are counted: as many as are asked about, and up to ``shown`` where their sets are few."""
        size = max(len(p.lengths) for p in self.parts)
        lengths: Any = sum(np.pad(p.lengths, (0, size - len(p.lengths))) for p in self.parts)
        more = [s for s in range(asked + 1, shown + 1) if sum(comb(n, s) * int(m) for n, m in enumerate(lengths)) <= few]
        return max([asked, *more])

    def write(self, file: Path) -> None:
        """The published file, and beside the pieces the private one: who is behind each record."""
        import pyarrow.parquet as pq

        unit = None if self.shape.renew == EVERY else self.rules.unit
        order = [n for n in self.table.schema.names if n in (*self.pieces.names, unit)]
        merged = self.folder / "merged.parquet"
        with ExitStack() as stack:
            writers: list[Any] = []
            for both in self.pieces.merged(order, unit, self.policy.sensitive):
                files = (merged, self.folder / PRIVATE)
                writers = writers or [
                    stack.enter_context(pq.ParquetWriter(f, t.schema)) for f, t in zip(files, both, strict=True)
                ]
                for writer, part in zip(writers, both, strict=True):
                    writer.write_table(part, row_group_size=ROWS)
                give_back()
        write_table(merged, file)
        merged.unlink()

    def people(self, known: int) -> EventFacts | None:
        """People, where pseudonyms are not people: counted in the private file."""
        points = [f"point {i}" for i in range(len(self.pieces.points))]
        return (
            people_in(self.folder / PRIVATE, points, self.rules, self.shape, self.asked, known)
            if self.shape.renew != NEVER
            else None
        )

    def flow_table(self) -> Any:
        """The published flows (pyarrow); None if there is no file of them."""
        return self.flows.table()

    def attacks(self, data: Path, source: EventData, progress: Progress) -> list[AttackResult]:
        """Attacks on the first group alone: it hides people among fewer than the whole does."""
        events, solution = self._solved(0)
        if solution is None:
            raise InternalError("a group that was solved cannot be solved again.")
        out = run_attacks(events, solution, progress)
        if self.shape.renew != NEVER:
            file = self.folder / f"attacked{data.suffix}"
            write_table(published(events, solution), file)
            out += published_attacks(file, source, self.steps, self.asked, separate=True)
        give_back()
        return out

    def shown(self) -> Published | None:
        """Nothing for the ledger: so many records are not compared with those of other releases."""
        return None

    def uses(self) -> tuple[EventUse, ...]:
        """What the groups tell, added up: the error of the whole is at most this."""
        sizes = ([p.cost.records for p in self.parts], [p.traces for p in self.parts], [p.cost.people for p in self.parts])
        return (*added_up([p.uses for p in self.parts], *sizes), *self.flows.uses())

    def cost(self) -> EventCost:
        parts = [p.cost for p in self.parts]

        def total(name: str) -> int | None:
            values = [getattr(c, name) for c in parts if getattr(c, name) is not None]
            return sum(values) if values else None

        n = self.n
        counts: Any = {x: total(x) or 0 for x in ("records", "truncated", "suppressed", "merged", "people", "people_left")}
        shares: Any = {x: sum(getattr(c, x) * c.records for c in parts) / n for x in ("loss", "time", "place", "links", "trips")}
        if self.rules.flows:  # trips are lost only if no flow counts them
            share = self._weights.trips / sum(vars(self._weights).values())
            shares["loss"] += share * (self.flows.lost - shares["trips"])
            shares["trips"] = self.flows.lost
        return EventCost(
            incomplete=self.incomplete,
            left_out_share=(counts["truncated"] + counts["suppressed"]) / n,
            shapes=self.shapes,
            tried=self.tried,
            blank=total("blank"),
            people_away=total("people_away"),
            records_away=total("records_away"),
            groups=len(parts),
            **counts,
            **shares,
        )

    def before(self, most: int) -> tuple[Before, ...]:
        """What known records reveal in the table as it came: over all groups."""
        return before_of_traces(self._traces(), most)

    def _traces(self) -> Traces:
        people = sum(p.cost.people for p in self.parts)
        n_columns = len(self._values[0])
        every = [pa.chunked_array([v[i] for v in self._values.values()]).unique() for i in range(n_columns)]
        keys = np.empty(self.n, dtype=np.int64)
        low, wide = 0, int(np.prod([len(e) for e in every], dtype=object)) * people >= 2**62
        if wide:
            raise UsageError("the table has more points than can be numbered.", hint="Use coarser times.")
        for g, values in self._values.items():
            with np.load(self.folder / f"points-{g}.npz") as kept:
                point = np.zeros(len(kept["person"]), dtype=np.int64)
                for i, distinct in enumerate(values):
                    at = pc.index_in(distinct, every[i]).to_numpy(zero_copy_only=False).astype(np.int64)
                    point = point * len(every[i]) + at[kept[f"codes{i}"]]
                keys[low : low + len(point)] = point * people + kept["person"]
                low += len(point)
        return Traces.of_keys(keys, people)


def _same(shape: Shape, solution_shape: Shape) -> bool:
    """Whether a plan is of this shape; one that blanks nothing is found as exact."""
    return shape == solution_shape or (shape.place == LOCAL and replace(shape, place=EXACT) == solution_shape)
