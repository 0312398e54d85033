"""Evaluate a node: group the cells, decide which groups stay, add up what is lost.

Takes    Problem, Checks, a suppression limit in records
Returns  Evaluation of each node asked for
Cost     one pass over the cells of the coarsest stored grouping below the node, one over its groups
Keeps    ``lower`` ≤ suppressed records of every specialisation of the node; ``gone`` ≤ the records of each code that every
         specialisation suppresses
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.kernels.search_group import Workspace, group_cells, lost_by_code
from shoal.kernels.search_values import check_values, merge_entries, order_entries
from shoal.model.counts import IntArray
from shoal.search.blocks import Tables
from shoal.search.checks import Checks, SensitiveChecks
from shoal.search.problem import Problem
from shoal.search.sources import Part, Source, Sources, breaks_for, prefix_order, sorted_source
from shoal.search.table_checks import suppress_for_table, table_holds

Node = tuple[int, ...]
Flags = npt.NDArray[np.bool_]

MANY = 50_000
"""Cells from which on they are sorted once a first plan is known."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a node does to the table.

    ``suppressed`` records are lost; ``lower`` bounds the loss of every specialisation from below; ``gone`` adds up, by
    column and code, the records that every specialisation loses too (exact for levels at or above ``floor``); it is left
    empty where ``lower`` is above the limit and nothing below can be a plan.
    """

    node: Node
    feasible: bool
    n_groups: int  # published groups before suppression
    kept_groups: int
    suppressed: int
    lower: int
    gone: npt.NDArray[np.int64]
    lost: npt.NDArray[np.int64]
    floor: npt.NDArray[np.int64]
    sizes: Sizes | None  # only where the loss asks for it


@dataclass(frozen=True)
class Sizes:
    """Sums over classes for class losses: all members, Σ size² of all and of the kept, members lost, and the charge of those that
    every specialisation loses, Σ size · (members − size)."""

    members: int
    squares: float
    kept_squares: float
    lost_members: int
    gone_charge: float


def _sizes(members: IntArray, failed: Flags, lost: Flags) -> Sizes:
    square = members.astype(np.float64) ** 2
    total = int(members.sum())
    return Sizes(
        members=total,
        squares=float(square.sum()),
        kept_squares=float(square[~lost].sum()),
        lost_members=int(members[lost].sum()),
        gone_charge=float((members[failed] * (total - members[failed])).sum()),
    )


class Evaluator:
    """Evaluates nodes of one problem; not for use by two threads at once."""

    def __init__(self, problem: Problem, checks: Checks, limit: int) -> None:
        self.problem = problem
        self.checks = checks
        self.limit = limit
        self.evaluated = 0
        self._tables = Tables(problem.blocks, problem.columns)
        n_cells = problem.codes.shape[1]
        lanes = sum(b.combinations.shape[1] for b in problem.blocks)
        self._space = Workspace(n_cells, len(problem.measures), lanes)
        self._lengths = np.array([b.combinations.shape[1] for b in problem.blocks], dtype=np.int64)
        self.starts = np.concatenate([[0], np.cumsum([len(c.leaves) for c in problem.columns])]).astype(np.int64)
        base = Source(
            node=np.zeros(len(problem.columns), dtype=np.int64),
            blocks=np.ascontiguousarray(np.stack([b.codes for b in problem.blocks])),
            measures=problem.measures,
            reps=np.arange(n_cells, dtype=np.int32),
            entries=tuple((s.cells, s.values, s.counts) for s in checks.sensitive),
        )
        order = prefix_order(problem)
        self._sources = Sources(base, order)
        self._none = np.zeros(int(self.starts[-1]), dtype=np.int64)
        most = max((len(e[0]) for e in base.entries), default=0)
        self._order = np.empty(most, dtype=np.int32)
        self._pointer = np.empty(n_cells + 2, dtype=np.int64)
        self.wants_sizes = False

    def __call__(self, node: Sequence[int]) -> Evaluation:
        """Evaluate a node."""
        self.evaluated += 1
        at = tuple(int(x) for x in node)
        overlap = self.problem.overlap is not None
        source = self._sources.base if overlap else self._sources.below(at, self.coarsen)
        n, gid, _, sums = self.group(source, at, stop=self._by_size)
        if n < 0:
            return self._hopeless(at, source, -1 - n)
        self._sources.used(at, source)
        failed, weak, removal = self._decide(source, n, gid, sums)
        return self._summary(at, source, gid, sums, failed, weak, removal)

    def _hopeless(self, node: Node, source: Source, lost: int) -> Evaluation:
        """A node that was given up after ``lost`` records, more than the limit, were seen to be lost."""
        return Evaluation(
            node=node,
            feasible=False,
            n_groups=1,
            kept_groups=0,
            suppressed=lost,
            lower=lost,
            gone=self._none,
            lost=self._none,
            floor=source.node,
            sizes=None,
        )

    def groups(self, node: Sequence[int]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], Flags]:
        """Group of each base class, sums per group, and which groups are published (from the base; for the final plan)."""
        base = self._sources.base
        at = tuple(int(x) for x in node)
        n, gid, _, sums = self.group(base, at)
        failed, weak, _ = self._decide(base, n, gid, sums)
        lost = self._lost(sums, failed | weak)
        return gid[: self.problem.n_base].copy(), sums.copy(), ~lost & (sums[0] > 0)

    def sharing(self, checks: Checks, limit: int) -> Evaluator:
        """An evaluator for other requirements on the same sensitive columns that shares tables and copies with this one."""
        other = copy.copy(self)
        other.checks, other.limit, other.evaluated = checks, limit, 0
        return other

    @property
    def _by_size(self) -> bool:
        """Whether records are lost for the size of their class only, and the loss does not look at classes."""
        c, p = self.checks, self.problem
        plain = not c.sensitive and not c.has_table_checks and not c.least_population
        return plain and p.members_at == 0 and p.population_at < 0 and p.overlap is None and not self.wants_sizes

    def twin(self) -> Evaluator:
        """An evaluator for another thread: it shares tables and copies but has its own workspace."""
        other = copy.copy(self)
        other._space = Workspace(self.problem.codes.shape[1], len(self.problem.measures), len(self._space.lanes))
        other._order, other._pointer = np.empty_like(self._order), np.empty_like(self._pointer)
        return other

    def base_source(self) -> Source:
        """The cells of the problem themselves, those of the population only left out."""
        return self._sources.base

    def passing(self, source: Source, n: int, gid: npt.NDArray[np.int32], sums: npt.NDArray[np.int64]) -> Flags:
        """Which groups of cells meet every class requirement."""
        failed, weak, _ = self._decide(source, n, gid, sums)
        good: Flags = ~failed & ~weak & (sums[0] > 0)
        return good

    def group(
        self, source: Source, node: Node, *, stop: bool = False
    ) -> tuple[int, npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Groups of a source's cells at a node: number, group of each cell, first cell and sums of each group.

        With ``stop`` the number may be negative: −1 − (records found to be lost), once they are more than the limit.
        """
        offsets, cards = self._tables.at(node)
        breaks = breaks_for(source, node) if stop else None
        n, gid, first, sums = group_cells(
            source.blocks, self._tables.store, offsets, self._lengths, cards, source.measures, self._space,
            breaks, self.checks.least, self.limit,
        )  # fmt: skip
        if n >= 0:
            self._count_people(source, gid, sums)
        return n, gid, first, sums

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
            sums[at] = overlap.members(source, gid, sums[at], source.measures[at])

    def _decide(
        self, source: Source, n: int, gid: npt.NDArray[np.int32], sums: npt.NDArray[np.int64]
    ) -> tuple[Flags, Flags, npt.NDArray[np.int64]]:
        """Groups that fail a *merge* requirement, those that fail only others, and the bound on what those lose."""
        p, c = self.problem, self.checks
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
            self._check_column(sensitive, pointer, order, values, counts, failed, weak, removal)
        weak &= ~failed
        return failed, weak, removal

    @staticmethod
    def _check_column(
        sensitive: SensitiveChecks,
        pointer: npt.NDArray[np.int64],
        order: npt.NDArray[np.int32],
        values: npt.NDArray[np.int32],
        counts: IntArray,
        failed: Flags,
        weak: Flags,
        removal: npt.NDArray[np.int64],
    ) -> None:
        for k in sensitive.checks:
            check_values(
                pointer, order, values, counts, sensitive.share, k.kind, k.first, k.second, k.limits,
                k.groups, k.n_groups, k.mass, failed, weak, removal,
            )  # fmt: skip

    def _lost(self, sums: npt.NDArray[np.int64], failed: Flags) -> Flags:
        """The groups that are suppressed: those that fail, and those that the table's own requirements cost."""
        if not self.checks.has_table_checks:
            return failed
        return suppress_for_table(self.checks, sums[self.problem.members_at], sums[0], failed, self.limit)

    def _summary(
        self,
        node: Node,
        source: Source,
        gid: npt.NDArray[np.int32],
        sums: npt.NDArray[np.int64],
        failed: Flags,
        weak: Flags,
        removal: npt.NDArray[np.int64],
    ) -> Evaluation:
        lost_groups = failed
        if self.checks.has_table_checks or self.checks.sensitive:
            lost_groups = self._lost(sums, failed | weak)
        records, members = sums[0], sums[self.problem.members_at]
        surely = int(records[failed].sum())
        lower = surely + (int(np.minimum(removal, records)[weak].sum()) if self.checks.sensitive else 0)
        if self.checks.has_table_checks and not self.checks.population_uniqueness:
            lower = max(lower, surely + int(members[self._lost(sums, failed) & ~failed].sum()))
        suppressed = surely if lost_groups is failed else int(records[lost_groups].sum())
        dead = lower > self.limit
        gone = lost = self._by_code(source, gid, failed, 0 if dead else surely)
        if suppressed != surely and not dead:
            lost = self._by_code(source, gid, lost_groups, suppressed)
        n_groups = len(records) if self.problem.population_at < 0 else int(np.count_nonzero(records))
        kept = n_groups - int(np.count_nonzero(lost_groups))
        within = kept > 0 and suppressed <= self.limit
        return Evaluation(
            node=node,
            feasible=within and self._table_holds(sums, lost_groups),
            n_groups=n_groups,
            kept_groups=kept,
            suppressed=suppressed,
            lower=lower,
            gone=gone,
            lost=lost,
            floor=source.node,
            sizes=_sizes(members, failed, lost_groups) if self.wants_sizes else None,
        )

    def _table_holds(self, sums: npt.NDArray[np.int64], lost: Flags) -> bool:
        return not self.checks.has_table_checks or table_holds(self.checks, sums[self.problem.members_at], sums[0], lost)

    def _by_code(self, source: Source, gid: npt.NDArray[np.int32], lost: Flags, records: int) -> npt.NDArray[np.int64]:
        out = np.zeros(int(self.starts[-1]), dtype=np.int64)
        if records:
            lost_by_code(lost, gid, source.reps, self.problem.codes, self.starts, source.measures, out)
        return out

    def arrange(self, node: Node) -> None:
        """Sort many cells so that nodes near this one are grouped fast, or given up early."""
        if self._sources.base.n_cells > MANY and self._by_size:
            self._sources.start_from(sorted_source(self.problem, self._sources.base, node))

    def coarsen(self, source: Source, node: Node) -> Source:
        """The grouping of a source's cells at a node, as a new source."""
        n, gid, first, sums = self.group(source, node)
        entries = []
        for sensitive, (cells, values, counts) in zip(self.checks.sensitive, source.entries, strict=True):
            order = self._order[: len(cells)]
            order_entries(gid, n, cells, self._pointer, order)
            entries.append(merge_entries(self._pointer, order, n, values, counts, len(sensitive.share)))
        return Source(
            node=np.asarray(node, dtype=np.int64),
            blocks=np.ascontiguousarray(source.blocks[:, first]),
            measures=sums.copy(),
            reps=source.reps[first],
            entries=tuple(entries),
            parts=tuple(
                Part(p.column, p.level, np.searchsorted(first, p.ends).astype(np.int64)) for p in _usable(source.parts, node)
            ),
        )


def _usable(parts: tuple[Part, ...], node: Node) -> Iterator[Part]:
    """The parts whose breaks no group of the node reaches over."""
    for part in parts:
        if node[part.column] > part.level:
            return
        yield part
