"""Generalization by a hierarchy: to a level, to at most d values, or along the best cut of the tree."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, UsageError
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import OnGap, Step
from shoal.steps import Keep, MapValues

FloatArray = npt.NDArray[np.float64]


def level_for(hierarchy: Hierarchy, values: int) -> int:
    """The lowest level with at most ``values`` groups (levels rarely have exactly that many).

    >>> h = Hierarchy.from_rows("z", [["11", "1", "*"], ["12", "1", "*"], ["21", "2", "*"]])
    >>> level_for(h, 2), level_for(h, 3)
    (1, 0)
    """
    if values < 1:
        raise UsageError(f"a column needs at least one value; asked for {values}.")
    for number, level in enumerate(hierarchy.levels):
        if len(level.labels) <= values:
            return number
    what = f"hierarchy '{hierarchy.column}' has {len(hierarchy.levels[-1].labels)} groups at its highest level, not {values}."
    raise DataError(what)


@dataclass(frozen=True)
class TreeCut:
    """A cut through the tree: each leaf is published as one of ``labels``; ``loss`` is the mean granularity loss, 0 to 1."""

    column: str
    leaves: tuple[str, ...]
    targets: tuple[int, ...]
    labels: tuple[str, ...]
    loss: float

    def step(self, *, public: Collection[str] | None = None, on_gap: OnGap = "error", missing_label: str | None = None) -> Step:
        """The step of a plan. Its keys are leaves: all of them, right for a hierarchy that a person wrote down, or only the
        ``public`` ones; the others then follow ``on_gap`` (suppress or top), so that no rare value stands in the plan."""
        if self.labels == self.leaves:
            return Keep(self.column)
        pairs = [(k, t) for k, t in zip(self.leaves, self.targets, strict=True) if public is None or k in public]
        if public is not None and on_gap == "error":
            on_gap = "suppress"
        keys, targets = tuple(k for k, _ in pairs), tuple(t for _, t in pairs)
        return MapValues(self.column, keys, targets, self.labels, on_gap, missing_label=missing_label)


def best_cut(hierarchy: Hierarchy, values: int, counts: Any = None) -> TreeCut:
    """The cut with at most ``values`` nodes that loses least: some branches may stay fine where others are coarse.

    A leaf published as a node with M_P of the M leaves loses (M_P − 1)/(M − 1); the mean is over records. Dynamic programme over
    the tree: the best for j nodes below a parent is shared out among its children, O(nodes · d²).

    >>> h = Hierarchy.from_rows("z", [["11", "1", "*"], ["12", "1", "*"], ["21", "2", "*"], ["22", "2", "*"]])
    >>> cut = best_cut(h, 3, counts=[10, 10, 1, 1])
    >>> cut.labels, round(cut.loss, 4)
    (('11', '12', '2'), 0.0303)
    """
    if values < 1:
        raise UsageError(f"a column needs at least one value; asked for {values}.")
    if len(hierarchy.levels[-1].labels) > values:
        level_for(hierarchy, values)
    sizes = np.zeros(hierarchy.n_leaves)
    given = np.ones(hierarchy.n_leaves) if counts is None else np.asarray(counts, dtype=np.float64)
    sizes[: len(given)] = given
    tables, choices = _solve(hierarchy, sizes, values)
    roots = list(range(len(hierarchy.levels[-1].labels)))
    total, plan = _share_out([tables[-1][r] for r in roots], values)
    best = int(np.argmin(total[1:])) + 1
    chosen: list[tuple[int, int]] = []
    _collect(choices, hierarchy.height, roots, _spent(plan, best), chosen)
    return _as_cut(hierarchy, chosen, float(total[best]) / max(float(sizes.sum()), 1.0))


def _solve(h: Hierarchy, sizes: FloatArray, d: int) -> tuple[list[list[FloatArray]], list[list[Any]]]:
    """For each node of each level: least loss with 1..d nodes, and how it comes about."""
    domain = max(h.n_leaves - 1, 1)
    tables: list[list[FloatArray]] = []
    choices: list[list[Any]] = []
    for number, level in enumerate(h.levels):
        records = np.bincount(level.groups, weights=sizes, minlength=len(level.labels))
        whole = records * (level.leaf_counts - 1) / domain
        children: list[list[int]] = [[] for _ in level.labels]
        if number:
            for child, parent in enumerate(h.parents(number - 1)):
                children[parent].append(child)
        row, how = [], []
        for node in range(len(level.labels)):
            table = np.full(d + 1, np.inf)
            plan: Any = None
            if number:
                table, plan = _share_out([tables[number - 1][c] for c in children[node]], d)
            cut_here = whole[node] < table[1]  # a lone child with the same leaves keeps its finer label
            if cut_here:
                table = table.copy()
                table[1] = whole[node]
            row.append(table)
            how.append((children[node], plan, cut_here))
        tables.append(row)
        choices.append(how)
    return tables, choices


def _share_out(parts: list[FloatArray], d: int) -> tuple[FloatArray, list[npt.NDArray[np.int64]]]:
    """Least sum of one entry per part, for each total number of nodes; and the last part's number for each total."""
    total = np.full(d + 1, np.inf)
    total[0] = 0.0
    plan = []
    for part in parts:
        new = np.full(d + 1, np.inf)
        used = np.zeros(d + 1, dtype=np.int64)
        for j in range(1, d + 1):
            with_j = total[: d + 1 - j] + part[j]
            better = with_j < new[j:]
            new[j:][better] = with_j[better]
            used[j:][better] = j
        total = new
        plan.append(used)
    return total, plan


def _spent(plan: list[npt.NDArray[np.int64]], total: int) -> list[int]:
    out = []
    for used in reversed(plan):
        out.append(int(used[total]))
        total -= out[-1]
    return out[::-1]


def _collect(choices: list[list[Any]], level: int, nodes: list[int], spent: list[int], out: list[tuple[int, int]]) -> None:
    for node, number in zip(nodes, spent, strict=True):
        children, plan, cut_here = choices[level][node]
        if (number == 1 and cut_here) or level == 0:
            out.append((level, node))
        else:
            _collect(choices, level - 1, children, _spent(plan, number), out)


def _as_cut(h: Hierarchy, chosen: list[tuple[int, int]], loss: float) -> TreeCut:
    targets = np.full(h.n_leaves, -1, dtype=np.int64)
    labels: dict[str, int] = {}
    for level, node in chosen:
        inside = h.levels[level].groups == node
        name = h.levels[level].labels[node]
        targets[inside] = labels.setdefault(name, len(labels))
    return TreeCut(h.column, h.leaves, tuple(int(t) for t in targets), tuple(labels), loss)
