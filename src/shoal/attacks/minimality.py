"""Minimality: what does the choice of the plan tell about the sensitive values?

Takes    base classes with sensitive counts, published and finer codes, and the claimed distinct diversity l
Returns  the largest gain in certainty that an attacker has who knows the algorithm and everybody's quasi-identifiers
Keeps    gain 0 when only class sizes decided (sizes follow from the quasi-identifiers, which the attacker knows already)
Source   Wong, Fu, Wang & Pei 2007
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from shoal.attacks._common import wilson
from shoal.attacks.downcoding import Recoded
from shoal.kernels.group import group_codes
from shoal.model.attack import AttackResult
from shoal.model.counts.classes import SensitiveCounts
from shoal.model.display import written

QUESTION = "Somebody knows the algorithm: does the choice of this plan tell more about sensitive values than the release does?"
MOST_CLASSES = 100
"""Published classes examined per generalized column, drawn at random where there are more."""
MOST_MEMBERS = 500
"""Members up to which a class is examined: in a larger one a refusal says next to nothing about each of them."""


def minimality(
    recoded: Recoded,
    column: str,
    columns: tuple[str, ...],
    *,
    distinct: int | None,
    rng: np.random.Generator,
    draws: int = 1000,
    bound: float = 0.05,
) -> AttackResult:
    """Condition random assignments inside a published class on "the finer plan fails".

    The attacker knows each person's finer quasi-identifiers and that the finer plan was refused because some finer class
    had fewer than ``distinct`` sensitive values. Inside each published class that finer classes split, the sensitive values are
    dealt out at random ``draws`` times; among the deals in which a finer class fails, the chance of the most likely value of a
    finer class is compared with its share in the published class. The largest difference is the gain, as if this class
    alone had decided: a cautious bound.
    """
    name = f"minimality: {column}"
    if distinct is None or distinct < 2:
        sentence = "Only class sizes decided on this plan; they follow from the quasi-identifiers, so nothing more is learnt."
        return AttackResult.exact(name, QUESTION, 0.0, bound, "", "holds", sentence)
    gains, there = list[float](), 0
    for j in range(len(columns)):
        if not np.array_equal(recoded.published[j], recoded.finer[j]):
            results, candidates = _gains(recoded, recoded.base.sensitive[column], j, distinct, rng, draws)
            gains.extend(results)
            there += candidates
    if not there:
        sentence = "No published class is split by the next finer plan, so its refusal tells nothing."
        return AttackResult.exact(name, QUESTION, 0.0, bound, "", "holds", sentence)
    over = sum(g > bound for g in gains)
    low, high = wilson(over, len(gains))
    examined = f"{len(gains)} of {there} classes that a finer plan would split were examined"
    if not gains:
        why = f"each has more than {MOST_MEMBERS} members or too few values"
        return AttackResult(name, QUESTION, 0.0, 0.0, 1.0, bound, examined, "holds", f"None was examined: {why}.")
    sentence = f"In {over} of {len(gains)} classes examined (of {there}) the refusal of a finer plan raises the certainty about "
    sentence += f"'{column}' by more than {written(bound)}."
    worst = f"largest gain in certainty: {max(gains):.2f}; {examined}"
    return AttackResult(name, QUESTION, over / len(gains), low, high, None, worst, "warning" if over else "holds", sentence)


def _gains(
    recoded: Recoded, sensitive: SensitiveCounts, j: int, distinct: int, rng: np.random.Generator, draws: int
) -> tuple[list[float], int]:
    """Gain of each examined published class when column ``j`` is made one level finer, and how many there are to examine."""
    groups = recoded.classes()
    fine_codes = [recoded.finer[i] if i == j else recoded.published[i] for i in range(len(recoded.published))]
    finer = group_codes(fine_codes, n_rows=recoded.base.n_classes)
    kept = recoded.mask
    size = np.zeros(finer.n, dtype=np.int64)
    np.add.at(size, finer.ids[kept], recoded.base.sizes[kept])
    parent = groups.ids[finer.first]
    inside = np.bincount(parent[size > 0], minlength=groups.n)
    together = np.bincount(parent[size > 1], minlength=groups.n)
    candidates = np.flatnonzero((inside > 1) & (together > 0))
    there = len(candidates)
    if there > MOST_CLASSES:
        candidates = np.sort(rng.choice(candidates, MOST_CLASSES, replace=False))
    values = _values_of(sensitive, groups.ids, kept & np.isin(groups.ids, candidates))
    gains = (_gain(values.get(int(p)), size[(parent == p) & (size > 0)], distinct, rng, draws) for p in candidates)
    return [gain for gain in gains if gain is not None], there


def _values_of(
    sensitive: SensitiveCounts, published: npt.NDArray[np.int64], kept: npt.NDArray[np.bool_]
) -> dict[int, npt.NDArray[np.int64]]:
    """Counts of the sensitive values of each published class."""
    use = kept[sensitive.classes]
    owner, value, count = published[sensitive.classes[use]], sensitive.values[use] + 1, sensitive.counts[use]
    out: dict[int, npt.NDArray[np.int64]] = {}
    width = int(value.max(initial=0)) + 1
    for p, v, c in zip(owner.tolist(), value.tolist(), count.tolist(), strict=True):
        out.setdefault(p, np.zeros(width, dtype=np.int64))[v] += c
    return out


def _gain(
    counts: npt.NDArray[np.int64] | None, parts: npt.NDArray[np.int64], distinct: int, rng: np.random.Generator, draws: int
) -> float | None:
    """Largest rise of P(value | finer class) in the deals where a finer class has fewer than ``distinct`` values."""
    if counts is None or counts.sum() != parts.sum() or (counts > 0).sum() < distinct or counts.sum() > MOST_MEMBERS:
        return None
    present = np.flatnonzero(counts)
    deck = np.repeat(np.arange(len(present)), counts[present])
    prior = counts[present] / counts.sum()
    deals = rng.permuted(np.broadcast_to(deck, (draws, len(deck))), axis=1)
    edges = np.concatenate([[0], np.cumsum(parts)])
    tally = np.stack([[(deals[:, a:b] == v).sum(axis=1) for v in range(len(present))] for a, b in pairwise(edges)])
    failed = ((tally > 0).sum(axis=1) < distinct).any(axis=0)
    if not failed.any():
        return 0.0
    likely = tally[:, :, failed].mean(axis=2) / parts[:, None]
    return float((likely - prior).max())
