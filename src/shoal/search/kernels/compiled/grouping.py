"""Group the cells of a source at a node, and keep the groups as a coarser source for the nodes above."""

from __future__ import annotations

from shoal.kernels.jit import lean_njit
from shoal.search.kernels.compiled.loops import add_records, copy_groups, number_direct, number_hashed, set_keys, set_short_keys
from shoal.search.kernels.compiled.state import (
    CARD,
    CARDS,
    CELL_LOST,
    CELLS,
    CODES,
    COLUMN,
    COMBINATIONS,
    COPIED,
    DIRECT,
    FEW,
    FIRST,
    FOUND,
    GID,
    GROUPS,
    HEIGHT,
    KEY_STRIDE,
    KEYS,
    MEMBER,
    MOST_GROUPS,
    NEAR,
    NODE,
    ONE,
    RANK,
    RECORDS,
    SHORT,
    SLOT_BASE,
    SOURCES,
    STRIDE,
    SUMS,
    TABLE,
    TABLES,
    TILE_KEYS,
    WORK,
    Bytes,
    Codes,
    Ints,
    State,
)  # fmt: skip

TILE = 1024
"""Cells whose keys are made before they are looked up: a piece that stays in the cache."""
LAST = 2**31 - 2


@lean_njit
def make_table(columns: Ints, blocks: Ints, cards: Ints, maps: Codes, b: int, at: int) -> int:
    """The group of each combination of block ``b`` at the levels of the node grouped at, numbered densely; after them a
    combination of each group, the first. The number of groups."""
    n, room, card = blocks[COMBINATIONS, b], len(maps), 1
    for x in range(n):
        maps[at + x] = 0
    for i in range(blocks[FIRST, b], blocks[FIRST, b + 1]):
        j, member = columns[COLUMN, i], columns[MEMBER, i]
        level = columns[NEAR, j]
        row = columns[GROUPS, j] + level * (columns[CODES, j + 1] - columns[CODES, j])
        for x in range(n):
            maps[at + x] = maps[at + x] * cards[j, level] + maps[row + maps[member + x]]
        card *= cards[j, level]
    for x in range(room - card, room):
        maps[x] = -1
    number = 0
    for x in range(n):
        place = room - card + maps[at + x]
        if maps[place] < 0:
            maps[place] = number
            maps[at + n + number] = x
            number += 1
        maps[at + x] = maps[place]
    return number


@lean_njit
def set_tables(columns: Ints, blocks: Ints, cards: Ints, maps: Codes, tallies: Ints) -> int:
    """Find the table and the stride of every block at the node grouped at; the number of possible keys."""
    space = 1
    for b in range(blocks.shape[1] - 1):
        index = 0
        for i in range(blocks[FIRST, b], blocks[FIRST, b + 1]):
            j = columns[COLUMN, i]
            index = index * (columns[HEIGHT, j] + 1) + columns[NEAR, j]
        at = blocks[TABLES, b] + 2 * index * blocks[COMBINATIONS, b]
        index += blocks[CARDS, b]
        if tallies[index] == 0:
            tallies[index] = make_table(columns, blocks, cards, maps, b, at)
        blocks[TABLE, b] = at
        blocks[CARD, b] = tallies[index]
        blocks[KEY_STRIDE, b] = space
        space *= tallies[index]
    return space


