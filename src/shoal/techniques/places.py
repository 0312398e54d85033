"""Levels of places that nobody has given: squares of coordinates, and places grouped by the trips between them.

Takes    the place and the person of each record, as codes; coordinates, or the trips between places
Returns  widths of grids; groups of places, level by level
Keeps    a place of a level keeps at least k people: k, 4k, 16k … for groups; half, nine in ten and all of the records for grids
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.errors import UsageError
from shoal.model.counts.classes import FloatArray, IntArray

MOST_PLACES = 3_000
SHARES = (0.5, 0.9, 1.0)
"""Shares of the records that are in squares of at least k people."""


def grid_widths(coordinates: Sequence[FloatArray], person: IntArray, k: int) -> list[float]:
    """The finest widths (1, 2 or 5 times a power of ten) at which half, nine in ten and all of the records are in squares where
    at least k people were.

    >>> x = np.array([0.11, 0.12, 0.13, 0.61, 0.62, 0.63])
    >>> grid_widths([x], np.array([0, 1, 2, 0, 1, 2]), 3)
    [0.05]
    """
    spread = max(float(np.ptp(c)) for c in coordinates)
    if spread == 0:
        return []
    steps = range(int(np.floor(np.log10(spread))) - 5, int(np.floor(np.log10(spread))) + 2)
    out: list[float] = []
    for width in (float(f"{m}e{e}") for e in steps for m in (1, 2, 5)):
        square = np.zeros(len(person), dtype=np.int64)
        for c in coordinates:
            cell = np.unique(np.floor(c / width + 1e-9), return_inverse=True)[1]
            square = np.unique(square * (int(cell.max()) + 1) + cell, return_inverse=True)[1]
        share = np.mean(_people(square, person)[square] >= k)
        while len(out) < len(SHARES) and share >= SHARES[len(out)] - 1e-12:
            out.append(width)
    return list(dict.fromkeys(out))


def _people(place: IntArray, person: IntArray) -> IntArray:
    """How many people were at each place."""
    width = int(person.max()) + 1
    return np.bincount(np.unique(place * width + person) // width)


def group_by_trips(place: IntArray, person: IntArray, origin: IntArray, destination: IntArray, k: int) -> list[IntArray]:
    """The group of each place, level by level: the one with fewest people joins the one with most trips between them for its
    people, until each has at least k people, then 4k, and so on; the last level has two groups at least.

    >>> place, person = np.array([0, 0, 1, 2, 2]), np.array([0, 1, 0, 1, 2])
    >>> [g.tolist() for g in group_by_trips(place, person, np.array([0, 2]), np.array([1, 0]), 2)]
    [[0, 0, 1]]
    """
    n = int(place.max()) + 1
    if n > MOST_PLACES:
        raise UsageError(f"{n:,} places are too many to be grouped by trips.", hint=f"At most {MOST_PLACES:,}: use a file.")
    near = np.zeros((n, n))
    np.add.at(near, (origin, destination), 1)
    near += near.T
    visitors = [set[int]() for _ in range(n)]
    for p, who in np.unique(np.stack((place, person)), axis=1).T.tolist():
        visitors[p].add(who)
    group, alive = np.arange(n), set(range(n))
    out: list[IntArray] = []
    while True:
        while len(alive) > 1 and len(visitors[small := min(alive, key=lambda g: (len(visitors[g]), g))]) < k:
            alive.remove(small)
            to = max(alive, key=lambda g: (near[small, g] / len(visitors[g]), -len(visitors[g]), -g))
            visitors[to] |= visitors[small]
            near[to] += near[small]
            near[:, to] += near[:, small]
            group[group == small] = to
        if len(alive) == 1:
            return out
        if not out or len(alive) < len(np.unique(out[-1])):
            out.append(np.unique(group, return_inverse=True)[1].astype(np.int64))
        k *= 4
