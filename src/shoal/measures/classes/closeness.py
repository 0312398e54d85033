"""How far is a class from the whole table? t-closeness, δ-disclosure, β-likeness.

Takes    ClassCounts with counts of a sensitive column; for the hierarchical distance also a Hierarchy of its values
Keeps    0 ≤ t ≤ 1; one class that is the whole table has t = 0; merging classes never raises t, δ or β
Cost     work grows with the (class, value) pairs that occur, never with classes × values
Source   METHODS §19, §22 (2c, 2j); Li, Li & Venkatasubramanian 2007; Brickell & Shmatikov 2008; Cao & Karras 2012
Differs  a value absent from a class makes δ infinite (peers skip it); equal distance carries its factor ½
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
import pyarrow.types as kinds

from shoal.errors import HierarchyGapError, UsageError
from shoal.kernels.text import canonical_text
from shoal.measures.classes.diversity import SensitiveProfile, is_ordered, profile
from shoal.measures.metrics import metric
from shoal.model.compare import TOLERANCE
from shoal.model.counts.classes import ClassCounts, CodeArray, FloatArray, IntArray, SensitiveCounts
from shoal.model.hierarchy import Hierarchy

Distance = Literal["ordered", "equal", "hierarchical"]
HELPERS = ("in_spoken_order", "spoken_order", "class_distances", "default_distance", "earth_mover", "leaf_groups", "need_order")


def default_distance(counts: ClassCounts, column: str) -> Distance:
    """``ordered`` for numbers, dates, times and texts with a known order; ``equal`` for everything else."""
    return "ordered" if is_ordered(profile(counts, column).sensitive) else "equal"


@metric("t", reads="sensitive", low=0, high=1, safer="lower", merging="never higher", doubling="same")
def t_closeness(
    counts: ClassCounts, column: str, *, distance: Distance | None = None, hierarchy: Hierarchy | None = None
) -> float:
    """Largest earth mover's distance between a class and the table.

    >>> from shoal.model.counts.classes import SensitiveCounts
    >>> s = SensitiveCounts.from_dense("d", [[2, 1, 1], [3, 1, 0], [1, 1, 2]])
    >>> t_closeness(ClassCounts((4, 4, 4), sensitive={"d": s}), "d", distance="equal")
    0.25
    """
    return float(class_distances(counts, column, distance=distance, hierarchy=hierarchy).max())


def class_distances(
    counts: ClassCounts, column: str, *, distance: Distance | None = None, hierarchy: Hierarchy | None = None
) -> FloatArray:
    """Earth mover's distance of each class to the table, by one of three ground distances.

    ``ordered``: distance of two values is their distance in rank over m − 1, texts without a known order by code point
    (:func:`need_order` refuses them). ``equal``: any two values are 1 apart.
    ``hierarchical``: height of their lowest common ancestor over the height of the tree. A missing value ranks below all
    others, and hangs directly under the root of a hierarchy.
    """
    values = profile(counts, column)
    chosen = distance or ("hierarchical" if hierarchy is not None else default_distance(counts, column))
    if chosen not in get_args(Distance):
        raise UsageError(f"distance '{chosen}' is not known.", hint="Distances: ordered, equal, hierarchical.")
    if chosen == "ordered":
        return _ordered_distance(values)
    if chosen == "equal":
        return _equal(values)
    if hierarchy is None:
        raise UsageError(f"the hierarchical distance of '{column}' needs a hierarchy.", hint="Name one, or use distance equal.")
    return _hierarchical(values, leaf_groups(values, hierarchy))


def need_order(counts: ClassCounts, column: str) -> None:
    """Refuse the ordered distance of three or more texts whose order nobody knows (a missing one counts)."""
    values = profile(counts, column)
    if values.sensitive.categories is not None and not is_ordered(values.sensitive) and values.n_values > 2:
        what = f"the ordered distance of '{column}' needs the order of its values: they are texts, and no order is known."
        hint = f"Say it from low to high (--order {column}=a,b,c; order: in a policy), or use distance equal."
        raise UsageError(what, hint=hint, column=column)


def _equal(profile: SensitiveProfile) -> FloatArray:
    """½ Σ |p − q|: the values that occur in the class, and the table's share of those that do not."""
    excess = np.add.reduceat(np.abs(profile.p - profile.q) - profile.q, profile.starts)
    return np.clip(0.5 * (1.0 + excess), 0.0, 1.0)


