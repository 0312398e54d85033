"""Prefix: the first or last characters of a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from shoal.errors import PolicyError
from shoal.kernels.text import canonical_text
from shoal.model.plan import register_step
from shoal.model.roles import Column
from shoal.steps.arrays import text_array
from shoal.steps.expression import ExpressionStep, Labelled, listed

if TYPE_CHECKING:
    from sqlglot import exp

    from shoal.steps.sql import Dialect, Expression


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
        return text_array([self.of(t) for t in canonical_text(values).to_pylist()])

    def texts(self, texts: Sequence[str], numbers: npt.NDArray[np.float64] | None = None) -> Labelled:
        return listed([self.of(t) for t in texts])

    def of(self, text: str) -> str:
        """One text.

        >>> Prefix("zip", length=2).of("1234"), Prefix("zip", length=2, from_end=True, fill="").of("1234")
        ('12**', '34')
        """
        lost = max(len(text) - self.length, 0)
        return self.fill * lost + text[lost:] if self.from_end else text[: self.length] + self.fill * lost
