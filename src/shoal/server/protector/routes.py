"""The vault's routes: one for each action of :data:`shoal.protector.action_table.ACTIONS`, and the few that are not actions.

FHIR operations on Parameters resources, in the manner of gPAS: the same calls, roles, limits and log as the other routes.

``$pseudonymize`` finds, ``$pseudonymize-allow-create`` makes, ``$de-pseudonymize`` asks for identities and, once another person
has approved, delivers them. What waits for approval is a Task, with the operations ``$approve`` and ``$deny``. Refusals are
OperationOutcome resources; a body that fits no form is refused like everywhere.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

from fastapi import APIRouter, Body, Depends, Path, Query, Request
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel, Field, StringConstraints, create_model
from starlette.concurrency import run_in_threadpool

from shoal.errors import AccessError, ShoalError, UsageError
from shoal.protector import care
from shoal.protector.action_table import ACTIONS, DAY, REQUIRED, Action, Kind, Parameter
from shoal.protector.log.audit import recent
from shoal.protector.remote import REPLIES
from shoal.server.common import many, refusals, shape, status_of
from shoal.server.protector import models

if TYPE_CHECKING:
    from shoal.protector.vault import Vault


Code = Annotated[str, StringConstraints(min_length=1, max_length=60)]


async def current_session(request: Request) -> Any:
    """The session of the caller, which admission has made."""
    return request.state.vault_session


CurrentSession = Annotated[Any, Depends(current_session)]


def add_action_routes(router: APIRouter) -> None:
    for action in ACTIONS:
        summary = f"{action.help} ({action.roles})" if action.roles else action.help
        router.add_api_route(
            action.path,
            _endpoint(action),
            methods=[action.method],
            summary=summary,
            status_code=201 if action.created else 200,
            response_model=models.ANSWERS[REPLIES[action.reply].shape],
        )

    @router.get("/audit/verify", summary="Check the log (auditor)")
    async def verify_log(session: CurrentSession) -> models.Verdict:
        return models.Verdict(**(await run_in_threadpool(care.verify_log, session)).to_json())


def add_open_routes(router: APIRouter, vault: Vault) -> None:
    """What needs no token: claiming one, whether the service is alive, and what a FHIR client reads first."""

    @router.post("/enrol", summary="Claim your token with your enrolment code, once")
    async def enrol(codes: Annotated[list[Code], Body(min_length=1, max_length=2, embed=True)]) -> models.Enrolled:
        return models.Enrolled(token=await run_in_threadpool(vault.enrol, *codes))

    @router.get("/health", summary="Check that the vault can be read and is not older than its anchor")
    async def health() -> models.Done:
        await run_in_threadpool(vault.store.check_anchor)
        return models.Done(done=True)

    @router.get("/fhir/metadata", summary="Show what the FHIR interface can do (CapabilityStatement)")
    async def metadata() -> dict[str, Any]:
        return CAPABILITIES


def add_state_routes(router: APIRouter, vault: Vault) -> None:
    """The state of the vault, for people and for monitoring."""

    @router.get("/status", summary="Show ids and places, and that key and data are kept apart")
    async def status(session: CurrentSession) -> dict[str, Any]:
        await run_in_threadpool(session.frame.require_token)
        return await run_in_threadpool(vault.status)

    in_text: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {}}}}  # refusals are JSON, as everywhere

    @router.get("/metrics", summary="Show numbers for Prometheus (any token)", response_model=None, responses=in_text)
    async def metrics(session: CurrentSession) -> PlainTextResponse:
        await run_in_threadpool(session.frame.require_token)
        state = await run_in_threadpool(vault.status)
        names = ("generation", "audit_events", "domains", "waiting_changes", "waiting_requests", "auditor_can_log_in")
        gauges = {name: int(state[name]) for name in names}
        gauges |= await run_in_threadpool(recent, vault.store)
        lines = (f"# TYPE shoal_vault_{name} gauge\nshoal_vault_{name} {value}\n" for name, value in gauges.items())
        return PlainTextResponse("".join(lines))


def _endpoint(action: Action) -> Callable[..., Any]:
    """The handler of an action; its signature tells FastAPI the path, the query and the body."""
    rest = [p for p in action.parameters if not action.in_path(p)]
    kind = inspect.Parameter.KEYWORD_ONLY
    outer = [inspect.Parameter("current", kind, annotation=CurrentSession)]
    outer += [inspect.Parameter(p.wire, kind, annotation=Annotated[str, Path()]) for p in action.parameters if action.in_path(p)]
    if action.method == "GET":
        for p in rest:
            outer.append(inspect.Parameter(p.wire, kind, annotation=Annotated[_hint(p.kind), Query()], default=_default(p)))
    elif rest:
        model = body_model(action.name, tuple(rest))
        body = inspect.Parameter("body", kind, annotation=model)
        if all(p.default is not REQUIRED for p in rest):
            body = body.replace(annotation=Optional[model], default=None)  # noqa: UP045  a runtime type
        outer.append(body)

    async def handle(**given: Any) -> Any:
        session = given.pop("current")
        if (action.method != "GET") and rest:
            body = given.pop("body") or model()
            given |= body.model_dump(exclude_unset=action.sparse)
        elif action.sparse:
            given = {name: value for name, value in given.items() if value is not None}
        work = getattr(care, action.name) if action.care else getattr(session, action.name)
        first = (session,) if action.care else ()
        result = await run_in_threadpool(work, *first, **action.arguments(given))
        return REPLIES[action.reply].write(session, result)

    handle.__name__ = action.name
    handle.__signature__ = inspect.Signature(outer)  # type: ignore[attr-defined]
    return handle


def body_model(name: str, parameters: tuple[Parameter, ...]) -> type[BaseModel]:
    """The model of a body: unknown fields and values of another type are refused."""
    fields: dict[str, Any] = {p.wire: (_hint(p.kind), _default(p)) for p in parameters}
    title = "".join(part.capitalize() for part in name.split("_"))
    return create_model(f"{title}Body", __base__=models.Body, **fields)


def _default(parameter: Parameter) -> Any:
    value = parameter.default
    if value is REQUIRED:
        return ...
    if parameter.kind is DAY:
        return None
    if parameter.unit:
        return value / parameter.unit
    return list(value) if isinstance(value, tuple) else value


def _hint(kind: Kind) -> Any:
    """The type of a parameter for pydantic, with its bounds."""
    hint: Any = kind.base
    if kind is DAY:
        hint = date
    elif kind.fields:
        hint = body_model("renewal", kind.fields)
    elif kind.base is list and kind.item is not None:
        hint = list[_hint(kind.item)]  # type: ignore[misc]
    elif kind.base is dict:
        hint = dict[_hint(kind.key), _hint(kind.item)] if kind.key and kind.item else dict[str, Any]  # type: ignore[misc]
    if kind.bounds:
        hint = Annotated[hint, Field(**dict(kind.bounds))]
    return Optional[hint] if kind.optional else hint  # noqa: UP045  a runtime type


MOST = 10_000
SYSTEM = "urn:shoal:vault"
Value = Annotated[str, StringConstraints(min_length=1, max_length=4096)]


class FhirParameter(models.Body):
    """One parameter of a call."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    valueString: Value


