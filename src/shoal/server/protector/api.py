"""The vault over HTTP.

:func:`create_router` gives the routes for mounting; :func:`create_app` a small application of its own with Host check; and
:func:`serve` runs it, on loopback unless TLS is given. Every call carries ``Authorization: Bearer TOKEN``; what it may do
follows from the token's roles and domains.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.responses import JSONResponse, Response
from fastapi.security import HTTPBearer
from starlette.routing import Route

from shoal.server.common import LOOPBACK, new_app, run
from shoal.server.protector import models
from shoal.server.protector.admission import Admission, Unauthorized, read_body
from shoal.server.protector.fhir_routes import add_fhir_routes
from shoal.server.protector.find_batches import FindBatcher, FindGroup
from shoal.server.protector.routes import add_action_routes, add_open_routes, add_state_routes

if TYPE_CHECKING:
    from shoal.protector.vault import Vault

_REFUSALS: dict[int | str, dict[str, Any]] = {
    code: {"model": models.Problem, "description": words}
    for code, words in {
        202: "Proposed: it waits for a second person, then the same call goes through.",
        400: "The request makes no sense or the data cannot be used.",
        401: "No valid token.",
        403: "The token's roles, the four-eyes rule or a limit forbid it.",
        404: "Not found.",
        413: "The body is too large.",
        422: "The body does not fit.",
    }.items()
}

_FOUND_BYTES = 64
"""The length of every answer to a look-up, found or not: who only sees lengths learns nothing."""

_bearer = HTTPBearer(auto_error=False, description="Token of an actor.")


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
    add_action_routes(router)
    add_fhir_routes(router)
    add_state_routes(router, vault)
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
    run(app, host=host, port=port, socket=socket, tls_cert=tls_cert, tls_key=tls_key)
