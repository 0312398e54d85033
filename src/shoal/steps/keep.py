"""Keep a column as it is, or leave it out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from shoal.model.plan import Step, register_step
from shoal.model.roles import Column
from shoal.steps.expression import ExpressionStep
from shoal.steps.labels import Labelled, listed

if TYPE_CHECKING:
    from sqlglot import exp

    from shoal.steps.sql import Dialect, Expression


@register_step
@dataclass(frozen=True)
class Keep(ExpressionStep):
    """Publish the column as it is."""

    kind: ClassVar[str] = "keep"
    codes_apart: ClassVar[bool] = False
    in_order: ClassVar[bool] = True
    """Whether the column counts in the order of rows that random steps draw in."""

    def _column(self, column: Column) -> Column:
        return column

    def _sql(self, dialect: Dialect, column: Column, value: exp.Expr, alias: str) -> Expression:
        from shoal.steps.sql import Expression

        return Expression(value)

    def _arrow(self, values: Any, column: Column) -> Any:
        return values

    def texts(self, texts: Sequence[str], numbers: npt.NDArray[np.float64] | None = None) -> Labelled:
        return listed(texts)


@register_step
@dataclass(frozen=True)
class Drop(Step):
    """Leave the column out. It is no function of a value: nothing of the column is read."""

    kind: ClassVar[str] = "drop"
