"""Is a control group one? People who are also in the original would hide every attack that works."""

from __future__ import annotations

from shoal.attacks.tables.excess import BROKEN, Excess
from shoal.attacks.tables.rows import Rows, alike
from shoal.kernels.group import count_by


def overlaps(original: Rows, control: Rows) -> bool:
    """Whether surely more than a tenth of the control group stands in the original, too.

    Two people may be alike in every column. How often that happens is seen inside the original: rows of the control group that
    are equal to one of the original are held against rows of the original that are equal to another one of its own.
    """
    own, others, n = alike(original, control)
    people = count_by(own, n)
    shared, twice = int((people[others] > 0).sum()), int((people[own] > 1).sum())
    return Excess(shared, control.n, twice, original.n).interval[0] > BROKEN
