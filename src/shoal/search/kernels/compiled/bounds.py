"""Bounds over all nodes of a lattice: raise them below a node, close nodes, find the lowest."""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import lean_njit
from shoal.search.kernels.compiled.state import AT, HEIGHT, LOWEST, NODE, PARTIAL, PLACE, STRIDE, TERM, Flags, Floats, Ints

CHUNK = 256
"""Nodes of which one lowest bound is kept. Bounds only rise, so that it may be too low, never too high."""


@lean_njit
def lowest_node(bound: Floats, lowest: Floats) -> int:
    """The first of the nodes with the lowest bound."""
    while True:
        chunk = 0
        for i in range(1, len(lowest)):
            if lowest[i] < lowest[chunk]:
                chunk = i
        best = chunk * CHUNK
        for v in range(best + 1, min(len(bound), best + CHUNK)):
            if bound[v] < bound[best]:
                best = v
        if bound[best] == lowest[chunk]:
            return best
        lowest[chunk] = bound[best]


@lean_njit
def begin_walk(columns: Ints, low: int) -> None:
    """Begin a walk over nodes at the levels in a row of ``columns``."""
    for j in range(columns.shape[1] - 1):
        columns[AT, j] = columns[low, j]
    columns[PLACE, 0] = 0


@lean_njit
def next_row(columns: Ints, low: int, high: int, last: int) -> int:
    """Go on to the next levels of the columns before ``last``, each between two rows; the first that changed, −1 at the end."""
    j = last - 1
    while j >= 0 and columns[AT, j] == columns[high, j]:
        columns[AT, j] = columns[low, j]
        j -= 1
    if j >= 0:
        columns[AT, j] += 1
    return j


@lean_njit
def set_places(columns: Ints, fresh: int, last: int) -> int:
    """Where the nodes of a walk lie whose levels before ``last`` changed from ``fresh`` on: the first of them."""
    for j in range(fresh, last):
        columns[PLACE, j + 1] = columns[PLACE, j] + columns[AT, j] * columns[STRIDE, j]
    return int(columns[PLACE, last])


@lean_njit
def raise_below(bound: Floats, columns: Ints, scales: Floats, terms: Floats) -> None:
    """bound[v] = max(bound[v], Σ_j term_j(v_j)) for the node looked at and every specialisation v of it."""
    last, fresh = columns.shape[1] - 2, 0
    begin_walk(columns, LOWEST)
    scales[PARTIAL, 0] = 0.0
    while fresh >= 0:
        place = set_places(columns, fresh, last)
        for j in range(fresh, last):
            scales[PARTIAL, j + 1] = scales[PARTIAL, j] + terms[TERM, j, columns[AT, j]]
        for level in range(columns[NODE, last] + 1):
            total = scales[PARTIAL, last] + terms[TERM, last, level]
            if total > bound[place + level]:
                bound[place + level] = total
        fresh = next_row(columns, LOWEST, NODE, last)


@lean_njit
def close_below(bound: Floats, columns: Ints) -> None:
    """bound[v] = ∞ for the node looked at and every specialisation v of it."""
    last, fresh = columns.shape[1] - 2, 0
    while last > 0 and columns[NODE, last] == columns[HEIGHT, last]:
        last -= 1  # all levels of the columns behind lie side by side
    run = (columns[NODE, last] + 1) * columns[STRIDE, last]
    begin_walk(columns, LOWEST)
    while fresh >= 0:
        place = set_places(columns, fresh, last)
        for v in range(place, place + run):
            bound[v] = np.inf
        fresh = next_row(columns, LOWEST, NODE, last)


@lean_njit
def mark_above(soft: Flags, columns: Ints) -> None:
    """Note that every generalization of the node looked at, itself included, loses no more records than allowed."""
    last, fresh = columns.shape[1] - 2, 0
    begin_walk(columns, NODE)
    while fresh >= 0:
        place = set_places(columns, fresh, last)
        for level in range(columns[NODE, last], columns[HEIGHT, last] + 1):
            soft[place + level] = True
        fresh = next_row(columns, NODE, HEIGHT, last)
