"""Evaluate a node: group the cells, decide which groups stay, add up what is lost.

Takes    Problem, Checks, a suppression limit in records
Returns  Evaluation of each node asked for
Cost     one pass over the cells of the coarsest stored grouping below the node, one over its groups
Keeps    ``lower`` ≤ suppressed records of every specialisation of the node; ``gone`` ≤ the records of each code that every
         specialisation suppresses
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from shoal.model.counts.classes import BoolArray as Flags
from shoal.model.counts.classes import IntArray
from shoal.search.full_domain.objective import Evaluation, size_sums
from shoal.search.full_domain.sources import ByCode, Part, Source, Sources, breaks_for, prefix_order, sorted_source
from shoal.search.kernels import group_cells
from shoal.search.kernels.entries import merge_entries, order_entries
from shoal.search.kernels.group_cells import NO_LIMIT, Groups, Workspace
from shoal.search.kernels.sensitive_values import check_values
from shoal.search.problem.checks import Checks, Crowd, suppress_for_table, table_holds
from shoal.search.problem.column_blocks import Tables
from shoal.search.problem.problem import Node, Problem

MANY = 50_000
"""Cells from which on they are sorted once a first plan is known."""


class Evaluator:
    """Evaluates nodes of one problem, one at a time; large groupings are shared by up to two threads."""

    def __init__(self, problem: Problem, checks: Checks, limit: int, *, threads: int = 1) -> None:
        self.problem = problem
        self.checks = checks
        self.limit = limit
        self.threads = threads
        self.evaluated = 0
        self._tables = Tables(problem.blocks, problem.columns)
        n_cells = problem.n_cells
        lengths = [b.combinations.shape[1] for b in problem.blocks]
        self._space = Workspace(n_cells, len(problem.measures), lengths, threads)
        self._by_code = ByCode(problem)
        self.starts = self._by_code.starts
        base = Source(
            node=np.zeros(len(problem.columns), dtype=np.int64),
            blocks=np.ascontiguousarray(np.stack([b.codes for b in problem.blocks])),
            measures=problem.measures,
            reps=np.arange(n_cells, dtype=np.int32),
            entries=tuple((s.cells, s.values, s.counts) for s in checks.sensitive),
        )
        self.order = prefix_order(problem)
        self._sources = Sources(base, self.order, problem.heights)
        most = max((len(e[0]) for e in base.entries), default=0)
        self._order = np.empty(most, dtype=np.int32)
        self._pointer = np.empty(n_cells + 3, dtype=np.int64)  # each cell a group, one of those left out, and the end
        self.wants_sizes = False

    def __call__(self, node: Node, too_dear: Callable[[Evaluation], bool] | None = None) -> Evaluation:
        """Evaluate a node. Estimates of population uniques are not made where it is ``too_dear`` without what they cost."""
        self.evaluated += 1
        overlap = self.problem.overlap is not None
        source = self._sources.base if overlap else self._sources.below(node, self.coarsen)
        if self.by_size:
            grouping = self.group(source, node, stop=True)
            if grouping.n >= 0:
                self._sources.used(node, source, grouping.n, lambda: self._copy(source, node, grouping))
            return self._by_size(node, source, grouping)
        grouping = self.group(source, node)
        self._sources.used(node, source, grouping.n, lambda: self._copy(source, node, grouping))
        failed, weak, removal = self._decide(source, grouping.gid, grouping.sums)
        if too_dear is not None and self.checks.estimates:
            early = self._summary(node, source, grouping, failed, weak, removal, early=True)
            if early.suppressed > self.limit or too_dear(early):
                early.too_dear = early.suppressed <= self.limit
                return early
        return self._summary(node, source, grouping, failed, weak, removal)

    def _by_size(self, node: Node, source: Source, groups: Groups) -> Evaluation:
        """The evaluation where groups are lost for their size only; ``groups.n`` is −1 where the node was given up."""
        dead = groups.lost > self.limit
        gone = self._by_code.none
        if groups.lost and not dead:
            gone = self._by_code.below(source, groups.gid, groups.sums[0], self.checks.least)
        kept = groups.n - groups.small
        return Evaluation(
            node=node,
            feasible=kept > 0 and not dead,
            n_groups=groups.n,
            kept_groups=kept,
            suppressed=groups.lost,
            lower=groups.lost,
            gone=gone,
            lost=gone,
            floor=source.node,
            sizes=None,
        )

    def groups(self, node: Sequence[int]) -> tuple[npt.NDArray[np.int32], Flags]:
        """Group of each base class, and which groups are published (from the base; for the final plan)."""
        base = self._sources.base
        grouping = self.group(base, tuple(node))
        failed, weak, _ = self._decide(base, grouping.gid, grouping.sums)
        lost = self._lost(grouping.sums, failed | weak, self.crowd(base, grouping.gid, grouping.sums))
        gid = np.empty_like(grouping.gid)
        gid[base.reps] = grouping.gid  # the cells may have been sorted
        return gid[: self.problem.n_base], ~lost & (grouping.sums[0] > 0)

    def sharing(self, checks: Checks, limit: int) -> Evaluator:
        """An evaluator for other requirements on the same sensitive columns that shares tables and copies with this one."""
        other = copy.copy(self)
        other.checks, other.limit, other.evaluated = checks, limit, 0
        return other

    @property
    def monotone(self) -> bool:
        """Whether feasibility is known to be inherited by generalizations."""
        return self.checks.monotone(self.limit) and (self._table_law or not self.checks.has_table_checks)

    @property
    def _table_law(self) -> bool:
        """Whether what the table's own requirements cost is known never to fall below a node.

        Where people are in several classes, joining classes leaves fewer members, and the average risk may rise.
        """
        c = self.checks
        return c.has_table_checks and not c.estimates and self.problem.overlap is None

    @property
    def by_size(self) -> bool:
        """Whether records are lost for the size of their class only, and the loss does not look at classes."""
        c, p = self.checks, self.problem
        plain = not c.sensitive and not c.has_table_checks and not c.least_population
        return plain and p.members_at == 0 and p.population_at < 0 and not self.wants_sizes

    def base_source(self) -> Source:
        """The cells of the problem themselves, those of the population only left out."""
        return self._sources.base

    def passing(self, source: Source, gid: npt.NDArray[np.int32], sums: npt.NDArray[np.int64]) -> Flags:
        """Which groups of cells meet every class requirement."""
        failed, weak, _ = self._decide(source, gid, sums, bound=False)
        good: Flags = ~failed & ~weak & (sums[0] > 0)
        return good

    def group(self, source: Source, node: Node, *, stop: bool = False) -> Groups:
        """Groups of a source's cells at a node. With ``stop`` it may be given up, once more records are lost than the limit."""
        ends = breaks_for(source, node)
        limit = self.limit if stop else NO_LIMIT
        groups = self._space.group(source.blocks, self._tables.at(node), source.measures, ends, self.checks.least, limit)
        if self.problem.overlap is not None:
            self._count_people(source, groups.gid, groups.sums)
        return groups

    def may_pass(self, source: Source, node: Node) -> bool:
        """Whether a group of a source's cells at a node may have enough members."""
        members = source.measures[self.problem.members_at]
        return self._space.may_reach(source.blocks, self._tables.at(node), members, self.checks.least)

    def reaching(self, source: Source, node: Node) -> tuple[IntArray, IntArray]:
        """The groups that meet every requirement: the first cell of each, and the group of each cell, −1 if it is in none."""
        problem, checks = self.problem, self.checks
        if self.is_small and not checks.sensitive and problem.population_at < 0 and problem.overlap is None:
            members = source.measures[problem.members_at]
            return self._space.reaching(source.blocks, self._tables.at(node), members, checks.least)
        groups = self.group(source, node)
        ids = np.flatnonzero(self.passing(source, groups.gid, groups.sums))
        number = np.full(groups.n, -1, dtype=np.int64)
        number[ids] = np.arange(len(ids))
        return groups.first[ids].astype(np.int64), number[groups.gid]

    def sums_of(self, label: IntArray, n: int) -> npt.NDArray[np.int64]:
        """Sums of the measures over any partition of the base classes."""
        measures = self.problem.measures[:, : self.problem.n_base]
        sums = np.stack([np.bincount(label, weights=m, minlength=n).astype(np.int64) for m in measures])
        self._count_people(self._sources.base, label.astype(np.int32), sums)
        return sums

    def _count_people(self, source: Source, gid: npt.NDArray[np.int32], sums: npt.NDArray[np.int64]) -> None:
        """Where people are in several classes, replace the sum of class sizes by the number of different people."""
        overlap, at = self.problem.overlap, self.problem.members_at
        if overlap is not None:
            sums[at] = overlap.members(source.reps, gid, sums[at], source.measures[at])

    def _decide(
        self, source: Source, gid: npt.NDArray[np.int32], sums: npt.NDArray[np.int64], *, bound: bool = True
    ) -> tuple[Flags, Flags, npt.NDArray[np.int64]]:
        """Groups that fail a *merge* requirement, those that fail only others, and the bound on what those lose, if wanted."""
        p, c, n = self.problem, self.checks, sums.shape[1]
        failed = sums[p.members_at] < c.least
        if c.least_population:
            failed |= sums[p.population_at] < c.least_population
        if p.population_at >= 0:
            failed &= sums[0] > 0
        weak = np.zeros(n, dtype=np.bool_)
        removal = np.zeros(n, dtype=np.int64)
        for sensitive, (cells, values, counts) in zip(c.sensitive, source.entries, strict=True):
            pointer, order = self._pointer, self._order[: len(cells)]
            order_entries(gid, n, cells, pointer, order)
            for k in sensitive.checks:
                check_values(
                    pointer, order, values, counts, sensitive.share, k.kind, k.first, k.second, k.limits,
                    k.groups, k.n_groups, k.mass, c.least, failed, weak, removal if bound else None,
                )  # fmt: skip
        weak &= ~failed
        return failed, weak, removal

    def crowd(self, source: Source, gid: npt.NDArray[np.int32], sums: npt.NDArray[np.int64]) -> Crowd | None:
        """People by the smallest of the groups that are kept, where some are in several; None where nobody is."""
        overlap = self.problem.overlap
        if overlap is None or overlap.classes is None:
            return None
        members, reps = sums[self.problem.members_at].copy(), source.reps
        return lambda kept: overlap.everybody(reps, gid, members, kept) or {}

    def _lost(self, sums: npt.NDArray[np.int64], failed: Flags, crowd: Crowd | None) -> Flags:
        """The groups that are suppressed: those that fail, and those that the table's own requirements cost."""
        if not self.checks.has_table_checks:
            return failed
        return suppress_for_table(self.checks, sums[self.problem.members_at], sums[0], failed, self.limit, crowd)

    def _summary(
        self, node: Node, source: Source, groups: Groups, failed: Flags, weak: Flags, removal: IntArray, *, early: bool = False
    ) -> Evaluation:
        """What the node loses; ``early``: without what the table's own requirements cost, and therefore no plan."""
        sums, crowd = groups.sums, self.crowd(source, groups.gid, groups.sums)
        lost_groups = failed
        tables = self.checks.has_table_checks
        if tables or self.checks.sensitive:
            lost_groups = failed | weak if early else self._lost(sums, failed | weak, crowd)
        records, members = sums[0], sums[self.problem.members_at]
        removal = np.minimum(removal, records) * weak if self.checks.sensitive else removal
        surely, part = int(records[failed].sum()), int(removal.sum())
        lower = surely + part
        if self._table_law:
            least = self._lost(sums, failed, crowd) if part else lost_groups
            lower = max(lower, surely + int(members[least & ~failed].sum()))
        suppressed = surely if lost_groups is failed else int(records[lost_groups].sum())
        gone = lost = self._by_code.none
        if lower <= self.limit and surely:
            gone = lost = self._by_code.below(source, groups.gid, (~failed).astype(np.int64), 1)
        if lower <= self.limit and suppressed != surely:
            lost = self._by_code.below(source, groups.gid, (~lost_groups).astype(np.int64), 1)
        n_groups = groups.n if self.problem.population_at < 0 else int(np.count_nonzero(records))
        kept = n_groups - int(np.count_nonzero(lost_groups))
        within = kept > 0 and suppressed <= self.limit
        return Evaluation(
            node=node,
            feasible=within and not early and (not tables or table_holds(self.checks, members, records, lost_groups, crowd)),
            n_groups=n_groups,
            kept_groups=kept,
            suppressed=suppressed,
            lower=lower,
            gone=gone,
            lost=lost,
            floor=source.node,
            sizes=size_sums(records, np.where(failed, records, removal), lost_groups) if self.wants_sizes else None,
            some=self._by_code.at_first(source, groups.first, removal) if part and lower <= self.limit else None,
            more=lower - surely - part if lower <= self.limit else 0,
        )

    @property
    def is_small(self) -> bool:
        """Whether there are so few cells that nothing is compiled."""
        return bool(self.problem.n_cells < group_cells.FEW)

    def warm_up(self) -> None:
        """Have the kernels compiled that were not needed yet, before a clock starts: calls without any cell."""
        base = self._sources.base
        self._by_code.below(base, base.reps[:0], self._by_code.none[:0], 0)
        for sensitive, (_, values, counts) in zip(self.checks.sensitive, base.entries, strict=True):
            merge_entries(self._pointer, self._order[:0], 0, values[:0], counts[:0], len(sensitive.share))

    def arrange(self, node: Node) -> None:
        """Sort many cells so that nodes near this one are grouped fast, or given up early."""
        if self._sources.base.n_cells > MANY and self.by_size:
            self._sources.start_from(sorted_source(self.problem, self._sources.base, node))

    def coarsen(self, source: Source, node: Node) -> Source:
        """The grouping of a source's cells at a node, as a new source."""
        return self._copy(source, node, self.group(source, node))

    def _copy(self, source: Source, node: Node, groups: Groups) -> Source:
        """The groups of a source's cells as cells of a new source."""
        entries = []
        for sensitive, (cells, values, counts) in zip(self.checks.sensitive, source.entries, strict=True):
            order = self._order[: len(cells)]
            order_entries(groups.gid, groups.n, cells, self._pointer, order)
            entries.append(merge_entries(self._pointer, order, groups.n, values, counts, len(sensitive.share)))
        return Source(
            node=np.asarray(node, dtype=np.int64),
            blocks=np.take(source.blocks, groups.first, axis=1),
            measures=groups.sums.copy(),
            reps=source.reps[groups.first],
            entries=tuple(entries),
            parts=tuple(
                Part(p.column, p.level, np.searchsorted(groups.first, p.ends).astype(np.int64))
                for p in _usable(source.parts, node)
            ),
        )


def _usable(parts: tuple[Part, ...], node: Node) -> Iterator[Part]:
    """The parts whose breaks no group of the node reaches over."""
    for part in parts:
        if node[part.column] > part.level:
            return
        yield part
