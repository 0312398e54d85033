"""The counts of a sensitive column as entries (cell, value, count): sorted by group, and added up to entries of the groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.kernels.group import compiled_pays
from shoal.kernels.jit import HAVE_NUMBA, lean_njit, njit, up_to
from shoal.model.counts.classes import CodeArray as Codes
from shoal.model.counts.classes import FloatArray as Floats
from shoal.model.counts.classes import IntArray as Ints

CALL = 1000
"""Rows that a loop could pass over in the time of one call of the numpy functions for a few entries."""


def is_compiled(entries: int) -> bool:
    """Whether loops over so many entries run compiled: numba is loaded already, or would have saved the time of loading it."""
    return HAVE_NUMBA and compiled_pays(CALL + entries)


def order_entries(gid: Codes, n_groups: int, cells: Codes, pointer: Ints, order: Codes) -> None:
    """Sort the entries by group, keeping their order: those of group g are ``order[pointer[g]:pointer[g + 1]]``."""
    if len(pointer) < n_groups + 2 or len(order) < len(cells):  # compiled loops would write behind the end
        raise ValueError
    if is_compiled(len(cells)):
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
    if is_compiled(len(values)):
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


FEW = up_to(4096)
"""With fewer numbers to add up, numpy does it: numba is loaded for larger problems only."""


def charges(gone: Ints, starts: Ints, extra: Floats, offsets: Ints, free: Floats, node: Ints, floor: Ints, out: Floats) -> None:
    """out[j, l] = free[j, l] + Σ_code gone · extra for l ≤ node[j]; what is added below ``floor`` is as at ``floor``.

    ``extra[offsets[j] + l · codes + code]`` is what losing a record of that code adds at level l. Sums are added in the order of
    the codes on both ways, so that they are the same to the last bit.
    """
    if len(extra) >= FEW:
        _charges(gone, starts, extra, offsets, free, node, floor, out)
        return
    for j in range(len(node)):
        lost = gone[starts[j] : starts[j + 1]]
        more = 0.0
        for level in range(node[j], -1, -1):
            if level >= floor[j] or level == node[j]:
                row = offsets[j] + level * len(lost)
                added = np.add.accumulate(lost * extra[row : row + len(lost)])
                more = added[-1] if len(added) else 0.0
            out[j, level] = free[j, level] + more


@lean_njit
def _charges(gone: Ints, starts: Ints, extra: Floats, offsets: Ints, free: Floats, node: Ints, floor: Ints, out: Floats) -> None:
    """As :func:`charges`."""
    for j in range(len(node)):
        n_codes = starts[j + 1] - starts[j]
        more = 0.0
        for level in range(node[j], -1, -1):
            if level >= floor[j] or level == node[j]:
                more = 0.0
                row = offsets[j] + level * n_codes
                for code in range(n_codes):
                    more += gone[starts[j] + code] * extra[row + code]
            out[j, level] = free[j, level] + more


TABLED = 2**20
"""Keys up to this, or twice as many as there are, are numbered through a table, larger ones by sorting."""


def dense_codes(keys: npt.NDArray[np.integer[Any]], n_keys: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """The keys that occur, in order, and the place of each key given among them.

    >>> present, codes = dense_codes(np.array([7, 3, 7]), 10)
    >>> present.tolist(), codes.tolist()
    ([3, 7], [1, 0, 1])
    """
    if n_keys > max(TABLED, 2 * len(keys)):
        present, codes = np.unique(keys, return_inverse=True)
        return present.astype(np.int64), codes.astype(np.int32)
    seen = np.zeros(n_keys, dtype=np.bool_)
    seen[keys] = True
    return np.flatnonzero(seen), (np.cumsum(seen, dtype=np.int32) - 1).take(keys)
