"""The search itself: group the cells of a node, keep the groups as a coarser source for the nodes above, and go on until no open
node can be better than the best plan.

The method is that of :class:`~shoal.search.full_domain.listed_search.ListedSearch`, step by step.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import lean_njit
from shoal.model.counts.classes import CodeArray as Codes
from shoal.model.counts.classes import FloatArray as Floats
from shoal.model.counts.classes import IntArray as Ints
from shoal.search.kernels.compiled.loops import (
    add_by_code,
    add_by_combination,
    add_by_three,
    add_combinations,
    add_records,
    copy_groups,
    count_small,
    list_lost,
    number_direct,
    number_hashed,
    set_keys,
    set_short_keys,
)
from shoal.search.kernels.compiled.state import (
    BEST,
    BEST_GROUPS,
    BEST_LOST,
    BEST_SMALL,
    BEST_TOTAL,
    CARD,
    CARDS,
    CELL_LOST,
    CELLS,
    CHARGE,
    CODES,
    COLUMN,
    COMBINATIONS,
    COPIED,
    DIRECT,
    EVALUATED,
    EXTRA,
    FEW,
    FIRST,
    FOUND,
    GEOMETRIC,
    GID,
    GROUPS,
    HEIGHT,
    KEY_STRIDE,
    KEYS,
    LEAST,
    LIMIT,
    LIMITED,
    LOST,
    LOW,
    MEMBER,
    MOST_GROUPS,
    NEAR,
    NODE,
    ONE,
    PLAN,
    RANK,
    RECORDS,
    SHORT,
    SLOT_BASE,
    SMALL,
    SOURCES,
    SPAN,
    STRIDE,
    SUMS,
    SUMS_LOST,
    TABLE,
    TABLES,
    TERM,
    TILE_KEYS,
    WEIGHT,
    WORK,
    Bytes,
    State,
    close_below,
    lowest_node,
    mark_above,
    raise_below,
)  # fmt: skip
from shoal.search.kernels.nodes import climb

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


EPSILON = 1e-12
"""Totals closer than this are equal."""


@lean_njit
def set_gone(s: State, source: int) -> None:
    """Add up, by column and code, the records of the cells whose group is too small; many of them by combination first."""
    m = s.columns.shape[1] - 1
    n_lost = list_lost(s.cell_codes, s.cell_numbers, s.sources[source, 0], s.sources[source, 1], s.numbers[LEAST])
    for i in range(s.columns[CODES, 0], s.columns[CODES, m]):
        s.tallies[i] = 0
    for j in range(m):
        s.columns[NEAR, j] = s.sources[source, 2 + j]
    set_tables(
        s.columns, s.blocks, s.cards, s.maps, s.tallies
    )  # of the source: its cells have no other combinations than the chosen ones
    n_blocks, together = s.blocks.shape[1] - 1, 0  # blocks whose sums are there already
    for b in range(n_blocks):
        start, card = s.blocks[SUMS_LOST, b], s.blocks[CARD, b]
        chosen = s.blocks[TABLE, b] + s.blocks[COMBINATIONS, b]
        if b >= together and b + 2 < n_blocks and n_lost > max(card, s.blocks[CARD, b + 1], s.blocks[CARD, b + 2]):
            add_by_three(s.tallies, s.cell_codes, s.cell_numbers, b, s.blocks[SUMS_LOST], n_lost)
            together = b + 3
        elif b >= together and n_lost > card:
            add_by_combination(s.tallies, s.cell_codes, s.cell_numbers, b, start, n_lost)
        for i in range(s.blocks[FIRST, b], s.blocks[FIRST, b + 1]):
            code, member = s.columns[CODES, s.columns[COLUMN, i]], s.columns[MEMBER, i]
            if n_lost > card:
                add_combinations(s.tallies, s.maps, code, member, start, chosen, card)
            else:
                add_by_code(s.tallies, s.cell_codes, s.cell_numbers, s.maps, b, code, member, n_lost)
        for x in range(card):
            s.tallies[start + s.maps[chosen + x]] = 0


@lean_njit
def set_terms(
    columns: Ints, sources: Ints, scales: Floats, terms: Floats, extra: Floats, tallies: Ints, source: int, geometric: bool
) -> float:
    """Contribution of each column at each level up to the node's, for the records lost there; their sum at the node."""
    total = 0.0
    for j in range(columns.shape[1] - 1):
        start, n_codes = columns[CODES, j], columns[CODES, j + 1] - columns[CODES, j]
        node, more = columns[NODE, j], 0.0
        for level in range(node, -1, -1):
            if level >= sources[source, 2 + j] or level == node:
                more = 0.0
                row = columns[EXTRA, j] + level * n_codes
                for code in range(n_codes):
                    more += tallies[start + code] * extra[row + code]
            share = max((terms[CHARGE, j, level] + more - scales[LOW, j]) / scales[SPAN, j], 0.0)
            terms[TERM, j, level] = scales[WEIGHT, j] * (np.log1p(share) if geometric else share)
        total += terms[TERM, j, node]
    return total


