"""An event release: decided, then applied to demand; a folder whole or not at all."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.disk import atomic as folder
from shoal.errors import InfeasibleError, UsageError
from shoal.model.certificate.certificate import NAME
from shoal.model.certificate.events import EventCertificate
from shoal.model.certificate.form import plain
from shoal.model.display import Progress, silent, written
from shoal.release.events.earlier import check_earlier
from shoal.release.events.make import Made, carry_out
from shoal.release.events.plan_file import EventPlan, plan_of, with_choices_of
from shoal.release.events.read import EventTable, read_events
from shoal.release.make import seed
from shoal.release.make.carry_out import Output
from shoal.release.make.recode import ENDINGS
from shoal.release.make.release import Release
from shoal.release.policy.policy import Policy
from shoal.search.events.event_search import Found, best_plan

if TYPE_CHECKING:
    from shoal.engines.table import Table


class EventRelease(Release):
    """A decided event release, with the face of every release; its plan and its certificate are those of event tables.

    :meth:`write` carries it out; :attr:`certificate` and :meth:`report` carry it out in private.
    """

    plan: EventPlan  # type: ignore[assignment]
    _made: Made | None  # type: ignore[assignment]

    def __init__(self, events: EventTable, found: Found, output: Output, started: float) -> None:
        self._decision: tuple[EventTable, Found] | None = (events, found)
        self._work = None
        self._output, self._started, self._words = output, started, found.shape.words
        self._most = max((r.records for r in events.problem.asked), default=1)
        self._made = None
        self._frame: Any = None
        self.plan = plan_of(events, found)
        self.inferred = {}
        self.seconds = 0.0
        self.private_file: Path | None = None

    def __repr__(self) -> str:
        if self._made is None:
            return f"<EventRelease: decided, not written yet; {self._words}>"
        made = self._made.certificate
        return f"<EventRelease: {made.after.records:,} records of {made.after.traces:,} pseudonyms, {self._words}>"

    def _repr_html_(self) -> str | None:
        """The card of a release that was made."""
        from shoal.report.event_release_report import card

        return card(self._made.certificate) if self._made is not None else None

    @property
    def certificate(self) -> EventCertificate:  # type: ignore[override]
        """The signed certificate; writes the release in a private place if it was not written yet."""
        return self._certified().certificate

    @property
    def k(self) -> int:
        """The fewest people who share a set of as many known records as the policy asks about."""
        return self.certificate.judged_by.smallest[str(self._most)]

    def report(self) -> str:
        """The report as HTML text."""
        return self._certified().page

    def write(self, target: str | Path, *, progress: Progress = silent) -> Path:
        """Write the release folder: data, plan.json, certificate.json, report.html; whole or not at all.

        The seed of pseudonyms, of the choice of records and of shifts is kept in :attr:`private_file`, beside the folder.
        """
        place = folder.free(target)
        beside, parent = seed.place_of(place), place.absolute().parent
        seed.rescue(parent)
        seed.free(beside)
        with folder.staged(parent) as stage:
            made = self._carry_out(stage, progress)
            with seed.hidden(made.kept, stage) as hidden:
                folder.publish(stage, place)
        if hidden is not None:
            self.private_file = seed.settle(hidden, beside)
        self.seconds = time.perf_counter() - self._started
        return place

    def to_arrow(self) -> Any:
        """The released records as an Arrow table: written in private, counted again and attacked as every release, then read."""
        if self._frame is None:
            import pyarrow.parquet as pq

            events, found = self._chosen()
            with folder.scratch() as place:
                made = carry_out(events, found, replace(self._output, format="parquet"), place, silent)
                self._frame = pq.read_table(place / made.certificate.data.file).replace_schema_metadata(None)
            if self._made is None and self._output.format == "parquet":
                self._made = made
        return self._frame

    def to_pandas(self) -> Any:
        """The released records as a pandas frame; see :meth:`to_arrow`."""
        return self.to_arrow().to_pandas()

    def to_json(self) -> dict[str, Any]:
        """``steps, cost, requirements, after, before, uses, attacks``, and the keys that every release has."""
        made = self.certificate
        parts = plain(made)
        return {
            "events": True,
            "verdict": made.verdict,
            "cost": {**parts["cost"], "sentence": made.cost.sentence},
            "k": self.k,
            "records": made.after.records,
            "suppressed": made.cost.truncated + made.cost.suppressed,
            "loss": made.cost.loss,
            "method": "events",
            "seconds": round(self.seconds or time.perf_counter() - self._started, 3),
            "verified": True,
            **{n: parts[n] for n in ("steps", "requirements", "before", "after", "uses", "attacks")},
            "people": parts.get("people"),
            "files": [*(f.name for f in made.files), NAME],
            "key": {"fingerprint": made.key.fingerprint, "origin": made.key.origin} if made.key else None,
        }

    def __getstate__(self) -> dict[str, Any]:
        made = replace(self._certified(), kept=None)
        spent = self.seconds or time.perf_counter() - self._started
        return {**self.__dict__, "_decision": None, "_output": Output(), "_made": made, "seconds": spent}

    def _chosen(self) -> tuple[EventTable, Found]:
        if self._decision is None:
            raise UsageError(
                "a release that was pickled can be read, not written again.",
                hint="Write it before it is pickled, or call shoal.anonymize again.",
            )
        return self._decision

    def _certified(self) -> Made:  # type: ignore[override]
        if self._made is None:
            with folder.scratch() as place:
                return self._carry_out(place, silent)
        return self._made

    def _carry_out(self, stage: Path, progress: Progress) -> Made:  # type: ignore[override]
        events, found = self._chosen()
        self._made = carry_out(events, found, self._output, stage, progress)
        return self._made


def decide_events(
    table: Table, policy: Policy, output: Output, *, plan: EventPlan | None = None, progress: Progress = silent
) -> EventRelease:
    """Read, search, and return the release that loses least; with a plan, the one that it describes."""
    started = time.perf_counter()
    if output.format not in ENDINGS:
        raise UsageError(f"format '{output.format}' is not known.", hint=f"Formats: {', '.join(ENDINGS)}.")
    if output.to_table is not None:
        raise UsageError(
            "the records of an event release are written as a file, not as a table of a database.",
            hint="Leave --to-table out, write --format parquet, and load data.parquet from the folder into the database: "
            "shoal verify proves the folder.",
        )
    for earlier in output.earlier:
        check_earlier(Path(earlier))
    progress(0.05, "reading the records")
    events = read_events(table, policy if plan is None else with_choices_of(policy, plan))
    problem = events.problem
    if plan is not None:
        problem = problem.with_shapes(tuple(s for s in problem.shapes if s.most == plan.most_records))
    found = best_plan(problem, lambda done, what: progress(0.1 + 0.5 * done, what))
    limit = policy.loss_limit
    if limit is not None and found.loss > limit:
        raise InfeasibleError(
            f"the plan that loses least loses {written(found.loss, 2)} of 1, and {written(limit)} is allowed "
            f"({found.shape.words}).",
            hint="Raise allow: {loss: …}, allow more records to be left out, or ask for less.",
        )
    return EventRelease(replace(events, problem=problem), found, output, started)
