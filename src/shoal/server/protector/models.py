"""What the vault takes and answers over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

MOST_IDENTITIES = 10_000

Text = Annotated[str, StringConstraints(min_length=1, max_length=4096)]
Short = Annotated[str, StringConstraints(max_length=200)]
Needed = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"\S")]
Identities = Annotated[list[Text], Field(min_length=1, max_length=MOST_IDENTITIES)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Pseudonymize(_Body):
    """Identities of one domain."""

    identities: Identities
    purpose: Short = ""
    role: Short = ""
    relation: Short = ""


class Find(_Body):
    """One identity to look up."""

    identity: Text
    purpose: Short = ""
    role: Short = ""
    relation: Short = ""


class Translate(_Body):
    """Pseudonyms of the domain in the path, to be turned into those of ``target``."""

    pseudonyms: Identities
    target: Needed
    purpose: Needed
    role: Short = ""
    relation: Short = ""
    key_version: Annotated[int, Field(ge=1, le=250)] | None = None


class Ask(_Body):
    """A request to reveal."""

    domain: Needed
    pseudonyms: Identities
    purpose: Needed
    case: Needed
    days: Annotated[float, Field(gt=0, le=30)] = 7.0
    key_version: Annotated[int, Field(ge=1, le=250)] | None = None
    role: Short = ""
    relation: Short = ""
    recipient: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64})?$")] = ""


class Registration(_Body):
    """A pseudonym that a person made."""

    pseudonym: Short
    public_key: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    signature: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{128}$")]
    identity: Text | None = None


class Challenge(_Body):
    pseudonym: Short


class Proof(_Body):
    pseudonym: Short
    challenge: Short
    proof: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{128}$")]


class Problem(BaseModel):
    """What every refusal looks like; it never holds an identity."""

    error: str
    message: str
    hint: str = ""


class Pseudonyms(BaseModel):
    pseudonyms: list[str | None]


class Found(BaseModel):
    pseudonym: str | None


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


class DomainView(BaseModel):
    name: str
    id: str
    kind: str
    scope: str
    key_id: str
    shredded: str


class Domains(BaseModel):
    domains: list[DomainView]


class Verdict(BaseModel):
    accepted: list[dict[str, Any]]
    ok: bool
    events: int
    checkpoints: int
    head: str
    problems: list[str]


class Events(BaseModel):
    events: list[dict[str, Any]]


class Said(BaseModel):
    done: bool
