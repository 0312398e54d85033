"""What a cluster of classes publishes, column by column, and what that costs.

``hierarchy``: the lowest common ancestor of its values; ``set``: the set of its values; ``range``: everything from its lowest to
its highest value in the order of the hierarchy's leaves. Each is true of every record in the cluster. A set or range that would
name a rare value, which fewer people have than a cluster must have, gives way to the lowest common ancestor: that such a person
is in the table is not published.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shoal.errors import UsageError
from shoal.kernels.arrow import from_numpy, from_texts
from shoal.model.counts.classes import ClassCounts, FloatArray, IntArray
from shoal.model.plan import SUPPRESSED
from shoal.search.problem.column import Column
from shoal.search.problem.losses import column_weights
from shoal.search.problem.problem import Problem

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
    """The kind of each column's cells, from one name for all or a mapping by column; with a lowest level: hierarchy values."""
    known: dict[str, CellKind] = {"hierarchy": "hierarchy", "set": "set", "sets": "set", "range": "range", "ranges": "range"}
    out = []
    for column in problem.columns:
        wanted = cells if isinstance(cells, str) else cells.get(column.name, "hierarchy")
        if wanted not in known:
            raise UsageError(f"cells of kind '{wanted}' are not known.", hint="Kinds: hierarchy, sets, ranges.")
        kind = "hierarchy" if column.heights[0] else known[wanted]
        values = problem.counts.categories[problem.counts.columns.index(column.name)]
        out.append("set" if kind == "range" and wanted == "ranges" and not is_number(values.type) else kind)
    return tuple(out)


def is_number(kind: Any) -> bool:
    """Whether values of an Arrow type are published as ranges: numbers and dates."""
    import pyarrow.types as kinds

    return bool(kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind) or kinds.is_temporal(kind))


NEVER = 1e9
"""The price of a root that is above the highest level of its column."""


def make_trees(problem: Problem, weights: Mapping[str, float] | None = None, capped: Collection[int] = ()) -> Trees:
    """Flat hierarchies; the price of a value is w_j (leaves − 1)/(domain − 1). The root of ``capped`` columns is never used."""
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
            too_high = j in capped and level == len(column.groups)
            price.append(np.full(len(group), NEVER) if too_high else share[j] * (covered - 1.0) / steps)
            at += len(group)
        offsets[j, len(levels) :] = offsets[j, len(levels) - 1]
    points = np.ascontiguousarray(problem.codes[:, : problem.n_base].T)
    return Trees(points, np.concatenate(groups), offsets, np.concatenate(price), tuple(heights))


Labels = tuple[list[str | None], IntArray]


@dataclass(frozen=True, eq=False)
class Published:
    """For one column: the leaves that each cluster's value covers, and its label (None for a missing value).

    ``make`` is called when labels are needed: different labels, and which of them each cluster has.
    """

    covered: FloatArray
    make: Callable[[], Labels]

    @cached_property
    def named(self) -> Labels:
        return self.make()

    @property
    def labels(self) -> list[str | None]:
        names, index = self.named
        return [names[i] for i in index.tolist()]

    @cached_property
    def texts(self) -> Any:
        """The labels as a pyarrow array."""
        names, index = self.named
        return from_texts(names).take(from_numpy(index))


def publish(
    column: Column, kind: CellKind, codes: npt.NDArray[np.int32], clusters: IntArray, n: int, rare: npt.NDArray[np.bool_]
) -> Published:
    """What each cluster publishes in a column; ``rare`` says of each code whether sets and ranges must not name it."""
    if kind == "hierarchy":
        return _publish_nodes(column, codes, clusters, n)
    named = _publish_values(column, kind, codes, clusters, n)
    hidden = np.unique(clusters[rare[codes]])
    if not len(hidden):
        return named
    inside = np.isin(clusters, hidden)
    nodes = _publish_nodes(column, codes[inside], np.searchsorted(hidden, clusters[inside]), len(hidden))
    covered = named.covered.copy()
    covered[hidden] = nodes.covered

    def labels() -> Labels:
        (names, index), (instead, among) = named.named, nodes.named
        index = index.copy()
        index[hidden] = len(names) + among
        return [*names, *instead], index

    return Published(covered, labels)


