"""Bookkeeping over a lattice: the next node to look at, and nodes that need none.

Nodes are numbered in mixed radix: node = Σ_j level_j · strides_j.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.kernels.jit import lean_njit

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@lean_njit
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


@lean_njit
def is_below_any(node: Ints, others: Ints, n: int) -> bool:
    """Whether the node is at or below one of the first ``n`` of the others in every column.

    >>> others = np.array([[0, 3], [2, 0]])
    >>> is_below_any(np.array([1, 0]), others, 2), is_below_any(np.array([1, 1]), others, 2)
    (True, False)
    """
    for i in range(n):
        inside = True
        for j in range(len(node)):
            if node[j] > others[i, j]:
                inside = False
                break
        if inside:
            return True
    return False