@lean_njit
def look(s: State, number: int) -> None:
    """Evaluate a node that is not closed yet, and let every other node know."""
    if s.bound[number] == np.inf:
        return
    m = s.columns.shape[1] - 1
    for j in range(m):
        s.columns[NODE, j] = number // s.columns[STRIDE, j] % (s.columns[HEIGHT, j] + 1)
    s.numbers[EVALUATED] += 1
    source = group_node(s, number)
    count_small(s.numbers, s.cell_numbers)
    if s.numbers[FOUND] < 0 or s.numbers[LOST] > s.numbers[LIMIT]:
        close_below(s.bound, s.columns)
        return
    if s.numbers[LIMITED] and not s.soft[number]:
        mark_above(s.soft, s.columns)
    total = 0.0
    if s.numbers[LOST] > 0:
        set_gone(s, source)
        geometric = s.numbers[GEOMETRIC] == 1
        total = set_terms(s.columns, s.sources, s.scales, s.terms, s.extra, s.tallies, source, geometric)
        raise_below(s.bound, s.columns, s.scales, s.terms)
    else:  # bounds below are those without suppression, which they already have
        for j in range(m):
            total += s.free[j, s.columns[NODE, j]]
    s.bound[number] = np.inf
    if s.numbers[FOUND] == s.numbers[SMALL]:
        return
    s.marks[PLAN, number] = 1
    if total < s.scales[BEST_TOTAL, 0] - EPSILON:
        s.scales[BEST_TOTAL, 0] = total
        s.numbers[BEST], s.numbers[BEST_GROUPS] = number, s.numbers[FOUND]
        s.numbers[BEST_SMALL], s.numbers[BEST_LOST] = s.numbers[SMALL], s.numbers[LOST]


@lean_njit
def search(s: State, work: int) -> bool:
    """Go on until the best plan is proven (True), or ``work`` cells were looked at."""
    strides, heights = s.columns[STRIDE, : s.columns.shape[1] - 1], s.columns[HEIGHT, : s.columns.shape[1] - 1]
    until = s.numbers[WORK] + work
    while s.numbers[WORK] < until:
        best = s.scales[BEST_TOTAL, 0] - EPSILON
        foot = lowest_node(s.bound, s.lowest)
        if not s.bound[foot] < best:
            return True
        s.path[0] = foot
        length = climb(s.bound, s.soft, strides, heights, s.free, best, False, s.path, 1)
        last, high = s.path[length - 1], length - 1
        if s.numbers[LIMITED]:
            high = climb(s.bound, s.soft, strides, heights, s.free, np.inf, True, s.path, length) - 1
        while length <= high:  # from above, where suppression forbids the foot
            middle = (length + high) // 2
            look(s, s.path[middle])
            high = -1 if s.bound[foot] == np.inf else middle - 1
        look(s, last)
    return False
