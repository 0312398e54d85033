"""The arrays that the loops of a compiled search work on.

Nodes are numbered in mixed radix, node = Σ_j level_j · stride_j. *Cells* are the classes of the table or of a coarser copy of it;
all copies lie one after the other, the table itself first. A *combination* is a value of a block of columns. Related numbers
share an array, and its first index is one of the names below: compiling takes longer with every array.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels.jit import lean_njit
from shoal.model.counts.classes import BoolArray as Flags
from shoal.model.counts.classes import CodeArray as Codes
from shoal.model.counts.classes import FloatArray as Floats
from shoal.model.counts.classes import IntArray as Ints

Keys = Codes | Ints
Bytes = npt.NDArray[np.uint8]

# numbers: records that may be lost, records that a class needs, groups beyond which too many records are lost, kind of loss
LIMIT, LEAST, MOST_GROUPS, GEOMETRIC = 0, 1, 2, 3
# copies and their cells so far; slots below the base are empty; cells that were looked at
SOURCES, CELLS, SLOT_BASE, WORK = 4, 5, 6, 7
# the last grouping: groups (−1 where it was given up), records in groups that are too small, their number
FOUND, LOST, SMALL = 8, 9, 10
# nodes evaluated; the best plan (−1 for none), its groups, those that are suppressed, their records
EVALUATED, BEST, BEST_GROUPS, BEST_SMALL, BEST_LOST = 11, 12, 13, 14, 15
# whether some nodes may lose too many records; key spaces up to which a key is its own slot, and up to which it takes four bytes;
# cells that need no coarser copy
LIMITED, DIRECT, SHORT, FEW = 16, 17, 18, 19
N_NUMBERS = 20

# columns: shape of the lattice; where a column's codes begin in ``tallies``, ``extra``, ``maps``; rank by entropy
HEIGHT, STRIDE, CODES, EXTRA, GROUPS, RANK = 0, 1, 2, 3, 4, 5
# members of blocks: the column, and where its code in each combination begins in ``maps``
COLUMN, MEMBER = 6, 7
# the lowest node; room for one node: the node looked at, the node grouped at, and a walk over the nodes below or above
LOWEST, NODE, NEAR, AT, PLACE = 8, 9, 10, 11, 12
N_COLUMNS = 13

# blocks: first member, number of combinations, where its sums of lost records, tables and their numbers of groups begin
FIRST, COMBINATIONS, SUMS_LOST, TABLES, CARDS = 0, 1, 2, 3, 4
# the table at the node, its number of groups and its stride
TABLE, CARD, KEY_STRIDE = 5, 6, 7
N_BLOCKS = 8

# scales: the loss of a column from its charge; sums of a walk; the best total (first entry)
LOW, SPAN, WEIGHT, PARTIAL, BEST_TOTAL = 0, 1, 2, 3, 4
N_SCALES = 5

# terms: charges without suppression, and the contributions at the last node
CHARGE, TERM = 0, 1

# cells (int64): records of a cell; keys and sums of groups; keys of a tile of cells
RECORDS, KEYS, SUMS, TILE_KEYS = 0, 1, 2, 3
N_CELL_NUMBERS = 4
# cells (int32), after one row per block: group of a cell, a cell of each group, cells that are lost
GID, ONE, CELL_LOST = 0, 1, 2
N_CELL_CODES = 3

# marks of nodes: a plan; a copy was made, or tried and of no use
PLAN, COPIED = 0, 1


class State(NamedTuple):
    """One search; everything that changes is in here."""

    numbers: Ints
    columns: Ints  # (names, columns + 1)
    blocks: Ints  # (names, blocks + 1)
    sources: Ints  # (copies, 2 + columns): first cell, number of cells, node
    scales: Floats  # (names, columns + 1)
    free: Floats  # (columns, levels): contributions without suppression
    terms: Floats  # (names, columns, levels)
    cards: Ints  # (columns, levels)
    extra: Floats  # by column, level and code: what losing a record adds
    maps: Codes  # groups of codes by column and level; codes by block member; tables of blocks; room to number groups
    tallies: Ints  # numbers of groups of tables; lost records by combination; lost records by column and code
    cell_codes: Codes
    cell_numbers: Ints
    slots: Codes
    bound: Floats
    soft: Flags  # nodes known to need no more suppression than allowed
    marks: Bytes
    lowest: Floats  # per chunk of nodes: at most the lowest of their bounds
    path: Ints


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
