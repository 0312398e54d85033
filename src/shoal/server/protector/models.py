"""What the vault takes and answers over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from shoal.server.common import many, shape

Text = Annotated[str, StringConstraints(min_length=1, max_length=4096)]
Short = Annotated[str, StringConstraints(max_length=200)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Find(Body):
    """One identity to look up."""

    identity: Text
    purpose: Short = ""
    role: Short = ""
    relation: Short = ""


class Found(BaseModel):
    pseudonym: str | None


class Enrolled(BaseModel):
    token: str


class Done(BaseModel):
    done: bool


class Verdict(BaseModel):
    accepted: list[dict[str, Any]]
    trial: bool
    ok: bool
    events: int
    checkpoints: int
    head: str
    problems: list[str]


_DICT = dict[str, Any]
_CANDIDATE = shape("CandidateView", pseudonym=str, probability=float, record=dict[str, str])
_WAITING = shape("WaitingView", id=str, domain=str, created=float, record=dict[str, str], candidates=many(_CANDIDATE))
_ISSUER = shape("IssuerView", "A public key; everybody must see the same ``key``.", name=str, domain=str, key=str, n=str, e=str)
_REQUEST = shape(
    "RequestView", "A request as requester and approver see it.",
    id=str, domain=str, purpose=str, case=str, records=int, created=float, expires=float, status=str, recipient=str, digest=str,
    pseudonyms=list[str],
)  # fmt: skip
_REVEAL = shape(
    "RevealView", "One identity revealed once, under audit pseudonyms.",
    subject=str, n=int, time=str, actor=str, request=str, domain=str, purpose=str, case=str,
)  # fmt: skip
_CHANGE = shape(
    "ChangeView", "A change as the two people see it; ``code`` only in the answer to the one whose half it is.",
    id=str, action=str, what=_DICT, proposer=str, created=float, expires=float, status=str, second=str, code=(str, ""),
)  # fmt: skip
_DOMAIN = shape("DomainView", name=str, id=str, kind=str, scope=str, key_id=str, shredded=str, settings=_DICT)

ANSWERS: dict[str, Any] = {
    "Object": _DICT,
    "Revoked": dict[str, int],
    "Challenge": dict[str, str],
    "ChangeView | None": _CHANGE | None,
    "Enrolled": Enrolled,
    "Done": Done,
    "Verdict": Verdict,
    **{
        made.__name__: made
        for made in (
            _ISSUER, _REQUEST, _CHANGE, _DOMAIN,
            shape(
                "Retired", "How many events left the database, and how many of them stay readable in it.",
                upto=Annotated[int, Field(ge=1, le=2**53)], head=Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")],
                events=int, kept=int,
            ),
            shape("Factor", "A second factor as an authenticator app reads it; told once.", uri=str),
            shape("Pseudonyms", pseudonyms=list[str | None]),
            shape("Honeytoken", identity=str, pseudonym=str),
            shape("Requests", requests=many(_REQUEST)),
            shape(
                "Revealed", "The identities of a request, or, where it names a recipient's key, only what is sealed to it.",
                request=str, identities=dict[str, str | None], sealed=(str, ""),
            ),
            shape("Reveals", reveals=many(_REVEAL)),
            shape("KeyInUse", key_id=str),
            shape("Changes", changes=many(_CHANGE)),
            shape("Domains", domains=many(_DOMAIN)),
            shape("Events", events=list[_DICT]),
            shape(
                "Recognized", pseudonyms=list[str | None], outcomes=list[str], waiting=list[str],
                changes=dict[str, dict[str, int]],
            ),
            shape("WaitingRecords", waiting=many(_WAITING)),
            shape("Decided", pseudonym=str),
            shape("Issuers", issuers=many(_ISSUER)),
            shape("Signed", answer=str),
        )
    },
}  # fmt: skip
"""The model of each answer, by the name that :mod:`shoal.protector.remote` gives its shape."""
