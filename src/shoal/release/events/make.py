"""An event release: decided, then written, counted again, attacked and certified; a folder whole or not at all."""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.disk import folder
from shoal.errors import InfeasibleError, UsageError, VerificationError
from shoal.kernels import signatures as sign
from shoal.model.certificate.certificate import NAME, PLAN, REPORT
from shoal.model.certificate.events import EventCertificate, EventData
from shoal.model.certificate.form import plain
from shoal.model.progress import Progress, silent
from shoal.model.requirement import Requirement, Verdict
from shoal.release.certificate.signing import file_entry, signed
from shoal.release.events.attacks import run_attacks
from shoal.release.events.contents import WrittenEvents, certificate_of
from shoal.release.events.plan_file import EventPlan, plan_of
from shoal.release.events.publish import private, published, write_table
from shoal.release.events.read import EventTable, read_events
from shoal.release.events.uses import uses_of
from shoal.release.events.verify import verify_events
from shoal.release.make import seed
from shoal.release.make.carry_out import Output
from shoal.release.make.objections import objections
from shoal.release.make.recode import ENDINGS
from shoal.release.policy.policy import Policy
from shoal.release.proof.events import EventFacts, judge_events, recount_events
from shoal.release.proof.read import header, logical
from shoal.report.event_release_report import render
from shoal.search.events.best import Found, best_plan
from shoal.search.events.problem import EVERY, NEVER

if TYPE_CHECKING:
    from shoal.engines.table import Table

SHOWN = 3
"""Known records that are counted at least, so that a curve can be shown, where their sets are few enough."""
FEW_SETS = 2_000_000


@dataclass(frozen=True, eq=False, repr=False)
class _Made:
    certificate: EventCertificate
    page: str
    kept: seed.Kept


class EventRelease:
    """A decided event release. :meth:`write` carries it out; :attr:`certificate` and :meth:`report` carry it out in private."""

    def __init__(self, events: EventTable, found: Found, output: Output, started: float) -> None:
        self._events, self._found, self._output, self._started = events, found, output, started
        self._made: _Made | None = None
        self.plan: EventPlan = plan_of(events, found)
        self.seconds = 0.0
        self.private_file: Path | None = None

    def __repr__(self) -> str:
        if self._made is None:
            return f"<EventRelease: decided, not written yet; {self._found.shape.words}>"
        made = self._made.certificate
        return f"<EventRelease: {made.after.records:,} records of {made.after.traces:,} pseudonyms, {self._found.shape.words}>"

    @property
    def certificate(self) -> EventCertificate:
        """The signed certificate; writes the release in a private place if it was not written yet."""
        return self._certified().certificate

    @property
    def k(self) -> int:
        """The fewest people who share a set of as many known records as the policy asks about."""
        most = max((r.records for r in self._events.problem.asked), default=1)
        return self.certificate.judged_by.smallest[str(most)]

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

    def _certified(self) -> _Made:
        if self._made is None:
            with folder.scratch() as place:
                return self._carry_out(place, silent)
        return self._made

    def _carry_out(self, stage: Path, progress: Progress) -> _Made:
        self._made = carry_out(self._events, self._found, self._output, stage, progress)
        return self._made


def decide_events(table: Table, policy: Policy, output: Output, *, progress: Progress = silent) -> EventRelease:
    """Read, search, and return the release that loses least."""
    started = time.perf_counter()
    if output.format not in ENDINGS:
        raise UsageError(f"format '{output.format}' is not known.", hint=f"Formats: {', '.join(ENDINGS)}.")
    if output.to_table is not None or output.earlier:
        what = "published as a table of a database" if output.to_table is not None else "compared with earlier releases"
        raise UsageError(f"an event release cannot be {what} yet.", hint="Write a folder of its own.")
    progress(0.05, "reading the records")
    events = read_events(table, policy)
    found = best_plan(events.problem, lambda done, what: progress(0.1 + 0.5 * done, what))
    limit = policy.loss_limit
    if limit is not None and found.loss > limit:
        raise InfeasibleError(
            f"the plan that loses least loses {found.loss:.2g} of 1, and {limit:g} is allowed ({found.shape.words}).",
            hint="Raise allow: {loss: …}, allow more records to be left out, or ask for less.",
        )
    return EventRelease(events, found, output, started)


