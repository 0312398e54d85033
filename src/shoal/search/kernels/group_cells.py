"""Group cells at a node of the lattice: the loop that a search spends its time in.

A *cell* is a class of an earlier grouping. Its quasi-identifiers are packed into a few *blocks* of columns; ``codes[b, c]``
numbers the values of block ``b`` in cell ``c``. At a node, each block has a *table*, code → group of that code; the key of a cell
is the sum of one entry of each table times a stride. Groups are numbered in order of first appearance.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.kernels.jit import lean_njit, up_to
from shoal.model.counts.classes import CodeArray as Codes
from shoal.model.counts.classes import IntArray as Ints

DIRECT_FACTOR = 4
SMALL = 2**18
"""A direct table is used while the key space is at most this, or this many times the number of cells."""
NO_LIMIT = 2**62
ROOM = 2**22
"""Slots up to which more are made than are wanted, so that the next node finds room."""
SHARED = 50_000
"""Cells from which on two threads share the work, where a break lies between their parts."""
FEW = up_to(1024)
"""Problems of fewer cells go by numpy: they are done before numba would be loaded."""


@lean_njit
def _keys(codes: Codes, starts: Ints, lanes: Ints, start: int, stop: int, out: Ints) -> None:
    """The keys of the cells from ``start`` to ``stop``: the sum of one entry of ``lanes`` per block, three blocks at a time."""
    n_blocks = codes.shape[0]
    for c in range(start, stop):
        out[c - start] = 0
    b = 0
    while b < n_blocks:
        one = starts[b]
        if b + 2 < n_blocks:
            two, three = starts[b + 1], starts[b + 2]
            for c in range(start, stop):
                out[c - start] += lanes[one + codes[b, c]] + lanes[two + codes[b + 1, c]] + lanes[three + codes[b + 2, c]]
            b += 3
        else:
            for c in range(start, stop):
                out[c - start] += lanes[one + codes[b, c]]
            b += 1


@lean_njit
def _group(
    codes: Codes, starts: Ints, lanes: Ints, cell_keys: Ints, records: Ints, slots: Codes, direct: bool, base: int, begin: int,
    ends: Ints, least: int, limit: int, gid: Codes, first: Codes, keys: Ints, sums: Ints, result: Ints,
) -> None:  # fmt: skip
    """Group the cells from ``begin`` to the last of ``ends``; ``gid, first, keys, sums`` start at ``begin``.

    ``slots`` holds ``base`` + group; anything below ``base`` is empty. ``result`` receives the number of groups, and the records
    in and the number of the groups with fewer than ``least`` records. No group reaches over an end: once those records are more
    than ``limit`` the rest is not looked at, and the number of groups is −1.
    """
    mask = len(slots) - 1
    start = begin
    number = lost = small = 0
    for part in range(len(ends)):
        stop = ends[part]
        fresh = number
        _keys(codes, starts, lanes, start, stop, cell_keys)
        for c in range(start, stop):
            key = cell_keys[c - start]
            at = key
            if not direct:
                h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
                at = np.int64((h ^ (h >> np.uint64(29))) >> np.uint64(8)) & mask
            g = slots[at] - base
            while not direct and g >= 0 and keys[g] != key:
                at = (at + 1) & mask
                g = slots[at] - base
            if g < 0:
                g = number
                slots[at] = base + g
                keys[g] = key
                first[g] = c
                sums[g] = 0
                number += 1
            gid[c - begin] = g
            sums[g] += records[c]
        start = stop
        for g in range(fresh, number):
            if sums[g] < least:
                lost += sums[g]
                small += 1
        if lost > limit and part + 1 < len(ends):
            number = -1
            break
    result[0] = number
    result[1] = lost
    result[2] = small


def _keys_of(codes: Codes, starts: Ints, lanes: Ints, n_cells: int) -> Ints:
    """The key of the group of each of the first cells."""
    keys: Ints = lanes[starts[0] + codes[0, :n_cells]]
    for start, block in zip(starts[1:], codes[1:], strict=False):
        keys += lanes[start + block[:n_cells]]
    return keys


def _group_few(
    codes: Codes, starts: Ints, lanes: Ints, records: Ints, ends: Ints, least: int, limit: int, gid: Codes, first: Codes,
    sums: Ints, result: Ints,
) -> None:  # fmt: skip
    """As :func:`_group` from the first cell on, in numpy."""
    n_cells = int(ends[-1])
    keys = _keys_of(codes, starts, lanes, n_cells)
    _, where, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(where, kind="stable")  # groups in order of first appearance
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    number = len(order)
    gid[:n_cells], first[:number] = rank[inverse], where[order]
    added = np.bincount(gid[:n_cells], weights=records[:n_cells], minlength=number).astype(np.int64)
    sums[:number] = added
    below = np.flatnonzero(added < least)
    part = np.searchsorted(ends, first[below], side="right")
    lost = np.cumsum(np.bincount(part, weights=added[below], minlength=len(ends))).astype(np.int64)
    small = np.cumsum(np.bincount(part, minlength=len(ends)))
    over = np.flatnonzero(lost[:-1] > limit)
    last = int(over[0]) if len(over) else len(ends) - 1
    result[:] = -1 if len(over) else number, lost[last], small[last]


@lean_njit
def _merge(slots: Codes, direct: bool, base: int, begin: int, n_cells: int, least: int, gid: Codes, first: Codes, keys: Ints,
           sums: Ints, numbers: Ints, result: Ints, other: Ints) -> None:  # fmt: skip
    """Join the groups of two halves of the cells, each grouped by itself, the second from ``begin`` on.

    ``slots`` are those of the first half. Groups stay numbered in order of first appearance; ``result`` and ``other`` hold the
    numbers of groups, ``result`` receives what :func:`_group` would have given for all cells.
    """
    mask = len(slots) - 1
    number = result[0]
    for h in range(other[0]):
        key = keys[begin + h]
        at = key
        if not direct:
            hashed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
            at = np.int64((hashed ^ (hashed >> np.uint64(29))) >> np.uint64(8)) & mask
        g = slots[at] - base
        while not direct and g >= 0 and keys[g] != key:
            at = (at + 1) & mask
            g = slots[at] - base
        if g < 0:  # no more than begin + h groups up to here: nothing is overwritten that is still needed
            g = number
            slots[at] = base + g
            keys[g] = key
            first[g] = first[begin + h]
            sums[g] = sums[begin + h]
            number += 1
        else:
            sums[g] += sums[begin + h]
        numbers[h] = g
    for c in range(begin, n_cells):
        gid[c] = numbers[gid[c]]
    lost = small = 0
    for g in range(number):
        if sums[g] < least:
            lost += sums[g]
            small += 1
    result[0] = number
    result[1] = lost
    result[2] = small


def lost_by_code(score: Ints, least: int, gid: Codes, codes: Codes, starts: Ints, records: Ints, out: Ints) -> None:
    """Add up, for each row of codes and each code, the records of the cells whose group has a score below ``least``.

    ``out[starts[b] + codes[b, c]]`` receives the records of cell ``c``.
    """
    if codes.shape[1] >= FEW:
        _lost_by_code(score, least, gid, codes, starts, records, out)
        return
    cells = np.flatnonzero(score[gid] < least)
    for start, row in zip(starts, codes, strict=False):
        np.add.at(out, start + row[cells], records[cells])


@lean_njit
def _lost_by_code(score: Ints, least: int, gid: Codes, codes: Codes, starts: Ints, records: Ints, out: Ints) -> None:
    """As :func:`lost_by_code`."""
    for c in range(len(gid)):
        if score[gid[c]] < least:
            for b in range(codes.shape[0]):
                out[starts[b] + codes[b, c]] += records[c]


@dataclass(slots=True)
class Groups:
    """A grouping: ``n`` groups (−1 where it was given up), the group of each cell, the first cell and the sums of each group.

    ``lost`` records are in ``small`` groups with fewer records than asked for. The arrays hold until the workspace is used again.
    """

    n: int
    gid: Codes
    first: Codes
    sums: Ints
    lost: int
    small: int


class Workspace:
    """Arrays that are reused from node to node."""

    def __init__(self, n_cells: int, n_sums: int, lengths: Sequence[int], threads: int = 1) -> None:
        self.threads = threads
        self._cell_keys = np.empty(n_cells, dtype=np.int64)
        self._gid = np.empty(n_cells, dtype=np.int32)
        self._first = np.empty(n_cells, dtype=np.int32)
        self._keys = np.empty(n_cells, dtype=np.int64)
        self._sums = np.empty((n_sums, n_cells), dtype=np.int64)
        self._starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self._lanes = np.empty(int(self._starts[-1]), dtype=np.int64)
        self._views = [self._lanes[a:b] for a, b in zip(self._starts[:-1], self._starts[1:], strict=True)]
        self._slots = np.full(1024, -1, dtype=np.int32)
        self._base = 0
        self._results = np.zeros((2, 3), dtype=np.int64)

    def _room(self, wanted: int, n_cells: int) -> Codes:
        """At least ``wanted`` slots, all below the base of the next ``n_cells`` groups."""
        if len(self._slots) < wanted or self._base > 2**31 - 2 - n_cells:
            more = 1 << (wanted - 1).bit_length() if wanted < ROOM else wanted
            self._slots = np.full(max(len(self._slots), more), -1, dtype=np.int32)
            self._base = 0
        return self._slots

    def group(
        self,
        codes: Codes,
        tables: Sequence[tuple[Ints, int]],
        measures: Ints,
        ends: Ints | None = None,
        least: int = 0,
        limit: int = NO_LIMIT,
    ) -> Groups:
        """Group cells by the tables of their blocks, each with its number of groups. ``measures`` has one row per sum.

        ``ends``, ends of parts that no group reaches over, allow to stop early: once more than ``limit`` records are found in
        groups of fewer than ``least``.

        >>> codes = np.array([[0, 1, 1, 0], [2, 2, 2, 0]], dtype=np.int32)
        >>> tables = [(np.array([0, 1]), 2), (np.array([0, 0, 1]), 2)]
        >>> found = Workspace(4, 1, [2, 3]).group(codes, tables, np.array([[5, 1, 1, 2]]), least=5)
        >>> found.n, found.gid.tolist(), found.first.tolist(), found.sums[0].tolist(), found.lost, found.small
        (3, [0, 1, 1, 2], [0, 1, 3], [5, 2, 2], 4, 2)
        """
        n_cells = codes.shape[1]
        key_space = self._fill_lanes(tables)
        stops = _whole(n_cells) if ends is None else ends
        n, lost, small = self._run(codes, measures[0], key_space, stops, least, limit)
        gid, first, sums = self._gid[:n_cells], self._first[: max(n, 0)], self._sums[:, : max(n, 0)]
        for q in range(1, len(measures) if n > 0 else 0):
            sums[q] = np.bincount(gid, weights=measures[q], minlength=n)
        return Groups(n, gid, first, sums, lost, small)

    def may_reach(self, codes: Codes, tables: Sequence[tuple[Ints, int]], members: Ints, least: int) -> bool:
        """Whether a group may have ``least`` members: certain where cells are few, and it takes a fraction of grouping them.

        >>> codes, tables = np.array([[0, 1, 1, 0]], dtype=np.int32), [(np.array([0, 1]), 2)]
        >>> [Workspace(4, 1, [2]).may_reach(codes, tables, np.array([1, 3, 1, 1]), n) for n in (1, 4, 5)]
        [True, True, False]
        """
        if len(self._gid) >= FEW:
            return True
        order, starts = self._sorted(codes, tables)
        return bool(np.add.reduceat(members[order], starts).max() >= least)

    def reaching(self, codes: Codes, tables: Sequence[tuple[Ints, int]], members: Ints, least: int) -> tuple[Ints, Ints]:
        """Of few cells the groups with ``least`` members: the first cell of each, in order; and the group of each cell, or −1.

        >>> codes, tables = np.array([[2, 1, 1, 0, 0]], dtype=np.int32), [(np.array([0, 1, 2]), 3)]
        >>> [x.tolist() for x in Workspace(5, 1, [3]).reaching(codes, tables, np.array([1, 1, 1, 1, 1]), 2)]
        [[1, 3], [-1, 0, 0, 1, 1]]
        """
        order, starts = self._sorted(codes, tables)
        large = np.flatnonzero(np.add.reduceat(members[order], starts) >= least)
        first = order[starts[large]]
        place = np.argsort(first)
        number, gid = np.full(len(starts), -1), np.empty(len(order), dtype=np.int64)
        number[large[place]] = np.arange(len(large))
        gid[order] = np.repeat(number, np.diff(starts, append=len(order)))
        return first[place], gid

    def _sorted(self, codes: Codes, tables: Sequence[tuple[Ints, int]]) -> tuple[Ints, Ints]:
        """The cells in the order of their groups, and where each group begins."""
        self._fill_lanes(tables)
        keys = _keys_of(codes, self._starts, self._lanes, codes.shape[1])
        order = keys.argsort(kind="stable")
        ordered = keys[order]
        return order, np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))

    def _fill_lanes(self, tables: Sequence[tuple[Ints, int]]) -> int:
        """Put what each code adds to the key of its group into the lanes; the number of keys."""
        key_space = 1
        for (table, card), view in zip(reversed(tables), reversed(self._views), strict=True):
            np.multiply(table, key_space, out=view)
            key_space *= card
        return key_space

    def _run(self, codes: Codes, records: Ints, key_space: int, ends: Ints, least: int, limit: int) -> tuple[int, int, int]:
        n_cells = codes.shape[1]
        direct = key_space <= max(SMALL, DIRECT_FACTOR * n_cells)
        size = key_space if direct else 1 << (2 * n_cells - 1).bit_length()
        half = _middle(ends, n_cells) if self.threads > 1 and n_cells >= max(SHARED, FEW) else 0
        slots = self._room(size if direct or not half else 2 * size, n_cells)
        one = slots if direct else slots[:size]
        if half:
            two = slots if direct else slots[size : 2 * size]
            begin = int(ends[half - 1])
            rest = (codes, records, two, direct, begin, ends[half:], least, limit, self._results[1])
            other = threading.Thread(target=self._part, args=rest)
            other.start()
            self._part(codes, records, one, direct, 0, ends[:half], least, limit, self._results[0])
            other.join()
            self._close_up(self._results, begin, n_cells)
        elif self.threads > 1 and len(ends) == 1 and n_cells >= max(SHARED, FEW):
            self._in_halves(codes, records, key_space, least)
        elif len(self._gid) < FEW:
            arrays = (self._gid, self._first, self._sums[0], self._results[0])
            _group_few(codes, self._starts, self._lanes, records, ends, least, limit, *arrays)
        else:
            self._part(codes, records, one, direct, 0, ends, least, limit, self._results[0])
        self._base += n_cells
        n, lost, small = self._results[0].tolist()
        return n, lost, small

    def _in_halves(self, codes: Codes, records: Ints, key_space: int, least: int) -> None:
        """Group both halves of the cells at the same time, each by itself; then join their groups."""
        n_cells, begin = codes.shape[1], codes.shape[1] // 2
        direct = key_space <= max(SMALL, DIRECT_FACTOR * begin)
        size = key_space if direct else 1 << (3 * n_cells // 2 - 1).bit_length()  # the first half's takes all groups in the end
        less = key_space if direct else 1 << (n_cells - 1).bit_length()
        slots = self._room(size + less, n_cells)
        rest = (codes, records, slots[size : size + less], direct, begin, _whole(n_cells), least, NO_LIMIT, self._results[1])
        other = threading.Thread(target=self._part, args=rest)
        other.start()
        self._part(codes, records, slots[:size], direct, 0, _whole(begin), least, NO_LIMIT, self._results[0])
        other.join()
        with np.errstate(over="ignore"):
            _merge(
                slots[:size], direct, self._base, begin, n_cells, least, self._gid, self._first, self._keys, self._sums[0],
                self._cell_keys, self._results[0], self._results[1],
            )  # fmt: skip

    def _part(
        self, codes: Codes, records: Ints, slots: Codes, direct: bool, begin: int, ends: Ints, least: int, limit: int, out: Ints
    ) -> None:
        """Group the cells from ``begin`` to the last of ``ends``."""
        with np.errstate(over="ignore"):  # the hash wraps around; without numba numpy would warn
            _group(
                codes, self._starts, self._lanes, self._cell_keys[begin:], records, slots, direct, self._base, begin, ends,
                least, limit, self._gid[begin:], self._first[begin:], self._keys[begin:], self._sums[0, begin:], out,
            )  # fmt: skip

    def _close_up(self, results: Ints, begin: int, n_cells: int) -> None:
        """Number the groups of the second part on from those of the first, and add up the results in the first."""
        one, two = results[:, 0].tolist()
        results[0, 1:] += results[1, 1:]
        if min(one, two) < 0:
            results[0, 0] = -1
            return
        results[0, 0] += two
        self._gid[begin:n_cells] += one
        self._first[one : one + two] = self._first[begin : begin + two]
        self._sums[0, one : one + two] = self._sums[0, begin : begin + two]


def _whole(n_cells: int) -> Ints:
    return np.array([n_cells], dtype=np.int64)


def _middle(ends: Ints, n_cells: int) -> int:
    """The number of parts that make up about the first half of the cells; 0 where a thread would get less than a fifth."""
    at = int(np.searchsorted(ends, n_cells // 2)) + 1
    return at if at < len(ends) and 0.2 <= ends[at - 1] / n_cells <= 0.8 else 0
