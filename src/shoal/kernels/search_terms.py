"""Contribution of each column to a cell loss, at every level up to a node's."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from shoal.kernels._jit import njit

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@njit
def cell_terms(
    gone: Ints,
    starts: Ints,
    extra: Floats,
    offsets: Ints,
    free: Floats,
    low: Floats,
    span: Floats,
    weights: Floats,
    geometric: bool,
    node: Ints,
    floor: Ints,
    out: Floats,
) -> None:
    """out[j, l] for l ≤ node[j]: term of the charge free[j, l] + Σ_code gone · extra; below ``floor`` as at ``floor``.

    ``extra[offsets[j] + l · codes + code]`` is what losing a record of that code adds at level l.
    """
    for j in range(len(node)):
        n_codes = starts[j + 1] - starts[j]
        first = min(floor[j], node[j])
        more = 0.0
        for level in range(node[j], -1, -1):
            if level >= first:
                more = 0.0
                row = offsets[j] + level * n_codes
                for code in range(n_codes):
                    lost = gone[starts[j] + code]
                    if lost:
                        more += lost * extra[row + code]
            value = 0.0
            if span[j] > 0.0:
                value = max(0.0, (free[j, level] + more - low[j]) / span[j])
                value = weights[j] * (math.log1p(value) if geometric else value)
            out[j, level] = value
