"""The values that a rule looks at: their texts and counts, and the error for values that it does not cover."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv

from shoal.errors import HierarchyError, HierarchyGapError, PolicyError, UsageError
from shoal.kernels.arrow import from_texts, to_numpy
from shoal.kernels.text import canonical_text
from shoal.model.plan import OnGap


def is_text(values: Any) -> bool:
    """Whether typed values are text: then numbers and dates must be read from it."""
    return hasattr(values, "null_count") and str(values.type) in ("string", "large_string", "string_view")


def texts_of(column: str, values: Any) -> tuple[str, ...]:
    """Canonical texts of distinct values; missing values are refused (they have no place in a hierarchy)."""
    if hasattr(values, "type") and hasattr(values, "null_count"):
        values = canonical_text(values).to_pylist()
    texts = tuple(values)
    missing = texts.count(None)
    if missing:
        hint = "Leave missing values out: they stay missing at every level, or get their own label."
        raise HierarchyError(f"the values of '{column}' hold {missing} missing ones.", hint=hint)
    if set(map(type, texts)) - {str} and not all(isinstance(t, str) for t in texts):
        raise UsageError(f"the values of '{column}' must be texts or a pyarrow array.")
    return texts


def counts_of(values: Sequence[Any] | npt.NDArray[Any], counts: Any) -> npt.NDArray[np.int64]:
    """Records per value; one each where no counts are given."""
    if counts is None:
        return np.ones(len(values), dtype=np.int64)
    given = np.asarray(counts)
    if given.dtype.kind not in "iu" and not (given.dtype.kind == "f" and bool((given == np.floor(given)).all())) and given.size:
        raise UsageError("counts and weights must be whole numbers of records.", hint="Round them, or repeat the records.")
    if given.ndim != 1 or len(given) != len(values):
        raise UsageError(f"there are {len(values)} values and {given.size} counts.")
    return given.astype(np.int64)


def gap_error(column: str, gaps: Sequence[str], records: int | None) -> HierarchyGapError:
    """The error for values that a hierarchy does not cover: counts in the message, values only in ``.values``."""
    of = f" ({records} records)" if records is not None else ""
    what = f"hierarchy '{column}' does not cover {len(gaps)} values{of}."
    hint = 'Extend the hierarchy, or pass on_gap="suppress" or on_gap="top". See error.values.'
    return HierarchyGapError(what, hint=hint, column=column, values=tuple(gaps))


def check_gap_choice(on_gap: OnGap) -> None:
    if on_gap not in ("error", "suppress", "top"):
        raise PolicyError(f"on_gap is '{on_gap}'.", hint="Choose error, suppress or top.")


def covered(column: str, texts: Sequence[str], counts: Any, covers: Callable[[str], bool], on_gap: OnGap) -> None:
    """Raise :func:`gap_error` for the texts that are not covered, unless ``on_gap`` takes care of them."""
    if on_gap != "error":
        return
    lost = [i for i, t in enumerate(texts) if not covers(t)]
    if lost:
        records = None if counts is None else int(np.asarray(counts)[lost].sum())
        raise gap_error(column, [texts[i] for i in lost], records)


def unlike(label: str, texts: Sequence[str]) -> str:
    """``label``, or a variant that is not a value of the data."""
    taken, number, free = set(texts), 2, label
    while free in taken:
        free = f"{label} {number}"
        number += 1
    return free


def first_line(text: str) -> str:
    """The first line of a long text, which is not copied for it."""
    end = text.find("\n")
    return text if end < 0 else text[:end]


Row = tuple[str, ...]
Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class CodedColumn:
    """One level of every row: the number of its label; labels in order of first appearance (a pyarrow array, or a tuple)."""

    codes: Codes
    values: Any

    @classmethod
    def of(cls, texts: Sequence[str]) -> CodedColumn:
        order: dict[str, int] = {}
        codes = np.fromiter((order.setdefault(t, len(order)) for t in texts), dtype=np.int32, count=len(texts))
        return cls(codes, tuple(order))

    @property
    def n_labels(self) -> int:
        return len(self.values)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return self.values if isinstance(self.values, tuple) else tuple(self.values.to_pylist())

    @property
    def array(self) -> Any:
        return from_texts(self.values) if isinstance(self.values, tuple) else self.values


class CodedRows(Sequence[Row]):
    """Rows of texts of equal length, held as codes; equal to the tuple of the same rows."""

    def __init__(self, columns: Sequence[CodedColumn]) -> None:
        self.columns = tuple(columns)

    @classmethod
    def of(cls, rows: Sequence[Row]) -> CodedRows:
        return cls([CodedColumn.of(texts) for texts in zip(*rows, strict=True)])

    @classmethod
    def from_text(cls, text: str, delimiter: str) -> CodedRows:
        """From text without quotes, in which every line has the same number of fields (else pyarrow raises)."""
        width, data = first_line(text).count(delimiter) + 1, text.encode()
        table = csv.read_csv(
            pa.py_buffer(data),
            read_options=csv.ReadOptions(autogenerate_column_names=True, block_size=len(data) + 1, use_threads=False),
            parse_options=csv.ParseOptions(delimiter=delimiter, quote_char=False),
            convert_options=csv.ConvertOptions(strings_can_be_null=False, column_types={f"f{i}": "string" for i in range(width)}),
        )
        encoded = [column.combine_chunks().dictionary_encode() for column in table.columns]
        return cls([CodedColumn(to_numpy(e.indices), e.dictionary) for e in encoded])

    def __len__(self) -> int:
        return len(self.columns[0].codes)

    def __iter__(self) -> Iterator[Row]:
        return zip(*[[c.labels[i] for i in c.codes.tolist()] for c in self.columns], strict=True)

    @overload
    def __getitem__(self, i: int) -> Row: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[Row, ...]: ...
    def __getitem__(self, i: int | slice) -> Row | tuple[Row, ...]:
        if isinstance(i, slice):
            return tuple(self[j] for j in range(*i.indices(len(self))))
        return tuple(c.labels[c.codes[i]] for c in self.columns)

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, CodedRows | tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<{len(self):,} rows of a hierarchy>"

    def level(self, number: int) -> tuple[Codes, tuple[str, ...]]:
        """The label of each value at a level, and the labels."""
        column = self.columns[number]
        return column.codes, column.labels

    def check(self) -> None:
        """Refuse a value with two rows, and a label whose groups lie under different parents."""
        repeated = len(self) - self.columns[0].n_labels
        if repeated:
            lines, list_ = ("line", "lists") if repeated == 1 else ("lines", "list")
            what = f"{repeated:,} {lines} of the hierarchy {list_} a value that another line lists already."
            raise HierarchyError(what, hint="Keep one line per value; see lint().")
        for level in range(1, len(self.columns) - 1):
            low, high = self.columns[level].codes, self.columns[level + 1].codes
            parent = np.empty(self.columns[level].n_labels, np.int32)
            parent[low] = high
            split = len(np.unique(low[parent[low] != high]))
            if split:
                groups = f"1 group of level {level} lies" if split == 1 else f"{split} groups of level {level} lie"
                hint = "Give groups with different parents different labels; see lint()."
                raise HierarchyError(f"the hierarchy is not monotone: {groups} in several of level {level + 1}.", hint=hint)
