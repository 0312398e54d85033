"""All numbers of an event table, in words and as JSON. No data value is in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shoal.measures.events.unicity import Known, Needed, RarePlaces, Season, SharedSets, TopPlaces, Unicity, largest_m
from shoal.model.display import written
from shoal.model.requirement import Requirement

THRESHOLD = 5


@dataclass(frozen=True)
class Grain:
    """A granularity (width of time, level of place), its points, and what known records reveal there."""

    time: str | None
    place: str | None
    points: int
    curve: tuple[Known, ...]

    @property
    def name(self) -> str:
        parts = [f"time: {self.time}"] * (self.time is not None) + [f"place: {self.place}"] * (self.place is not None)
        return ", ".join(parts)

    def to_json(self) -> dict[str, object]:
        curve = [{"records": k.records, "people": k.people, "unique": k.unique.to_json()} for k in self.curve]
        return {"time": self.time, "place": self.place, "points": self.points, "curve": curve}


@dataclass(frozen=True, repr=False)
class EventsMeasured:
    """What a few known records of a person reveal: ``curve``, ``needed``, ``grid``, ``top``, ``rare``, ``shared``; nobody has
    more than ``longest`` points. ``ranks``: records per place, most frequent first; no place is named. ``further``: the numbers
    of other requirements by their texts (None: too many sets to count)."""

    table: str
    unit: str
    time: str | None
    place: tuple[str, ...]
    records: int
    people: int
    points: int
    found: Unicity
    grid: tuple[Grain, ...]
    shared: tuple[SharedSets, ...]
    longest: int
    rare: tuple[RarePlaces, ...] = ()
    top: tuple[TopPlaces, ...] = ()
    hours: tuple[Season, ...] = ()
    weekdays: tuple[Season, ...] = ()
    ranks: tuple[int, ...] = ()
    further: Mapping[str, float | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.sentence}>"

    @property
    def curve(self) -> tuple[Known, ...]:
        """What 1, 2, … known records reveal."""
        return self.found.curve

    @property
    def needed(self) -> Needed:
        return self.found.needed

    @property
    def grain(self) -> Grain:
        """The granularity of the headline: the first of the grid."""
        return self.grid[0]

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        last = self.curve[-1]
        what = "record" if last.records == 1 else "records"
        share = _percent(last.unique.value)
        about = "" if last.unique.grade == "A" else "about "
        verb = "singles" if last.records == 1 else "single"
        return f"{last.records} known {what} {verb} out {about}{share} of {last.people:,} people ({self.grain.name})."

    def explain(self) -> str:
        """Every number with the sentence that explains it."""
        lines = [self.sentence]
        for k in self.curve:
            s = k.sets
            lines.append(
                f"{k.records} known: {k.unique}. The known records are shared by {s.min:,} to {s.q3:,} people (smallest to upper "
                f"quartile), {written(s.mean, 3)} in the mean; in sets of fewer than {THRESHOLD}: {_percent(s.below[THRESHOLD])}."
            )
            if k.shorter_unique is not None:
                lines.append(
                    f"  {k.shorter:,} people have fewer than {k.records} records; all of theirs known single out "
                    f"{_percent(k.shorter_unique.value)} of them, and {_percent(k.everybody.value)} of everybody taken together."
                )
        n = self.needed
        lines.append(
            f"Records learnt in random order: half of the people are alone after {_after(n, 'median')}, a quarter after "
            f"{_after(n, 'q1')}; {_percent(n.never)} share their whole trace with somebody. All records known single out "
            f"{_percent(self.found.whole.value)}."
        )
        if self.shared:
            m = largest_m(self.shared, THRESHOLD)
            held = f"every set of up to {m} points is shared by at least {THRESHOLD} people"
            sentence = held if m else f"already single points are shared by as few as {self.shared[0].k:,}"
            lines.append(f"k^m-anonymity for k = {THRESHOLD}: {sentence}.")
        for t in self.top:
            places = "the most frequent place" if t.places == 1 else f"the {t.places} most frequent places"
            lines.append(f"By {places}: {_percent(t.unique)} of people are alone (in the median {t.sets.median:,} share them).")
        for r in self.rare:
            lines.append(
                f"{r.places:,} of {r.of:,} places were visited by fewer than {r.below} people; {_percent(r.people)} of people "
                f"were at such a place, with {_percent(r.records)} of the records."
            )
        for text, figure in self.further.items():
            answer = "not counted, because there are too many sets" if figure is None else f"found {written(figure, 3)}"
            lines.append(f"Required by {text}: {Requirement.parse(text).sentence()}; {answer}.")
        return "\n".join([*lines, *self.notes])

    def to_json(self) -> dict[str, object]:
        return {
            "table": self.table,
            "unit": self.unit,
            "time": self.time,
            "place": list(self.place),
            "records": self.records,
            "people": self.people,
            "points": self.points,
            "granularity": {"time": self.grain.time, "place": self.grain.place},
            "unicity": [k.to_json() for k in self.curve],
            "whole_trace_unique": self.found.whole.to_json(),
            "records_needed": self.needed.to_json(),
            "grid": [g.to_json() for g in self.grid],
            "k_m": [s.to_json() for s in self.shared],
            "rare_places": [r.to_json() for r in self.rare],
            "top_places": [t.to_json() for t in self.top],
            "hours": [s.to_json() for s in self.hours],
            "weekdays": [s.to_json() for s in self.weekdays],
            **({"further": dict(self.further)} if self.further else {}),
            "notes": list(self.notes),
        }


def _percent(share: float) -> str:
    """Only nothing is 0 % and only all is 100 %."""
    if share < 1 and written(100 * share, 3) == "100":
        return "above 99.9 %"
    return f"{written(100 * share, 3)} %"


def _after(needed: Needed, name: str) -> str:
    """A quartile with its interval, unless it was counted."""
    value, low, high = (
        f"{n:,}" if n is not None else f"more than {needed.longest:,} or never"
        for n in (getattr(needed, name), *needed.ranges[name])
    )
    return value if low == high else f"{value} ({low} to {high})"
