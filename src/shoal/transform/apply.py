"""Carry out a step on a table in memory: for previews and small tables, and as the plain definition that engines must match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.engines.core.count_sql import gap_error
from shoal.engines.core.kinds import kind_of, normalize
from shoal.engines.recode.in_memory import apply_step
from shoal.errors import UsageError
from shoal.hierarchies.evaluate import evaluate
from shoal.kernels.rounding import to_multiple
from shoal.kernels.text import same_cells
from shoal.model.plan import Clamp, ColumnStep, Constant, Cut, Drop, Keep, MapValues, Prefix, Round, RowStep, Step, StreamStep
from shoal.model.roles import Column
from shoal.transform.columns import numbers, with_column, with_numbers


@dataclass(frozen=True)
class Applied:
    """The table after a step, and the share of changed cells of each column that the step replaces (dropped: 1)."""

    table: Any
    changed: dict[str, float]


def apply(step: Step, table: Any, *, seed: int = 0, batch_size: int = 65_536) -> Applied:
    """``table`` (pyarrow) after ``step``.

    >>> import pyarrow as pa
    >>> from shoal.model.plan import Round
    >>> done = apply(Round("pay", 10), pa.table({"pay": [12, 20, None]}))
    >>> done.table["pay"].to_pylist(), round(done.changed["pay"], 2)
    ([10, 20, None], 0.33)
    """
    missing = [c for c in (*step.columns, *getattr(step, "needs", ())) if c not in table.column_names]
    if missing:
        raise UsageError(f"column '{missing[0]}' of step '{step.kind}' is not in the table.")
    if isinstance(step, ColumnStep):
        out = step.run(table, seed)
    elif isinstance(step, StreamStep):
        out = _streamed(step, table, seed, batch_size)
    elif isinstance(step, RowStep):
        out = _chosen(step, table, seed, batch_size)
    else:
        out = _expression(step, table)
    return Applied(out, {name: _changed(table, out, name) for name in step.columns})


def _streamed(step: StreamStep, table: Any, seed: int, batch_size: int) -> Any:
    import pyarrow as pa

    run = step.start(seed)
    parts = [run(table.slice(start, batch_size), start) for start in range(0, max(table.num_rows, 1), batch_size)]
    return pa.concat_tables(parts, promote_options="permissive")


def _chosen(step: RowStep, table: Any, seed: int, batch_size: int) -> Any:
    import pyarrow as pa

    stays = step.start(seed)
    batches = [(table.slice(start, batch_size), start) for start in range(0, table.num_rows, batch_size)]
    return table.filter(pa.array(np.concatenate([np.zeros(0, dtype=np.bool_), *(stays(b, at) for b, at in batches)])))


def _expression(step: Step, table: Any) -> Any:
    import pyarrow as pa

    if isinstance(step, Keep):
        return table
    if isinstance(step, Drop):
        return table.drop_columns([step.column])
    if isinstance(step, Constant):
        return with_column(table, step.column, pa.array([step.value] * table.num_rows, pa.string()))
    kind = kind_of(table.schema.field(step.column).type)
    if isinstance(step, (MapValues, Cut, Prefix, Round, Clamp)) and kind not in ("text", "other"):
        return with_column(table, step.column, _valued(step, table, kind))
    if isinstance(step, (Round, Clamp)):
        x, present = numbers(table, step.column)
        whole = pa.types.is_integer(table.schema.field(step.column).type) and _whole(step)
        out = to_multiple(x, step.base) if isinstance(step, Round) else np.clip(x, step.low, step.high)
        return with_numbers(table, step.column, out, present, whole=whole)
    if isinstance(step, (MapValues, Cut, Prefix)):
        return with_column(table, step.column, _labels(step, table))
    raise UsageError(f"step '{step.kind}' cannot be carried out in memory.")


def _valued(step: MapValues | Cut | Prefix | Round | Clamp, table: Any, kind: str) -> Any:
    """The step on each distinct value, as COUNT and RECODE by codes do it."""
    encoded = normalize(table.column(step.column), kind).dictionary_encode()
    after, missing, _ = apply_step(step, encoded.dictionary, Column(step.column, kind))
    gaps = after.null_count
    if gaps:
        records = int(np.isin(encoded.indices.drop_null().to_numpy(), np.flatnonzero(after.is_null().to_numpy(False))).sum())
        raise gap_error(step.column, gaps, records)
    out = after.take(encoded.indices)
    return out if missing is None else out.fill_null(missing)


def _labels(step: MapValues | Cut | Prefix, table: Any) -> Any:
    import pyarrow as pa

    from shoal.kernels.text import canonical_text

    encoded = canonical_text(table.column(step.column)).dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    out = pa.array(evaluate(step, texts).texts(), pa.string()).take(encoded.indices)
    label = getattr(step, "missing_label", None)
    return out if label is None else out.fill_null(label)


def _whole(step: Round | Clamp) -> bool:
    limits = (step.base,) if isinstance(step, Round) else (step.low, step.high)
    return all(v is None or float(v).is_integer() for v in limits)


def _changed(before: Any, after: Any, name: str) -> float:
    import pyarrow.compute as pc

    if name not in after.column_names:
        return 1.0
    same = same_cells(before.column(name), after.column(name))
    return 1.0 - float(pc.mean(same).as_py() or 0.0) if len(same) else 0.0
