"""Mondrian: cut the classes in two, again and again, while both halves meet the requirements.

Takes    an Evaluator with class requirements
Returns  a part for each base class
Keeps    each class in exactly one part; every part meets the requirements; in the strict form parts never overlap
Cost     O(classes · columns · log classes)
Source   LeFevre, DeWitt & Ramakrishnan, ICDE 2006
Differs  cuts classes, not records; values are in the order of the hierarchy's leaves; the column with the widest share of its
         domain is cut first. Strict: at the median value, ties on one side. Relaxed: ties may go to either side.
"""

from __future__ import annotations

import numpy as np

from shoal.errors import InfeasibleError
from shoal.model.counts import IntArray
from shoal.search.control import Control
from shoal.search.evaluate import Evaluator
from shoal.search.local_cover import restrict


def mondrian(evaluator: Evaluator, *, strict: bool, control: Control) -> IntArray:
    """A part for each base class."""
    problem = evaluator.problem
    label = np.full(problem.n_base, -1, dtype=np.int64)
    whole = np.arange(problem.n_base)
    if not _holds(evaluator, whole):
        raise InfeasibleError(
            "even one class of all records does not meet the requirements.",
            hint="Ask for less, or for another requirement.",
            alternatives=(),
            blocking=(),
        )
    pending, parts, done = [whole], 0, 0
    while pending:
        box = pending.pop()
        halves = None if control.stop() else _cut(evaluator, box, strict)
        if halves is None:
            label[box] = parts
            parts += 1
            done += len(box)
            control.show(done / problem.n_base, "cutting")
        else:
            pending.extend(halves)
    return label


def _cut(evaluator: Evaluator, box: IntArray, strict: bool) -> tuple[IntArray, IntArray] | None:
    """The first allowable cut, widest column first."""
    problem = evaluator.problem
    codes = problem.codes[:, box]
    sizes = problem.measures[problem.members_at, box]
    least = evaluator.checks.least
    if int(sizes.sum()) < 2 * max(1, least):
        return None
    domain = np.array([max(1, len(c.leaves) - 2) for c in problem.columns])
    width = (codes.max(axis=1) - codes.min(axis=1)) / domain
    for j in np.argsort(-width, kind="stable"):
        if width[j] <= 0.0:
            return None
        left = _left_half(codes[j], sizes, strict)
        if left is None:
            continue
        one, two = box[left], box[~left]
        if _holds(evaluator, one) and _holds(evaluator, two):
            return one, two
    return None


def _left_half(codes: np.ndarray, sizes: IntArray, strict: bool) -> np.ndarray | None:
    order = np.argsort(codes, kind="stable")
    run = np.cumsum(sizes[order])
    half = run[-1] / 2.0
    left = np.zeros(len(codes), dtype=np.bool_)
    if strict:
        median = codes[order[int(np.searchsorted(run, half))]]
        left = codes <= median
        if left.all():
            left = codes < median
    else:
        left[order[run <= half]] = True
    return left if left.any() and not left.all() else None


def _holds(evaluator: Evaluator, box: IntArray) -> bool:
    """Whether the classes of a box, joined, meet every class requirement."""
    problem = evaluator.problem
    sums = problem.measures[:, box].sum(axis=1)[:, None]
    if problem.overlap is not None:
        return _holds_by_label(evaluator, box)
    if int(sums[problem.members_at, 0]) < evaluator.checks.least:
        return False
    if not evaluator.checks.sensitive:
        return True
    stay = np.zeros(problem.n_base, dtype=np.bool_)
    stay[box] = True
    part = restrict(evaluator.base_source(), stay)
    return bool(evaluator.passing(part, np.zeros(len(box), dtype=np.int32), sums)[0])


def _holds_by_label(evaluator: Evaluator, box: IntArray) -> bool:
    """As :func:`_holds` where people are in several classes and must be counted."""
    label = np.ones(evaluator.problem.n_base, dtype=np.int64)
    label[box] = 0
    n = int(label.max()) + 1
    sums = evaluator.sums_of(label, n)
    return bool(evaluator.passing(evaluator.base_source(), label.astype(np.int32), sums)[0])