def _publish_values(column: Column, kind: CellKind, codes: npt.NDArray[np.int32], clusters: IntArray, n: int) -> Published:
    pairs = np.unique(clusters * len(column.leaves) + codes)
    owner, leaf = pairs // len(column.leaves), column.leaves[pairs % len(column.leaves)]
    covered = np.bincount(owner, minlength=n).astype(np.float64)
    if kind == "range":
        real = leaf >= 0
        low, high = np.full(n, column.hierarchy.n_leaves), np.full(n, -1)
        np.minimum.at(low, owner[real], leaf[real])
        np.maximum.at(high, owner[real], leaf[real])
        missing = np.bincount(owner[~real], minlength=n)
        covered = np.maximum(high - low + 1, 0) + missing.astype(np.float64)
    covered = np.minimum(covered, column.hierarchy.n_leaves)  # everything, and missing: ``*``
    return Published(covered, lambda: _set_labels(column, kind, owner, leaf, n))


def _set_labels(column: Column, kind: CellKind, owner: IntArray, leaf: IntArray, n: int) -> Labels:
    order = np.lexsort((leaf, owner))
    leaves = leaf[order].tolist()
    start = np.searchsorted(owner[order], np.arange(n + 1)).tolist()
    known: dict[tuple[int, ...], int] = {}
    index = [known.setdefault(tuple(leaves[a:b]), len(known)) for a, b in itertools.pairwise(start)]
    return [_text(column, kind, values) for values in known], np.array(index, dtype=np.int64)


def _text(column: Column, kind: CellKind, leaves: tuple[int, ...]) -> str | None:
    """The label of a set of leaves in order; −1, a missing value, comes first."""
    names = column.hierarchy.leaves
    missing = leaves[0] < 0
    real = leaves[1:] if missing else leaves
    if not real:
        return None
    if len(real) == column.hierarchy.n_leaves:
        return SUPPRESSED
    as_range = kind == "range" and len(real) > 1
    text = f"{names[real[0]]}..{names[real[-1]]}" if as_range else ", ".join([names[i] for i in real])
    if missing:
        return "{" + text + ", missing}"
    return text if as_range or len(real) == 1 else "{" + text + "}"


def _publish_nodes(column: Column, codes: npt.NDArray[np.int32], clusters: IntArray, n: int) -> Published:
    order = np.argsort(clusters, kind="stable")
    start = np.searchsorted(clusters[order], np.arange(n))
    first = codes[order[start]]
    covered = np.full(n, float(column.hierarchy.n_leaves))
    level_of = np.full(n, -1, dtype=np.int64)
    for level, group in enumerate(column.groups):
        at = group[codes[order]]
        alike = (np.minimum.reduceat(at, start) == np.maximum.reduceat(at, start)) & (level_of < 0)
        level_of[alike] = level
        covered[alike] = column.covered[level, first[alike]]

    keys = (level_of + 1) * len(column.leaves) + first
    nodes, at_first, node_of = np.unique(keys, return_index=True, return_inverse=True)
    pairs = zip(*(part.tolist() for part in np.divmod(nodes, len(column.leaves))), strict=True)
    names = [_node_label(column, level - 1, code) if level else SUPPRESSED for level, code in pairs]
    widest: dict[str | None, float] = {}
    for name, wide in zip(names, covered[at_first].tolist(), strict=True):
        widest[name] = max(wide, widest.get(name, 0.0))  # a label of two levels says no more than the wider of both
    covered = np.array([widest[name] for name in names])[node_of]
    return Published(covered, lambda: (names, node_of.astype(np.int64)))


def _node_label(column: Column, level: int, code: int) -> str | None:
    at = column.hierarchy.levels[column.heights[level]]
    leaf = int(column.leaves[code])
    if leaf >= 0:
        return at.labels[int(at.groups[leaf])]
    joined = column.groups[level, code] == column.groups[level, 0] and len(column.leaves) > 1
    return at.labels[0] if joined else None


CHUNK = 65_536
"""Classes whose published values are put into one pyarrow array: more might be too long for its offsets."""


def published_table(counts: ClassCounts, published: Sequence[Any], groups: IntArray) -> Any:
    """The class map of RECODE: original columns, and for each ``<column>\\0published``, the text of each class's group."""
    import pyarrow as pa

    pairs = zip(counts.categories, counts.codes, strict=True)
    originals = [values.take(from_numpy(np.where(codes < 0, 0, codes), codes < 0)) for values, codes in pairs]
    chunks = [from_numpy(groups[at : at + CHUNK]) for at in range(0, max(1, len(groups)), CHUNK)]
    arrays = [*originals, *(pa.chunked_array([texts.take(chunk) for chunk in chunks]) for texts in published)]
    return pa.table(arrays, names=[*counts.columns, *(f"{n}\0published" for n in counts.columns)])
