"""What a cluster of classes publishes, column by column, and what that costs.

``hierarchy``: the lowest common ancestor of its values; ``set``: the set of its values; ``range``: everything from its lowest to
its highest value in the order of the hierarchy's leaves. Each is true of every record in the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shoal.errors import UsageError
from shoal.model.counts import FloatArray, IntArray
from shoal.model.plan import SUPPRESSED
from shoal.search.losses import column_weights
from shoal.search.problem import Column, Problem

CellKind = Literal["hierarchy", "set", "range"]


@dataclass(frozen=True, eq=False)
class Trees:
    """Hierarchies as flat arrays: ``groups[offsets[j, level] + code]``, with a root that joins all, and prices per record."""

    points: npt.NDArray[np.int32]  # (cells, columns)
    groups: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    price: FloatArray
    heights: tuple[int, ...]


def cell_kinds(problem: Problem, cells: str | Mapping[str, str]) -> tuple[CellKind, ...]:
    """The kind of each column's cells, from one name for all or a mapping by column."""
    known: dict[str, CellKind] = {"hierarchy": "hierarchy", "set": "set", "sets": "set", "range": "range", "ranges": "range"}
    out = []
    for column in problem.columns:
        asked = cells if isinstance(cells, str) else cells.get(column.name, "hierarchy")
        if asked not in known:
            raise UsageError(f"cells of kind '{asked}' are not known.", hint="Kinds: hierarchy, sets, ranges.")
        kind = known[asked]
        out.append("set" if asked == "ranges" and not _is_number(problem, column.name) else kind)
    return tuple(out)


def _is_number(problem: Problem, name: str) -> bool:
    import pyarrow.types as kinds

    kind = problem.counts.categories[problem.counts.columns.index(name)].type
    return bool(kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind) or kinds.is_temporal(kind))


def make_trees(problem: Problem, weights: Mapping[str, float] | None = None) -> Trees:
    """Flat hierarchies; the price of a value is w_j (leaves − 1)/(domain − 1)."""
    share = column_weights(problem.names, weights)
    heights = []
    groups: list[npt.NDArray[np.int32]] = []
    price: list[FloatArray] = []
    offsets = np.zeros((len(problem.columns), max(problem.heights) + 2), dtype=np.int64)
    at = 0
    for j, column in enumerate(problem.columns):
        steps = max(1, column.hierarchy.n_leaves - 1)
        levels = [*zip(column.groups, column.covered, strict=True)]
        if column.cards[-1] > 1:
            levels.append((np.zeros_like(column.groups[0]), np.full(len(column.leaves), float(column.hierarchy.n_leaves))))
        heights.append(len(levels) - 1)
        for level, (group, covered) in enumerate(levels):
            offsets[j, level] = at
            groups.append(group)
            price.append(share[j] * (covered - 1.0) / steps)
            at += len(group)
        offsets[j, len(levels) :] = offsets[j, len(levels) - 1]
    points = np.ascontiguousarray(problem.codes[:, : problem.n_base].T)
    return Trees(points, np.concatenate(groups), offsets, np.concatenate(price), tuple(heights))


@dataclass(frozen=True, eq=False)
class Published:
    """For one column: what each cluster publishes (its label, or None for a missing value) and the leaves it covers."""

    labels: list[str | None]
    covered: FloatArray


def publish(column: Column, kind: CellKind, codes: npt.NDArray[np.int32], clusters: IntArray, n: int) -> Published:
    """What each cluster publishes in a column."""
    if kind == "hierarchy":
        return _publish_nodes(column, codes, clusters, n)
    pairs = np.unique(clusters * len(column.leaves) + codes)
    owner, value = pairs // len(column.leaves), pairs % len(column.leaves)
    start = np.searchsorted(owner, np.arange(n + 1))
    labels: list[str | None] = []
    covered = np.empty(n)
    for a in range(n):
        labels.append(_text(column, kind, value[start[a] : start[a + 1]]))
        leaves = column.leaves[value[start[a] : start[a + 1]]]
        covered[a] = _covers(kind, leaves)
    return Published(labels, covered)


def _covers(kind: CellKind, leaves: IntArray) -> float:
    if kind == "set":
        return float(len(leaves))
    real = leaves[leaves >= 0]
    width = int(real.max() - real.min()) + 1 if len(real) else 0
    return float(width + (len(real) < len(leaves)))


def _text(column: Column, kind: CellKind, values: IntArray) -> str | None:
    names = column.hierarchy.leaves
    missing = bool((column.leaves[values] < 0).any())
    real = np.sort(column.leaves[values][column.leaves[values] >= 0])
    if not len(real):
        return None
    if len(real) == column.hierarchy.n_leaves:
        return SUPPRESSED
    if kind == "range" and len(real) > 1:
        text = f"{names[real[0]]}..{names[real[-1]]}"
    else:
        text = ", ".join(names[i] for i in real)
    if missing:
        text += ", missing"
    single = len(real) == 1 and not missing
    return text if single or (kind == "range" and not missing) else "{" + text + "}"


def _publish_nodes(column: Column, codes: npt.NDArray[np.int32], clusters: IntArray, n: int) -> Published:
    order = np.argsort(clusters, kind="stable")
    start = np.searchsorted(clusters[order], np.arange(n))
    labels: list[str | None] = [SUPPRESSED] * n
    covered = np.full(n, float(column.hierarchy.n_leaves))
    open_ = np.ones(n, dtype=np.bool_)
    for level, group in enumerate(column.groups):
        at = group[codes[order]]
        alike = np.minimum.reduceat(at, start) == np.maximum.reduceat(at, start)
        for a in np.flatnonzero(alike & open_):
            code = codes[order[start[a]]]
            labels[a] = _node_label(column, level, int(code))
            covered[a] = column.covered[level, code]
        open_ &= ~alike
    return Published(labels, covered)


def _node_label(column: Column, level: int, code: int) -> str | None:
    at = column.hierarchy.levels[column.heights[level]]
    leaf = int(column.leaves[code])
    if leaf >= 0:
        return at.labels[int(at.groups[leaf])]
    joined = column.groups[level, code] == column.groups[level, 0] and len(column.leaves) > 1
    return at.labels[0] if joined else None


def published_table(names: tuple[str, ...], originals: list[Any], published: list[list[str | None]]) -> Any:
    """The class map of RECODE: original columns, and for each ``<column>\\0published``."""
    import pyarrow as pa

    arrays = [*originals, *(pa.array(p, pa.string()) for p in published)]
    return pa.table(arrays, names=[*names, *(f"{n}\0published" for n in names)])
