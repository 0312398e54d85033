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
    for c in range(stop - start):
        numbers[TILE_KEYS, c] = 0
    b = 0
    while b < n_blocks:
        t, k = blocks[TABLE, b], blocks[KEY_STRIDE, b]
        if b + 2 < n_blocks:
            t2, k2, t3, k3 = blocks[TABLE, b + 1], blocks[KEY_STRIDE, b + 1], blocks[TABLE, b + 2], blocks[KEY_STRIDE, b + 2]
            for c in range(start, stop):
                key = maps[t + codes[b, c]] * k + maps[t2 + codes[b + 1, c]] * k2 + maps[t3 + codes[b + 2, c]] * k3
                numbers[TILE_KEYS, c - start] += key
            b += 3
        else:
            for c in range(start, stop):
                numbers[TILE_KEYS, c - start] += maps[t + codes[b, c]] * k
            b += 1


@lean_njit
def number_direct(slots: Codes, codes: Codes, numbers: Ints, start: int, stop: int, base: int, found: int, out: int) -> int:
    """Number the keys of a tile, each being its own slot; its first cell is number ``out`` of the source. The groups so far."""
    row = codes.shape[0] - 3
    for c in range(start, stop):
        at = numbers[TILE_KEYS, c - start]
        g = slots[at] - base
        if g < 0:
            g = found
            slots[at] = base + g
            codes[row + ONE, g] = c
            numbers[SUMS, g] = 0
            found += 1
        codes[row + GID, out + c - start] = g
        numbers[SUMS, g] += numbers[RECORDS, c]
    return found


@lean_njit
def number_hashed(
    slots: Codes, codes: Codes, numbers: Ints, start: int, stop: int, base: int, found: int, out: int, mask: int
) -> int:
    """As :func:`number_direct`, through a hash table."""
    row = codes.shape[0] - 3
    for c in range(start, stop):
        key = numbers[TILE_KEYS, c - start]
        h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
        at = np.int64((h ^ (h >> np.uint64(29))) >> np.uint64(8)) & mask
        g = slots[at] - base
        while g >= 0 and numbers[KEYS, g] != key:
            at = (at + 1) & mask
            g = slots[at] - base
        if g < 0:
            g = found
            slots[at] = base + g
            numbers[KEYS, g] = key
            codes[row + ONE, g] = c
            numbers[SUMS, g] = 0
            found += 1
        codes[row + GID, out + c - start] = g
        numbers[SUMS, g] += numbers[RECORDS, c]
    return found


@lean_njit
def count_small(numbers: Ints, cell_numbers: Ints) -> None:
    """Records in, and number of, the groups of the last grouping that are too small."""
    least, lost, small = numbers[LEAST], 0, 0
    for g in range(numbers[FOUND]):
        if cell_numbers[SUMS, g] < least:
            lost += cell_numbers[SUMS, g]
            small += 1
    numbers[LOST], numbers[SMALL] = lost, small


@lean_njit
def list_lost(codes: Codes, numbers: Ints, begin: int, n: int, least: int) -> int:
    """List the cells whose group is too small; how many there are."""
    row = codes.shape[0] - 3
    n_lost = 0
    for c in range(n):
        codes[row + CELL_LOST, n_lost] = begin + c
        n_lost += numbers[SUMS, codes[row + GID, c]] < least
    return n_lost


@lean_njit
def add_by_combination(tallies: Ints, codes: Codes, numbers: Ints, b: int, start: int, n_lost: int) -> None:
    """Add the records of the lost cells to the combinations of block ``b``, whose sums begin at ``start``."""
    row = codes.shape[0] - 3
    for i in range(n_lost):
        c = codes[row + CELL_LOST, i]
        tallies[start + codes[b, c]] += numbers[RECORDS, c]


@lean_njit
def add_combinations(tallies: Ints, maps: Codes, code: int, member: int, start: int, chosen: int, card: int) -> None:
    """Add the sums of the chosen combinations of a block to the codes of one of its columns."""
    for x in range(card):
        combination = maps[chosen + x]
        tallies[code + maps[member + combination]] += tallies[start + combination]


@lean_njit
def add_by_code(tallies: Ints, codes: Codes, numbers: Ints, maps: Codes, b: int, start: int, member: int, n_lost: int) -> None:
    """Add the records of the lost cells to the codes of one column of block ``b``."""
    row = codes.shape[0] - 3
    for i in range(n_lost):
        c = codes[row + CELL_LOST, i]
        tallies[start + maps[member + codes[b, c]]] += numbers[RECORDS, c]


@lean_njit
def copy_groups(codes: Codes, numbers: Ints, blocks: Ints, maps: Codes, at: int, found: int) -> None:
    """Write the groups of the last grouping as cells from ``at`` on; equal groups of a block get one combination."""
    row = codes.shape[0] - 3
    for b in range(row):
        table = blocks[TABLE, b]
        chosen = table + blocks[COMBINATIONS, b]
        for g in range(found):
            codes[b, at + g] = maps[chosen + maps[table + codes[b, codes[row + ONE, g]]]]
    for g in range(found):
        numbers[RECORDS, at + g] = numbers[SUMS, g]
