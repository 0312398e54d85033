"""Group cells at a node of the lattice: the loop that a search spends its time in.

A *cell* is a class of an earlier grouping. Its quasi-identifiers are packed into a few *blocks* of columns; ``codes[b, c]``
numbers the values of block ``b`` in cell ``c``. For each block ``store[offsets[b] + code]`` is the group of that code at the
node, so the key of a cell is one lookup per block. Groups are numbered in order of first appearance.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.kernels._jit import HAVE_NUMBA, njit

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]

DIRECT_FACTOR = 4
SMALL = 2**18
NO_LIMIT = 2**62
"""A direct table is used while the key space is at most this many times the number of cells."""


@njit
def _keys(codes: Codes, lengths: Ints, lanes: Ints, start: int, stop: int, out: Ints) -> None:
    """The keys of the cells from ``start`` to ``stop``: the sum of one entry of ``lanes`` per block, three blocks at a time."""
    n_blocks = codes.shape[0]
    for c in range(start, stop):
        out[c] = 0
    one = b = 0
    while b < n_blocks:
        two = one + lengths[b]
        if b + 2 < n_blocks:
            three = two + lengths[b + 1]
            for c in range(start, stop):
                out[c] += lanes[one + codes[b, c]] + lanes[two + codes[b + 1, c]] + lanes[three + codes[b + 2, c]]
            one = three + lengths[b + 2]
            b += 3
        else:
            for c in range(start, stop):
                out[c] += lanes[one + codes[b, c]]
            one = two
            b += 1


@njit
def _group(
    codes: Codes,
    store: Codes,
    offsets: Ints,
    lengths: Ints,
    strides: Ints,
    lanes: Ints,
    cell_keys: Ints,
    measures: Ints,
    slots: Codes,
    direct: bool,
    breaks: Ints,
    least: int,
    limit: int,
    gid: Codes,
    first: Codes,
    keys: Ints,
    sums: Ints,
) -> int:
    """Fill ``gid, first, keys, sums``; leave ``slots`` as found (all −1); return the number of groups.

    No group reaches over a break. When the groups up to a break with fewer than ``least`` records hold more than ``limit``
    records, the rest is not looked at and −1 − (those records) is returned.
    """
    lane = 0
    for b in range(codes.shape[0]):
        for i in range(lengths[b]):
            lanes[lane + i] = store[offsets[b] + i] * strides[b]
        lane += lengths[b]
    mask = len(slots) - 1
    found = start = lost = 0
    records, summed = measures[0], sums[0]
    for part in range(len(breaks)):
        stop = breaks[part]
        fresh = found
        _keys(codes, lengths, lanes, start, stop, cell_keys)
        for c in range(start, stop):
            key = cell_keys[c]
            if direct:
                at = key
                g = slots[at]
            else:
                h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
                at = np.int64((h ^ (h >> np.uint64(29))) >> np.uint64(8)) & mask
                g = slots[at]
                while g >= 0 and keys[g] != key:
                    at = (at + 1) & mask
                    g = slots[at]
            if g < 0:
                g = np.int32(found)
                slots[at] = g
                keys[g] = key
                first[g] = c
                summed[g] = 0
                found += 1
            gid[c] = g
            summed[g] += records[c]
        start = stop
        for g in range(fresh, found):
            if summed[g] < least:
                lost += summed[g]
        if lost > limit:
            break
    if direct:
        for g in range(found):
            slots[keys[g]] = -1
    else:
        for i in range(len(slots)):
            slots[i] = -1
    if lost > limit:
        return -1 - lost
    for q in range(1, len(measures)):
        for g in range(found):
            sums[q, g] = 0
        for c in range(start):
            sums[q, gid[c]] += measures[q, c]
    return found


@njit
def lost_by_code(
    lost: npt.NDArray[np.bool_], gid: Codes, reps: Codes, codes: Codes, starts: Ints, measures: Ints, out: Ints
) -> None:
    """Add up, for each column and original value, the records of the cells whose group is lost.

    ``codes[j, reps[c]]`` is the original value of column ``j`` in cell ``c``; ``out[starts[j] + code]`` receives the sum.
    """
    for c in range(len(gid)):
        if lost[gid[c]]:
            for j in range(codes.shape[0]):
                out[starts[j] + codes[j, reps[c]]] += measures[0, c]


class Workspace:
    """Arrays that one thread reuses from node to node."""

    def __init__(self, n_cells: int, n_sums: int, n_lanes: int) -> None:
        self.cell_keys = np.empty(n_cells, dtype=np.int64)
        self.gid = np.empty(n_cells, dtype=np.int32)
        self.first = np.empty(n_cells, dtype=np.int32)
        self.keys = np.empty(n_cells, dtype=np.int64)
        self.sums = np.empty((n_sums, n_cells), dtype=np.int64)
        self.lanes = np.empty(n_lanes, dtype=np.int64)
        self.slots = np.full(1024, -1, dtype=np.int32)

    def room(self, wanted: int) -> Codes:
        if len(self.slots) < wanted:
            self.slots = np.full(1 << (wanted - 1).bit_length(), -1, dtype=np.int32)
        return self.slots


def group_cells(
    codes: Codes,
    store: Codes,
    offsets: Ints,
    lengths: Ints,
    cards: Ints,
    measures: Ints,
    space: Workspace,
    breaks: Ints | None = None,
    least: int = 0,
    limit: int = 0,
) -> tuple[int, Codes, Codes, Ints]:
    """Group the cells: number of groups, group of each cell, first cell of each group, sums of the measures per group.

    ``store[offsets[b] : offsets[b] + lengths[b]]`` is the table of block ``b``, which has ``cards[b]`` groups. ``measures`` has
    one row per sum. The arrays returned are views of ``space`` and hold until its next use. ``breaks``, ends of parts that no
    group reaches over, allow to stop early: then the number is −1 − (records found in groups below ``least``), above ``limit``.

    >>> space = Workspace(4, 1, 5)
    >>> codes = np.array([[0, 1, 1, 0], [2, 2, 2, 0]], dtype=np.int32)
    >>> store = np.array([0, 1, 0, 0, 1], dtype=np.int32)
    >>> at, lengths, cards = np.array([0, 2]), np.array([2, 3]), np.array([2, 2])
    >>> n, gid, first, sums = group_cells(codes, store, at, lengths, cards, np.array([[5, 1, 1, 2]]), space)
    >>> n, gid.tolist(), first.tolist(), sums[0].tolist()
    (3, [0, 1, 1, 2], [0, 1, 3], [5, 2, 2])
    """
    n_cells = codes.shape[1]
    strides = np.ones(len(cards), dtype=np.int64)
    key_space = 1
    for b in range(len(cards) - 1, -1, -1):
        strides[b] = key_space
        key_space *= int(cards[b])
    if not HAVE_NUMBA:
        return _group_numpy(codes, store, offsets, strides, measures)
    direct = key_space <= max(SMALL, DIRECT_FACTOR * n_cells)
    slots = space.room(key_space) if direct else space.room(2 * n_cells)[: 1 << (2 * n_cells - 1).bit_length()]
    gid = space.gid[:n_cells]
    ends = np.array([n_cells], dtype=np.int64) if breaks is None else breaks
    found = _group(
        codes, store, offsets, lengths, strides, space.lanes, space.cell_keys, measures, slots, direct, ends, least,
        limit if breaks is not None else NO_LIMIT, gid, space.first, space.keys, space.sums,
    )  # fmt: skip
    return found, gid, space.first[: max(found, 0)], space.sums[:, : max(found, 0)]


def _group_numpy(codes: Codes, store: Codes, offsets: Ints, strides: Ints, measures: Ints) -> tuple[int, Codes, Codes, Ints]:
    keys = np.zeros(codes.shape[1], dtype=np.int64)
    for b in range(codes.shape[0]):
        keys += store[offsets[b] + codes[b]].astype(np.int64) * strides[b]
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    gid = rank[inverse]
    sums = np.zeros((len(measures), len(order)), dtype=np.int64)
    for q in range(len(measures)):
        np.add.at(sums[q], gid, measures[q])
    return len(order), gid, first[order].astype(np.int32), sums
