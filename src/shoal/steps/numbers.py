"""Steps of numbers and dates: the interval of a value, multiples of a base, limits."""

from __future__ import annotations

import bisect
import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from shoal.errors import PolicyError, UsageError
from shoal.kernels.arrow import from_numpy, from_texts, to_numpy
from shoal.kernels.codes import is_declared, number_ranges
from shoal.kernels.numbers import (
    DECIMAL,
    FINE,
    INT64,
    NUDGE,
    UINT64,
    WHOLE,
    nearest_multiple,
    numbers_of,
    rounding_parts,
    to_multiple,
    to_whole_multiple,
)
from shoal.model.plan import Publishes, register_step
from shoal.model.roles import MOMENTS, NUMBERS, Column
from shoal.steps.expression import ExpressionStep, Labelled, doubles, moments, number_array, number_kind

if TYPE_CHECKING:
    from sqlglot import exp

    from shoal.steps.sql import Dialect, Expression


@register_step
@dataclass(frozen=True)
class Cut(ExpressionStep):
    """Replace each number or date by the label of its interval.

    With cut points c_1 < … < c_m there are m + 1 intervals; interval i is [c_i, c_{i+1}) when ``closed == "left"`` (a value
    equal to a cut point opens the next interval), (c_i, c_{i+1}] when ``"right"``. ``labels`` has m + 1 entries; equal labels
    join intervals. Points are numbers, or ISO dates as text for date and timestamp columns. NaN counts as missing.
    """

    points: tuple[float | str, ...] = ()
    labels: tuple[str, ...] = ()
    closed: Literal["left", "right"] = "left"
    missing_label: str | None = None
    kind: ClassVar[str] = "cut"
    publishes: ClassVar[Publishes] = "groups"

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.points) + 1:
            raise PolicyError(f"the cut of '{self.column}' has {len(self.points)} points and {len(self.labels)} labels.")
        if any(isinstance(p, float) and not math.isfinite(p) for p in self.points):
            raise PolicyError(f"the cut of '{self.column}' has a point that is not a finite number.")
        if any(a >= b for a, b in zip(self.points, self.points[1:], strict=False)):  # type: ignore[operator]
            raise PolicyError(f"the cut points of '{self.column}' do not increase.")

    def kinds(self) -> tuple[str, ...]:
        if any(isinstance(p, str) for p in self.points):
            return MOMENTS
        return NUMBERS if self.points else (*NUMBERS, *MOMENTS)

    def _column(self, column: Column) -> Column:
        order = tuple(dict.fromkeys(self.labels))
        return replace(super()._column(column), grouped=True, measure="ordinal", order=order)

    @property
    def missing(self) -> str | None:
        return self.missing_label

    def _sql(self, dialect: Dialect, column: Column, value: exp.Expr, alias: str) -> Expression:
        """A balanced tree of comparisons."""
        from sqlglot import exp

        from shoal.steps import sql

        points, labels = self.joined()
        smaller = exp.LT if self.closed == "left" else exp.LTE

        def tree(low: int, high: int) -> exp.Expr:
            if low == high:
                return sql.string(labels[low])
            middle = (low + high) // 2
            test = smaller(this=value.copy(), expression=_sql_point(points[middle], column))
            return sql.when(test, tree(low, middle), tree(middle + 1, high))

        return sql.Expression(sql.unless_missing(value, tree(0, len(labels) - 1), self.missing_label))

    def _arrow(self, values: Any, column: Column) -> Any:
        points, labels = self.joined()
        if column.kind in MOMENTS:
            cuts = np.array([datetime.datetime.fromisoformat(str(p)) for p in points], dtype="datetime64[us]")
            at = self._places(cuts, moments(values))
        elif column.kind == "float" or not all(float(p).is_integer() for p in points):
            at = self._places(np.array(points, dtype=np.float64), doubles(values))
        else:
            at = self._places_of_whole([int(p) for p in points], values)
        return from_texts(labels).take(from_numpy(at))

    def _places_of_whole(self, points: list[int], values: Any) -> npt.NDArray[np.int64]:
        """Compared as whole numbers: beyond 2⁵³ doubles would fall together. Beyond 2⁶³ they are decimals, taken one by one."""
        import pyarrow as pa

        if pa.types.is_signed_integer(values.type) and all(-(2**63) <= p < 2**63 for p in points):
            return self._places(np.array(points, dtype=np.int64), to_numpy(values))
        find = bisect.bisect_right if self.closed == "left" else bisect.bisect_left
        return np.array([find(points, v) for v in values.to_pylist()], dtype=np.int64)

    def texts(self, texts: Sequence[str], numbers: npt.NDArray[np.float64] | None = None) -> Labelled:
        if self.points and isinstance(self.points[0], str):
            at = self._places(np.asarray(self.points, dtype=np.str_), np.asarray(list(texts), dtype=np.str_))
        else:
            known = numbers_of(self.column, texts) if numbers is None else numbers
            at = self._places(np.asarray(self.points, dtype=np.float64), known)
        return Labelled(at, self.labels)

    def joined(self) -> tuple[list[float | str], list[str]]:
        """Cut points and labels without the points between intervals of equal label.

        >>> Cut("age", points=(10.0, 20.0), labels=("a", "a", "b")).joined()
        ([20.0], ['a', 'b'])
        """
        points: list[float | str] = []
        labels = [self.labels[0]]
        for point, label in zip(self.points, self.labels[1:], strict=True):
            if label != labels[-1]:
                points.append(point)
                labels.append(label)
        return points, labels

    def _places(self, points: npt.NDArray[Any], values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """The interval of each value."""
        if self.closed == "left":
            return np.asarray(np.searchsorted(points, values, side="right"), dtype=np.int64)
        return np.asarray(np.searchsorted(points, values, side="left"), dtype=np.int64)


def _sql_point(point: float | str, column: Column) -> exp.Expr:
    from shoal.steps import sql

    if isinstance(point, str):
        return sql.cast(sql.string(point), "DATE" if column.kind == "date" else "TIMESTAMP")
    return sql.number(point, whole=column.kind == "integer")


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
            what = f"the rounding base of whole numbers in column '{column.name}' must lie below 2⁶³."
            raise UsageError(what, hint="Choose a smaller base, or drop the column.", column=column.name)

    def _column(self, column: Column) -> Column:
        kind = number_kind(column.kind, [self.base])
        column_after = replace(
            column, kind=kind, labels={}, user_missing=(), order=(), stored=None, former=column.stored or column.former
        )
        return column_after if kind == column.kind else replace(column_after, form="")

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
        rest = x % whole(base)
        least = x - rest
        up = exp.and_(rest >= whole(half), least <= whole(high - base))
        ifs = [exp.If(this=up, true=least + whole(base))]
        if not wide:
            down = exp.and_(rest <= whole(-half), least >= whole(low + base))
            ifs.append(exp.If(this=down, true=least - whole(base)))
        return exp.Case(ifs=ifs, default=least)

    def _sql_of_doubles(self, value: exp.Expr) -> exp.Expr:
        """:func:`shoal.kernels.numbers.to_multiple` in double precision, so that every engine gives the same number."""
        from sqlglot import exp

        from shoal.steps import sql
        from shoal.steps.sql import number

        p, q = (number(x) for x in rounding_parts(self.base))
        x = sql.cast(value, "DOUBLE")
        scaled = exp.Abs(this=x) * q / p
        fine = exp.If(this=scaled < number(FINE), true=exp.Floor(this=scaled * number(NUDGE) + number(0.5)))
        coarse = exp.If(this=scaled < number(WHOLE), true=exp.Floor(this=scaled + number(0.5)))
        size = sql.cast(exp.Case(ifs=[fine, coarse], default=scaled), "DOUBLE") * p / q
        return sql.when(x < number(0.0), number(0.0) - size, size)

    def _arrow(self, values: Any, column: Column) -> Any:
        import pyarrow as pa

        if self._column(column).kind != "integer":
            return number_array(to_multiple(doubles(values), self.base), "float")
        if not (wide := _is_wide(column)) and pa.types.is_int64(values.type):
            return from_numpy(to_whole_multiple(to_numpy(values), int(self.base)))
        limits = UINT64 if wide else DECIMAL
        rounded = [nearest_multiple(int(v), int(self.base), limits) for v in values.to_pylist()]
        return pa.array(rounded, pa.decimal128(38, 0))


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
        column_after = replace(column, kind=kind, labels=inside, order=(), stored=None, former=column.stored or column.former)
        return column_after if kind == column.kind else replace(column_after, form="")

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
