"""Charge of each column under a cell loss, at every level up to a node's."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.kernels.jit import lean_njit, up_to

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


FEW = up_to(4096)
"""With fewer numbers to add up, numpy does it: numba is loaded for larger problems only."""


def charges(gone: Ints, starts: Ints, extra: Floats, offsets: Ints, free: Floats, node: Ints, floor: Ints, out: Floats) -> None:
    """out[j, l] = free[j, l] + Σ_code gone · extra for l ≤ node[j]; what is added below ``floor`` is as at ``floor``.

    ``extra[offsets[j] + l · codes + code]`` is what losing a record of that code adds at level l. Sums are added in the order of
    the codes on both ways, so that they are the same to the last bit.
    """
    if len(extra) >= FEW:
        _charges(gone, starts, extra, offsets, free, node, floor, out)
        return
    for j in range(len(node)):
        lost = gone[starts[j] : starts[j + 1]]
        more = 0.0
        for level in range(node[j], -1, -1):
            if level >= floor[j] or level == node[j]:
                row = offsets[j] + level * len(lost)
                added = np.add.accumulate(lost * extra[row : row + len(lost)])
                more = added[-1] if len(added) else 0.0
            out[j, level] = free[j, level] + more


@lean_njit
def _charges(gone: Ints, starts: Ints, extra: Floats, offsets: Ints, free: Floats, node: Ints, floor: Ints, out: Floats) -> None:
    """As :func:`charges`."""
    for j in range(len(node)):
        n_codes = starts[j + 1] - starts[j]
        more = 0.0
        for level in range(node[j], -1, -1):
            if level >= floor[j] or level == node[j]:
                more = 0.0
                row = offsets[j] + level * n_codes
                for code in range(n_codes):
                    more += gone[starts[j] + code] * extra[row + code]
            out[j, level] = free[j, level] + more
