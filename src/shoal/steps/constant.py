"""One public text for everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from shoal.model.plan import SUPPRESSED, Step, register_step
from shoal.model.roles import Column
from shoal.steps.arrays import text_array
from shoal.steps.expression import ExpressionStep, Labelled, listed

if TYPE_CHECKING:
    from sqlglot import exp

    from shoal.steps.sql import Dialect, Expression


@register_step
@dataclass(frozen=True)
class Constant(ExpressionStep):
    """Replace every value, missing ones too, by one public text."""

    value: str = SUPPRESSED
    kind: ClassVar[str] = "constant"
    codes_apart: ClassVar[bool] = False

    def _column(self, column: Column) -> Column:
        return replace(super()._column(column), nullable=False)

    @property
    def missing(self) -> str:
        return self.value

    def _sql(self, dialect: Dialect, column: Column, value: exp.Expr, alias: str) -> Expression:
        from shoal.steps.sql import Expression, string

        return Expression(string(self.value))

    def _arrow(self, values: Any, column: Column) -> Any:
        return text_array([self.value] * len(values))

    def texts(self, texts: Sequence[str], numbers: npt.NDArray[np.float64] | None = None) -> Labelled:
        return Labelled(np.zeros(len(texts), dtype=np.int64), (self.value,))


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
    """Leave the column out. It is not a function of a value: nothing of the column is read."""

    kind: ClassVar[str] = "drop"
