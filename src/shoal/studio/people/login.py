"""In and out: the log-in, slowed where guesses fail, and the way out."""

from __future__ import annotations

import math
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from shoal.studio import forms
from shoal.studio.guard import COOKIE, session_of, with_session
from shoal.studio.here import LOOK, THEMES, fields_of, to
from shoal.studio.pages import render
from shoal.studio.workspace.people import People
from shoal.studio.workspace.people.throttle import Throttle


def create_router(people: People, throttle: Throttle | None = None) -> APIRouter:
    router = APIRouter()
    limits = throttle or Throttle()

    @router.get("/login")
    def ask(request: Request) -> Response:
        return _page(request)

    @router.post("/login")
    async def login(request: Request) -> Response:
        fields = await forms.read_fields(request.stream())
        name, address = fields.get("name", "").strip().casefold()[:200], request.client.host if request.client else ""
        wait = limits.wait(name, address)
        if wait > 0:
            said = f"Too many tries. The next one is looked at in {math.ceil(wait):,} seconds."
            return _page(request, said, status=429, headers={"Retry-After": str(math.ceil(wait))})
        user = await run_in_threadpool(people.users.check, name, fields.get("password", ""))
        if user is None:
            limits.failed(name, address)
            return _page(request, "This name and this password do not go together.", status=401)
        limits.succeeded(name, address)
        token = await run_in_threadpool(people.visits.begin, user)
        return with_session(to("/"), token, request)

    @router.post("/leave")
    async def leave(request: Request) -> Response:
        await fields_of(request)
        session = session_of(request)
        if session is not None:
            await run_in_threadpool(people.visits.end, session)
        answer = to("/login")
        answer.delete_cookie(COOKIE, path="/")
        return answer

    return router


def _page(request: Request, problem: str = "", *, status: int = 200, **more: Any) -> HTMLResponse:
    theme = request.cookies.get(LOOK, "")
    shown = render("people/login.html", problem=problem, theme=theme if theme in THEMES else "")
    return HTMLResponse(shown, status_code=status, **more)
