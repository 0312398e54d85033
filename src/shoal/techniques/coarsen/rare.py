"""Rare values of a column whose other values are too many to stand in a plan: counted where the rows are, by sorting on disk.

Takes    a column and a number of records
Returns  a whole-column step: ``*`` for the values of fewer records
Cost     two sorts of narrow tables; a value is known by 128 bits of its text
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from shoal.errors import PolicyError
from shoal.kernels.arrow import from_numpy, to_numpy
from shoal.kernels.order import text_hashes
from shoal.kernels.text import canonical_text
from shoal.model.plan import SUPPRESSED, ColumnStep, OnGap, Publishes, register_step
from shoal.techniques.columns import PLACE, Rows, back, counted, places, with_column

KeyArray = npt.NDArray[np.uint64]

HASH, OTHER, STAYS = "\x00hash", "\x00other", "stays"


@register_step
@dataclass(frozen=True)
class Rare(ColumnStep):
    """Publish ``*`` for values of fewer than ``min_count`` records; missing ones stay missing.

    The plan names no value: it is what ``rare`` becomes where more values stay than a plan can hold.

    >>> import pyarrow as pa
    >>> Rare("job", min_count=2).run(pa.table({"job": ["nurse", "nurse", "astronaut", None]}), 0)["job"].to_pylist()
    ['nurse', 'nurse', '*', None]
    """

    min_count: int = 2
    on_gap: ClassVar[OnGap] = "suppress"
    kind: ClassVar[str] = "rare"
    publishes: ClassVar[Publishes] = "own"
    draws: ClassVar[bool] = False
    codes_apart: ClassVar[bool] = False
    by_place: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if isinstance(self.min_count, bool) or not isinstance(self.min_count, int) or self.min_count < 1:
            raise PolicyError(f"min_count of '{self.column}' must be a whole number of at least 1.")

    def run(self, table: Any, seed: int) -> Any:
        encoded = canonical_text(table.column(self.column)).dictionary_encode()
        codes = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
        times = np.bincount(codes, minlength=len(encoded.dictionary) + 1)
        return self._hidden(table, times[codes] >= self.min_count)

    def streamed(self, rows: Rows, spill: Any, seed: int) -> Iterator[Any]:
        ordered = spill.keep(spill.order(_keys(rows(), self.column)))
        across = _across(ordered.tables([HASH, OTHER]))
        flags = (_flags(t, across, self.min_count) for t in ordered.tables([HASH, OTHER]))
        taken = spill.taken(back(flags, ordered.tables([PLACE]), spill))
        return (self._hidden(t, taken(t.num_rows)[STAYS].to_numpy()) for t in rows())

    def _hidden(self, table: Any, stays: npt.NDArray[np.bool_]) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = canonical_text(table.column(self.column))
        shown = pc.if_else(pc.or_(pa.array(stays), texts.is_null()), texts, SUPPRESSED)
        return with_column(table, self.column, shown)


def _keys(tables: Iterator[Any], column: str) -> Iterator[tuple[Any, KeyArray]]:
    """Places, and two hashes of each text; the rows are to be sorted by the first."""
    import pyarrow.compute as pc

    for table, at in counted(tables):
        texts = canonical_text(table.column(column))
        first, other = text_hashes(texts), text_hashes(pc.binary_join_element_wise("=", texts, ""))
        both = places(at, table.num_rows).append_column(HASH, from_numpy(first)).append_column(OTHER, from_numpy(other))
        yield both, first


def _across(tables: Iterator[Any]) -> Counter[tuple[int, int]]:
    """The records of the values at the ends of tables: their rows may go on in the next one."""
    found: Counter[tuple[int, int]] = Counter()
    for table in tables:
        _, a, b, times = _values(table)
        for i in _at_ends(a):
            found[int(a[i]), int(b[i])] += int(times[i])
    return found


def _flags(table: Any, across: Counter[tuple[int, int]], least: int) -> Any:
    """Whether the value of each row is that of at least so many."""
    import pyarrow as pa

    order, a, b, here = _values(table)
    times = here.copy()
    for i in _at_ends(a):
        times[i] = across[int(a[i]), int(b[i])]
    stays = np.empty(len(order), np.bool_)
    stays[order] = np.repeat(times >= least, here)
    return pa.table({STAYS: stays})


def _values(table: Any) -> tuple[npt.NDArray[np.int64], KeyArray, KeyArray, npt.NDArray[np.int64]]:
    """The rows of a table in the order of both hashes; the pairs of hashes that there are, and the rows of each.

    They come in the order of the first: nearly always that is the order of both, as texts of one hash are the same text.
    """
    a, b = (to_numpy(table[n].combine_chunks()) for n in (HASH, OTHER))
    order = np.arange(len(a))
    new, differs = np.ones((2, len(a)), np.bool_)
    new[1:], differs[1:] = a[1:] != a[:-1], b[1:] != b[:-1]
    if (differs & ~new).any():
        order = np.lexsort((b, a))
        a, b = a[order], b[order]
        new[1:] = (a[1:] != a[:-1]) | (b[1:] != b[:-1])
    starts = np.flatnonzero(new)
    return order, a[starts], b[starts], np.diff(np.append(starts, len(a)))


def _at_ends(a: KeyArray) -> npt.NDArray[np.int64]:
    return np.flatnonzero((a == a[0]) | (a == a[-1])) if len(a) else np.zeros(0, np.int64)
