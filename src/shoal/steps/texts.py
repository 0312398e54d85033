"""Steps of texts: one public text for everything, the column as it is or left out, the first or last characters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from shoal.errors import PolicyError
from shoal.kernels.arrow import from_texts
from shoal.kernels.text import canonical_text
from shoal.model.plan import SUPPRESSED, Step, register_step
from shoal.model.roles import Column
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
        return from_texts([self.value] * len(values))

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


@register_step
@dataclass(frozen=True)
class Prefix(ExpressionStep):
    """Keep the first ``length`` characters of the text (the last, with ``from_end``); replace each other by ``fill``.

    With ``fill == ""`` the rest is cut off, so that codes of different length fall together.
    """

    length: int = 0
    fill: str = "*"
    from_end: bool = False
    kind: ClassVar[str] = "prefix"

    def __post_init__(self) -> None:
        if self.length < 0 or len(self.fill) > 1:
            raise PolicyError(f"the prefix of '{self.column}' needs a length ≥ 0 and a fill of at most one character.")

    def kinds(self) -> tuple[str, ...]:
        return ("text", "integer", "decimal", "boolean", "date", "timestamp", "time", "binary")

    def _sql(self, dialect: Dialect, column: Column, value: exp.Expr, alias: str) -> Expression:
        from sqlglot import exp

        from shoal.steps import sql

        text = dialect.text(value, column)
        length = exp.convert(self.length)
        take = exp.Right if self.from_end else exp.Left
        kept: exp.Expr = sql.string("") if self.length == 0 else take(this=text.copy(), expression=length)
        if self.fill:
            lost = exp.Sub(this=dialect.char_length(text.copy()), expression=length.copy())
            more = exp.Greatest(this=lost, expressions=[exp.convert(0)])
            filler = exp.Repeat(this=sql.string(self.fill), times=more)
            kept = exp.DPipe(this=filler, expression=kept) if self.from_end else exp.DPipe(this=kept, expression=filler)
        return sql.Expression(sql.unless_missing(text, kept))

    def _arrow(self, values: Any, column: Column) -> Any:
        return from_texts([self.of(t) for t in canonical_text(values).to_pylist()])

    def texts(self, texts: Sequence[str], numbers: npt.NDArray[np.float64] | None = None) -> Labelled:
        return listed([self.of(t) for t in texts])

    def of(self, text: str) -> str:
        """One text.

        >>> Prefix("zip", length=2).of("1234"), Prefix("zip", length=2, from_end=True, fill="").of("1234")
        ('12**', '34')
        """
        lost = max(len(text) - self.length, 0)
        return self.fill * lost + text[lost:] if self.from_end else text[: self.length] + self.fill * lost
