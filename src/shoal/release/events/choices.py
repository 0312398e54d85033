"""What the search may choose from for an event table: widths of time, levels of place, renewals of the pseudonym."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.errors import PolicyError
from shoal.kernels.text import canonical_text
from shoal.measures.events.granularity import EXACT, NONE
from shoal.model.counts.classes import IntArray
from shoal.model.display import written
from shoal.model.hierarchy import Hierarchy
from shoal.release.policy.events import EventRules
from shoal.search.events.problem import CUT, EVERY, NEVER, RECORDS, renewal

WIDTHS = {
    "timestamp": (EXACT, "hour", "6h", "day", "week", "month", NONE),
    "date": (EXACT, "week", "month", "quarter", NONE),
    "time": (EXACT, "hour", "part of day", NONE),
}
SHIFTABLE = (EXACT, "minute", "hour", "day", "week")
GRIDS = (EXACT, "grid:0.01", "grid:0.1", "grid:1", NONE)
MODEL = "model "


@dataclass(frozen=True, eq=False, repr=False)
class Column:
    """A column of the complete records: its distinct values, and the value of each record."""

    name: str
    kind: str
    values: Any
    codes: IntArray

    @property
    def rows(self) -> IntArray:
        return np.bincount(self.codes, minlength=len(self.values)).astype(np.int64)


def widths_of(rules: EventRules, time: Column | None) -> tuple[str, ...]:
    if time is None:
        if rules.time_widths:
            raise PolicyError("'events.time_widths' requires 'events.time'.", hint="Add time: there.", path="events.time_widths")
        return (NONE,)
    widths = rules.time_widths or WIDTHS.get(time.kind, (EXACT, NONE))
    if not rules.shift:
        return widths
    if time.kind not in ("date", "timestamp"):
        raise PolicyError("'events.shift' moves dates, and the time holds none.", hint="Leave it out.", path="events.shift")
    fixed = tuple(w for w in widths if w in SHIFTABLE or _whole_days(w) or w == NONE)
    if not fixed:
        raise PolicyError(
            "dates in months or years, and weekdays or parts of the day, cannot be shifted.",
            hint=f"Widths: {', '.join(SHIFTABLE)}.",
        )
    return fixed


def _whole_days(width: str) -> bool:
    return width[:-1].isdigit() and width[-1:] in ("d", "w")


def levels_of(rules: EventRules, places: tuple[Column, ...], trees: Mapping[str, Hierarchy]) -> tuple[str, ...]:
    if not places:
        if rules.place_levels:
            raise PolicyError("'events.place_levels' requires 'events.place'.", hint="Add place: there.")
        return (NONE,)
    if rules.place_levels:
        if CUT in rules.place_levels and not (len(places) == 1 and trees):
            raise PolicyError("a cut needs one place with a hierarchy.", hint="Add events: {hierarchy: {place: FILE}}.")
        return rules.place_levels
    first = places[0]
    if len(trees) == len(places) == 1:
        height = trees[first.name].height
        return (EXACT, CUT, *(f"level:{i}" for i in range(1, height)), NONE)
    if all(p.kind in ("float", "decimal") for p in places):
        return GRIDS
    if len(places) == 1 and first.kind == "text":
        lengths = {len(t) for t in canonical_text(first.values).to_pylist()}
        if len(lengths) == 1 and (length := lengths.pop()) > 2:
            return _prefixes(length)
    return (EXACT, NONE)


def _prefixes(length: int) -> tuple[str, ...]:
    """Codes of one length, ever shorter."""
    return (EXACT, *(f"prefix:{n}" for n in range(length - 1, max(0, length - 5), -1)), NONE)


def renewal_of(text: str, places: tuple[Column, ...], people: int) -> str:
    """A renewal with its number: ``model 0.05`` becomes the records that the popularity of the places allows."""
    if text in (NEVER, EVERY):
        return text
    if not text.startswith(MODEL):
        renewal(text)
        return text
    from shoal.prediction.distribution import Distribution
    from shoal.prediction.zipf.records import pseudonym_life

    if len(places) != 1:
        raise PolicyError("a renewal by the model needs one place.", hint="Renew by records or days.", path="events.renew")
    try:
        limit = float(text.removeprefix(MODEL))
    except ValueError:
        raise PolicyError(f"'{text}' is not a renewal.", hint="For example model 0.05.", path="events.renew") from None
    counts = places[0].rows
    life = pseudonym_life(Distribution.counts(counts), people, limit)
    if life == 0:
        raise PolicyError(
            f"by the popularity of the places already one record singles out more than {written(limit)} of the people.",
            hint="Allow more, or coarser places.",
            path="events.renew",
        )
    return f"{life} {RECORDS}"
