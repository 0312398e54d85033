r"""Predictions from joint counts: exact in every coding that the counts fix, bounded in a finer one, cautious for estimates.

Of n people c are in a cell, p = c/n. The expected share of a group of k that is unique is :math:`\sum f(p)`,
:math:`f(p)=p(1-p)^{k-1}`, for independent draws, and :math:`\sum p\binom{n-c}{k-1}/\binom{n-1}{k-1}` if nobody is asked
twice: the value is the latter, the interval has both. A cell that holds up to m cells of the coding asked for (single ages in a
band, or above the open end) adds at least f(p), and at most :math:`m\,g(p/m)` with :math:`g(p)=f(\min(p,1/k))`, which is concave
and never falls. Where the table is rounded, a count may be off by as many people as the record says, and their sum by that of all
counts: of c ± o people among R ± O others the share lies between (c − o)/(c − o + R + O) and (c + o)/(c + o + R − O).

Of the cells of an open answer, those of 100 years and more are taken to have at most :data:`OLDEST` of the people together. That
is not proven: of a counted table the upper end does without it, and what follows from it is beside it (:func:`held_against`).

An estimate (a model of a population, not a count of it) may be off by :data:`DOUBT` in every cell and by :data:`FLOOR` in all:
between two revisions of the United Nations' estimates no answer for 201 countries differed by more
(``benchmarks/registry_decide``), and in a check made once no answer differed more from the official tables of Kenya, the
Netherlands, the United Kingdom and the United States.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.model.estimate import Estimate
from shoal.registry.answer import analyse
from shoal.registry.answer.estimate import most_alone
from shoal.registry.records.counts import AGES
from shoal.registry.records.record import Record
from shoal.registry.records.summary import LARGER, Summary, alone, summarize
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
FEW = "Within the target only if at most 0.2 % of the people, or 10 of them, are 100 or older, which the table does not show."
DRAWN = "The counts were drawn with noise: the interval holds for 99 of 100 such records."
ROUNDED = "The counts of the table are rounded: the interval allows for it."
Floats = npt.NDArray[np.float64]


def unique_share(record: Record, group_size: int, codes: Sequence[str] | None = None, *, room: float = 1.0) -> Estimate:
    """Expected share of unique people in a group: from the joint counts of a record where it has them, else from its summary.

    ``codes`` is the coding asked for, which the counts must have (:func:`has_counts_for`); without it, that of the record.
    ``room``: further questions have so many answers together; the upper end then allows for them.
    """
    cells = None if record.counts is None or record.sampled else record.counts.cells(codes or record.codes)
    if cells is None:
        share = analyse.unique_share(record.summary, group_size, sampled=record.sampled)
        return replace(share, low=0.0, high=1.0, grade="C", notes=(*share.notes, ESTIMATED)) if record.estimated else share
    asked, n = analyse.checked_group(group_size), int(cells.people.sum())
    k = min(asked, n)  # of fewer people everybody is asked
    p, doubt, room = cells.people / n, DOUBT if record.estimated else 0.0, min(room, 1e12)
    less, more = share_ends(cells.people, cells.off, doubt)
    low, high = unique_ends(less, more, cells.most * room, k)
    about_off = ROUNDED if record.summary.noise is None else DRAWN
    oldest = max(OLDEST[0], OLDEST[1] / n) if (cells.usual < cells.most).any() else 0.0
    few = unique_ends(np.maximum(0.0, less - np.where(cells.usual < cells.most, oldest, 0.0)), more, cells.usual * room, k)[1]
    usual = min(high, oldest + few)
    share = Estimate(
        float((cells.even * alone(p / cells.even, k)).sum()), low, usual if record.estimated else high,
        level=record.summary.level, method="joint counts",
        details={"high if few are 100 or older": usual} if usual < high and not record.estimated else {},
        notes=(analyse.ASSUMPTION, *_open_ended(record, codes or record.codes), *((about_off,) if cells.off.any() else ())),
    )  # fmt: skip
    plain = doubt == 0 and bool((cells.most == 1).all() and (cells.off == 0).all())
    if plain and k <= n <= _EXACT:
        value = float((p * _none_alike(cells.people, n, k)).sum())
        share = replace(share, value=value, low=min(low, value), high=max(high, value))
    else:
        fewest = max(1, n - int(cells.off.sum()))
        share = analyse.of_people(share, fewest, k, most_alone(room * int(cells.most.sum()), min(k, fewest)))
    if asked > n and LARGER not in share.notes:
        share = replace(share, low=0.0, grade="C", notes=(*share.notes, LARGER), details={})
    if not record.estimated:
        return share
    low, high = max(0.0, share.low - FLOOR), min(1.0, share.high + max(0.0, FLOOR - oldest))
    return replace(share, low=low, high=high, level=LEVEL, grade="C", notes=(*share.notes, ESTIMATED))


def held_against(share: Estimate, target: float | None) -> Estimate:
    """The share to hold against a target: grade C and within it, if only the assumption about the oldest puts it there."""
    usual = share.details.get("high if few are 100 or older")
    if usual is None or target is None or not usual <= target < share.high:
        return share
    return replace(share, high=max(usual, share.value), grade="C", notes=(*share.notes, FEW), details={})


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
    if cells is None or (cells.even > 1).any() or (record.summary.noise is not None and tuple(codes) != record.codes):
        return None
    return record.summary if tuple(codes) == record.codes else summarize(cells.people, len(cells.people))


def share_ends(people: npt.NDArray[np.int64], off: npt.NDArray[np.int64], doubt: float) -> tuple[Floats, Floats]:
    """The least and the largest share of the people that each cell can have."""
    others, apart = people.sum() - people, off.sum() - off
    least, most = np.maximum(0, people - off), people + off
    less, more = least / np.maximum(1, least + others + apart), most / np.maximum(1, most + np.maximum(0, others - apart))
    return less * (1 - doubt), np.minimum(1.0, more * (1 + doubt))


def unique_ends(less: Floats, more: Floats, most: npt.NDArray[Any], k: int) -> tuple[float, float]:
    """The least and the most that cells with shares between two ends can add up to, each in so many parts at most."""
    if k == 1:
        return 1.0, 1.0
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
