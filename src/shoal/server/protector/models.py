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
    source: Short = ""


class Finds(_Body):
    """Several identities to look up."""

    identities: Identities
    purpose: Short = ""
    role: Short = ""
    relation: Short = ""


class NewRenewal(_Body):
    uses: Annotated[int, Field(ge=1, le=10**9)] | None = None
    days: Annotated[int, Field(ge=1, le=10**9)] | None = None
    on: Annotated[list[Short], Field(max_length=1000)] = []
    reason: Short = ""


class NewDomain(_Body):
    """Settings of a domain; see the documentation of the vault."""

    name: Needed
    kind: Needed = "random"
    scope: Needed = "person"
    prefix: Short = "P-"
    matching: Needed = "exact"
    clean: Annotated[list[Needed], Field(max_length=10)] = ["blanks"]
    check: Short = ""
    alphabet: Annotated[str, StringConstraints(min_length=2, max_length=4096)] = "0123456789"
    keep: Short = ""
    check_characters: bool = False
    renewal: NewRenewal = NewRenewal()


class NewLimit(_Body):
    """At most ``max`` records in ``seconds``, an alarm above ``alarm``."""

    action: Needed
    seconds: Annotated[float, Field(gt=0, le=1e9)]
    max: Annotated[int, Field(ge=0, le=10**12)] | None = None
    alarm: Annotated[int, Field(ge=0, le=10**12)] | None = None
    purpose: Needed = "*"


class Check(_Body):
    """Checkpoints kept outside, and the number of accepted older states that are known."""

    anchors: Annotated[list[dict[str, Any]], Field(max_length=100_000)] = []
    acknowledged: Annotated[int, Field(ge=0, le=1000)] = 0


class ArchiveEnd(_Body):
    """The last event of an archive of the log, and the hash there."""

    upto: Annotated[int, Field(ge=1, le=2**53)]
    head: Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]


class Retired(ArchiveEnd):
    """How many events left the database, and how many of them stay readable in it."""

    events: int
    kept: int


class Approval(_Body):
    """The digest of the request as the approver has read it, and her one-time code where approvers need one."""

    digest: Short | None = None
    factor: Short = ""


class Confirmation(_Body):
    """The one-time code of the second person, where her role needs one."""

    factor: Short = ""


class Lending(_Body):
    """One action, domains (none: all of the token) and seconds."""

    action: Needed
    domains: Annotated[list[Needed], Field(max_length=1000)] = []
    seconds: Annotated[float, Field(gt=0, le=86400)] = 900.0


class Factor(BaseModel):
    """A second factor as an authenticator app reads it; told once."""

    uri: str


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

    @classmethod
    def of(cls, change: Any) -> ChangeView:
        return cls(**change.to_json(), code=change.code)


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

    @classmethod
    def of(cls, domain: Any) -> DomainView:
        settings = domain.to_json()
        told = {name: settings[name] for name in ("name", "id", "kind", "scope", "shredded")}
        return cls(**told, key_id=domain.key_id, settings=settings)


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


class Said(BaseModel):
    done: bool
