"""The search itself: evaluate nodes, and go on until no open node can be better than the best plan.

The method is that of :class:`~shoal.search.full_domain.listed_search.ListedSearch`, step by step.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import lean_njit
from shoal.search.kernels.compiled.grouping import group_node, set_tables
from shoal.search.kernels.compiled.loops import (
    add_by_code,
    add_by_combination,
    add_by_three,
    add_combinations,
    count_small,
    list_lost,
)
from shoal.search.kernels.compiled.state import (
    BEST,
    BEST_GROUPS,
    BEST_LOST,
    BEST_SMALL,
    BEST_TOTAL,
    CARD,
    CHARGE,
    CODES,
    COLUMN,
    COMBINATIONS,
    EVALUATED,
    EXTRA,
    FIRST,
    FOUND,
    GEOMETRIC,
    HEIGHT,
    LEAST,
    LIMIT,
    LIMITED,
    LOST,
    LOW,
    MEMBER,
    NEAR,
    NODE,
    PLAN,
    SMALL,
    SPAN,
    STRIDE,
    SUMS_LOST,
    TABLE,
    TERM,
    WEIGHT,
    WORK,
    Floats,
    Ints,
    State,
    close_below,
    lowest_node,
    mark_above,
    raise_below,
)  # fmt: skip
from shoal.search.kernels.nodes import climb

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
