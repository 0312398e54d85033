"""An event release: decided, then applied on demand; a folder whole or not at all."""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.engines.core.memory import give_back
from shoal.engines.core.state import changed
from shoal.engines.open import open as opened
from shoal.errors import InfeasibleError, UsageError, VerificationError
from shoal.kernels import signatures as sign
from shoal.measures.events.knowledge import most_known
from shoal.model.attack import AttackResult, worst_first
from shoal.model.certificate.certificate import NAME, PLAN
from shoal.model.certificate.events import EventCertificate, EventData
from shoal.model.certificate.form import plain
from shoal.model.display import Progress, silent, written
from shoal.model.requirement import Requirement
from shoal.release.certificate.database_table import check_target
from shoal.release.claim import Certified, broken_claim
from shoal.release.events.contents import WrittenEvents, certificate_of, derive
from shoal.release.events.decided import Together
from shoal.release.events.groups import TOGETHER, Groups, in_groups
from shoal.release.events.plan_file import EventPlan, check_earlier, joined_with, with_choices_of
from shoal.release.events.publish import with_shown, write_table
from shoal.release.events.records import read_events
from shoal.release.events.uses import FLOWS, earlier_flows, flows_only, with_flows
from shoal.release.events.verify import facts_of_table
from shoal.release.make import private_file
from shoal.release.make.carry_out import Output, data_place
from shoal.release.make.certify import input_hash
from shoal.release.make.private_file import objections
from shoal.release.make.recode import ENDINGS
from shoal.release.make.release import Release
from shoal.release.policy.events import ONLY
from shoal.release.policy.policy import Policy
from shoal.release.proof.events import EventFacts, judge_events, recount_events
from shoal.release.proof.facts import alike
from shoal.release.proof.read import header, logical
from shoal.release.verification import seal
from shoal.report.event_release_report import render
from shoal.search.events.event_search import best_plan
from shoal.search.events.problem import EVERY

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from shoal.engines.table import Table
    from shoal.release.earlier.ledger import Published


class EventRelease(Release):
    """A decided event release, with the face of every release; its plan and its certificate are those of event tables.

    :meth:`write` carries it out; :attr:`certificate` and :meth:`report` carry it out in private. The seed of pseudonyms, of the
    choice of records and of shifts is kept in :attr:`private_file`, beside the folder.
    """

    plan: EventPlan  # type: ignore[assignment]
    _made: Certified[EventCertificate, EventPlan] | None  # type: ignore[assignment]

    def __init__(self, decided: Decided, output: Output, started: float) -> None:
        self._decision: Decided | None = decided
        self._work = None
        self._output, self._started, self._words = output, started, decided.shape.words
        self._most = most_known(decided.asked) or 1
        self._made = self._seed = None
        self._frame: Any = None
        self.plan = decided.plan
        self.inferred = {}
        self.seconds = 0.0
        self.private_file = self.ledger_file = None

    def __repr__(self) -> str:
        if self._made is None:
            return f"<EventRelease: decided, not written yet; {self._words}>"
        certificate = self._made.certificate
        return f"<EventRelease: {certificate.after.records:,} records of {certificate.after.traces:,} pseudonyms, {self._words}>"

    def _repr_html_(self) -> str | None:
        """The card of a release that was made."""
        from shoal.report.event_release_report import card

        return card(self._made.certificate) if self._made is not None else None

    @property
    def certificate(self) -> EventCertificate:  # type: ignore[override]
        """The signed certificate; writes the release in a private place if it was not written yet."""
        return self._certified().certificate  # type: ignore[return-value]

    @property
    def k(self) -> int:
        """The fewest people who share a set of as many known records as the policy asks about."""
        return self.certificate.judged_by.smallest[str(self._most)]

    def _published(self) -> Published | None:
        return self._chosen().shown()

    def to_pandas(self) -> pd.DataFrame:
        """The released records as a pandas frame; see :meth:`to_arrow`."""
        return self.to_arrow().to_pandas()

    def to_json(self) -> dict[str, Any]:
        """``steps, cost, requirements, after, before, uses, attacks``, and the keys that every release has."""
        certificate = self.certificate
        parts = plain(certificate)
        return {
            "events": True,
            "verdict": certificate.verdict,
            "cost": {**parts["cost"], "sentence": certificate.cost.sentence},
            "k": self.k,
            "records": certificate.after.records,
            "suppressed": certificate.cost.truncated + certificate.cost.suppressed,
            "loss": certificate.cost.loss,
            "method": "events",
            "seconds": round(self.seconds or time.perf_counter() - self._started, 3),
            "verified": True,
            **{n: parts[n] for n in ("steps", "requirements", "before", "after", "uses", "attacks")},
            "people": parts.get("people"),
            "files": [*(f.name for f in certificate.files), NAME],
            "key": certificate.key_shown,
        }

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_decision": None}

    def _chosen(self) -> Decided:
        if self._decision is None:
            hint = "Write it before it is pickled, or call shoal.anonymize again."
            raise UsageError("a release that was pickled can be read, not written again.", hint=hint)
        return self._decision

    @property
    def _table(self) -> Table:
        return self._chosen().table

    def _keeps_apart(self) -> bool:
        return True

    def _carry_out(  # type: ignore[override]
        self, stage: Path, output: Output, progress: Progress
    ) -> tuple[Certified[EventCertificate, EventPlan], private_file.Kept]:
        return carry_out(self._chosen(), output, stage, progress)

    def _read(self, data: Path) -> pa.Table:
        import pyarrow.parquet as pq

        return pq.read_table(data).replace_schema_metadata(None)


