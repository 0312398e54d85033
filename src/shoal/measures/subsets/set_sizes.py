"""Class sizes over many sets of columns, from the codes of each member.

Takes    codes from 0 on per column, and the sets
Returns  for each set how many members are alone in their class, as far as a part of the set shows, and the other classes' sizes
Keeps    who is alone by some columns is alone by more: only the others are grouped by more
Cost     one grouping per set, of all members for the first two columns; sets that begin alike share it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from shoal.kernels.group import SMALL, group_sizes
from shoal.kernels.threads import each
from shoal.model.counts.classes import LARGEST_KEY, CodeArray, IntArray

T = TypeVar("T")
ENOUGH = 4
"""Members who are alone are put aside if they are at least one of so many."""
ODD = np.uint64(0x9E3779B97F4A7C15)

Wanted = tuple[tuple[str, ...], tuple[str, ...]]
"""The columns of a set that are not grouped by yet, and the set as it was given."""


@dataclass(frozen=True)
class SetSizes:
    """Classes over a set of columns: the sizes of all but some classes of one member, and how many ``alone`` these are."""

    columns: tuple[str, ...]
    sizes: IntArray
    n_members: int
    alone: int = 0

    @property
    def n_classes(self) -> int:
        return len(self.sizes) + self.alone

    @property
    def k(self) -> int:
        return 1 if self.alone else int(self.sizes.min())

    @property
    def unique(self) -> int:
        return self.alone + int(np.count_nonzero(self.sizes == 1))


def describe_sets(
    codes: Mapping[str, CodeArray], sets: Sequence[tuple[str, ...]], describe: Callable[[SetSizes], T]
) -> dict[tuple[str, ...], T]:
    """What ``describe`` makes of the class sizes of each set; two threads share the sets if there are many members.

    >>> codes = {"a": np.array([0, 0, 1]), "b": np.array([0, 1, 1])}
    >>> describe_sets(codes, [("a",), ("a", "b")], lambda s: (s.n_classes, s.k, s.unique))
    {('a',): (2, 1, 1), ('a', 'b'): (3, 1, 3)}
    """
    widths = {name: int(own.max(initial=0)) + 1 for name, own in codes.items()}
    place = {name: i for i, name in enumerate(sorted(widths, key=lambda name: -widths[name]))}
    wanted = [(tuple(sorted(names, key=place.__getitem__)), names) for names in sets]
    wanted.sort(key=lambda item: [place[name] for name in item[0]])
    rows = len(next(iter(codes.values()), ()))
    begun = [list(items) for _, items in groupby(wanted, key=lambda item: item[0][0])]

    def grow(some: Sequence[Wanted]) -> list[tuple[tuple[str, ...], T]]:
        sizes = _grow(codes, widths, some, np.zeros(rows, dtype=np.int32), 1, None, 0)
        return [(one.columns, describe(one)) for one in sizes]

    return dict(pair for part in each(begun, rows, grow) for pair in part)


def _grow(
    codes: Mapping[str, CodeArray],
    widths: Mapping[str, int],
    wanted: Sequence[Wanted],
    key: npt.NDArray[np.integer],
    space: int,
    rows: IntArray | None,
    alone: int,
) -> Iterator[SetSizes]:
    """The sets that begin with the columns in ``key``, of ``rows`` (None: all), the others being ``alone``."""
    for name, items in groupby(wanted, key=lambda item: item[0][0]):
        own = codes[name] if rows is None else codes[name][rows]
        longer, size = _extended(key, space, own, widths[name])
        left = [(columns[1:], names) for columns, names in items]
        further, single = [item for item in left if item[0]], size  # as many as there are keys may be alone
        if len(further) < len(left):
            sizes = group_sizes([longer], [size])
            single = int(np.count_nonzero(sizes == 1))
            yield from (SetSizes(names, sizes, alone + len(longer), alone) for columns, names in left if not columns)
        if further and len(longer) > SMALL and single * ENOUGH >= len(longer):
            rest = np.flatnonzero(_may_be_several(longer, size))
            several = rest if rows is None else rows[rest]
            yield from _grow(codes, widths, further, longer[rest], size, several, alone + len(longer) - len(rest))
        elif further:
            yield from _grow(codes, widths, further, longer, size, rows, alone)


def _extended(key: npt.NDArray[np.integer], space: int, own: CodeArray, width: int) -> tuple[npt.NDArray[np.integer], int]:
    """The key with one column more, and the number that it is below."""
    if space == 1:
        return own, width
    if space * width >= LARGEST_KEY:
        distinct, key = np.unique(key, return_inverse=True)
        space = len(distinct)
    kind = np.int32 if space * width < 2**31 else np.int64
    longer = np.multiply(key, kind(width), dtype=kind)
    return np.add(longer, own, out=longer), space * width


def _may_be_several(key: npt.NDArray[np.integer], space: int) -> npt.NDArray[np.bool_]:
    """Whether others may have the same key: true for all who do, false for most of the others."""
    bits = (2 * len(key)).bit_length()
    if space > 1 << bits:
        key = ((key.astype(np.uint64) * ODD) >> np.uint64(64 - bits)).view(np.int64)
    return np.asarray((np.bincount(key) > 1)[key])
