"""From the rows of a GROUP BY result to :class:`~shoal.model.counts.classes.ClassCounts`, in one canonical order.

Categories are sorted by value, classes by their codes, a missing value first, so that the same table gives the same counts
from every engine, whatever order its rows came in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.core.request import CountRequest
from shoal.kernels.arrow import positions, to_numpy
from shoal.kernels.group import pack
from shoal.model.counts.classes import ClassCounts, CodeArray, PeopleCounts, SensitiveCounts
from shoal.model.roles import Column


@dataclass(frozen=True)
class Assembled:
    """A class × value result: key columns, the sensitive value and the count of each row."""

    keys: list[Any]
    values: Any
    counts: Any


def encode(values: Any) -> tuple[CodeArray, Any]:
    """Codes and sorted categories of an Arrow array; −1 for missing.

    >>> import pyarrow as pa
    >>> codes, categories = encode(pa.array(["b", None, "a", "b"]))
    >>> codes.tolist(), categories.to_pylist()
    ([1, -1, 0, 1], ['a', 'b'])
    """
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    codes = positions(encoded.indices)
    categories, rank = sorted_categories(encoded.dictionary)
    return rank[codes], categories


def sorted_categories(values: Any) -> tuple[Any, CodeArray]:
    """Distinct values in order, and for each old position the new one; one entry more, for −1."""
    sorted_places = pc.sort_indices(values)
    order = to_numpy(sorted_places)
    rank = np.empty(len(order) + 1, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    rank[-1] = -1
    return values.take(sorted_places), rank


def assemble(
    request: CountRequest,
    columns: Sequence[Column],
    decoded: Sequence[Any],
    table: Any,
    inside: Mapping[str, Assembled],
    n_people: int | None,
    people: PeopleCounts | None = None,
) -> ClassCounts:
    """ClassCounts from the decoded key columns and the numbers ``n``, ``people`` and ``weight`` of ``table``."""
    encoded = [encode(d) for d in decoded]
    codes = [c for c, _ in encoded]
    categories = [k for _, k in encoded]
    order = class_order(codes, [len(k) for k in categories], table.num_rows)
    records = _numbers(table["n"], np.int64)[order]
    codes = [c[order] for c in codes]
    sizes = records
    if request.unit is not None:
        sizes = _numbers(table["people"], np.int64)[order]
    weights = _numbers(table["weight"], np.float64)[order] if request.weight is not None else None
    if not decoded and table.num_rows and int(records.sum()) == 0:
        sizes = records = sizes[:0]
    sensitive = {name: _sensitive(name, part, codes, categories) for name, part in inside.items()}
    return ClassCounts(
        sizes,
        columns=[c.name for c in columns],
        codes=codes,
        categories=categories,
        sensitive=sensitive,
        records=records if request.unit is not None else None,
        weights=weights,
        n_people=n_people,
        unit=request.unit,
        people=people,
    )


def class_order(codes: Sequence[CodeArray], cards: Sequence[int], n: int) -> npt.NDArray[np.intp]:
    """The order of the classes by their codes, the first column first."""
    if not codes:
        return np.arange(n)
    key, _ = pack(codes, cards)
    return np.argsort(key, kind="stable")


def _numbers(values: Any, dtype: type) -> npt.NDArray[Any]:
    target = "int64" if dtype is np.int64 else "float64"
    return values.combine_chunks().cast(target).to_numpy(zero_copy_only=False).astype(dtype, copy=False)  # type: ignore[no-any-return]


def _sensitive(name: str, part: Assembled, codes: Sequence[CodeArray], categories: Sequence[Any]) -> SensitiveCounts:
    """Find the class of each row of a class × value result, then sort by class and value."""
    classes = np.zeros(len(part.counts), np.int64)
    if codes:
        cards = [len(k) for k in categories]
        mine = [codes_in(values, known) for values, known in zip(part.keys, categories, strict=True)]
        both = [np.concatenate([a, b]) for a, b in zip(codes, mine, strict=True)]
        n = len(codes[0])
        key, _ = pack(both, cards)
        classes = np.searchsorted(key[:n], key[n:]).astype(np.int64)
    values, values_sorted = encode(part.values)
    order = np.lexsort((values, classes))
    counts = _numbers(part.counts, np.int64)
    return SensitiveCounts(name, classes[order], values[order], counts[order], values_sorted)


def codes_in(values: Any, known: Any) -> CodeArray:
    """The position of each value among ``known`` (sorted, distinct); −1 for missing."""
    found = pc.index_in(values, value_set=known)
    return found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32, copy=False)  # type: ignore[no-any-return]
