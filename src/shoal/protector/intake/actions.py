"""What operators and clerks do at the intake: bring records of people, see what waits, decide it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import AccessError, UsageError
from shoal.protector.actions.frame import SessionPart, for_log, log_names
from shoal.protector.actions.pseudonyms import column_has_planted
from shoal.protector.intake import waiting
from shoal.protector.intake.register import (
    LONGEST,
    MATCH,
    POSSIBLE,
    Answer,
    Person,
    Register,
    identity_of,
    parsed,
    person_of,
    recognise,
    require_fitting,
)
from shoal.protector.intake.waiting import Candidate, Waiting
from shoal.protector.pseudonyms import merges
from shoal.protector.pseudonyms.domains import Context
from shoal.protector.pseudonyms.minting import OpenDomain
from shoal.protector.store.database import Tx

NEW = "new"
"""The decision that a waiting record is of a person nobody knew."""


@dataclass(frozen=True)
class Intake:
    """What became of the records, in their order: the pseudonym (None while waiting) and the outcome.

    ``known``: this very record was seen before; ``matched``: another spelling of a known person; ``new``; ``waiting``: a clerk
    decides; ``empty``: no information was given. ``changes`` counts by field what was changed to compare them.
    """

    pseudonyms: list[str | None] = field(repr=False)
    outcomes: list[str] = field(repr=False)
    waiting: list[str]
    changes: Mapping[str, Mapping[str, int]]

    @property
    def counts(self) -> dict[str, int]:
        tally = Counter(self.outcomes)
        return {name: tally[name] for name in ("known", "matched", "new", "waiting", "empty")}


class IntakeActions(SessionPart):
    """The operator's and the clerk's part of a session at the intake."""

    def intake(
        self,
        domain: str,
        records: Sequence[Mapping[str, str | None]],
        *,
        purpose: str = "",
        source: str = "",
        match: float = MATCH,
        possible: float = POSSIBLE,
    ) -> Intake:
        """Pseudonyms for records of people, who are recognised in spite of typing errors and changed names.

        A record is the description of a person: ``given``, ``family`` (or ``name``), ``birth``, ``sex``, ``postcode``, ``phone``,
        ``email``, ``number`` or ``number:bsn``, ``text:city``.
        """
        if not 0.5 <= match < 1 or not 0 < possible <= match:
            raise UsageError("a match needs a probability from 0.5 to below 1, and a possible one less.", hint="Say 0.99, 0.05.")
        people = [person_of(record) for record in records]
        if any(len(identity_of(person).encode("utf-8", "replace")) > LONGEST for person in people):
            raise UsageError(f"a record is longer than {LONGEST:,} bytes.", hint="Leave long texts out.")
        frame = self._frame
        with frame.acting("intake", domain) as (tx, now):
            opened = frame.open_domain(tx, domain)
            require_fitting(opened.domain)
            usage = frame.counted(tx, now, "pseudonymize", purpose, len(people), domain=domain)
            register = Register.of(tx, opened)
            answers, changes = recognise(register, people, match=match, possible=possible)
            pseudonyms, planted = self._settled(tx, opened, people, answers, now)
            register.keep(tx, opened, [(p, a.identity) for p, a in zip(people, answers, strict=True) if a.identity is not None])
            numbers = self._wait(tx, opened, people, answers, now)
            done = Intake(pseudonyms, [a.outcome for a in answers], numbers, {name: c.to_json() for name, c in changes.items()})
            details: dict[str, Any] = {"domain": domain, "purpose": purpose}
            detail = ", ".join(f"{count} {name}" for name, count in done.counts.items() if count)
            counts = {"count": len(people), "detail": detail}
            frame.log(tx, now, "intake", **details, source=source, key=opened.domain.key_id, **counts)
            numbered = [text for person in people for kind, text in person.items() if kind.startswith("number")]
            frame.watch(tx, now, "pseudonymize", usage, numbered, planted=planted, logged_as="intake", **details)
        return done

    def _settled(
        self, tx: Tx, opened: OpenDomain, people: Sequence[Person], answers: Sequence[Answer], now: float
    ) -> tuple[list[str | None], bool]:
        """The pseudonym of everybody who was recognised or is new; other spellings of a known person are remembered."""
        import pyarrow as pa

        texts = [None if a.identity is None else identity_of(p) for p, a in zip(people, answers, strict=True)]
        known = merges.read(tx, opened)
        fresh = {
            text.encode(): answer.identity
            for text, answer in zip(texts, answers, strict=True)
            if text is not None and answer.outcome == "matched" and answer.identity is not None
        }
        added = {one: into for one, into in fresh.items() if one not in known and one != into}
        if added:
            merges.write(tx, opened, {**known, **added})
        column = pa.array(texts, pa.string())
        planted = column_has_planted(tx, opened, column.unique())
        return opened.pseudonymize(tx, column, Context(), now).to_pylist(), planted

    def _wait(self, tx: Tx, opened: OpenDomain, people: Sequence[Person], answers: Sequence[Answer], now: float) -> list[str]:
        """The numbers under which records wait, each record once."""
        name = opened.domain.name
        known = {identity_of(waiting.content(opened, body)[0]): body["id"] for body in waiting.everything(tx, name)}
        numbers = []
        for person, answer in zip(people, answers, strict=True):
            if answer.outcome == "waiting":
                text = identity_of(person)
                if text not in known:
                    known[text] = waiting.put(tx, opened, person, answer.candidates, operator=self._frame.name, time=now)
                numbers.append(known[text])
        return numbers

    def waiting(self, domain: str) -> list[Waiting]:
        """What waits in a domain: each record beside the known people it may be of. Seeing them is logged."""
        frame = self._frame
        with frame.acting("decide", domain) as (tx, now):
            opened = frame.open_domain(tx, domain)
            seen = [self._seen(tx, opened, body, now) for body in waiting.everything(tx, domain)]
            shown = list(dict.fromkeys(identity_of(c.record).encode() for w in seen for c in w.candidates))
            subjects = log_names(tx, opened, shown, most=1000)
            frame.log(tx, now, "waiting", domain=domain, count=len(seen), subjects=subjects)
        return seen

    def _seen(self, tx: Tx, opened: OpenDomain, body: Mapping[str, Any], now: float) -> Waiting:
        record, candidates = waiting.content(opened, body)
        known = merges.read(tx, opened)
        best: dict[bytes, float] = {}
        for identity, chance in candidates:
            stands = merges.standing(opened, known, identity)
            best[stands] = max(best.get(stands, 0.0), chance)
        named = opened.find(tx, [identity.decode() for identity in best], Context(), now) if best else []
        people = [
            Candidate(pseudonym, chance, parsed(identity) or {})
            for pseudonym, (identity, chance) in zip(named, best.items(), strict=True)
            if pseudonym is not None  # a person forgotten meanwhile is not a candidate
        ]
        return Waiting(body["id"], body["domain"], body["operator"], body["created"], record, tuple(people))

    def decide(self, number: str, same_as: str) -> str:
        """The pseudonym of a waiting record, by a clerk's decision: ``same_as`` a candidate's pseudonym, or ``new``.

        Nobody decides a record that she brought herself.
        """
        import pyarrow as pa

        frame = self._frame
        with frame.acting("decide", waiting=for_log(number, "WAIT-")) as (tx, now):
            body = waiting.load(tx, number)
            frame.require(tx, now, "decide", body["domain"])
            if body["operator"] == frame.name:
                raise AccessError("nobody decides a record that she brought.", hint="Ask another clerk.", reason="self-approval")
            opened = frame.open_domain(tx, body["domain"])
            seen = self._seen(tx, opened, body, now)
            text = identity_of(seen.record)
            chosen = {c.pseudonym: c for c in seen.candidates}.get(opened.canonical(same_as.strip()))
            if chosen is None and same_as.strip().lower() != NEW:
                raise UsageError("this is not one of the people the record may be of.", hint="Name one of them, or `new`.")
            if chosen is not None:
                merges.merge(tx, opened, text.encode(), identity_of(chosen.record).encode())
            (pseudonym,) = opened.pseudonymize(tx, pa.array([text], pa.string()), Context(), now).to_pylist()
            waiting.remove(tx, body["id"])
            subjects = log_names(tx, opened, [text.encode()], most=1)
            detail = "same person" if chosen is not None else "new person"
            frame.log(tx, now, "decide", domain=body["domain"], waiting=body["id"], detail=detail, subjects=subjects)
        return str(pseudonym)
