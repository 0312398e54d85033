"""Dates moved by a secret number of days for each person, in each column by another number unless columns share a domain.

Keeps    the time of day; the order and the distances of one person's dates within a column, and among columns that share a
         domain (exact distances find people); not weekdays or seasons
Needs    a key; the column that names the person
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError, PolicyError
from shoal.kernels.arrow import from_numpy
from shoal.kernels.text import canonical_text
from shoal.model.plan import Publishes, StreamStep, register_step
from shoal.techniques.columns import with_column
from shoal.techniques.identity.keys import EachText, digests_of, read_key

FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31, in days since 1970."""

_ISO = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$"
_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


@register_step
@dataclass(frozen=True)
class DateShift(StreamStep):
    """Move each date by −``days`` … ``days`` days (never 0), a keyed function of the person in column ``unit``.

    Each column moves by itself. Columns (also of other tables) with the same key and a ``domain`` of the same name move
    together and keep their exact distances, by which people are found: ``anonymize`` measures how many. If the person is
    missing, the date becomes missing.
    """

    unit: str = ""
    days: int = 182
    key: str = "env:SHOAL_KEY"
    domain: str = ""
    kind: ClassVar[str] = "date_shift"
    publishes: ClassVar[Publishes] = "numbers"
    truthful: ClassVar[bool] = False
    by_row: ClassVar[bool] = False
    draws: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.unit or not 1 <= self.days <= 3_650:
            raise PolicyError(f"the date shift of '{self.column}' needs a unit column and 1 to 3650 days.")

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.unit,)

    def shifts(self, key: bytes, people: Any) -> npt.NDArray[np.int64]:
        """Days for each person of a pyarrow array without missing ones."""
        words = np.ascontiguousarray(digests_of(key, self.domain or f"dates of {self.column}", people)[:, :8]).view(">u8")[:, 0]
        number = (words % np.uint64(2 * self.days)).astype(np.int64)
        return np.asarray(np.where(number < self.days, number - self.days, number - self.days + 1))

    def start(self, seed: int) -> Callable[[pa.Table, object], pa.Table]:
        key = read_key(self.key)
        shifts = EachText(lambda people: from_numpy(self.shifts(key, people)))

        def run(table: pa.Table, rows: object) -> pa.Table:
            return with_column(
                table, self.column, self._moved(table.column(self.column), shifts(canonical_text(table.column(self.unit))))
            )

        return run

    def _moved(self, dates: Any, shifts: Any) -> Any:
        kind = dates.type
        if isinstance(dates, pa.ChunkedArray):
            dates = dates.combine_chunks()
        if pa.types.is_string(kind):
            moved = self._moved(_parse(self.column, dates), shifts).cast(pa.string())
            return pc.binary_join_element_wise(moved, pc.utf8_slice_codeunits(dates, 10), "")  # with the time of day, if any
        if pa.types.is_date(kind):
            numbers = dates.cast(pa.date32()).cast(pa.int32()).cast(pa.int64())
            moved = pc.add(numbers, shifts)
            self._need_years(moved, FIRST_DAY, LAST_DAY)
            return moved.cast(pa.int32()).cast(pa.date32())
        if pa.types.is_timestamp(kind):
            day = np.int64(_DAY[kind.unit])
            try:
                moved = pc.add_checked(dates.cast(pa.int64()), pc.multiply(shifts, day))
            except pa.ArrowInvalid:  # from 1677 to 2262
                raise self._beyond(1, "the years that nanoseconds reach") from None
            if kind.unit != "ns":
                self._need_years(moved, FIRST_DAY * day, (LAST_DAY + 1) * day - 1)
            return moved.cast(kind)
        what = f"column '{self.column}' must hold dates; its {len(dates)} values are of another kind."
        raise DataError(what, column=self.column)

    def _need_years(self, moved: Any, first: Any, last: Any) -> None:
        beyond = int(pc.sum(pc.or_(pc.less(moved, first), pc.greater(moved, last))).as_py() or 0)
        if beyond:
            raise self._beyond(beyond)

    def _beyond(self, dates: int, years: str = "the years 1 to 9999") -> DataError:
        hint = "Make them missing: such dates mostly stand for an unknown one."
        return DataError(f"{dates} dates of column '{self.column}' would leave {years}.", hint=hint, column=self.column)


def _parse(column: str, texts: Any) -> Any:
    """The dates of ISO texts, which may have a time of day behind them."""
    fits = pc.fill_null(pc.match_substring_regex(texts, _ISO), True)
    wrong = len(texts) - int(pc.sum(fits).as_py() or 0)
    if not wrong:
        try:
            return pc.utf8_slice_codeunits(texts, 0, 10).cast(pa.date32())
        except pa.ArrowInvalid:
            wrong = 1
    what = f"column '{column}' must hold dates; at least {wrong} of its values are none."
    raise DataError(what, hint="Write them as YYYY-MM-DD, with or without a time of day.", column=column) from None