class Parameters(models.Body):
    """A FHIR Parameters resource as it is taken: texts by name."""

    resourceType: Literal["Parameters"]
    parameter: Annotated[list[FhirParameter], Field(min_length=1, max_length=MOST + 10)]


_IDENTIFIER = shape("Identifier", system=(str, SYSTEM), value=str)
_PART = shape("Part", name=str, valueIdentifier=(_IDENTIFIER | None, None), valueCode=(str | None, None))
_ANSWER = shape("Answer", name=str, part=many(_PART))
_ANSWERS = shape(
    "Answers", "A FHIR Parameters resource as it is answered.",
    resourceType=(Literal["Parameters"], "Parameters"), parameter=many(_ANSWER),
)  # fmt: skip
_ISSUE = shape("Issue", severity=str, code=str, details=shape("Details", text=str))
_OUTCOME = shape("OperationOutcome", resourceType=(Literal["OperationOutcome"], "OperationOutcome"), issue=many(_ISSUE))
_CODES = {202: "informational", 403: "forbidden", 404: "not-found", 409: "conflict"}
_OUTCOMES = refusals(
    _OUTCOME,
    {
        202: "Asked: the same call delivers after another person has approved.",
        400: "The call makes no sense.",
        403: "Roles, four eyes or a limit forbid it.",
        404: "Not found.",
        409: "The vault was tampered with.",
    },
)


