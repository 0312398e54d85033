"""The order of groups that a step on batches publishes: that of their smallest values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from shoal.engines.core.kinds import kind_of
from shoal.kernels.text import canonical_text
from shoal.model.plan import SUPPRESSED
from shoal.model.roles import MOMENTS, NUMBERS


class Groups:
    """The smallest original value of each published group, of all tables that passed."""

    def __init__(self, group: str, original: str) -> None:
        self._names, self._found = (group, original), pa.table({})

    def add(self, table: Any) -> None:
        group, original = self._names
        if kind_of(table.schema.field(original).type) not in (*NUMBERS, *MOMENTS):
            return
        here = pa.table({"p": canonical_text(table[group]), "o": table[original]})
        found = pa.concat_tables([self._found, here]) if self._found.num_columns else here
        least = found.group_by("p").aggregate([("o", "min")])
        self._found = pa.table({"p": least["p"], "o": least["o_min"]})

    def in_order(self) -> tuple[str, ...]:
        """The groups in the order of their smallest value, where the values were numbers or moments; the rest comes last."""
        if not self._found.num_columns:
            return ()
        ranked = self._found.sort_by([("o", "ascending"), ("p", "ascending")])["p"].to_pylist()
        return tuple(t for t in ranked if t is not None and t != SUPPRESSED)


def seen_by(tables: Iterator[Any], groups: Sequence[Groups]) -> Iterator[Any]:
    """The tables as they come, shown to the groups."""
    for table in tables:
        for group in groups:
            group.add(table)
        yield table
