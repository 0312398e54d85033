"""Columns sent through their steps, as SQL for every dialect: what COUNT and RECODE by SQL have in common.

``s`` reads the columns as ``c0, c1 …`` and cleans floats; each column then goes through its step, which may bring a lookup to
join. Column and table names from outside appear only as quoted identifiers in ``s``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from shoal.engines.core.base import Engine, Relation
from shoal.engines.core.memory import left_for_data, refused
from shoal.engines.core.stored_types import RAW
from shoal.errors import HierarchyGapError, MemoryBudgetError, UsageError
from shoal.model.plan import Step
from shoal.model.roles import Column
from shoal.steps import ExpressionStep
from shoal.steps.sql import aliased, column, count_all, exp, is_null, named, select, subquery, when

HELD = 3
"""Classes are held about this many times over while they are put in order."""


@dataclass(frozen=True)
class CountRequest:
    """What COUNT is asked: columns, each perhaps through a step; sensitive columns; the person and weight columns."""

    columns: tuple[str, ...]
    through: Mapping[str, ExpressionStep] = field(default_factory=dict)
    sensitive: tuple[str, ...] = ()
    unit: str | None = None
    weight: str | None = None
    memory_budget: int | None = None
    memory: int | None = None

    def check_classes(self, size: int, columns: Sequence[str]) -> None:
        """Refuse classes that take ``size`` bytes, where that is more than is allowed for them or for the whole run."""
        if self.memory_budget is not None and size > self.memory_budget:
            raise over_budget(size, self.memory_budget, columns)
        if self.memory is not None and HELD * size > left_for_data(self.memory):
            raise refused(
                f"counting classes of {len(columns)} columns",
                HELD * size,
                self.memory,
                f"Raise --memory, or count fewer or coarser columns of: {', '.join(columns)}.",
            )


def gap_error(name: str, values: int, records: int) -> HierarchyGapError:
    """The error for values that a map does not cover."""
    return HierarchyGapError(
        f"the value map of '{name}' does not cover the data: {values} distinct value(s) in {records} record(s) are not its keys.",
        hint="Extend the hierarchy, or use on_gap='suppress' or on_gap='top'.",
        column=name,
    )


def over_budget(size: int, budget: int, columns: Sequence[str]) -> MemoryBudgetError:
    """The error when classes take more memory than allowed."""
    return MemoryBudgetError(
        f"classes of {len(columns)} columns need at least {size / 2**20:.1f} MiB; the memory budget is {budget / 2**20:.1f} MiB.",
        hint=f"Count fewer or coarser columns (through=…) of: {', '.join(columns)}; or raise memory_budget.",
        estimate=size,
        budget=budget,
    )


def expressions_of(through: Mapping[str, Step], wanted: Sequence[str]) -> dict[str, ExpressionStep]:
    """The steps that columns are counted through; each must be an expression of a column that is counted."""
    steps: dict[str, ExpressionStep] = {}
    for name, step in through.items():
        if name not in wanted:
            raise UsageError(f"a step is given for '{name}', which is not counted.", hint="Name it among the columns.")
        if not isinstance(step, ExpressionStep):
            hint = "It belongs to RECODE only."
            raise UsageError(f"step '{step.kind}' of column '{name}' cannot be counted through.", hint=hint)
        steps[name] = step
    return steps


@dataclass(frozen=True)
class Shaped:
    """A column after its step; ``join`` (with its ON) must be added to FROM; ``gap`` is true where a value is not covered."""

    column: Column
    value: exp.Expr
    join: exp.Join | None = None
    gap: exp.Expr | None = None


def cleaned(engine: Engine, relation: Relation, names: Sequence[str], raw: Collection[str] = ()) -> exp.Select:
    """``s``: the named columns as c0, c1 …; floats without NaN and negative zero, but the columns ``raw`` as they are stored."""
    terms = []
    for i, name in enumerate(names):
        value: exp.Expr = column(name + RAW if name in raw and name in relation.reads_as_text else name, "t")
        if relation.column(name).kind == "float" and name not in raw:
            value = engine.clean_float(value)
        terms.append(named(value, f"c{i}"))
    return select(terms or [named(exp.convert(1), "c0")], aliased(relation.sql, "t"))


def shaped_columns(
    engine: Engine, relation: Relation, names: Sequence[str], through: Mapping[str, ExpressionStep], stack: ExitStack
) -> list[Shaped]:
    """Each column after its step, over ``s``; lookups stay until ``stack`` ends."""
    return [
        _shape(engine, relation.column(name), column(f"c{i}", "s"), through.get(name), f"m{i}", stack)
        for i, name in enumerate(names)
    ]


def _shape(engine: Engine, source: Column, value: exp.Expr, step: ExpressionStep | None, alias: str, stack: ExitStack) -> Shaped:
    if step is None:
        return Shaped(source, value)
    step.check(source)
    expression = step.sql(engine, source, value, alias)
    if expression.lookup is None:
        return Shaped(step.after(source), expression.value)
    relation = stack.enter_context(engine.mapping(expression.lookup.table))
    join = exp.Join(this=aliased(relation, alias), on=expression.lookup.on, kind="LEFT")
    return Shaped(step.after(source), expression.value, join, expression.lookup.gap)


def shaped_from(terms: Sequence[exp.Expr], inner: exp.Expr, shaped: Sequence[Shaped]) -> exp.Select:
    """SELECT terms FROM (inner) AS s and the joins of the value maps."""
    query = select(terms, subquery(inner, "s"))
    query.set("joins", [s.join.copy() for s in shaped if s.join is not None])
    return query


def check_gaps(engine: Engine, inner: exp.Select, shaped: Sequence[Shaped], names: Sequence[str]) -> None:
    """Stop where a value map does not cover the data, with the number of values and records."""
    for item, name in zip(shaped, names, strict=True):
        if item.gap is None or item.join is None:
            continue
        compared = item.join.args["on"].this  # what the map is asked for: text byte for byte
        different = exp.Count(this=exp.Distinct(expressions=[compared.copy()]))
        counted = [named(count_all(), "n"), named(different, "v")]
        gaps = engine.fetch(shaped_from(counted, inner, [item]).where(item.gap.copy(), copy=False))
        records, values = int(gaps["n"][0].as_py()), int(gaps["v"][0].as_py())
        if records:
            raise gap_error(name, values, records)


def people(unit: exp.Expr) -> exp.Expr:
    """Distinct people; rows without an id together count as one more person, the cautious side."""
    flag = when(is_null(unit), exp.convert(1), exp.convert(0))
    return exp.Add(this=exp.Count(this=exp.Distinct(expressions=[unit.copy()])), expression=exp.Max(this=flag))
