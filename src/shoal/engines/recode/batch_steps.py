"""Expression steps on batches: those that follow a step on batches or whole columns (noise, then limits), and long ones.

An expression step is applied in SQL, before all others; one that comes after another step on its column would see the
original values, and what it promises (no number beyond the limits) would not be true of what is published.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.core.kinds import normalize
from shoal.engines.core.step_sql import gap_error
from shoal.errors import HierarchyGapError
from shoal.kernels.arrow import ArrowValues, from_texts, kind_of, positions
from shoal.kernels.codes import code_labels, is_code, is_numeric, number_ranges
from shoal.kernels.text import canonical_text
from shoal.model.plan import SUPPRESSED, ColumnStep, Plan, Step, StreamStep
from shoal.model.roles import Column, Schema
from shoal.steps import Cut, ExpressionStep, Keep
from shoal.steps.expression import natural

Declared = Mapping[str, tuple[object, ...]]


def without_codes(table: pa.Table, declared: Declared) -> pa.Table:
    """The table with declared codes as missing values."""
    for name, codes in declared.items():
        if not codes:
            continue
        values = table.column(name)
        hidden = pc.if_else(is_code(values, codes), pa.scalar(None, values.type), values)
        table = table.set_column(table.schema.get_field_index(name), name, hidden)
    return table


def with_codes(result: pa.Table, before: pa.Table, declared: Declared) -> pa.Table:
    """``result`` with the codes of ``before`` back in their places."""
    for name, codes in declared.items():
        result = _put_back(result, name, before.column(name), is_code(before.column(name), codes), codes)
    return result


def _put_back(result: pa.Table, name: str, before: ArrowValues, here: ArrowValues, codes: tuple[object, ...]) -> pa.Table:
    """Codes back in their places; a number that became one by calculation moves just beside it."""
    values = result.column(name)
    if values.type == pa.null():
        values = values.cast(before.type)
    for low, high in number_ranges(codes):
        if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
            values = _beside(values, before, low, high)
    text = pa.types.is_string(values.type) or pa.types.is_string(before.type)
    own, new = (canonical_text(before), canonical_text(values)) if text else (before.cast(values.type), values)
    return result.set_column(result.schema.get_field_index(name), name, pc.if_else(here, own, new))


def _beside(made: ArrowValues, before: ArrowValues, low: float, high: float) -> ArrowValues:
    """Numbers that calculation brought among the codes: one below or above them, on the side that they come from."""
    inside = pc.and_(pc.greater_equal(made, low), pc.less_equal(made, high))
    if not pc.any(inside).as_py():
        return made
    known = np.isfinite(low) and np.isfinite(high) and not pa.types.is_string(before.type)
    under = pc.less(before.cast(pa.float64(), safe=False), low) if known else pa.scalar(np.isfinite(low))
    down, up = (pa.scalar(x if np.isfinite(x) else 0.0).cast(made.type) for x in (np.floor(low) - 1, np.ceil(high) + 1))
    return pc.if_else(pc.fill_null(inside, False), pc.if_else(pc.fill_null(under, True), down, up), made)


def beside_codes(step: Any, table: pa.Table, seed: int, declared: Declared) -> pa.Table:
    """A whole-column step beside the codes of its columns; one that groups records keeps different codes apart."""
    if not declared:
        return step.run(table, seed)
    hidden = without_codes(table, declared)
    if not step.splits_by_codes:
        return with_codes(step.run(hidden, seed), table, declared)
    kinds = [_number_codes(table.column(n), declared.get(n, ())) for n in step.columns]
    result = step.run(hidden, seed, kinds)
    for name, kind in zip(step.columns, kinds, strict=True):
        if name in declared:
            result = _put_back(result, name, table.column(name), pa.array(kind > 0), declared[name])
    return result


def _number_codes(values: ArrowValues, codes: tuple[object, ...]) -> npt.NDArray[np.int64]:
    """0 for a value that is not a code, otherwise a number per code."""
    here = is_code(values, codes).to_numpy(zero_copy_only=False)
    kinds = canonical_text(values).dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return np.where(here, kinds.astype(np.int64) + 1, 0)


def column_after(step: Step, column: Column, kind: str) -> Column:
    """What is known of ``column`` after a step on batches or whole columns; ``kind`` is that of its new values."""
    same = kind == column.kind
    if step.publishes == "own":
        wide = column.kind == "integer" and kind == "decimal"  # whole numbers beyond 2⁶³
        as_text = column.stored is not None and kind_of(column.stored) != column.kind  # durations and nested values
        stored, kind = (None if as_text else column.stored, column.kind) if same or wide else (None, kind)
        former = column.stored if as_text and same else column.former
        return replace(column, kind=kind, coded=is_numeric(column) and kind == "text", stored=stored, former=former)
    form = column.form if same else ""
    bare = replace(column, kind=kind, labels=code_labels(column), order=(), stored=None, former=None, form=form)
    if step.publishes == "numbers":
        return replace(bare, coded=column.coded, former=column.stored or column.former)
    if step.publishes == "groups":
        return replace(bare, grouped=True, coded=False, form="", width=0, measure=column.measure.replace("scale", "ordinal"))
    return replace(bare, form="", measure="", width=0, coded=False)


@dataclass(frozen=True)
class Later(StreamStep):
    """An expression step on batches, of a column that an earlier step changed; codes ``declared`` missing are not among them."""

    step: Any = None
    declared: tuple[object, ...] = ()
    kind: ClassVar[str] = "later"
    by_row: ClassVar[bool] = False
    draws: ClassVar[bool] = False

    def after(self, column: Column) -> Column:
        """What is known of the column that it makes."""
        recoded: Column = self.step.after(column)
        return recoded

    def start(self, seed: int) -> Callable[[pa.Table, Any], pa.Table]:
        step = self.step

        def run(table: pa.Table, rows: Any) -> pa.Table:
            values = table.column(self.column)
            out = by_value(step, values, Column(self.column, kind_of(values.type), user_missing=self.declared))
            return table.set_column(table.schema.get_field_index(self.column), self.column, out)

        return run


def by_value(step: ExpressionStep, values: ArrowValues, column: Column) -> ArrowValues:
    """An expression step on each distinct value, as COUNT and RECODE by codes do it."""
    step.check(column)
    encoded = normalize(values, column.kind).dictionary_encode()
    after = step.arrow(encoded.dictionary, replace(column, user_missing=()))
    if after.null_count:
        lost = np.flatnonzero(after.is_null().to_numpy(zero_copy_only=False))
        records = int(np.isin(encoded.indices.drop_null().to_numpy(), lost).sum())
        raise gap_error(column.name, after.null_count, records)
    out = after.take(encoded.indices)
    return out if step.missing is None else out.fill_null(step.missing)


MANY_INTERVALS = 256
"""Intervals from which on a database that compares every record with many of them takes longer than a search on batches."""


def cut_on_batches(plan: Plan, schema: Schema) -> Plan:
    """The plan with each cut into many intervals as a step on batches."""
    declared = {c.name: c.user_missing for c in schema.columns}
    many = [s for s in plan.steps if isinstance(s, Cut) and len(s.labels) > MANY_INTERVALS]
    return replace(plan, steps=tuple(Later(s.column, s, declared[s.column]) if s in many else s for s in plan.steps))


def in_their_order(plan: Plan, schema: Schema) -> Plan:
    """The plan with each expression step that follows another step on its column as a step on batches."""
    declared = {c.name: c.user_missing for c in schema.columns}
    changed: set[str] = set()
    steps: list[Step] = []
    for step in plan.steps:
        if isinstance(step, ExpressionStep) and not isinstance(step, Keep) and step.column in changed:
            steps.append(Later(step.column, step, declared.get(step.column, ())))
        else:
            steps.append(step)
        if isinstance(step, StreamStep | ColumnStep):
            changed.update(step.columns)
    return replace(plan, steps=tuple(steps))


@dataclass(frozen=True)
class Labels(ExpressionStep):
    """The labels that ``step`` gives to texts."""

    step: Any = None
    kind: ClassVar[str] = "labels"

    def after(self, column: Column) -> Column:
        return column_after(self.step, column, "text")

    @property
    def missing(self) -> str | None:
        label: str | None = self.step.missing_label
        return label

    def arrow(self, values: ArrowValues, column: Column) -> pa.Array:
        texts = canonical_text(values).to_pylist()
        try:
            return from_texts(self.step.labels(texts))
        except HierarchyGapError as gap:  # of values that may occur; the caller counts those that do
            lost = set(getattr(gap, "values", ()))
            there = [t for t in texts if t not in lost]
            label = dict(zip(there, self.step.labels(there), strict=True))
            return from_texts([label.get(t) for t in texts])


def label_steps(plan: Plan, steps: Mapping[str, ExpressionStep], schema: Schema) -> dict[str, ExpressionStep] | None:
    """All steps of a plan as expression steps, where each column has one; None where a step needs more than its value.

    Columns with codes that their file declares missing are left to the way that keeps these apart.
    """
    out = dict(steps)
    for step in plan.steps:
        if not isinstance(step, StreamStep):
            continue
        if not _only_labels(step) or step.column in out or schema[step.column].user_missing:
            return None
        out[step.column] = Labels(step.column, step)
    return out


def _only_labels(step: Step) -> bool:
    """Whether the new value is a label of the old one: the same in every row, with nothing drawn and no other column."""
    alone = step.columns == (step.column,) and not getattr(step, "needs", ()) and not step.draws
    return alone and not getattr(step, "by_row", True) and callable(getattr(step, "labels", None))


def order_of_groups(pairs: pa.Table, order: Sequence[str] = ()) -> tuple[str, ...]:
    """Published texts (column ``is``) in the order of the values that they stand for (``was``): by the least, then the greatest.

    ``order`` is that of the values, where it is known; else numbers go by size. What joins the rest has no place.

    >>> import pyarrow as pa
    >>> order_of_groups(pa.table({"was": ["1", "2", "2", "10", "3"], "is": ["1 to 2", "1 to 2", "2", "10", "(other)"]}))
    ('1 to 2', '2', '10')
    """
    places = {text: (0, float(i), "") for i, text in enumerate(order)}
    values, value_of = _places(pairs["was"])
    labels, label_of = _places(pairs["is"])
    at = [places.get(value, natural(value)) for value in values]
    rank = {place: i for i, place in enumerate(sorted(set(at)))}
    known, there = (value_of >= 0) & (label_of >= 0), set(values)
    own, low = np.array([rank[place] for place in at], dtype=np.int64)[value_of[known]], np.full(len(labels), len(rank))
    high = np.full(len(labels), -1)
    np.minimum.at(low, label_of[known], own)
    np.maximum.at(high, label_of[known], own)
    texts = [i for i, label in enumerate(labels) if high[i] >= 0 and label != SUPPRESSED and (label[:1] != "(" or label in there)]
    return tuple(labels[i] for i in sorted(texts, key=lambda i: (low[i], high[i], labels[i])))


def _places(texts: pa.ChunkedArray) -> tuple[list[str], npt.NDArray[Any]]:
    """The different texts and the place of each row among them; −1 for a missing one."""
    encoded = texts.combine_chunks().dictionary_encode()
    return encoded.dictionary.to_pylist(), positions(encoded.indices)
