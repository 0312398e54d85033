"""The innermost loops of a compiled search, over cells; each takes the few arrays it needs."""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import lean_njit
from shoal.model.counts.classes import CodeArray as Codes
from shoal.model.counts.classes import IntArray as Ints
from shoal.search.kernels.compiled.state import (
    CELL_LOST,
    COMBINATIONS,
    FOUND,
    GID,
    KEY_STRIDE,
    LEAST,
    LOST,
    ONE,
    RECORDS,
    SMALL,
    SUMS,
    TABLE,
    Keys,
)  # fmt: skip


@lean_njit
def set_keys(n_blocks: int, blocks: Ints, maps: Codes, codes: Codes, keys: Ints, start: int, stop: int) -> None:
    """The keys of the cells from ``start`` to ``stop``, three blocks at a time."""
    b = n_blocks % 3
    for c in range(len(keys)):
        keys[c] = 0
    for left in range(b):
        one, table, k = codes[left, start:stop], maps[blocks[TABLE, left] :], blocks[KEY_STRIDE, left]
        for c in range(len(keys)):
            keys[c] += table[np.uint32(one[c])] * k
    while b < n_blocks:
        one, two, three = codes[b, start:stop], codes[b + 1, start:stop], codes[b + 2, start:stop]
        table, table2, table3 = maps[blocks[TABLE, b] :], maps[blocks[TABLE, b + 1] :], maps[blocks[TABLE, b + 2] :]
        k, k2, k3 = blocks[KEY_STRIDE, b], blocks[KEY_STRIDE, b + 1], blocks[KEY_STRIDE, b + 2]
        for c in range(len(keys)):
            key = table[np.uint32(one[c])] * k + table2[np.uint32(two[c])] * k2
            keys[c] += key + table3[np.uint32(three[c])] * k3
        b += 3


@lean_njit
def set_short_keys(n_blocks: int, blocks: Ints, maps: Codes, codes: Codes, groups: Codes, start: int, stop: int) -> None:
    """As :func:`set_keys` where they are below 2³¹, in the places of the groups that will be numbered."""
    b = n_blocks % 3
    if b > 0:
        one, table, k = codes[0, start:stop], maps[blocks[TABLE, 0] :], np.int32(blocks[KEY_STRIDE, 0])
        for c in range(len(groups)):
            groups[c] = table[np.uint32(one[c])] * k
    if b > 1:
        one, table, k = codes[1, start:stop], maps[blocks[TABLE, 1] :], np.int32(blocks[KEY_STRIDE, 1])
        for c in range(len(groups)):
            groups[c] += table[np.uint32(one[c])] * k
    while b < n_blocks:
        one, two, three = codes[b, start:stop], codes[b + 1, start:stop], codes[b + 2, start:stop]
        table, table2, table3 = maps[blocks[TABLE, b] :], maps[blocks[TABLE, b + 1] :], maps[blocks[TABLE, b + 2] :]
        k, k2 = np.int32(blocks[KEY_STRIDE, b]), np.int32(blocks[KEY_STRIDE, b + 1])
        k3 = np.int32(blocks[KEY_STRIDE, b + 2])
        if b == 0:
            for c in range(len(groups)):
                key = table[np.uint32(one[c])] * k + table2[np.uint32(two[c])] * k2
                groups[c] = key + table3[np.uint32(three[c])] * k3
        else:
            for c in range(len(groups)):
                key = table[np.uint32(one[c])] * k + table2[np.uint32(two[c])] * k2
                groups[c] += key + table3[np.uint32(three[c])] * k3
        b += 3


@lean_njit
def number_direct(slots: Codes, groups: Codes, first: Codes, base: int, count: int, start: int) -> int:
    """Replace the keys of a tile from cell ``start`` on, each its own slot, by the numbers of their groups; the groups so far.

    A slot holds ``base`` + group, anything below ``base`` is empty. Nothing branches on whether a key is new, which would be
    guessed wrong half of the time: what a new group needs is written where the next one goes, and counts if there is one.
    """
    empty = np.int32(base)
    fresh = np.int32(base + count)
    for c in range(len(groups)):
        at = np.uint32(groups[c])
        held = slots[at]
        new = held < empty
        held = fresh if new else held
        slots[at] = held
        first[np.uint32(fresh - empty)] = start + c
        groups[c] = held - empty
        fresh += np.int32(new)
    return int(fresh) - base


