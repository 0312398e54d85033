"""Local recoding by sets and ranges: greedy clusters of at least k (k-member), block by block.

Takes    an Evaluator, the kind of cell of each column, the block that each class must stay in
Returns  a cluster for each base class
Keeps    each class in exactly one cluster; every cluster meets the requirements
Method   classes are put in blocks of :data:`BLOCK` that agree in the columns where a further value is dearest; inside a block
         the rarest class starts a cluster and takes in, one by one, the class that raises the cost least. Clusters that miss a
         requirement join the one nearest to them until all pass; where there are very many, the nearest of their neighbours.
Cost     O(classes × block), the block being at most :data:`BLOCK`
Source   Byun, Kamra, Bertino & Li 2007 (k-member), over classes instead of records
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from shoal.errors import InfeasibleError
from shoal.model.counts.classes import FloatArray, IntArray
from shoal.search.full_domain.evaluator import Evaluator
from shoal.search.kernels.clusters import FEW, gather_few, gather_members, join_nearest
from shoal.search.local_recoding.published import CellKind
from shoal.search.problem.control import Control
from shoal.search.problem.losses import column_weights
from shoal.search.problem.problem import Problem

BLOCK = 4096
LEAST_BLOCK = 256
"""Classes that are compared with each other; fewer, down to the least, where all pairs would pass :data:`WORK`."""
WORK = 4e8
JOINS = 2e7
"""Pairs of clusters that a round of joins compares."""
ROUNDS = 40
APART = 1e3
"""Price of a cluster of classes that should be apart: more than all columns together."""


def prices(problem: Problem, weights: Mapping[str, float] | None) -> FloatArray:
    """Price of one more value in a cell: w_j / (domain − 1), the domain being the hierarchy's leaves."""
    steps = np.array([max(1, c.hierarchy.n_leaves - 1) for c in problem.columns])
    out: FloatArray = column_weights(problem.names, weights) / steps
    return out


