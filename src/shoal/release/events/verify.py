"""The claim of an event table: its numbers counted again from the data, its plan and its sentences worked out again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.disk.atomic import scratch
from shoal.errors import TamperError, VerificationError
from shoal.measures.events.traces import time_length
from shoal.model.certificate.certificate import EVENT_FORMAT_1, PLAN
from shoal.model.certificate.events import EventCertificate, EventData, EventNumbers
from shoal.model.certificate.file import read_event_certificate
from shoal.model.certificate.form import plain
from shoal.model.certificate.parts import Objections, PlanEntry
from shoal.model.compare import equal
from shoal.model.requirement import Requirement
from shoal.release.certificate.consistency import objections_fit
from shoal.release.certificate.database_table import digest
from shoal.release.certificate.derive import compare_halves
from shoal.release.certificate.signing import check_files
from shoal.release.claim import Claim, Step
from shoal.release.events.contents import VERIFY, counted, derive, facts_of, limits_of, proof_of, verdict_of
from shoal.release.events.plan_file import EventPlan
from shoal.release.events.records import fewest_of
from shoal.release.events.uses import FLOWS
from shoal.release.proof.events import EventFacts, check_flows, judge_events, read_flows, recount_events, recount_uses
from shoal.release.proof.facts import alike
from shoal.release.proof.read import check_records, header, logical
from shoal.report.event_release_report import render

if TYPE_CHECKING:
    from shoal.engines.table import Table


class EventClaim(Claim[EventCertificate]):
    """A release of an event table."""

    @staticmethod
    def read(path: Path) -> EventCertificate:
        return read_event_certificate(path)

    def steps_before(self) -> list[Step]:
        return [("form", lambda: _form(self.certificate))]

    def files(self) -> str:
        data = self.certificate.data
        return check_files(self.place, self.certificate.files, data.file, also=f"{FLOWS}{data.ending}")

    def plan_steps(self) -> list[Step]:
        return [("plan", lambda: _plan(self.place, self.certificate))]

    def count(self) -> str:
        return _count(self.certificate, self.facts)

    def further_steps(self) -> list[Step]:
        c = self.certificate
        if c.format == EVENT_FORMAT_1:
            return []
        steps: list[Step] = [("derived", lambda: compare_halves(derive(c, self.facts, self.place, self.table).as_read, c))]
        return steps if c.cost.trips is None else [*steps, ("uses", lambda: _uses(self.place, c, self.table))]

    @cached_property
    def facts(self) -> EventFacts:
        return event_facts(self.place, self.certificate, self.table)

    def sentences(self) -> str:
        return _claims(self.certificate)

    def page(self) -> str:
        return render(self.certificate.without_report)

    def summary(self) -> Mapping[str, Any]:
        c = self.certificate
        out = {"events": True, "records": c.after.records, "after": plain(c.after), "people": plain(c.people)}
        out |= {"requirements": plain(c.requirements), "proof": plain(c.proof)}
        return out if c.key is None else {**out, "key": c.key_shown}

    @property
    def plan(self) -> PlanEntry:
        return self.certificate.plan

    @property
    def objections(self) -> Objections | None:
        return self.certificate.objections

    def not_published(self, listed: str | Path | Iterable[Any]) -> str:
        return "; the ids of people are not published"


def _form(c: EventCertificate) -> str:
    """Numbers that must fit together, no matter who signed them."""
    cost = c.cost
    gone = cost.truncated + cost.suppressed
    sums = [
        cost.records - gone - cost.merged == c.after.records,
        equal(cost.left_out_share, gone / cost.records),
        min(cost.truncated, cost.suppressed, cost.merged, cost.incomplete) >= 0,
        0 < cost.people_left <= cost.people - (cost.people_away or 0),
        0 <= (cost.people_away or 0) <= (cost.records_away or 0) <= cost.suppressed,
        0 <= cost.loss <= 1,
        1 <= cost.tried <= cost.shapes,
    ]
    if not all(sums):
        raise TamperError("records in, records out and records left out do not add up.")
    for n in (c.after, *((c.people,) if c.people else ())):
        _numbers(n)
    if (c.people is None) != (c.steps.renew == "never" and not c.steps.shift):
        raise TamperError("the certificate counts people where pseudonyms are people, or the reverse.")
    judged = c.judged_by
    if judged.people != cost.people_left or judged.records != c.after.records:
        raise TamperError("the certificate counts other people or records than it says are left.")
    if c.people is not None and not c.steps.shift and any(k > c.after.smallest[s] for s, k in c.people.smallest.items()):
        raise TamperError("the certificate states more people than there are pseudonyms.")
    if c.objections is not None:
        objections_fit(c.objections)
    return "the numbers of the certificate fit together"


def _numbers(n: EventNumbers) -> None:
    known = [str(s) for s in range(1, len(n.smallest) + 1)]
    if not known or set(n.smallest) != set(known) or set(n.alone) != set(known):
        raise TamperError("the certificate does not state one number for each number of known records.")
    falls = all(n.smallest[s] >= n.smallest[more] for s, more in pairwise(known))
    within = all(1 <= k <= n.people for k in n.smallest.values()) and all(0 <= a <= 1 for a in n.alone.values())
    alone = all((n.smallest[s] == 1) or n.alone[s] == 0 for s in known)
    if not (falls and within and alone and n.people <= n.traces <= n.records):
        raise TamperError("the certificate states numbers of known records that no table has.")


def _plan(place: Path, c: EventCertificate) -> str:
    text = (place / PLAN).read_text(encoding="utf-8")
    plan = EventPlan.from_json(text)
    stated = (c.steps.time or "none", c.steps.place or "none", c.steps.most_records, c.steps.renew, c.steps.shift, c.steps.vault)
    done = (plan.time_width, plan.place_level if plan.place else "none", plan.most_records, plan.renew, plan.shift, plan.vault)
    if done != stated or (c.data.unit is not None and c.data.unit != plan.unit):
        raise TamperError("the plan is not the one that the certificate names.")
    if (c.data.time is None) != (plan.time is None or plan.time_width == "none"):
        raise TamperError("the plan and the published columns differ.")
    if hashlib.sha256(text.encode()).hexdigest() != c.plan.sha256 or c.plan.seed != "not published":
        raise TamperError("the plan has another hash than the certificate states.")
    return "the plan has the stated steps and hash"


def event_facts(place: Path, c: EventCertificate, table: Table | None = None) -> EventFacts:
    """The data of a release, counted again."""
    known = max(int(s) for s in c.after.smallest)
    if not set(c.data.points) <= set(c.data.columns) or not c.data.points:
        raise TamperError("the certificate names points that the data do not have.")
    if c.data.file is None:
        return facts_of_table(_table(c, table), c.data, c.asked, known)
    data = place / c.data.file
    if Path(c.data.file).name != c.data.file or data.is_symlink():
        raise TamperError("the certificate names data outside the folder.")
    if logical(header(data), c.data.columns) != list(c.data.columns):
        raise TamperError("the data have other columns than the certificate names.")
    if c.data.counts is None:
        check_records(data, c.after.records)
    return _recount(data, c.data, c.asked, known)


def _table(c: EventCertificate, table: Table | None) -> Table:
    """The published table, with the rows that were signed."""
    if table is None:
        raise VerificationError(f"the data are table '{c.data.table}' of a database; name it with --table ENGINE-URL::table")
    if list(table.schema.names) != list(c.data.columns) or digest(table, c.data.columns) != c.data.digest:
        raise TamperError("the published table was changed after the certificate was signed.")
    return table


def facts_of_table(table: Table, data: EventData, asked: Sequence[Requirement], known: int) -> EventFacts:
    """The rows of a table, read back and counted again."""
    with _read_back(table) as file:
        return _recount(file, data, asked, known)


@contextmanager
def _read_back(table: Table) -> Iterator[Path]:
    """The rows of a table as a private file, which is removed."""
    import pyarrow.parquet as pq

    with scratch() as work:
        file, batches = work / "data.parquet", table.scan(table.schema.names)
        first = next(batches)
        with pq.ParquetWriter(file, first.schema) as writer:
            for batch in chain([first], batches):
                writer.write_batch(batch)
        yield file


def _recount(file: Path, data: EventData, asked: Sequence[Requirement], known: int) -> EventFacts:
    more: dict[str, Any] = {"asked": asked, "timed": data.time is not None, "counts": data.counts}
    return recount_events(file, unit=data.unit, points=data.points, known=known, **more)


def _count(c: EventCertificate, facts: EventFacts) -> str:
    if not alike(facts.to_json(), plain(c.after)):
        raise VerificationError("counting the data again gives other numbers.")
    findings = [f.to_json() for f in judge_events(c.asked, facts if c.people is None else facts_of(c.people))]
    if not alike(findings, plain(tuple(replace(f, counted=None) for f in c.requirements))):
        raise VerificationError("the requirements, judged again, come out differently.")
    unmet = [f["sentence"] for f in findings if not f["met"]]
    if unmet or not findings:
        raise VerificationError(f"a requirement is not met: {unmet[0]}." if unmet else "nothing is required.")
    text = f"counted again: {facts.records:,} records of {facts.traces:,} pseudonyms in the published file"
    if c.people is None:
        return f"{text}; every requirement is met, counted over {counted(c)}"
    fewest = facts.smallest[1]
    return (
        f"{text}, where a record as published is shared by as few as {fewest:,} of them. Every requirement is met, counted over "
        f"{counted(c)}: signed, because the folder does not tell who is behind a pseudonym"
    )


def _uses(place: Path, c: EventCertificate, table: Table | None) -> str:
    """The uses that the published data tell, counted again; what they were before is signed only."""
    if c.data.file is not None:
        return _uses_of(place, c, place / c.data.file)
    with _read_back(_table(c, table)) as file:
        return _uses_of(place, c, file)


def _uses_of(place: Path, c: EventCertificate, data: Path) -> str:
    recounted, trips = recount_uses(data, unit=c.data.unit, time=c.data.time, place=c.data.place, counts=c.data.counts)
    if c.steps.time not in TEXTS_IN_ORDER and time_length(c.steps.time or "") is None:
        recounted.pop("trips", None)
    stated = {u.name: u.after for u in c.uses if u.name in recounted}
    wrong = [name for name, after in stated.items() if not equal(after, recounted[name])]
    if wrong:
        raise VerificationError(f"counting the uses again gives another number of {wrong[0]}.")
    sentence = f"counted again in the published file: {', '.join(stated)}"
    flows = place / f"{FLOWS}{c.data.ending}"
    if not any(f.name == flows.name for f in c.files):
        return sentence
    by_record = header(flows)[:-1] == list(c.data.place)
    seen = trips if by_record or ("trips" in recounted and any(u.name == "trips" for u in c.uses)) else None
    if [u.after for u in c.uses if u.name == "flows"] != [sum(read_flows(flows).values())]:
        raise VerificationError("counting the file of flows again gives another number of trips.")
    return f"{sentence}; {check_flows(flows, seen, fewest_of(c.asked))}"


TEXTS_IN_ORDER = ("exact", "hour", "day", "week", "month", "quarter", "year", "hour of day", "part of day", "weekday and hour")
"""Widths whose published times sort by what they are written as, within one pseudonym."""


def _claims(c: EventCertificate) -> str:
    """Sentences that follow from the numbers are worked out again."""
    if c.verdict != verdict_of(c) or c.limits != limits_of(c) or c.proof != proof_of(linked=c.people is not None):
        raise TamperError("a sentence of the certificate does not follow from its numbers.")
    if c.verify != VERIFY or any(a.verdict == "broken" for a in c.attacks):
        raise TamperError("the certificate says what Shoal never writes.")
    return "every sentence follows from the numbers"
