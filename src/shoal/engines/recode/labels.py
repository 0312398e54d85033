"""Labels: steps on batches that only give each value one, as expression steps (then the quick way by codes can carry them out),
and the order of those that a class map publishes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from shoal.engines.recode.codes import column_after
from shoal.errors import HierarchyGapError
from shoal.kernels.arrow import from_texts
from shoal.kernels.text import canonical_text
from shoal.model.plan import SUPPRESSED, Plan, Step, StreamStep
from shoal.model.roles import Column, Schema
from shoal.steps import ExpressionStep
from shoal.steps.expression import natural


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


def order_of_groups(pairs: Any, order: Sequence[str] = ()) -> tuple[str, ...]:
    """Published texts (column ``is``) in the order of the values that they stand for (``was``): by the least, then the greatest.

    ``order`` is that of the values, where it is known; else numbers go by size. What joins the rest has no place.

    >>> import pyarrow as pa
    >>> order_of_groups(pa.table({"was": ["1", "2", "2", "10", "3"], "is": ["1 to 2", "1 to 2", "2", "10", "(other)"]}))
    ('1 to 2', '2', '10')
    """
    places = {text: (0, float(i), "") for i, text in enumerate(order)}
    ends: dict[str, tuple[Any, Any]] = {}
    there = {text for text in pairs["was"].unique().to_pylist() if text is not None}
    for pair in pairs.group_by(["was", "is"]).aggregate([]).to_pylist():
        value, label = pair["was"], pair["is"]
        if value is None or label is None or label == SUPPRESSED or (label.startswith("(") and label not in there):
            continue
        at = places.get(value, natural(value))
        low, high = ends.get(label, (at, at))
        ends[label] = min(low, at), max(high, at)
    return tuple(sorted(ends, key=lambda label: (*ends[label], label)))
