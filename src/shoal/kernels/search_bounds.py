"""Bookkeeping over a listed lattice: lower bounds of the loss at every node, and the next node to look at.

Nodes are numbered in mixed radix: node = Σ_j level_j · strides_j.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.kernels._jit import njit

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@njit
def raise_below(bound: Floats, strides: Ints, node: Ints, terms: Floats) -> None:
    """bound[v] = max(bound[v], Σ_j terms[j, v_j]) for every v with v_j ≤ node_j in all columns."""
    m = len(node)
    level = np.zeros(m, dtype=np.int64)
    partial = np.zeros(m + 1, dtype=np.float64)
    for j in range(m):
        partial[j + 1] = partial[j] + terms[j, 0]
    at = 0
    while True:
        for _ in range(node[m - 1] + 1):
            value = partial[m - 1] + terms[m - 1, level[m - 1]]
            if value > bound[at]:
                bound[at] = value
            at += strides[m - 1]
            level[m - 1] += 1
        at -= (node[m - 1] + 1) * strides[m - 1]
        level[m - 1] = 0
        j = m - 2
        while j >= 0 and level[j] == node[j]:
            at -= node[j] * strides[j]
            level[j] = 0
            j -= 1
        if j < 0:
            return
        level[j] += 1
        at += strides[j]
        for i in range(j, m - 1):
            partial[i + 1] = partial[i] + terms[i, level[i]]


@njit
def raise_above(bound: Floats, strides: Ints, node: Ints, heights: Ints, value: float) -> None:
    """bound[v] = max(bound[v], value) for every v with v_j ≥ node_j in all columns."""
    m = len(node)
    level = node.copy()
    at = 0
    for j in range(m):
        at += node[j] * strides[j]
    while True:
        if value > bound[at]:
            bound[at] = value
        j = m - 1
        while j >= 0 and level[j] == heights[j]:
            at -= (heights[j] - node[j]) * strides[j]
            level[j] = node[j]
            j -= 1
        if j < 0:
            return
        level[j] += 1
        at += strides[j]


@njit
def climb(bound: Floats, strides: Ints, heights: Ints, best: float, path: Ints) -> int:
    """The open node with the lowest bound, then upward, each time to the cheapest open parent; length of the path.

    A node is open while its bound is below ``best``. Returns 0 when none is.
    """
    at = int(np.argmin(bound))
    if not bound[at] < best:
        return 0
    length = 1
    path[0] = at
    while True:
        chosen = -1
        least = best
        for j in range(len(heights)):
            level = (at // strides[j]) % (heights[j] + 1)
            if level < heights[j]:
                above = at + strides[j]
                if bound[above] < least:
                    least = bound[above]
                    chosen = above
        if chosen < 0:
            return length
        at = chosen
        path[length] = at
        length += 1


@njit
def climb_on(soft: npt.NDArray[np.bool_], strides: Ints, heights: Ints, terms: Floats, path: Ints, length: int) -> int:
    """Go on from the end of a path by the step that adds least, through nodes that are not ``soft``; the new length."""
    at = path[length - 1]
    while True:
        chosen = -1
        least = np.inf
        for j in range(len(heights)):
            level = (at // strides[j]) % (heights[j] + 1)
            if level < heights[j] and not soft[at + strides[j]]:
                add = terms[j, level + 1] - terms[j, level]
                if add < least:
                    least = add
                    chosen = at + strides[j]
        if chosen < 0:
            return length
        at = chosen
        path[length] = at
        length += 1


@njit
def mark_above(flags: npt.NDArray[np.bool_], strides: Ints, node: Ints, heights: Ints) -> None:
    """flags[v] = True for every v with v_j ≥ node_j in all columns."""
    m = len(node)
    level = node.copy()
    at = 0
    for j in range(m):
        at += node[j] * strides[j]
    while True:
        flags[at] = True
        j = m - 1
        while j >= 0 and level[j] == heights[j]:
            at -= (heights[j] - node[j]) * strides[j]
            level[j] = node[j]
            j -= 1
        if j < 0:
            return
        level[j] += 1
        at += strides[j]
