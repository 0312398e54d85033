"""Check the sensitive values inside each group of a node, and bound what any finer node must lose.

The counts of a sensitive column come as entries (cell, value, count), sorted by cell. For each group the entries are added up
once; then every requirement on the column is decided. For requirements whose passing distributions form a convex set the
kernel also gives ``removal``: a lower bound on the records of the group that *every* specialisation of the node must
suppress. What a specialisation keeps of the group passes as a whole (a join of passing classes passes), so it is a
part of the group, at most ``counts`` of each value, that passes; the largest such part bounds what can be kept.

Limits are compared exactly: anyone who calls gives them the tolerance of the comparison rule.
"""

from __future__ import annotations

import math

import numpy as np

from shoal.kernels.jit import njit, plain_throughout
from shoal.model.counts.classes import BoolArray as Flags
from shoal.model.counts.classes import CodeArray as Codes
from shoal.model.counts.classes import FloatArray as Floats
from shoal.model.counts.classes import IntArray as Ints
from shoal.search.kernels.entries import is_compiled, merge_entries
from shoal.search.kernels.nodes import MARGIN, GroupValues

DISTINCT, ENTROPY, RECURSIVE, CAP, BAND, LEVELS, ORDERED = range(7)
ROUNDING = 1e-12
"""More than adding up may be off by, relative to what is added up."""


@njit
def _largest_capped(held: Floats, cap: Floats, used: int, size: float) -> float:
    """Largest whole M ≤ size with Σ_s min(held_s, cap_s M) ≥ M. The difference is concave in M and zero at 0: bisection."""
    low, high = 0.0, size
    while low < high:
        middle = math.ceil(0.5 * (low + high))
        kept = 0.0
        for i in range(used):
            kept += min(held[i], cap[i] * middle)
        if kept >= middle * (1.0 - ROUNDING):
            low = middle
        else:
            high = middle - 1.0
    return low


@njit
def _lower(held: Floats, used: int, top: float) -> float:
    """What is left after every count above ``top`` is lowered to it."""
    left = 0.0
    for i in range(used):
        left += min(held[i], top)
    return left


@njit
def _is_diverse(held: Floats, used: int, top: float, least: float) -> bool:
    """Whether exp(H) ≥ ``least`` after every count above ``top`` is lowered to it."""
    size, entropy = _lower(held, used, top), 0.0
    for i in range(used):
        share = min(held[i], top) / size
        entropy -= share * math.log(share)
    return math.exp(entropy) >= least


@njit
def _recursive_margin(ranked: Floats, used: int, top: float, c: float, l: int) -> float:  # noqa: E741
    """c (r_l + … + r_m) − r_1 after every count above ``top`` is lowered to it (``ranked`` is descending)."""
    tail = 0.0
    for i in range(l - 1, used):
        tail += min(ranked[i], top)
    return float(c * tail - min(ranked[0], top))


@njit
def _distance(
    total: Ints, size: float, groups: Codes, n_groups: Ints, mass: Floats, ordered: bool, need: bool, buffer: Floats
) -> float:
    """Distance of a class to the table; with ``need``, the smallest distance a part of ``size`` of it can have.

    By levels: Σ_l Σ_g max(0, Q_g − C_g/M) / H over the groups g of each level l below the root (the earth mover's distance on
    a tree of height H; H = 1 is equal distance). Ordered: Σ_i |C_i/M − Q_i| / (m − 1) over cumulative counts.
    """
    n_levels, n_values = groups.shape
    if ordered:
        whole = 0.0
        for v in range(n_values):
            whole += total[v]
        run, far, table = 0.0, 0.0, 0.0
        for v in range(n_values):
            run += total[v]
            table += mass[0, v]
            if need:
                far += max(0.0, table - run / size) + max(0.0, (1.0 - table) - (whole - run) / size)
            else:
                far += abs(run / size - table)
        return float(far / max(1, n_values - 1))
    far = 0.0
    for level in range(n_levels):
        for g in range(n_groups[level]):
            buffer[g] = 0.0
        for v in range(n_values):
            buffer[groups[level, v]] += total[v]
        for g in range(n_groups[level]):
            far += max(0.0, mass[level, g] - buffer[g] / size)
    return float(far / max(1, n_levels))


