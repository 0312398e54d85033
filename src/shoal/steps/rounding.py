"""Round numbers to multiples of a base."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal.errors import PolicyError, UsageError
from shoal.kernels.arrow import from_numpy, to_numpy
from shoal.kernels.codes import is_declared, number_ranges
from shoal.kernels.numbers import (
    DECIMAL,
    FINE,
    INT64,
    NUDGE,
    UINT64,
    WHOLE,
    nearest_multiple,
    rounding_parts,
    to_multiple,
    to_whole_multiple,
)
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
    """Round a number to the nearest multiple of ``base`` (halves away from zero).

    Whole numbers are rounded exactly where the base is whole; where their type has no such multiple (above 2⁶³ − 1), to the
    last one that it has. All others are rounded as doubles.
    """

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

    def check(self, column: Column) -> None:
        super().check(column)
        if column.kind == "integer" and self.base > INT64[1]:
            raise UsageError(
                f"the rounding base of whole numbers in column '{column.name}' must lie below 2⁶³.",
                hint="Choose a smaller base, or drop the column.",
                column=column.name,
            )

    def _column(self, column: Column) -> Column:
        kind = number_kind(column.kind, [self.base])
        made = replace(
            column, kind=kind, labels={}, user_missing=(), order=(), stored=None, former=column.stored or column.former
        )
        return made if kind == column.kind else replace(made, form="")

    def _sql(self, dialect: Dialect, column: Column, value: exp.Expr, alias: str) -> Expression:
        from shoal.steps import sql

        whole = self._column(column).kind == "integer"
        return sql.Expression(self._sql_of_whole(column, value) if whole else self._sql_of_doubles(value))

    def _sql_of_whole(self, column: Column, value: exp.Expr) -> exp.Expr:
        """:func:`shoal.kernels.numbers.to_whole_multiple`: no part of it lies beyond what the type holds."""
        from sqlglot import exp

        from shoal.steps import sql

        wide, base = _is_wide(column), int(self.base)
        half = (base + 1) // 2
        (low, high), to = (UINT64, "DECIMAL(38, 0)") if wide else (INT64, "BIGINT")

        def whole(n: int) -> exp.Expr:
            return sql.cast(exp.convert(n), to)

        x = sql.cast(value, to)
        rest = exp.Paren(this=exp.Mod(this=x, expression=whole(base)))
        least = exp.Paren(this=exp.Sub(this=x.copy(), expression=rest))
        up = exp.and_(
            exp.GTE(this=rest.copy(), expression=whole(half)), exp.LTE(this=least.copy(), expression=whole(high - base))
        )
        ifs = [exp.If(this=up, true=exp.Add(this=least.copy(), expression=whole(base)))]
        if not wide:
            down = exp.and_(
                exp.LTE(this=rest.copy(), expression=whole(-half)), exp.GTE(this=least.copy(), expression=whole(low + base))
            )
            ifs.append(exp.If(this=down, true=exp.Sub(this=least.copy(), expression=whole(base))))
        return exp.Case(ifs=ifs, default=least.copy())

    def _sql_of_doubles(self, value: exp.Expr) -> exp.Expr:
        """:func:`shoal.kernels.numbers.to_multiple` in double precision, so that every engine gives the same number."""
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
        return exp.Case(ifs=[exp.If(this=negative, true=minus)], default=size.copy())

    def _arrow(self, values: Any, column: Column) -> Any:
        import pyarrow as pa

        if self._column(column).kind != "integer":
            return number_array(to_multiple(doubles(values), self.base), "float")
        if not (wide := _is_wide(column)) and pa.types.is_int64(values.type):
            return from_numpy(to_whole_multiple(to_numpy(values), int(self.base)))
        limits = UINT64 if wide else DECIMAL
        made = [nearest_multiple(int(v), int(self.base), limits) for v in values.to_pylist()]
        return pa.array(made, pa.decimal128(38, 0))


def _is_wide(column: Column) -> bool:
    """Whether numbers up to 2⁶⁴ are in it, beyond what engines have whole numbers for: they are taken as decimals."""
    return "uint64" in (str(column.stored), str(column.former))


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
