"""Belief: what somebody who holds several releases expects a person's sensitive value to be.

Takes    for each release the class that each base class of the original is published in, and the sensitive values of its classes
Returns  people for whom that expectation is less diverse, or further from the table, than one of the releases certifies
Keeps    a finer and a coarser release tell nothing beyond the finer; a value that one release rules out has no weight
Cost     a pass over (group of people alike in all releases, possible value) pairs per round; a few rounds to a few hundred
Source   Ganta, Kasiviswanathan & Smith 2008 (composition); Deming & Stephan 1940 (iterative proportional fitting)

The releases tell how many people are alike in all of them (the attacker knows their quasi-identifiers) and, for each release,
how often each value occurs in each class. Of all tables that agree with this, the expectation is the one with the largest
entropy: it adds nothing that the releases do not say. It is an expectation, not a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.attacks.certified import FITTED, Certified, short
from shoal.attacks.composition import Shown
from shoal.kernels.group import group_codes
from shoal.model.attack import AttackResult
from shoal.model.counts.classes import FloatArray, IntArray

QUESTION = "Somebody is known to be in both releases: how sure do both together make a guess of the sensitive value?"
ROUNDS = 300
CLOSE = 1e-10
MOST_PAIRS = 20_000_000


def expectation(
    sizes: IntArray, releases: Sequence[Shown], column: str
) -> tuple[IntArray, IntArray, IntArray, FloatArray, IntArray]:
    """The table of largest entropy that agrees with all releases.

    Returned are the group of each base class; group, value and weight of each pair; and a base class of each group. ``sizes``
    counts records. People in a class but not among the base classes (they left) are a group of their own. If more people have
    a class's labels than it held records (newcomers), its shares are kept and its size is theirs.
    """
    codes = [r.classes for r in releases]
    joint = group_codes([c.astype(np.int32) for c in codes], n_rows=len(sizes))
    members = np.bincount(joint.ids, weights=sizes, minlength=joint.n).astype(np.float64)
    of_group = [np.where(members > 0, c[joint.first], -1) for c in codes]
    totals = []
    for i, release in enumerate(releases):
        cells = release.cells[column]
        n = int(max(of_group[i].max(initial=-1), cells.classes.max(initial=-1))) + 1
        held = np.bincount(cells.classes, weights=cells.counts, minlength=n)
        there = of_group[i] >= 0
        here = np.bincount(of_group[i][there], weights=members[there], minlength=n)
        left = np.flatnonzero(held > here)
        of_group = [np.concatenate([g, left if j == i else np.full(len(left), -1)]) for j, g in enumerate(of_group)]
        members = np.concatenate([members, (held - here)[left]])
        totals.append(np.where(here > held, here / np.maximum(held, 1), 1.0))
    group, value = _possible(of_group, releases, column)
    margins = []
    for g, release, scale in zip(of_group, releases, totals, strict=True):
        at, number, count = _margin(g[group], value, release, column)
        margins.append((at, number, count * scale[release.cells[column].classes]))
    return joint.ids, group, value, _fit_weights(group, members, margins), joint.first


def _possible(of_group: Sequence[IntArray], releases: Sequence[Shown], column: str) -> tuple[IntArray, IntArray]:
    """Pairs of a group and a value that every release with that group leaves possible."""
    group, value = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    seen = np.zeros(len(of_group[0]), dtype=np.bool_)
    for mine, release in zip(of_group, releases, strict=True):
        cells = release.cells[column]
        order = np.argsort(cells.classes, kind="stable")
        edges = np.searchsorted(cells.classes[order], np.arange(int(mine.max(initial=-1)) + 2))
        new = np.flatnonzero((mine >= 0) & ~seen)
        length = np.diff(edges)[mine[new]]
        inside = np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)
        group = np.concatenate([group, np.repeat(new, length)])
        value = np.concatenate([value, cells.values[order][np.repeat(edges[mine[new]], length) + inside]])
        seen |= mine >= 0
    for mine, release in zip(of_group, releases, strict=True):
        cells = release.cells[column]
        width = int(max(value.max(initial=0), cells.values.max(initial=0))) + 2
        there = np.isin(mine[group] * width + value + 1, cells.classes * width + cells.values + 1) | (mine[group] < 0)
        group, value = group[there], value[there]
    return group, value


def _margin(klass: IntArray, value: IntArray, release: Shown, column: str) -> tuple[IntArray, IntArray, FloatArray]:
    """Pairs that the release counts, the number of the published cell each adds to, and the count of every such cell."""
    cells = release.cells[column]
    width = int(max(value.max(initial=0), cells.values.max(initial=0))) + 2
    keys = cells.classes * width + cells.values + 1
    order = np.argsort(keys)
    at = np.flatnonzero(klass >= 0)
    number = order[np.searchsorted(keys[order], klass[at] * width + value[at] + 1)]
    return at, number, cells.counts.astype(np.float64)


def _fit_weights(group: IntArray, members: FloatArray, margins: Sequence[tuple[IntArray, IntArray, FloatArray]]) -> FloatArray:
    """Iterative proportional fitting from equal weights: members of groups, then counts of each release, again and again."""
    weight = np.ones(len(group))
    for _ in range(ROUNDS):
        before = weight
        weight = weight * _ratio(members, np.bincount(group, weights=weight, minlength=len(members)))[group]
        for at, number, counts in margins:
            factor = _ratio(counts, np.bincount(number, weights=weight[at], minlength=len(counts)))
            weight[at] *= factor[number]
        if np.abs(weight - before).max(initial=0.0) <= CLOSE * max(1.0, float(members.max(initial=0.0))):
            break
    return weight


def _ratio(wanted: FloatArray, counts: npt.NDArray[Any]) -> FloatArray:
    return np.asarray(np.divide(wanted, counts, out=np.zeros_like(wanted), where=counts > 0))


def beliefs(
    people: IntArray, records: IntArray, new: Shown, earlier: Sequence[Shown], column: str, asked: Certified
) -> AttackResult:
    """People of the new release and an earlier one whose value both together tell better than either alone and than certified."""
    name = f"intersection: belief about '{column}'"
    releases = (new, *earlier)
    pairs = sum(len(r.cells[column].values) for r in releases) * len(releases)
    if pairs > MOST_PAIRS or len(people) * len(releases) > MOST_PAIRS:
        return AttackResult.not_run(name, "too many classes and values", QUESTION)
    of_base, group, value, weight, first = expectation(records, releases, column)
    n_values = max(asked.n_values, int(max(r.cells[column].values.max(initial=0) for r in releases)) + 2)
    together = short(group, value, weight, len(first), new.cells[column].whole(n_values), asked, fitted=FITTED)
    for release in releases:
        cells, at = release.cells[column], release.classes[first]
        n = int(max(cells.classes.max(initial=-1), at.max(initial=-1))) + 1
        alone = short(cells.classes, cells.values, cells.counts.astype(np.float64), n, cells.whole(n_values), asked)
        together &= ~(alone[at] & (at >= 0))
    both = (new.classes >= 0) & np.logical_or.reduce([r.classes >= 0 for r in earlier])
    shared, total = int(people[both & together[of_base]].sum()), int(people[both].sum())
    sentence = f"For {shared} of {total} people the releases together tell more of '{column}' than its certified diversity or "
    sentence += "closeness allows, though each alone does not."
    return AttackResult.exact(name, QUESTION, shared / max(total, 1), 0.0, "", "broken" if shared else "holds", sentence)
