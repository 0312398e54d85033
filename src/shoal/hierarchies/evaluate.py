"""Carry out an expression step on texts in memory: the plain definition that every engine's SQL must agree with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, HierarchyGapError, UsageError
from shoal.model.plan import SUPPRESSED, Constant, Cut, Keep, MapValues, Prefix, Step


@dataclass(frozen=True)
class Labelled:
    """Position of each value's label, and the labels."""

    index: npt.NDArray[np.int64]
    labels: tuple[str, ...]

    def texts(self) -> list[str]:
        return [self.labels[i] for i in self.index]


def evaluate(step: Step, texts: Sequence[str], numbers: npt.NDArray[np.float64] | None = None) -> Labelled:
    """The label that ``step`` gives to each canonical text; ``numbers`` are the texts as numbers, where they are known.

    >>> from shoal.model.plan import Cut, Prefix
    >>> evaluate(Cut("age", points=(30.0,), labels=("<30", "30+")), ["7", "30", "71"]).texts()
    ['<30', '30+', '30+']
    >>> evaluate(Prefix("zip", length=2), ["1234", "1299"]).texts()
    ['12**', '12**']
    """
    if isinstance(step, Cut):
        return _cut(step, texts, numbers)
    if isinstance(step, MapValues):
        return _map(step, texts)
    if isinstance(step, Prefix):
        return listed([prefix_of(step, t) for t in texts])
    if isinstance(step, Keep):
        return listed(list(texts))
    if isinstance(step, Constant):
        return Labelled(np.zeros(len(texts), dtype=np.int64), (step.value,))
    labels = getattr(step, "labels", None)  # steps whose rule gives the label of each value
    if callable(labels):
        return listed(labels(texts))
    raise UsageError(f"step '{step.kind}' of '{step.column}' cannot be carried out on texts.")


def listed(labels: Sequence[str]) -> Labelled:
    """Labels as positions in the list of distinct labels, in order of first appearance."""
    order: dict[str, int] = {}
    index = np.fromiter((order.setdefault(t, len(order)) for t in labels), dtype=np.int64, count=len(labels))
    return Labelled(index, tuple(order))


def prefix_of(step: Prefix, text: str) -> str:
    """One text through a :class:`~shoal.model.plan.Prefix`."""
    if step.from_end:
        cut = max(len(text) - step.length, 0)
        return step.fill * cut + text[cut:]
    return text[: step.length] + step.fill * max(len(text) - step.length, 0)


def numbers_of(column: str, texts: Any) -> npt.NDArray[np.float64]:
    """Texts (or a pyarrow array) as numbers; a text that is none is counted, never shown.

    >>> numbers_of("age", ["1", "2.5"]).tolist()
    [1.0, 2.5]
    """
    if not len(texts):
        return np.zeros(0)
    typed = _typed_numbers(texts)
    if typed is not None:
        return typed
    if hasattr(texts, "null_count"):
        texts = texts.to_pylist()
    try:
        out = np.asarray(texts, dtype=np.str_).astype(np.float64)
    except ValueError:
        out = np.full(len(texts), np.nan)
    wrong = int((~np.isfinite(out)).sum())
    if wrong:
        wrong = sum(1 for t in texts if not _is_number(t))
        raise DataError(
            f"column '{column}' must hold numbers; {wrong} of {len(texts)} distinct values are not.",
            hint="Correct them, or treat the column as categories.",
            column=column,
        )
    return out


def _typed_numbers(values: Any) -> npt.NDArray[np.float64] | None:
    """A numeric pyarrow array without missing or infinite values as floats; None for anything else."""
    if not hasattr(values, "null_count"):
        return None
    import pyarrow as pa

    kind = values.type
    if values.null_count or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return None
    out: npt.NDArray[np.float64] = values.to_numpy(zero_copy_only=False).astype(np.float64)
    return out if np.isfinite(out).all() else None


def _cut(step: Cut, texts: Sequence[str], numbers: npt.NDArray[np.float64] | None) -> Labelled:
    side: str = "right" if step.closed == "left" else "left"
    if step.points and isinstance(step.points[0], str):
        points = np.asarray(step.points, dtype=np.str_)
        index = np.searchsorted(points, np.asarray(list(texts), dtype=np.str_), side=side)  # type: ignore[call-overload]
    else:
        index = np.searchsorted(
            np.asarray(step.points, dtype=np.float64),
            numbers_of(step.column, texts) if numbers is None else numbers,
            side=side,  # type: ignore[call-overload]
        )
    return Labelled(np.asarray(index, dtype=np.int64), step.labels)


def _map(step: MapValues, texts: Sequence[str]) -> Labelled:
    target = dict(zip(step.keys, step.targets, strict=True))
    other = step.top if step.on_gap == "top" else SUPPRESSED
    gap = len(step.labels)
    index = np.fromiter((target.get(t, gap) for t in texts), dtype=np.int64, count=len(texts))
    lost = int((index == gap).sum())
    if lost and step.on_gap == "error":
        raise HierarchyGapError(
            f"the value map of '{step.column}' does not cover {lost} values.",
            hint='Extend the map, or pass on_gap="suppress" or on_gap="top". See error.values.',
            column=step.column,
            values=tuple(t for t in texts if t not in target),
        )
    return Labelled(index, (*step.labels, other))


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False
