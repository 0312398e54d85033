"""New numbers in the type of the source: whether all fit is known when the last was seen, before any is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from shoal.engines.core.stored import can_be_former, former_fits, restored, with_former
from shoal.model.roles import Column


class Former:
    """The columns that may get their former type again; those that cannot are dropped from it as tables pass."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = list(columns)
        self._fit = {i for i, c in enumerate(columns) if can_be_former(c)}

    def __bool__(self) -> bool:
        return bool(self._fit)

    def watched(self, tables: Iterator[Any]) -> Iterator[Any]:
        """The tables as they are; each column is looked at until a value does not fit."""
        for table in tables:
            self._fit -= {i for i in self._fit if not former_fits(table.column(i), self._columns[i])}
            yield table

    def columns(self) -> list[Column]:
        """What is known of the columns, once the last table has passed."""
        return [with_former(c) if i in self._fit else c for i, c in enumerate(self._columns)]

    def given(self, table: Any) -> Any:
        """A table with its columns in their former types."""
        for i in sorted(self._fit):
            values = restored(table.column(i), with_former(self._columns[i]))
            table = table.set_column(i, self._columns[i].name, values)
        return table
