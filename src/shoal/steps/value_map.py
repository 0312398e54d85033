"""Value map: each value becomes the label of its group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from shoal.errors import HierarchyGapError, PolicyError
from shoal.kernels.arrow import from_texts
from shoal.kernels.codes import group_label, is_numeric, label_texts
from shoal.kernels.text import canonical_text
from shoal.model.plan import SUPPRESSED, OnGap, Publishes, register_step
from shoal.model.roles import Column
from shoal.steps.expression import ExpressionStep, Labelled, natural

if TYPE_CHECKING:
    from sqlglot import exp

    from shoal.steps.sql import Dialect, Expression


@register_step
@dataclass(frozen=True)
class MapValues(ExpressionStep):
    """Replace each value (compared as text, byte for byte) by the label of its group.

    ``keys[i]`` becomes ``labels[targets[i]]``. A missing value stays missing unless ``missing_label`` is given. A value
    that is not among the keys follows ``on_gap``: stop, publish :data:`~shoal.model.plan.SUPPRESSED`, or publish ``top``.
    A column of floats is compared as numbers: ``1`` and ``1.0`` are one key.
    """

    keys: tuple[str, ...] = field(default=(), repr=False)  # values of the data
    targets: tuple[int, ...] = field(default=(), repr=False)
    labels: tuple[str, ...] = ()
    on_gap: OnGap = "error"
    top: str = SUPPRESSED
    missing_label: str | None = None
    kind: ClassVar[str] = "map"
    publishes: ClassVar[Publishes] = "groups"

    def __post_init__(self) -> None:
        if len(self.keys) != len(self.targets):
            raise PolicyError(f"the value map of '{self.column}' has {len(self.keys)} keys and {len(self.targets)} targets.")
        if len(set(self.keys)) != len(self.keys):
            raise PolicyError(f"the value map of '{self.column}' lists a value twice.")
        if self.targets and not 0 <= min(self.targets) <= max(self.targets) < len(self.labels):
            raise PolicyError(f"the value map of '{self.column}' points to a label that does not exist.")

    def _column(self, column: Column) -> Column:
        if (self.renames_nothing or self._hides_all) and is_numeric(column):  # rare values hidden, the others as they were
            return replace(column, kind="text", coded=True, order=(), stored=None, former=None)
        if self.renames_nothing and column.kind == "text" and (column.labels or column.user_missing):  # texts that are codes
            return replace(column, order=(), stored=None, former=None)
        column_after = replace(super()._column(column), grouped=True, order=self._order())
        measure = column.measure if column.measure != "scale" else "ordinal"
        return replace(column_after, measure=measure, labels=self._named(label_texts(column)))

    def _named(self, labels: Mapping[str, str]) -> dict[object, str]:
        """What the groups that are named by their codes are called, where the codes have labels."""
        codes: dict[str, list[str]] = {}
        for key, target in zip(self.keys, self.targets, strict=True):
            codes.setdefault(self.labels[target], []).append(key)
        by_codes = {t: c for t, c in codes.items() if t in (c[0], f"{c[0]}-{c[-1]}", f"{c[0]} to {c[-1]}")} if labels else {}
        return {t: label for t in by_codes if (label := group_label(t, labels))}

    @property
    def renames_nothing(self) -> bool:
        """Whether every value that it covers stays as it is; the others follow ``on_gap``."""
        return bool(self.keys) and all(self.labels[t] == k for k, t in zip(self.keys, self.targets, strict=True))

    @property
    def _hides_all(self) -> bool:
        return not self.keys and self.on_gap == "suppress"

    def _order(self) -> tuple[str, ...]:
        """The labels in the order of their smallest key, numbers by size; what joins the rest comes last."""
        least: dict[str, Any] = {}
        for key, target in zip(self.keys, self.targets, strict=True):
            label = self.labels[target]
            least[label] = min(least.get(label, natural(key)), natural(key))
        return tuple(sorted(least, key=lambda label: (label == SUPPRESSED, least[label])))

    @property
    def missing(self) -> str | None:
        return self.missing_label

    @property
    def gap_label(self) -> str:
        """What a value outside the map becomes where it does not stop the run."""
        return self.top if self.on_gap == "top" else SUPPRESSED

    def _sql(self, dialect: Dialect, column: Column, value: exp.Expr, alias: str) -> Expression:
        """A LEFT JOIN with the keys ``k`` and their labels ``l``."""
        import pyarrow as pa
        from sqlglot import exp

        from shoal.steps import sql

        key, text = sql.column("k", alias), Column(column.name, "text")
        if column.kind == "float":
            pairs = [(repr(k), label) for k, label in self.by_number().items()]
            on = exp.EQ(this=value.copy(), expression=sql.cast(key, "DOUBLE"))
        else:
            pairs = list(self.by_text().items())
            on = exp.EQ(this=dialect.key(dialect.text(value.copy(), column), text), expression=dialect.mapped(key, text))
        table = pa.table({"k": from_texts([k for k, _ in pairs]), "l": from_texts([label for _, label in pairs])})
        label = sql.when(sql.is_null(key), sql.string(self.gap_label), sql.column("l", alias))
        gap = exp.and_(exp.Not(this=sql.is_null(value)), sql.is_null(key)) if self.on_gap == "error" else None
        return sql.Expression(sql.unless_missing(value, label, self.missing_label), sql.Lookup(table, on, gap))

    def _arrow(self, values: Any, column: Column) -> Any:
        gap = None if self.on_gap == "error" else self.gap_label
        if column.kind == "float":
            by_number = self.by_number()
            return from_texts([by_number.get(x, gap) for x in values.to_pylist()])
        by_text = self.by_text()
        return from_texts([by_text.get(t, gap) for t in canonical_text(values).to_pylist()])

    def _stays(self, codes: Any, new: Any) -> Any:
        """A map that names a code decides about it; a code that it does not name is not a gap."""
        import pyarrow.compute as pc

        return pc.and_(codes, new.is_null())

    def texts(self, texts: Sequence[str], numbers: npt.NDArray[np.float64] | None = None) -> Labelled:
        target = dict(zip(self.keys, self.targets, strict=True))
        gap = len(self.labels)
        index = np.fromiter((target.get(t, gap) for t in texts), dtype=np.int64, count=len(texts))
        lost = int((index == gap).sum())
        if lost and self.on_gap == "error":
            what = f"the value map of '{self.column}' does not cover {lost} values."
            hint = 'Extend the map, or pass on_gap="suppress" or on_gap="top". See error.values.'
            raise HierarchyGapError(what, hint=hint, column=self.column, values=tuple(t for t in texts if t not in target))
        return Labelled(index, (*self.labels, self.gap_label))

    def by_text(self) -> dict[str, str]:
        """The label of each key."""
        return {k: self.labels[t] for k, t in zip(self.keys, self.targets, strict=True)}

    def by_number(self) -> dict[float, str]:
        """The label of each key that is a number, for a column of floats.

        >>> MapValues("x", keys=("1", "1.0", "n/a"), targets=(0, 0, 0), labels=("a",)).by_number()
        {1.0: 'a'}
        """
        out: dict[float, str] = {}
        for key, label in self.by_text().items():
            try:
                value = float(key) + 0.0  # −0.0 is 0.0
            except ValueError:
                continue
            if value == value and out.setdefault(value, label) != label:
                what = f"the value map of '{self.column}' lists a number in two spellings, with different labels."
                raise PolicyError(what, hint="Keep one of them.", column=self.column)
        return out