def gather(problem: Problem, kinds: Sequence[CellKind], price: FloatArray, k: int, control: Control, apart: IntArray) -> IntArray:
    """k-member clusters, block by block; a cluster that stays too small goes to the next block.

    Classes that differ in ``apart`` share a cluster only if no other is left. When stopped, the remaining classes are taken in
    their order, run by run.
    """
    codes = np.vstack([problem.codes[:, : problem.n_base], apart.astype(np.int32)])
    price = np.append(price, APART)
    dear = sorted(range(len(price) - (not apart.any())), key=lambda j: -price[j])
    points = np.ascontiguousarray(codes[dear].T)
    starts = np.concatenate([[0], np.cumsum(codes.max(axis=1)[dear] + 1)]).astype(np.int64)
    ranges = np.array([(*kinds, "set")[j] == "range" for j in dear])
    records = problem.measures[0, : problem.n_base]
    sizes = problem.measures[problem.members_at, : problem.n_base]
    rarity = np.zeros(problem.n_base)
    for j in sorted(dear):
        share = np.bincount(codes[j], weights=records) / problem.n_records
        rarity -= np.log(share[codes[j]])
    order = np.lexsort(tuple(codes[j] for j in reversed(dear)))
    label = np.full(problem.n_base, -1, dtype=np.int64)
    clusters = done = 0
    gathered = gather_few if problem.n_base < FEW else gather_members
    block_size = int(min(BLOCK, max(LEAST_BLOCK, WORK / problem.n_base)))
    n_blocks = -(-problem.n_base // block_size)
    carried = np.empty(0, dtype=order.dtype)
    for part in np.array_split(order, n_blocks):
        if control.stop():
            rest = np.concatenate([carried, order[done:]])
            label[rest] = clusters + runs(problem, rest, k)
            break
        block = np.concatenate([carried, part])
        mine = np.full(len(block), -1, dtype=np.int64)
        seeds = np.argsort(-rarity[block], kind="stable").astype(np.int64)
        clusters = gathered(points[block], starts, ranges, price[dear], records[block], sizes[block], k, seeds, mine, clusters)
        label[block] = mine
        last = mine == clusters - 1
        carried = block[last] if int(sizes[block[last]].sum()) < k else carried[:0]
        done += len(part)
        control.show(done / problem.n_base, "clustering classes")
    return label


def runs(problem: Problem, classes: IntArray, k: int) -> IntArray:
    """A number for each of the classes: runs of neighbours in the order given, each just large enough to have k members.

    The last run may have fewer. This is what is done with the classes that are left when the time is up.
    """
    out = np.empty(len(classes), dtype=np.int64)
    run = members = 0
    for i, size in enumerate(problem.measures[problem.members_at, classes].tolist()):
        out[i] = run
        members += size
        if members >= k:
            run, members = run + 1, 0
    return out


def warm_up(evaluator: Evaluator) -> None:
    """Have the kernels compiled before a clock starts, with one class and one grouping."""
    base, one = evaluator.base_source(), np.ones(1, dtype=np.int64)
    groups = evaluator.group(base, evaluator.problem.heights)
    evaluator.passing(base, groups.gid, groups.sums)
    if evaluator.problem.n_base < FEW:
        return
    point, flags, price = np.zeros((1, 1), dtype=np.int32), np.zeros(1, dtype=np.bool_), np.zeros(1)
    gather_members(point, np.arange(2), flags, price, one, one, 1, np.zeros(1, dtype=np.int64), -one, 0)


def join_failing(
    evaluator: Evaluator, label: IntArray, kinds: Sequence[CellKind], price: FloatArray, control: Control, block: IntArray
) -> IntArray:
    """Join each cluster that misses a requirement to the cluster nearest to it in its block, until all pass or have no other.

    Clusters are compared with all others or, if there is one block, with so many before and after them in their order that a
    round stays within :data:`JOINS` pairs. What still fails after :data:`ROUNDS` rounds takes two clusters at a time, then four,
    and so on. When stopped, a cluster takes its neighbours, twice as many in each round.
    """
    problem = evaluator.problem
    source = evaluator.base_source()
    late, label = 0, label * (int(block.max()) + 1) + block
    for done in itertools.count():
        first, label = np.unique(label, return_index=True, return_inverse=True)[1:]
        label, blocks = label.astype(np.int64), block[first]
        n = len(first)
        sums = evaluator.sums_of(label, n)
        good = evaluator.passing(source, label.astype(np.int32), sums)
        if good.all():
            return label
        if n == 1:
            hint = "Ask for less, or for another requirement."
            raise InfeasibleError("even one class of all records does not meet the requirements.", hint=hint)
        failing = np.flatnonzero(~good & (np.bincount(blocks)[blocks] > 1))
        if not len(failing):
            return label
        reach, most = max(64, int(JOINS / len(failing))), 2 ** (done // ROUNDS)
        if control.stop():
            late += 1
            reach = most = 2**late
        label = _join(problem, label, blocks, failing, kinds, price, sums[0], n if blocks.any() else reach, most)
    raise AssertionError("unreachable")


def _join(
    problem: Problem,
    label: IntArray,
    blocks: IntArray,
    failing: IntArray,
    kinds: Sequence[CellKind],
    price: FloatArray,
    records: IntArray,
    reach: int,
    most: int,
) -> IntArray:
    """One round: each failing cluster not yet joined joins the clusters of its block, at most ``most``, with the least rise."""
    n = len(blocks)
    values = [ClusterValues(codes[: problem.n_base], label, n, k) for codes, k in zip(problem.codes, kinds, strict=True)]
    cost: FloatArray = np.asarray(sum(price[j] * (v.width - 1.0) for j, v in enumerate(values)))
    target = np.arange(n)
    touched = np.zeros(n, dtype=np.bool_)
    if problem.n_base >= FEW and most == 1:
        join_nearest(failing, blocks, reach, *_laid_out(values, n), price, records, cost, target, touched)
        return target[label]
    for a in failing:
        if touched[a]:
            continue
        low, high = max(0, a - reach), min(n, a + reach + 1)
        joined = np.zeros(high - low)
        for j in range(len(price)):
            joined += price[j] * (values[j].joined(int(a), low, high) - 1.0)
        near = records[low:high]
        rise = (near + records[a]) * joined - near * cost[low:high] - records[a] * cost[a]
        rise[a - low] = np.inf
        rise[touched[low:high] | (blocks[low:high] != blocks[a])] = np.inf
        near_first = np.argsort(rise, kind="stable")[:most] if most > 1 else np.array([np.argmin(rise)])
        taken = low + near_first[np.isfinite(rise[near_first])]
        if len(taken):
            target[a] = target[taken] = taken[0]
            touched[a] = touched[taken] = True
    return target[label]


class ClusterValues:
    """The values of each cluster in one column: how many there are, and how many if a cluster joins another."""

    def __init__(self, codes: npt.NDArray[np.int32], label: IntArray, n: int, kind: CellKind) -> None:
        self.kind = kind
        self.n_codes = int(codes.max()) + 1
        if kind == "range":
            self.low, self.high = np.full(n, self.n_codes), np.full(n, -1)
            np.minimum.at(self.low, label, codes)
            np.maximum.at(self.high, label, codes)
            self.width = np.asarray(self.high - self.low + 1, dtype=np.float64)
        else:
            pairs = np.unique(label * self.n_codes + codes)
            self._owner, self.value = pairs // self.n_codes, pairs % self.n_codes
            self.start = np.searchsorted(self._owner, np.arange(n + 1))
            self.width = np.diff(self.start).astype(np.float64)

    def joined(self, a: int, low: int, high: int) -> FloatArray:
        """Width of the clusters from ``low`` to ``high`` after cluster ``a`` has joined each."""
        if self.kind == "range":
            both = np.maximum(self.high[low:high], self.high[a]) - np.minimum(self.low[low:high], self.low[a]) + 1
            return np.asarray(both, dtype=np.float64)
        mine = np.zeros(self.n_codes, dtype=np.bool_)
        mine[self.value[self.start[a] : self.start[a + 1]]] = True
        part = slice(self.start[low], self.start[high])
        shared = np.bincount(self._owner[part][mine[self.value[part]]] - low, minlength=high - low)
        out: FloatArray = self.width[low:high] + self.width[a] - shared
        return out


def _laid_out(
    columns: Sequence[ClusterValues], n: int
) -> tuple[IntArray, IntArray, IntArray, npt.NDArray[np.bool_], IntArray, IntArray, FloatArray]:
    """The values of ``n`` clusters in all columns as the compiled search takes them."""
    starts = np.cumsum([0, *(c.n_codes for c in columns)])
    begin = np.zeros((len(columns), n + 1), dtype=np.int64)
    low, high, values, end = np.zeros((len(columns), n), dtype=np.int64), np.zeros((len(columns), n), dtype=np.int64), [], 0
    for j, column in enumerate(columns):
        if column.kind == "range":
            low[j], high[j] = column.low, column.high
        else:
            begin[j] = column.start + end
            values.append(column.value)
            end += len(column.value)
    flags = np.array([c.kind == "range" for c in columns])
    values_found = np.concatenate([*values, np.zeros(0, dtype=np.int64)])
    return starts, begin, values_found, flags, low, high, np.stack([c.width for c in columns])