def add_fhir_routes(router: APIRouter) -> None:
    options: dict[str, Any] = {"responses": _OUTCOMES, "response_model": _ANSWERS, "response_model_exclude_none": True}

    def operation(path: str, name: str, summary: str, work: Callable[[Any, Parameters], Any]) -> None:
        @router.post(f"/fhir/${path}", name=name, summary=summary, **options)
        async def answer(body: Parameters, session: CurrentSession) -> Any:
            return await _answered(work, session, body)

    find, make = "Pseudonyms that identities have (operator; FHIR)", "Pseudonyms, made where needed (operator; FHIR)"
    operation("pseudonymize", "find", find, lambda session, body: _pseudonymize(session.find_many, body))
    operation("pseudonymize-allow-create", "make", make, lambda session, body: _pseudonymize(session.pseudonymize, body))
    operation("de-pseudonymize", "reveal", "Request identities, fetch them once approved (requester; FHIR)", _reveal)
    tasks: dict[str, Any] = {"responses": _OUTCOMES, "response_model": dict[str, Any]}

    @router.get("/fhir/Task", summary="List requests as Tasks (FHIR)", **tasks)
    async def list_tasks(session: CurrentSession) -> Any:
        return await _answered(_bundle, session)

    @router.get("/fhir/Task/{request_id}", summary="Show a request as a Task (FHIR)", **tasks)
    async def show_task(request_id: str, session: CurrentSession) -> Any:
        return await _answered(_found_task, session, request_id)

    @router.post("/fhir/Task/{request_id}/$approve", summary="Approve somebody else's request (approver; FHIR)", **tasks)
    async def approve(request_id: str, session: CurrentSession, body: Parameters | None = None) -> Any:
        return await _answered(_decided, session.approve, session, request_id, body)

    @router.post("/fhir/Task/{request_id}/$deny", summary="Deny somebody else's request (approver; FHIR)", **tasks)
    async def deny(request_id: str, session: CurrentSession) -> Any:
        return await _answered(_decided, session.deny, session, request_id, None)


CAPABILITIES: dict[str, Any] = json.loads(files(__package__).joinpath("capabilities.json").read_text(encoding="utf-8"))
"""What the interface can do, as FHIR describes it."""

_TASK_STATUS = {"pending": "requested", "approved": "accepted", "denied": "rejected", "withdrawn": "cancelled"}
_TASK_STATUS["delivered"] = "completed"


def _task(request: Any, now: float) -> dict[str, Any]:
    """A request as a Task: what an approver reads, without an identity."""
    expired = request.status in ("pending", "approved") and now >= request.expires
    stamps = [datetime.fromtimestamp(t, UTC).isoformat(timespec="seconds") for t in (request.created, request.expires)]
    inputs = [("target", request.domain), ("purpose", request.purpose), ("case", request.case), ("digest", request.digest)]
    inputs += [("pseudonym", pseudonym) for pseudonym in request.pseudonyms]
    return {
        "resourceType": "Task",
        "id": request.id,
        "status": "failed" if expired else _TASK_STATUS[request.status],
        **({"statusReason": {"text": "expired"}} if expired else {}),
        "intent": "order",
        "code": {"text": "de-pseudonymize"},
        "authoredOn": stamps[0],
        "restriction": {"period": {"end": stamps[1]}},
        "input": [{"type": {"text": name}, "valueString": value} for name, value in inputs],
    }


def _bundle(session: Any) -> dict[str, Any]:
    tasks = [_task(request, session.vault.clock()) for request in session.requests()]
    return {"resourceType": "Bundle", "type": "searchset", "total": len(tasks), "entry": [{"resource": one} for one in tasks]}


def _found_task(session: Any, request_id: str) -> dict[str, Any]:
    for request in session.requests():
        if request.id == request_id.strip().upper():
            return _task(request, session.vault.clock())
    raise AccessError("this Task does not exist.", reason="unknown")


