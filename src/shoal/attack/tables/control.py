"""Is a control group one? People who are also in the original would hide every attack that works."""

from __future__ import annotations

import numpy as np

from shoal.attack.tables.excess import BROKEN, Excess
from shoal.attack.tables.rows import Rows
from shoal.kernels.group import count_by, group_codes
from shoal.model.counts.classes import IntArray


def overlaps(original: Rows, control: Rows) -> bool:
    """Whether surely more than a tenth of the control group stands in the original, too.

    Two people may be alike in every column. How often that happens is seen inside the original: rows of the control group that
    are equal to one of the original are held against rows of the original that are equal to another one of its own.
    """
    both = group_codes([_codes(a, b) for a, b in zip(original.columns, control.columns, strict=True)])
    own, others = both.ids[: original.n], both.ids[original.n :]
    people = count_by(own, both.n)
    shared, twice = int((people[others] > 0).sum()), int((people[own] > 1).sum())
    return Excess(shared, control.n, twice, original.n).interval[0] > BROKEN


def _codes(a: np.ndarray, b: np.ndarray) -> IntArray:
    """One code per value of two columns; missing numbers are one value."""
    out: IntArray = np.unique(np.concatenate((a, b)), return_inverse=True)[1].astype(np.int64).ravel()
    return out
