"""The vault over HTTP.

:func:`create_router` gives the routes for mounting; :func:`create_app` a small application of its own with Host check; and
:func:`serve` runs it, on loopback unless TLS is given. Every call carries ``Authorization: Bearer TOKEN``; what it may do
follows from the token's roles and domains.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Body, Depends, FastAPI, Request
from fastapi.responses import JSONResponse, Response
from fastapi.security import HTTPBearer
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.routing import Route

from shoal.protector import care
from shoal.server.common import LOOPBACK, new_app, run
from shoal.server.protector import models
from shoal.server.protector.admission import Admission, Unauthorized, read_body
from shoal.server.protector.fhir_routes import add_fhir_routes
from shoal.server.protector.find_batches import FindBatcher, FindGroup
from shoal.server.protector.intake_routes import add_intake_routes
from shoal.server.protector.issuing_routes import add_issuing_routes
from shoal.server.protector.owner_routes import add_open_routes, add_owner_routes, add_people_routes

if TYPE_CHECKING:
    from shoal.protector.vault import Vault

_REFUSALS: dict[int | str, dict[str, Any]] = {
    code: {"model": models.Problem, "description": words}
    for code, words in {
        202: "Proposed: it waits for a second person, then the same call goes through.",
        400: "The request makes no sense or the data cannot be used.",
        401: "No valid token.",
        403: "The token's roles, the four-eyes rule or a limit forbid it.",
        404: "There is no such thing.",
        413: "The body is too large.",
        422: "The body does not fit.",
    }.items()
}

_FOUND_BYTES = 64
"""The length of every answer to a look-up, found or not: who only sees lengths learns nothing."""

_bearer = HTTPBearer(auto_error=False, description="Token of an actor.")


async def _current(request: Request) -> Any:
    return request.state.vault_session


CurrentSession = Annotated[Any, Depends(_current)]


def create_router(vault: Vault, *, prefix: str = "/vault/v1") -> APIRouter:
    """The routes of the vault, for mounting in an application that also calls :func:`install_errors`."""
    admission = Admission(vault)
    outer = APIRouter(prefix=prefix, tags=["vault"], responses=_REFUSALS, route_class=admission.route_class(everybody=True))
    add_open_routes(outer, vault)
    router = APIRouter(
        prefix=prefix,
        tags=["vault"],
        responses=_REFUSALS,
        dependencies=[Depends(_bearer)],  # describes the token in OpenAPI; admission has checked it before
        route_class=admission.route_class(),
    )
    _add_find(router, admission, FindBatcher())
    _add_operator_routes(router)
    add_intake_routes(router)
    add_issuing_routes(router)
    add_fhir_routes(router)
    _add_holder_routes(router, vault)
    _add_request_routes(router)
    _add_audit_routes(router)
    add_owner_routes(router, vault)
    add_people_routes(router)
    router.routes.extend(outer.routes)  # one level: routers inside routers are searched again for every call
    return router


def _add_find(router: APIRouter, admission: Admission, batcher: FindBatcher) -> None:
    """The single look-up, the call made most often: the first route, served by ``lean``.

    ``lean`` reads and answers without the framework's own parsing, to save time; the route ``find`` behind it
    only describes it in OpenAPI. Both use the same models, so what is refused is the same.
    """

    async def lean(request: Request) -> Response:
        body = await read_body(request, models.Find)
        group = FindGroup(request.state.vault_session, request.path_params["domain"], body.purpose, body.role, body.relation)
        text = json.dumps({"pseudonym": await batcher.find(group, body.identity)})
        return Response(text.ljust(_FOUND_BYTES), media_type="application/json")

    async def find(domain: str, body: models.Find) -> models.Found:
        raise NotImplementedError  # only describes the route; ``lean`` serves it

    path = "/domains/{domain}/find"
    router.routes.append(Route(router.prefix + path, admission.guarded(lean), methods=["POST"], include_in_schema=False))
    router.post(path, summary="The pseudonym an identity has, without making one (operator)")(find)


def _add_operator_routes(router: APIRouter) -> None:
    @router.get("/domains", summary="The domains the token reaches, without secrets")
    async def domains(session: CurrentSession) -> models.Domains:
        found = await run_in_threadpool(session.domains)
        return models.Domains(domains=[models.DomainView.of(d) for d in found])

    @router.post("/domains/{domain}/pseudonyms", summary="Pseudonyms for identities (operator)")
    async def pseudonymize(domain: str, body: models.Pseudonymize, session: CurrentSession) -> models.Pseudonyms:
        made = await run_in_threadpool(
            session.pseudonymize,
            domain,
            body.identities,
            purpose=body.purpose,
            role=body.role,
            relation=body.relation,
            source=body.source,
        )
        return models.Pseudonyms(pseudonyms=made)

    @router.post("/domains/{domain}/finds", summary="The pseudonyms identities have, without making any (operator)")
    async def find_many(domain: str, body: models.Finds, session: CurrentSession) -> models.Pseudonyms:
        told = {"purpose": body.purpose, "role": body.role, "relation": body.relation}
        return models.Pseudonyms(pseudonyms=await run_in_threadpool(session.find_many, domain, body.identities, **told))

    @router.post("/domains/{domain}/translate", summary="Pseudonyms of another domain for the same people (operator)")
    async def translate(domain: str, body: models.Translate, session: CurrentSession) -> models.Pseudonyms:
        made = await run_in_threadpool(
            session.translate,
            body.pseudonyms,
            source=domain,
            target=body.target,
            purpose=body.purpose,
            role=body.role,
            relation=body.relation,
            version=body.key_version,
        )
        return models.Pseudonyms(pseudonyms=made)


def _add_holder_routes(router: APIRouter, vault: Vault) -> None:
    @router.post("/domains/{domain}/holders", summary="Register a self-generated pseudonym (operator)")
    async def register(domain: str, body: models.Registration, session: CurrentSession) -> models.Said:
        given = {"pseudonym": body.pseudonym, "public_key": body.public_key, "signature": body.signature}
        await run_in_threadpool(session.register, domain, given, identity=body.identity)
        return models.Said(done=True)

    @router.post("/domains/{domain}/challenge", summary="A fresh challenge for the holder of a pseudonym (operator)")
    async def challenge(domain: str, body: models.Challenge, session: CurrentSession) -> dict[str, str]:
        return {"challenge": await run_in_threadpool(session.challenge, domain, body.pseudonym), "vault": vault.id}

    @router.post("/domains/{domain}/prove", summary="Check a holder's answer to a challenge (operator)")
    async def prove(domain: str, body: models.Proof, session: CurrentSession) -> models.Said:
        good = await run_in_threadpool(session.check_ownership, domain, body.pseudonym, body.challenge, body.proof)
        return models.Said(done=good)


def _add_request_routes(router: APIRouter) -> None:
    @router.post("/requests", status_code=201, summary="Ask for identities (requester)")
    async def ask(body: models.Ask, session: CurrentSession) -> models.RequestView:
        made = await run_in_threadpool(
            session.request,
            body.domain,
            body.pseudonyms,
            purpose=body.purpose,
            case=body.case,
            seconds=body.days * 86400,
            version=body.key_version,
            role=body.role,
            relation=body.relation,
            recipient=body.recipient,
        )
        return models.RequestView(**made.to_json())

    @router.get("/requests", summary="Requests: one's own, or all for approver, auditor and owner")
    async def requests(session: CurrentSession) -> models.Requests:
        found = await run_in_threadpool(session.requests)
        return models.Requests(requests=[models.RequestView(**r.to_json()) for r in found])

    async def decide(call: Callable[[str], Any], request_id: str) -> models.RequestView:
        made = await run_in_threadpool(call, request_id)
        return models.RequestView(**made.to_json())

    @router.post("/requests/{request_id}/approve", summary="Approve somebody else's request (approver)")
    async def approve(request_id: str, session: CurrentSession, body: models.Approval | None = None) -> models.RequestView:
        told = models.Approval() if body is None else body
        return await decide(partial(session.approve, digest=told.digest, factor=told.factor), request_id)

    @router.post("/requests/{request_id}/deny", summary="Deny somebody else's request (approver)")
    async def deny(request_id: str, session: CurrentSession) -> models.RequestView:
        return await decide(session.deny, request_id)

    @router.post("/requests/{request_id}/withdraw", summary="Take back one's own request (requester)")
    async def withdraw(request_id: str, session: CurrentSession) -> models.RequestView:
        return await decide(session.withdraw, request_id)

    @router.post("/requests/{request_id}/reveal", summary="The identities of one's approved request, once (requester)")
    async def reveal(request_id: str, session: CurrentSession) -> models.Revealed:
        found = await run_in_threadpool(session.reveal, request_id)
        return models.Revealed(request=found.request.id, identities=dict(found.identities), sealed=found.sealed)


def _add_audit_routes(router: APIRouter) -> None:
    @router.get("/audit/verify", summary="Check the whole log (auditor)")
    async def verify(session: CurrentSession) -> models.Verdict:
        verdict = await run_in_threadpool(care.verify_log, session)
        return models.Verdict(**verdict.to_json())

    @router.post("/audit/verify", summary="Check the log against checkpoints kept outside (auditor)")
    async def verify_against(body: models.Check, session: CurrentSession) -> models.Verdict:
        verdict = await run_in_threadpool(care.verify_log, session, anchors=body.anchors, acknowledged=body.acknowledged)
        return models.Verdict(**verdict.to_json())

    @router.get("/audit/events", summary="The newest events, under audit pseudonyms (auditor)")
    async def events(session: CurrentSession, last: Annotated[int, Field(ge=1, le=10_000)] = 100) -> models.Events:
        return models.Events(events=await run_in_threadpool(care.read_log, session, last=last))

    @router.post("/audit/segment", summary="A closed part of the log, still sealed, to be kept outside (auditor)")
    async def segment(session: CurrentSession, after: Annotated[int, Body(ge=0, le=2**53, embed=True)] = 0) -> dict[str, Any]:
        return await run_in_threadpool(care.log_segment, session, after)

    @router.post("/audit/retire", summary="Events that lie in an archive leave the database (owner, with a second person)")
    async def retire(body: models.ArchiveEnd, session: CurrentSession) -> models.Retired:
        return models.Retired(**await run_in_threadpool(care.retire_log, session, body.upto, body.head))

    @router.get("/audit/report", summary="Reveals per person (actor or subject), purpose and period (auditor)")
    async def report(
        session: CurrentSession,
        period: Annotated[str, Field(pattern="^(day|month|year)$")] = "month",
        by: Annotated[str, Field(pattern="^(actor|subject)$")] = "actor",
    ) -> dict[str, Any]:
        return {"reveals": await run_in_threadpool(care.report, session, period=period, by=by)}

    @router.get("/audit/reveals", summary="Every identity revealed: whose, to whom, when, what for (auditor)")
    async def reveals(
        session: CurrentSession,
        of: Annotated[str, Field(pattern="^([AS]-[0-9A-Za-z]{1,40})?$")] = "",
        purpose: Annotated[str, Field(max_length=200)] = "",
        since: date | None = None,
        until: date | None = None,
    ) -> models.Reveals:
        found = await run_in_threadpool(care.reveals, session, of=of, purpose=purpose, since=since or "", until=until or "")
        return models.Reveals(reveals=[models.RevealView(**row) for row in found])


def install_errors(app: FastAPI) -> None:
    """A missing or wrong token as an answer; every other error is the application's (``common.new_app``)."""

    async def unauthorized(request: Request, error: Exception) -> JSONResponse:
        body = {"error": "Unauthorized", "message": "a valid token is needed.", "hint": "Send Authorization: Bearer TOKEN."}
        return JSONResponse(body, status_code=401, headers={"WWW-Authenticate": "Bearer"})

    app.add_exception_handler(Unauthorized, unauthorized)


def create_app(vault: Vault, *, hosts: Sequence[str] = LOOPBACK) -> FastAPI:
    """An application with the vault's routes alone; requests for other host names are refused (DNS rebinding)."""

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        vault.close()

    app = new_app("Shoal vault", hosts=hosts, lifespan=lifespan)
    app.router.routes.extend(create_router(vault).routes)
    install_errors(app)
    return app


def serve(
    vault: Vault,
    *,
    host: str = "127.0.0.1",
    port: int = 8711,
    socket: Path | None = None,
    names: Sequence[str] = (),
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
) -> None:
    """Serve the vault until stopped: on an address, or on a unix socket. Beyond loopback, TLS is required."""
    app = create_app(vault, hosts=(*LOOPBACK, host, *names))
    run(app, host=host, port=port, socket=socket, tls_cert=tls_cert, tls_key=tls_key)
