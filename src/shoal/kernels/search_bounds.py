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
def raise_below(bound: Floats, strides: Ints, node: Ints, terms: Floats, level: Ints, partial: Floats) -> None:
    """bound[v] = max(bound[v], Σ_j terms[j, v_j]) for every v with v_j ≤ node_j in all columns.

    ``level`` and ``partial`` are scratch of one more than the number of columns: kernels that make no arrays compile fast.
    """
    m = len(node)
    partial[0] = 0.0
    for j in range(m):
        level[j] = 0
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
def climb(
    bound: Floats,
    soft: npt.NDArray[np.bool_],
    strides: Ints,
    heights: Ints,
    terms: Floats,
    best: float,
    on: bool,
    path: Ints,
    length: int,
) -> int:
    """Go on from the end of a path to the cheapest parent, again and again; the new length of the path.

    Parents are those with a bound below ``best``, cheapest by bound; with ``on``, those that are not ``soft``, cheapest by the
    contribution that the step adds.
    """
    at = path[length - 1]
    while True:
        chosen = -1
        least = np.inf if on else best
        for j in range(len(heights)):
            level = (at // strides[j]) % (heights[j] + 1)
            if level < heights[j]:
                above = at + strides[j]
                value = terms[j, level + 1] - terms[j, level] if on else bound[above]
                if value < least and not (on and soft[above]):
                    least = value
                    chosen = above
        if chosen < 0:
            return length
        at = chosen
        path[length] = at
        length += 1
