"""Codes that a file declares missing, in steps on batches and whole columns: the step does not see them, they stay as they are.

And what is known of a column after such a step: labels, declarations and how it is shown live as long as they are true.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.core.kinds import kind_of
from shoal.kernels.codes import code_labels, is_code, is_numeric, number_ranges
from shoal.kernels.text import canonical_text
from shoal.model.plan import Step
from shoal.model.roles import Column

Declared = Mapping[str, tuple[object, ...]]


def without_codes(table: Any, declared: Declared) -> Any:
    """The table with declared codes as missing values."""
    for name, codes in declared.items():
        if not codes:
            continue
        values = table.column(name)
        hidden = pc.if_else(is_code(values, codes), pa.scalar(None, values.type), values)
        table = table.set_column(table.schema.get_field_index(name), name, hidden)
    return table


def with_codes(result: Any, before: Any, declared: Declared) -> Any:
    """``result`` with the codes of ``before`` back in their places."""
    for name, codes in declared.items():
        result = _put_back(result, name, before.column(name), is_code(before.column(name), codes), codes)
    return result


def _put_back(result: Any, name: str, before: Any, here: Any, codes: tuple[object, ...]) -> Any:
    """Codes back in their places; a number that became one by calculation moves just beside it."""
    made = result.column(name)
    if made.type == pa.null():
        made = made.cast(before.type)
    for low, high in number_ranges(codes):
        if pa.types.is_integer(made.type) or pa.types.is_floating(made.type):
            made = _beside(made, before, low, high)
    text = pa.types.is_string(made.type) or pa.types.is_string(before.type)
    own, new = (canonical_text(before), canonical_text(made)) if text else (before.cast(made.type), made)
    return result.set_column(result.schema.get_field_index(name), name, pc.if_else(here, own, new))


def _beside(made: Any, before: Any, low: float, high: float) -> Any:
    """Numbers that calculation brought among the codes: one below or above them, on the side that they come from."""
    inside = pc.and_(pc.greater_equal(made, low), pc.less_equal(made, high))
    if not pc.any(inside).as_py():
        return made
    known = np.isfinite(low) and np.isfinite(high) and not pa.types.is_string(before.type)
    under = pc.less(before.cast(pa.float64(), safe=False), low) if known else pa.scalar(np.isfinite(low))
    down, up = (pa.scalar(x if np.isfinite(x) else 0.0).cast(made.type) for x in (np.floor(low) - 1, np.ceil(high) + 1))
    return pc.if_else(pc.fill_null(inside, False), pc.if_else(pc.fill_null(under, True), down, up), made)


def beside_codes(step: Any, table: Any, seed: int, declared: Declared) -> Any:
    """A whole-column step beside the codes of its columns; one that groups records keeps different codes apart."""
    if not declared:
        return step.run(table, seed)
    hidden = without_codes(table, declared)
    if not step.splits_by_codes:
        return with_codes(step.run(hidden, seed), table, declared)
    kinds = [_numbered(table.column(n), declared.get(n, ())) for n in step.columns]
    result = step.run(hidden, seed, kinds)
    for name, kind in zip(step.columns, kinds, strict=True):
        if name in declared:
            result = _put_back(result, name, table.column(name), pa.array(kind > 0), declared[name])
    return result


def _numbered(values: Any, codes: tuple[object, ...]) -> Any:
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
