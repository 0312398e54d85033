"""Ways out: what nearest change of levels, or of what may be left out, would meet what is asked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from shoal.api.improve.improvement import Improvement, Tried

MOST = 3
MOST_TRIES = 40


@dataclass(frozen=True)
class Way:
    """A change that works: another level of one column, or a larger share that may be left out; and what it would cost."""

    tried: Tried
    column: str = ""
    level: int = 0
    suppress: float = 0.0


def ways(improvement: Improvement, levels: Mapping[str, int]) -> list[Way]:
    """Up to three ways that work, the one that loses least first; none where the levels work as they are.

    Each column is made coarser by itself until everything holds; and where only too many would be left out, leaving out that many
    (rounded up to a whole percent) is a way too.
    """
    now = improvement.at(levels)
    if now.met:
        return []
    found: list[Way] = []
    tries = 0
    for column, top in improvement.heights.items():
        for level in range(now.levels[column] + 1, top + 1):
            tries += 1
            if tries > MOST_TRIES:
                break
            tried = improvement.at({**now.levels, column: level})
            if tried.met:
                found.append(Way(tried, column, level))
                break
    found.sort(key=lambda way: (way.tried.loss, way.column))
    if now.k is not None and now.loss_met and all(v.met for v in now.verdicts):
        found = [*found[: MOST - 1], Way(now, suppress=math.ceil(100 * now.left_out) / 100)]
    return found[:MOST]
