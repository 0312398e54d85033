"""With how many others does each person share what an attacker may know?

Takes    a family, a level for every quasi-identifier, k, and how many rows are known (None: all of them)
Returns  who may stay: everybody shares it with at least k − 1 others who stay too
Keeps    coarser levels never send anybody away; the published files are counted again by other code before anything is certified

All rows known: two people are alike when their own attributes agree and, in each linked table, the same rows come equally often.
Sets of rows are compared by two sums of 64-bit weights, one weight per class; different sets agree by chance about once in
2^128.

At most m rows known: every choice of at most m rows of a person, with her own attributes, must fit k people. Rows are taken in
the order of their class, repeated ones in the order of their copy, so that each choice is met once. Who falls short leaves; that
makes choices rarer, so it is looked again until nobody does (the largest set of people that can stay is unique).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.errors import UsageError
from shoal.model.counts.classes import IntArray
from shoal.release.linked.gather import Family

Levels = Sequence[Mapping[str, int]]
"""For each part the level of each of its quasi-identifiers."""

Mask = npt.NDArray[np.bool_]
MOST_SETS = 40_000_000
"""Choices of known rows that are looked at, at most."""


def stays(family: Family, levels: Levels, k: int, known: int | None, *, most: int | None = None) -> Mask:
    """Who may stay. Once more than ``most`` people have left, no further round is looked at."""
    if known is None:
        return alike(family, levels) >= k
    rows = _Rows.of(family, levels, known)
    staying = np.ones(family.n, dtype=np.bool_)
    while True:
        short = staying & (rows.fewest(staying, known) < k)
        staying &= ~short
        if not short.any() or (most is not None and int((~staying).sum()) > most):
            return staying


def alike(family: Family, levels: Levels) -> IntArray:
    """For each person the number of people, herself included, with the same attributes and the same rows."""
    rng = np.random.default_rng(20261115)
    sums = np.zeros((2, family.n), dtype=np.uint64)
    for part, at in zip(family.parts, levels, strict=True):
        classes = part.classes(at)
        weights = rng.integers(0, 2**64, size=(2, int(classes.max(initial=-1)) + 1), dtype=np.uint64)
        for total, weight in zip(sums, weights, strict=True):
            np.add.at(total, part.person, weight[classes] * part.rows.astype(np.uint64))
    one = np.ascontiguousarray(sums.T).view([("a", np.uint64), ("b", np.uint64)]).ravel()
    _, group, sizes = np.unique(one, return_inverse=True, return_counts=True)
    out: IntArray = sizes[group.ravel()].astype(np.int64)
    return out


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of everybody, sorted by person, class and copy; person p has those from ``start[p]`` to ``start[p + 1]``."""

    attributes: IntArray
    start: IntArray
    item: IntArray
    copy: IntArray

    @classmethod
    def of(cls, family: Family, levels: Levels, most: int) -> _Rows:
        own = np.zeros(family.n, dtype=np.int64)
        own[family.parts[0].person] = family.parts[0].classes(levels[0])
        person, item, times, offset = [], [], [], 0
        for part, at in zip(family.parts[1:], levels[1:], strict=True):
            classes = part.classes(at)
            person.append(part.person)
            item.append(classes + offset)
            times.append(part.rows)
            offset += int(classes.max(initial=-1)) + 1
        key = np.concatenate(person) * max(1, offset) + np.concatenate(item)
        both, at_key = np.unique(key, return_inverse=True)
        number = np.bincount(at_key.ravel(), weights=np.concatenate(times), minlength=len(both)).astype(np.int64)
        copies = np.minimum(number, most)
        first = np.repeat(np.cumsum(copies) - copies, copies)
        flat = np.repeat(both, copies)
        start = np.searchsorted(flat // max(1, offset), np.arange(family.n + 1))
        return cls(own, start.astype(np.int64), flat % max(1, offset), np.arange(len(flat)) - first)

    def fewest(self, staying: Mask, most: int) -> IntArray:
        """For each person who stays: the fewest staying people whom one of her choices of at most ``most`` rows fits."""
        people = np.flatnonzero(staying)
        group, fewest = self.attributes[people], np.zeros(len(staying), dtype=np.int64)
        group, support = _counted(group)
        fewest[people] = support
        last = self.start[people] - 1
        width = (int(self.item.max(initial=0)) + 1) * most
        for _ in range(most):
            room = self.start[people + 1] - 1 - last
            if int(room.sum()) > MOST_SETS:
                raise UsageError(
                    f"some people have very many rows: more than {MOST_SETS:,} choices of known rows would be looked at.",
                    hint="Ask for a smaller 'known', give coarser hierarchies, or leave people with very many rows out first.",
                )
            base = np.repeat(np.arange(len(people)), room)
            row = last[base] + 1 + (np.arange(len(base)) - np.repeat(np.cumsum(room) - room, room))
            fits = (self.copy[row] == 0) | (row - 1 == last[base])
            base, row = base[fits], row[fits]
            if not len(base):
                break
            group, support = _counted(group[base] * width + self.item[row] * most + self.copy[row])
            people, last = people[base], row
            np.minimum.at(fewest, people, support)
        return fewest


def _counted(keys: IntArray) -> tuple[IntArray, IntArray]:
    """Number of the key of each entry, and how many entries have it."""
    _, number, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    return number.ravel().astype(np.int64), sizes[number.ravel()].astype(np.int64)
