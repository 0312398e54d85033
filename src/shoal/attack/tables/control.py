"""Is a control group one? People who are also in the original would hide every attack that works."""

from __future__ import annotations

import numpy as np

from shoal.attack.tables.excess import BROKEN, Excess
from shoal.attack.tables.rows import Rows
from shoal.kernels.group import count_by, group_codes
from shoal.model.counts.classes import IntArray


def overlaps(original: Rows, control: Rows) -> bool:
    """Whether surely more than a tenth of the control group stands in the original, too; both hold equally many rows.

    Two people may be alike in every column. How often that happens is seen inside the control group: rows of it that are
    equal to a row of the original are held against rows of it that are equal to another one of its own.
    """
    n = control.n
    both = group_codes([_codes(a, b) for a, b in zip(original.columns, control.columns, strict=True)])
    theirs, mine = both.ids[: original.n], both.ids[original.n :]
    in_original = int((count_by(theirs, both.n)[mine] > 0).sum())
    twice = int((count_by(mine, both.n)[mine] > 1).sum())
    return Excess(in_original, n, twice, n).interval[0] > BROKEN


def _codes(a: np.ndarray, b: np.ndarray) -> IntArray:
    """One code per value of two columns; missing numbers are one value."""
    out: IntArray = np.unique(np.concatenate((a, b)), return_inverse=True)[1].astype(np.int64).ravel()
    return out
