"""The counts of a sensitive column as entries (cell, value, count): sorted by group, and added up to entries of the groups."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.kernels.jit import HAVE_NUMBA, njit

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]


def order_entries(gid: Codes, n_groups: int, cells: Codes, pointer: Ints, order: Codes) -> None:
    """Sort the entries by group, keeping their order: those of group g are ``order[pointer[g]:pointer[g + 1]]``."""
    if HAVE_NUMBA:
        _order_entries(gid, n_groups, cells, pointer, order)
        return
    groups = gid[cells]
    order[:] = np.argsort(groups, kind="stable")
    pointer[0] = 0
    np.cumsum(np.bincount(groups, minlength=n_groups), out=pointer[1 : n_groups + 1])


def merge_entries(
    pointer: Ints, order: Codes, n_groups: int, values: Codes, counts: Ints, n_values: int
) -> tuple[Codes, Codes, Ints]:
    """The entries of the groups themselves: (group, value, count), sorted by group, values as they first occur in it."""
    if HAVE_NUMBA:
        return _merge_entries(pointer, order, n_groups, values, counts, n_values)
    groups = np.repeat(np.arange(n_groups, dtype=np.int64), np.diff(pointer[: n_groups + 1]))
    _, first, inverse = np.unique(groups * n_values + values[order], return_index=True, return_inverse=True)
    by_place = np.argsort(first)
    place = np.empty(len(first), dtype=np.int64)
    place[by_place] = np.arange(len(first))
    added = np.zeros(len(first), dtype=np.int64)
    np.add.at(added, place[inverse], counts[order])
    first = first[by_place]
    return groups[first].astype(np.int32), values[order[first]], added


@njit
def _order_entries(gid: Codes, n_groups: int, cells: Codes, pointer: Ints, order: Codes) -> None:
    """As :func:`order_entries`: a counting sort."""
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
def _merge_entries(
    pointer: Ints, order: Codes, n_groups: int, values: Codes, counts: Ints, n_values: int
) -> tuple[Codes, Codes, Ints]:
    """As :func:`merge_entries`."""
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
