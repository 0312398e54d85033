"""Grouping of integer codes: which rows are alike, and how many are in each group.

Takes    columns of int32 codes (−1 is a missing value, a value like any other)
Returns  the class of each row, classes numbered in order of first appearance
Keeps    two rows are in one class exactly when all their codes are equal
Cost     O(rows): a direct table when the key space is small, a radix sort when nearly every row is its own class,
         open-addressing hash otherwise; O(rows) memory
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.errors import InternalError
from shoal.kernels import _loops as loops
from shoal.kernels.order import scrambled
from shoal.model.counts.classes import LARGEST_KEY, ClassCounts, IntArray, KeyArray, PeopleCounts, SensitiveCounts, words_of

if TYPE_CHECKING:
    from collections.abc import Mapping


DIRECT_FACTOR = 4  # a direct table may have this many cells per row
MOST_TALLY, LARGEST_TALLY = 32, 1 << 23  # one that only counts may have more, up to 32 MB
SMALL = 65_536
SEVERAL = 16
"""Columns of a wide table that are looked at first: they may tell all rows apart."""
FEW = 2048  # below this many rows numpy is quick enough, and nothing needs to be compiled
WORTH = 12_000_000
"""Rows that numpy may group while numba is not loaded, until loading it would have paid; of what numpy does nearly as quickly as
compiled code, several rows count as one."""


class Grouping(NamedTuple):
    """The class of each row, the first row of each class, and the number of classes."""

    ids: IntArray
    first: IntArray
    n: int


def group_codes(codes: Sequence[npt.ArrayLike], cards: Sequence[int] | None = None, *, n_rows: int | None = None) -> Grouping:
    """Group rows by their codes.

    Parameters
    ----------
    codes : sequence of int32 arrays
        One per column; −1 is missing.
    cards : sequence of int, optional
        Number of categories of each column (codes are below it); found from the data when not given.
    n_rows : int, optional
        Needed only without a column: all rows are then one class.

    Returns
    -------
    Grouping
        ``ids`` (class of each row, in order of first appearance), ``first`` (first row of each class), ``n``.

    Examples
    --------
    >>> g = group_codes([[1, 0, 1, -1], [0, 0, 0, 2]])
    >>> g.ids.tolist(), g.first.tolist(), g.n
    ([0, 1, 0, 2], [0, 1, 3], 3)
    """
    columns = [np.ascontiguousarray(c, dtype=np.int32) for c in codes]
    if not columns:
        rows = n_rows or 0
        return Grouping(np.zeros(rows, np.int64), np.zeros(min(rows, 1), np.int64), min(rows, 1))
    n = len(columns[0])
    if any(len(c) != n for c in columns):
        raise InternalError("columns of codes have unequal lengths.")
    if n == 0:
        return Grouping(np.zeros(0, np.int64), np.zeros(0, np.int64), 0)
    sizes = [int(c) for c in cards] if cards is not None else [int(c.max()) + 1 for c in columns]
    widths = [size + 1 for size in sizes]
    packed = [pack(columns[w.start : w.stop], sizes[w.start : w.stop]) for w in words_of(widths)]
    return group_words([key for key, _ in packed], [space for _, space in packed])


def group_sizes(codes: Sequence[npt.NDArray[np.integer]], widths: Sequence[int] = (), *, empty: bool = False) -> IntArray:
    """The number of rows of each class, in no order: less work than to number the rows. No code is negative.

    Codes are below their entry of ``widths``, if that is known. With ``empty``, zeros of classes that do not occur may stand
    among the sizes: to leave them out takes longer than to count.

    >>> sorted(group_sizes([np.array([1, 0, 1, 1]), np.array([0, 0, 0, 2])]).tolist())
    [1, 1, 2]
    """
    if len(codes) > SEVERAL and len(some := group_sizes(codes[:SEVERAL])) == len(codes[0]):
        return some  # every row is a class of its own already
    widths = widths or [int(c.max(initial=0)) + 1 for c in codes]
    space = prod(widths)
    if space >= LARGEST_KEY:
        return np.bincount(group_codes(codes).ids)
    key = _mixed_radix(codes, widths, space)
    if space <= max(len(key), SMALL):  # beyond that sorting touches less memory
        sizes = np.bincount(key)
        return sizes if empty else sizes[sizes > 0]
    key.sort()
    ends = np.append(np.flatnonzero(key[1:] != key[:-1]), len(key) - 1)
    ends[1:] -= ends[:-1].copy()
    ends[0] += 1
    return ends


def classes_by_size(codes: Sequence[npt.NDArray[np.integer]], widths: Sequence[int]) -> IntArray:
    """How many classes there are of each size, from 0 (none) on; codes are below their entry of ``widths``, and none is negative.

    >>> classes_by_size([np.array([1, 0, 1, 1]), np.array([0, 0, 0, 2])], [2, 3]).tolist()
    [0, 2, 1]
    """
    n, space = len(codes[0]), prod(widths)
    if n < FEW or space > min(MOST_TALLY * n, LARGEST_TALLY) or not compiled_pays(n):
        counts = np.bincount(group_sizes(codes, widths, empty=True))
        counts[:1] = 0
        return counts
    from shoal.kernels._loops import tally

    counts = np.zeros(n + 1, dtype=np.int64)
    most = tally(_mixed_radix(codes, widths, space), np.zeros(space, dtype=np.int32), counts)
    return counts[: most + 1]


def _mixed_radix(codes: Sequence[npt.NDArray[np.integer]], widths: Sequence[int], space: int) -> npt.NDArray[Any]:
    """One key below ``space`` for each row, the first column most significant."""
    kind = np.int32 if space < 2**31 else np.int64
    key: npt.NDArray[Any] = codes[0].astype(kind)
    for column, width in zip(codes[1:], widths[1:], strict=True):
        np.multiply(key, kind(width), out=key)
        np.add(key, column.astype(kind, copy=False), out=key)
    return key


def pack(columns: Sequence[npt.NDArray[Any]], cards: Sequence[int]) -> tuple[KeyArray, int]:
    """One unsigned key per row, equal exactly for equal rows, and the size of the key space.

    The key is the mixed-radix number of ``code + 1``, first column most significant, so keys sort as the rows do, a missing
    value first. Where the key space would pass 2⁶³ the columns so far are replaced by the rank of their combination.

    >>> pack([np.array([0, -1, 1]), np.array([2, 0, 1])], [2, 3])
    (array([ 7,  1, 10], dtype=uint64), 12)
    """
    key = np.add(columns[0], 1, dtype=np.int64).view(np.uint64)
    space = cards[0] + 1
    for column, card in zip(columns[1:], cards[1:], strict=True):
        width = card + 1
        if space * width >= LARGEST_KEY:
            distinct, inverse = np.unique(key, return_inverse=True)
            key, space = inverse.astype(np.uint64), len(distinct)
        key *= np.uint64(width)
        key += np.add(column, 1, dtype=np.int64).view(np.uint64)
        space *= width
    return key, space


def group_words(words: Sequence[KeyArray], spaces: Sequence[int]) -> Grouping:
    """Group rows by keys of several words, each below its entry of ``spaces``.

    >>> group_words([np.array([1, 0, 1], np.uint64), np.array([7, 9, 7], np.uint64)], [2, 10]).ids.tolist()
    [0, 1, 0]
    """
    grouping = group_keys(words[0], spaces[0])
    for word, space in zip(words[1:], spaces[1:], strict=True):
        inside = group_keys(word, space)
        pairs = grouping.ids.astype(np.uint64) * np.uint64(inside.n) + inside.ids.astype(np.uint64)
        grouping = group_keys(pairs, grouping.n * inside.n)
    return grouping


def group_keys(key: KeyArray, space: int) -> Grouping:
    """Group rows by one unsigned key below ``space``."""
    n = len(key)
    if n < FEW or not compiled_pays(n):
        return _group_by_order(key, np.argsort(key)) if n else Grouping(np.zeros(0, np.int64), np.zeros(0, np.int64), 0)
    if space <= max(DIRECT_FACTOR * n, SMALL):
        ids, first = loops.group_direct(key, space)
    elif n > 4 * SMALL and mostly_distinct(key):
        return _group_by_order(key, loops.order_of(key, max(1, (space - 1).bit_length())))
    else:
        ids, first = loops.group_hash(key)
    return Grouping(ids, first, len(first))


_passed = [0]
"""Rows that loops in numpy have passed over in this process although numba would be quicker."""


def compiled_pays(n: int) -> bool:
    """Whether a loop over ``n`` rows should be compiled: numba is loaded already, or would have saved the time of loading it."""
    from shoal.kernels.jit import HAVE_NUMBA

    if not HAVE_NUMBA or "numba" in sys.modules or _passed[0] + n > WORTH:
        return HAVE_NUMBA
    _passed[0] += n
    return False


def _group_by_order(key: KeyArray, order: IntArray) -> Grouping:
    """From the rows in the order of their keys: each run is known by its first row."""
    keys = key[order]
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    rows = np.minimum.reduceat(order, starts)
    is_first = np.zeros(len(key), np.bool_)
    is_first[rows] = True
    number = np.cumsum(is_first) - 1
    ids = np.empty(len(key), np.int64)
    ids[order] = np.repeat(number[rows], np.diff(np.append(starts, len(key))))
    first = np.flatnonzero(is_first)
    return Grouping(ids, first, len(first))


def mostly_distinct(key: KeyArray, *, sample: int = 4096) -> bool:
    """Whether more than half of an even sample of the keys, and so very likely of all keys, occur only once in it."""
    step = max(1, len(key) // sample)
    some = key[::step][:sample]
    return len(np.unique(some)) > 0.9 * len(some)


def count_by(ids: npt.ArrayLike, n: int) -> IntArray:
    """Rows of each class.

    >>> count_by([0, 1, 0], 3).tolist()
    [2, 1, 0]
    """
    return np.bincount(np.asarray(ids, dtype=np.int64), minlength=n).astype(np.int64)


def sum_by(ids: npt.ArrayLike, values: npt.ArrayLike, n: int) -> npt.NDArray[Any]:
    """Sum of ``values`` in each class: exact for whole numbers, in double precision for others.

    >>> sum_by([0, 1, 0], [2**60, 5, 1], 2).tolist()
    [1152921504606846977, 5]
    >>> sum_by([0, 1, 0], [0.5, 1.0, 0.25], 2).tolist()
    [0.75, 1.0]
    """
    index = np.asarray(ids, dtype=np.int64)
    numbers = np.asarray(values)
    if np.issubdtype(numbers.dtype, np.floating):
        return np.bincount(index, weights=numbers, minlength=n)
    numbers = numbers.astype(np.int64, copy=False)
    if len(numbers) == 0 or float(np.abs(numbers.astype(np.float64)).sum()) < 2.0**52:  # exact in double precision
        return np.bincount(index, weights=numbers, minlength=n).astype(np.int64)
    out = np.zeros(n, np.int64)
    np.add.at(out, index, numbers)
    return out


def project(counts: ClassCounts, columns: Sequence[str]) -> ClassCounts:
    """The classes over some of the columns, from the classes over all: sizes, records, weights and sensitive counts added up.

    Where people were counted (``unit``), a person in two classes that now fall together would count twice; such counts cannot
    be added up, so this raises; count the table again instead.

    >>> c = ClassCounts([1, 2, 3], ["a", "b"], [[0, 0, 1], [0, 1, 1]])
    >>> p = project(c, ["a"])
    >>> p.sizes.tolist(), p.codes[0].tolist()
    ([3, 3], [0, 1])
    """
    at = [counts.column(name) for name in columns]
    grouping = group_codes([counts.codes[j] for j in at], n_rows=counts.n_classes)
    if counts.unit is not None and grouping.n < counts.n_classes:
        raise InternalError("people counted by class cannot be added up over classes.", hint="Count the table by these columns.")
    return ClassCounts(
        sum_by(grouping.ids, counts.sizes, grouping.n),
        columns=tuple(columns),
        codes=[counts.codes[j][grouping.first] for j in at],
        categories=[counts.categories[j] for j in at] if counts.categories else (),
        sensitive=project_sensitive(counts.sensitive, grouping),
        records=None if counts.records is None else sum_by(grouping.ids, counts.records, grouping.n),
        weights=None if counts.weights is None else sum_by(grouping.ids, counts.weights, grouping.n),
        n_people=counts.n_people,
        unit=counts.unit,
        missing=counts.missing,
        people=counts.people,
    )


def project_sensitive(sensitive: Mapping[str, SensitiveCounts], grouping: Grouping) -> dict[str, SensitiveCounts]:
    """Sensitive counts of the new classes: entries of old classes that fall together are added."""
    return {name: _merge_entries(s, grouping.ids[s.classes]) for name, s in sensitive.items()}


def _merge_entries(counts: SensitiveCounts, classes: IntArray) -> SensitiveCounts:
    width = int(counts.values.max(initial=-1)) + 2
    key = classes * width + (counts.values.astype(np.int64) + 1)
    distinct, inverse = np.unique(key, return_inverse=True)
    return SensitiveCounts(
        counts.column,
        distinct // width,
        (distinct % width - 1).astype(np.int32),
        sum_by(inverse, counts.counts, len(distinct)),
        counts.categories,
        counts.order,
    )


_SEEDS = (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03)


@dataclass(frozen=True, eq=False, repr=False)
class Memberships:
    """One entry per person and class: the position of the class, and a number that stands for the person."""

    classes: IntArray
    people: IntArray

    @property
    def n_people(self) -> int:
        """Distinct people."""
        return len(np.unique(self.people))

    def inside(self, keep: npt.NDArray[np.bool_]) -> Memberships:
        """Only the classes marked; they are renumbered."""
        there = keep[self.classes]
        place = np.cumsum(keep) - 1
        return Memberships(place[self.classes[there]], self.people[there])

    def largest(self, of_class: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """For each person the largest number among those of their classes."""
        order, starts = self._by_person()
        out: npt.NDArray[np.float64] = np.maximum.reduceat(of_class[self.classes[order]], starts)
        return out

    def counts(self, sizes: IntArray) -> PeopleCounts:
        """Everybody once: by the smallest of ``sizes`` among their classes, and by the whole set.

        >>> m = Memberships(np.array([0, 1, 0, 2]), np.array([0, 0, 1, 1]))
        >>> p = m.counts(np.array([2, 1, 1]))
        >>> p.sizes.tolist(), p.alike.tolist(), p.members.tolist()
        ([1], [1], [2])
        """
        order, starts = self._by_person()
        classes = self.classes[order]
        smallest = np.minimum.reduceat(sizes[classes], starts)
        alike = _people_alike(classes, starts)
        width = int(alike.max()) + 1
        key, members = np.unique(smallest * width + alike, return_counts=True)
        return PeopleCounts(key // width, key % width, members)

    def _by_person(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        order = np.argsort(self.people, kind="stable")
        people = self.people[order]
        return order, np.flatnonzero(np.append(True, people[1:] != people[:-1]))


def memberships(pairs: ClassCounts, counts: ClassCounts) -> Memberships:
    """Who is in which class of ``counts``, from the classes by person (the first column) and the same columns.

    >>> c = ClassCounts((2, 1), ("q",), ([0, 1],), unit="id", n_people=2)
    >>> m = memberships(ClassCounts((1, 1, 1), ("id", "q"), ([0, 0, 1], [0, 1, 0])), c)
    >>> m.classes.tolist(), m.people.tolist()
    ([0, 1, 0], [0, 0, 1])
    """
    from shoal.kernels.group import group_codes

    both = [np.concatenate((counts.codes[counts.column(n)], pairs.codes[pairs.column(n)])) for n in counts.columns]
    ids = group_codes(both, n_rows=counts.n_classes + pairs.n_classes).ids
    place = np.empty(counts.n_classes, np.int64)
    place[ids[: counts.n_classes]] = np.arange(counts.n_classes)
    return Memberships(place[ids[counts.n_classes :]], pairs.codes[0].astype(np.int64))


def _people_alike(classes: IntArray, starts: npt.NDArray[np.intp]) -> IntArray:
    """For each person the number of people with the same set of classes, themselves among them."""
    hashes = [np.add.reduceat(scrambled(classes.astype(np.uint64) + np.uint64(seed)), starts) for seed in _SEEDS]
    order = np.lexsort(hashes)
    changes = np.logical_or.reduce([h[order][1:] != h[order][:-1] for h in hashes])
    group = np.empty(len(starts), np.int64)
    group[order] = np.cumsum(np.append(0, changes))
    out: IntArray = np.bincount(group)[group]
    return out
