"""Linkage by value: somebody knows the true number, date or place of a person. Is the nearest published record theirs?

Takes    for each column the true and the published value of every published record
Returns  the share of records that are found by the worst column alone, and how many no noise of that size can hide
Keeps    the chance of a record is 1 over the records that are equally near, so 1/N for a column that tells nothing; multiplying
         all values by a number, or adding one, changes nothing
Cost     O(n log n) per column
Source   Domingo-Ferrer & Torra 2001 (distance-based record linkage); Muralidhar & Domingo-Ferrer 2016 (linkage by rank)
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.model.attack import AttackResult, Verdict
from shoal.model.compare import at_most

QUESTION = "Somebody knows the true value of one published number, date or place, and nothing else: is the record found?"
SHOWN = 3
LEAST_LIMIT = 0.05
"""However large k is, a column by which one record in twenty is found is let through where the policy names no limit."""
_NEAR = 1e-12
"""Distances that differ by less, relative to the values, are equal."""
_BAND = 256
"""Points on either side that are looked at first for the nearest."""

Values = npt.NDArray[Any]
Chances = npt.NDArray[np.float64]
Groups = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ValueLink:
    """What one column gives away.

    ``tried`` records have a value; ``found`` of them are found by it alone and ``found_in_class`` within their class (expected
    numbers); ``certain`` are found for any change of this size. ``changed``: it is not published as it was.
    ``limited``: the limit of the policy, or the default one, is about it.
    """

    column: str
    tried: int
    found: float
    found_in_class: float
    certain: int
    changed: bool
    limited: bool

    @property
    def rate(self) -> float:
        return self.found / self.tried if self.tried else 0.0


def default_limit(k: int) -> float:
    """The limit where the policy names none: the chance 1/k that the release claims, and never below one in twenty.

    >>> default_limit(5), default_limit(11) == 1 / 11, default_limit(20), default_limit(90), default_limit(1)
    (0.2, True, 0.05, 0.05, 0.5)
    """
    return max(1 / max(k, 2), LEAST_LIMIT)


def nearest_found(true: Values, published: Values, group: Groups) -> Chances:
    """The chance of each record to be found: the nearest published value in its group is looked for, ties are shared.

    >>> zero = np.zeros(3, dtype=np.int64)
    >>> nearest_found(np.array([10.0, 20.0, 90.0]), np.array([14.0, 16.0, 95.0]), zero).tolist()
    [1.0, 1.0, 1.0]
    >>> nearest_found(np.array([10.0, 20.0, 90.0]), np.array([15.0, 15.0, 95.0]), zero).tolist()
    [0.5, 0.5, 1.0]
    """
    order = np.lexsort((published, group))
    sorted_group, sorted_value = group[order], published[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (sorted_group[1:] != sorted_group[:-1]) | (sorted_value[1:] != sorted_value[:-1])
    starts = np.flatnonzero(new)
    at_group, at_value, shared = sorted_group[starts], sorted_value[starts], np.diff([*starts, len(order)])
    after = _insertion(at_group, at_value, group, true)
    below = _distance(at_group, at_value, after - 1, group, true)
    above = _distance(at_group, at_value, np.minimum(after, len(starts) - 1), group, true)
    above[after == len(starts)] = np.inf
    least = np.minimum(below, above)
    room = _NEAR * np.maximum(np.abs(true.astype(np.float64)), least)
    ties = np.where(below <= least + room, shared[after - 1], 0)
    ties += np.where(above <= least + room, shared[np.minimum(after, len(starts) - 1)], 0)
    own = np.abs(published - true).astype(np.float64) <= least + room
    return np.where(own, 1.0 / np.maximum(ties, 1), 0.0)


def _insertion(at_group: Groups, at_value: Values, group: Groups, value: Values) -> Groups:
    """For each query the number of points that are in earlier groups, or in its own and not above its value."""
    queries = len(group)
    asks = np.concatenate([np.zeros(len(at_group), dtype=np.int8), np.ones(queries, dtype=np.int8)])
    order = np.lexsort((asks, np.concatenate([at_value, value]), np.concatenate([at_group, group])))
    before = np.cumsum(asks[order] == 0)
    out = np.empty(queries, dtype=np.int64)
    query = asks[order] == 1
    out[order[query] - len(at_group)] = before[query]
    return out


def _distance(at_group: Groups, at_value: Values, at: Groups, group: Groups, value: Values) -> Chances:
    """The distance of each query to a point; infinite where the point is in another group."""
    inside = (at >= 0) & (at_group[at] == group)
    return np.where(inside, np.abs(at_value[at] - value).astype(np.float64), np.inf)


def places_found(true: Values, published: Values) -> Chances:
    """The same in the plane, for positions (one row each, latitude first): the nearest published position, ties shared.

    >>> places_found(np.array([[52.0, 4.0], [52.0, 4.2]]), np.array([[52.1, 4.0], [52.1, 4.2]])).tolist()
    [1.0, 1.0]
    """
    narrow = np.array([1.0, np.cos(np.radians(np.clip(np.median(true[:, 0]), -89.0, 89.0)))])  # a degree east is shorter
    points, which, shared = np.unique(published * narrow, axis=0, return_inverse=True, return_counts=True)
    asked, own = true * narrow, which.ravel()
    out = np.zeros(len(asked))
    for i, near in enumerate(_nearest_of_all(points, asked)):
        out[i] = 1.0 / shared[near].sum() if own[i] in near else 0.0
    return out


def _nearest_of_all(points: Values, asked: Values) -> Iterator[Any]:
    """:func:`_nearest` of each place: by a tree where scipy is installed, which takes no longer where many lie on one line."""
    if importlib.util.find_spec("scipy") is None:
        yield from (_nearest(points, at) for at in asked)
        return
    from scipy.spatial import cKDTree

    tree = cKDTree(points)
    least, _ = tree.query(asked)
    yield from tree.query_ball_point(asked, least + _NEAR * np.maximum(np.abs(asked).max(axis=1), least))


def _nearest(points: Values, at: Values) -> Groups:
    """The nearest of points that are sorted by their first coordinate, and those as near but for rounding.

    A band around ``at`` widens until everything outside is farther than the nearest inside.
    """
    along = points[:, 0]
    place, many = int(np.searchsorted(along, at[0])), _BAND
    while True:
        low, high = max(0, place - many), min(len(points), place + many)
        far = np.hypot(*(points[low:high] - at).T)
        least = far.min()
        room = least + _NEAR * max(float(np.abs(at).max()), least)
        if (low == 0 or at[0] - along[low - 1] > room) and (high == len(points) or along[high] - at[0] > room):
            return low + np.flatnonzero(far <= room)
        many *= 4


def rank_found(true: Values, published: Values) -> Chances:
    """The chance of each record when both sides are sorted and laid beside each other: finds what is only stretched or moved.

    Records that are equal on one side stand in any order there.

    >>> rank_found(np.array([10, 20, 90]), np.array([1.0, 2.0, 3.0])).tolist()
    [1.0, 1.0, 1.0]
    >>> rank_found(np.array([10, 20, 90]), np.array([1.0, 1.0, 3.0])).tolist()
    [0.5, 0.5, 1.0]
    """
    first, last = _block(true)
    other, end = _block(published)
    shared = np.maximum(0, np.minimum(last, end) - np.maximum(first, other))
    return np.asarray(shared / ((last - first) * (end - other)))


def _block(values: Values) -> tuple[Groups, Groups]:
    """The places that the records with the same value take in order, from and up to."""
    _, which, size = np.unique(values, return_inverse=True, return_counts=True)
    end = np.cumsum(size)
    return (end - size)[which], end[which]


def same_found(label: Groups, group: Groups) -> Chances:
    """The chance of each record whose published label is known, among those of its group with that label."""
    labels, which = np.unique(label, return_inverse=True)
    _, which, size = np.unique(group * len(labels) + which, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / size[which])


def surely_found(true: Values, published: Values) -> int:
    """Records further from every other true value than twice the largest change, of values or (where all are above 0) of ratios.

    Whatever a change of that size had been, the record's own published value stays the nearest: noise cannot hide it.

    >>> surely_found(np.array([10.0, 11.0, 12.0, 9000.0]), np.array([11.0, 10.5, 12.0, 9024.0]))
    1
    """
    best = _apart(true.astype(np.float64), published.astype(np.float64))
    if len(true) and min(true.min(), published.min()) > 0:
        best = max(best, _apart(np.log(true.astype(np.float64)), np.log(published.astype(np.float64))))
    return best


def _apart(true: Chances, published: Chances) -> int:
    if len(true) < 2:
        return len(true)
    ordered = np.sort(true)
    gap = np.diff(ordered)
    nearest = np.minimum(np.append(np.inf, gap), np.append(gap, np.inf))
    change = float(np.abs(published - true).max())
    return int((nearest > 2 * change * (1 + _NEAR)).sum())


def by_value(links: Sequence[ValueLink], k: int, limit: float) -> AttackResult:
    """Every column held against the limit; the worst that it is about decides.

    ``broken`` where a limited column finds more than ``limit``; a warning where another one does, or where
    a change leaves records that it cannot hide.

    >>> noised = ValueLink("income", 500, 169.0, 480.0, 12, True, True)
    >>> found = by_value([noised], 5, 0.2)
    >>> found.verdict, found.rate
    ('broken', 0.338)
    >>> by_value([noised], 5, 0.338).verdict
    'warning'
    """
    ranked = sorted(links, key=lambda link: (-link.rate, link.column))
    over = [link for link in ranked if not at_most(link.rate, limit)]
    exposed = [link for link in ranked if link.changed and link.certain]
    broken = [link for link in over if link.limited]
    verdict: Verdict = "broken" if broken else "warning" if over or exposed else "holds"
    worst = broken[0] if broken else ranked[0]
    others = [link for link in ranked if link is not worst]
    beside = ", ".join(f"'{link.column}': {link.rate:.1%}" for link in others[:SHOWN])
    more = f", and {len(others) - SHOWN} more columns" if len(others) > SHOWN else ""
    sentence = f"By '{worst.column}' alone {worst.rate:.1%} of {worst.tried:,} records are found"
    sentence += f" ({beside}{more})." if beside else "."
    for link in exposed[:SHOWN]:
        many = _told(link.certain, k).capitalize()
        sentence += f" {many} records stand so far from all others in '{link.column}' that the change cannot hide them."
    inside = worst.found_in_class / worst.tried if worst.tried else 0.0
    place = f"'{worst.column}': {worst.rate:.1%} alone, {inside:.1%} with the quasi-identifiers"
    return AttackResult("linkage: values", QUESTION, worst.rate, worst.rate, worst.rate, limit, place, verdict, sentence)


def _told(count: int, k: int) -> str:
    """A count as it may stand in a report: small ones are not told exactly."""
    return f"fewer than {k}" if 0 < count < k else f"{count:,}"
