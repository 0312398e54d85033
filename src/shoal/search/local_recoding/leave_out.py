"""Leave out the few classes without which their cluster publishes so much finer values that less is lost in all.

Takes    clusters that meet the requirements, the records that may be left out
Returns  the clusters, with −1 for the classes that are left out
Keeps    what remains of a cluster meets the requirements; a record that is left out costs as much as a fully generalized one
Method   in each column a cluster may give up all but the heaviest of the values (or of the groups one level below what it
         publishes), or the lightest of them. What saves most per record that goes is done first; then the next round, which
         looks again only at the clusters that changed.
Cost     O(columns² × classes), and in each further round as much for the clusters that the one before changed
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from shoal.model.counts.classes import BoolArray as Flags
from shoal.model.counts.classes import CodeArray, FloatArray, IntArray
from shoal.search.full_domain.evaluator import Evaluator
from shoal.search.local_recoding.published import make_trees
from shoal.search.problem.control import Control
from shoal.search.problem.losses import column_weights

ROUNDS, NARROW = 20, 24
"""Rounds, fewer in tables of more columns than this: their work grows with the square of the columns."""
LEAST_GAIN = 1e-9
DENSE = 16
"""Places per pair of class and value up to which values are counted in a table of all places, not sorted."""
AT_ONCE = 1 << 17
"""Classes of several trials that are looked at in one pass."""
KEPT = 1 << 23
"""Numbers that trials may keep for the next round; with more, each round looks at all clusters again."""


def leave_out(
    evaluator: Evaluator,
    named: Sequence[bool],
    weights: Mapping[str, float] | None,
    label: IntArray,
    limit: int,
    control: Control,
) -> IntArray:
    """The clusters with −1 for further classes, of at most ``limit`` records, that are left out. A column is ``named`` if its
    cells name values: sets and ranges."""
    problem = evaluator.problem
    records = problem.measures[0, : problem.n_base]
    if limit < 1:
        return label
    n = int(label.max()) + 1
    trials, changed = Trials(evaluator, named, weights, n), np.ones(n, dtype=np.bool_)
    wide = max(1.0, len(problem.columns) / NARROW)
    for _ in range(int(ROUNDS / wide**2) or 1):
        trial = trials.look(label, changed)
        mass, share = trials.mass, trials.slope()
        before = trials.extra @ share
        gain, gone, goes = np.zeros(n), np.zeros(n), np.zeros(problem.n_base, dtype=np.bool_)
        for out, left, fewer, good in trial:
            saved = before - fewer @ share - (mass - left) * share.sum()
            better = good & (saved > LEAST_GAIN) & (saved * np.maximum(gone, 1) > gain * (mass - left) + LEAST_GAIN)
            if not better.any():
                continue
            gain[better], gone[better] = saved[better], (mass - left)[better]
            mine = (label >= 0) & better[label]
            goes[mine] = out[mine]
        gain[gone > limit] = 0.0
        order = np.lexsort((np.arange(n), -gain / np.maximum(gone, 1)))
        order = order[(gain[order] > 0) & (np.cumsum(gone[order]) <= limit)]
        if not len(order) or control.stop():
            return label
        changed = np.zeros(n + 1, dtype=np.bool_)
        changed[order] = True
        out = goes & changed[label]
        limit -= int(records[out].sum())
        label, changed = np.where(out, -1, label), changed[:n]
    return label


Trial = tuple[Flags, FloatArray, FloatArray, Flags]
"""The classes that go; what then remains of each cluster: its records, what its cells cover, whether it passes."""


class Trials:
    """What clusters cost in each column (``extra``), and what without some of their classes: two trials for each column."""

    def __init__(self, evaluator: Evaluator, named: Sequence[bool], weights: Mapping[str, float] | None, n: int) -> None:
        self._evaluator = evaluator
        self._problem = problem = evaluator.problem
        self._records = problem.measures[0, : problem.n_base]
        self._sets = named
        self._trees = make_trees(problem)
        self._weights = column_weights(problem.names, weights)
        self._steps = [max(1, c.hierarchy.n_leaves - 1) for c in problem.columns]
        m = len(problem.columns)
        self.mass, self.extra = np.zeros(n), np.zeros((n, m))
        self._kept: list[Trial] = []
        if 2 * m * n * m <= KEPT:
            flags = np.zeros((2 * m, problem.n_base), dtype=np.bool_), np.zeros((2 * m, n), dtype=np.bool_)
            self._kept = [*zip(flags[0], np.zeros((2 * m, n)), np.zeros((2 * m, n, m)), flags[1], strict=True)]

    def look(self, label: IntArray, changed: Flags) -> Iterator[Trial]:
        """Look at the clusters that ``changed``; the trials, a column at a time."""
        if not self._kept:
            changed = np.ones_like(changed)
        owner = np.where(label >= 0, (np.cumsum(changed) - 1)[label], -1)
        owner[~changed[label]] = -1
        at = np.argsort(owner, kind="stable")
        at = at[np.searchsorted(owner, 0, sorter=at) :]
        self.mass[changed], self.extra[changed], levels = self._costs(at, owner[at], int(changed.sum()))
        trial = self._made(at, owner[at], int(changed.sum()), levels)
        if not self._kept:
            return trial
        for (out, left, fewer, good), new in zip(self._kept, trial, strict=True):
            out[at] = new[0][at]
            left[changed], fewer[changed], good[changed] = new[1:]
        return iter(self._kept)

    def slope(self) -> FloatArray:
        """What more of a column costs in all, as the geometric mean has it."""
        out: FloatArray = self._weights / (1.0 + self.extra.sum(axis=0) / self._problem.n_records)
        return out

    def _made(self, at: IntArray, owner: IntArray, n: int, levels: IntArray) -> Iterator[Trial]:
        """The trials of the classes ``at``, in the order of the n clusters that own them."""
        outs = self._candidates(at, owner, levels)
        some = max(1, AT_ONCE // max(1, len(at)))
        for begin in range(0, len(outs), some):
            stays = ~outs[begin : begin + some]
            which, place = np.nonzero(stays)
            left, fewer, _ = self._costs(at[place], which * n + owner[place], len(stays) * n)
            for i, stay in enumerate(stays):
                mine, out = slice(i * n, (i + 1) * n), np.zeros(self._problem.n_base, dtype=np.bool_)
                out[at] = ~stay
                yield out, left[mine], fewer[mine], self._passing(at[stay], owner[stay], n)

    def _costs(self, at: IntArray, owner: IntArray, n: int) -> tuple[FloatArray, FloatArray, IntArray]:
        """Records of each of the n clusters that own the classes ``at``, in their order; the share of each column's domain that
        their cells cover, added up; and the level of columns with hierarchy values."""
        problem, trees, columns = self._problem, self._trees, len(self._problem.columns)
        mass: FloatArray = np.asarray(np.bincount(owner, weights=self._records[at], minlength=n), dtype=np.float64)
        levels, extra = np.zeros((n, columns), dtype=np.int64), np.zeros((n, columns))
        starts = np.flatnonzero(np.append(True, owner[1:] != owner[:-1])) if len(at) else at
        there = owner[starts]
        for j, column in enumerate(problem.columns):
            codes = trees.points[at, j]
            if self._sets[j]:
                extra[:, j] = np.maximum(_distinct(owner, codes, n, len(column.leaves)) - 1, 0) / self._steps[j]
                continue
            for level in range(trees.heights[j] if len(at) else 0):
                group = trees.groups[trees.offsets[j, level] + codes]
                apart = np.minimum.reduceat(group, starts) != np.maximum.reduceat(group, starts)
                if not apart.any():
                    break
                levels[there, j] += apart
            extra[there, j] = trees.price[trees.offsets[j, levels[there, j]] + codes[starts]] * columns
        return mass, extra * mass[:, None], levels

    def _candidates(self, at: IntArray, owner: IntArray, levels: IntArray) -> npt.NDArray[np.bool_]:
        """For each trial which of these classes its clusters could do without, two for each column."""
        trees, outs = self._trees, []
        for j in range(len(self._problem.columns)):
            value = trees.points[at, j].astype(np.int64)
            if not self._sets[j]:
                value = trees.groups[trees.offsets[j, np.maximum(levels[owner, j] - 1, 0)] + value].astype(np.int64)
            width = int(value.max(initial=0)) + 1
            pair, place = np.unique(owner * width + value, return_inverse=True)
            mass = np.bincount(place, weights=self._records[at])
            mine = pair // width
            order = np.lexsort((mass, mine))
            last = np.append(mine[order][1:] != mine[order][:-1], True)[: len(pair)]
            heaviest, lightest = np.zeros(len(pair), dtype=np.bool_), np.zeros(len(pair), dtype=np.bool_)
            heaviest[order[last]] = True
            lightest[order[np.append(True, last[:-1])[: len(pair)]]] = True
            outs += [~heaviest[place], lightest[place] & ~heaviest[place]]
        return np.stack(outs)

    def _passing(self, at: IntArray, owner: IntArray, n: int) -> Flags:
        """Which of the n clusters that own the classes ``at`` meet every requirement."""
        evaluator, problem = self._evaluator, self._problem
        if evaluator.by_size:
            return np.asarray(np.bincount(owner, weights=self._records[at], minlength=n) >= max(evaluator.checks.least, 1))
        gid = np.full(problem.n_base, n, dtype=np.int64)
        gid[at] = owner
        return evaluator.passing(evaluator.base_source(), gid.astype(np.int32), evaluator.sums_of(gid, n + 1))[:n]


def _distinct(owner: IntArray, value: CodeArray, n: int, width: int) -> IntArray:
    """How many different values, below ``width``, each of the n owners has."""
    pairs = owner * width + value
    if n * width > DENSE * len(pairs):
        return np.bincount(np.unique(pairs) // width, minlength=n)
    there = np.zeros(n * width, dtype=np.bool_)
    there[pairs] = True
    return np.asarray(there.reshape(n, width).sum(axis=1))
