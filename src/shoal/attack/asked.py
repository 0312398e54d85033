"""What is certified of a sensitive column, and which groups fall short of it.

Takes    values and weights of some groups of people, and the whole table's
Returns  the groups that are less diverse than asked, or further from the table
Source   Machanavajjhala et al. 2007 (entropy and recursive diversity); Li, Li & Venkatasubramanian 2007 (closeness)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.model.counts.classes import IntArray

SLACK = 1e-6
"""Room for weights that were fitted, not counted."""
_BLOCK = 4_000_000

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Asked:
    """What is certified of a sensitive column besides the number of its values; values are codes from −1 (missing) on.

    ``recursive`` holds pairs (c, l), ``closeness`` pairs (distance, t). ``rank[v + 1]`` is the place of value v in order,
    ``levels`` its group at each inner level of a hierarchy; without them the equal distance is used, which is never smaller.
    """

    entropy: float = 1.0
    recursive: tuple[tuple[float, int], ...] = ()
    closeness: tuple[tuple[str, float], ...] = ()
    rank: IntArray | None = None
    levels: tuple[IntArray, ...] = ()

    @property
    def n_values(self) -> int:
        """Values that the order knows, the missing one included; 0 without an order."""
        return 0 if self.rank is None else len(self.rank)

    def __bool__(self) -> bool:
        return self.entropy > 1 or bool(self.recursive) or bool(self.closeness)


def short(group: IntArray, value: IntArray, weight: FloatArray, n: int, whole: FloatArray, asked: Asked) -> BoolArray:
    """Groups whose values are less diverse than asked, or further from ``whole``; an empty group is not.

    ``weight[i]`` is how often (or how likely) value ``value[i]`` is in group ``group[i]``; ``whole[v + 1]`` how often v is in the
    table.

    >>> two = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([9.0, 1.0, 5.0, 5.0])
    >>> short(*two, 2, np.array([0.0, 1.0, 1.0]), Asked(entropy=1.9)).tolist()
    [True, False]
    >>> short(*two, 2, np.array([0.0, 1.0, 1.0]), Asked(closeness=(("equal", 0.3),))).tolist()
    [True, False]
    """
    out = np.zeros(n, dtype=np.bool_)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(n + 1))
    block = max(1, _BLOCK // len(whole))
    q = whole / whole.sum()
    for low in range(0, n, block):
        high = min(low + block, n)
        pick = order[starts[low] : starts[high]]
        table = np.zeros((high - low, len(whole)))
        np.add.at(table, (group[pick] - low, value[pick] + 1), weight[pick])
        total = table.sum(axis=1, keepdims=True)
        there = total[:, 0] > 0
        p = table / np.where(total > 0, total, 1.0)
        out[low:high] = there & (_not_diverse(p, asked) | _not_close(p, q, asked))
    return out


def _not_diverse(p: FloatArray, asked: Asked) -> BoolArray:
    logs = np.log(p, out=np.zeros_like(p), where=p > 0)
    out = np.asarray(np.exp(-(p * logs).sum(axis=1)) < asked.entropy - SLACK)
    if asked.recursive:
        falling = -np.sort(-p, axis=1)
        for c, level in asked.recursive:
            if level > 1:
                out |= falling[:, 0] >= c * falling[:, level - 1 :].sum(axis=1) - 1e-12
    return out


def _not_close(p: FloatArray, q: FloatArray, asked: Asked) -> BoolArray:
    out = np.zeros(len(p), dtype=np.bool_)
    for distance, t in asked.closeness:
        if distance == "ordered" and asked.rank is not None:
            moved = _ordered(p, q, asked.rank)
        elif distance == "hierarchical" and asked.levels:
            moved = _by_tree(p, q, asked.levels)
        else:
            moved = 0.5 * np.abs(p - q).sum(axis=1)
        out |= moved > t + SLACK
    return out


def _ordered(p: FloatArray, q: FloatArray, rank: IntArray) -> FloatArray:
    place = np.argsort(rank)
    there = place[q[place] > 0]  # values that the table does not hold take no place in its order
    if len(there) < 2:
        return np.zeros(len(p))
    out: FloatArray = np.abs(np.cumsum(p[:, there] - q[there], axis=1)).sum(axis=1) / (len(there) - 1)
    return out


def _by_tree(p: FloatArray, q: FloatArray, levels: Sequence[IntArray]) -> FloatArray:
    height = len(levels) + 1
    moved = np.abs(p - q).sum(axis=1)
    for groups in levels:
        summed = (p - q) @ np.eye(int(groups.max()) + 1)[groups]
        moved = moved + np.abs(summed).sum(axis=1)
    out: FloatArray = moved / (2 * height)
    return out
