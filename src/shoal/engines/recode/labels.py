"""Steps on batches that only give each value a label, as expression steps: then the quick way by codes can carry them out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from shoal.engines.recode.codes import column_after
from shoal.errors import HierarchyGapError
from shoal.kernels.arrow import from_texts
from shoal.kernels.text import canonical_text
from shoal.model.plan import Plan, Step, StreamStep
from shoal.model.roles import Column, Schema
from shoal.steps import ExpressionStep


@dataclass(frozen=True)
class Labels(ExpressionStep):
    """The labels that ``step`` gives to texts."""

    step: Any = None
    kind: ClassVar[str] = "labels"

    def after(self, column: Column) -> Column:
        return column_after(self.step, column, "text")

    @property
    def missing(self) -> str | None:
        found: str | None = self.step.missing_label
        return found

    def arrow(self, values: Any, column: Column) -> Any:
        texts = canonical_text(values).to_pylist()
        try:
            return from_texts(self.step.labels(texts))
        except HierarchyGapError as gap:  # of values that may occur; the caller counts those that do
            lost = set(getattr(gap, "values", ()))
            there = [t for t in texts if t not in lost]
            label = dict(zip(there, self.step.labels(there), strict=True))
            return from_texts([label.get(t) for t in texts])


def label_steps(plan: Plan, steps: Mapping[str, ExpressionStep], schema: Schema) -> dict[str, ExpressionStep] | None:
    """All steps of a plan as expression steps, where each column has one; None where a step needs more than its value.

    Columns with codes that their file declares missing are left to the way that keeps these apart.
    """
    out = dict(steps)
    for step in plan.steps:
        if not isinstance(step, StreamStep):
            continue
        if not _only_labels(step) or step.column in out or schema[step.column].user_missing:
            return None
        out[step.column] = Labels(step.column, step)
    return out


def _only_labels(step: Step) -> bool:
    """Whether the new value is a label of the old one: the same in every row, with nothing drawn and no other column."""
    alone = step.columns == (step.column,) and not getattr(step, "needs", ()) and not step.draws
    return alone and not getattr(step, "by_row", True) and callable(getattr(step, "labels", None))
