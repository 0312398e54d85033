"""Arrow arrays that several steps make or read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.kernels.arrow import as_doubles, from_texts, is_missing, to_numpy


def text_array(texts: Sequence[str | None]) -> Any:
    """Texts as a pyarrow array."""
    return from_texts(texts)


def doubles(values: Any) -> npt.NDArray[np.float64]:
    """Numbers of any type as doubles; a missing one is NaN."""
    import pyarrow as pa

    found = as_doubles(values)
    found = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    return np.where(is_missing(found), np.nan, to_numpy(found)) if found.null_count else to_numpy(found)


def moments(values: Any) -> npt.NDArray[np.datetime64]:
    """Dates and moments, none of them missing, to the microsecond."""
    import pyarrow as pa

    return to_numpy(values.cast(pa.timestamp("us"), safe=False).view(pa.int64())).view("datetime64[us]")


def number_array(x: npt.NDArray[np.float64], kind: str) -> Any:
    """Doubles as a pyarrow array of kind ``integer`` or ``float``; −0.0 is 0.0."""
    import pyarrow as pa

    return pa.array(x.astype(np.int64), pa.int64()) if kind == "integer" else pa.array(x + 0.0, pa.float64())


def number_kind(kind: str, numbers: Sequence[float]) -> str:
    """Whole numbers stay whole where the step's own numbers are whole; otherwise the result is a float.

    >>> number_kind("integer", [5.0]), number_kind("integer", [0.5]), number_kind("decimal", [5.0])
    ('integer', 'float', 'float')
    """
    return "integer" if kind == "integer" and all(float(x).is_integer() for x in numbers) else "float"
