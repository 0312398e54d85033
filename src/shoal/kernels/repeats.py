"""Which 64-bit hashes may come more than once: a look that takes the same memory however many there are.

Every hash has a slot, a number of its last bits. Hashes that share a slot need not be equal, but equal ones share theirs: a hash
that is alone in its slot comes once. Of hashes that are all different, 1 − e^(−n/2²⁷) are not alone (7 % of ten million).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.kernels.jit import lean_njit, up_to
from shoal.kernels.order import HashArray

SLOTS = 1 << 27
"""Two bits each: 32 MB."""
FEW = up_to(1 << 16)
"""Of fewer hashes any may come again: sorting them is quicker than loading numba."""


class Repeats:
    """Hashes are shown once with :meth:`add`, and asked about afterwards.

    >>> seen = Repeats()
    >>> seen.add(np.array([7, 8, 7], np.uint64))
    >>> seen.possible(np.array([7, 8], np.uint64)).tolist()
    [True, False]
    """

    def __init__(self, slots: int = SLOTS) -> None:
        self._slots = np.zeros(slots // 4, np.uint8)

    def add(self, hashes: HashArray) -> None:
        """Take in more hashes."""
        _fill(hashes, self._slots)

    def possible(self, hashes: HashArray) -> npt.NDArray[np.bool_]:
        """For each hash whether it may have come more than once; false only where it came once."""
        out = np.empty(len(hashes), np.bool_)
        _look(hashes, self._slots, out)
        return out


@lean_njit
def _fill(hashes: HashArray, slots: npt.NDArray[np.uint8]) -> None:
    """Count to two in each slot."""
    last = np.uint64(4 * len(slots) - 1)
    for i in range(len(hashes)):
        slot = hashes[i] & last
        at, shift = slot >> np.uint64(2), (slot & np.uint64(3)) << np.uint64(1)
        if (np.uint64(slots[at]) >> shift) & np.uint64(2) == 0:
            slots[at] += np.uint8(np.uint64(1) << shift)


@lean_njit
def _look(hashes: HashArray, slots: npt.NDArray[np.uint8], out: npt.NDArray[np.bool_]) -> None:
    """Where a slot was filled twice."""
    last = np.uint64(4 * len(slots) - 1)
    for i in range(len(hashes)):
        slot = hashes[i] & last
        at, shift = slot >> np.uint64(2), (slot & np.uint64(3)) << np.uint64(1)
        out[i] = (np.uint64(slots[at]) >> shift) & np.uint64(2) != 0
