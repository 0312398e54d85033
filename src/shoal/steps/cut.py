"""Cut points: each number or date becomes the label of its interval."""

from __future__ import annotations

import bisect
import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from shoal.errors import PolicyError
from shoal.kernels.arrow import from_numpy, to_numpy
from shoal.kernels.numbers import numbers_of
from shoal.model.plan import Publishes, register_step
from shoal.model.roles import MOMENTS, NUMBERS, Column
from shoal.steps.arrays import doubles, moments, text_array
from shoal.steps.expression import ExpressionStep, Labelled

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
            return exp.Case(ifs=[exp.If(this=test, true=tree(low, middle))], default=tree(middle + 1, high))

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
        return text_array(labels).take(from_numpy(at))

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
