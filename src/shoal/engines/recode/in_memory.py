"""Expression steps on values in memory: the same answers as :mod:`shoal.engines.recode.expressions` gives in SQL.

Used where values are already here as categories of a count: a step is applied once per distinct value, never per row.
"""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.engines.recode.expressions import check_step, joined_intervals, number_labels, result_kind
from shoal.errors import UsageError
from shoal.kernels.rounding import to_multiple
from shoal.kernels.text import canonical_text
from shoal.model.plan import SUPPRESSED, Clamp, Constant, Cut, Keep, MapValues, Prefix, Round, Step
from shoal.model.roles import Column


def apply_step(step: Step, values: Any, column: Column) -> tuple[Any, Any, Column]:
    """Send distinct values (pyarrow, in the type of the column's kind, without nulls) through a step.

    Returns
    -------
    tuple
        The new value of each; the new value of a missing one (``None`` or a text); the column as it is afterwards. A value map
        that does not cover a value and has ``on_gap="error"`` gives null there: the caller counts the records.

    Examples
    --------
    >>> import pyarrow as pa
    >>> cut = Cut("age", points=(30.0,), labels=("<30", "30+"))
    >>> apply_step(cut, pa.array([29, 30]), Column("age", "integer"))[0].to_pylist()
    ['<30', '30+']
    """
    check_step(step, column)
    text = replace(column, kind="text", labels={}, user_missing=())
    if isinstance(step, Keep):
        return values, None, column
    if isinstance(step, Constant):
        return _texts([step.value] * len(values)), step.value, text
    if isinstance(step, MapValues):
        return _map(step, values, column), step.missing_label, text
    if isinstance(step, Cut):
        return _cut(step, values, column), step.missing_label, text
    if isinstance(step, Prefix):
        return _texts([_prefix(t, step) for t in canonical_text(values).to_pylist()]), None, text
    if isinstance(step, Round):
        return (
            _numbers(to_multiple(_doubles(values), step.base), result_kind(step, column)),
            None,
            replace(text, kind=result_kind(step, column)),
        )
    if isinstance(step, Clamp):
        kind = result_kind(step, column)
        return _clamp(step, values, kind), None, replace(text, kind=kind)
    raise UsageError(
        f"step '{step.kind}' of column '{column.name}' cannot be counted through.", hint="It belongs to RECODE only."
    )


def _texts(texts: list[str | None]) -> Any:
    import pyarrow as pa

    return pa.array(texts, pa.string())


def _map(step: MapValues, values: Any, column: Column) -> Any:
    gap = {"error": None, "suppress": SUPPRESSED, "top": step.top}[step.on_gap]
    if column.kind == "float":
        by_number = number_labels(step)
        return _texts([by_number.get(x, gap) for x in values.to_pylist()])
    labels = {k: step.labels[t] for k, t in zip(step.keys, step.targets, strict=True)}
    return _texts([labels.get(t, gap) for t in canonical_text(values).to_pylist()])


def _cut(step: Cut, values: Any, column: Column) -> Any:
    points, labels = joined_intervals(step)
    side = "right" if step.closed == "left" else "left"
    if column.kind in ("date", "timestamp"):
        moments = values.to_numpy(zero_copy_only=False).astype("datetime64[us]")
        at = np.searchsorted(np.array([_moment(p) for p in points], dtype="datetime64[us]"), moments, side=side)  # type: ignore[call-overload]
    elif column.kind == "float" or all(float(p).is_integer() for p in points) is False:
        at = np.searchsorted(np.array(points, dtype=np.float64), _doubles(values), side=side)  # type: ignore[call-overload]
    else:
        at = _search_whole([int(p) for p in points], values, side)
    return _texts([labels[i] for i in at])


def _search_whole(points: list[int], values: Any, side: str) -> list[int]:
    import bisect

    find = bisect.bisect_right if side == "right" else bisect.bisect_left
    return [find(points, v) for v in values.to_pylist()]


def _moment(point: float | str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(str(point))


def _prefix(text: str, step: Prefix) -> str:
    kept = text[max(0, len(text) - step.length) :] if step.from_end else text[: step.length]
    filler = step.fill * max(0, len(text) - step.length)
    return filler + kept if step.from_end else kept + filler


def _doubles(values: Any) -> Any:
    import pyarrow as pa

    return values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def _numbers(x: Any, kind: str) -> Any:
    import pyarrow as pa

    return pa.array(x.astype(np.int64), pa.int64()) if kind == "integer" else pa.array(x + 0.0, pa.float64())


def _clamp(step: Clamp, values: Any, kind: str) -> Any:
    import pyarrow as pa

    if kind == "integer":
        low = None if step.low is None else int(step.low)
        high = None if step.high is None else int(step.high)
        clamped = [
            low if low is not None and v < low else high if high is not None and v > high else v for v in values.to_pylist()
        ]
        return pa.array(clamped, values.type)
    x = _doubles(values)
    if step.low is not None:
        x = np.where(x < step.low, step.low, x)
    if step.high is not None:
        x = np.where(x > step.high, step.high, x)
    return _numbers(x, "float")
