"""Is this one row per person? A column that looks like the number of a person and repeats says that it is not.

Looked for in the first rows of the columns that have no other role, and counted in the whole table where one is found.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from shoal.engines.table import Table
from shoal.kernels.arrow import to_numpy
from shoal.kernels.text import canonical_text

FIRST_ROWS = 10_000
MOST_COLUMNS = 200
KINDS = ("text", "integer", "binary")


@dataclass(frozen=True)
class Repeating:
    """A column that may name people: so many different ids in so many rows."""

    column: str
    ids: int
    rows: int

    @property
    def sentence(self) -> str:
        """
        >>> Repeating("pid", 500, 10_041).sentence
        "Is this one row per person? Column 'pid' repeats: 500 ids in 10,041 rows. If it names people, name it as unit."
        """
        return (
            f"Is this one row per person? Column '{self.column}' repeats: {self.ids:,} ids in {self.rows:,} rows. "
            "If it names people, name it as unit."
        )


def repeating_ids(table: Table, besides: Collection[str] = ()) -> Repeating | None:
    """The column outside ``besides`` that looks like the number of a person and repeats; None where there is none.

    Nothing is looked at where only aggregates may be read.
    """
    known = [c for c in table.schema.columns if c.kind in KINDS and c.name not in besides][:MOST_COLUMNS]
    if not known or table.only_aggregates:
        return None
    first = table.first_rows([c.name for c in known], FIRST_ROWS)
    if not first or len(first[0]) == 0:
        return None
    counted = [pc.drop_null(cells).value_counts() for cells in first]
    if all(len(found) == len(cells) - cells.null_count for cells, found in zip(first, counted, strict=True)):
        return None  # no value stands twice

    from shoal.find.columns import find_columns  # the words of all topics: a small table is measured sooner without
    from shoal.find.finding import ColumnFacts

    facts = []
    for column, cells, found in zip(known, first, counted, strict=True):
        values, sizes = found.field("values"), to_numpy(found.field("counts"))
        texts = [str(t) for t in canonical_text(values).to_pylist()]
        rows = len(cells)
        facts.append(ColumnFacts(column.name, column.kind, texts, sizes, rows, cells.null_count, len(values), column.note))
    name = next((f.name for f in find_columns(facts) if f.mark == "unit"), None)
    if name is None:
        return None
    ids, sizes = table.values(name)
    return Repeating(name, len(ids) - ids.null_count, int(np.asarray(sizes).sum()))
