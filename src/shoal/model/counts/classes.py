"""ClassCounts: what COUNT returns and every decision is made from.

A *class* is a set of records with equal values in all quasi-identifiers. Only these counts go up from the engine; rows
never do. Columns are dictionary-encoded: ``codes[j][c]`` is the position in ``categories[j]`` of column ``j``'s value in class
``c``, and ``-1`` (:data:`MISSING`) stands for a missing value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, EmptyTableError, InternalError, missing_column
from shoal.model.roles import MissingPolicy

IntArray = npt.NDArray[np.int64]
CodeArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
KeyArray = npt.NDArray[np.uint64]

MISSING = -1
"""The code of a missing value."""


@dataclass(frozen=True, eq=False, repr=False)
class SensitiveCounts:
    """How often each sensitive value occurs in each class: a sparse matrix in coordinate form.

    Entry ``i`` says: class ``classes[i]`` holds ``counts[i]`` records (people, where the table has a unit) with the value
    ``categories[values[i]]``; ``values[i] == MISSING`` is the missing value, an ordinary value here. Entries are sorted by
    class, then value; a pair appears once; counts are positive.
    """

    column: str
    classes: IntArray
    values: CodeArray
    counts: IntArray
    categories: Any = None  # a pyarrow array of distinct values without nulls, or None when only codes are known
    order: tuple[str, ...] = ()  # the values from low to high, as canonical text, where they are ordered categories

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", np.ascontiguousarray(self.classes, dtype=np.int64))
        object.__setattr__(self, "values", np.ascontiguousarray(self.values, dtype=np.int32))
        object.__setattr__(self, "counts", np.ascontiguousarray(self.counts, dtype=np.int64))
        if not len(self.classes) == len(self.values) == len(self.counts):
            raise InternalError(f"sensitive counts of '{self.column}' have unequal lengths.")
        if len(self.counts) and int(self.counts.min()) <= 0:
            raise InternalError(f"sensitive counts of '{self.column}' hold a count below one.")
        if len(self.classes) > 1:
            step = np.diff(self.classes)
            if (step < 0).any() or ((step == 0) & (np.diff(self.values) <= 0)).any():
                raise InternalError(f"sensitive counts of '{self.column}' are not sorted by class and value.")

    def __repr__(self) -> str:
        """Counts only: a printed object must not show anybody's value."""
        return f"<SensitiveCounts of '{self.column}': {len(self.counts)} class–value pairs>"

    @property
    def n_values(self) -> int:
        """Number of distinct values in the table, the missing value included when it occurs."""
        return len(np.unique(self.values))

    @classmethod
    def from_dense(cls, column: str, matrix: npt.ArrayLike, categories: Any = None) -> SensitiveCounts:
        """From a classes × values matrix of counts.

        >>> s = SensitiveCounts.from_dense("disease", [[2, 1], [0, 3]])
        >>> s.classes.tolist(), s.values.tolist(), s.counts.tolist()
        ([0, 0, 1], [0, 1, 1], [2, 1, 3])
        """
        dense = np.asarray(matrix, dtype=np.int64)
        rows, values = np.nonzero(dense)
        return cls(column, rows.astype(np.int64), values.astype(np.int32), dense[rows, values], categories)


