"""k^m-anonymity: every set of up to m points that occurs together is shared by at least k people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from shoal.measures.events.unicity import Known


@dataclass(frozen=True)
class SharedSets:
    """``k`` people at least share every set of up to ``m`` points. Not ``exact``: a set with k people was found, but not
    every set was looked at, so k is at most this."""

    m: int
    k: int
    exact: bool

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def shared_sets(curve: Sequence[Known]) -> tuple[SharedSets, ...]:
    """k for each m of a curve that begins at 1 without a gap. One person is the least possible, so k = 1 is always certain."""
    out: list[SharedSets] = []
    k, exact = 0, True
    for m, known in enumerate(curve, start=1):
        if known.records != m:
            break
        k = known.sets.min if not out else min(k, known.sets.min)
        exact = k == 1 or (exact and known.exact)
        out.append(SharedSets(m, k, exact))
    return tuple(out)


def largest_m(found: Sequence[SharedSets], k: int) -> int:
    """The largest m for which k^m-anonymity is certain; 0: for none.

    >>> largest_m([SharedSets(1, 7, True), SharedSets(2, 5, True), SharedSets(3, 5, False)], 5)
    2
    """
    held = [s.m for s in found if s.exact and s.k >= k]
    return max(held, default=0)