def _ordered_distance(profile: SensitiveProfile) -> FloatArray:
    """Σ_i |P_i − Q_i| / (m − 1) over cumulative shares, run by run between the values that occur."""
    m = profile.n_values
    if m == 1:
        return np.zeros(profile.n_classes)
    rank, counts = profile.ranks, profile.counts
    if not profile.in_order:
        order = np.lexsort((rank, profile.classes))
        rank, counts = rank[order], counts[order]
    table = np.cumsum(profile.marginal) / profile.marginal.sum()
    prefix = np.concatenate(([0.0], np.cumsum(table)))
    running = np.cumsum(counts)
    before = np.repeat((running - counts)[profile.starts], profile.distinct)
    share = (running - before) / profile.totals[profile.classes]
    stop = np.append(rank[1:], m)
    last = profile.starts + profile.distinct - 1
    stop[last] = m
    cut = np.clip(np.searchsorted(table, share), rank, stop)
    runs = share * (cut - rank) - (prefix[cut] - prefix[rank]) + (prefix[stop] - prefix[cut]) - share * (stop - cut)
    total = np.add.reduceat(runs, profile.starts) + prefix[rank[profile.starts]]
    return np.clip(total / (m - 1), 0.0, 1.0)


def leaf_groups(profile: SensitiveProfile, hierarchy: Hierarchy) -> list[CodeArray]:
    """For each level of the hierarchy, the group of each value of the table (by rank), up to one root.

    A missing value keeps to itself below the root: it hangs directly under it. A hierarchy without a single root gets one.
    """
    sensitive = profile.sensitive
    codes = np.zeros(profile.n_values, dtype=np.int64)
    codes[profile.ranks] = sensitive.values
    texts = [None] * len(codes)
    if sensitive.categories is not None:
        every = canonical_text(sensitive.categories).to_pylist()
        texts = [every[c] if c >= 0 else None for c in codes]
    elif len(hierarchy.leaves) > int(codes.max()):
        texts = [hierarchy.leaves[c] if c >= 0 else None for c in codes]  # type: ignore[misc]
    place = [hierarchy.position.get(t, -1) if t is not None else -1 for t in texts]
    gaps = [r for r, (c, at) in enumerate(zip(codes, place, strict=True)) if c >= 0 and at < 0]
    if gaps:
        records = int(profile.marginal[gaps].sum())
        what = f"the hierarchy of '{sensitive.column}' does not cover {len(gaps)} of its values ({records} records)."
        raise HierarchyGapError(what, hint="Extend the hierarchy, or use another distance.")
    leaf = np.asarray(place, dtype=np.int64)
    rooted = len(hierarchy.levels) > 1 and len(hierarchy.levels[-1].labels) == 1
    levels = hierarchy.levels[:-1] if rooted else hierarchy.levels
    out = [np.where(leaf >= 0, level.groups[leaf], len(level.labels)).astype(np.int32) for level in levels]
    return [*out, np.zeros(profile.n_values, dtype=np.int32)]


def _hierarchical(profile: SensitiveProfile, levels: Sequence[CodeArray]) -> FloatArray:
    """Bottom-up: at each inner node the smaller of its children's surplus and shortage moves, at a cost of its height.

    Only nodes with a value of the class are visited: below any other node every child lacks and nothing moves.
    """
    height = len(levels) - 1
    cost = np.zeros(profile.n_classes)
    if height == 0:
        return cost
    klass, node = profile.classes, levels[0][profile.ranks].astype(np.int64)
    klass, node, (share,) = _sum_pairs(klass, node, (profile.p,))
    mass = np.bincount(levels[0], weights=profile.overall)
    for h in range(1, height + 1):
        parent = np.zeros(len(mass), dtype=np.int64)
        parent[levels[h - 1]] = levels[h]
        surplus = np.maximum(share - mass[node], 0.0)
        up = parent[node]
        at, above, (positive, share) = _sum_pairs(klass, up, (surplus, share))
        mass = np.bincount(levels[h], weights=profile.overall)
        negative = positive - (share - mass[above])
        np.add.at(cost, at, (h / height) * np.minimum(positive, np.maximum(negative, 0.0)))
        klass, node = at, above
    return np.clip(cost, 0.0, 1.0)


def _sum_pairs(
    klass: IntArray, node: IntArray, sums: tuple[FloatArray, ...]
) -> tuple[IntArray, IntArray, tuple[FloatArray, ...]]:
    """Sums over equal (class, node) pairs, which come out sorted."""
    width = int(node.max(initial=0)) + 1
    key, place = np.unique(klass * width + node, return_inverse=True)
    added = tuple(np.bincount(place, weights=s, minlength=len(key)).astype(np.float64, copy=False) for s in sums)
    return key // width, key % width, added


