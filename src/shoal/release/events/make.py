"""An event release in the making: written, counted again, attacked, certified and verified, all in a private place."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.engines.core.state import changed
from shoal.errors import VerificationError
from shoal.kernels import signatures as sign
from shoal.model.certificate.certificate import NAME, PLAN, REPORT
from shoal.model.certificate.events import EventCertificate, EventData
from shoal.model.display import Progress
from shoal.model.requirement import Requirement, Verdict
from shoal.release.certificate.signing import file_entry, signed
from shoal.release.events.attacks import run_attacks
from shoal.release.events.contents import WrittenEvents, certificate_of, steps_of
from shoal.release.events.earlier import joined_with
from shoal.release.events.plan_file import plan_of
from shoal.release.events.publish import private, published, write_table
from shoal.release.events.read import EventTable
from shoal.release.events.uses import uses_of
from shoal.release.events.verify import verify_events
from shoal.release.make import seed
from shoal.release.make.carry_out import Output
from shoal.release.make.certify import input_hash
from shoal.release.make.objections import objections
from shoal.release.make.recode import ENDINGS
from shoal.release.proof.events import EventFacts, judge_events, recount_events
from shoal.release.proof.read import header
from shoal.release.proof.written import logical
from shoal.report.event_release_report import render
from shoal.search.events.event_search import Found
from shoal.search.events.problem import EVERY, NEVER

if TYPE_CHECKING:
    pass

SHOWN = 3
"""Known records that are counted at least, so that a curve can be shown, where their sets are few enough."""
FEW_SETS = 2_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Made:
    """The certificate, its report, and what is kept apart."""

    certificate: EventCertificate
    page: str
    kept: seed.Kept | None


def carry_out(events: EventTable, found: Found, output: Output, stage: Path, progress: Progress) -> Made:
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
    steps = steps_of(events, found)
    attacks = run_attacks(events, found, lambda done, what: progress(0.85 + 0.1 * done, what))
    attacks += [joined_with(data, told, steps, Path(earlier), events.problem.asked) for earlier in output.earlier]
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
        snapshot=output.held.snapshot if output.held is not None else None,
        input_hash=_input_hash(events, output, signer),
    )
    progress(0.95, "certifying")
    return _certify(certificate_of(events, found, written), stage, signer, kept)


def _input_hash(events: EventTable, output: Output, signer: sign.Signer) -> str | None:
    """The keyed digest of the source, which must be in the state that its records were read in."""
    if output.held is None:
        return None
    found = input_hash(events.table, signer)
    events.table.require(output.held)
    if not output.held.sure:
        now, read = events.table.n_rows(), events.problem.n + events.incomplete
        if now != read:
            raise changed(read, now)
    return found


def _certify(certificate: EventCertificate, stage: Path, signer: sign.Signer, kept: seed.Kept) -> Made:
    """Report and signed certificate beside the data; then the whole folder is verified."""
    body = certificate.as_read
    page = render(body)
    (stage / REPORT).write_text(page, encoding="utf-8", newline="\n")
    whole = signed(replace(body, files=(*body.files, file_entry(stage / REPORT))), signer)
    (stage / NAME).write_bytes(whole.to_bytes())
    verify_events(stage).require()
    return Made(whole, page, kept)


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
