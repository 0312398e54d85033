"""The innermost loops of a compiled search, over cells; each takes the few arrays it needs."""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import lean_njit
from shoal.search.kernels.compiled.state import (
    CELL_LOST,
    COMBINATIONS,
    FOUND,
    GID,
    KEY_STRIDE,
    KEYS,
    LEAST,
    LOST,
    ONE,
    RECORDS,
    SMALL,
    SUMS,
    TABLE,
    TILE_KEYS,
    Codes,
    Ints,
)  # fmt: skip


@lean_njit
def set_keys(n_blocks: int, blocks: Ints, maps: Codes, codes: Codes, numbers: Ints, start: int, stop: int) -> None:
    """The keys of the cells from ``start`` to ``stop``, three blocks at a time."""
    keys = numbers[TILE_KEYS, : stop - start]
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
def set_slots(n_blocks: int, blocks: Ints, maps: Codes, codes: Codes, start: int, stop: int, out: int) -> None:
    """The keys of a tile where they are small, in the places of the groups that :func:`number_direct` puts there."""
    groups = codes[codes.shape[0] - 3 + GID, out : out + stop - start]
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
def number_direct(slots: Codes, codes: Codes, numbers: Ints, start: int, stop: int, base: int, found: int, out: int) -> int:
    """Number the keys of a tile, each being its own slot; its first cell is number ``out`` of the source. The groups so far."""
    row, n = codes.shape[0] - 3, stop - start
    records, sums = numbers[RECORDS, start:stop], numbers[SUMS]
    groups, first = codes[row + GID, out : out + n], codes[row + ONE]
    for c in range(n):
        at = np.uint32(groups[c])
        g = slots[at] - base
        if g < 0:
            g = found
            slots[at] = base + g
            first[np.uint64(g)] = start + c
            sums[np.uint64(g)] = 0
            found += 1
        groups[c] = g
        sums[np.uint64(g)] += records[c]
    return found


@lean_njit
def number_hashed(
    slots: Codes, codes: Codes, numbers: Ints, start: int, stop: int, base: int, found: int, out: int, mask: int
) -> int:
    """As :func:`number_direct`, through a hash table."""
    row, n, last = codes.shape[0] - 3, stop - start, np.uint64(mask)
    keys, records, sums, known = numbers[TILE_KEYS, :n], numbers[RECORDS, start:stop], numbers[SUMS], numbers[KEYS]
    groups, first = codes[row + GID, out : out + n], codes[row + ONE]
    for c in range(n):
        key = keys[c]
        h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
        at = ((h ^ (h >> np.uint64(29))) >> np.uint64(8)) & last
        g = slots[at] - base
        while g >= 0 and known[np.uint64(g)] != key:
            at = (at + np.uint64(1)) & last
            g = slots[at] - base
        if g < 0:
            g = found
            slots[at] = base + g
            known[np.uint64(g)] = key
            first[np.uint64(g)] = start + c
            sums[np.uint64(g)] = 0
            found += 1
        groups[c] = g
        sums[np.uint64(g)] += records[c]
    return found


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
def copy_groups(codes: Codes, numbers: Ints, blocks: Ints, maps: Codes, at: int, found: int) -> None:
    """Write the groups of the last grouping as cells from ``at`` on; equal groups of a block get one combination."""
    row = codes.shape[0] - 3
    first, sums, records = codes[row + ONE, :found], numbers[SUMS, :found], numbers[RECORDS, at : at + found]
    for b in range(row):
        table, chosen = maps[blocks[TABLE, b] :], maps[blocks[TABLE, b] + blocks[COMBINATIONS, b] :]
        mine, copied = codes[b], codes[b, at : at + found]
        for g in range(found):
            copied[g] = chosen[np.uint32(table[np.uint32(mine[np.uint32(first[g])])])]
    for g in range(found):
        records[g] = sums[g]