@njit
def _kept_diverse(held: Floats, used: int, least: float) -> float:
    """Entropy: −1 where exp(H) ≥ ``least``; else what can stay when every count is lowered to the largest that passes.

    Of all parts of one size the one with the largest counts lowered has the highest entropy, and the lower, the higher it is.
    """
    low, high = 0.0, held[:used].max()
    if _is_diverse(held, used, high, least):
        return -1.0
    if used < least:
        return 0.0
    while _is_open(held, used, low, high):
        middle = 0.5 * (low + high)
        if _is_diverse(held, used, middle, least * (1.0 - ROUNDING)):
            low = middle
        else:
            high = middle
    return _lower(held, used, high)


@njit
def _is_open(held: Floats, used: int, low: float, high: float) -> bool:
    """Whether it is not decided yet how many whole records stay when counts are lowered to something between two."""
    fine = high - low <= ROUNDING * high
    return not fine and math.floor(_lower(held, used, high)) > math.floor(_lower(held, used, low))


@njit
def _kept_recursive(held: Floats, used: int, c: float, depth: int) -> float:
    """Recursive (c, l): −1 where r₁ < c (r_l + …); else what can stay when every count is lowered to the largest that passes."""
    if used < depth:
        return 0.0
    ranked = np.sort(held[:used])[::-1]
    if _recursive_margin(ranked, used, ranked[0], c, depth) > 0.0:
        return -1.0
    low, high = 0.0, ranked[0]
    while _is_open(ranked, used, low, high):
        middle = 0.5 * (low + high)
        if _recursive_margin(ranked, used, middle, c, depth) > 0.0:
            low = middle
        else:
            high = middle
    return _lower(ranked, used, high)


@njit
def _kept_capped(held: Floats, used: int, size: float, cap: Floats) -> float:
    """Shares of at most ``cap``: −1 where they are; else the most that can stay."""
    for i in range(used):
        if held[i] / size > cap[i]:
            return _largest_capped(held, cap, used, size)
    return -1.0


@njit
def _kept_in_band(held: Floats, touched: Codes, used: int, size: float, share: Floats, delta: float, cap: Floats) -> float:
    """δ-disclosure: −1 where |ln(p/q)| < δ for every value; else the most that can stay; nothing where a value is absent."""
    if used < len(share):
        return 0.0
    good = True
    most = size
    for i in range(used):
        ratio = math.log(held[i] / size / share[touched[i]])
        good = good and abs(ratio) < delta
        most = min(most, held[i] * math.exp(min(delta, 700.0)) / share[touched[i]])
    return -1.0 if good else min(most, _largest_capped(held, cap, used, size))


@njit
def _kept_close(
    total: Ints, size: float, t: float, groups: Codes, n_groups: Ints, mass: Floats, ordered: bool, buffer: Floats
) -> float:
    """t-closeness: −1 where the distance is at most t; else the most that can stay."""
    if _distance(total, size, groups, n_groups, mass, ordered, False, buffer) <= t:
        return -1.0
    low, high = 0.0, size
    while low < high:
        middle = math.ceil(0.5 * (low + high))
        if _distance(total, middle, groups, n_groups, mass, ordered, True, buffer) <= t + ROUNDING:
            low = middle
        else:
            high = middle - 1.0
    return low


@njit
def _add_up(pointer: Ints, order: Codes, values: Codes, counts: Ints, g: int, total: Ints, touched: Codes, held: Floats) -> int:
    """Add up the entries of a group by value: how many values it holds; ``held`` are their counts."""
    used = 0
    for i in range(pointer[g], pointer[g + 1]):
        v = values[order[i]]
        if total[v] == 0:
            touched[used] = v
            used += 1
        total[v] += counts[order[i]]
    for i in range(used):
        held[i] = total[touched[i]]
    return used


