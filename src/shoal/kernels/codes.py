"""Codes that a file declares missing (SPSS ``99999 "refused"``, Stata ``.a``): values that are not numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from shoal.kernels.arrow import ArrowValues
from shoal.model.roles import NUMBERS, Column


def is_code(values: ArrowValues, declared: Sequence[object]) -> ArrowValues:
    """For each value of a pyarrow array whether it is declared missing; false where it is missing anyway.

    A declaration is a value, or a pair: a range with both ends. Numbers are compared with numbers, texts with texts.

    >>> import pyarrow as pa
    >>> is_code(pa.array([1, -9, 95, None]), (-9, (90, 99))).to_pylist()
    [False, True, True, False]
    >>> is_code(pa.array(["12", ".a"]), (".a",)).to_pylist()
    [False, True]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    out = pa.repeat(pa.scalar(False), len(values))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        texts = [d for d in declared if isinstance(d, str)]
        return pc.fill_null(pc.is_in(values, value_set=pa.array(texts, kind)), False) if texts else out
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return out
    x = values.cast(pa.float64(), safe=False)
    for low, high in number_ranges(declared):
        here = pc.and_(pc.greater_equal(x, low), pc.less_equal(x, high))
        out = pc.or_(out, pc.fill_null(here, False))
    return out


def number_ranges(declared: Sequence[object]) -> list[tuple[float, float]]:
    """The declared numbers as ranges; SPSS's LOWEST and HIGHEST are as far as doubles go.

    >>> number_ranges((-9, (90, 99), ".a"))
    [(-9.0, -9.0), (90.0, 99.0)]
    """
    out = []
    for d in declared:
        low, high = d if isinstance(d, tuple) else (d, d)
        if _is_number(low) and _is_number(high):
            out.append((float(low), float(high)))
    return out


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def is_declared(value: object, declared: Sequence[object]) -> bool:
    """Whether one value, or the text of a number, is declared missing.

    >>> is_declared("-9.0", (-9,)), is_declared("9", (-9,)), is_declared(".a", (".a",))
    (True, False, True)
    """
    if isinstance(value, str):
        if value in declared:
            return True
        try:
            value = float(value)
        except ValueError:
            return False
    return _is_number(value) and any(low <= float(value) <= high for low, high in number_ranges(declared))  # type: ignore[arg-type]


def code_labels(column: Column) -> dict[object, str]:
    """The labels of the values that are declared missing."""
    return {v: label for v, label in column.labels.items() if is_declared(v, column.user_missing)}


def label_texts(column: Column) -> dict[str, str]:
    """The value labels by the canonical text of their value.

    >>> label_texts(Column("x", "float", labels={1.0: "North"})), label_texts(Column("x", "integer", labels={1.0: "North"}))
    ({'1.0': 'North'}, {'1': 'North'})
    """
    return {code_text(value, column.kind): label for value, label in column.labels.items()}


_RUN = re.compile(r"(.+?)(?:-|\.\.| to )(.+)", re.DOTALL)


def group_label(text: str, labels: Mapping[str, str]) -> str:
    """What a published value is called, from the labels of its codes; empty if they do not name all of it.

    >>> edu = {"0": "none", "1": "primary", "3": "secondary", "9": "refused"}
    >>> group_label("3", edu), group_label("0-3", edu), group_label("{1, 9}", edu), group_label("{0..3, missing}", edu)
    ('secondary', 'none to secondary', 'primary, refused', 'none to secondary, missing')
    >>> group_label("{1, 2}", edu), group_label("(other)", edu)
    ('', '')
    """
    if text in labels:
        return labels[text]
    if text.startswith("{") and text.endswith("}"):
        parts = [group_label(part, {"missing": "missing", **labels}) for part in text[1:-1].split(", ")]
        return ", ".join(parts) if all(parts) else ""
    ends = _RUN.fullmatch(text)
    return " to ".join(labels[e] for e in ends.groups()) if ends and all(e in labels for e in ends.groups()) else ""


def code_text(value: object, kind: str) -> str:
    """The canonical text of a labelled value in a column of ``kind``."""
    if _is_number(value):
        whole = float(value).is_integer()  # type: ignore[arg-type]
        if kind == "float" or not whole:
            return repr(float(value))  # type: ignore[arg-type]
        return str(int(value))  # type: ignore[call-overload]
    return str(value)


def is_numeric(column: Column) -> bool:
    """Whether a column holds numbers, as such or as texts that are the source's numbers still."""
    return column.kind in NUMBERS or column.coded
