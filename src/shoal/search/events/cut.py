"""k^m-anonymity by generalisation: each place only as far up its hierarchy as weak sets ask for.

Takes    records with a trace, other codes of the point, and the leaf of their place
Returns  the level of each leaf; whole groups of the hierarchy rise together, so that labels never overlap
Keeps    levels only rise; it ends at the latest with every place at the top
Source   apriori-based anonymization (Terrovitis, Mamoulis, Kalnis 2008): sets of 1, 2, … m points, cheapest place first
Differs  all weak sets of a round are served together; what suppression may still take is left to it
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.model.counts.classes import IntArray
from shoal.model.hierarchy import Hierarchy
from shoal.search.events.linked import Linked, Mask
from shoal.search.events.problem import pairs_of
from shoal.search.events.suppress import Asked, Pairs, suppressed, too_many

Levels = npt.NDArray[np.int64]


def labels_at(tree: Hierarchy, levels: Levels) -> IntArray:
    """The published label of each leaf, numbered by its text: equal labels are one place.

    >>> tree = Hierarchy.from_rows("p", [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"]])
    >>> labels_at(tree, np.array([1, 1, 0])).tolist()
    [1, 1, 0]
    """
    texts = label_texts(tree, levels)
    return np.unique(np.array(texts, dtype=object).astype(str), return_inverse=True)[1].astype(np.int64)


def label_texts(tree: Hierarchy, levels: Levels) -> list[str]:
    """The published label of each leaf."""
    return [tree.levels[level].labels[tree.levels[level].groups[i]] for i, level in enumerate(levels.tolist())]


def cut(
    tree: Hierarchy, leaf: IntArray, trace: IntArray, owner: IntArray, others: list[Any], asked: tuple[Asked, ...], allowed: int
) -> tuple[Levels, Pairs, IntArray, Mask] | None:
    """The levels, the pairs they make, the pair of each record, and the pairs that stay; None where even the top does not do."""
    levels: Levels = np.zeros(tree.n_leaves, dtype=np.int64)
    while True:
        place = labels_at(tree, levels)[leaf]
        pairs, which = pairs_of(trace, owner, [*others, place], len(leaf))
        stays = suppressed(pairs, asked, allowed)
        if stays is not None:
            return levels, pairs, which, stays
        risen = _raised(tree, levels, leaf, pairs, which, asked)
        if risen is None:
            return None
        levels = risen


def _raised(
    tree: Hierarchy, levels: Levels, leaf: IntArray, pairs: Pairs, which: IntArray, asked: tuple[Asked, ...]
) -> Levels | None:
    """One level up for the places of weak sets, a tenth of them at a time, those with fewest records first; None at the top."""
    below = levels < tree.height
    if not below.any():
        return None
    weak = _weak_records(pairs, which, asked)
    hit = np.bincount(leaf[weak], minlength=tree.n_leaves) > 0
    candidates = np.flatnonzero(hit & below)
    if not len(candidates):
        candidates = np.flatnonzero(below)
    records = np.bincount(leaf, minlength=tree.n_leaves)
    order = candidates[np.argsort(records[candidates], kind="stable")]
    out = levels.copy()
    for i in order[: max(1, len(order) // 10)].tolist():
        to = int(levels[i]) + 1
        group = tree.levels[to].groups
        inside = group == group[i]
        out[inside] = np.maximum(out[inside], to)
    return out


def _weak_records(pairs: Pairs, which: IntArray, asked: tuple[Asked, ...]) -> Mask:
    """Records in sets that too few people share, of the smallest size that has any: apriori's order."""
    alive = np.ones(len(pairs.trace), dtype=np.bool_)
    linked = Linked.of(pairs.trace, pairs.point, pairs.owner, alive)
    weak = np.zeros(len(pairs.trace), dtype=np.bool_)
    for size in range(1, max(r.records for r in asked) + 1):
        if too_many(pairs, alive, size):
            break
        for r in asked:
            k = int(r.limit) if r.kind == "known" else 2
            if size <= r.records:
                weak[linked.pair[linked.weak(size, k)]] = True
        if weak.any():
            break
    return weak[which]