def _decided(decide: Callable[..., Any], session: Any, request_id: str, body: Parameters | None) -> dict[str, Any]:
    given = {p.name: p.valueString for p in body.parameter} if body is not None else {}
    if set(given) - {"digest", "factor"}:
        raise UsageError("a parameter is unknown.", hint="Known: digest, factor.")
    return _task(decide(request_id, **given), session.vault.clock())


async def _answered(work: Callable[..., Any], *given: Any) -> Any:
    """The answer, or a refusal as an OperationOutcome: words that hold no value."""
    try:
        return await run_in_threadpool(work, *given)
    except ShoalError as error:
        status = status_of(error)
        if status not in _OUTCOMES:
            raise
        return _outcome(status, f"{error.message} {error.hint}".strip())


def _outcome(status: int, text: str, headers: dict[str, str] | None = None) -> JSONResponse:
    severity = "information" if status == 202 else "error"
    issue = {"severity": severity, "code": _CODES.get(status, "invalid"), "details": {"text": text}}
    return JSONResponse({"resourceType": "OperationOutcome", "issue": [issue]}, status_code=status, headers=headers)


def _read(body: Parameters, several: str, *single: str) -> tuple[list[str], dict[str, str]]:
    """The values of the parameter that may be repeated, and of those that stand once."""
    repeated = [p.valueString for p in body.parameter if p.name == several]
    rest = [p for p in body.parameter if p.name != several]
    if not 1 <= len(repeated) <= MOST:
        raise UsageError(f"the parameter '{several}' stands 1 to {MOST:,} times.")
    named = {p.name: p.valueString for p in rest}
    if len(named) < len(rest) or set(named) - {"target", *single} or "target" not in named:
        raise UsageError("a parameter is missing, unknown or doubled.", hint=f"Known: target, {several}, {', '.join(single)}.")
    return repeated, named


def _pseudonymize(call: Callable[..., list[str | None]], body: Parameters) -> dict[str, Any]:
    originals, named = _read(body, "original", "purpose")
    pseudonyms = call(named["target"], originals, purpose=named.get("purpose", ""))
    return {"parameter": [_row(named["target"], o, p, "pseudonym") for o, p in zip(originals, pseudonyms, strict=True)]}


def _reveal(session: Any, body: Parameters) -> dict[str, Any] | JSONResponse:
    pseudonyms, named = _read(body, "pseudonym", "purpose", "case")
    if "purpose" not in named or "case" not in named:
        raise UsageError("to de-pseudonymise takes a purpose and a case.", hint="Add the parameters purpose and case.")
    request_key = (named["target"], sorted({p.upper() for p in pseudonyms}), named["purpose"], named["case"])
    mine = [
        r for r in session.requests() if (r.domain, sorted(p.upper() for p in r.pseudonyms), r.purpose, r.case) == request_key
    ]
    now = session.vault.clock()
    own = [r for r in mine if r.requester == session.name and now < r.expires]
    for approved in [r for r in own if r.status == "approved" and not r.recipient]:
        try:
            identities = session.reveal(approved.id).identities
        except AccessError as refusal:
            if getattr(refusal, "reason", "") not in ("expired", "approval died"):
                raise
            session.withdraw(approved.id)  # it can never be delivered: ask again
            continue
        return {"parameter": [_row(named["target"], identity, p, "original") for p, identity in identities.items()]}
    waiting = next((r for r in own if r.status == "pending"), None)
    if waiting is None:
        waiting = session.request(named["target"], pseudonyms, purpose=named["purpose"], case=named["case"])
    note = f"{waiting.id} waits for the approval of another person; then make the same call again."
    return _outcome(202, note, {"Content-Location": f"Task/{waiting.id}"})


def _row(target: str, original: str | None, pseudonym: str | None, wanted: str) -> dict[str, Any]:
    """Identity and pseudonym of one person, or that there is none."""
    values = {"target": target, "original": original, "pseudonym": pseudonym}
    parts: list[dict[str, Any]] = [{"name": n, "valueIdentifier": {"value": v}} for n, v in values.items() if v is not None]
    if (original if wanted == "original" else pseudonym) is None:
        parts.append({"name": "error", "valueCode": "not-found"})
    return {"name": wanted, "part": parts}
