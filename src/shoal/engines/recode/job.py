"""Writing the published rows: to a file in the order of a keyed hash of what is published, or to a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.connect import connect
from shoal.engines.core.base import Engine
from shoal.engines.core.kinds import no_rows
from shoal.engines.core.stored_types import can_be_former, former_fits, restored, stored_or_decoded, with_former
from shoal.engines.files.statistical.write import Codes
from shoal.engines.files.writers import write_file
from shoal.engines.recode.spill import KEY, Held, shuffled
from shoal.engines.recode.sql import Rows, facts, final, hashed
from shoal.kernels.arrow import from_numpy
from shoal.kernels.order import row_hashes
from shoal.model.display import Progress
from shoal.model.plan import Plan
from shoal.model.roles import Column
from shoal.steps.sql import column, exp, named, select, subquery


@dataclass
class Job:
    """Rows to write, and what is counted on the way.

    ``given`` gives the rows as batches with ``p… g…`` and ``h``; ``rows`` is the query behind them, where they come from one.
    ``expected`` is about how many there will be, for the progress; at most ``held`` bytes are kept in memory to order them.
    """

    engine: Engine
    given: Callable[[], Iterator[Any]]
    columns: Sequence[Column]
    flagged: Sequence[int]
    plan: Plan
    folder: Path
    held: int
    expected: int
    progress: Progress | None
    rows: Rows | None = None
    written: int = 0
    flags: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        cells = ["h"] if self.rows is not None and self.rows.cells else []
        self.flags = dict.fromkeys([*(f"g{i}" for i in self.flagged), *cells], 0)

    def to_file(self, path: Path, format: str, raw: bool, hidden: frozenset[str]) -> Codes:
        batches = self._batches(self._published())
        first = next(batches)
        return write_file(path, format, first.schema, chain([first], batches), self.columns, raw=raw, hidden=hidden)

    def can_be_parts(self, home: Engine, out: Path) -> bool:
        """Whether the source's own engine can write the rows as a folder of files: they come from one query, in its types."""
        apart = len({c.name.lower() for c in self.columns}) == len(self.columns)
        plain = self.rows is not None and self.engine is home and self.plan.shuffle and not Former(self.columns)
        return plain and apart and home.writes_parts(out)

    def to_parts(self, out: Path) -> str:
        """A folder of Parquet files that the engine's own machines write; where they see it."""
        assert self.rows is not None
        self._tell(0.1)
        self._add_up(self.rows)
        self._tell(0.4)
        names = [c.name for c in self.columns]
        return self.engine.write_parts(hashed(self.engine, self.rows, self.plan), names, out, self.written)

    def _add_up(self, rows: Rows) -> None:
        """Rows and flags, counted by the engine."""
        sums = self.engine.fetch(facts(rows))
        self.written = int(sums["n"][0].as_py())
        self.flags = {f: int(sums[f][0].as_py() or 0) for f in self.flags}

    def to_table(self, home: Engine, out: str) -> None:
        """A new table in the source's own database by CREATE TABLE AS, elsewhere by loading batches."""
        if self.rows is not None and self.engine is home and out.startswith("::") and home.creates_by_query:
            self._add_up(self.rows)
            home.create_table(out[2:], _name_columns(final(home, self.rows, self.plan), self.columns))
            return
        target, name = (home, out[2:]) if out.startswith("::") else connect(out)
        with ExitStack() as stack:
            if target is not home:
                stack.callback(target.close)
            target.load_table(name, self._batches(self._published()), self.columns)

    def _batches(self, published: Iterator[pa.Table]) -> Iterator[pa.RecordBatch]:
        """Published batches under their own names, in their order; flags are added up and left out."""
        former, half = Former(self.columns), 0.0
        tables = former.watched(published)
        if self.plan.shuffle:
            tables, half = shuffled(self._keyed(tables), self.folder, self.held), 0.5
        elif former:  # whether all fit is known at the end
            tables = Held(self.folder, "published", tables).tables()
        for table in tables:
            self.columns = former.columns()
            table = former.given(table)
            self.written += table.num_rows
            self._tell(half + (1 - half) * self.written / max(1, self.expected))
            yield from table.combine_chunks().to_batches() or [no_rows(table.schema)]

    def _published(self) -> Iterator[pa.Table]:
        names = [c.name for c in self.columns]
        schema, read = None, 0
        for batch in self.given():
            for flag in self.flags:
                self.flags[flag] += int(pc.sum(batch.column(flag)).as_py() or 0)
            here = dict(zip(batch.schema.names, batch.columns, strict=True))  # a look-up by name goes through all names
            arrays = [stored_or_decoded(self.engine, here[f"p{i}"], c) for i, c in enumerate(self.columns)]
            schema = schema or pa.schema([pa.field(n, a.type) for n, a in zip(names, arrays, strict=True)])
            read += batch.num_rows
            if self.plan.shuffle:
                self._tell(0.5 * read / max(1, self.expected))
            yield pa.table([a.cast(t) for a, t in zip(arrays, schema.types, strict=True)], schema=schema)

    def _keyed(self, tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
        for table in tables:
            yield table.append_column(KEY, from_numpy(row_hashes(table.columns, table.num_rows, self.plan.seed)))

    def _tell(self, share: float) -> None:
        if self.progress is not None:
            self.progress(min(1.0, share), "writing")


def _name_columns(query: Any, columns: Sequence[Column]) -> Any:
    """p0, p1 … under the columns' own names."""
    terms = [named(column(f"p{i}", "o"), c.name) for i, c in enumerate(columns)]
    ordered = query.copy()
    order = ordered.args.get("order")
    ordered.set("order", None)
    outer = select(terms, subquery(ordered, "o"))
    if order is not None:
        for node in order.find_all(exp.Column):
            node.set("table", exp.to_identifier("o", quoted=True))
        outer.set("order", order)
    return outer


class Former:
    """The columns that may get their former type again; those that cannot are dropped from it as tables pass."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = list(columns)
        self._fit = {i for i, c in enumerate(columns) if can_be_former(c)}

    def __bool__(self) -> bool:
        return bool(self._fit)

    def watched(self, tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """The tables as they are; each column is looked at until a value does not fit."""
        for table in tables:
            self._fit -= {i for i in self._fit if not former_fits(table.column(i), self._columns[i])}
            yield table

    def columns(self) -> list[Column]:
        """What is known of the columns, once the last table has passed."""
        return [with_former(c) if i in self._fit else c for i, c in enumerate(self._columns)]

    def given(self, table: pa.Table) -> pa.Table:
        """A table with its columns in their former types."""
        for i in sorted(self._fit):
            values = restored(table.column(i), with_former(self._columns[i]))
            table = table.set_column(i, self._columns[i].name, values)
        return table