@dataclass(frozen=True, eq=False, repr=False)
class ClassCounts:
    """Sizes of the classes, with the code of each quasi-identifier and, when asked, the sensitive values inside.

    ``sizes`` are the members of each class, at least one: people when ``unit`` is given, else records. For each of ``columns``,
    ``codes`` has a code per class (very many classes: unpacked when asked for, see
    :class:`~shoal.model.counts.classes.PackedCodes`) and ``categories`` the distinct values (a pyarrow array without nulls) that
    the codes point to. ``records`` are the rows of each class, where a person has several; ``weights`` the sums of the sampling
    weights. ``n_people`` are the distinct people in the whole table (a person may be in several classes); ``people`` has
    everybody once. ``missing`` is the rule under which the classes were formed: COUNT always counts under ``OWN``; the other
    rules are derived.

    >>> c = ClassCounts((1, 2, 2, 5))
    >>> c.n_classes, c.n_records, int(c.sizes.min())
    (4, 10, 1)
    >>> ClassCounts(())
    Traceback (most recent call last):
    shoal.errors.EmptyTableError: the table has no rows, so no anonymity number is defined.
      Check the file, the filter or the suppression that left nothing.
    """

    sizes: IntArray
    columns: tuple[str, ...] = ()
    codes: Sequence[CodeArray] = ()
    categories: tuple[Any, ...] = ()
    sensitive: Mapping[str, SensitiveCounts] = field(default_factory=dict)
    records: IntArray | None = None
    weights: FloatArray | None = None
    n_people: int | None = None
    unit: str | None = None
    missing: MissingPolicy = MissingPolicy.OWN
    people: PeopleCounts | None = None

    def __init__(
        self,
        sizes: npt.ArrayLike,
        columns: Sequence[str] = (),
        codes: Sequence[npt.ArrayLike] | PackedCodes = (),
        categories: Sequence[Any] = (),
        sensitive: Mapping[str, SensitiveCounts] | None = None,
        records: npt.ArrayLike | None = None,
        weights: npt.ArrayLike | None = None,
        n_people: int | None = None,
        unit: str | None = None,
        missing: MissingPolicy = MissingPolicy.OWN,
        people: PeopleCounts | None = None,
    ) -> None:
        put = object.__setattr__
        put(self, "sizes", _whole_numbers(sizes, "class sizes"))
        put(self, "columns", tuple(columns))
        separate = not isinstance(codes, PackedCodes)
        put(self, "codes", tuple(np.ascontiguousarray(c, dtype=np.int32) for c in codes) if separate else codes)
        put(self, "categories", tuple(categories))
        put(self, "sensitive", dict(sensitive or {}))
        put(self, "records", None if records is None else _whole_numbers(records, "records per class"))
        put(self, "weights", None if weights is None else np.ascontiguousarray(weights, dtype=np.float64))
        put(self, "n_people", n_people)
        put(self, "unit", unit)
        put(self, "missing", missing)
        put(self, "people", people)
        self._validate()

    def _validate(self) -> None:
        n = len(self.sizes)
        if n == 0:
            hint = "Check the file, the filter or the suppression that left nothing."
            raise EmptyTableError("the table has no rows, so no anonymity number is defined.", hint=hint)
        if int(self.sizes.min()) < 1:
            raise DataError("a class with no members was counted.", hint="Leave empty classes out of the sizes.")
        coded = self.codes.words if isinstance(self.codes, PackedCodes) else self.codes
        if len(self.codes) not in (0, len(self.columns)) or any(len(c) != n for c in coded):
            raise InternalError("codes do not fit the columns and classes.")
        if self.categories and len(self.categories) != len(self.columns):
            raise InternalError("categories do not fit the columns.")
        for extra in (self.records, self.weights):
            if extra is not None and len(extra) != n:
                raise InternalError("records or weights do not fit the classes.")
        if self.people is not None and self.people.n_members != self.n_people:
            raise InternalError("people counted once do not add up to the people of the table.")
        for name, counts in self.sensitive.items():
            if len(counts.classes) and (counts.classes[0] < 0 or counts.classes[-1] >= n):
                raise InternalError(f"sensitive counts of '{name}' point to classes that do not exist.")

    def __repr__(self) -> str:
        """Counts only: a printed object must not show anybody's value."""
        over = ", ".join(self.columns) or "unnamed columns"
        return f"<ClassCounts over {over}: {self.n_classes} classes, {self.n_records} records>"

    @property
    def n_classes(self) -> int:
        return len(self.sizes)

    @property
    def n_records(self) -> int:
        """Rows of the table."""
        return int(self.records_by_class.sum())

    @property
    def records_by_class(self) -> IntArray:
        """Rows of each class, also where its size counts people."""
        return self.sizes if self.records is None else self.records

    @property
    def n_members(self) -> int:
        """Sum of the class sizes: rows, or person–class pairs where a unit is given."""
        return int(self.sizes.sum())

    @property
    def adds_up(self) -> bool:
        """Whether class sizes may be added: records were counted, or every person is in exactly one class."""
        return self.unit is None or self.n_members == self.n_people

    @property
    def everybody(self) -> PeopleCounts:
        """Everybody once (rows, without a unit), by the smallest class they are in and by the whole set of their classes.

        >>> c = ClassCounts((1, 2), unit="id", n_people=2, people=PeopleCounts([1, 2], [1, 1], [1, 1]))
        >>> c.n_members, c.everybody.n_members
        (3, 2)
        """
        if self.people is not None:
            return self.people
        if not self.adds_up:
            raise InternalError("people are in several classes and were not counted once.", hint="Count the table again.")
        return PeopleCounts(self.sizes, self.sizes, self.sizes)

    def column(self, name: str) -> int:
        """Position of a quasi-identifier."""
        if name not in self.columns:
            raise missing_column(name, self.columns, table="counts", what="quasi-identifier")
        return self.columns.index(name)

    def lacking(self) -> Iterator[npt.NDArray[np.bool_]]:
        """For each quasi-identifier that some class lacks, in their order: the classes that lack it."""
        codes = self.codes
        for j in range(len(codes)):
            if not isinstance(codes, PackedCodes) or codes.may_lack(j):
                there = codes[j] == MISSING
                if there.any():
                    yield there

    def has_missing(self) -> npt.NDArray[np.bool_]:
        """For each class, whether any quasi-identifier is missing; found once."""
        known: dict[str, npt.NDArray[np.bool_]] = self.__dict__
        if "_has_missing" not in known:
            out = np.zeros(self.n_classes, dtype=np.bool_)
            for there in self.lacking():
                out |= there
            out.flags.writeable = False
            known["_has_missing"] = out
        return known["_has_missing"]


