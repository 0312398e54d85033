"""Rows of a listed hierarchy, column by column: for each level the number of every row's label, and the labels.

A file of a hundred thousand lines is read, checked and cut into levels without a Python object per field; they are made when
somebody asks for a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from shoal.errors import HierarchyError
from shoal.kernels.arrow import to_numpy

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


class CodedRows(Sequence[Row]):
    """Rows of texts of equal length, held as codes; equal to the tuple of the same rows."""

    def __init__(self, columns: Sequence[CodedColumn]) -> None:
        self.columns = tuple(columns)

    @classmethod
    def of(cls, rows: Sequence[Row]) -> CodedRows:
        return cls([CodedColumn.of(texts) for texts in zip(*rows, strict=True)])

    @classmethod
    def from_text(cls, text: bytes, delimiter: str) -> CodedRows:
        """From text without quotes, in which every line has the same number of fields (else pyarrow raises)."""
        import pyarrow as pa
        from pyarrow import csv

        width = text.split(b"\n", 1)[0].count(delimiter.encode()) + 1
        table = csv.read_csv(
            pa.py_buffer(text),
            read_options=csv.ReadOptions(autogenerate_column_names=True, block_size=len(text) + 1, use_threads=False),
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

    @cached_property
    def first(self) -> npt.NDArray[np.intp]:
        """The first row of each value: lines that repeat another are left out."""
        leaves = self.columns[0]
        if leaves.n_labels == len(self):
            return np.arange(len(self))
        return np.unique(leaves.codes, return_index=True)[1]

    def level(self, number: int) -> tuple[Codes, tuple[str, ...]]:
        """The label of each value (in order of first appearance) at a level, and the labels."""
        column = self.columns[number]
        return column.codes[self.first], column.labels

    def check(self) -> None:
        """Refuse a value with two different rows, and a label whose groups lie under different parents."""
        own = self.first[self.columns[0].codes]
        conflicts = int(np.logical_or.reduce([c.codes != c.codes[own] for c in self.columns]).sum())
        if conflicts:
            lines, give = ("line", "gives") if conflicts == 1 else ("lines", "give")
            raise HierarchyError(
                f"{conflicts} {lines} of the hierarchy {give} a value that stands in it already other parents.",
                hint="Keep one line per value; see lint().",
            )
        for level in range(1, len(self.columns) - 1):
            low, high = self.columns[level].codes, self.columns[level + 1].codes
            parent = np.empty(self.columns[level].n_labels, np.int32)
            parent[low] = high
            split = len(np.unique(low[parent[low] != high]))
            if split:
                groups = f"1 group of level {level} lies" if split == 1 else f"{split} groups of level {level} lie"
                raise HierarchyError(
                    f"the hierarchy is not monotone: {groups} in several of level {level + 1}.",
                    hint="Give groups with different parents different labels; see lint().",
                )
