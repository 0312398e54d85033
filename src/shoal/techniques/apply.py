"""Apply a step on a table in memory: for previews and small tables, and as the plain definition that engines must match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.recode.batch_steps import by_value
from shoal.errors import UsageError
from shoal.kernels.arrow import kind_of
from shoal.kernels.order import row_numbers
from shoal.kernels.text import canonical_text, same_cells
from shoal.model.plan import ColumnStep, RowStep, Step, StreamStep
from shoal.model.roles import Column
from shoal.model.seed import safe_seed
from shoal.steps import Clamp, Constant, Drop, ExpressionStep, Keep, Round
from shoal.techniques.columns import numbers, with_column, with_numbers


@dataclass(frozen=True)
class Applied:
    """The table after a step, and the share of changed cells of each column that the step replaces (dropped: 1)."""

    table: Any
    changed: dict[str, float]


def apply(step: Step, table: pa.Table, *, seed: int = 0, batch_size: int = 65_536, rows: Any = None) -> Applied:
    """``table`` (pyarrow) after ``step``; where it draws and no seed is stated, from a secret one that is forgotten.

    ``rows`` are the numbers that random steps draw by (:func:`shoal.kernels.order.row_numbers`): those of this table, unless it
    comes from an earlier step and the numbers of its original are given.

    >>> import pyarrow as pa
    >>> from shoal.steps import Round
    >>> done = apply(Round("pay", 10), pa.table({"pay": [12, 20, None]}))
    >>> done.table["pay"].to_pylist(), round(done.changed["pay"], 2)
    ([10, 20, None], 0.33)
    """
    missing = [c for c in (*step.columns, *getattr(step, "needs", ())) if c not in table.column_names]
    if missing:
        raise UsageError(f"column '{missing[0]}' of step '{step.kind}' is not in the table.")
    seed = safe_seed(seed) if step.draws else 0
    if isinstance(step, ColumnStep):
        out = step.run(table, seed)
    elif isinstance(step, StreamStep):
        out = _stream(step, table, seed, batch_size, rows)
    elif isinstance(step, RowStep):
        out = _chosen(step, table, seed, batch_size, rows)
    else:
        out = _expression(step, table)
    return Applied(out, {name: _share_changed(table, out, name) for name in step.columns})


def _stream(step: StreamStep, table: pa.Table, seed: int, batch_size: int, rows: Any) -> pa.Table:
    look = step.look()
    if look is not None:
        look.add(table)
        step = look.step()
    run, rows = step.start(seed), _numbers(step, table, rows)
    starts = range(0, max(table.num_rows, 1), batch_size)
    parts = [run(table.slice(start, batch_size), rows[start : start + batch_size]) for start in starts]
    return pa.concat_tables(parts, promote_options="permissive")


def _chosen(step: RowStep, table: pa.Table, seed: int, batch_size: int, rows: Any) -> pa.Table:
    stays, rows = step.start(seed), _numbers(step, table, rows)
    starts = range(0, table.num_rows, batch_size)
    parts = [stays(table.slice(start, batch_size), rows[start : start + batch_size]) for start in starts]
    return table.filter(pa.array(np.concatenate([np.zeros(0, dtype=np.bool_), *parts])))


def _numbers(step: StreamStep | RowStep, table: pa.Table, rows: Any) -> Any:
    """The number of each row, for steps that draw by it."""
    if rows is not None:
        return rows
    return row_numbers(table.columns, table.num_rows) if step.by_row else np.zeros((table.num_rows, 2), np.uint64)


def _expression(step: Step, table: pa.Table) -> pa.Table:
    if isinstance(step, Drop):
        return table.drop_columns([step.column])
    if not isinstance(step, ExpressionStep):
        raise UsageError(f"step '{step.kind}' cannot be applied in memory.")
    kind = kind_of(table.schema.field(step.column).type)
    if isinstance(step, (Keep, Constant)) or kind not in ("text", "other"):
        if isinstance(step, Keep):
            return table
        return with_column(table, step.column, by_value(step, table.column(step.column), Column(step.column, kind)))
    if isinstance(step, (Round, Clamp)):  # numbers in texts
        x, present = numbers(table, step.column)
        return _expression(step, with_numbers(table, step.column, x, present, whole=False))
    return with_column(table, step.column, _labels(step, table))


def _labels(step: ExpressionStep, table: pa.Table) -> pa.Table:
    """The step on each distinct text."""
    encoded = canonical_text(table.column(step.column)).dictionary_encode()
    out = pa.array(step.texts(encoded.dictionary.to_pylist()).texts(), pa.string()).take(encoded.indices)
    return out if step.missing is None else out.fill_null(step.missing)


def _share_changed(before: pa.Table, after: pa.Table, name: str) -> float:
    if name not in after.column_names:
        return 1.0
    same = same_cells(before.column(name), after.column(name))
    return 1.0 - float(pc.mean(same).as_py() or 0.0) if len(same) else 0.0
