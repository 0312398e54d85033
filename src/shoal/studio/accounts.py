"""Named users of a studio: log-in, roles, and a workspace for each."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from shoal.errors import ShoalError, UsageError
from shoal.server.common import LOOPBACK, status_of
from shoal.studio import forms
from shoal.studio.app import LIMIT, Compressed, create_static_router, pages_of
from shoal.studio.guard import COOKIE, Guard, elsewhere, notice, same_origin, session_of, with_session
from shoal.studio.here import LOOK, THEMES, Fields, page, posts, to, trouble
from shoal.studio.pages import render
from shoal.studio.workspace.people import ROLES, People, Throttle, User, invented


def create_users_router(people: People) -> APIRouter:
    router = APIRouter()

    @router.get("/account")
    def account(request: Request) -> Response:
        return page(request, "people/account.html", beside=_beside(people, request.scope["person"]))

    @posts(router, "/account/password")
    def password(request: Request, fields: Fields) -> Response:
        person = request.scope["person"]
        if people.users.check(person.name, fields.get("old", "")) is None:
            raise UsageError("the old password is another one.", hint="Type it again; nothing was changed.")
        people.users.give_password(person.name, fields.get("new", ""))
        return with_session(to("/account"), people.visits.begin(name=person.name), request)

    @router.get("/users")
    def users(request: Request) -> Response:
        return _list_page(request, people)

    @posts(router, "/users")
    def add(request: Request, fields: Fields) -> Response:
        """A new user; the first password is shown on this page and nowhere else."""
        made, beside = invented(), fields.get("beside", "") or None
        user = people.users.add(fields.get("name", ""), fields.get("role", ""), made, beside=beside)
        return _list_page(request, people, user, made)

    @posts(router, "/users/{name}/role")
    def role(request: Request, fields: Fields, name: str) -> str:
        people.users.give_role(_other(request, name), fields.get("role", ""))
        return "/users"

    @posts(router, "/users/{name}/remove")
    def remove(request: Request, _: Fields, name: str) -> str:
        people.users.remove(_other(request, name))
        return "/users"

    return router


def install_errors(app: FastAPI) -> None:
    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, ShoalError)
        back = "/users" if request.url.path.startswith("/users") else "/account"
        return trouble(request, error, status=status_of(error), back=back)

    app.add_exception_handler(ShoalError, refused)


def _list_page(request: Request, people: People, made: User | None = None, password: str = "") -> Response:
    rows = [{"user": u, "beside": _beside(people, u)} for u in people.users.all()]
    return page(request, "people/users.html", rows=rows, roles=ROLES, made=made, password=password)


def _beside(people: People, person: User) -> list[str]:
    """The other users of the same workspace."""
    return [u.name for u in people.users.all() if u.space == person.space and u.name != person.name]


def _other(request: Request, name: str) -> str:
    """Somebody else: an admin who takes the role from herself would lock the door from inside."""
    if name == request.scope["person"].name:
        raise UsageError("this is you.", hint="Let another admin do it, or use 'shoal studio user' on the studio's computer.")
    return name


OWN = ("/look", "/leave", "/account/password")
"""What anybody may send: colours, the way out, their own password."""
ADMIN = "/users"
"""Pages of admins begin so."""


class PeopleGuard(Guard):
    """Lets through who is logged in, as far as their role goes; ``scope["person"]`` says who it is."""

    entrance = "/login"

    def __init__(self, app: ASGIApp, *, people: People, hosts: Sequence[str] = LOOPBACK) -> None:
        self._app = app
        self._people = people
        self._hosts = frozenset(h.lower() for h in hosts)

    def _refused(self, request: Request) -> Response | None:
        refused = super()._refused(request)
        person = request.scope.get("person")
        if refused is not None or person is None:
            return refused
        path, safe = request.url.path, request.method in ("GET", "HEAD")
        if (path == ADMIN or path.startswith(f"{ADMIN}/")) and person.role != "admin":
            return notice(403, "Only an admin says who may come in.", "Ask one of your admins.")
        if not safe and not person.changes and path not in OWN:
            return notice(403, "You may look at this workspace, not change it.", "Ask an admin for the role of an editor.")
        return None

    def _holds(self, request: Request, session: str) -> bool:
        person = self._people.visits.who(session)
        request.scope["person"] = person
        return person is not None

    def _stranger(self, request: Request) -> Response:
        if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
            return RedirectResponse("/login", status_code=303)
        return notice(401, "Nobody is logged in here.", "Log in at /login.")

    def _at_entrance(self, request: Request, host: str) -> Response | None:
        """The log-in itself needs no session; a form from elsewhere is refused."""
        if request.method not in ("GET", "HEAD") and not same_origin(request, host):
            return elsewhere()
        session = session_of(request)
        if session is not None and request.method == "GET" and self._people.visits.who(session) is not None:
            return RedirectResponse("/", status_code=303)
        return None


IDLE = 1800.0
"""Seconds after which the pages of a workspace that nobody asked for, and that has no job, are closed."""


class Spaces:
    """The studios of the workspaces that somebody uses, each opened when it is first asked for."""

    def __init__(self, people: People, **about: Any) -> None:
        self._people, self._about = people, about
        self._lock = asyncio.Lock()
        self._open: dict[str, tuple[FastAPI, contextlib.AsyncExitStack, Any]] = {}
        self._asked: dict[str, float] = {}

    async def of(self, space: str) -> FastAPI:
        async with self._lock:
            self._asked[space] = time.monotonic()
            if space not in self._open:
                await self._close_idle()
                workspace = await run_in_threadpool(self._people.workspace, space)
                app, stack = pages_of(workspace, **self._about), contextlib.AsyncExitStack()
                await stack.enter_async_context(app.router.lifespan_context(app))
                self._open[space] = (app, stack, workspace)
            return self._open[space][0]

    async def close(self) -> None:
        async with self._lock:
            for _, stack, _ in self._open.values():
                await stack.aclose()
            self._open.clear()

    async def _close_idle(self) -> None:
        for space, (_, stack, workspace) in list(self._open.items()):
            idle = time.monotonic() - self._asked[space] >= IDLE
            if idle and not any(job.open for job in await run_in_threadpool(workspace.jobs.all)):
                del self._open[space]
                await stack.aclose()


def create_house(
    people: People, *, limit: int = LIMIT, workers: int = 1, hosts: Sequence[str] = LOOPBACK, vault: str = ""
) -> FastAPI:
    """The studio of several people. ``workers`` are the jobs at the same time in each workspace.

    A workspace's processes are started when they are first needed: a house full of people who only look holds none.
    """
    spaces = Spaces(people, limit=limit, workers=workers, vault=vault, warm=False, settings=people.files.root)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        await spaces.close()
        people.close()

    async def theirs(scope: Scope, receive: Receive, send: Send) -> None:
        """All other pages: those of the user's workspace."""
        app = await spaces.of(scope["person"].space)
        await app({**scope, "app": app, "router": app.router}, receive, send)

    app = FastAPI(title="Shoal studio", docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    for part in (create_static_router(), create_login_router(people), create_users_router(people)):
        app.include_router(part)
    install_errors(app)
    app.mount("/", theirs)
    app.add_middleware(Compressed)
    app.add_middleware(PeopleGuard, people=people, hosts=tuple(hosts))
    return app


def create_login_router(people: People) -> APIRouter:
    router = APIRouter()
    limits = Throttle()

    @router.get("/login")
    def ask(request: Request) -> Response:
        return _page(request)

    @router.post("/login")
    async def login(request: Request) -> Response:
        fields = await forms.read_fields(request.stream())
        name, address = fields.get("name", "").strip().casefold()[:200], request.client.host if request.client else ""
        wait = limits.wait(name, address)
        if wait > 0:
            sentence = f"Too many tries. The next one is looked at in {math.ceil(wait):,} seconds."
            return _page(request, sentence, status=429, headers={"Retry-After": str(math.ceil(wait))})
        user = await run_in_threadpool(people.users.check, name, fields.get("password", ""))
        if user is None:
            limits.failed(name, address)
            return _page(request, "This name and this password do not go together.", status=401)
        limits.succeeded(name, address)
        token = await run_in_threadpool(lambda: people.visits.begin(name=user.name))
        return with_session(to("/"), token, request)

    @posts(router, "/leave")
    def leave(request: Request, _: Fields) -> Response:
        session = session_of(request)
        if session is not None:
            people.visits.end(session)
        answer = to("/login")
        answer.delete_cookie(COOKIE, path="/")
        return answer

    return router


def _page(request: Request, problem: str = "", *, status: int = 200, **more: Any) -> HTMLResponse:
    theme = request.cookies.get(LOOK, "")
    shown = render("people/login.html", problem=problem, theme=theme if theme in THEMES else "")
    return HTMLResponse(shown, status_code=status, **more)
