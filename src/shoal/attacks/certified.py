"""What is certified of a sensitive column, and which groups of people fall short of it.

Takes    values and weights of some groups of people, and the whole table's; requirements on the column
Returns  the groups that miss a requirement: less diverse than asked, or further from the table
Source   Machanavajjhala et al. 2007 (entropy and recursive diversity); Li, Li & Venkatasubramanian 2007 (closeness);
         Brickell & Shmatikov 2008 (δ-disclosure); Cao & Karras 2012 (β-likeness)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.model import requirement as req
from shoal.model.compare import slack
from shoal.model.counts.classes import BoolArray, FloatArray, IntArray
from shoal.model.requirement import Requirement

FITTED = 1e-6
"""How far weights that were fitted, not counted, may be from their limit."""
_BLOCK = 4_000_000


@dataclass(frozen=True, eq=False)
class Certified:
    """Requirements on the shares of one sensitive column; its values are codes from −1 (missing) on.

    ``rank[v + 1]`` is the place of value v in order, ``levels`` its group at each inner level of a hierarchy; without them the
    equal distance is used, which is never smaller. Numbers of distinct values are not looked at here.
    """

    requirements: tuple[Requirement, ...] = ()
    rank: IntArray | None = None
    levels: tuple[IntArray, ...] = ()

    @classmethod
    def of(
        cls, requirements: Iterable[Requirement], rank: IntArray | None = None, levels: tuple[IntArray, ...] = ()
    ) -> Certified:
        """The requirements that are about shares, each once."""
        return cls(tuple(dict.fromkeys(r for r in requirements if r.law == "union")), rank, levels)

    @property
    def n_values(self) -> int:
        """Values that the order knows, the missing one included; 0 without an order."""
        return 0 if self.rank is None else len(self.rank)

    def __bool__(self) -> bool:
        return bool(self.requirements)


def short(
    group: IntArray, value: IntArray, weight: FloatArray, n: int, whole: FloatArray, asked: Certified, *, fitted: float = 0.0
) -> BoolArray:
    """Of the first ``n`` groups those that miss a requirement, by the comparison rule (and ``fitted`` beside it); an empty group
    misses none.

    ``weight[i]`` is how often (or how likely) value ``value[i]`` is in group ``group[i]``; ``whole[v + 1]`` how often v is in the
    table.

    >>> two = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([9.0, 1.0, 5.0, 5.0])
    >>> short(*two, 2, np.array([0.0, 1.0, 1.0]), Certified.of([req.EntropyDiversity("s", 1.9)])).tolist()
    [True, False]
    >>> short(*two, 2, np.array([0.0, 1.0, 1.0]), Certified.of([req.TCloseness("s", 0.3)])).tolist()
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
        for r in asked.requirements:
            out[low:high] |= there & _find_missed(r, p, q, asked, fitted)
    return out


def _find_missed(r: Requirement, p: FloatArray, q: FloatArray, asked: Certified, fitted: float) -> BoolArray:
    room = slack(r.limit) + fitted
    match r:
        case req.EntropyDiversity():
            logs = np.log(p, out=np.zeros_like(p), where=p > 0)
            return np.asarray(np.exp(-(p * logs).sum(axis=1)) < r.l - room)
        case req.RecursiveDiversity():
            falling = -np.sort(-p, axis=1)
            tail = falling[:, r.l - 1 :].sum(axis=1)
            return np.asarray(falling[:, 0] >= (r.c - slack(r.c)) * tail) & (r.l > 1)
        case req.AlphaK():
            return np.asarray(p.max(axis=1) > r.alpha + room)
        case req.TCloseness():
            return np.asarray(_distance(r, p, q, asked) > r.t + room)
        case req.DeltaDisclosure():
            change = np.abs(np.log(p[:, q > 0] / q[q > 0], out=np.full_like(p[:, q > 0], -np.inf), where=p[:, q > 0] > 0))
            return np.asarray(change.max(axis=1) >= r.delta - slack(r.delta))
        case req.BasicBeta() | req.EnhancedBeta():
            held = q[q > 0]
            most = np.full(len(held), r.beta) if isinstance(r, req.BasicBeta) else np.minimum(r.beta, -np.log(held))
            return np.asarray(((p[:, q > 0] - held) / held > most + room).any(axis=1))
    return np.zeros(len(p), dtype=np.bool_)


def _distance(r: req.TCloseness, p: FloatArray, q: FloatArray, asked: Certified) -> FloatArray:
    if r.distance == "ordered" and asked.rank is not None:
        return _ordered_distance(p, q, asked.rank)
    if r.distance == "hierarchical" and asked.levels:
        return _by_tree(p, q, asked.levels)
    return np.asarray(0.5 * np.abs(p - q).sum(axis=1))


def _ordered_distance(p: FloatArray, q: FloatArray, rank: IntArray) -> FloatArray:
    place = np.argsort(rank)
    there = place[q[place] > 0]  # values that the table does not hold take no place in its order
    if len(there) < 2:
        return np.zeros(len(p))
    return np.asarray(np.abs(np.cumsum(p[:, there] - q[there], axis=1)).sum(axis=1) / (len(there) - 1))


def _by_tree(p: FloatArray, q: FloatArray, levels: Sequence[IntArray]) -> FloatArray:
    height = len(levels) + 1
    moved = np.abs(p - q).sum(axis=1)
    for groups in levels:
        summed = (p - q) @ np.eye(int(groups.max()) + 1)[groups]
        moved = moved + np.abs(summed).sum(axis=1)
    return np.asarray(moved / (2 * height))
