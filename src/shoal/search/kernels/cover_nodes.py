"""Cover classes by the cheapest groups of the nodes of a lattice, where groups are judged by their number of people only.

The nodes wait in a heap, keyed by the price of their cheapest group. The first one groups the classes that are not covered yet;
its groups of at least ``LEAST`` people whose price is at most the key and a little become clusters, and the node waits again with
the price of its next group, or for ever.

Where no group has enough people, none has at any node below, now or later: such nodes are not looked at. To spare more of them,
an empty node is first raised, one column after the other, to the highest level at which it stays empty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import lean_njit
from shoal.model.counts.classes import BoolArray as Flags
from shoal.model.counts.classes import CodeArray as Codes
from shoal.model.counts.classes import FloatArray as Floats
from shoal.model.counts.classes import IntArray as Ints

# numbers: classes left, clusters made, slots below the base are empty, people that a group needs
LEFT, CLUSTERS, BASE, LEAST = 0, 1, 2, 3
# pairs of class and person left; the largest excess of memberships over people without pairs; groups of the last node
PAIRS, EXCESS, GROUPS, WORK = 4, 5, 6, 7
# nodes that were looked at to raise others; nodes that need not be looked at any more
RAISED, SPARED = 8, 9
N_NUMBERS = 10
PATIENCE = 64
"""Nodes that may be looked at to raise others beyond those that this spared."""

# cells: number of the class, its people, its key at the node, its group; of a group: its key, people, first class, new cluster
CLASS, MEMBERS, KEY, GROUP, GROUP_KEY, PEOPLE, FIRST, CLUSTER, LARGEST = 0, 1, 2, 3, 4, 5, 6, 7, 8
N_CELLS = 9

MOST_KEYS = 2.0**62
"""Most keys of groups; if the columns so far and the next have more, those so far are numbered first."""

# pairs, in order of people: the class, the person
OF_CLASS, PERSON = 0, 1


class Cover(NamedTuple):
    """The arrays of one cover; ``offsets``, ``groups`` and ``price`` are the flat hierarchies of ``Trees``."""

    numbers: Ints
    points: Codes  # (columns, classes): codes of the classes that are left
    cells: Ints  # (names, classes)
    pairs: Ints  # (names, pairs)
    place: Ints  # where each class is among those that are left, −1 where it is covered
    seen: Ints  # per group: the last person who was counted in it
    slots: Ints
    offsets: Ints  # (columns, levels)
    cards: Ints  # (columns, levels): groups of each level
    groups: Codes
    price: Floats
    nodes: Codes  # (nodes, columns)
    keys: Floats  # per node
    shape: Ints  # levels of each column in the order of the nodes; the number of nodes where they are one path
    empty: Flags  # nodes without a group of enough people
    heap: Ints  # nodes, the lowest key first; equal keys in the order of the nodes
    label: Ints  # per class: its cluster, −1 for none


@lean_njit
def cover_nodes(s: Cover, step: float, work: int) -> bool:
    """Go on until no node has a group for the classes that are left (True), or ``work`` classes were looked at."""
    until = s.numbers[WORK] + work
    while s.numbers[WORK] < until:
        node = s.heap[0]
        if s.numbers[LEFT] == 0 or s.keys[node] == np.inf:
            return True
        if s.empty[node]:
            s.keys[node] = np.inf
            _sift_down(s.heap, s.keys)
            continue
        clusters = s.numbers[CLUSTERS]
        _look(s, node)
        s.keys[node] = _choose(s, node, s.keys[node] + step)
        _sift_down(s.heap, s.keys)
        _leave_out(s)
        if s.keys[node] == np.inf and s.numbers[CLUSTERS] == clusters:
            _spare(s, node)
    return False


@lean_njit
def _look(s: Cover, node: int) -> None:
    """The groups of the classes left at a node, and their people."""
    s.numbers[WORK] += s.numbers[LEFT]
    _group(s, node)
    _count_people(s)
    s.numbers[BASE] += s.numbers[LEFT]


@lean_njit
def _is_empty(s: Cover, node: int) -> bool:
    _look(s, node)
    most = 0
    for g in range(s.numbers[GROUPS]):
        most = max(most, s.cells[PEOPLE, g])
    return bool(most < s.numbers[LEAST])


@lean_njit
def _spare(s: Cover, node: int) -> None:
    """Mark an empty node and all below it after raising it, the column with most levels first, while that has paid so far."""
    stride, widest = 1, 1
    for i in range(len(s.shape)):
        stride, widest = stride * s.shape[i], max(widest, s.shape[i])
    for width in range(widest, 1, -1):
        step = stride
        for i in range(len(s.shape)):
            step //= s.shape[i]
            if s.shape[i] != width or s.numbers[RAISED] > s.numbers[SPARED] + PATIENCE:
                continue
            own = node // step % width
            low, high = own, width
            while high - low > 1:
                middle = (low + high) // 2
                s.numbers[RAISED] += 1
                if _is_empty(s, node + (middle - own) * step):
                    low = middle
                else:
                    high = middle
            node += (low - own) * step
    for other in range(node + 1):
        step, below = stride, not s.empty[other]
        for i in range(len(s.shape)):
            step //= s.shape[i]
            below = below and other // step % s.shape[i] <= node // step % s.shape[i]
        if below:
            s.empty[other] = True
            s.numbers[SPARED] += 1


@lean_njit
def _group(s: Cover, node: int) -> None:
    """Number the groups of the classes left at a node, in order of first appearance, and add up their people."""
    left, space = s.numbers[LEFT], 1.0
    for c in range(left):
        s.cells[KEY, c] = 0
    for j in range(len(s.points)):
        level = s.nodes[node, j]
        card, start = s.cards[j, level], s.offsets[j, level]
        if space * card > MOST_KEYS:
            _number(s, space)
            for c in range(left):
                s.cells[KEY, c] = s.cells[GROUP, c]
            space = float(s.numbers[GROUPS])
            s.numbers[BASE] += left
        space *= card
        if card > 1:
            for c in range(left):
                s.cells[KEY, c] = s.cells[KEY, c] * card + s.groups[start + s.points[j, c]]
    _number(s, space)


@lean_njit
def _number(s: Cover, space: float) -> None:
    """Number the keys, which are below ``space``, and add up their people."""
    left, base, mask = s.numbers[LEFT], s.numbers[BASE], len(s.slots) - 1
    direct = space <= len(s.slots)
    number = 0
    for c in range(left):
        key = s.cells[KEY, c]
        at = key
        if not direct:
            h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
            at = np.int64((h ^ (h >> np.uint64(29))) >> np.uint64(8)) & mask
        g = s.slots[at] - base
        while g >= 0 and s.cells[GROUP_KEY, g] != key:
            at = (at + 1) & mask
            g = s.slots[at] - base
        if g < 0:
            g = number
            s.slots[at] = base + g
            s.cells[GROUP_KEY, g], s.cells[FIRST, g] = key, c
            s.cells[PEOPLE, g] = s.cells[LARGEST, g] = 0
            s.seen[g] = -1
            number += 1
        s.cells[GROUP, c] = g
        s.cells[PEOPLE, g] += s.cells[MEMBERS, c]
        s.cells[LARGEST, g] = max(s.cells[LARGEST, g], s.cells[MEMBERS, c])
    s.numbers[GROUPS] = number


@lean_njit
def _count_people(s: Cover) -> None:
    """Take off those who were counted in several classes of a group, or as many as there may be."""
    for i in range(s.numbers[PAIRS]):
        g = s.cells[GROUP, s.place[s.pairs[OF_CLASS, i]]]
        if s.seen[g] == s.pairs[PERSON, i]:
            s.cells[PEOPLE, g] -= 1
        s.seen[g] = s.pairs[PERSON, i]
    if s.numbers[EXCESS] > 0:
        for g in range(s.numbers[GROUPS]):
            s.cells[PEOPLE, g] = max(s.cells[LARGEST, g], s.cells[PEOPLE, g] - s.numbers[EXCESS])


@lean_njit
def _choose(s: Cover, node: int, most: float) -> float:
    """Make clusters of the groups with enough people that cost at most ``most``; the price of the next group, ∞ for none."""
    rest = np.inf
    for g in range(s.numbers[GROUPS]):
        s.cells[CLUSTER, g] = -1
        if s.cells[PEOPLE, g] >= s.numbers[LEAST]:
            cost = 0.0
            for j in range(len(s.points)):
                cost += s.price[s.offsets[j, s.nodes[node, j]] + s.points[j, s.cells[FIRST, g]]]
            if cost <= most:
                s.cells[CLUSTER, g] = s.numbers[CLUSTERS]
                s.numbers[CLUSTERS] += 1
            else:
                rest = min(rest, cost)
    return rest


@lean_njit
def _leave_out(s: Cover) -> None:
    """Label the classes whose group became a cluster, and close up those that are left, and their pairs."""
    stay = 0
    for c in range(s.numbers[LEFT]):
        one, cluster = s.cells[CLASS, c], s.cells[CLUSTER, s.cells[GROUP, c]]
        if cluster >= 0:
            s.label[one], s.place[one] = cluster, -1
        else:
            if stay < c:
                for j in range(len(s.points)):
                    s.points[j, stay] = s.points[j, c]
                s.cells[CLASS, stay], s.cells[MEMBERS, stay] = one, s.cells[MEMBERS, c]
                s.place[one] = stay
            stay += 1
    if stay == s.numbers[LEFT]:
        return
    s.numbers[LEFT] = stay
    kept = 0
    for i in range(s.numbers[PAIRS]):
        if s.place[s.pairs[OF_CLASS, i]] >= 0:
            s.pairs[OF_CLASS, kept], s.pairs[PERSON, kept] = s.pairs[OF_CLASS, i], s.pairs[PERSON, i]
            kept += 1
    s.numbers[PAIRS] = kept


@lean_njit
def _sift_down(heap: Ints, keys: Floats) -> None:
    """Put the first node of a heap in its place, its key having grown."""
    at, node = 0, heap[0]
    while 2 * at + 1 < len(heap):
        child = 2 * at + 1
        if child + 1 < len(heap) and _before(keys, heap[child + 1], heap[child]):
            child += 1
        if not _before(keys, heap[child], node):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = node


@lean_njit
def _before(keys: Floats, one: int, other: int) -> bool:
    return bool(keys[one] < keys[other] or (keys[one] == keys[other] and one < other))
