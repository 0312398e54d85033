"""The vault over HTTP.

:func:`create_router` gives the routes for mounting; :func:`create_app` a small application of its own with Host check; and
:func:`serve` runs it, on loopback unless TLS is given. Every call carries ``Authorization: Bearer TOKEN``; what it may do
follows from the token's roles and domains. Single look-ups are gathered for a moment and carried out in one transaction, so
that many callers share one synced write.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.concurrency import run_in_threadpool

from shoal.errors import AccessError, ShoalError
from shoal.protector import upkeep
from shoal.server.common import LOOPBACK, new_app, run

if TYPE_CHECKING:
    from shoal.protector.session import Session
    from shoal.protector.vault import Vault

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


class Translate(_Body):
    """Pseudonyms of the domain in the path, to be turned into those of ``target``."""

    pseudonyms: Identities
    target: Needed
    purpose: Needed


class Ask(_Body):
    """A request to reveal."""

    domain: Needed
    pseudonyms: Identities
    purpose: Needed
    case: Needed
    days: Annotated[float, Field(gt=0, le=30)] = 7.0
    key_version: Annotated[int, Field(ge=1, le=250)] | None = None


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
    pseudonyms: list[str]


class Requests(BaseModel):
    requests: list[RequestView]


class Revealed(BaseModel):
    request: str
    identities: dict[str, str | None]


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
    ok: bool
    events: int
    checkpoints: int
    head: str
    problems: list[str]


class Events(BaseModel):
    events: list[dict[str, Any]]


class Said(BaseModel):
    done: bool


_REFUSALS: dict[int | str, dict[str, Any]] = {
    code: {"model": Problem, "description": words}
    for code, words in {
        400: "The request makes no sense or the data cannot be used.",
        401: "No valid token.",
        403: "The token's roles, the four-eyes rule or a limit forbid it.",
        404: "There is no such thing.",
        422: "The body does not fit.",
    }.items()
}

_bearer = HTTPBearer(auto_error=False, description="Token of an actor.")
Credentials = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]


class Unauthorized(Exception):
    """No token, or one that is not valid."""


class Gathered:
    """Look-ups that arrive together, answered from one transaction per token, domain and purpose."""

    def __init__(self, most: int = 256) -> None:
        self._most = most
        self._waiting: list[tuple[tuple[Session, str, str], str, asyncio.Future[str | None]]] = []
        self._running = False

    async def find(self, session: Session, domain: str, identity: str, purpose: str) -> str | None:
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(((session, domain, purpose), identity, answer))
        if not self._running:
            self._running = True
            self._task = asyncio.create_task(self._run())
        return await answer

    async def _run(self) -> None:
        try:
            while self._waiting:
                part, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
                groups: dict[tuple[Session, str, str], list[tuple[str, asyncio.Future[str | None]]]] = {}
                for key, identity, answer in part:
                    groups.setdefault(key, []).append((identity, answer))
                for (session, domain, purpose), members in groups.items():
                    await self._answer(session, domain, purpose, members)
        finally:
            self._running = False

    async def _answer(
        self, session: Session, domain: str, purpose: str, members: Sequence[tuple[str, asyncio.Future[str | None]]]
    ) -> None:
        identities = [identity for identity, _ in members]
        try:
            found = await run_in_threadpool(session.find_many, domain, identities, purpose=purpose)
        except ShoalError as error:
            for _, answer in members:
                if not answer.cancelled():
                    answer.set_exception(error)
            return
        for (_, answer), pseudonym in zip(members, found, strict=True):
            if not answer.cancelled():
                answer.set_result(pseudonym)


class Doorman:
    """Sessions by token, so that a token is looked up once; its rights are checked again in every transaction."""

    def __init__(self, vault: Vault, most: int = 1024) -> None:
        self._vault = vault
        self._known: dict[str, Session] = {}
        self._most = most

    async def __call__(self, request: Request, credentials: Credentials) -> None:
        if credentials is None:
            raise Unauthorized
        token = credentials.credentials
        from shoal.protector.actors import token_digest

        digest = token_digest(self._vault.store, token)
        session = self._known.get(digest)
        if session is None:
            try:
                session = await run_in_threadpool(self._vault.login, token)
            except AccessError:
                raise Unauthorized from None
            if len(self._known) >= self._most:
                self._known.clear()
            self._known[digest] = session
        request.state.vault_session = session


async def _current(request: Request) -> Any:
    return request.state.vault_session


Acting = Annotated[Any, Depends(_current)]


def create_router(vault: Vault, *, prefix: str = "/vault/v1") -> APIRouter:
    """The routes of the vault, for mounting in an application that also calls :func:`install_errors`."""
    router = APIRouter(prefix=prefix, tags=["vault"], responses=_REFUSALS, dependencies=[Depends(Doorman(vault))])
    _add_operator_routes(router, Gathered())
    _add_holder_routes(router, vault)
    _add_request_routes(router)
    _add_audit_routes(router)
    return router


def _add_operator_routes(router: APIRouter, gathered: Gathered) -> None:
    @router.get("/domains", summary="All domains, without secrets")
    async def domains(session: Acting) -> Domains:
        found = await run_in_threadpool(session.domains)
        return Domains(
            domains=[
                DomainView(name=d.name, id=d.id, kind=d.kind, scope=d.scope, key_id=d.key_id, shredded=d.shredded) for d in found
            ]
        )

    @router.post("/domains/{domain}/pseudonyms", summary="Pseudonyms for identities (operator)")
    async def pseudonymize(domain: str, body: Pseudonymize, session: Acting) -> Pseudonyms:
        made = await run_in_threadpool(
            session.pseudonymize, domain, body.identities, purpose=body.purpose, role=body.role, relation=body.relation
        )
        return Pseudonyms(pseudonyms=made)

    @router.post("/domains/{domain}/find", summary="The pseudonym an identity has, without making one (operator)")
    async def find(domain: str, body: Find, session: Acting) -> Found:
        return Found(pseudonym=await gathered.find(session, domain, body.identity, body.purpose))

    @router.post("/domains/{domain}/translate", summary="Pseudonyms of another domain for the same people (operator)")
    async def translate(domain: str, body: Translate, session: Acting) -> Pseudonyms:
        made = await run_in_threadpool(
            session.translate, body.pseudonyms, source=domain, target=body.target, purpose=body.purpose
        )
        return Pseudonyms(pseudonyms=made)


def _add_holder_routes(router: APIRouter, vault: Vault) -> None:
    @router.post("/domains/{domain}/holders", summary="Register a self-generated pseudonym (operator)")
    async def register(domain: str, body: Registration, session: Acting) -> Said:
        given = {"pseudonym": body.pseudonym, "public_key": body.public_key, "signature": body.signature}
        await run_in_threadpool(session.register, domain, given, identity=body.identity)
        return Said(done=True)

    @router.post("/domains/{domain}/challenge", summary="A fresh challenge for the holder of a pseudonym (operator)")
    async def challenge(domain: str, body: Challenge, session: Acting) -> dict[str, str]:
        return {"challenge": await run_in_threadpool(session.challenge, domain, body.pseudonym), "vault": vault.id}

    @router.post("/domains/{domain}/prove", summary="Check a holder's answer to a challenge (operator)")
    async def prove(domain: str, body: Proof, session: Acting) -> Said:
        good = await run_in_threadpool(session.check_ownership, domain, body.pseudonym, body.challenge, body.proof)
        return Said(done=good)


def _add_request_routes(router: APIRouter) -> None:
    @router.post("/requests", status_code=201, summary="Ask for identities (requester)")
    async def ask(body: Ask, session: Acting) -> RequestView:
        made = await run_in_threadpool(
            session.request,
            body.domain,
            body.pseudonyms,
            purpose=body.purpose,
            case=body.case,
            seconds=body.days * 86400,
            version=body.key_version,
        )
        return RequestView(**made.to_json())

    @router.get("/requests", summary="Requests: one's own, or all for approver, auditor and owner")
    async def requests(session: Acting) -> Requests:
        found = await run_in_threadpool(session.requests)
        return Requests(requests=[RequestView(**r.to_json()) for r in found])

    async def decide(call: Callable[[str], Any], request_id: str) -> RequestView:
        made = await run_in_threadpool(call, request_id)
        return RequestView(**made.to_json())

    @router.post("/requests/{request_id}/approve", summary="Approve somebody else's request (approver)")
    async def approve(request_id: str, session: Acting) -> RequestView:
        return await decide(session.approve, request_id)

    @router.post("/requests/{request_id}/deny", summary="Deny somebody else's request (approver)")
    async def deny(request_id: str, session: Acting) -> RequestView:
        return await decide(session.deny, request_id)

    @router.post("/requests/{request_id}/withdraw", summary="Take back one's own request (requester)")
    async def withdraw(request_id: str, session: Acting) -> RequestView:
        return await decide(session.withdraw, request_id)

    @router.post("/requests/{request_id}/reveal", summary="The identities of one's approved request, once (requester)")
    async def reveal(request_id: str, session: Acting) -> Revealed:
        found = await run_in_threadpool(session.reveal, request_id)
        return Revealed(request=found.request.id, identities=dict(found.identities))


def _add_audit_routes(router: APIRouter) -> None:
    @router.get("/audit/verify", summary="Check the whole log (auditor)")
    async def verify(session: Acting) -> Verdict:
        verdict = await run_in_threadpool(upkeep.verify_log, session)
        return Verdict(**verdict.to_json())

    @router.get("/audit/events", summary="The newest events, under audit pseudonyms (auditor)")
    async def events(session: Acting, last: Annotated[int, Field(ge=1, le=10_000)] = 100) -> Events:
        return Events(events=await run_in_threadpool(upkeep.read_log, session, last=last))

    @router.get("/audit/report", summary="Reveals per actor, purpose and period (auditor)")
    async def report(session: Acting, period: Annotated[str, Field(pattern="^(day|month|year)$")] = "month") -> dict[str, Any]:
        return {"reveals": await run_in_threadpool(upkeep.report, session, period=period)}


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
    app.include_router(create_router(vault))
    install_errors(app)
    return app


def serve(
    vault: Vault, *, host: str = "127.0.0.1", port: int = 8711, tls_cert: Path | None = None, tls_key: Path | None = None
) -> None:
    """Serve the vault until stopped. Beyond loopback, TLS is required."""
    run(create_app(vault, hosts=(*LOOPBACK, host)), host=host, port=port, tls_cert=tls_cert, tls_key=tls_key)
