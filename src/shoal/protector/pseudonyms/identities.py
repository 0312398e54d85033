"""Identities as they come in: a list or column of texts, checked and encoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.errors import DataError, UsageError

LONGEST_IDENTITY = 4096


def text_column(values: Any) -> tuple[Any, bool]:
    """An Arrow text column, and whether a list came in. Numbers become their text."""
    import pyarrow as pa

    as_list = isinstance(values, list | tuple)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if as_list and any(v is not None and not isinstance(v, str) for v in values):
        raise UsageError("identities are text; found another type.", hint="Turn numbers into text yourself: 12 and 012 differ.")
    try:
        wanted = pa.string() if as_list else None
        column = values if isinstance(values, pa.Array) else pa.array(values, wanted, from_pandas=True)
    except (pa.ArrowException, UnicodeEncodeError):
        raise DataError("identities cannot be read as text.", hint="Give valid Unicode texts.") from None
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_integer(column.type) or pa.types.is_large_string(column.type):
        column = column.cast(pa.string())
    if not pa.types.is_string(column.type):
        raise UsageError(f"identities are text or whole numbers; found a column of type {column.type}.")
    return column, as_list


def encoded(texts: Sequence[str]) -> list[bytes]:
    """Identities as UTF-8; one that is longer than :data:`LONGEST_IDENTITY` bytes is refused."""
    try:
        plain = [text.encode() for text in texts]
    except UnicodeEncodeError:
        raise DataError("an identity is not valid Unicode text.", hint="Read the column as UTF-8 text.") from None
    if plain and max(map(len, plain)) > LONGEST_IDENTITY:
        raise DataError(f"an identity has more than {LONGEST_IDENTITY} bytes.", hint="Is this the right column?")
    return plain
