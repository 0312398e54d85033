"""The certificate of an event release: what known records reveal before and after, and every claim that can be counted again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from shoal.model.attack import AttackResult
from shoal.model.certificate.certificate import EVENT_FORMAT, SignedCertificate, check_require
from shoal.model.certificate.form import LEFT_OUT
from shoal.model.certificate.numbers import Judged
from shoal.model.certificate.parts import Objections, PlanEntry, Proof, Purpose
from shoal.model.display import written
from shoal.model.requirement import Requirement, requirements_of


@dataclass(frozen=True, kw_only=True)
class EventData:
    """The published file, or a table of a database with the digest of its rows; and which of its columns tell the pseudonym
    (None: not published), the time and the places. ``counts``: the column that states how many records a row is (None: one)."""

    file: str | None
    format: str
    columns: tuple[str, ...]
    unit: str | None
    time: str | None
    place: tuple[str, ...]
    table: str | None = field(default=None, metadata=LEFT_OUT)
    engine: str | None = field(default=None, metadata=LEFT_OUT)
    digest: str | None = field(default=None, metadata=LEFT_OUT)
    counts: str | None = field(default=None, metadata=LEFT_OUT)

    @property
    def ending(self) -> str:
        """The ending of the files of the release."""
        return Path(self.file or "data.parquet").suffix

    @property
    def points(self) -> tuple[str, ...]:
        """The columns that together are a point."""
        return (*((self.time,) if self.time else ()), *self.place)


@dataclass(frozen=True, kw_only=True)
class EventNumbers:
    """Counted in a file: for s known records (as text) the fewest people who share them, and the share of people alone;
    ``further`` has the numbers of other requirements by their names (None if there are none)."""

    records: int
    traces: int
    people: int
    points: int
    longest: int
    smallest: Mapping[str, int]
    alone: Mapping[str, float]
    further: Mapping[str, float] | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class Before:
    """In the table as it came: the share of the people that s known records single out, and the interval where it was drawn."""

    records: int
    alone: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class EventSteps:
    """What was done: width of time, level of place, most records per person (0: no limit), renewal, days of the date shift, and
    the domain of the vault that the pseudonyms are of (None: drawn for this release)."""

    time: str | None
    place: str | None
    most_records: int
    renew: str
    shift: int
    vault: str | None


@dataclass(frozen=True, kw_only=True)
class EventCost:
    """What it cost. Of the complete records: beyond the most per person, left out, shown once with others at the same point.

    ``incomplete`` records lacked person, time or place and are not published. ``trips`` is the share of the trips that can no
    longer be read (None in certificates of version 0.3.0), ``blank`` counts published records without their place or a part of
    it, ``people_away`` the people who were left out whole and ``records_away`` their records, which are among those left out
    (None if there are none). ``groups`` of people were released one after the other, each by itself (None: all together).
    """

    loss: float
    time: float
    place: float
    links: float
    records: int
    incomplete: int
    truncated: int
    suppressed: int
    merged: int
    left_out_share: float
    people: int
    people_left: int
    shapes: int
    tried: int
    trips: float | None = field(default=None, metadata=LEFT_OUT)
    blank: int | None = field(default=None, metadata=LEFT_OUT)
    people_away: int | None = field(default=None, metadata=LEFT_OUT)
    records_away: int | None = field(default=None, metadata=LEFT_OUT)
    groups: int | None = field(default=None, metadata=LEFT_OUT)

    @property
    def sentence(self) -> str:
        """The cost in words.

        >>> counts = dict(records=100, incomplete=2, truncated=0, suppressed=5, merged=0, people=20, people_left=19)
        >>> EventCost(loss=0.4, time=0.5, place=0.3, links=0.0, left_out_share=0.05, shapes=9, tried=4, **counts).sentence[:105]
        '5 of 100 complete records (5 %) were left out; 19 of 20 people have a record left. 2 more lack person, ti'
        """
        gone = self.truncated + self.suppressed
        parts = [f"{gone:,} of {self.records:,} complete records ({written(100 * self.left_out_share, 3)} %) were left out"]
        if self.merged:
            parts[0] += f", {self.merged:,} more are shown once with others at the same point"
        parts[0] += f"; {self.people_left:,} of {self.people:,} people have a record left."
        if self.people_away:
            share = written(100 * self.people_away / self.people, 3)
            whole = "person was" if self.people_away == 1 else "people were"
            parts.append(f"{self.people_away:,} {whole} left out whole ({share} %), with {self.records_away:,} of these records.")
        if self.blank:
            parts.append(
                f"{self.blank:,} records ({written(100 * self.blank / self.records, 3)} %) are published without their place."
            )
        if self.incomplete:
            parts.append(f"{self.incomplete:,} more lack person, time or place and are not published.")
        if self.trips is None:  # as version 0.3.0 wrote it: the report of such a release is derived from it again
            parts.append(f"Loss {written(self.loss, 2)} of 1; of the {self.shapes:,} plans looked at none loses less.")
        else:
            parts.append(f"Loss {written(self.loss, 2)} of 1: {self._uses()}. {self._scope()}")
        return " ".join(parts)

    def _uses(self) -> str:
        named = (("time", self.time), ("place", self.place), ("trips", self.trips or 0.0), ("links between records", self.links))
        return ", ".join(f"{name} {written(100 * lost, 2)} %" for name, lost in named)

    def _scope(self) -> str:
        if self.groups and self.shapes > 1:
            where = f"on the first of {self.groups:,} groups of people"
            return f"Best of the {self.shapes:,} plans considered {where}: {self.tried:,} tried."
        if self.shapes == 1:
            return "One plan was considered."
        rest = self.shapes - self.tried
        bound = f"; the other {rest:,} lose at least as much before any record is left out" if rest else ""
        return f"Best of the {self.shapes:,} plans considered: {self.tried:,} tried on the records{bound}."


@dataclass(frozen=True)
class EventUse:
    """A result that should survive: a number before and after, the share of it that is kept, and the error of its counts: the sum
    of their differences over the sum before (None if it has none)."""

    name: str
    sentence: str
    before: float
    after: float
    kept: float | None
    error: float | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, kw_only=True, repr=False)
class EventCertificate(SignedCertificate):
    """All that is claimed of an event release.

    ``after`` counts pseudonyms in the published file. If a person has several, or the published dates are shifted, ``people``
    counts people at the dates before the shift: signed, because the folder does not tell who is who; the requirements are then
    judged by it.
    """

    format: Literal["shoal-event-certificate/1", "shoal-event-certificate/2"] = EVENT_FORMAT
    require: Mapping[str, Any]
    requirements: tuple[Judged, ...]
    release: Purpose
    proof: Proof
    data: EventData
    plan: PlanEntry
    steps: EventSteps
    cost: EventCost
    before: tuple[Before, ...]
    after: EventNumbers
    uses: tuple[EventUse, ...]
    attacks: tuple[AttackResult, ...]
    limits: tuple[str, ...]
    verify: str
    people: EventNumbers | None = field(default=None, metadata=LEFT_OUT)
    objections: Objections | None = field(default=None, metadata=LEFT_OUT)
    snapshot: str | None = field(default=None, metadata=LEFT_OUT)
    keyed_hash: str | None = field(default=None, metadata=LEFT_OUT)

    def __repr__(self) -> str:
        signed = f"signed with key {self.key.fingerprint}" if self.key else "not signed"
        return f"<EventCertificate: {self.after.records:,} records of {self.after.traces:,} pseudonyms, {signed}>"

    @property
    def asked(self) -> tuple[Requirement, ...]:
        """The requirements that the release was made for."""
        return requirements_of(self.require)

    @property
    def judged_by(self) -> EventNumbers:
        """The numbers that decide: of people, where the file shows pseudonyms that change or dates that were shifted."""
        return self.people or self.after

    @classmethod
    def from_json(cls, data: Any) -> Self:
        made = super().from_json(data)
        check_require(made.require)
        return made
