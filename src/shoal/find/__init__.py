"""What a column is, before anybody is asked: its role, scale, order and missing values, with the evidence.

:func:`find_columns` looks at a whole table, :func:`find_column` at one column. Both load their word lists on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.find.finding import ColumnFacts, ColumnFinding, Evidence, Scale

if TYPE_CHECKING:
    from shoal.find.columns import find_column, find_columns

__all__ = ["ColumnFacts", "ColumnFinding", "Evidence", "Scale", "find_column", "find_columns"]


def __getattr__(name: str) -> object:
    if name in ("find_column", "find_columns"):
        from shoal.find import columns

        return getattr(columns, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
