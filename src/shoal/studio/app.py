"""The application: every page, the guard before them, errors as friendly pages, and what runs as long as it is served."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from shoal.disk.atomic import disk_full
from shoal.errors import DataError, InternalError, ShoalError
from shoal.server.common import LOOPBACK, status_of
from shoal.studio import column_levels, improve, jobs, linked, measure, pages, policy_changes, prove, uploads
from shoal.studio import vault as vaults
from shoal.studio.answers import Answers, StillCounting
from shoal.studio.guard import Door, Guard
from shoal.studio.here import Studio, trouble, waiting_page
from shoal.studio.questionnaire import routes as questions
from shoal.studio.registry import routes as registry
from shoal.studio.workspace import Workspace
from shoal.studio.workspace.files import Databases
from shoal.studio.workspace.jobs import Runner

LIMIT = 2_000_000_000
"""Bytes of a table that is taken, where nobody says otherwise."""
TAB_OF = {"release": "prove"} | dict.fromkeys(
    ("bands", "locks", "levels", "levels-file", "ask", "way", "plan", "offer"), "improve"
)
"""The page that a form belongs to, by the last part of its address."""


def create_app(
    workspace: Workspace,
    *,
    limit: int = LIMIT,
    workers: int = 2,
    hosts: Sequence[str] = LOOPBACK,
    vault: str = "",
    on_code: Callable[[str], Any] | None = None,
    warm: bool = True,
) -> FastAPI:
    """The studio of one person. ``app.state.door.code`` opens the first session; ``on_code`` receives every later code."""
    app = pages_of(workspace, limit=limit, workers=workers, vault=vault, warm=warm)
    app.state.door = Door(workspace.sessions, on_code)
    app.add_middleware(Guard, door=app.state.door, sessions=workspace.sessions, hosts=tuple(hosts))
    return app


def pages_of(
    workspace: Workspace,
    *,
    limit: int = LIMIT,
    workers: int = 2,
    vault: str = "",
    warm: bool = True,
    settings: Path | None = None,
) -> FastAPI:
    """Every page of a workspace, without a guard: the caller has been admitted.

    ``warm`` loads beforehand what the first table needs; else that is done when it comes. ``settings`` is the folder where an
    admin names databases; by default the workspace's own.
    """
    answers, runner = Answers(workspace, processes=workers), Runner(workspace, workers=workers)
    studio = Studio(workspace, answers, runner, limit, Databases(settings or workspace.files.root), vault)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        workspace.tables.sweep()
        studio.runner.start()
        if not any(job.open for job in workspace.jobs.all()):
            workspace.releases.sweep()
        warming = threading.Thread(target=_warm_up, args=(studio,), daemon=True)
        if warm:
            warming.start()
        yield
        studio.answers.close()
        if warm:
            warming.join()  # its processes are gone, so it ends at once
        studio.runner.close()
        workspace.close()

    app = FastAPI(title="Shoal studio", docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    tables = (uploads.create_home_router, uploads.create_upload_router, uploads.create_tables_router)
    facts = (measure.create_measure_router, measure.create_understand_router, measure.create_events_router)
    others = [
        part.create_router for part in (improve, column_levels, prove, linked, policy_changes, jobs, questions, registry, vaults)
    ]
    for create in (*tables, *facts, *others):
        app.include_router(create(studio))
    app.include_router(create_static_router())
    app.add_middleware(Compressed)
    _errors(app, studio)
    return app


def _warm_up(studio: Studio) -> None:
    """First what answers a dropped table, then what searches: beside each other both would take twice as long."""
    studio.answers.warm()
    studio.runner.warm()
    gc.freeze()  # what is loaded now stays: looking through it for garbage took a tenth of a second in the middle of a request


def _errors(app: FastAPI, studio: Studio) -> None:
    """Errors as pages: asked, found, do; never a value, never a dead end."""

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, ShoalError)
        return trouble(request, error, status=status_of(error), back=_back(request))

    async def counting(request: Request, error: Exception) -> Response:
        return waiting_page(request, studio, request.url.path.split("/")[2])

    async def unserved(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        problem = DataError("there is nothing at this address.", hint="Begin at the tables.")
        return trouble(request, problem, status=error.status_code)

    async def broken(request: Request, error: Exception) -> Response:
        if disk_full(error):
            full = DataError("the disk is full; nothing was lost.", hint="Free space and try again.")
            return trouble(request, full, status=507, back=_back(request))
        inside = InternalError(f"something went wrong inside: {type(error).__name__}.", hint="Your tables are intact. Go back.")
        return trouble(request, inside, status=500, back=_back(request))

    app.add_exception_handler(StillCounting, counting)
    app.add_exception_handler(ShoalError, refused)
    app.add_exception_handler(HTTPException, unserved)
    app.add_exception_handler(OSError, broken)
    app.add_exception_handler(Exception, broken)


def _back(request: Request) -> str:
    """The page that a form came from, by its path; the tables for others."""
    parts = request.url.path.split("/")
    if parts[1] in ("questions", "registry", "vault"):
        return "/".join(parts[:3]) if parts[1] == "questions" and len(parts) > 3 else f"/{parts[1]}"
    if len(parts) > 3 and parts[1] == "t":
        if parts[3] == "levels" and len(parts) > 4 and parts[4]:
            return f"/t/{parts[2]}/levels/{parts[4]}"
        return f"/t/{parts[2]}/{TAB_OF.get(parts[3], 'measure')}"
    return "/"


class Compressed:
    """Compresses what our own pages, or a person by hand, ask for; other files only if they are the same for everybody.

    Pages repeat what was typed beside the token of the session's forms. If another site could cause such an answer, its length
    would give the token away letter by letter (the attack BREACH); browsers state who caused a request.
    """

    def __init__(self, app: ASGIApp) -> None:
        packed = (*DEFAULT_EXCLUDED_CONTENT_TYPES, "application/octet-stream")
        self._app, self._smaller = app, GZipMiddleware(app, 1000, exclude_content_types=packed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        http = scope["type"] == "http"
        asked = dict(scope["headers"]).get(b"sec-fetch-site", b"") if http else b""
        fit = http and (asked in (b"same-origin", b"none") or scope["path"].startswith("/static/") or scope["path"] == "/me")
        await (self._smaller if fit else self._app)(scope, receive, send)


KINDS = {
    "studio.css": "text/css",
    "studio.js": "text/javascript",
    "exposed.css": "text/css",
    "exposed.js": "text/javascript",
    "fish.svg": "image/svg+xml",
}
LONG = {"cache-control": "private, max-age=31536000, immutable"}


def create_static_router() -> APIRouter:
    router = APIRouter()

    @router.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in KINDS:  # a friendly page belongs to a session, and nobody needs one to ask for this
            return Response("There is nothing at this address.", status_code=404, media_type="text/plain")
        text = pages.served(name)
        return Response(text, media_type=KINDS[name], headers=LONG)

    return router
