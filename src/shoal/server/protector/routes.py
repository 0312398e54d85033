"""The vault's routes: one for each action of :data:`shoal.protector.action_table.ACTIONS`, and the few that are not actions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Optional

from fastapi import APIRouter, Body, Depends, Path, Query, Request
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, Field, StringConstraints, create_model
from starlette.concurrency import run_in_threadpool

from shoal.protector import care
from shoal.protector.action_table import ACTIONS, DAY, REQUIRED, Action, Kind, Parameter
from shoal.protector.log.audit import recent
from shoal.protector.replies import REPLIES
from shoal.server.protector import models

if TYPE_CHECKING:
    from shoal.protector.vault import Vault

_SHAPES: dict[str, Any] = {"Object": dict[str, Any], "ChangeView | None": models.ChangeView | None, "Revoked": dict[str, int]}
_SHAPES["Challenge"] = dict[str, str]
Code = Annotated[str, StringConstraints(min_length=1, max_length=60)]


async def current_session(request: Request) -> Any:
    """The session of the caller, which admission has made."""
    return request.state.vault_session


CurrentSession = Annotated[Any, Depends(current_session)]


def add_action_routes(router: APIRouter) -> None:
    """A route for each action."""
    for action in ACTIONS:
        shape = REPLIES[action.reply].shape
        summary = f"{action.help} ({action.roles})" if action.roles else action.help
        router.add_api_route(
            action.path,
            _endpoint(action),
            methods=[action.method],
            summary=summary,
            status_code=201 if action.created else 200,
            response_model=_SHAPES.get(shape) or getattr(models, shape),
        )

    @router.get("/audit/verify", summary="Check the log (auditor)")
    async def verify_log(session: CurrentSession) -> models.Verdict:
        return models.Verdict(**(await run_in_threadpool(care.verify_log, session)).to_json())


def add_open_routes(router: APIRouter, vault: Vault) -> None:
    """What needs no token: claiming one, and whether the service is alive."""

    @router.post("/enrol", summary="Claim your token with your enrolment code, once")
    async def enrol(codes: Annotated[list[Code], Body(min_length=1, max_length=2, embed=True)]) -> models.Enrolled:
        return models.Enrolled(token=await run_in_threadpool(vault.enrol, *codes))

    @router.get("/health", summary="Check that the vault can be read and is not older than its anchor")
    async def health() -> models.Done:
        await run_in_threadpool(vault.store.check_anchor)
        return models.Done(done=True)


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
    session = inspect.Parameter("current", kind, annotation=CurrentSession)
    outer = [
        session,
        *(inspect.Parameter(p.wire, kind, annotation=Annotated[str, Path()]) for p in action.parameters if action.in_path(p)),
    ]
    if action.method == "GET":
        hints = {p.wire: Annotated[_hint(p.kind), Query()] for p in rest}
        outer += [inspect.Parameter(p.wire, kind, annotation=hints[p.wire], default=_default(p)) for p in rest]
    elif rest:
        model = body_model(action.name, tuple(rest))
        if all(p.default is not REQUIRED for p in rest):
            outer.append(inspect.Parameter("body", kind, annotation=Optional[model], default=None))  # noqa: UP045  a runtime type
        else:
            outer.append(inspect.Parameter("body", kind, annotation=model))

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