@lean_njit
def group(s: State, source: int, most: int) -> None:
    """Group a source's cells at the node given; given up once there are more than ``most`` groups."""
    begin, n, n_blocks = s.sources[source, 0], s.sources[source, 1], s.blocks.shape[1] - 1
    space = set_tables(s.columns, s.blocks, s.cards, s.maps, s.tallies)
    size = 2
    while size < 2 * n:
        size *= 2
    if s.numbers[SLOT_BASE] > LAST - n:
        for i in range(len(s.slots)):
            s.slots[i] = -1
        s.numbers[SLOT_BASE] = 0
    base = s.numbers[SLOT_BASE]
    first, sums = s.cell_codes[n_blocks + ONE], s.cell_numbers[SUMS]
    number, start = 0, begin
    while start < begin + n and number <= most:
        stop, before = min(start + TILE, begin + n), number
        groups, keys = s.cell_codes[n_blocks + GID, start - begin : stop - begin], s.cell_numbers[TILE_KEYS, : stop - start]
        if space > s.numbers[SHORT]:
            set_keys(n_blocks, s.blocks, s.maps, s.cell_codes, keys, start, stop)
            number = number_hashed(s.slots, keys, s.cell_numbers[KEYS], groups, first, base, number, start, size - 1)
        else:
            set_short_keys(n_blocks, s.blocks, s.maps, s.cell_codes, groups, start, stop)
            if space <= s.numbers[DIRECT]:
                number = number_direct(s.slots, groups, first, base, number, start)
            else:
                known = s.cell_codes[n_blocks + CELL_LOST]  # nothing is listed there while cells are grouped
                number = number_hashed(s.slots, groups, known, groups, first, base, number, start, size - 1)
        add_records(sums, groups, s.cell_numbers[RECORDS, start:stop], before, number)
        start = stop
    s.numbers[SLOT_BASE] += n
    s.numbers[WORK] += start - begin
    s.numbers[FOUND] = number if number <= most else -1


@lean_njit
def keep(
    numbers: Ints, sources: Ints, columns: Ints, blocks: Ints, maps: Codes, codes: Codes, cell_numbers: Ints, marks: Bytes
) -> None:
    """Keep the last grouping as a source. If no room is left, all earlier copies go."""
    count, at, source = numbers[FOUND], numbers[CELLS], numbers[SOURCES]
    if source == len(sources) or at + count > codes.shape[1]:
        numbers[SOURCES], numbers[CELLS] = 1, sources[0, 1]
        for i in range(marks.shape[1]):
            marks[COPIED, i] = 0
        return
    copy_groups(codes, cell_numbers, blocks, maps, at, count)
    sources[source, 0], sources[source, 1] = at, count
    for j in range(columns.shape[1] - 1):
        sources[source, 2 + j] = columns[NEAR, j]
    numbers[SOURCES] += 1
    numbers[CELLS] += count


@lean_njit
def source_below(sources: Ints, columns: Ints, n_sources: int, name: int) -> int:
    """The source at or below a node with the fewest cells."""
    best, m = 0, columns.shape[1] - 1
    for i in range(1, n_sources):
        if sources[i, 1] < sources[best, 1]:
            j = 0
            while j < m and sources[i, 2 + j] <= columns[name, j]:
                j += 1
            if j == m:
                best = i
    return best


@lean_njit
def set_near(columns: Ints, exact: int) -> int:
    """Choose the node of a copy that serves the node looked at and others: its own levels in so many columns, the most
    informative ones, and 0 in the others. The number of that node."""
    number = 0
    for j in range(columns.shape[1] - 1):
        columns[NEAR, j] = columns[NODE, j] if columns[RANK, j] < exact else 0
        number += columns[NEAR, j] * columns[STRIDE, j]
    return number


@lean_njit
def group_node(s: State, number: int) -> int:
    """Group the cells at the node looked at from the best source, or give up where too many records are lost; the source.

    Copies that other nodes can use too are made first, each once: with a sixth of the columns exact, then a third, then the node
    itself where its groups are few.
    """
    m = s.columns.shape[1] - 1
    source = source_below(s.sources, s.columns, s.numbers[SOURCES], NODE)
    for step in range(3):
        own = step == 2
        few = s.sources[source, 1] <= s.numbers[FEW]
        near = set_near(s.columns, m if own else max(1, m // (6 - 3 * step)))
        if not own and (few or near == number or s.marks[COPIED, near] != 0):
            continue
        below = source if own else source_below(s.sources, s.columns, s.numbers[SOURCES], NEAR)
        group(s, below, s.numbers[MOST_GROUPS] if own else s.sources[below, 1])
        groups = s.numbers[FOUND]
        least_gain = groups >= 0 and (3 * groups if own else 4 * groups // 3) <= s.sources[source, 1]
        if not few and least_gain and s.marks[COPIED, near] == 0:
            keep(s.numbers, s.sources, s.columns, s.blocks, s.maps, s.cell_codes, s.cell_numbers, s.marks)
            if not own:
                source = source_below(s.sources, s.columns, s.numbers[SOURCES], NODE)
        if not few:
            s.marks[COPIED, near] = 1
    return source
