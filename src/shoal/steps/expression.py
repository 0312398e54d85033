"""The contract of an expression step, and :func:`evaluate`: any step that gives each value a label, on plain texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.errors import UsageError
from shoal.model.plan import Step
from shoal.model.roles import Column
from shoal.steps.labels import Labelled, listed

if TYPE_CHECKING:
    from sqlglot import exp

    from shoal.steps.sql import Dialect, Expression

BANDS = "\x00bands"
"""Note of a column whose texts are new groups: statistical packages get them as codes with labels."""


@dataclass(frozen=True)
class ExpressionStep(Step):
    """A function of one value. Subclasses give its three forms; the defaults suit a step that makes text of any column."""

    def kinds(self) -> tuple[str, ...]:
        """The kinds of columns it can be carried out on; none named: all."""
        return ()

    def check(self, column: Column) -> None:
        """Refuse a column of the wrong kind, with the next thing to do."""
        allowed = self.kinds()
        if allowed and column.kind not in allowed:
            needed = " or ".join(allowed)
            raise UsageError(
                f"step '{self.kind}' of column '{column.name}' needs a column of kind {needed}; found {column.kind}.",
                hint=f"Open the table with types={{'{column.name}': '{allowed[0]}'}}, or use another step.",
                column=column.name,
            )

    def after(self, column: Column) -> Column:
        """The column that it makes of ``column``."""
        return replace(column, kind="text", labels={}, user_missing=())

    @property
    def missing(self) -> str | None:
        """What a missing value becomes; None where it stays missing."""
        return None

    def sql(self, dialect: Dialect, column: Column, value: exp.Expr, alias: str) -> Expression:
        """The new value as SQL of ``value`` (NaN is NULL already); ``alias`` names the joined table where a lookup is needed."""
        raise NotImplementedError

    def arrow(self, values: Any, column: Column) -> Any:
        """The new values of distinct values: pyarrow, in the type of the column's kind, without nulls.

        A null in the result is a value that the step does not cover; the caller counts its records and stops.
        """
        raise NotImplementedError

    def texts(self, texts: Sequence[str], numbers: npt.NDArray[np.float64] | None = None) -> Labelled:
        """The labels of canonical texts; ``numbers`` are the texts as numbers, where they are known."""
        raise UsageError(f"step '{self.kind}' of '{self.column}' cannot be carried out on texts.")


def evaluate(step: Step, texts: Sequence[str], numbers: npt.NDArray[np.float64] | None = None) -> Labelled:
    """The label that ``step`` gives to each canonical text; ``numbers`` are the texts as numbers, where they are known.

    >>> from shoal.steps import Cut, Prefix
    >>> evaluate(Cut("age", points=(30.0,), labels=("<30", "30+")), ["7", "30", "71"]).texts()
    ['<30', '30+', '30+']
    >>> evaluate(Prefix("zip", length=2), ["1234", "1299"]).texts()
    ['12**', '12**']
    """
    if isinstance(step, ExpressionStep):
        return step.texts(texts, numbers)
    labels = getattr(step, "labels", None)  # stream steps whose rule gives the label of each value
    if callable(labels):
        return listed(labels(texts))
    raise UsageError(f"step '{step.kind}' of '{step.column}' cannot be carried out on texts.")