def check_values(
    pointer: Ints, order: Codes, values: Codes, counts: Ints, share: Floats, kind: int, first: float, second: float,
    limits: Floats, groups: Codes, n_groups: Ints, mass: Floats, least: int, failed: Flags, weak: Flags, removal: Ints | None,
) -> None:  # fmt: skip
    """Decide one requirement for each group that has not failed yet.

    ``failed`` is set where a requirement of law *merge* fails; ``weak`` and ``removal`` where one of law *union* does. A group of
    which fewer than the ``least`` members of a class can be kept has failed too: every finer node loses all of it. Without
    ``removal`` nothing is bounded: a group that misses the requirement is ``failed`` or ``weak``.
    """
    bound = np.zeros(len(failed), dtype=np.int64) if removal is None else removal
    given = (share, kind, first, second, limits, groups, n_groups, mass)
    if is_compiled(len(values)):
        _check_values(pointer, order, values, counts, *given, least, failed, weak, bound)
        return
    held = GroupValues(*merge_entries(pointer, order, len(failed), values, counts, len(share)), len(failed))
    if kind == DISTINCT:
        failed |= (held.distinct > 0) & (held.distinct < first)
        return
    some = ~failed & (held.distinct > 0)
    doubt = some & ~_clear(held, *given)
    if removal is None and doubt.any():
        held.margin = -MARGIN
        may_pass = _clear(held, *given)
        failed |= doubt & ~may_pass
        doubt &= may_pass
    if doubt.any():
        rest = ~doubt
        plain_throughout(_check_values)(pointer, order, values, counts, *given, least, rest, weak, bound)
        failed |= doubt & rest


def _clear(
    held: GroupValues, share: Floats, kind: int, first: float, second: float, limits: Floats, groups: Codes, n_groups: Ints,
    mass: Floats,
) -> Flags:  # fmt: skip
    """The groups that pass beyond doubt."""
    if kind == ENTROPY:
        return held.entropy(first)
    if kind == RECURSIVE:
        return held.recursive(first, int(second))
    if kind == CAP:
        return held.capped(limits)
    if kind == BAND:
        return held.in_band(share, first)
    return held.close_in_order(first, mass) if kind == ORDERED else held.close_by_levels(first, groups, n_groups, mass)


@njit
def _check_values(
    pointer: Ints, order: Codes, values: Codes, counts: Ints, share: Floats, kind: int, first: float, second: float,
    limits: Floats, groups: Codes, n_groups: Ints, mass: Floats, least: int, failed: Flags, weak: Flags, removal: Ints,
) -> None:  # fmt: skip
    """As :func:`check_values`."""
    n_values = len(share)
    total = np.zeros(n_values, dtype=np.int64)
    touched = np.empty(n_values, dtype=np.int32)
    held = np.empty(n_values, dtype=np.float64)
    cap = np.empty(n_values, dtype=np.float64)
    buffer = np.empty(n_values + 1, dtype=np.float64)
    for g in range(len(failed)):
        if failed[g] or pointer[g + 1] == pointer[g]:
            continue
        used = _add_up(pointer, order, values, counts, g, total, touched, held)
        size = held[:used].sum()
        keep = -1.0
        if kind == DISTINCT:
            failed[g] = used < first
        elif kind == ENTROPY:
            keep = _kept_diverse(held, used, first)
        elif kind == RECURSIVE:
            keep = _kept_recursive(held, used, first, int(second))
        elif kind in (CAP, BAND):
            for i in range(used):
                cap[i] = limits[touched[i]]
            if kind == CAP:
                keep = _kept_capped(held, used, size, cap)
            else:
                keep = _kept_in_band(held, touched, used, size, share, first, cap)
        else:
            keep = _kept_close(total, size, first, groups, n_groups, mass, kind == ORDERED, buffer)
        if keep >= 0.0:
            kept = min(math.floor(keep + 1e-9 * size), size - 1.0)
            weak[g] = True
            failed[g] = kept < max(least, 1)
            removal[g] = max(removal[g], np.int64(size - kept))
        for i in range(used):
            total[touched[i]] = 0
