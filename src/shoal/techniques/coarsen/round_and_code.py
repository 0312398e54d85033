"""Rounding, and top and bottom coding, with limits that can be taken from the data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError, PolicyError, UsageError
from shoal.hierarchies.builders.numbers import FARTHEST
from shoal.hierarchies.values import counts_of, texts_of
from shoal.kernels.text import canonical_text
from shoal.model.plan import SUPPRESSED, ColumnStep, OnGap, Publishes, register_step
from shoal.steps import Clamp, MapValues
from shoal.techniques.columns import distinct_numbers, need_group, with_column


def top_bottom(
    column: str,
    values: Any = None,
    counts: Any = None,
    *,
    low: float | None = None,
    high: float | None = None,
    people: int | None = None,
    share: float | None = None,
) -> Clamp:
    """Top and bottom coding: numbers beyond the limits are published as the limit.

    Give the limits, or let them be taken from the data so that at least ``people`` records (or a ``share`` of them) lie at
    each end; limits are then rounded inwards, to steps of at most 1/20 of the range, finer where more than half as many again
    records would be coded.

    >>> top_bottom("age", high=90).high
    90
    >>> top_bottom("pay", [str(v) for v in range(1001)], share=0.05)
    Clamp(column='pay', low=50.0, high=950.0)
    """
    if people is None and share is None:
        if low is None and high is None:
            raise UsageError(f"the coding of '{column}' needs low=, high=, people= or share=.")
        return Clamp(column, low, high)
    x = distinct_numbers(column, values)
    order = np.argsort(x, kind="stable")
    below = np.concatenate([[0], np.cumsum(counts_of(x, counts)[order])])  # records below each number, and of all
    x, n = x[order], int(below[-1])
    wanted = people if people is not None else math.ceil((share or 0.0) * n)
    if wanted < 1:
        hint = "Such as share=0.01 or people=5."
        raise UsageError(f"the coding of '{column}' needs at least one record at each end.", hint=hint)
    if n and x[-1] / 2 - x[0] / 2 > FARTHEST:
        hint = "Give the limits: low=, high=."
        raise DataError(f"the numbers of column '{column}' lie too far apart.", hint=hint, column=column)
    need_group(2 * wanted, n, f"column '{column}'")
    first, last = x[np.searchsorted(below, [wanted, n - wanted + 1]) - 1].tolist()
    step = float(x[-1] - x[0]) / 20
    unit = 10.0 ** math.floor(math.log10(step)) if step > 0 else 1.0
    bottom = _inwards(_past(first, np.inf), unit, lambda limits: below[np.searchsorted(x, limits, side="right")].tolist())
    top = -_inwards(
        -_past(last, -np.inf), unit, lambda limits: (n - below[np.searchsorted(x, [-v for v in limits], side="left")]).tolist()
    )
    if bottom > top:
        hint = "Code fewer people at each end."
        raise DataError(f"the middle of column '{column}' is too narrow for this coding.", hint=hint, column=column)
    return Clamp(column, bottom, top)


def _past(x: float, side: float) -> float:
    """``x``, or the next double where it may stand for a whole number on that side of it."""
    return float(np.nextafter(x, side)) if abs(x) >= 2.0**53 else float(x)


def _inwards(limit: float, unit: float, up_to: Callable[[list[float]], list[int]]) -> float:
    """``limit`` rounded up to a multiple of ``unit``, or of a tenth, a hundredth … of it, until few more records lie below."""
    tried = []
    for _ in range(12):
        shown = float(f"{math.ceil(limit / unit) * unit if unit > 0 else limit:.12g}")  # without the last digits of a double
        tried.append(shown if shown >= limit else limit)
        unit /= 10
    least, *others = up_to([limit, *tried])
    return next((out for out, n in zip(tried, others, strict=True) if n <= 1.5 * least), limit) + 0.0


def suppress_rare(column: str, values: Any, counts: Any, *, min_count: int) -> MapValues:
    """Publish ``*`` for values of fewer than ``min_count`` records; the plan names only the others.

    >>> step = suppress_rare("job", ["nurse", "astronaut"], [50, 1], min_count=5)
    >>> step.keys, step.on_gap
    (('nurse',), 'suppress')
    """
    if min_count < 1:
        raise UsageError(f"min_count must be at least 1; found {min_count}.")
    texts = texts_of(column, values)
    names = tuple(sorted(t for t, n in zip(texts, counts_of(texts, counts).tolist(), strict=True) if n >= min_count))
    return MapValues(column, names, tuple(range(len(names))), names, "suppress")


@register_step
@dataclass(frozen=True)
class Rare(ColumnStep):
    """Publish ``*`` for values of fewer than ``min_count`` records; missing ones stay missing.

    The plan names no value: it is what ``rare`` becomes where more values stay than a plan can hold.

    >>> import pyarrow as pa
    >>> Rare("job", min_count=2).run(pa.table({"job": ["nurse", "nurse", "astronaut", None]}), 0)["job"].to_pylist()
    ['nurse', 'nurse', '*', None]
    """

    min_count: int = 2
    on_gap: ClassVar[OnGap] = "suppress"
    kind: ClassVar[str] = "rare"
    publishes: ClassVar[Publishes] = "own"
    draws: ClassVar[bool] = False
    codes_apart: ClassVar[bool] = False
    by_place: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if isinstance(self.min_count, bool) or not isinstance(self.min_count, int) or self.min_count < 1:
            raise PolicyError(f"min_count of '{self.column}' must be a whole number of at least 1.")

    def run(self, table: pa.Table, seed: int) -> pa.Table:
        texts = canonical_text(table.column(self.column))
        encoded = texts.dictionary_encode()
        codes = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
        times = np.bincount(codes, minlength=len(encoded.dictionary) + 1)
        stays = pc.or_(pa.array(times[codes] >= self.min_count), texts.is_null())
        return with_column(table, self.column, pc.if_else(stays, texts, SUPPRESSED))
