"""What the certificate of an event release says, gathered in one place; the sentences follow from its numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shoal.measures.events.traces import EXACT, NONE, Traces
from shoal.measures.events.unicity import known
from shoal.model.attack import AttackResult, strongest_sentence
from shoal.model.certificate.certificate import EVENT_FORMAT_1, PLAN
from shoal.model.certificate.events import Before, EventCertificate, EventCost, EventData, EventNumbers, EventSteps, EventUse
from shoal.model.certificate.form import typed
from shoal.model.certificate.numbers import Judged
from shoal.model.certificate.parts import Objections, PlanEntry, Proof
from shoal.model.display import written
from shoal.release.certificate.contents import purpose_of
from shoal.release.certificate.derive import stated_data
from shoal.release.certificate.sentences import today
from shoal.release.certificate.signing import file_entry
from shoal.release.events.plan_file import EventPlan
from shoal.release.events.records import EventTable, fewest_of
from shoal.release.events.uses import FLOWS
from shoal.release.policy.events import EventRules
from shoal.release.policy.policy import Policy
from shoal.release.proof.events import EventFacts, judge_events
from shoal.search.events.event_search import Solution
from shoal.search.events.problem import EVERY, LOCAL, NEEDED, NEVER, Shape, pairs_of
from shoal.version import __version__

if TYPE_CHECKING:
    from shoal.engines.table import Table

VERIFY = "shoal verify FOLDER"
MOST_STEPS_BEFORE = 20_000_000


@dataclass(frozen=True, eq=False, repr=False)
class WrittenEvents:
    """What is known once the data are written, counted again and attacked. ``people``: where pseudonyms are not people, or dates
    are shifted."""

    data: EventData
    files: Sequence[Path]
    facts: EventFacts
    people: EventFacts | None
    commitment: str
    attacks: Sequence[AttackResult]
    uses: Sequence[EventUse]
    objections: Objections | None = None
    snapshot: str | None = None
    input_hash: str | None = None


def certificate_of(
    policy: Policy, steps: EventSteps, cost: EventCost, before: Sequence[Before], made: WrittenEvents
) -> EventCertificate:
    """The signed half of a certificate, not signed yet; :func:`derive` fills in the other."""
    return EventCertificate(
        title=policy.about.get("title", "Release"),
        date=today(policy.about.get("date")),
        tool=f"shoal {__version__}",
        verdict="",
        require=policy.require_json(),
        requirements=(),
        release=purpose_of(policy.about),
        proof=Proof("", "", "", ""),
        data=made.data,
        files=tuple(file_entry(f) for f in made.files),
        plan=PlanEntry("", 0, "", made.commitment, False),
        steps=steps,
        cost=cost,
        before=tuple(before),
        after=numbers_of(made.facts),
        uses=tuple(made.uses),
        attacks=tuple(made.attacks),
        limits=(),
        verify="",
        people=None if made.people is None else numbers_of(made.people),
        objections=made.objections,
        snapshot=made.snapshot,
        keyed_hash=made.input_hash,
    )


def derive(signed: EventCertificate, facts: EventFacts, place: Path, table: Table | None = None) -> EventCertificate:
    """The certificate with its derived half, from the published data and the signed one: for making and for verifying."""
    text = (place / PLAN).read_text(encoding="utf-8")
    plan = EventPlan.from_json(text)
    c = replace(
        signed,
        data=stated_data(signed.data, place, table, (*signed.data.points, *signed.data.columns)),
        after=numbers_of(facts),
        plan=PlanEntry(
            hashlib.sha256(text.encode()).hexdigest(), 1, "not published", signed.plan.seed_commitment, plan.shift == 0
        ),
        steps=EventSteps(
            time=plan.time_width if plan.time else None,
            place=plan.place_level if plan.place else None,
            most_records=plan.most_records,
            renew=plan.renew,
            shift=plan.shift,
            vault=plan.vault,
        ),
        cost=replace(signed.cost, left_out_share=(signed.cost.truncated + signed.cost.suppressed) / signed.cost.records),
        proof=proof_of(linked=signed.people is not None),
        verify=VERIFY,
    )
    verdicts = judge_events(c.asked, facts if c.people is None else facts_of(c.people))
    c = replace(c, requirements=tuple(Judged(**f.to_json(), counted=counted(c)) for f in verdicts))
    return replace(c, verdict=verdict_of(c), limits=limits_of(c))


def counted(c: EventCertificate) -> str:
    """Whom the requirements count, and in which file."""
    if c.people is None:
        return f"{'records' if c.data.unit is None else 'pseudonyms'} of the published file"
    if c.data.counts:
        return "people behind the trips of the published file"
    if c.steps.shift:
        return "people, at their dates before the shift; the published file has the shifted dates"
    return "people behind the pseudonyms of the published file"


def facts_of(numbers: EventNumbers) -> EventFacts:
    """Stated numbers as the facts that requirements are judged by."""
    smallest = {int(s): k for s, k in numbers.smallest.items()}
    alone = {int(s): a for s, a in numbers.alone.items()}
    n = numbers
    return EventFacts(n.records, n.traces, n.people, n.points, n.longest, smallest, alone, n.further or {})


def steps_of(rules: EventRules, shape: Shape) -> EventSteps:
    """What the plan does."""
    return EventSteps(
        time=shape.time if rules.time else None,
        place=shape.place if rules.place else None,
        most_records=shape.most,
        renew=shape.renew,
        shift=rules.shift,
        vault=None if shape.renew == EVERY else rules.vault or None,
    )


def numbers_of(facts: EventFacts) -> EventNumbers:
    """Counted numbers as a certificate states them."""
    return typed(EventNumbers, facts.to_json())


def cost_of(events: EventTable, solution: Solution) -> EventCost:
    """What a plan costs."""
    problem = events.problem
    return EventCost(
        loss=solution.loss,
        time=solution.time_loss if events.rules.time else 0.0,
        place=solution.place_loss if events.rules.place else 0.0,
        links=solution.links_loss,
        records=problem.n,
        incomplete=events.incomplete,
        truncated=solution.truncated,
        suppressed=solution.suppressed,
        merged=solution.merged,
        left_out_share=solution.left_out / problem.n,
        people=events.n_people,
        people_left=len(np.unique(problem.person[solution.stays])),
        shapes=len(problem.shapes),
        tried=solution.tried,
        trips=solution.trips_loss,
        people_away=None if solution.away is None else int(solution.away.sum()),
        records_away=None if solution.away is None else int(solution.away[problem.person].sum()),
        blank=None if solution.blank is None else int((solution.blank[solution.stays] > 0).sum()) or None,
    )


def before_of(events: EventTable, most: int) -> tuple[Before, ...]:
    """What 1, 2, … known records reveal in the table as it came."""
    problem = events.problem
    columns = [c for c in (problem.times.get(EXACT), problem.places.get(EXACT)) if c is not None]
    pairs, _ = pairs_of(problem.person, np.arange(events.n_people), columns, problem.n)
    return before_of_traces(Traces.of(pairs.trace, pairs.point), most)


def before_of_traces(traces: Traces, most: int) -> tuple[Before, ...]:
    """What 1, 2, … known records of these traces reveal."""
    rng = np.random.default_rng(0)
    out = []
    for s in range(1, min(most, int(traces.lengths.max())) + 1):
        e = known(traces, s, rng, steps=MOST_STEPS_BEFORE).everybody
        out.append(Before(s, e.value, e.low, e.high))
    return tuple(out)


def verdict_of(c: EventCertificate) -> str:
    """The release in one sentence: the strictest thing that holds."""
    n = c.judged_by
    sizes = [(int(s), k) for s, k in n.smallest.items() if k > 1]
    held = max(sizes, default=None)
    more = "" if c.format == EVENT_FORMAT_1 else strongest_sentence(c.attacks)
    if held is None:
        s = max(int(s) for s in n.alone)
        return f"{s} random known records single out {written(n.alone[str(s)], 3)} of the people; every requirement is met.{more}"
    split = c.cost.trips is not None and c.steps.renew not in (NEVER, EVERY)  # not in certificates of version 0.3.0
    whose = "under one pseudonym" if split else "of a person"
    what = f"Every record {whose}" if held[0] == 1 else f"Every set of up to {held[0]} records {whose}"
    sentence = f"{what} is shared by at least {held[1]:,} people; every requirement is met."
    if c.data.counts:
        sentence = f"Every published flow counts trips of at least {held[1]:,} people; every requirement is met."
    return sentence if c.format == EVENT_FORMAT_1 else f"{sentence}{_objects(c)}{more}"


def _objects(c: EventCertificate) -> str:
    """Which people the verdict counts, and what the published file shows of its pseudonyms, where these are not the same."""
    if c.people is None or c.data.counts:
        return ""
    shown = "pseudonym" if c.data.unit else "record"
    fewest, alone = c.after.smallest["1"], written(100 * c.after.alone["1"], 3)
    return (
        f" This counts {counted(c)}. As published, a record is shared by as few as {fewest:,} "
        f"{shown}{'' if fewest == 1 else 's'}; on average {alone} % of the records of a {shown} are unique."
    )


def proof_of(*, linked: bool) -> Proof:
    """What can be counted again, and what rests on the signature."""
    recounted = "for the published pseudonyms: how many share every set of known records, and how many are alone"
    signed = "everything about the table before"
    if linked:
        signed += ", and the numbers of people: who is behind a pseudonym, and the dates before a shift, are not published"
    sentence = f"Anybody can count again, {recounted}. Signed only: {signed}."
    return Proof("people" if linked else "pseudonyms", recounted, signed, sentence)


def limits_of(c: EventCertificate) -> tuple[str, ...]:
    """What the release does not promise."""
    most = max(int(s) for s in c.judged_by.smallest)
    out = [
        f"Counted for up to {most} known records, each a point as it is published. Somebody who knows more of a person's records "
        "may single that person out.",
        "Known records are taken as true. What else is known of a person (that they are in the table, that they were not "
        "somewhere) is not counted."
        if not (c.after.further or {})
        else "Known records are taken as true, and what else is known of a person only as far as a requirement says.",
        "A point is shown once under a pseudonym; how often a person was there is not published."
        if not c.data.counts
        else "The records of this release are trips from place to place, published as numbers, not linked, without times.",
    ]
    if c.cost.people == c.cost.records:
        # part of a certificate: verify derives it again, so that it must stay as version 0.3.0 wrote it
        out.append(
            "Every person has one record: this is not an event table, and a policy with quasi-identifiers says more of it."
        )
    points = (*c.data.points, *((c.data.unit,) if c.data.unit else ()))
    others = [n for n in c.data.columns if n not in (*points, c.data.counts)]
    if others:
        out.append(f"Published as they are and not counted among what is known: {', '.join(others)}.")
    if c.data.counts or any(Path(f.name).stem == FLOWS for f in c.files):
        out.append(
            f"A published flow counts trips of at least {fewest_of(c.asked)} people. It may be less than the true number, as "
            "some trips of a person with many are not counted, or more, as records that follow each other under a pseudonym read "
            "as a trip. The flows of several releases together are not protected."
        )
    if c.cost.groups:
        out.append(
            f"The people were divided into {c.cost.groups:,} groups at random, and each group meets the requirements by itself. "
            "Attacks were made on one group, where people are easier to find than in the whole; uses were compared in each group "
            "and added up, so that their error in the whole is at most what is stated."
        )
    if c.steps.place == LOCAL:
        out.append("A record with the place '*' was at a place that too few people share at that time.")
    if c.steps.renew.endswith(NEEDED):
        out.append(
            "Where a pseudonym ends depends on the records: it ends before records that too few people share with the others."
        )
    if c.steps.renew not in (NEVER, EVERY):
        out.append("Pseudonyms of one person can perhaps be joined again by habits that go on; see the attacks.")
    if c.steps.vault:
        out.append(
            f"The pseudonyms are those of the domain '{c.steps.vault}' of a vault: who may ask it can undo them, and other "
            "tables with pseudonyms of the domain can be joined."
        )
    if c.steps.shift:
        out.append("Dates are shifted per person; the shift is not counted as protection.")
    if c.steps.time == NONE or c.steps.place == NONE:
        gone = [w for w, level in (("time", c.steps.time), ("place", c.steps.place)) if level == NONE]
        out.append(f"Nothing is published of: {', '.join(gone)}.")
    return tuple(out)
