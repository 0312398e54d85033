"""Check the sensitive values inside each group of a node, and bound what any finer node must lose.

The counts of a sensitive column come as entries (cell, value, count), sorted by cell. For each group the entries are added up
once; then every requirement on the column is decided. For requirements whose passing distributions form a convex set the
kernel also gives ``removal``: a lower bound on the records of the group that *every* specialisation of the node must
suppress. Whatever a specialisation keeps of the group passes as a whole (a join of passing classes passes), so it is a
part of the group, at most ``counts`` of each value, that passes; the largest such part bounds what can be kept.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from shoal.kernels._jit import njit

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

DISTINCT, ENTROPY, RECURSIVE, CAP, BAND, LEVELS, ORDERED = range(7)
SLACK = 1e-9


@njit
def order_entries(gid: Codes, n_groups: int, cells: Codes, pointer: Ints, order: Codes) -> None:
    """Counting sort of the entries by group: those of group g are ``order[pointer[g]:pointer[g + 1]]``."""
    for g in range(n_groups + 2):
        pointer[g] = 0
    for e in range(len(cells)):
        pointer[gid[cells[e]] + 2] += 1
    for g in range(n_groups):
        pointer[g + 2] += pointer[g + 1]
    for e in range(len(cells)):
        g = gid[cells[e]]
        order[pointer[g + 1]] = e
        pointer[g + 1] += 1


@njit
def merge_entries(
    pointer: Ints, order: Codes, n_groups: int, values: Codes, counts: Ints, n_values: int
) -> tuple[Codes, Codes, Ints]:
    """The entries of the groups themselves: (group, value, count), sorted by group."""
    total = np.zeros(n_values, dtype=np.int64)
    touched = np.empty(n_values, dtype=np.int32)
    out_group = np.empty(len(values), dtype=np.int32)
    out_value = np.empty(len(values), dtype=np.int32)
    out_count = np.empty(len(values), dtype=np.int64)
    at = 0
    for g in range(n_groups):
        used = 0
        for i in range(pointer[g], pointer[g + 1]):
            v = values[order[i]]
            if total[v] == 0:
                touched[used] = v
                used += 1
            total[v] += counts[order[i]]
        for i in range(used):
            out_group[at] = g
            out_value[at] = touched[i]
            out_count[at] = total[touched[i]]
            total[touched[i]] = 0
            at += 1
    return out_group[:at].copy(), out_value[:at].copy(), out_count[:at].copy()


@njit
def _largest_capped(held: Floats, cap: Floats, used: int, size: float) -> float:
    """Largest M ≤ size with Σ_s min(held_s, cap_s M) ≥ M. The difference is concave in M and zero at 0: bisection."""
    low, high = 0.0, size
    for _ in range(60):
        middle = 0.5 * (low + high)
        kept = 0.0
        for i in range(used):
            kept += min(held[i], cap[i] * middle)
        if kept >= middle * (1.0 - 1e-12):
            low = middle
        else:
            high = middle
        if high - low < 0.25:
            break
    return high


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
def check_values(
    pointer: Ints,
    order: Codes,
    values: Codes,
    counts: Ints,
    share: Floats,
    kind: int,
    first: float,
    second: float,
    limits: Floats,
    groups: Codes,
    n_groups: Ints,
    mass: Floats,
    failed: Flags,
    weak: Flags,
    removal: Ints,
) -> None:
    """Decide one requirement for each group that has not failed yet.

    ``failed`` is set where a requirement of law *merge* fails; ``weak`` and ``removal`` where one of law *union* does.
    """
    n_values = len(share)
    total = np.zeros(n_values, dtype=np.int64)
    touched = np.empty(n_values, dtype=np.int32)
    held = np.empty(n_values, dtype=np.float64)
    cap = np.empty(n_values, dtype=np.float64)
    buffer = np.empty(n_values + 1, dtype=np.float64)
    for g in range(len(failed)):
        if failed[g] or pointer[g + 1] == pointer[g]:
            continue
        used = 0
        size = 0.0
        largest = 0.0
        for i in range(pointer[g], pointer[g + 1]):
            v = values[order[i]]
            if total[v] == 0:
                touched[used] = v
                used += 1
            total[v] += counts[order[i]]
            size += counts[order[i]]
        for i in range(used):
            held[i] = total[touched[i]]
            largest = max(largest, held[i])
        good = True
        keep = size
        if kind == DISTINCT:
            if used < first:
                failed[g] = True
        elif kind == ENTROPY:
            entropy = 0.0
            for i in range(used):
                entropy -= held[i] / size * math.log(held[i] / size)
            good = math.exp(entropy) + SLACK >= first
            if not good:
                cap[:used] = second
                keep = _largest_capped(held, cap, used, size) if used + SLACK >= first else 0.0
        elif kind == RECURSIVE:
            depth = int(second)
            ranked = np.sort(held[:used])[::-1]
            good = used >= depth and _recursive_margin(ranked, used, largest, first, depth) > SLACK
            if not good:
                keep = 0.0
                if used >= depth:
                    low, high = 0.0, largest
                    for _ in range(60):
                        middle = 0.5 * (low + high)
                        if _recursive_margin(ranked, used, middle, first, depth) > 0.0:
                            low = middle
                        else:
                            high = middle
                    for i in range(used):
                        keep += min(held[i], high)
        elif kind in (CAP, BAND):
            for i in range(used):
                cap[i] = limits[touched[i]] + SLACK
            if kind == CAP:
                for i in range(used):
                    good = good and held[i] / size <= cap[i]
                if not good:
                    keep = _largest_capped(held, cap, used, size)
            else:
                good = used == n_values
                most = size
                for i in range(used):
                    ratio = math.log(held[i] / size / share[touched[i]])
                    good = good and abs(ratio) + SLACK < first
                    most = min(most, held[i] * math.exp(first) / share[touched[i]])
                if not good:
                    keep = min(most, _largest_capped(held, cap, used, size)) if used == n_values else 0.0
        else:
            ordered = kind == ORDERED
            good = _distance(total, size, groups, n_groups, mass, ordered, False, buffer) <= first + SLACK
            if not good:
                low, high = 0.0, size
                while high - low > 0.25:
                    middle = 0.5 * (low + high)
                    if _distance(total, middle, groups, n_groups, mass, ordered, True, buffer) <= first + SLACK:
                        low = middle
                    else:
                        high = middle
                keep = high
        if not good:
            weak[g] = True
            lost = np.int64(math.floor(size - keep - 1e-6 * size))
            removal[g] = max(removal[g], max(lost, 1))
        for i in range(used):
            total[touched[i]] = 0
