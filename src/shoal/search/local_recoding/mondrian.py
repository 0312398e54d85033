"""Mondrian: cut the classes in two, again and again, while both halves meet the requirements.

Takes    an Evaluator with class requirements
Returns  a part for each base class
Keeps    each class in exactly one part; every part meets the requirements; parts never overlap
Method   all parts of a round are cut at once; a part whose halves do not pass is cut in its next column
Cost     O(classes · columns · log classes)
Source   LeFevre, DeWitt & Ramakrishnan, ICDE 2006 (strict variant)
Differs  cuts classes, not records; values are in the order of the hierarchy's leaves; the column with the widest share of its
         domain is cut first, at the median value
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.errors import InfeasibleError
from shoal.model.counts.classes import BoolArray as Flags
from shoal.model.counts.classes import CodeArray, FloatArray, IntArray
from shoal.search.full_domain.evaluator import Evaluator
from shoal.search.local_recoding.cover import restrict
from shoal.search.problem.control import Control


def mondrian(evaluator: Evaluator, control: Control) -> IntArray:
    """A part for each base class, numbered so that the upper half of a cut comes before the lower."""
    n = evaluator.problem.n_base
    label = np.zeros(n, dtype=np.int64)
    cutting = Cutting(evaluator)
    if not cutting.holds(np.arange(n), label, 1)[0]:
        hint = "Ask for less, or for another requirement."
        raise InfeasibleError("even one class of all records does not meet the requirements.", hint=hint)
    box, parts = np.arange(n), 1
    while len(box) and not control.stop():
        lower, cut = cutting.halves(box, label[box], control)
        label *= 2
        label[box[lower]] += 1
        there = np.zeros(2 * parts, dtype=np.bool_)
        there[label] = True
        label = (np.cumsum(there) - 1)[label]
        parts = int(there.sum())
        box = box[cut]
        box = box[np.argsort(label[box], kind="stable")]
        cutting.keep(box)
        control.show(1.0 - len(box) / n, "cutting")
    return label


class Cutting:
    """Cuts parts of the classes that are still open."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._source = evaluator.base_source()
        self._domain = np.array([[max(1, len(c.leaves) - 2)] for c in evaluator.problem.columns])

    def keep(self, box: IntArray) -> None:
        """Look at no other classes from now on."""
        if self._evaluator.checks.sensitive:
            stay = np.zeros(self._evaluator.problem.n_base, dtype=np.bool_)
            stay[box] = True
            self._source = restrict(self._source, stay[self._source.reps])

    def halves(self, box: IntArray, part: IntArray, control: Control) -> tuple[Flags, Flags]:
        """For each class of ``box``, in the order of its parts: whether it is in a lower half, and whether its part was cut.

        The first allowable cut is made, widest column first.
        """
        problem, least = self._evaluator.problem, self._evaluator.checks.least
        starts = np.flatnonzero(np.append(True, part[1:] != part[:-1]))
        own = np.cumsum(np.append(False, part[1:] != part[:-1]))
        codes, sizes = problem.codes[:, box], problem.measures[problem.members_at, box]
        total = np.add.reduceat(sizes, starts)
        high = np.maximum.reduceat(codes, starts, axis=1)
        width: FloatArray = (high - np.minimum.reduceat(codes, starts, axis=1)) / self._domain
        left, lower, cut = total >= 2 * max(1, least), np.zeros(len(box), dtype=np.bool_), np.zeros(len(starts), dtype=np.bool_)
        for column in np.argsort(-width, axis=0, kind="stable"):
            left &= width[column, np.arange(len(starts))] > 0.0
            if not left.any() or control.stop():
                break
            at = np.flatnonzero(left[own])
            number = (np.cumsum(left) - 1)[own[at]]
            below = _lower_half(codes[column[own[at]], at], sizes[at], number, high[column[left], left], total[left])
            both = self.holds(box[at], 2 * number + below, 2 * int(left.sum()))
            good = both[::2] & both[1::2]
            lower[at] = below & good[number]
            cut[np.flatnonzero(left)[good]] = True
            left &= ~cut
        return lower, cut[own]

    def holds(self, box: IntArray, label: IntArray, n: int) -> Flags:
        """Which of the n groups that the labels make of these classes meet every class requirement."""
        problem, checks = self._evaluator.problem, self._evaluator.checks
        if problem.overlap is None and not checks.sensitive:
            members = np.bincount(label, weights=problem.measures[problem.members_at, box], minlength=n)
            return np.asarray(members >= checks.least)
        whole = np.full(problem.n_base, n, dtype=np.int64)
        whole[box] = label
        gid = whole[self._source.reps].astype(np.int32)
        return self._evaluator.passing(self._source, gid, self._evaluator.sums_of(whole, n + 1))[:n]


def _lower_half(codes: CodeArray, sizes: IntArray, part: IntArray, high: CodeArray, total: IntArray) -> npt.NDArray[np.bool_]:
    """The classes of each part up to its median value or, where those are all, below it. Every part has several values."""
    order = np.argsort(part * (int(codes.max()) + 1) + codes, kind="stable")
    run = np.cumsum(sizes[order])
    median = codes[order[np.searchsorted(run, np.cumsum(total) - total / 2.0)]]
    below: npt.NDArray[np.bool_] = codes <= (median - (median == high))[part]
    return below
