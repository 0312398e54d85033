"""What an event release still tells: trips, profiles and supports at the published granularity, before and after."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.measures.events.granularity import CYCLES, EXACT, NONE, UNITS, microseconds, time_length
from shoal.measures.events.habits import Log, compare_logs
from shoal.model.certificate.events import EventUse
from shoal.model.counts.classes import IntArray
from shoal.release.events.publish import place_labels
from shoal.release.events.read import EventTable, places_at, times_at
from shoal.search.events.event_search import Found
from shoal.search.events.problem import CUT


def uses_of(events: EventTable, found: Found) -> tuple[EventUse, ...]:
    """Every comparison that the published columns allow."""
    width = found.shape.time
    hours, days = _told(events, width)
    place = published_places(events, found)
    order = None if width in CYCLES else times_at(events.time, width)  # a cycle does not tell what came first
    everything = np.ones(events.problem.n, dtype=np.bool_)
    before = _log(events, events.problem.person, everything, place, order)
    after = _log(events, found.trace, found.stays, place, order)
    made = compare_logs(before, after, hours=hours, days=days, trips=order is not None)
    return tuple(EventUse(c.name, c.sentence, c.before, c.after, c.kept) for c in made)


def _told(events: EventTable, width: str) -> tuple[bool, bool]:
    """Whether the hour of the day and the weekday of a record are published."""
    kind = None if events.time is None else events.time.kind
    if width in CYCLES:
        return CYCLES[width].hours, CYCLES[width].days
    length = UNITS["s"] if width == EXACT else time_length(width)
    if kind is None or width == NONE or length is None:
        return False, False
    hours = kind in ("timestamp", "time") and length <= UNITS["h"]
    return hours, kind in ("timestamp", "date") and length <= UNITS["d"] and not events.rules.shift


def published_places(events: EventTable, found: Found) -> IntArray | None:
    """The place of each record as it is published."""
    level = found.shape.place
    if level != CUT:
        codes: IntArray | None = places_at(events.places, level, events.trees)
        return codes
    labels: list[Any] = place_labels(events.places[0], level, events.trees, found.levels).to_pylist()
    numbers = np.unique(np.array(labels, dtype=object).astype(str), return_inverse=True)[1]
    return numbers[events.places[0].codes].astype(np.int64)


def _log(events: EventTable, who: IntArray, which: Any, place: IntArray | None, order: Any) -> Log:
    """The chosen records of each, in the order of the published times; those at the same time in the order of their places."""
    index = np.flatnonzero(which)
    keys = [k[index] for k in (place, order) if k is not None]
    index = index[np.lexsort((*keys, who[index]))]
    moment = None
    if events.time is not None and events.time.kind in ("timestamp", "date", "time"):
        moment = microseconds(events.time.values, events.time.kind)[events.time.codes[index]]
    return Log(who[index], moment, None if place is None else place[index])
