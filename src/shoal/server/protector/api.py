"""The vault over HTTP.

:func:`create_router` gives the routes for mounting; :func:`create_app` a small application of its own with Host check; and
:func:`serve` runs it, on loopback unless TLS is given. Every call carries ``Authorization: Bearer TOKEN``; what it may do
follows from the token's roles and domains.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.routing import Route

from shoal.errors import AccessError, DataError, ShoalError, refuse
from shoal.protector.people.accounts import token_digest
from shoal.server.common import LOOPBACK, Problem, new_app, refusals
from shoal.server.limited_http import run
from shoal.server.protector import models, routes

if TYPE_CHECKING:
    from shoal.protector.session import Session
    from shoal.protector.vault import Vault


Model = TypeVar("Model", bound=BaseModel)
Handler = Callable[[Request], Awaitable[Response]]

MOST_BYTES = 64_000_000
"""The largest body of a request: 10,000 identities of the longest kind, and some room."""

MOST_OPEN_BYTES = 4096
"""The largest body of a request without a token."""

BODY_SECONDS = 120.0
"""The longest time a body may take to arrive."""


class Unauthorized(Exception):
    """No token, or one that is not valid."""


class Admission:
    """Sessions by token, so that a token is looked up once; its rights are checked again in every transaction."""

    def __init__(self, vault: Vault, most: int = 1024) -> None:
        self._vault = vault
        self._known: dict[str, Session] = {}
        self._most = most

    async def admit(self, request: Request) -> Session:
        """The session of the caller's token."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise Unauthorized
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
        return session

    def route_class(self, *, everybody: bool = False) -> type[APIRoute]:
        """Routes that admit the caller (or ``everybody``) first and only then read the body, up to :data:`MOST_BYTES`."""
        admission = self

        class Guarded(APIRoute):
            def get_route_handler(self) -> Handler:  # type: ignore[override]
                return admission.guarded(super().get_route_handler(), everybody=everybody)

        return Guarded

    def guarded(self, inner: Handler, *, everybody: bool = False) -> Handler:
        """A handler of requests behind the same admission."""
        most = MOST_OPEN_BYTES if everybody else MOST_BYTES

        async def handle(request: Request) -> Response:
            if not everybody:
                request.state.vault_session = await self.admit(request)
            return await inner(Request(request.scope, _read_bounded(request.receive, most)))

        return handle


async def read_body(request: Request, model: type[Model]) -> Model:
    """The body of a request as ``model``, refused like the framework refuses it."""
    try:
        return model.model_validate_json(await request.body())
    except ValidationError as error:
        errors = [{**e, "loc": ("body", *e["loc"])} for e in error.errors(include_input=False, include_url=False)]
        raise RequestValidationError(errors) from None


def _read_bounded(receive: Callable[[], Awaitable[Any]], most: int) -> Callable[[], Awaitable[Any]]:
    """The body of a request, cut off where it becomes too large or comes too slowly."""
    seen, whole = 0, False
    deadline = asyncio.get_running_loop().time() + BODY_SECONDS

    async def bounded() -> Any:
        nonlocal seen, whole
        with refuse(HTTPException(408, f"the body did not come within {BODY_SECONDS:g} seconds."), TimeoutError):
            async with asyncio.timeout_at(None if whole else deadline):
                message = await receive()
        whole = not message.get("more_body", False)
        seen += len(message.get("body", b""))
        if seen > most:
            raise HTTPException(413, f"the body is larger than {most:,} bytes.")
        return message

    return bounded


_REFUSALS = refusals(
    Problem,
    {
        202: "Proposed: it waits for a second person, then the same call goes through.",
        400: "The request makes no sense or the data cannot be used.",
        401: "No valid token.",
        403: "The token's roles, the four-eyes rule or a limit forbid it.",
        404: "Not found.",
        413: "The body is too large.",
        422: "The body does not fit.",
    },
)

_FOUND_BYTES = 64
"""The length of every answer to a look-up, found or not: who only sees lengths learns nothing."""

_bearer = HTTPBearer(auto_error=False, description="Token of an actor.")


def create_router(vault: Vault, *, prefix: str = "/vault/v1") -> APIRouter:
    """The routes of the vault, for mounting in an application that also calls :func:`install_errors`."""
    admission = Admission(vault)
    outer = APIRouter(prefix=prefix, tags=["vault"], responses=_REFUSALS, route_class=admission.route_class(everybody=True))
    routes.add_open_routes(outer, vault)
    token = [Depends(_bearer)]  # describes the token in OpenAPI; admission has checked it before
    router = APIRouter(
        prefix=prefix, tags=["vault"], responses=_REFUSALS, dependencies=token, route_class=admission.route_class()
    )
    _add_find(router, admission, FindBatcher())
    routes.add_action_routes(router)
    routes.add_fhir_routes(router)
    routes.add_state_routes(router, vault)
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
    run(app, host=host, port=port, socket=socket, tls_cert=tls_cert, tls_key=tls_key, secrets=True)


class FindGroup(NamedTuple):
    """What look-ups share that may be answered together."""

    session: Session
    domain: str
    purpose: str
    role: str
    relation: str


Waiting = tuple[str, "asyncio.Future[str | None]"]


class FindBatcher:
    """Look-ups that arrive together, answered from one transaction per token, domain and purpose."""

    def __init__(self, most: int = 256) -> None:
        self._most = most
        self._waiting: list[tuple[FindGroup, Waiting]] = []
        self._running = False

    async def find(self, group: FindGroup, identity: str) -> str | None:
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((group, (identity, answer)))
        if not self._running:
            self._running = True
            self._task = asyncio.create_task(self._run())
        return await answer

    async def _run(self) -> None:
        try:
            while self._waiting:
                part, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
                groups: dict[FindGroup, list[Waiting]] = {}
                for group, member in part:
                    groups.setdefault(group, []).append(member)
                for group, members in groups.items():
                    await self._answer(group, members)
        finally:
            self._running = False

    async def _answer(self, group: FindGroup, members: Sequence[Waiting]) -> None:
        identities = [identity for identity, _ in members]
        session, domain, *context = group
        details = dict(zip(("purpose", "role", "relation"), context, strict=True))
        try:
            answers = await run_in_threadpool(session.find_many, domain, identities, **details)
        except ShoalError as error:
            if len(members) > 1 and (isinstance(error, DataError) or getattr(error, "reason", "") == "limit"):
                for member in members:  # what is wrong with one, or too much together, is not the others' fault
                    await self._answer(group, [member])
                return
            for _, answer in members:
                if not answer.cancelled():
                    answer.set_exception(error)
            return
        for (_, answer), pseudonym in zip(members, answers, strict=True):
            if not answer.cancelled():
                answer.set_result(pseudonym)
