"""Times that a table holds as text: read by the ISO rule, or refused with the number that cannot be read."""

from __future__ import annotations

import datetime
import re
from typing import Any

import numpy as np

from shoal.errors import DataError
from shoal.model.counts.classes import IntArray


def moments_of(name: str, texts: Any, rows: IntArray) -> Any:
    """Timestamps of the distinct texts of a column; ``rows`` are the records of each. With a zone: in UTC.

    >>> import pyarrow as pa
    >>> moments_of("t", pa.array(["2024-03-04T08:10:00.5+01:00"]), np.array([1])).to_pylist()
    [datetime.datetime(2024, 3, 4, 7, 10, 0, 500000)]
    >>> moments_of("t", pa.array(["2164-10-23 9:05"]), np.array([1])).to_pylist()
    [datetime.datetime(2164, 10, 23, 9, 5)]
    """
    import pyarrow as pa

    read = [_moment(t) for t in texts.to_pylist()]
    wrong = np.array([r is None for r in read], dtype=np.bool_)
    if wrong.any():
        raise DataError(
            f"column '{name}' holds text, and {int(wrong.sum()):,} of its {len(read):,} distinct values "
            f"({int(rows[wrong].sum()):,} records) are no times.",
            hint=f"Say how they are written (--read dates={name}:%d/%m/%Y) or which texts mean missing (--read null=…).",
            column=name,
        )
    return pa.array(read, pa.timestamp("us"))


_SHORT_HOUR = re.compile(r"(\d{4}-\d{2}-\d{2}[ T])(\d:)")
"""An hour of one digit, as spreadsheets and hospitals write it: 2164-10-23 9:05."""


def _moment(text: str) -> datetime.datetime | None:
    try:
        found = datetime.datetime.fromisoformat(_SHORT_HOUR.sub(r"\g<1>0\2", text.strip(), count=1))
    except ValueError:
        return None
    return found if found.tzinfo is None else found.astimezone(datetime.UTC).replace(tzinfo=None)
