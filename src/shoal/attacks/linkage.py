"""Linkage: an attacker with an external table looks for its people in the release.

Takes    classes of the release, classes of the external table through the published plan
Returns  expected success of two attackers, with intervals
Keeps    no success above 1 / (smallest matched class)
Source   Dankar & El Emam 2010 (prosecutor and marketer), METHODS §21; Fellegi & Sunter 1969 (tables with errors)
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shoal.attacks._common import expected_rate, shared_codes, sizes_in
from shoal.kernels.group import project
from shoal.model.attack import AttackResult, Verdict
from shoal.model.counts.classes import MISSING, ClassCounts
from shoal.model.display import one_in

_NOBODY = "nobody in the external table falls into a released class"


def linkage(released: ClassCounts, external: ClassCounts, *, k: int) -> list[AttackResult]:
    r"""Two attackers who know the plan and the original values of everybody in ``external``.

    The *prosecutor* looks for one person known to be in the release: success :math:`1/f` in a class of :math:`f` released
    records. The *marketer* pairs whole classes one to one: of :math:`f` released and :math:`F` external members at most
    :math:`\min(f, F)` can be right, each with chance :math:`1/\max(f, F)`. Both assume that every person who can be in the
    release is, so the truth is at most this. An external table with some of the columns only is linked on those.
    """
    known = set(external.columns) == set(released.columns)
    if not known:
        released = project(released, external.columns)
    outside, inside = sizes_in(released, external)
    results = [_prosecutor(external, inside, k), _marketer(released, outside, k)]
    scope = "" if known else f" Linked on {', '.join(external.columns)} only."
    return [replace(r, sentence=r.sentence + scope) for r in results]


def _prosecutor(external: ClassCounts, inside: npt.NDArray[np.int64], k: int) -> AttackResult:
    question = "Somebody with the external table knows that a person is in the release: is the record found?"
    hit = inside > 0
    if not hit.any():
        return AttackResult.not_run("linkage: known person", _NOBODY, question)
    chances = 1.0 / inside[hit]
    rate, low, high = expected_rate(chances, external.sizes[hit])
    most, worst = float(chances.max()), f"smallest matched class: {int(inside[hit].min())} records"
    sentence = f"On average {one_in(rate)}, at worst {one_in(most)}; {int(external.sizes[hit].sum())} people match a class."
    verdict: Verdict = "holds" if most <= 1 / k + 1e-12 else "broken"
    return AttackResult("linkage: known person", question, rate, low, high, 1 / k, worst, verdict, sentence)


def _marketer(released: ClassCounts, outside: npt.NDArray[np.int64], k: int) -> AttackResult:
    question = "Somebody matches the whole release against the external table: what share is named correctly?"
    sizes = released.sizes
    if not outside.any():
        return AttackResult.not_run("linkage: whole table", _NOBODY, question)
    right = np.where(outside > 0, np.minimum(sizes, outside) / np.maximum(sizes, np.maximum(outside, 1)) / sizes, 0.0)
    rate, low, high = expected_rate(right, sizes)
    worst = f"{int((outside > 0).sum())} of {released.n_classes} classes occur in the external table"
    sentence = f"At most {rate:.2%} of the records are expected to be named correctly."
    verdict: Verdict = "holds" if rate <= 1 / k + 1e-12 else "broken"
    return AttackResult("linkage: whole table", question, rate, low, high, 1 / k, worst, verdict, sentence)


def closest_classes(released: ClassCounts, external: ClassCounts, *, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    r"""For each external class the released class that agrees best: record linkage with a table that holds errors.

    Agreement in a column on a value that :math:`f` of :math:`n` released records have counts :math:`\log((n+1)/f)`, so that a
    rare value says more (Fellegi & Sunter 1969, with errors taken as equally rare in every column); a missing value says
    nothing. Ties are drawn. Where nothing agrees the answer is −1.

    >>> import pyarrow as pa
    >>> a = ClassCounts([5, 5], ["x", "y"], [[0, 1], [0, 1]], [pa.array(["p", "q"]), pa.array(["r", "s"])])
    >>> b = ClassCounts([1, 1], ["x", "y"], [[0, 1], [0, 1]], [pa.array(["q", "z"]), pa.array(["s", "z"])])
    >>> closest_classes(a, b, rng=np.random.default_rng(0)).tolist()
    [1, -1]
    """
    ours, theirs = shared_codes(released, external)
    n, best = float(released.sizes.sum()), np.full(external.n_classes, -1, dtype=np.int64)
    worth = [np.log((n + 1) / np.bincount(codes + 1, weights=released.sizes)[codes + 1]) for codes in ours]
    order = rng.permutation(released.n_classes)
    block = max(1, 8_000_000 // max(released.n_classes, 1))
    for low in range(0, external.n_classes, block):
        score = np.zeros((min(block, external.n_classes - low), released.n_classes))
        for mine, other, weight in zip(ours, theirs, worth, strict=True):
            part = other[low : low + block, None]
            score += np.where((part == mine) & (part != MISSING), weight, 0.0)
        pick = order[score[:, order].argmax(axis=1)]
        best[low : low + block] = np.where(score[np.arange(len(pick)), pick] > 0, pick, -1)
    return best