def decide_events(
    table: Table, policy: Policy, output: Output, *, plan: EventPlan | None = None, progress: Progress = silent
) -> EventRelease:
    """Read, search, and return the release that loses least; with a plan, the one that it describes."""
    started = time.perf_counter()
    if output.format not in ENDINGS:
        raise UsageError(f"format '{output.format}' is not known.", hint=f"Formats: {', '.join(ENDINGS)}.")
    if output.to_table is not None:
        check_target(table, output.table_name, replaces=bool(output.replaces))
        output = replace(output, format="parquet")
    for earlier in output.earlier:
        check_earlier(Path(earlier))
    progress(0.05, "reading the records")
    fixed = policy if plan is None else with_choices_of(policy, plan)
    if output.earlier and in_groups(table, fixed):
        hint = "Release a part of the people, or leave --previous out."
        raise UsageError(f"more than {TOGETHER:,} records are not compared with an earlier release.", hint=hint)
    decided = _decided(table, fixed, None if plan is None else plan.most_records, progress)
    limit = policy.loss_limit
    if limit is not None and decided.loss > limit:
        what = f"the plan that loses least loses {written(decided.loss, 2)} of 1, and {written(limit)} is allowed "
        what += f"({decided.shape.words})."
        raise InfeasibleError(what, hint="Raise allow: {loss: …}, allow more records to be left out, or ask for less.")
    return EventRelease(decided, output, started)


Decided = Together | Groups


def _decided(table: Table, policy: Policy, most: int | None, progress: Progress) -> Decided:
    """The plan that loses least, of all records or of groups of people; with so many records of a person at most, if given."""
    if in_groups(table, policy):
        return Groups(table, policy, progress, most=most)
    events = with_shown(read_events(table, policy))
    problem = events.problem
    if most is not None:
        problem = problem.with_shapes(tuple(s for s in problem.shapes if s.most == most))
    if events.rules.flows == ONLY:
        solution = flows_only(events)
    else:
        solution = best_plan(problem, lambda done, what: progress(0.1 + 0.5 * done, what))
        solution = with_flows(events, solution) if problem.flows else solution
    return Together(replace(events, problem=problem), solution)


SHOWN = 3
"""Known records that are counted at least, so that a curve can be shown, where their sets are few enough."""
FEW_SETS = 2_000_000


