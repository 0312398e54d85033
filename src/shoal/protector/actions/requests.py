"""What requesters and approvers do: ask for identities, decide, and fetch them once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shoal.errors import UsageError
from shoal.protector.actions.frame import Frame, log_names
from shoal.protector.actions.holders import sealed_identity
from shoal.protector.people import requests
from shoal.protector.people.requests import Request
from shoal.protector.pseudonyms.domains import Context


@dataclass(frozen=True)
class Revealed:
    """The identities of one request, delivered once. Its text form shows none of them."""

    request: Request
    identities: Mapping[str, str | None] = field(repr=False)

    def __repr__(self) -> str:
        return f"<Revealed {self.request.id}: {len(self.identities)} identities>"


class RequestActions:
    """The requester's and the approver's part of a session."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def request(
        self,
        domain: str,
        pseudonyms: Sequence[str],
        *,
        purpose: str,
        case: str,
        seconds: float = 7 * 86400.0,
        version: int | None = None,
        role: str = "",
        relation: str = "",
    ) -> Request:
        """Ask for the identities behind pseudonyms; another person has to approve."""
        frame = self._frame
        with frame.acting("request", domain, purpose=purpose, case=case) as (tx, now):
            opened = frame.open_domain(tx, domain)
            pseudonyms = list(dict.fromkeys(opened.canonical(p) for p in pseudonyms))
            if strange := sum(not opened.has_form(p) for p in pseudonyms):
                raise UsageError(
                    f"{strange} of {len(pseudonyms)} texts cannot be pseudonyms of domain '{domain}'.",
                    hint="Copy each one whole, with its prefix and without quotation marks.",
                )
            frame.count(tx, now, "request", purpose, len(pseudonyms), domain=domain, case=case)
            made = requests.create(
                tx,
                requester=frame.name,
                domain=domain,
                pseudonyms=pseudonyms,
                purpose=purpose,
                case=case,
                time=now,
                seconds=seconds,
                key_version=version,
                role=role,
                relation=relation,
            )
            told = {"request": made.id, "domain": domain, "purpose": purpose, "case": case, "count": made.records}
            frame.log(tx, now, "request", **told)
            if made.flagged:
                frame.log(tx, now, "request", outcome="alarm", reason="honeytoken", **told)
        return made

    def requests(self) -> list[Request]:
        """One's own requests; for approvers, auditors and owners all of them."""
        with self._frame.reading("requests") as (tx, now):
            caller = self._frame.caller(tx, now)
            everything = requests.all_requests(tx)
        sees_all = bool(caller.roles & {"approver", "auditor", "owner"})
        return [r for r in everything if (sees_all or r.requester == self._frame.name) and caller.reaches(r.domain)]

    def approve(self, request_id: str) -> Request:
        """Approve somebody else's request."""
        return self._decide(request_id, approve=True)

    def deny(self, request_id: str) -> Request:
        """Deny somebody else's request."""
        return self._decide(request_id, approve=False)

    def _decide(self, request_id: str, *, approve: bool) -> Request:
        frame = self._frame
        action = "approve" if approve else "deny"
        with frame.acting(action, request=_for_log(request_id)) as (tx, now):
            made = requests.decide(tx, request_id, approver=frame.name, approve=approve, time=now)
            frame.require(tx, now, action, made.domain)
            frame.log(tx, now, action, **_told(made))
        return made

    def withdraw(self, request_id: str) -> Request:
        """Take back one's own request."""
        frame = self._frame
        with frame.acting("withdraw", request=_for_log(request_id)) as (tx, now):
            made = requests.withdraw(tx, request_id, requester=frame.name)
            frame.require(tx, now, "withdraw", made.domain)
            frame.log(tx, now, "withdraw", request=made.id, domain=made.domain)
        return made

    def reveal(self, request_id: str) -> Revealed:
        """The identities of one's own approved request: once."""
        frame = self._frame
        with frame.acting("reveal", request=_for_log(request_id)) as (tx, now):
            made = requests.deliver(tx, request_id, requester=frame.name, time=now)
            frame.require(tx, now, "reveal", made.domain)
            opened = frame.open_domain(tx, made.domain)
            frame.count(tx, now, "reveal", made.purpose, made.records, domain=made.domain, case=made.case)
            context = Context(made.role, made.relation) if made.role or made.relation else None
            if opened.domain.kind == "self-generated":
                plain = [sealed_identity(tx, opened, p) for p in made.pseudonyms]
            else:
                plain = opened.resolve(tx, made.pseudonyms, version=made.key_version, context=context, time=made.created)
            subjects = log_names(tx, opened, plain, most=requests.MOST_RECORDS)
            frame.log(tx, now, "reveal", **_told(made), subjects=subjects)
        texts = (None if p is None else p.decode() for p in plain)
        return Revealed(made, dict(zip(made.pseudonyms, texts, strict=True)))


def _told(made: Request) -> dict[str, str | int]:
    """What the log says of a request."""
    return {"request": made.id, "domain": made.domain, "purpose": made.purpose, "case": made.case, "count": made.records}


def _for_log(request_id: str) -> str:
    """A request id for the log; anything else that was typed in (an identity, say) is not written there."""
    text = request_id.strip().upper()
    return text if text.startswith("REQ-") and len(text) <= 16 and text.isascii() else "malformed"
