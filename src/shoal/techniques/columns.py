"""Columns of an Arrow table as numpy arrays and back, with errors that name column and count."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError, UsageError
from shoal.hierarchies.values import texts_of
from shoal.kernels.arrow import as_doubles
from shoal.kernels.numbers import numbers_of

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


def numbers(table: pa.Table, column: str) -> tuple[FloatArray, BoolArray]:
    """Values as floats (0 where missing) and where they are present. NaN is missing; text must spell numbers."""
    array = table.column(column)
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        encoded = array.combine_chunks().dictionary_encode()
        array = pa.array(numbers_of(column, encoded.dictionary.to_pylist())).take(encoded.indices)
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        what = f"column '{column}' must hold numbers; all {len(array)} of its values are of another kind."
        raise DataError(what, hint="Use a step for categories or dates.", column=column)
    array = as_doubles(array)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    present = pc.and_(pc.is_valid(array), pc.invert(pc.fill_null(pc.is_nan(array), False))).to_numpy(zero_copy_only=False)
    out = array.fill_null(0.0).to_numpy(zero_copy_only=False).copy()
    out[~present] = 0.0
    infinite = int(np.isinf(out).sum())
    if infinite:
        raise DataError(f"column '{column}' holds {infinite} infinite numbers.", hint="Correct or remove them.", column=column)
    return out, present.astype(np.bool_)


def distinct_numbers(column: str, values: Any) -> FloatArray:
    """Distinct values (texts or a pyarrow array) as numbers; typed ones without their texts, so that many need little memory."""
    typed = hasattr(values, "null_count") and not values.null_count and str(values.type) in ("int64", "double")
    return numbers_of(column, values if typed else texts_of(column, values))


def with_numbers(table: pa.Table, column: str, values: FloatArray, present: BoolArray, *, whole: bool = False) -> pa.Table:
    """The table with a column replaced by numbers; missing where not present. Infinite results are refused."""
    lost = int(((~np.isfinite(values) | (whole & (np.abs(values) >= 2.0**63))) & present).sum())
    if lost:
        hint = "Scale the column down."
        raise DataError(f"{lost} numbers of column '{column}' become too large to be written.", hint=hint, column=column)
    values = np.where(present, values, 0.0)
    if whole:
        array = pa.array(np.rint(values).astype(np.int64), mask=~present)
    else:
        array = pa.array(np.asarray(values, dtype=np.float64) + 0.0, mask=~present)  # −0.0 is 0.0
    return with_column(table, column, array)


def with_column(table: pa.Table, column: str, array: pa.Array) -> pa.Table:
    """The table with one column replaced."""
    return table.set_column(table.schema.get_field_index(column), column, array)


def need_group(k: int, n: int, what: str) -> None:
    """Refuse a group size below 1 or above the number of records."""
    if k < 1:
        raise UsageError(f"k must be at least 1; found {k}.")
    if n == 0:
        raise DataError(f"{what} has no value: all are missing.", hint="Leave the column out, or drop it.")
    if k > n:
        raise DataError(f"{what} has {n} values; groups of k={k} do not fit.", hint=f"Choose k ≤ {n}, or suppress the column.")
