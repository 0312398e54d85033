"""How many would be one of a kind in a smaller group of the same people: exact, for a group drawn by chance."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shoal.errors import UsageError
from shoal.model.counts.classes import ClassCounts


def alone_in_groups(counts: ClassCounts, sizes: Sequence[int]) -> list[float]:
    r"""Expected share who are one of a kind in a group of each size, drawn by chance from everybody, nobody twice.

    Whoever is in a class of :math:`n_c` of :math:`N` people is alone in a group of :math:`g` with chance

    .. math:: \binom{N - n_c}{g - 1} \Big/ \binom{N - 1}{g - 1},

    and the share is its mean over everybody. At :math:`g = N` it is the share that is one of a kind now; in a group of one
    everybody is.

    >>> [round(share, 9) for share in alone_in_groups(ClassCounts((1, 1, 2)), (1, 2, 4))]
    [1.0, 0.833333333, 0.5]
    """
    n, times = np.unique(np.asarray(counts.sizes, dtype=np.int64), return_counts=True)
    total = int((n * times).sum())
    wrong = [g for g in sizes if not 1 <= g <= total]
    if wrong:
        raise UsageError(f"a group has 1 to {total:,} people; found {wrong[0]}.", hint="Ask for a smaller group.")
    weights = n * times / total
    out = []
    for g in sizes:
        possible = total - n >= g - 1
        few = n[possible]
        others = (total - few).tolist()  # outside the person's class
        ways = [math.lgamma(m + 1) - math.lgamma(m - g + 2) for m in others]
        log = np.array(ways) - math.lgamma(total) + math.lgamma(total - g + 1)
        out.append(float(min(1.0, (weights[possible] * np.exp(np.minimum(log, 0.0))).sum())))
    return out
