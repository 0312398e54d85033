r"""Predictions from joint counts: exact in every coding that the counts fix, bounded in a finer one, cautious for estimates.

Of n people c are in a cell, p = c/n. The expected share of a group of k that is unique is :math:`\sum f(p)`,
:math:`f(p)=p(1-p)^{k-1}`, for independent draws, and :math:`\sum p\binom{n-c}{k-1}/\binom{n-1}{k-1}` if nobody is asked
twice: the value is the latter, the interval has both. A cell that holds up to m cells of the coding asked for (single ages in a
band, or above the open end) adds at least f(p), and at most :math:`m\,g(p/m)` with :math:`g(p)=f(\min(p,1/k))`, which is concave
and never falls. Of the cells of an open answer, those of 100 years and more hold at most :data:`OLDEST` of the people together.
Where the table is rounded, a count may be off by as many people as the record says.

An estimate (a model of a population, not a count of it) may be off by :data:`DOUBT` in every cell and by :data:`FLOOR` in all:
between two revisions of the United Nations' estimates no answer for 201 countries differed by more
(``benchmarks/registry_decide``), and in a check made once no answer differed more from the official tables of Kenya, the
Netherlands, the United Kingdom and the United States.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shoal.model.estimate import Estimate
from shoal.registry.answer import analyse
from shoal.registry.answer.estimate import most_alone
from shoal.registry.records.counts import AGES
from shoal.registry.records.record import Record
from shoal.registry.records.summary import Summary, alone, summarize
from shoal.registry.records.vocabulary import attribute

DOUBT = 0.2
"""By how much of itself a cell of an estimate may be off."""
FLOOR = 0.002
"""How far the share of unique people of an estimate may be off beyond that: very old people are hardly known at all.
If their cells are those of an open answer, :data:`OLDEST` allows for it."""
OLDEST = (0.002, 10)
"""The largest share of a population, or number of its people if that is more, who are 100 or older: the highest of 196 countries
in the World Population Prospects 2019 is 0.07 %, the highest of the 47 counties in the census of Kenya 0.1 %."""
LEVEL = 0.95
_EXACT = 10**7
"""People up to which draws without return are computed exactly; beyond it, within proven bounds."""
ESTIMATED = "The population is an estimate, not a count: grade C, and the interval allows for the error of such estimates."
ROUNDED = "The counts of the table are rounded: the interval allows for it."
Floats = npt.NDArray[np.float64]


def unique_share(record: Record, group_size: int, codes: Sequence[str] | None = None) -> Estimate:
    """Expected share of unique people in a group: from the joint counts of a record where it has them, else from its summary.

    ``codes`` is the coding asked for, which the counts must have (:func:`has_counts_for`); without it, that of the record.
    """
    cells = None if record.counts is None or record.sampled else record.counts.cells(codes or record.codes)
    if cells is None:
        found = analyse.unique_share(record.summary, group_size, sampled=record.sampled)
        return replace(found, low=0.0, high=1.0, grade="C", notes=(*found.notes, ESTIMATED)) if record.estimated else found
    k, n = analyse.checked_group(group_size), int(cells.people.sum())
    p, off, doubt = cells.people / n, cells.off / n, DOUBT if record.estimated else 0.0
    low, high = _ends(p, cells.most, k, doubt, off)
    oldest = max(OLDEST[0], OLDEST[1] / n) if (cells.usual < cells.most).any() else 0.0
    if oldest:
        high = min(high, oldest + _ends(p, cells.usual, k, doubt, off, np.where(cells.usual < cells.most, oldest, 0.0))[1])
    found = Estimate(
        float((cells.even * alone(p / cells.even, k)).sum()), low, high, level=1.0, method="joint counts",
        notes=(analyse.ASSUMPTION, *_open_ended(record, codes or record.codes), *((ROUNDED,) if off.any() else ())),
    )  # fmt: skip
    plain = doubt == 0 and bool((cells.most == 1).all() and (cells.off == 0).all())
    if plain and k <= n <= _EXACT:
        value = float((p * _none_alike(cells.people, n, k)).sum())
        found = replace(found, value=value, low=min(low, value), high=max(high, value))
    else:
        found = analyse.of_people(found, n, k, most_alone(int(cells.most.sum()), k))
    if not record.estimated:
        return found
    low, high = max(0.0, found.low - FLOOR), min(1.0, found.high + max(0.0, FLOOR - oldest))
    return replace(found, low=low, high=high, level=LEVEL, grade="C", notes=(*found.notes, ESTIMATED))


def shared(codes: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Those of the codes whose attribute is known, in any coding."""
    attributes = {attribute(code) for code in known}
    return tuple(code for code in codes if attribute(code) in attributes)


def has_counts_for(record: Record, codes: Sequence[str]) -> bool:
    """Whether a record has joint counts that fix or bound the answer."""
    return record.counts is not None and not record.sampled and record.counts.cells(codes) is not None


def fixed(record: Record, codes: Sequence[str], *, estimates: bool = False) -> Summary | None:
    """The summary of a record in a coding that its joint counts fix; only of people who were counted, unless ``estimates``."""
    known = record.counts is not None and (estimates or not record.estimated)
    cells = record.counts.cells(codes) if known and record.counts else None
    if cells is None or (cells.even > 1).any():
        return None
    return record.summary if tuple(codes) == record.codes else summarize(cells.people, len(cells.people))


def _ends(
    p: Floats, most: npt.NDArray[np.int64], k: int, doubt: float, off: Floats | float = 0.0, without: Floats | float = 0.0
) -> tuple[float, float]:
    """The least and the most that cells can add up to, each off by so much of itself and of the people, in so many parts at most.

    Up to ``without`` of the people of a cell may be in none of these parts.
    """
    less, more = np.maximum(0.0, p * (1 - doubt) - off - without), np.minimum(1.0, p * (1 + doubt) + off)
    best = 1 / k
    one = np.where((less < best) & (best < more), alone(np.full(1, best), k), np.maximum(alone(less, k), alone(more, k)))
    split = most * alone(np.minimum(more / most, best), k)
    low = float(np.minimum(alone(less, k), alone(more, k)).sum())
    return low, min(1.0, float(np.where(most > 1, np.maximum(split, one), one).sum()))


def _none_alike(people: npt.NDArray[np.int64], n: int, k: int) -> Floats:
    """For each cell the chance that none of k − 1 others is in it, nobody drawn twice."""
    rest = math.lgamma(n) - math.lgamma(n - k + 1)
    logs = [
        math.lgamma(n - c + 1) - math.lgamma(n - c - k + 2) - rest if n - c - k + 2 > 0 else -math.inf for c in people.tolist()
    ]
    chances: Floats = np.exp(np.minimum(0.0, np.array(logs)))
    return chances


def _open_ended(record: Record, codes: Sequence[str]) -> tuple[str, ...]:
    """A sentence where the oldest are one answer of the table."""
    for code, listed in record.counts.answers.items() if record.counts else ():
        if code in AGES and listed[-1].endswith("+") and any(c in AGES for c in codes):
            return (f"Everybody of {listed[-1][:-1]} and older is one answer of the table; the upper end allows for more.",)
    return ()