def _whole_numbers(values: npt.ArrayLike, what: str) -> IntArray:
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise DataError(f"{what} must be a list of whole numbers.", hint="Pass counts of people or records.")
    return np.ascontiguousarray(array, dtype=np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class PeopleCounts:
    """``members[i]`` people whose smallest class has ``sizes[i]`` people and whose whole set of classes is that of ``alike[i]``.

    ``sizes`` and ``members`` make it a kind of groups: every number of small groups can be had over people from them.

    >>> p = PeopleCounts([1, 2], [1, 1], [3, 4])
    >>> p.n_members, p.whole_sets.sizes.tolist()
    (7, [1, 1])
    """

    sizes: IntArray
    alike: IntArray
    members: IntArray

    def __init__(self, sizes: npt.ArrayLike, alike: npt.ArrayLike, members: npt.ArrayLike) -> None:
        for name, values in (("sizes", sizes), ("alike", alike), ("members", members)):
            object.__setattr__(self, name, np.ascontiguousarray(values, dtype=np.int64))
        if not len(self.sizes) == len(self.alike) == len(self.members):
            raise InternalError("counts of people have unequal lengths.")
        if len(self.sizes) and min(int(self.sizes.min()), int(self.alike.min()), int(self.members.min())) < 1:
            raise InternalError("counts of people hold a number below one.")

    def __repr__(self) -> str:
        return f"<PeopleCounts of {self.n_members} people>"

    @property
    def n_members(self) -> int:
        """Distinct people."""
        return int(self.members.sum())

    @property
    def whole_sets(self) -> PeopleCounts:
        """The same people grouped by the whole set of their classes instead of by their smallest one."""
        return PeopleCounts(self.alike, self.alike, self.members)


LARGEST_KEY = 2**63
"""The combinations of the columns in one word stay below this."""


BLOCK = 1 << 15


def words_of(widths: Sequence[int]) -> list[range]:
    """The columns of each word, the first columns in the first word; each word holds as many columns as fit.

    >>> words_of([2**40, 2**20, 2**10, 2**60])
    [range(0, 2), range(2, 3), range(3, 4)]
    """
    words, start, space = [], 0, 1
    for j, width in enumerate(widths):
        if j > start and space * width >= LARGEST_KEY:
            words.append(range(start, j))
            start, space = j, 1
        space *= width
    return [*words, range(start, len(widths))]


class PackedCodes(Sequence[npt.NDArray[np.int32]]):
    """Codes of each column, unpacked on every call.

    ``words`` are the mixed-radix numbers of the digits of each class, the first column first, divided as :func:`words_of` says.
    Digits of column ``j`` are below ``widths[j]``; ``tables[j][digit]`` is its code. Without tables the digits are the codes.

    >>> codes = PackedCodes([np.array([5, 12], np.uint64)], (2, 10), (np.array([7, 8]), np.arange(10)))
    >>> [c.tolist() for c in codes]
    [[7, 8], [5, 2]]
    """

    def __init__(
        self, words: Sequence[npt.NDArray[np.uint64]], widths: Sequence[int], tables: Sequence[npt.ArrayLike] = ()
    ) -> None:
        self.words = tuple(words)
        self.widths = tuple(widths)
        self.tables = tuple(np.ascontiguousarray(t, dtype=np.int32) for t in tables)
        self._columns = words_of(self.widths)

    def __len__(self) -> int:
        return len(self.widths)

    def __iter__(self) -> Iterator[npt.NDArray[np.int32]]:
        return (self[j] for j in range(len(self)))

    def __getitem__(self, j):  # type: ignore[no-untyped-def]  # an index or a slice, as of any sequence
        if isinstance(j, slice):
            return tuple(self[i] for i in range(*j.indices(len(self))))
        return self._unpacked(range(len(self))[j])

    def may_lack(self, j: int) -> bool:
        """Whether a code of column ``j`` may stand for a missing value."""
        return bool(self.tables) and bool((self.tables[j] == MISSING).any())

    def first(self, width: int) -> tuple[npt.NDArray[np.uint64], ...]:
        """The words of the first ``width`` columns alone (at least one)."""
        last = next(w for w, columns in enumerate(self._columns) if width <= columns.stop)
        below = prod(self.widths[width : self._columns[last].stop])
        return (*self.words[:last], self.words[last] if below == 1 else self.words[last] // np.uint64(below))

    def _unpacked(self, j: int) -> npt.NDArray[np.int32]:
        word = next(w for w, columns in enumerate(self._columns) if j in columns)
        keys = self.words[word]
        below, width = prod(self.widths[j + 1 : self._columns[word].stop]), self.widths[j]
        shifted = below & (below - 1) == 0 and width & (width - 1) == 0  # quicker than dividing
        down = np.uint64(below.bit_length() - 1 if shifted else below)
        rest = np.uint64(width - 1 if shifted else width)
        cut, keep = (np.right_shift, np.bitwise_and) if shifted else (np.floor_divide, np.remainder)
        out = np.empty(len(keys), np.int32)
        digits = np.empty(min(BLOCK, len(out)), np.uint64)
        for start in range(0, len(out), BLOCK):
            part = keys[start : start + BLOCK]
            here = digits[: len(part)]
            keep(cut(part, down, out=here), rest, out=here)
            if self.tables:
                np.take(self.tables[j], here.view(np.int64), out=out[start : start + BLOCK], mode="clip")
            else:
                out[start : start + BLOCK] = here
        return out
