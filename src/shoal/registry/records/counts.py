"""Joint counts: how many people a public table has in every combination of answers. Every coarser coding follows exactly.

Ages are counted from the first number of an answer; the last answer may be open (``85+``). A coding that is finer than the
counts, or that has single ages where they are open, is bounded: a cell of the counts holds at most so many cells of the coding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, refuse
from shoal.registry.records.vocabulary import MOST_VALUES, attribute

MOST_CELLS = 1000
"""Cells that one record may count."""
AGES = {"age/years": 1, "age/5y": 5, "age/10y": 10, "age/20y": 20}
"""Codings of an age, with the years in one answer."""
_BEYOND = MOST_VALUES["age/years"]
CENTURY = 100


class Cells(NamedTuple):
    """People in each cell; how many cells of the coding asked for it can hold at most; and how many if it is split evenly.

    ``usual`` is ``most`` without the cells of ages of 100 and more, if an open answer begins below; ``off``: by how many people a
    cell may be off, because the table is rounded.
    """

    people: npt.NDArray[np.int64]
    most: npt.NDArray[np.int64]
    even: npt.NDArray[np.int64]
    usual: npt.NDArray[np.int64]
    off: npt.NDArray[np.int64]


@dataclass(frozen=True)
class JointCounts:
    """The people of a table by every combination of answers, the last attribute running fastest."""

    answers: Mapping[str, tuple[str, ...]]
    people: tuple[int, ...]
    off: int = 0
    """By how many people each count may be off, because the table is rounded."""

    def __post_init__(self) -> None:
        texts = [a for listed in self.answers.values() for a in listed]
        whole = all(type(n) is int and 0 <= n < 2**40 for n in (*self.people, self.off))
        named = all(type(a) is str and 0 < len(a) <= 40 and a.isprintable() for a in texts)
        fits = len(self.people) == math.prod(len(listed) for listed in self.answers.values()) <= MOST_CELLS
        ages = (listed for code, listed in self.answers.items() if code in AGES)
        if not (self.answers and whole and named and fits and all(_in_order(listed) for listed in ages)):
            raise DataError(f"joint counts are whole numbers of people, one for each of at most {MOST_CELLS:,} cells.")

    @classmethod
    def from_json(cls, data: Any) -> JointCounts:
        with refuse(DataError("the joint counts of a record are not well formed."), AttributeError, KeyError, TypeError):
            return cls(
                {str(code): tuple(listed) for code, listed in data["answers"].items()}, tuple(data["people"]), data.get("off", 0)
            )

    def to_json(self) -> dict[str, Any]:
        content = {"answers": {code: list(listed) for code, listed in self.answers.items()}, "people": list(self.people)}
        return content | ({"off": self.off} if self.off else {})

    def cells(self, codes: Sequence[str]) -> Cells | None:
        """The counts in other codings of some of the attributes; nothing where they do not tell.

        >>> ages = JointCounts({"age/5y": ("0-4", "5-9", "10+"), "sex": ("F", "M")}, (1, 2, 3, 4, 5, 6))
        >>> ages.cells(["age/10y"]).people.tolist(), ages.cells(["sex"]).people.tolist(), ages.cells(["household/size"])
        ([10, 11], [9, 12], None)
        """
        wanted = {attribute(code): code for code in codes}
        if not wanted.keys() <= {attribute(code) for code in self.answers}:
            return None
        grid = self._grid()
        off = np.full(grid.shape, self.off)
        most = even = usual = np.ones((), dtype=np.int64)
        for axis, (code, listed) in enumerate(self.answers.items()):
            asked = wanted.get(attribute(code))
            bands = _axis(code, listed, asked)
            if bands is None:
                return None
            starts, here, below, split = bands
            grid, off = (np.add.reduceat(table, starts, axis=axis) for table in (grid, off))
            most, usual = np.multiply.outer(most, np.array(here)), np.multiply.outer(usual, np.array(below))
            even = np.multiply.outer(even, np.where(_open(listed, starts), 1, split))
        return Cells(grid.ravel(), most.ravel(), even.ravel(), usual.ravel(), off.ravel())

    def table(self, codes: Sequence[str]) -> tuple[npt.NDArray[np.float64], tuple[tuple[str, ...], ...]] | None:
        """The people by every combination of answers in other codings, an axis for each code, and the answers along each.

        A band that is wider than asked for is split evenly; nothing where the counts do not tell.

        >>> ages = JointCounts({"age/5y": ("0-4", "5-9", "10+"), "sex": ("F", "M")}, (1, 2, 3, 4, 5, 8))
        >>> ages.table(["age/10y"])[1], ages.table(["sex", "age/10y"])[0].tolist()
        ((('0-9', '10+'),), [[4.0, 5.0], [6.0, 8.0]])
        """
        if self.cells(codes) is None:
            return None
        wanted, grid, names = {attribute(code): code for code in codes}, self._grid().astype(np.float64), {}
        for axis, (code, listed) in enumerate(self.answers.items()):
            asked = wanted.get(attribute(code))
            starts, _, _, split = _axis(code, listed, asked) or ([], [], [], 1)
            times = np.where(_open(listed, starts), 1, split)
            grid = np.add.reduceat(grid, starts, axis=axis)
            grid = np.repeat(grid / times.reshape([-1 if i == axis else 1 for i in range(grid.ndim)]), times, axis=axis)
            if asked is not None:
                names[asked] = listed if asked == code else _band_names(listed, AGES[code], AGES[asked])
        kept = [i for i, code in enumerate(self.answers) if attribute(code) in wanted]
        grid = grid.sum(axis=tuple(i for i in range(grid.ndim) if i not in kept))
        return grid.transpose([list(names).index(code) for code in codes]), tuple(names[code] for code in codes)

    def people_with(self, answers: Mapping[str, str]) -> int | None:
        """How many people gave these answers; nothing where the counts do not fix it or do not list an answer."""
        cells, table = self.cells(list(answers)), self.table(list(answers))
        if cells is None or table is None or (cells.even > 1).any():
            return None
        if any(answer not in listed for answer, listed in zip(answers.values(), table[1], strict=True)):
            return None
        return int(table[0][tuple(listed.index(a) for a, listed in zip(answers.values(), table[1], strict=True))])

    def _grid(self) -> npt.NDArray[np.int64]:
        """The counts with an axis for each attribute."""
        return np.array(self.people, dtype=np.int64).reshape([len(listed) for listed in self.answers.values()])


def public_answers(code: str, listed: Sequence[str] = ()) -> tuple[str, ...]:
    """The answers that a coding has for anybody: of an age up to 99 and 100+, of others those that are listed.

    >>> public_answers("age/20y"), public_answers("sex", ["F", "M"])
    (('0-19', '20-39', '40-59', '60-79', '80-99', '100+'), ('F', 'M'))
    """
    ages = [str(age) for age in range(CENTURY)]
    return (*_band_names(ages, 1, AGES[code]), f"{CENTURY}+") if code in AGES else tuple(listed)


def first_age(answer: str) -> int:
    """The first age of an answer, below 0 where it has none."""
    digits = answer.partition("-")[0].rstrip("+")
    return int(digits) if digits.isascii() and digits.isdigit() else -1


def _in_order(listed: Sequence[str]) -> bool:
    firsts = [first_age(answer) for answer in listed]
    return bool(firsts) and firsts[0] >= 0 and all(a < b for a, b in pairwise(firsts))


def _open(listed: Sequence[str], starts: Sequence[int]) -> list[bool]:
    """Whether each group of answers ends with an open one."""
    return [listed[end - 1].endswith("+") for end in (*starts[1:], len(listed))]


def _axis(code: str, listed: Sequence[str], asked: str | None) -> tuple[list[int], list[int], list[int], int] | None:
    """How the answers to one attribute become those in the coding asked for, or one answer: see :func:`_bands`."""
    if asked is None:
        return [0], [1], [1], 1
    if code in AGES and asked in AGES:
        return _bands(listed, AGES[code], AGES[asked])
    return (list(range(len(listed))), [1] * len(listed), [1] * len(listed), 1) if asked == code else None


def _band_names(listed: Sequence[str], fine: int, asked: int) -> tuple[str, ...]:
    """The answers in bands that are wider or narrower than those listed; the last may be open."""
    width = max(fine, asked)
    firsts = list(dict.fromkeys(first_age(answer) // width * width for answer in listed))
    last = [f"{firsts.pop()}+"] if listed[-1].endswith("+") else []
    lows = [low for first in firsts for low in range(first, first + width, asked)]
    return (*(str(low) if asked == 1 else f"{low}-{low + asked - 1}" for low in lows), *last)


def _bands(listed: Sequence[str], fine: int, asked: int) -> tuple[list[int], list[int], list[int], int]:
    """Where each band of the coding asked for starts, how many of its answers a band can hold, at all and below the age of 100,
    and how many a closed one does."""
    width, split = max(fine, asked), max(1, fine // asked)
    bands = [first_age(answer) // width for answer in listed]
    starts = [i for i, band in enumerate(bands) if i == 0 or band != bands[i - 1]]
    ends = _open(listed, starts)

    def most(age: int) -> list[int]:
        last = age if first_age(listed[-1]) < age else _BEYOND
        return [math.ceil((last - bands[i] * width) / asked) if end else split for i, end in zip(starts, ends, strict=True)]

    return starts, most(_BEYOND), most(CENTURY), split