def carry_out(events: EventTable, found: Found, output: Output, stage: Path, progress: Progress) -> _Made:
    """Everything of a release in ``stage``; what falls short raises before anything is published."""
    signer = sign.signer(output.key_file)
    data = stage / f"data.{ENDINGS[output.format]}"
    progress(0.6, "writing the data")
    write_table(published(events, found), data)
    told = _data(events, found, data, output.format)
    progress(0.7, "counting the written file again")
    known = _known(events, found)
    facts = recount_events(data, unit=told.unit, points=told.points, known=known)
    people = _people(events, found, stage, known)
    findings = _judged(events.policy.requirements, people or facts)
    if facts.records != int(found.stays.sum()):
        raise VerificationError("the written file has another number of records than was planned; nothing was released.")
    plan_text = plan_of(events, found).to_json()
    (stage / PLAN).write_text(plan_text, encoding="utf-8", newline="\n")
    digest = hashlib.sha256(plan_text.encode()).hexdigest()
    salt = signer.keyed_hash([str(events.policy.seed).encode(), plan_text.encode()], purpose="seed")
    objected = objections(output.left_out, signer)
    kept = seed.Kept(events.policy.seed, salt, None, digest, objected[1] if objected else "")
    progress(0.85, "attacking")
    attacks = run_attacks(events, found)
    broken = [a for a in attacks if a.verdict == "broken"]
    if broken:
        raise VerificationError(
            f"an attack does better than the release would claim ({broken[0].name}): {broken[0].sentence} Nothing was released.",
            hint="Use coarser times or places, or renew pseudonyms.",
            attacks=tuple(broken),
        )
    written = WrittenEvents(
        data=told,
        files=[data, stage / PLAN],
        facts=facts,
        people=people,
        findings=findings,
        commitment=str(kept.commitment),
        plan_hash=digest,
        attacks=attacks,
        uses=uses_of(events, found),
        objections=objected[0] if objected else None,
    )
    progress(0.95, "certifying")
    return _certify(certificate_of(events, found, written), stage, signer, kept)


def _certify(certificate: EventCertificate, stage: Path, signer: sign.Signer, kept: seed.Kept) -> _Made:
    """Report and signed certificate beside the data; then the whole folder is verified."""
    body = certificate.as_read
    page = render(body)
    (stage / REPORT).write_text(page, encoding="utf-8", newline="\n")
    whole = signed(replace(body, files=(*body.files, file_entry(stage / REPORT))), signer)
    (stage / NAME).write_bytes(whole.to_bytes())
    verify_events(stage).require()
    return _Made(whole, page, kept)


def _data(events: EventTable, found: Found, data: Path, form: str) -> EventData:
    columns = tuple(logical(header(data), events.table.schema.names))
    rules = events.rules
    return EventData(
        file=data.name,
        format=form,
        columns=columns,
        unit=None if found.shape.renew == EVERY else rules.unit,
        time=rules.time if rules.time in columns else None,
        place=tuple(p for p in rules.place if p in columns),
    )


def _known(events: EventTable, found: Found) -> int:
    """Known records that are counted: as many as are asked about, and up to :data:`SHOWN` where that is quick."""
    from math import comb

    import numpy as np

    asked = max(r.records for r in events.problem.asked)
    lengths = np.unique(found.trace[found.stays], return_counts=True)[1].tolist()
    more = [s for s in range(asked + 1, SHOWN + 1) if sum(comb(n, s) for n in lengths) <= FEW_SETS]
    return max([asked, *more])


def _people(events: EventTable, found: Found, stage: Path, known: int) -> EventFacts | None:
    """People, where pseudonyms are not people or dates are shifted: counted in a private file, which is removed."""
    if found.shape.renew == NEVER and not events.rules.shift:
        return None
    import pyarrow.parquet as pq

    hidden = stage / ".people"
    hidden.mkdir(mode=0o700)
    try:
        rows, points = private(events, found)
        unit = None if found.shape.renew == EVERY else "trace"
        pq.write_table(rows, hidden / "data.parquet")
        return recount_events(hidden / "data.parquet", unit=unit, points=points, known=known, person="person")
    finally:
        shutil.rmtree(hidden)


def _judged(asked: Sequence[Requirement], facts: EventFacts) -> list[Verdict]:
    findings = judge_events(asked, facts)
    unmet = [f for f in findings if not f.met]
    if unmet:
        raise VerificationError(
            f"the written file does not meet a requirement: {unmet[0].sentence}; found {unmet[0].found}. Nothing was released.",
            hint="This is caught before release. Ask for a little more than needed, or allow more suppression.",
            findings=tuple(unmet),
        )
    return findings