def carry_out(
    decided: Decided, output: Output, stage: Path, progress: Progress
) -> tuple[Certified[EventCertificate, EventPlan], private_file.Kept]:
    """Everything of a release in ``stage``, and what is kept apart; what falls short raises before anything is published."""
    signer = sign.signer(output.key_file)
    data, requirements, table = data_place(stage, output), decided.asked, decided.table
    progress(0.6, "writing the data")
    decided.write(data)
    data_written = _data(decided, data, output.format)
    give_back()
    progress(0.7, "counting the written file again")
    known = decided.known(most_known(requirements), SHOWN, FEW_SETS)
    more: dict[str, Any] = {"asked": requirements, "timed": data_written.time is not None, "counts": data_written.counts}
    facts = recount_events(data, unit=data_written.unit, points=data_written.points, known=known, **more)
    give_back()
    people = decided.people(known)
    _require_met(decided.policy.requirements, people or facts)
    if facts.records != decided.records:
        raise VerificationError("the written file has another number of records than was planned; nothing was released.")
    flows = decided.flow_table()
    if flows is not None:
        write_table(flows, data.with_name(f"{FLOWS}{data.suffix}"))
    plan_text = decided.plan.to_json()
    (stage / PLAN).write_text(plan_text, encoding="utf-8", newline="\n")
    digest, seed = hashlib.sha256(plan_text.encode()).hexdigest(), decided.policy.seed
    salt = signer.keyed_hash([str(seed).encode(), plan_text.encode()], purpose="seed")
    objected, list_salt = objections(output.left_out, signer)
    kept = private_file.Kept(seed, salt, None, digest, list_salt)
    progress(0.85, "attacking")
    attacks = decided.attacks(data, data_written, lambda done, what: progress(0.85 + 0.1 * done, what))
    attacks += [joined_with(data, data_written, decided.steps, Path(earlier), requirements) for earlier in output.earlier]
    attacks += earlier_flows(data, data_written, decided.steps, [Path(e) for e in output.earlier], requirements)
    attacks = worst_first(attacks)
    _require_unbroken(attacks)
    source = _input_hash(decided, output, signer)
    if output.to_table is not None:
        progress(0.95, "writing the table")
        data_written = replace(_to_table(decided, output.to_table, data, data_written, facts), table=output.table_name)
        _keep_flows(data, stage)
    written = WrittenEvents(
        data=data_written,
        files=[*sorted(stage.glob(f"*{data.suffix}")), stage / PLAN],
        facts=facts,
        people=people,
        commitment=str(kept.commitment),
        attacks=attacks,
        uses=decided.uses(),
        objections=objected,
        snapshot=output.held.snapshot if output.held is not None else None,
        input_hash=source,
    )
    progress(0.95, "certifying")
    new = table.neighbour(output.to_table) if output.to_table is not None else None
    signed = certificate_of(decided.policy, decided.steps, decided.cost(), decided.before(max(facts.smallest)), written)
    return seal(derive(signed, facts, stage, new), render, decided.plan, stage, signer, table=new), kept


def _require_unbroken(attacks: Sequence[AttackResult]) -> None:
    """No attack does better than the release would claim."""
    broken = [a for a in attacks if a.verdict == "broken"]
    if not broken:
        return
    hint = "Use coarser times or places, or renew pseudonyms."
    if broken[0].name.startswith("further column"):
        hint = "Name the column under roles.direct; if nobody knows or uses it: allow: {identifying: {column: why}}"
    raise broken_claim(broken, hint)


def _to_table(decided: Decided, name: str, data: Path, source: EventData, facts: EventFacts) -> EventData:
    """The written file as a table of the database, read back and counted again."""
    written = decided.table.add_neighbour(name, opened(data))
    source = replace(source, file=None, table=name, engine=written.engine, columns=tuple(written.schema.names))
    again = facts_of_table(written, source, decided.asked, max(facts.smallest))
    if not alike(again.to_json(), facts.to_json()):
        hint = "It was dropped. Run it again when nobody writes to the table."
        raise VerificationError(f"table '{name}' was written but does not hold what was planned.", hint=hint)
    return source


def _keep_flows(data: Path, stage: Path) -> None:
    """Of the private folder only the file of flows is published."""
    flows = data.with_name(f"{FLOWS}{data.suffix}")
    if flows.exists():
        flows.rename(stage / flows.name)
    shutil.rmtree(data.parent)


def _input_hash(decided: Decided, output: Output, signer: sign.Signer) -> str | None:
    """The keyed digest of the source, which must be in the state that its records were read in."""
    if output.held is None:
        return None
    digest = input_hash(decided.table, signer)
    decided.table.require(output.held)
    if not output.held.sure:
        now, read = decided.table.n_rows(), decided.n + decided.incomplete
        if now != read:
            raise changed(read, now)
    return digest


def _data(decided: Decided, data: Path, form: str) -> EventData:
    rules = decided.rules
    columns = tuple(logical(header(data), (*decided.table.schema.names, *rules.place)))
    return EventData(
        file=data.name,
        format=form,
        columns=columns,
        unit=None if decided.shape.renew == EVERY else rules.unit,
        time=rules.time if rules.time in columns else None,
        place=tuple(p for p in rules.place if p in columns),
        counts=columns[-1] if rules.flows == ONLY else None,
    )


def _require_met(asked: Sequence[Requirement], facts: EventFacts) -> None:
    unmet = [f for f in judge_events(asked, facts) if not f.met]
    if unmet:
        what = f"the written file does not meet a requirement: {unmet[0].sentence}; found {unmet[0].found}. Nothing was released."
        hint = "This is caught before release. Ask for a little more than needed, or allow more suppression."
        raise VerificationError(what, hint=hint, findings=tuple(unmet))
