"""What an event release still tells: trips, profiles and supports at the published granularity, before and after."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.measures.events.granularity import EXACT, NONE, UNITS, microseconds, time_length
from shoal.measures.events.utility import Log, compare_logs
from shoal.model.certificate.events import EventUse
from shoal.model.counts.classes import IntArray
from shoal.release.events.publish import place_labels
from shoal.release.events.read import EventTable, places_at
from shoal.search.events.best import Found
from shoal.search.events.problem import CUT


def uses_of(events: EventTable, found: Found) -> tuple[EventUse, ...]:
    """Every comparison that the published columns allow."""
    width = found.shape.time
    kind = None if events.time is None else events.time.kind
    length = UNITS["s"] if width == EXACT else time_length(width)
    told = events.time is not None and width != NONE and length is not None
    hours = told and kind in ("timestamp", "time") and (length or 0) <= UNITS["h"]
    days = told and kind in ("timestamp", "date") and (length or 0) <= UNITS["d"] and not events.rules.shift
    place = published_places(events, found)
    everything = np.ones(events.problem.n, dtype=np.bool_)
    before = _log(events, events.problem.person, everything, place)
    after = _log(events, found.trace, found.stays, place)
    made = compare_logs(before, after, hours=hours, days=days)
    return tuple(EventUse(c.name, c.sentence, c.before, c.after, c.kept) for c in made)


def published_places(events: EventTable, found: Found) -> IntArray | None:
    """The place of each record as it is published."""
    level = found.shape.place
    if level != CUT:
        codes: IntArray | None = places_at(events.places, level, events.trees)
        return codes
    labels: list[Any] = place_labels(events.places[0], level, events.trees, found.levels).to_pylist()
    numbers = np.unique(np.array(labels, dtype=object).astype(str), return_inverse=True)[1]
    return numbers[events.places[0].codes].astype(np.int64)


def _log(events: EventTable, who: IntArray, which: Any, place: IntArray | None) -> Log:
    """The chosen records of each, in the order of time."""
    index = np.flatnonzero(which)
    order = index[np.lexsort((events.problem.rank[index], who[index]))]
    moment = None
    if events.time is not None and events.time.kind in ("timestamp", "date", "time"):
        moment = microseconds(events.time.values, events.time.kind)[events.time.codes[order]]
    return Log(who[order], moment, None if place is None else place[order])
