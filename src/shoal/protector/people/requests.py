"""Reveal requests: asked by one person, approved by another, delivered once.

A request names the domain, the pseudonyms, the purpose, the case, an expiry and, if the requester gives one, the public key that
the answer is sealed to. The approver sees all of that and no identity, and approves exactly that: the approval holds its
digest, and dies with the approver's rights. No setting lets one person do both.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from shoal.errors import AccessError, UsageError
from shoal.model.names import alike
from shoal.protector.crypto import base32
from shoal.protector.people import accounts
from shoal.protector.store.database import Tx
from shoal.protector.store.state import REQUEST

Status = Literal["pending", "approved", "denied", "withdrawn", "delivered"]

LONGEST_LIFE = 30 * 86400.0
MOST_RECORDS = 10_000
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Request:
    """A request to reveal; ``flagged`` when it names a honeytoken, ``recipient`` the key its answer is sealed to.

    ``approved`` is the digest that was approved, when, by which token, and how often its person had lost rights by then.
    """

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
    recipient: str = ""
    approved: tuple[str, float, str, int] = ("", 0.0, "", 0)

    @property
    def digest(self) -> str:
        """What an approval is bound to: requester, records, purpose, case, expiry and recipient."""
        parts = "id requester domain pseudonyms purpose case expires key_version role relation recipient".split()
        return hashlib.sha256(json.dumps([getattr(self, part) for part in parts]).encode()).hexdigest()

    @property
    def records(self) -> int:
        return len(self.pseudonyms)

    def __repr__(self) -> str:
        return f"<Request {self.id}: {self.records} records, {self.status}>"

    def to_json(self, *, pseudonyms: bool = True) -> dict[str, Any]:
        """What requester and approver may see."""
        parts = "id domain purpose case records created expires status recipient digest".split()
        return {part: getattr(self, part) for part in parts} | ({"pseudonyms": list(self.pseudonyms)} if pseudonyms else {})


@dataclass(frozen=True)
class ServedRequest(Request):
    """A request as a vault's service describes it; ``body`` is the service's JSON."""

    body: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def digest(self) -> str:
        return str(self.body["digest"])

    def to_json(self, *, pseudonyms: bool = True) -> dict[str, Any]:
        return {name: value for name, value in self.body.items() if pseudonyms or name != "pseudonyms"}


def create(tx: Tx, asked: Request, seconds: float) -> Request:
    """Keep a new request, under an id of its own and for so long; its answer says nothing about whether a pseudonym exists."""
    unique = tuple(dict.fromkeys(asked.pseudonyms))
    if not unique or len(unique) > MOST_RECORDS:
        raise UsageError(f"a request names 1 to {MOST_RECORDS:,} pseudonyms; found {len(unique):,}.")
    if any(not p or len(p) > 20_000 or _SURROGATE.search(p) for p in unique):
        raise UsageError("a pseudonym in the request is empty, too long, or no text.")
    for what, text in (("purpose", asked.purpose), ("case number", asked.case)):
        if not text.strip() or len(text) > 200:
            raise UsageError(f"a request needs a {what} of at most 200 characters.", hint="Say why, for which case.")
    if not 0 < seconds <= LONGEST_LIFE:
        raise UsageError(f"a request lives at most {LONGEST_LIFE / 86400:g} days.", hint="Choose a shorter expiry.")
    name, purpose, case = "REQ-" + base32.encode(os.urandom(5)), asked.purpose.strip(), asked.case.strip()
    request = replace(asked, id=name, pseudonyms=unique, purpose=purpose, case=case, expires=asked.created + seconds)
    save(tx, request)
    return request


def load(tx: Tx, request_id: str) -> Request:
    body = tx.get(REQUEST, request_id.strip().upper())
    if body is None:
        raise AccessError("this request does not exist.", hint="`shoal vault requests` lists the open ones.", reason="unknown")
    return _parse(body)


def save(tx: Tx, request: Request) -> None:
    tx.put(REQUEST, request.id, asdict(request))


def all_requests(tx: Tx) -> list[Request]:
    return sorted((_parse(body) for body in tx.all(REQUEST)), key=lambda r: (r.created, r.id))


def decide(
    tx: Tx, request_id: str, *, approver: str, token: str, approve: bool, time: float, digest: str | None = None
) -> Request:
    """Approve or deny, as another person than the requester, while the request is open and alive.

    ``digest``, if given, is that of the request the approver has read; another one is refused.
    """
    request = load(tx, request_id)
    if digest is not None and digest != request.digest:
        raise AccessError(f"{request.id} is not the request that was read.", hint="Read it again.", reason="digest")
    if alike(request.requester, approver):
        hint = "Ask another approver."
        raise AccessError(f"{request.id}: nobody approves their own request.", hint=hint, reason="self-approval")
    if request.status != "pending":
        raise AccessError(f"{request.id} is {request.status}: it can no longer be decided.", reason="replay")
    if time >= request.expires:
        raise AccessError(f"{request.id} has expired.", hint="The requester can make a new one.", reason="expired")
    if approve and request.flagged:
        raise AccessError(f"{request.id} is held back.", hint="Ask the owner of the vault.", reason="honeytoken")
    status: Status = "approved" if approve else "denied"
    losses = accounts.caller(tx, token, time).losses
    decided = replace(request, status=status, approver=approver, approved=(request.digest, time, token, losses))
    save(tx, decided)
    return decided


def deliver(tx: Tx, request_id: str, *, requester: str, time: float) -> Request:
    """Mark an approved request as delivered: the one moment at which identities may leave."""
    delivered = replace(deliverable(tx, request_id, requester=requester, time=time), status="delivered")
    save(tx, delivered)
    return delivered


def deliverable(tx: Tx, request_id: str, *, requester: str, time: float) -> Request:
    """An approved request that may be delivered now to the one who made it; any other is refused."""
    request = load(tx, request_id)
    if request.requester != requester:
        raise AccessError(f"{request.id} belongs to somebody else.", reason="stranger")
    if request.status == "delivered":
        raise AccessError(f"{request.id} was delivered before; a reveal happens once.", hint="Make a new one.", reason="replay")
    if request.status != "approved" or not request.approver or request.approver == request.requester:
        raise AccessError(f"{request.id} is {request.status}: a second person has to approve it first.", reason="unapproved")
    if time >= request.expires:
        raise AccessError(f"{request.id} has expired.", hint="Make a new request.", reason="expired")
    _require_approval(tx, request, time)
    return request


def _require_approval(tx: Tx, request: Request, time: float) -> None:
    """The approval is for this very request, and its approver has had the right to give it ever since."""
    digest, _, token, losses = request.approved
    try:
        approver = accounts.caller(tx, token, time)
        able = approver.name == request.approver and "approver" in approver.roles and approver.reaches(request.domain)
        able &= approver.losses == losses
    except AccessError:
        able = False
    if not able:
        hint = "Make a new request."
        raise AccessError(f"{request.id}: the approval died with the approver's rights.", hint=hint, reason="approval died")
    if digest != request.digest:
        raise AccessError(f"{request.id} is not what was approved.", hint="Make a new request.", reason="digest")


def withdraw(tx: Tx, request_id: str, *, requester: str) -> Request:
    request = load(tx, request_id)
    if request.requester != requester:
        raise AccessError(f"{request.id} belongs to somebody else.", reason="stranger")
    if request.status not in ("pending", "approved"):
        raise AccessError(f"{request.id} is {request.status} already.", reason="replay")
    withdrawn = replace(request, status="withdrawn")
    save(tx, withdrawn)
    return withdrawn


def _parse(body: dict[str, Any]) -> Request:
    return Request(**{**body, "pseudonyms": tuple(body["pseudonyms"]), "approved": tuple(body["approved"])})
