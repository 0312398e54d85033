"""Times without their date: the hour or part of the day, the weekday, the month of the year.

A cycle is coarser than any width that keeps the date and as fine; it tells habits, and no longer which day it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shoal.measures.events.habits import WEEKDAYS
from shoal.model.counts.classes import IntArray

HOUR, DAY = 3_600_000_000, 86_400_000_000
PARTS_OF_DAY = ("night", "morning", "afternoon", "evening")
"""From midnight, from six, from noon, from six in the evening: six hours each."""
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
HOURS_OF_DAY = tuple(f"{h:02d}:00" for h in range(24))


@dataclass(frozen=True)
class Cycle:
    """Which season a moment (µs since 1970, or since midnight) falls in, their names, and the kinds of time that tell it.

    ``hours`` and ``days``: whether the hour of the day and the weekday can be told from it.
    """

    season: Callable[[IntArray], IntArray]
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    hours: bool = False
    days: bool = False


def _hour(moment: IntArray) -> IntArray:
    return moment // HOUR % 24


def _part(moment: IntArray) -> IntArray:
    return moment // (6 * HOUR) % 4


def _weekday(moment: IntArray) -> IntArray:
    return (moment // DAY + 3) % 7


def _weekend(moment: IntArray) -> IntArray:
    return (_weekday(moment) >= 5).astype("int64")


def _month(moment: IntArray) -> IntArray:
    return moment.astype("datetime64[us]").astype("datetime64[M]").astype("int64") % 12


def _both(days: tuple[str, ...], times: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{day} {time}" for day in days for time in times)


CYCLES = {
    "hour of day": Cycle(_hour, HOURS_OF_DAY, ("timestamp", "time"), hours=True),
    "part of day": Cycle(_part, PARTS_OF_DAY, ("timestamp", "time")),
    "weekday": Cycle(_weekday, WEEKDAYS, ("timestamp", "date"), days=True),
    "weekend": Cycle(_weekend, ("workday", "weekend"), ("timestamp", "date")),
    "weekday and hour": Cycle(
        lambda m: 24 * _weekday(m) + _hour(m), _both(WEEKDAYS, HOURS_OF_DAY), ("timestamp",), hours=True, days=True
    ),
    "weekday and part of day": Cycle(
        lambda m: 4 * _weekday(m) + _part(m), _both(WEEKDAYS, PARTS_OF_DAY), ("timestamp",), days=True
    ),
    "month of year": Cycle(_month, MONTHS, ("timestamp", "date")),
}
