"""Permutation and rank swapping of columns that are too long for memory: the same exchanges as in memory, by sorting on disk.

Takes    ``rows()``, which gives the columns in tables, as often as it is called, and a place to sort and keep tables
         (:class:`shoal.engines.recode.spill.Spill`)
Returns  the new column(s) in tables, in the order of the rows
Cost     a few sorts of narrow tables; rank swapping also holds 8 bytes per record in memory
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError
from shoal.kernels.arrow import from_numpy, to_numpy
from shoal.kernels.order import row_hashes
from shoal.kernels.text import canonical_text
from shoal.techniques.columns import PLACE, SPREAD, Rows, back, counted, numbers, placed, places, rank_keys, with_column
from shoal.techniques.kernels import draws as random

LEAST_WINDOW = 5
"""Ranks that a value may move at least, and values that a column needs for rank swapping."""

STRATUM = "\x00stratum"


def permuted(rows: Rows, spill: Any, key: bytes, columns: Sequence[str], within: Sequence[str]) -> Iterator[Any]:
    """The columns in the order of random numbers, one per row; inside the strata of ``within``, if any."""
    mixed = spill.order((t, random.bits(key, random.places(at, t.num_rows))) for t, at in counted(rows()))
    if not within:
        need_company(columns[0], (), int(_is_one(rows())))
        return (t.select(list(columns)) for t in mixed)
    values = spill.order((t.select(list(columns)), _strata(t, within)) for t in mixed)
    ordered = spill.keep(spill.order(_with_strata(t, at, within) for t, at in counted(rows())))
    need_company(columns[0], within, _alone(to_numpy(t[STRATUM].combine_chunks()) for t in ordered.tables([STRATUM])))
    return back(values, ordered.tables([PLACE]), spill)


def rank_swapped(rows: Rows, spill: Any, column: str, percent: float, ties: bytes, partners: bytes) -> Iterator[Any]:
    """The column with every number at the place of its partner; missing values where they were."""
    from shoal.techniques.kernels.swap import Swap

    there = counted(placed(rows(), column))
    mixed = spill.order((t, random.bits(ties, random.places(before, t.num_rows))) for t, before in there)
    ranked = spill.keep(spill.order((t, rank_keys(numbers(t, column)[0])) for t in mixed))
    count = sum(t.num_rows for t in ranked.tables())
    need_values(column, count)
    swap = Swap(count, window(count, percent))

    def moved() -> Iterator[Any]:
        for table, first in counted(ranked.tables()):
            partner = swap.partners(first, random.uniforms(partners, random.places(first, table.num_rows)))
            yield table.select([column]), partner.astype(np.uint64) << SPREAD

    swapped = back(spill.order(moved()), (t.select([PLACE]) for t in ranked.tables()), spill)
    return _put_in(rows(), column, swapped, spill)


def window(count: int, percent: float) -> int:
    """How many ranks a value may move."""
    return max(LEAST_WINDOW, int(count * percent / 100))


def need_values(column: str, count: int) -> None:
    """Refuse a column of so few values that anyone could put them back."""
    if count < LEAST_WINDOW:
        raise DataError(
            f"column '{column}' has {count} values; rank swapping needs {LEAST_WINDOW}.",
            hint="Fewer are put back by trying. Leave the column out, or suppress it.",
            column=column,
        )


def need_company(column: str, within: Sequence[str], alone: int) -> None:
    """Refuse to exchange values where records have nobody to exchange with: they would be published as they were."""
    if alone:
        where = f" within {', '.join(map(repr, within))}" if within else ""
        raise DataError(
            f"{alone} record(s) are alone{where}: permutation would publish their value of '{column}' as it is.",
            hint="Take fewer or coarser columns for 'within', or leave such records out first."
            if within
            else "Leave the column out, or suppress it.",
            column=column,
        )


def _is_one(tables: Iterator[Any]) -> bool:
    """Whether there is one row; no more are read than it takes to know."""
    seen = 0
    for table in tables:
        seen += table.num_rows
        if seen > 1:
            return False
    return seen == 1


def _alone(strata: Iterator[npt.NDArray[np.uint64]]) -> int:
    """How many numbers occur once, in parts that are in order one after the other."""
    alone, last, times = 0, None, 0
    for part in strata:
        values, counts = np.unique(part, return_counts=True)
        if not len(values):
            continue
        if values[0] == last:
            counts[0] += times
        else:
            alone += times == 1
        alone += int((counts[:-1] == 1).sum())
        last, times = values[-1], int(counts[-1])
    return alone + (times == 1)


def _with_strata(table: Any, first: int, within: Sequence[str]) -> tuple[Any, npt.NDArray[np.uint64]]:
    """The places of rows beside their strata, which they are to be sorted by."""
    strata = _strata(table, within)
    return places(first, table.num_rows).append_column(STRATUM, from_numpy(strata)), strata


def _strata(table: Any, within: Sequence[str]) -> npt.NDArray[np.uint64]:
    return row_hashes([canonical_text(table.column(n)) for n in within], table.num_rows, 0)


def _put_in(rows: Iterator[Any], column: str, values: Iterator[Any], spill: Any) -> Iterator[Any]:
    """The rows with the next values where a number is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    taken = spill.taken(values)
    for table in rows:
        here = table.column(column).combine_chunks()
        _, present = numbers(table, column)
        new = taken(int(present.sum())).column(column).combine_chunks()
        yield with_column(table.select([column]), column, pc.replace_with_mask(here, pa.array(present), new))
