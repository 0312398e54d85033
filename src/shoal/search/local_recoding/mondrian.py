"""Mondrian: cut the classes in two, again and again, while both halves meet the requirements.

Takes    an Evaluator with class requirements
Returns  a part for each base class
Keeps    each class in exactly one part; every part meets the requirements; parts never overlap
Cost     O(classes · columns · log classes)
Source   LeFevre, DeWitt & Ramakrishnan, ICDE 2006 (strict variant)
Differs  cuts classes, not records; values are in the order of the hierarchy's leaves; the column with the widest share of its
         domain is cut first, at the median value
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from shoal.errors import InfeasibleError
from shoal.model.counts.classes import IntArray
from shoal.search.full_domain.evaluator import Evaluator
from shoal.search.problem.control import Control


def mondrian(evaluator: Evaluator, control: Control) -> IntArray:
    """A part for each base class."""
    problem = evaluator.problem
    label = np.full(problem.n_base, -1, dtype=np.int64)
    whole = np.arange(problem.n_base)
    inside = Inside(evaluator)
    if not inside.holds(whole):
        raise InfeasibleError(
            "even one class of all records does not meet the requirements.", hint="Ask for less, or for another requirement."
        )
    pending, parts, done = [whole], 0, 0
    while pending:
        box = pending.pop()
        halves = None if control.stop() else _cut(inside, box)
        if halves is None:
            label[box] = parts
            parts += 1
            done += len(box)
            control.show(done / problem.n_base, "cutting")
        else:
            pending.extend(halves)
    return label


def _cut(inside: Inside, box: IntArray) -> tuple[IntArray, IntArray] | None:
    """The first allowable cut, widest column first."""
    problem = inside.evaluator.problem
    codes = problem.codes[:, box]
    sizes = problem.measures[problem.members_at, box]
    least = inside.evaluator.checks.least
    if int(sizes.sum()) < 2 * max(1, least):
        return None
    domain = np.array([max(1, len(c.leaves) - 2) for c in problem.columns])
    width = (codes.max(axis=1) - codes.min(axis=1)) / domain
    for j in np.argsort(-width, kind="stable"):
        if width[j] <= 0.0:
            return None
        left = _left_half(codes[j], sizes)
        if left is None:
            continue
        one, two = box[left], box[~left]
        if inside.holds(one) and inside.holds(two):
            return one, two
    return None


def _left_half(codes: npt.NDArray[np.int32], sizes: IntArray) -> npt.NDArray[np.bool_] | None:
    """The classes up to the median value or, where those are all, below it; None where the column has one value."""
    order = np.argsort(codes, kind="stable")
    run = np.cumsum(sizes[order])
    median = codes[order[int(np.searchsorted(run, run[-1] / 2.0))]]
    left: npt.NDArray[np.bool_] = codes <= median
    if left.all():
        left = codes < median
    return left if left.any() else None


class Inside:
    """Answers whether the classes of a box, joined, meet every class requirement, in time that grows with the box only."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self._source = evaluator.base_source()
        numbers = np.arange(evaluator.problem.n_base + 1)
        self._starts = [np.searchsorted(cells, numbers) for cells, _, _ in self._source.entries]

    def holds(self, box: IntArray) -> bool:
        problem, checks = self.evaluator.problem, self.evaluator.checks
        if problem.overlap is not None:
            return self._holds_by_label(box)
        sums = problem.measures[:, box].sum(axis=1)[:, None]
        if int(sums[problem.members_at, 0]) < checks.least:
            return False
        if not checks.sensitive:
            return True
        entries = []
        for (_, values, counts), starts in zip(self._source.entries, self._starts, strict=True):
            length = starts[box + 1] - starts[box]
            at = np.repeat(starts[box + 1] - np.cumsum(length), length) + np.arange(int(length.sum()))
            entries.append((np.zeros(len(at), dtype=np.int32), values[at], counts[at]))
        joined = dataclasses.replace(self._source, entries=tuple(entries))
        return bool(self.evaluator.passing(joined, np.zeros(1, dtype=np.int32), sums)[0])

    def _holds_by_label(self, box: IntArray) -> bool:
        """Where people are in several classes and must be counted."""
        label = np.ones(self.evaluator.problem.n_base, dtype=np.int64)
        label[box] = 0
        sums = self.evaluator.sums_of(label, int(label.max()) + 1)
        return bool(self.evaluator.passing(self._source, label.astype(np.int32), sums)[0])
