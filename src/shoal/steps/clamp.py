"""Top and bottom coding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal.errors import PolicyError
from shoal.kernels.codes import is_declared
from shoal.model.plan import Publishes, register_step
from shoal.model.roles import NUMBERS, Column
from shoal.steps.arrays import doubles, number_array, number_kind
from shoal.steps.expression import ExpressionStep

if TYPE_CHECKING:
    from sqlglot import exp

    from shoal.steps.sql import Dialect, Expression


@register_step
@dataclass(frozen=True)
class Clamp(ExpressionStep):
    """Top and bottom coding: numbers above ``high`` become ``high``, below ``low`` become ``low``."""

    low: float | None = None
    high: float | None = None
    kind: ClassVar[str] = "clamp"
    publishes: ClassVar[Publishes] = "numbers"

    def __post_init__(self) -> None:
        if self.low is not None and self.high is not None and self.low > self.high:
            raise PolicyError(f"the bottom code of '{self.column}' lies above its top code.")

    def kinds(self) -> tuple[str, ...]:
        return NUMBERS

    def becomes_code(self, column: Column) -> bool:
        return any(b is not None and is_declared(b, column.user_missing) for b in (self.low, self.high))

    def _column(self, column: Column) -> Column:
        bounds = [b for b in (self.low, self.high) if b is not None]
        inside = {v: label for v, label in column.labels.items() if self._inside(v)}
        kind = number_kind(column.kind, bounds)
        made = replace(column, kind=kind, labels=inside, order=(), stored=None, former=column.stored or column.former)
        return made if kind == column.kind else replace(made, form="")

    def _inside(self, value: object) -> bool:
        """Whether a labelled value still means what its label says: a limit also stands for what lies beyond it."""
        if not isinstance(value, int | float):
            return False
        return (self.low is None or value > self.low) and (self.high is None or value < self.high)

    def _sql(self, dialect: Dialect, column: Column, value: exp.Expr, alias: str) -> Expression:
        from sqlglot import exp

        from shoal.steps import sql

        whole = self._column(column).kind == "integer"
        x = value.copy() if whole else sql.cast(value, "DOUBLE")
        ifs = []
        for bound, beyond in ((self.low, exp.LT), (self.high, exp.GT)):
            if bound is not None:
                limit = sql.number(bound, whole=whole)
                ifs.append(exp.If(this=beyond(this=x.copy(), expression=limit), true=limit.copy()))
        return sql.Expression(exp.Case(ifs=ifs, default=x) if ifs else x)

    def _arrow(self, values: Any, column: Column) -> Any:
        import pyarrow as pa

        if self._column(column).kind == "integer":  # as whole numbers: a double would change those beyond 2⁵³
            low = None if self.low is None else int(self.low)
            high = None if self.high is None else int(self.high)
            return pa.array([_between(v, low, high) for v in values.to_pylist()], values.type)
        x = doubles(values)
        if self.low is not None:
            x = np.where(x < self.low, self.low, x)
        if self.high is not None:
            x = np.where(x > self.high, self.high, x)
        return number_array(x, "float")


def _between(value: int, low: int | None, high: int | None) -> int:
    if low is not None and value < low:
        return low
    return high if high is not None and value > high else value
