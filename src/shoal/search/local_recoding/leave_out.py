"""Leave out the few classes without which their cluster publishes so much finer values that less is lost in all.

Takes    clusters that meet the requirements, the records that may be left out
Returns  the clusters, with −1 for the classes that are left out
Keeps    what remains of a cluster meets the requirements; a record that is left out costs as much as a fully generalized one
Method   in each column a cluster may give up all but the heaviest of the values (or of the groups one level below what it
         publishes), or the lightest of them. What saves most per record that goes is done first; then the next round.
Cost     O(rounds × columns² × classes)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from shoal.model.counts.classes import CodeArray, FloatArray, IntArray
from shoal.search.full_domain.evaluator import Evaluator
from shoal.search.kernels.clusters import settle
from shoal.search.local_recoding.published import CellKind, make_trees
from shoal.search.problem.control import Control
from shoal.search.problem.losses import column_weights
from shoal.search.problem.search_result import Flags

ROUNDS, NARROW = 20, 24
"""Rounds, fewer in tables of more columns than this: their work grows with the square of the columns."""
LEAST_GAIN = 1e-9
DENSE = 16
"""Places per pair of class and value up to which values are counted in a table of all places, not sorted."""


def leave_out(
    evaluator: Evaluator,
    kinds: Sequence[CellKind],
    weights: Mapping[str, float] | None,
    label: IntArray,
    limit: int,
    control: Control,
) -> IntArray:
    """The clusters with −1 for further classes, of at most ``limit`` records, that are left out."""
    problem, source = evaluator.problem, evaluator.base_source()
    records = problem.measures[0, : problem.n_base]
    if limit < 1:
        return label
    costs = Costs(evaluator, kinds, weights)
    wide = max(1.0, len(problem.columns) / NARROW)
    for _ in range(int(ROUNDS / wide**2) or 1):
        n = int(label.max()) + 1
        mass, extra = costs(label, n)
        share = costs.slope(extra)
        before = extra @ share
        gain, gone, goes = np.zeros(n), np.zeros(n), np.zeros(problem.n_base, dtype=np.bool_)
        for out in costs.candidates(label):
            rest = np.where(out, -1, label)
            left, fewer = costs(rest, n)
            gid = np.where(rest < 0, n, rest)
            good = evaluator.passing(source, gid.astype(np.int32), evaluator.sums_of(gid, n + 1))[:n]
            saved = before - fewer @ share - (mass - left) * share.sum()
            better = good & (saved > LEAST_GAIN) & (saved * np.maximum(gone, 1) > gain * (mass - left) + LEAST_GAIN)
            gain[better], gone[better] = saved[better], (mass - left)[better]
            mine = (label >= 0) & better[label]
            goes[mine] = out[mine]
        gain[gone > limit] = 0.0
        order = np.lexsort((np.arange(n), -gain / np.maximum(gone, 1)))
        order = order[(gain[order] > 0) & (np.cumsum(gone[order]) <= limit)]
        if not len(order) or control.stop():
            return label
        chosen = np.zeros(n + 1, dtype=np.bool_)
        chosen[order] = True
        out = goes & chosen[label]
        limit -= int(records[out].sum())
        label = np.where(out, -1, label)
    return label


class Costs:
    """What clusters cost in each column, and which of their classes they could do without."""

    def __init__(self, evaluator: Evaluator, kinds: Sequence[CellKind], weights: Mapping[str, float] | None) -> None:
        self._problem = problem = evaluator.problem
        self._records = problem.measures[0, : problem.n_base]
        self._sets = [kind != "hierarchy" for kind in kinds]
        self._trees = make_trees(problem)
        self._weights = column_weights(problem.names, weights)
        self._steps = np.array([max(1, c.hierarchy.n_leaves - 1) for c in problem.columns])
        self._levels = np.zeros((0, 0), dtype=np.int64)

    def __call__(self, label: IntArray, n: int) -> tuple[FloatArray, FloatArray]:
        """Records of each of the n clusters, and the share of each column's domain that their cells cover, added up."""
        problem, trees, stays = self._problem, self._trees, label >= 0
        first, members, mass, cost = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n), np.zeros(n)
        levels = np.zeros((n, len(problem.columns)), dtype=np.int64)
        own, owners, shown = self._records[stays], label[stays], trees.points[stays]
        settle(
            owners, shown, trees.groups, trees.offsets, trees.price, own, own,
            first, levels, mass, members, cost,
        )  # fmt: skip
        extra = np.zeros((n, len(problem.columns)))
        there = first >= 0
        points = shown[first[there]]
        for j, column in enumerate(problem.columns):
            if self._sets[j]:
                extra[:, j] = np.maximum(_distinct(owners, shown[:, j], n, len(column.leaves)) - 1, 0) / self._steps[j]
            else:
                price = trees.price[trees.offsets[j, levels[there, j]] + points[:, j]]
                extra[there, j] = price * len(problem.columns)
        self._levels = levels
        return mass, extra * mass[:, None]

    def slope(self, extra: FloatArray) -> FloatArray:
        """What more of a column costs in all, as the geometric mean has it."""
        out: FloatArray = self._weights / (1.0 + extra.sum(axis=0) / self._problem.n_records)
        return out

    def candidates(self, label: IntArray) -> Iterator[Flags]:
        """Classes that each cluster could do without, a column at a time."""
        stays, levels, trees = label >= 0, self._levels.copy(), self._trees
        for j in range(len(self._problem.columns)):
            value = trees.points[:, j].astype(np.int64)
            if not self._sets[j]:
                below = np.maximum(levels[label, j] - 1, 0)
                value = trees.groups[trees.offsets[j, below] + value].astype(np.int64)
            pair, place = np.unique(label * (int(value.max()) + 1) + value, return_inverse=True)
            mass = np.bincount(place, weights=np.where(stays, self._records, 0))
            owner = pair // (int(value.max()) + 1)
            order = np.lexsort((mass, owner))
            last = np.append(owner[order][1:] != owner[order][:-1], True)
            heaviest, lightest = np.zeros(len(pair), dtype=np.bool_), np.zeros(len(pair), dtype=np.bool_)
            heaviest[order[last]] = True
            lightest[order[np.append(True, last[:-1])]] = True
            yield stays & ~heaviest[place]
            yield stays & lightest[place] & ~heaviest[place]


def _distinct(owner: IntArray, value: CodeArray, n: int, width: int) -> IntArray:
    """How many different values, below ``width``, each of the n owners has."""
    pairs = owner * width + value
    if n * width > DENSE * len(pairs):
        return np.bincount(np.unique(pairs) // width, minlength=n)
    there = np.zeros(n * width, dtype=np.bool_)
    there[pairs] = True
    return np.asarray(there.reshape(n, width).sum(axis=1))
