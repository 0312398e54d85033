"""Round numbers to multiples of a base."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.errors import PolicyError
from shoal.kernels.codes import number_ranges
from shoal.kernels.rounding import FINE, NUDGE, WHOLE, rounding_parts, to_multiple
from shoal.model.plan import Publishes, register_step
from shoal.model.roles import NUMBERS, Column
from shoal.steps.arrays import doubles, number_array, number_kind
from shoal.steps.expression import ExpressionStep

if TYPE_CHECKING:
    from sqlglot import exp

    from shoal.steps.sql import Dialect, Expression


@register_step
@dataclass(frozen=True)
class Round(ExpressionStep):
    """Round a number to the nearest multiple of ``base`` (halves away from zero)."""

    base: float = 1.0
    kind: ClassVar[str] = "round"
    publishes: ClassVar[Publishes] = "numbers"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.base) and self.base > 0):
            raise PolicyError(f"the rounding base of '{self.column}' must be a positive number.")

    def kinds(self) -> tuple[str, ...]:
        return NUMBERS

    def becomes_code(self, column: Column) -> bool:
        """A multiple of the base among the codes; whole numbers are multiples of 1 as they are."""
        if column.kind == "integer" and (1 / self.base).is_integer():
            return False
        ranges = [r for r in number_ranges(column.user_missing) if all(map(math.isfinite, r))]
        endless = len(ranges) < len(number_ranges(column.user_missing))
        return endless or any(math.floor(high / self.base) * self.base >= low for low, high in ranges)

    def _column(self, column: Column) -> Column:
        wide = str(column.stored) == "uint64"  # beyond what engines have whole numbers for: as doubles
        kind = "float" if wide else number_kind(column.kind, [self.base])
        made = replace(
            column, kind=kind, labels={}, user_missing=(), order=(), stored=None, former=column.stored or column.former
        )
        return made if kind == column.kind else replace(made, form="")

    def _sql(self, dialect: Dialect, column: Column, value: exp.Expr, alias: str) -> Expression:
        """:func:`shoal.kernels.rounding.to_multiple` in double precision, so that every engine gives the same number."""
        from sqlglot import exp

        from shoal.steps import sql
        from shoal.steps.sql import number

        p, q = (number(x) for x in rounding_parts(self.base))
        x = sql.cast(value, "DOUBLE")
        scaled = exp.Paren(this=exp.Div(this=exp.Paren(this=exp.Mul(this=exp.Abs(this=x), expression=q)), expression=p))
        nudged = exp.Mul(this=scaled.copy(), expression=number(NUDGE))
        fine = exp.LT(this=scaled.copy(), expression=number(FINE))
        coarse = exp.LT(this=scaled.copy(), expression=number(WHOLE))
        multiples = exp.Case(
            ifs=[
                exp.If(this=fine, true=exp.Floor(this=exp.Add(this=nudged, expression=number(0.5)))),
                exp.If(this=coarse, true=exp.Floor(this=exp.Add(this=scaled.copy(), expression=number(0.5)))),
            ],
            default=scaled,
        )
        size = exp.Div(this=exp.Paren(this=exp.Mul(this=sql.cast(multiples, "DOUBLE"), expression=p.copy())), expression=q.copy())
        negative = exp.LT(this=x.copy(), expression=number(0.0))
        minus = exp.Sub(this=number(0.0), expression=exp.Paren(this=size))
        signed = exp.Case(ifs=[exp.If(this=negative, true=minus)], default=size.copy())
        return sql.Expression(sql.cast(signed, "BIGINT") if self._column(column).kind == "integer" else signed)

    def _arrow(self, values: Any, column: Column) -> Any:
        return number_array(to_multiple(doubles(values), self.base), self._column(column).kind)
