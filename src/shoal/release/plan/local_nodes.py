"""Local recoding, seen by an attacker who knows hierarchies and algorithm: the node that each class is published at.

A cluster of classes publishes in each column the lowest node of the hierarchy that covers it, or the set or range of its values.
From it follow the codes one level below (of a set or range, the values themselves), which the algorithm did not dare to publish,
and how many of the table's values the label covers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.model.counts.classes import CodeArray, IntArray
from shoal.release.plan.prepare import Prepared
from shoal.release.plan.published_classes import at_level

if TYPE_CHECKING:
    from shoal.search.local_recoding.local import LocalResult


def below_nodes(prepared: Prepared, found: LocalResult) -> tuple[tuple[CodeArray, ...], tuple[IntArray, ...]]:
    """Per column: the code of each base class one level below its node, and how many values of the table the node covers.

    A value that is published as it is keeps its code and covers one value.
    """
    finer, covered, clusters = [], [], found.groups
    for j, name in enumerate(prepared.base.columns):
        if found.kinds[j] != "hierarchy":
            finer.append((prepared.base.codes[j] + 1).astype(np.int32))
            codes, values = found.problem.codes[j], len(found.problem.columns[j].leaves) - 1
            covered.append(_in_label(codes, values, clusters, ranged=found.kinds[j] == "range"))
            continue
        levels = _levels(prepared, name)
        at = _node_levels(levels, clusters)
        lower = np.maximum(at - 1, 0)
        width = int(max(codes.max(initial=0) for codes in levels)) + 2
        finer.append((np.choose(lower, levels) + 1 + lower * width).astype(np.int32))
        covered.append(np.choose(at, [_covers(codes, prepared.base.codes[j]) for codes in levels]))
    return tuple(finer), tuple(covered)


def said_of(found: LocalResult) -> str:
    """What the plan says instead of steps: that it was local, and which columns publish sets or ranges."""
    named = [f"{name} as {kind}s" for name, kind in zip(found.problem.names, found.kinds, strict=True) if kind != "hierarchy"]
    how = f" ({', '.join(named)})" if named else ""
    return f"the quasi-identifiers are recoded locally, class by class{how}; the table of classes is not kept"


def _in_label(codes: CodeArray, missing: int, clusters: IntArray, *, ranged: bool) -> IntArray:
    """How many values of the table the set or range of each class's cluster holds; codes are in order, ``missing`` the last."""
    n = int(clusters.max()) + 1
    held = np.stack(np.divmod(np.unique(clusters * (missing + 1) + codes), missing + 1))
    if not ranged:
        return np.bincount(held[0], minlength=n)[clusters]
    real = held[:, held[1] != missing]
    low, high = np.full(n, missing), np.full(n, -1)
    np.minimum.at(low, real[0], real[1])
    np.maximum.at(high, real[0], real[1])
    gone = np.bincount(held[0, held[1] == missing], minlength=n)
    held_by: IntArray = np.maximum(high - low + 1, 0) + gone
    return held_by[clusters]


def _levels(prepared: Prepared, name: str) -> list[CodeArray]:
    """Codes of the base classes at each level, and at last under one node that covers everything."""
    height = prepared.hierarchies[name].height
    out = [at_level(prepared, prepared.base, name, level)[0] for level in range(height + 1)]
    return [*out, np.zeros(prepared.base.n_classes, dtype=np.int32)]


def _node_levels(levels: list[CodeArray], clusters: npt.NDArray[np.int64]) -> IntArray:
    """The lowest level at which all classes of a cluster are alike, for each base class."""
    n = int(clusters.max()) + 1
    found = np.full(n, -1, dtype=np.int64)
    for level, codes in enumerate(levels):
        low, high = np.full(n, np.iinfo(np.int32).max), np.full(n, np.iinfo(np.int32).min)
        np.minimum.at(low, clusters, codes)
        np.maximum.at(high, clusters, codes)
        found[(low == high) & (found < 0)] = level
    return found[clusters]


def _covers(codes: CodeArray, values: CodeArray) -> IntArray:
    """How many different values of the table lie under the node of each base class; a value has one node."""
    node = np.unique(codes, return_inverse=True)[1]
    node_of = np.full(int(values.max()) + 2, -1, dtype=np.int64)
    node_of[values + 1] = node  # a missing value is −1
    return np.bincount(node_of[node_of >= 0])[node]
