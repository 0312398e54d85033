"""Bounds over all nodes of a lattice: raise them below a node, close nodes, find the lowest."""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import lean_njit
from shoal.search.kernels.compiled.state import AT, HEIGHT, NODE, PARTIAL, PLACE, STRIDE, TERM, Flags, Floats, Ints

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
def raise_below(bound: Floats, columns: Ints, scales: Floats, terms: Floats, closing: bool) -> None:
    """bound[v] = max(bound[v], Σ_j term_j(v_j)) for the node looked at and every specialisation v of it; ∞ where closing."""
    last = columns.shape[1] - 2
    for j in range(last + 1):
        columns[AT, j] = 0
    scales[PARTIAL, 0], columns[PLACE, 0] = 0.0, 0
    fresh = 0
    while fresh >= 0:
        for j in range(fresh, last):
            scales[PARTIAL, j + 1] = scales[PARTIAL, j] + terms[TERM, j, columns[AT, j]]
            columns[PLACE, j + 1] = columns[PLACE, j] + columns[AT, j] * columns[STRIDE, j]
        place, partial = columns[PLACE, last], scales[PARTIAL, last]
        for level in range(columns[NODE, last] + 1):
            total = np.inf if closing else partial + terms[TERM, last, level]
            if total > bound[place + level]:
                bound[place + level] = total
        fresh = last - 1
        while fresh >= 0 and columns[AT, fresh] == columns[NODE, fresh]:
            columns[AT, fresh] = 0
            fresh -= 1
        if fresh >= 0:
            columns[AT, fresh] += 1


@lean_njit
def mark_above(soft: Flags, columns: Ints) -> None:
    """Note that every generalization of the node looked at, itself included, loses no more records than allowed."""
    last = columns.shape[1] - 2
    for j in range(last + 1):
        columns[AT, j] = columns[NODE, j]
    columns[PLACE, 0] = 0
    fresh = 0
    while fresh >= 0:
        for j in range(fresh, last):
            columns[PLACE, j + 1] = columns[PLACE, j] + columns[AT, j] * columns[STRIDE, j]
        for level in range(columns[NODE, last], columns[HEIGHT, last] + 1):
            soft[columns[PLACE, last] + level] = True
        fresh = last - 1
        while fresh >= 0 and columns[AT, fresh] == columns[HEIGHT, fresh]:
            columns[AT, fresh] = columns[NODE, fresh]
            fresh -= 1
        if fresh >= 0:
            columns[AT, fresh] += 1
