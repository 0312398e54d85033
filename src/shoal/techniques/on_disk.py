"""Columns that are too long for memory: their rows with a number, in the order of these numbers, and back in their places.

``spill`` is the place to sort and keep tables (:class:`shoal.engines.recode.spill.Spill`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.kernels.arrow import from_numpy, to_numpy
from shoal.techniques.columns import FloatArray, numbers

SPREAD = np.uint64(30)
"""Bits that small whole numbers are moved up by when they are sorted by: their first bits choose the file."""

PLACE = "\x00place"

Rows = Callable[[], Iterator[Any]]


def counted(tables: Iterator[Any]) -> Iterator[tuple[Any, int]]:
    """Tables, and how many rows came before each."""
    before = 0
    for table in tables:
        yield table, before
        before += table.num_rows


def places(first: int, n: int) -> Any:
    """A table of the places ``first``, ``first`` + 1 …"""
    import pyarrow as pa

    return pa.table({PLACE: from_numpy(np.arange(first, first + n, dtype=np.uint64))})


def placed(tables: Iterator[Any], column: str) -> Iterator[Any]:
    """The rows with a number, and their places."""
    import pyarrow as pa

    for table, at in counted(tables):
        _, there = numbers(table, column)
        both = table.select([column]).append_column(PLACE, places(at, table.num_rows)[PLACE])
        yield both.filter(pa.array(there))


def rank_keys(values: FloatArray) -> npt.NDArray[np.uint64]:
    """Whole numbers in the order of the numbers: the bits of a double, with the sign turned.

    >>> keys = rank_keys(np.array([-2.0, -1.0, -0.0, 0.0, 3.5]))
    >>> bool((np.diff(keys.astype(object)) >= 0).all()), int(keys[2]) == int(keys[3])
    (True, True)
    """
    bits = (values + 0.0).view(np.uint64)
    top = np.uint64(1) << np.uint64(63)
    return np.where(bits & top, ~bits, bits | top)


def back(values: Iterator[Any], places: Iterator[Any], spill: Any) -> Iterator[Any]:
    """``values`` in the order of the places that stand beside them."""
    pairs = spill.beside(values, places)
    order: Iterator[Any] = spill.order((v, to_numpy(p[PLACE].combine_chunks()) << SPREAD) for v, p in pairs)
    return order
