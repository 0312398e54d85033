"""Reveal requests: asked by one person, approved by another, delivered once.

A request names the domain, the pseudonyms, the purpose, the case and an expiry. The approver sees all of that and no
identity. There is no setting by which one person could do both.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from shoal.errors import AccessError, UsageError
from shoal.protector.crypto import base32
from shoal.protector.store.database import Tx
from shoal.protector.store.kinds import HONEY, REQUEST

Status = Literal["pending", "approved", "denied", "withdrawn", "delivered"]

LONGEST_LIFE = 30 * 86400.0
MOST_RECORDS = 10_000


@dataclass(frozen=True)
class Request:
    """A request to reveal; ``flagged`` when it names a honeytoken."""

    id: str
    requester: str
    domain: str
    pseudonyms: tuple[str, ...]
    purpose: str
    case: str
    created: float
    expires: float
    status: Status = "pending"
    approver: str = ""
    key_version: int | None = None
    role: str = ""
    relation: str = ""
    flagged: bool = False

    @property
    def records(self) -> int:
        return len(self.pseudonyms)

    def __repr__(self) -> str:
        return f"<Request {self.id}: {self.records} records, {self.status}>"

    def to_json(self, *, pseudonyms: bool = True) -> dict[str, Any]:
        """What requester and approver may see."""
        body: dict[str, Any] = {
            "id": self.id,
            "domain": self.domain,
            "purpose": self.purpose,
            "case": self.case,
            "records": self.records,
            "created": self.created,
            "expires": self.expires,
            "status": self.status,
        }
        return body | ({"pseudonyms": list(self.pseudonyms)} if pseudonyms else {})


def create(
    tx: Tx,
    *,
    requester: str,
    domain: str,
    pseudonyms: Sequence[str],
    purpose: str,
    case: str,
    time: float,
    seconds: float,
    key_version: int | None,
    role: str = "",
    relation: str = "",
) -> Request:
    """A new request; nothing is looked up yet, so it tells nobody whether a pseudonym exists."""
    unique = tuple(dict.fromkeys(pseudonyms))
    if not unique or len(unique) > MOST_RECORDS:
        raise UsageError(f"a request names 1 to {MOST_RECORDS:,} pseudonyms; found {len(unique):,}.")
    if any(not p or len(p) > 20_000 for p in unique):
        raise UsageError("a pseudonym in the request is empty or too long.")
    for what, text in (("purpose", purpose), ("case number", case)):
        if not text.strip() or len(text) > 200:
            raise UsageError(f"a request needs a {what} of at most 200 characters.", hint="Say why, for which case.")
    if not 0 < seconds <= LONGEST_LIFE:
        raise UsageError(f"a request lives at most {LONGEST_LIFE / 86400:g} days.", hint="Choose a shorter expiry.")
    request = Request(
        id="REQ-" + base32.encode(os.urandom(5)),
        requester=requester,
        domain=domain,
        pseudonyms=unique,
        purpose=purpose.strip(),
        case=case.strip(),
        created=time,
        expires=time + seconds,
        key_version=key_version,
        role=role,
        relation=relation,
        flagged=touches_honeytoken(tx, domain, unique),
    )
    save(tx, request)
    return request


def load(tx: Tx, request_id: str) -> Request:
    body = tx.get(REQUEST, request_id.strip().upper())
    if body is None:
        raise AccessError("there is no such request.", hint="`shoal vault requests` lists the open ones.", reason="unknown")
    return _parsed(body)


def save(tx: Tx, request: Request) -> None:
    tx.put(REQUEST, request.id, asdict(request))


def all_requests(tx: Tx) -> list[Request]:
    return sorted((_parsed(body) for body in tx.all(REQUEST)), key=lambda r: (r.created, r.id))


def decide(tx: Tx, request_id: str, *, approver: str, approve: bool, time: float) -> Request:
    """Approve or deny, as another person than the requester, while the request is open and alive."""
    request = load(tx, request_id)
    if request.requester == approver:
        raise AccessError(
            f"{request.id}: nobody approves their own request.", hint="Ask another approver.", reason="self-approval"
        )
    if request.status != "pending":
        raise AccessError(f"{request.id} is {request.status}: it can no longer be decided.", reason="replay")
    if time >= request.expires:
        raise AccessError(f"{request.id} has expired.", hint="The requester can make a new one.", reason="expired")
    if approve and request.flagged:
        raise AccessError(f"{request.id} is held back.", hint="Ask the owner of the vault.", reason="honeytoken")
    decided = replace(request, status="approved" if approve else "denied", approver=approver)
    save(tx, decided)
    return decided


def deliver(tx: Tx, request_id: str, *, requester: str, time: float) -> Request:
    """Mark an approved request as delivered: the one moment at which identities may leave."""
    request = load(tx, request_id)
    if request.requester != requester:
        raise AccessError(f"{request.id} belongs to somebody else.", reason="stranger")
    if request.status == "delivered":
        raise AccessError(f"{request.id} was delivered before; a reveal happens once.", hint="Make a new one.", reason="replay")
    if request.status != "approved" or not request.approver or request.approver == request.requester:
        raise AccessError(f"{request.id} is {request.status}: a second person has to approve it first.", reason="unapproved")
    if time >= request.expires:
        raise AccessError(f"{request.id} has expired.", hint="Make a new request.", reason="expired")
    delivered = replace(request, status="delivered")
    save(tx, delivered)
    return delivered


def withdraw(tx: Tx, request_id: str, *, requester: str) -> Request:
    request = load(tx, request_id)
    if request.requester != requester:
        raise AccessError(f"{request.id} belongs to somebody else.", reason="stranger")
    if request.status not in ("pending", "approved"):
        raise AccessError(f"{request.id} is {request.status} already.", reason="replay")
    withdrawn = replace(request, status="withdrawn")
    save(tx, withdrawn)
    return withdrawn


def touches_honeytoken(tx: Tx, domain: str, pseudonyms: Sequence[str]) -> bool:
    """Whether one of the pseudonyms, in canonical spelling, belongs to a planted identity."""
    planted = set((tx.get(HONEY, domain) or {}).get("pseudonyms", ()))
    return bool(planted) and not planted.isdisjoint(pseudonyms)


def _parsed(body: dict[str, Any]) -> Request:
    return Request(**{**body, "pseudonyms": tuple(body["pseudonyms"])})
