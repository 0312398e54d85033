"""Number the keys that occur, densely and in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

TABLED = 2**20
"""Keys up to this, or twice as many as there are, are numbered through a table, larger ones by sorting."""


def dense_codes(keys: npt.NDArray[np.integer[Any]], n_keys: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """The keys that occur, in order, and the place of each key given among them.

    >>> present, codes = dense_codes(np.array([7, 3, 7]), 10)
    >>> present.tolist(), codes.tolist()
    ([3, 7], [1, 0, 1])
    """
    if n_keys > max(TABLED, 2 * len(keys)):
        present, codes = np.unique(keys, return_inverse=True)
        return present.astype(np.int64), codes.astype(np.int32)
    seen = np.zeros(n_keys, dtype=np.bool_)
    seen[keys] = True
    return np.flatnonzero(seen), (np.cumsum(seen, dtype=np.int32) - 1).take(keys)
