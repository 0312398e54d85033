"""FHIR operations on Parameters resources, in the manner of gPAS: the same calls, roles, limits and log as the other routes.

``$pseudonymize`` finds, ``$pseudonymize-allow-create`` makes, ``$de-pseudonymize`` asks for identities and, once another person
has approved, delivers them. Refusals are OperationOutcome resources; a body that fits no form is refused like everywhere.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field, StringConstraints
from starlette.concurrency import run_in_threadpool

from shoal.errors import ShoalError, UsageError
from shoal.server.common import status_of
from shoal.server.protector.models import Body
from shoal.server.protector.routes import CurrentSession

MOST = 10_000
SYSTEM = "urn:shoal:vault"
Value = Annotated[str, StringConstraints(min_length=1, max_length=4096)]


class Parameter(Body):
    """One parameter of a call."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    valueString: Value


class Parameters(Body):
    """A FHIR Parameters resource as it is taken: texts by name."""

    resourceType: Literal["Parameters"]
    parameter: Annotated[list[Parameter], Field(min_length=1, max_length=MOST + 10)]


class Identifier(BaseModel):
    system: str = SYSTEM
    value: str


class Part(BaseModel):
    name: str
    valueIdentifier: Identifier | None = None
    valueCode: str | None = None


class Answer(BaseModel):
    name: str
    part: list[Part]


class Answers(BaseModel):
    """A FHIR Parameters resource as it is answered."""

    resourceType: Literal["Parameters"] = "Parameters"
    parameter: list[Answer]


class Details(BaseModel):
    text: str


class Issue(BaseModel):
    severity: str
    code: str
    details: Details


class OperationOutcome(BaseModel):
    resourceType: Literal["OperationOutcome"] = "OperationOutcome"
    issue: list[Issue]


_CODES = {202: "informational", 403: "forbidden", 404: "not-found", 409: "conflict"}
_OUTCOMES: dict[int | str, dict[str, Any]] = {
    code: {"model": OperationOutcome, "description": words}
    for code, words in {
        202: "Asked: the same call delivers after another person has approved.",
        400: "The call makes no sense.",
        403: "Roles, four eyes or a limit forbid it.",
        404: "Not found.",
        409: "The vault was tampered with.",
    }.items()
}


def add_fhir_routes(router: APIRouter) -> None:
    options: dict[str, Any] = {"responses": _OUTCOMES, "response_model": Answers, "response_model_exclude_none": True}

    @router.post("/fhir/$pseudonymize", summary="Pseudonyms that identities have (operator; FHIR)", **options)
    async def find(body: Parameters, session: CurrentSession) -> Any:
        return await _answered(lambda: run_in_threadpool(_pseudonymized, session.find_many, body))

    @router.post("/fhir/$pseudonymize-allow-create", summary="Pseudonyms, made where needed (operator; FHIR)", **options)
    async def make(body: Parameters, session: CurrentSession) -> Any:
        return await _answered(lambda: run_in_threadpool(_pseudonymized, session.pseudonymize, body))

    @router.post("/fhir/$de-pseudonymize", summary="Request identities, fetch them once approved (requester; FHIR)", **options)
    async def reveal(body: Parameters, session: CurrentSession) -> Any:
        return await _answered(lambda: run_in_threadpool(_revealed, session, body))


async def _answered(work: Callable[[], Awaitable[Any]]) -> Any:
    """The answer, or a refusal as an OperationOutcome: words that hold no value."""
    try:
        return await work()
    except ShoalError as error:
        status = status_of(error)
        if status not in _OUTCOMES:
            raise
        return _outcome(status, f"{error.message} {error.hint}".strip())


def _outcome(status: int, text: str) -> JSONResponse:
    severity = "information" if status == 202 else "error"
    issue = Issue(severity=severity, code=_CODES.get(status, "invalid"), details=Details(text=text))
    return JSONResponse(OperationOutcome(issue=[issue]).model_dump(), status_code=status)


def _read(body: Parameters, several: str, *single: str) -> tuple[list[str], dict[str, str]]:
    """The values of the parameter that may be repeated, and of those that stand once."""
    many = [p.valueString for p in body.parameter if p.name == several]
    rest = [p for p in body.parameter if p.name != several]
    if not 1 <= len(many) <= MOST:
        raise UsageError(f"the parameter '{several}' stands 1 to {MOST:,} times.")
    named = {p.name: p.valueString for p in rest}
    if len(named) < len(rest) or set(named) - {"target", *single} or "target" not in named:
        raise UsageError("a parameter is missing, unknown or doubled.", hint=f"Known: target, {several}, {', '.join(single)}.")
    return many, named


def _pseudonymized(call: Callable[..., list[str | None]], body: Parameters) -> Answers:
    originals, named = _read(body, "original", "purpose")
    made = call(named["target"], originals, purpose=named.get("purpose", ""))
    return Answers(parameter=[_row(named["target"], o, p, "pseudonym") for o, p in zip(originals, made, strict=True)])


def _revealed(session: Any, body: Parameters) -> Answers | JSONResponse:
    pseudonyms, named = _read(body, "pseudonym", "purpose", "case")
    if "purpose" not in named or "case" not in named:
        raise UsageError("to de-pseudonymise takes a purpose and a case.", hint="Add the parameters purpose and case.")
    asked = (named["target"], sorted({p.upper() for p in pseudonyms}), named["purpose"], named["case"])
    mine = [r for r in session.requests() if (r.domain, sorted(p.upper() for p in r.pseudonyms), r.purpose, r.case) == asked]
    own = [r for r in mine if r.requester == session.name]
    approved = next((r for r in own if r.status == "approved" and not r.recipient), None)
    if approved is not None:
        found = session.reveal(approved.id).identities
        return Answers(parameter=[_row(named["target"], identity, p, "original") for p, identity in found.items()])
    waiting = next((r for r in own if r.status == "pending"), None)
    if waiting is None:
        waiting = session.request(named["target"], pseudonyms, purpose=named["purpose"], case=named["case"])
    return _outcome(202, f"{waiting.id} waits for the approval of another person; then make the same call again.")


def _row(target: str, original: str | None, pseudonym: str | None, wanted: str) -> Answer:
    """Identity and pseudonym of one person, or that there is none."""
    parts = [Part(name="target", valueIdentifier=Identifier(value=target))]
    for name, value in (("original", original), ("pseudonym", pseudonym)):
        if value is not None:
            parts.append(Part(name=name, valueIdentifier=Identifier(value=value)))
    if (original if wanted == "original" else pseudonym) is None:
        parts.append(Part(name="error", valueCode="not-found"))
    return Answer(name=wanted, part=parts)