def earth_mover(p: Sequence[float], q: Sequence[float], *, distance: Literal["ordered", "equal"] = "ordered") -> float:
    """Earth mover's distance of two distributions over the same values in order.

    >>> earth_mover((0.5, 0.5, 0), (0, 0.5, 0.5), distance="equal"), earth_mover((1, 0, 0), (0, 0, 1))
    (0.5, 1.0)
    """
    difference = np.asarray(p, dtype=np.float64) - np.asarray(q, dtype=np.float64)
    if distance == "equal":
        return float(0.5 * np.abs(difference).sum())
    return float(np.abs(np.cumsum(difference)).sum() / max(1, len(difference) - 1))


@metric("delta_disclosure", reads="sensitive", low=0, safer="lower", merging="never higher", doubling="same")
def delta_disclosure(counts: ClassCounts, column: str, *, base: float = math.e) -> float:
    r"""Smallest δ: :math:`\max |\log(p/q)|` over all classes and all values of the table.

    >>> from shoal.model.counts.classes import SensitiveCounts
    >>> even = SensitiveCounts.from_dense("d", [[2, 2], [3, 1]])
    >>> round(delta_disclosure(ClassCounts((4, 4), sensitive={"d": even}), "d"), 6)
    0.405465
    >>> delta_disclosure(ClassCounts((4, 4), sensitive={"d": SensitiveCounts.from_dense("d", [[4, 0], [3, 1]])}), "d")
    inf
    """
    values = profile(counts, column)
    if int(values.distinct.min()) < values.n_values:
        return math.inf
    return delta_disclosure_present(counts, column, base=base)


@metric("delta_disclosure_present", reads="sensitive", low=0, safer="lower", merging="free", doubling="same")
def delta_disclosure_present(counts: ClassCounts, column: str, *, base: float = math.e) -> float:
    """As :func:`delta_disclosure`, over the values that a class holds (the figure that other tools print).

    >>> from shoal.model.counts.classes import SensitiveCounts
    >>> s = SensitiveCounts.from_dense("d", [[4, 0], [0, 4]])
    >>> round(delta_disclosure_present(ClassCounts((4, 4), sensitive={"d": s}), "d", base=2), 9)
    1.0
    """
    values = profile(counts, column)
    return float(np.abs(np.log(values.p / values.q)).max() / math.log(base))


@metric("basic_beta", reads="sensitive", low=0, safer="lower", merging="never higher", doubling="same")
def basic_beta_likeness(counts: ClassCounts, column: str) -> float:
    """Smallest β for basic β-likeness.

    >>> from shoal.model.counts.classes import SensitiveCounts
    >>> s = SensitiveCounts.from_dense("d", [[2, 2], [3, 1]])
    >>> round(basic_beta_likeness(ClassCounts((4, 4), sensitive={"d": s}), "d"), 6)
    0.333333
    """
    values = profile(counts, column)
    return max(0.0, float(((values.p - values.q) / values.q).max()))


@metric("enhanced_beta", reads="sensitive", low=0, safer="lower", merging="never higher", doubling="same")
def enhanced_beta_likeness(counts: ClassCounts, column: str) -> float:
    """Smallest β for enhanced β-likeness, or infinity where none is enough.

    >>> from shoal.model.counts.classes import SensitiveCounts
    >>> s = SensitiveCounts.from_dense("d", [[2, 2], [3, 1]])
    >>> round(enhanced_beta_likeness(ClassCounts((4, 4), sensitive={"d": s}), "d"), 6)
    0.333333
    """
    values = profile(counts, column)
    gain = (values.p - values.q) / values.q
    limit = -np.log(values.q)
    if bool((gain > limit + TOLERANCE * np.maximum(1.0, limit)).any()):  # the rule of shoal.model.compare
        return math.inf
    return max(0.0, float(gain.max()))


FEWEST, MOST = 3, 60
"""Different texts among which an order is looked for; two are as far apart in either order."""


def in_spoken_order(counts: ClassCounts) -> ClassCounts:
    """The counts, with the orders that words and bands say."""
    orders = {name: order for name, s in counts.sensitive.items() if not s.order and (order := spoken_order(s))}
    if not orders:
        return counts
    return replace(counts, sensitive={n: replace(s, order=orders.get(n, s.order)) for n, s in counts.sensitive.items()})


def spoken_order(sensitive: SensitiveCounts) -> tuple[str, ...]:
    """The texts from low to high; empty if they are not texts, too many, or say no order.

    >>> import pyarrow as pa
    >>> spoken_order(SensitiveCounts.from_dense("pain", [[1, 2, 3]], pa.array(["high", "low", "medium"])))
    ('low', 'medium', 'high')
    """
    values = sensitive.categories
    if (
        values is None
        or not FEWEST <= len(values) <= MOST
        or not (kinds.is_string(values.type) or kinds.is_large_string(values.type))
    ):
        return ()
    from shoal.find.bands import band_order
    from shoal.find.orders import ladder_order

    texts = canonical_text(values).to_pylist()
    return ladder_order(texts)[1] or band_order(texts)