@lean_njit
def number_hashed(
    slots: Codes, keys: Keys, known: Keys, groups: Codes, first: Codes, base: int, count: int, start: int, mask: int
) -> int:
    """As :func:`number_direct` of keys of four or eight bytes, through a hash table; ``known`` are the keys of the groups."""
    empty, last = np.int32(base), np.uint64(mask)
    fresh = np.int32(base + count)
    for c in range(len(groups)):
        key = keys[c]
        known[np.uint32(fresh - empty)] = key
        at = ((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & last
        held = slots[at]
        new = held < empty
        held = fresh if new else held
        while known[np.uint32(held - empty)] != key:
            at = (at + np.uint64(1)) & last
            held = slots[at]
            new = held < empty
            held = fresh if new else held
        slots[at] = held
        first[np.uint32(fresh - empty)] = start + c
        groups[c] = held - empty
        fresh += np.int32(new)
    return int(fresh) - base


@lean_njit
def add_records(sums: Ints, groups: Codes, records: Ints, before: int, end: int) -> None:
    """Add the records of a tile to the sums of its groups, of which those from ``before`` to ``end`` are new."""
    for g in range(before, end):
        sums[g] = 0
    for c in range(len(groups)):
        sums[np.uint32(groups[c])] += records[c]


@lean_njit
def count_small(numbers: Ints, cell_numbers: Ints) -> None:
    """Records in, and number of, the groups of the last grouping that are too small."""
    least, lost, small, sums = numbers[LEAST], 0, 0, cell_numbers[SUMS]
    for g in range(numbers[FOUND]):
        few = sums[np.uint64(g)] < least
        lost += few * sums[np.uint64(g)]
        small += few
    numbers[LOST], numbers[SMALL] = lost, small


@lean_njit
def list_lost(codes: Codes, numbers: Ints, begin: int, n: int, least: int) -> int:
    """List the cells whose group is too small; how many there are."""
    row, n_lost = codes.shape[0] - 3, 0
    sums, groups, lost = numbers[SUMS], codes[row + GID, :n], codes[row + CELL_LOST]
    for c in range(n):
        lost[np.uint64(n_lost)] = begin + c
        n_lost += sums[np.uint32(groups[c])] < least
    return n_lost


@lean_njit
def add_by_combination(tallies: Ints, codes: Codes, numbers: Ints, b: int, start: int, n_lost: int) -> None:
    """Add the records of the lost cells to the combinations of block ``b``, whose sums begin at ``start``."""
    lost, records = codes[codes.shape[0] - 3 + CELL_LOST, :n_lost], numbers[RECORDS]
    sums, combinations = tallies[start:], codes[b]
    for i in range(n_lost):
        c = np.uint32(lost[i])
        sums[np.uint32(combinations[c])] += records[c]


@lean_njit
def add_by_three(tallies: Ints, codes: Codes, numbers: Ints, b: int, starts: Ints, n_lost: int) -> None:
    """As :func:`add_by_combination` for three blocks from ``b`` on: neighbours often add to one sum, and would wait for it."""
    lost, records = codes[codes.shape[0] - 3 + CELL_LOST, :n_lost], numbers[RECORDS]
    one, two, three = codes[b], codes[b + 1], codes[b + 2]
    sums, sums2, sums3 = tallies[starts[b] :], tallies[starts[b + 1] :], tallies[starts[b + 2] :]
    for i in range(n_lost):
        c = np.uint32(lost[i])
        n = records[c]
        sums[np.uint32(one[c])] += n
        sums2[np.uint32(two[c])] += n
        sums3[np.uint32(three[c])] += n


@lean_njit
def add_combinations(tallies: Ints, maps: Codes, code: int, member: int, start: int, chosen: int, card: int) -> None:
    """Add the sums of the chosen combinations of a block to the codes of one of its columns."""
    for x in range(card):
        combination = maps[chosen + x]
        tallies[code + maps[member + combination]] += tallies[start + combination]


@lean_njit
def add_by_code(tallies: Ints, codes: Codes, numbers: Ints, maps: Codes, b: int, start: int, member: int, n_lost: int) -> None:
    """Add the records of the lost cells to the codes of one column of block ``b``."""
    lost, records = codes[codes.shape[0] - 3 + CELL_LOST, :n_lost], numbers[RECORDS]
    sums, code, combinations = tallies[start:], maps[member:], codes[b]
    for i in range(n_lost):
        c = np.uint32(lost[i])
        sums[np.uint32(code[np.uint32(combinations[c])])] += records[c]


@lean_njit
def copy_groups(codes: Codes, numbers: Ints, blocks: Ints, maps: Codes, at: int, count: int) -> None:
    """Write the groups of the last grouping as cells from ``at`` on; equal groups of a block get one combination."""
    row = codes.shape[0] - 3
    first, sums, records = codes[row + ONE, :count], numbers[SUMS, :count], numbers[RECORDS, at : at + count]
    for b in range(row):
        table, chosen = maps[blocks[TABLE, b] :], maps[blocks[TABLE, b] + blocks[COMBINATIONS, b] :]
        mine, copied = codes[b], codes[b, at : at + count]
        for g in range(count):
            copied[g] = chosen[np.uint32(table[np.uint32(mine[np.uint32(first[g])])])]
    for g in range(count):
        records[g] = sums[g]
