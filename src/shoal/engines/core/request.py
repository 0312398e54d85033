"""What COUNT is asked, and the errors with which it answers, whatever way it counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shoal.engines.core.memory import left_for_data, refused
from shoal.errors import HierarchyGapError, MemoryBudgetError, UsageError
from shoal.model.plan import Step
from shoal.steps import ExpressionStep

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
            raise UsageError(
                f"step '{step.kind}' of column '{name}' cannot be counted through.", hint="It belongs to RECODE only."
            )
        steps[name] = step
    return steps
