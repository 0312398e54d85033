"""Expression steps on batches: those that follow a step on batches or whole columns (noise, then limits), and long ones.

An expression step is carried out in SQL, before all others; one that comes after another step on its column would see the
original values, and what it promises (no number beyond the limits) would not be true of what is published.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from shoal.engines.core.kinds import kind_of, normalize
from shoal.engines.core.request import gap_error
from shoal.model.plan import ColumnStep, Plan, Step, StreamStep
from shoal.model.roles import Column, Schema
from shoal.steps import Cut, ExpressionStep, Keep


@dataclass(frozen=True)
class Later(StreamStep):
    """An expression step on batches, of a column that an earlier step changed; codes ``declared`` missing are not among them."""

    step: Any = None
    declared: tuple[object, ...] = ()
    kind: ClassVar[str] = "later"
    by_row: ClassVar[bool] = False
    draws: ClassVar[bool] = False

    def after(self, column: Column) -> Column:
        """What is known of the column that it makes."""
        made: Column = self.step.after(column)
        return made

    def start(self, seed: int) -> Callable[[Any, Any], Any]:
        step = self.step

        def run(table: Any, rows: Any) -> Any:
            values = table.column(self.column)
            out = by_value(step, values, Column(self.column, kind_of(values.type), user_missing=self.declared))
            return table.set_column(table.schema.get_field_index(self.column), self.column, out)

        return run


def by_value(step: ExpressionStep, values: Any, column: Column) -> Any:
    """An expression step on each distinct value, as COUNT and RECODE by codes do it."""
    step.check(column)
    encoded = normalize(values, column.kind).dictionary_encode()
    after = step.arrow(encoded.dictionary, replace(column, user_missing=()))
    if after.null_count:
        lost = np.flatnonzero(after.is_null().to_numpy(zero_copy_only=False))
        records = int(np.isin(encoded.indices.drop_null().to_numpy(), lost).sum())
        raise gap_error(column.name, after.null_count, records)
    out = after.take(encoded.indices)
    return out if step.missing is None else out.fill_null(step.missing)


MANY_INTERVALS = 256
"""Intervals from which on a database that compares every record with many of them takes longer than a search on batches."""


def cut_on_batches(plan: Plan, schema: Schema) -> Plan:
    """The plan with each cut into many intervals as a step on batches."""
    declared = {c.name: c.user_missing for c in schema.columns}
    many = [s for s in plan.steps if isinstance(s, Cut) and len(s.labels) > MANY_INTERVALS]
    return replace(plan, steps=tuple(Later(s.column, s, declared[s.column]) if s in many else s for s in plan.steps))


def in_their_order(plan: Plan, schema: Schema) -> Plan:
    """The plan with each expression step that follows another step on its column as a step on batches."""
    declared = {c.name: c.user_missing for c in schema.columns}
    changed: set[str] = set()
    steps: list[Step] = []
    for step in plan.steps:
        if isinstance(step, ExpressionStep) and not isinstance(step, Keep) and step.column in changed:
            steps.append(Later(step.column, step, declared.get(step.column, ())))
        else:
            steps.append(step)
        if isinstance(step, StreamStep | ColumnStep):
            changed.update(step.columns)
    return replace(plan, steps=tuple(steps))
