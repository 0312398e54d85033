"""The contract of an expression step, and :func:`evaluate`: any step that gives each value a label, on plain texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.errors import UsageError
from shoal.kernels.arrow import as_doubles, is_missing, to_numpy
from shoal.kernels.codes import code_labels, is_code
from shoal.kernels.text import canonical_text
from shoal.model.plan import Step
from shoal.model.roles import Column

if TYPE_CHECKING:
    from sqlglot import exp

    from shoal.steps.sql import Dialect, Expression


@dataclass(frozen=True)
class ExpressionStep(Step):
    """A function of one value.

    Subclasses give its forms for values (:meth:`_sql`, :meth:`_arrow`, :meth:`texts`) and the column that it makes
    (:meth:`_column`); this class leaves codes that the file declares missing as they are, in each of them.
    """

    def kinds(self) -> tuple[str, ...]:
        """The kinds of columns it can be applied to; none named: all."""
        return ()

    def check(self, column: Column) -> None:
        """Refuse a column of the wrong kind, with the next thing to do."""
        allowed = self.kinds()
        if allowed and column.kind not in allowed:
            needed = " or ".join(allowed)
            what = f"step '{self.kind}' of column '{column.name}' needs a column of kind {needed}; found {column.kind}."
            hint = f"Open the table with types={{'{column.name}': '{allowed[0]}'}}, or use another step."
            raise UsageError(what, hint=hint, column=column.name)

        if self.codes_apart and column.user_missing and self.becomes_code(column):
            what = f"step '{self.kind}' of column '{column.name}' makes numbers that the file declares missing."
            hint = "Choose another base or limit, or open the table with user_missing='missing'."
            raise UsageError(what, hint=hint, column=column.name)

    def becomes_code(self, column: Column) -> bool:
        """Whether a number can become one that is declared missing."""
        return False

    @property
    def missing(self) -> str | None:
        """What a missing value becomes; None where it stays missing."""
        return None

    # -- with codes declared missing ----------------------------------------------------------------------------------

    def after(self, column: Column) -> Column:
        """The column that it makes of ``column``."""
        column_after = self._column(column)
        if not (self.codes_apart and column.user_missing):
            return column_after
        return replace(column_after, user_missing=column.user_missing, labels={**column_after.labels, **code_labels(column)})

    def sql(self, dialect: Dialect, column: Column, value: exp.Expr, alias: str) -> Expression:
        """The new value as SQL of ``value`` (NaN is NULL already); ``alias`` names the joined table where a lookup is needed."""
        from shoal.steps.sql import apart, code_test

        expression = self._sql(dialect, column, value, alias)
        test = code_test(value, column) if self.codes_apart else None
        return expression if test is None else apart(expression, test, self._own(dialect, column, value))

    def _own(self, dialect: Dialect, column: Column, value: exp.Expr) -> exp.Expr:
        from shoal.steps.sql import cast

        kind = self._column(column).kind
        return dialect.text(value.copy(), column) if kind == "text" else cast(value, "BIGINT" if kind == "integer" else "DOUBLE")

    def arrow(self, values: Any, column: Column) -> Any:
        """The new values of distinct values: pyarrow, in the type of the column's kind, without nulls.

        A null in the result is a value that the step does not cover; the caller counts its records and stops.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        values_found = self._arrow(values, column)
        if not (self.codes_apart and column.user_missing):
            return values_found
        own = canonical_text(values) if pa.types.is_string(values_found.type) else values.cast(values_found.type)
        return pc.if_else(self._stays(is_code(values, column.user_missing), values_found), own, values_found)

    def _stays(self, codes: Any, new: Any) -> Any:
        """Which values stay as they are: the codes."""
        return codes

    # -- to be given by a step ----------------------------------------------------------------------------------------

    def _column(self, column: Column) -> Column:
        """A text column by default: of what described the numbers only the variable label is true of it."""
        bare = replace(column, kind="text", labels={}, user_missing=(), order=(), form="", measure="", width=0, coded=False)
        return replace(bare, stored=None, former=None)

    def _sql(self, dialect: Dialect, column: Column, value: exp.Expr, alias: str) -> Expression:
        raise NotImplementedError

    def _arrow(self, values: Any, column: Column) -> Any:
        raise NotImplementedError

    def texts(self, texts: Sequence[str], numbers: npt.NDArray[np.float64] | None = None) -> Labelled:
        """The labels of canonical texts; ``numbers`` are the texts as numbers, where they are known."""
        raise UsageError(f"step '{self.kind}' of '{self.column}' cannot be applied to texts.")


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
    raise UsageError(f"step '{step.kind}' of '{step.column}' cannot be applied to texts.")


@dataclass(frozen=True)
class Labelled:
    """Position of each value's label, and the labels."""

    index: npt.NDArray[np.int64]
    labels: tuple[str, ...]

    def texts(self) -> list[str]:
        return [self.labels[i] for i in self.index]


def listed(labels: Sequence[str]) -> Labelled:
    """Labels as positions in the list of distinct labels, in order of first appearance."""
    order: dict[str, int] = {}
    index = np.fromiter((order.setdefault(t, len(order)) for t in labels), dtype=np.int64, count=len(labels))
    return Labelled(index, tuple(order))


def natural(text: str) -> tuple[int, float, str]:
    """A key to sort texts by as people would: numbers by size, and before words.

    >>> sorted(["10", "9", "b", "a"], key=natural)
    ['9', '10', 'a', 'b']
    """
    try:
        number = float(text)
    except ValueError:
        return 1, 0.0, text
    return (0, number, text) if number == number else (1, 0.0, text)


def doubles(values: Any) -> npt.NDArray[np.float64]:
    """Numbers of any type as doubles; a missing one is NaN."""
    import pyarrow as pa

    numbers = as_doubles(values)
    numbers = numbers.combine_chunks() if isinstance(numbers, pa.ChunkedArray) else numbers
    return np.where(is_missing(numbers), np.nan, to_numpy(numbers)) if numbers.null_count else to_numpy(numbers)


def moments(values: Any) -> npt.NDArray[np.datetime64]:
    """Dates and moments, none of them missing, to the microsecond."""
    import pyarrow as pa

    return to_numpy(values.cast(pa.timestamp("us"), safe=False).view(pa.int64())).view("datetime64[us]")


def number_array(x: npt.NDArray[np.float64], kind: str) -> Any:
    """Doubles as a pyarrow array of kind ``integer`` or ``float``; −0.0 is 0.0."""
    import pyarrow as pa

    return pa.array(x.astype(np.int64), pa.int64()) if kind == "integer" else pa.array(x + 0.0, pa.float64())


def number_kind(kind: str, numbers: Sequence[float]) -> str:
    """Whole numbers stay whole where the step's own numbers are whole; otherwise the result is a float.

    >>> number_kind("integer", [5.0]), number_kind("integer", [0.5]), number_kind("decimal", [5.0])
    ('integer', 'float', 'float')
    """
    return "integer" if kind == "integer" and all(float(x).is_integer() for x in numbers) else "float"
