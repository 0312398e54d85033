"""What the vault takes and answers over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Text = Annotated[str, StringConstraints(min_length=1, max_length=4096)]
Short = Annotated[str, StringConstraints(max_length=200)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ArchiveEnd(Body):
    """The last event of an archive of the log, and the hash there."""

    upto: Annotated[int, Field(ge=1, le=2**53)]
    head: Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]


class Retired(ArchiveEnd):
    """How many events left the database, and how many of them stay readable in it."""

    events: int
    kept: int


class Factor(BaseModel):
    """A second factor as an authenticator app reads it; told once."""

    uri: str


class Find(Body):
    """One identity to look up."""

    identity: Text
    purpose: Short = ""
    role: Short = ""
    relation: Short = ""


class Problem(BaseModel):
    """What every refusal looks like; it never holds an identity."""

    error: str
    message: str
    hint: str = ""


class Pseudonyms(BaseModel):
    pseudonyms: list[str | None]


class Found(BaseModel):
    pseudonym: str | None


class Honeytoken(BaseModel):
    identity: str
    pseudonym: str


class RequestView(BaseModel):
    """A request as requester and approver see it."""

    id: str
    domain: str
    purpose: str
    case: str
    records: int
    created: float
    expires: float
    status: str
    recipient: str
    digest: str
    pseudonyms: list[str]


class Requests(BaseModel):
    requests: list[RequestView]


class Revealed(BaseModel):
    """The identities of a request, or, where it names a recipient's key, only what is sealed to it."""

    request: str
    identities: dict[str, str | None]
    sealed: str = ""


class RevealView(BaseModel):
    """One identity revealed once, under audit pseudonyms."""

    subject: str
    n: int
    time: str
    actor: str
    request: str
    domain: str
    purpose: str
    case: str


class Reveals(BaseModel):
    reveals: list[RevealView]


class Enrolled(BaseModel):
    token: str


class KeyInUse(BaseModel):
    key_id: str


class ChangeView(BaseModel):
    """A change as the two people see it; ``code`` only in the answer to the one whose half it is."""

    id: str
    action: str
    what: dict[str, Any]
    proposer: str
    created: float
    expires: float
    status: str
    second: str
    code: str = ""


class Changes(BaseModel):
    changes: list[ChangeView]


class DomainView(BaseModel):
    name: str
    id: str
    kind: str
    scope: str
    key_id: str
    shredded: str
    settings: dict[str, Any]


class Domains(BaseModel):
    domains: list[DomainView]


class Verdict(BaseModel):
    accepted: list[dict[str, Any]]
    trial: bool
    ok: bool
    events: int
    checkpoints: int
    head: str
    problems: list[str]


class Events(BaseModel):
    events: list[dict[str, Any]]


class Done(BaseModel):
    done: bool


class Recognized(BaseModel):
    pseudonyms: list[str | None]
    outcomes: list[str]
    waiting: list[str]
    changes: dict[str, dict[str, int]]


class CandidateView(BaseModel):
    pseudonym: str
    probability: float
    record: dict[str, str]


class WaitingView(BaseModel):
    id: str
    domain: str
    created: float
    record: dict[str, str]
    candidates: list[CandidateView]


class WaitingRecords(BaseModel):
    waiting: list[WaitingView]


class Decided(BaseModel):
    pseudonym: str


class IssuerView(BaseModel):
    """A public key; everybody must see the same ``key``."""

    name: str
    domain: str
    key: str
    n: str
    e: str


class Issuers(BaseModel):
    issuers: list[IssuerView]


class Signed(BaseModel):
    answer: str
