"""Cells of a table as text, whatever their type: the form in which people's data are compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from shoal.kernels.text import canonical_text


def text_columns(batches: Iterable[Any], columns: Sequence[str]) -> dict[str, list[str | None]]:
    """Columns of Arrow batches as lists of texts; whole numbers that a frame keeps as floats lose their ``.0``.

    >>> import pyarrow as pa
    >>> text_columns([pa.record_batch({"zip": pa.array([4011.0, None])})], ["zip"])
    {'zip': ['4011', None]}
    """
    import pyarrow as pa

    out: dict[str, list[str | None]] = {name: [] for name in columns}
    for batch in batches:
        for place, name in enumerate(columns):
            column = batch.column(place)
            texts = canonical_text(column).to_pylist()
            if pa.types.is_floating(column.type):
                texts = [None if t is None else t.removesuffix(".0") for t in texts]
            out[name].extend(texts)
    return out
