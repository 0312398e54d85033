"""Texts as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError
from shoal.kernels.arrow import as_doubles, to_numpy


def numbers_of(column: str, texts: Any) -> npt.NDArray[np.float64]:
    """Texts (or a pyarrow array) as numbers; a text that is none is counted, never shown.

    >>> numbers_of("age", ["1", "2.5"]).tolist()
    [1.0, 2.5]
    """
    if not len(texts):
        return np.zeros(0)
    typed = _typed_numbers(texts)
    if typed is not None:
        return typed
    if hasattr(texts, "null_count"):
        texts = texts.to_pylist()
    try:
        out = np.asarray(texts, dtype=np.str_).astype(np.float64)
    except ValueError:
        out = np.full(len(texts), np.nan)
    wrong = int((~np.isfinite(out)).sum())
    if wrong:
        wrong = sum(1 for t in texts if not _is_number(t))
        raise DataError(
            f"column '{column}' must hold numbers; {wrong} of {len(texts)} distinct values are not.",
            hint="Correct them, or treat the column as categories.",
            column=column,
        )
    return out


def _typed_numbers(values: Any) -> npt.NDArray[np.float64] | None:
    """A numeric pyarrow array without missing or infinite values as floats; None for anything else."""
    if not hasattr(values, "null_count"):
        return None
    import pyarrow as pa

    kind = values.type
    if values.null_count or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return None
    doubles = as_doubles(values)
    out = to_numpy(doubles.combine_chunks() if isinstance(doubles, pa.ChunkedArray) else doubles)
    return out if np.isfinite(out).all() else None


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False
