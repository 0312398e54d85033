"""A table of counts from records: people by rows, columns and layers, rare categories joined before they can be named.

A label is a value: a category that fewer than ``threshold`` people have says that somebody has it. Such categories are joined to
one, and where they are still too few together, the next smallest goes with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, InfeasibleError, UsageError
from shoal.kernels.text import canonical_text
from shoal.model.counts.classes import ClassCounts

IntArray = npt.NDArray[np.int64]
LARGEST = 2_500
"""Cells of a table that is crossed: each small one costs linear programs over all of them."""
MISSING, JOINED = "(missing)", "(other categories)"


@dataclass(frozen=True, eq=False)
class Crossed:
    """Counts without margins, with the labels of each axis; ``joined`` says how many categories of each went into one."""

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    counts: IntArray
    joined: tuple[int, ...]


def cross(found: ClassCounts, *, threshold: int, public: bool = False) -> Crossed:
    """The classes of a count as a table; ``public`` says that the lists of categories are public knowledge.

    >>> import shoal
    >>> t = shoal.open({"ward": ["a"] * 6 + ["b"] * 5 + ["c"], "ill": ["y", "n"] * 6})
    >>> c = cross(t.count(["ward", "ill"]), threshold=3)
    >>> c.labels, c.counts.tolist(), c.joined
    ((('a', '(other categories)'), ('n', 'y')), [[3, 3], [3, 3]], (2, 0))
    """
    if found.people is not None:
        raise DataError(
            "some people have rows in several cells of this table, so that its sums would count them more than once.",
            hint="Cross columns that are the same in all rows of a person, or make a table with one row per person first.",
        )
    axes = [_axis(found, i, threshold, public) for i in range(len(found.columns))]
    shape = tuple(len(labels) for labels, _, _ in axes)
    if np.prod([n + 1 for n in shape], dtype=float) > LARGEST:
        raise UsageError(
            f"the table would have more than {LARGEST:,} cells with its sums.",
            hint="Cross fewer columns, or columns with fewer categories: bands of ages, regions instead of postcodes.",
        )
    counts = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, tuple(place[found.codes[i]] for i, (_, place, _) in enumerate(axes)), found.sizes)
    return Crossed(found.columns, tuple(labels for labels, _, _ in axes), counts, tuple(joined for *_, joined in axes))


def _axis(found: ClassCounts, i: int, threshold: int, public: bool) -> tuple[tuple[str, ...], IntArray, int]:
    """Labels of an axis, where each code goes (a missing value, code −1, is the last), and how many categories were joined."""
    texts = [str(t) for t in canonical_text(found.categories[i]).to_pylist()]
    codes = np.asarray(found.codes[i])
    names = [*texts, MISSING]
    people = np.zeros(len(names), dtype=np.int64)
    np.add.at(people, codes, found.sizes)
    keep = [c for c in range(len(names)) if people[c] > 0]
    rare = [] if public else _rare(people, keep, threshold)
    stay = [c for c in keep if c not in set(rare)]
    if not stay:
        raise InfeasibleError(
            f"too few people share a category of '{found.columns[i]}' to name one.",
            hint="Use a coarser column or a smaller threshold; with --public where the list of categories is public knowledge.",
        )
    place = np.full(len(names), len(stay), dtype=np.int64)
    place[stay] = np.arange(len(stay))
    return (*(names[c] for c in stay), *([JOINED] if rare else [])), place, len(rare)


def _rare(people: IntArray, keep: list[int], threshold: int) -> list[int]:
    """Categories that are joined: those below the threshold and, until they are enough together, the next smallest."""
    order = sorted(keep, key=lambda c: (people[c], c))
    rare = [c for c in order if people[c] < threshold]
    if not rare:
        return []
    while people[rare].sum() < threshold or len(rare) == 1:  # one alone would be named by what is missing
        if len(rare) == len(order):
            return order
        rare.append(order[len(rare)])
    return rare


def alone(crossed: Crossed) -> int:
    """Lines of two cells or more whose people all fall into one cell: everybody there has the same value, and it is revealed.

    >>> alone(Crossed(("a", "b"), (("x", "y"), ("u", "v")), np.array([[12, 0], [20, 15]]), (0, 0)))
    2
    """
    counts: Any = crossed.counts
    lines = 0
    for axis, size in enumerate(counts.shape):
        if size > 1:
            filled = (counts > 0).sum(axis=axis)
            lines += int((filled == 1).sum())
    return lines
