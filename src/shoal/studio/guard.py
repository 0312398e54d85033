"""Who may come in: the host that was meant, a session from a one-time link, and forms that our own pages made.

A guard stands before every page. It refuses other host names (DNS rebinding), requests without a session, and anything that
changes something unless it comes from our own origin and carries the token of the session's forms.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import sys
import threading
import traceback
from collections.abc import Sequence
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shoal.server.common import LOOPBACK, with_headers
from shoal.studio.pages import refusal
from shoal.studio.workspace.workspace import HOURS, Sessions

COOKIE = "shoal_studio"
FIELD = "token"
HEADER = "x-shoal-token"
"""The hidden field that carries the forms' token; scripts send it as a header."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
"""Set on every answer that does not set them itself. ``same-origin`` lets browsers tell us where a form came from."""

SECURE = (b"strict-transport-security", b"max-age=31536000")


class Door:
    """One-time codes: each opens one session, then it is gone and a new one takes its place."""

    def __init__(self, sessions: Sessions, on_code: Any = None) -> None:
        self._sessions = sessions
        self._told = on_code
        self._lock = threading.Lock()
        self._code = secrets.token_urlsafe(24)

    @property
    def code(self) -> str:
        return self._code

    def enter(self, code: str) -> str | None:
        """The token of a new session, or None where the code is not the one that holds."""
        with self._lock:
            if not hmac.compare_digest(code.encode(), self._code.encode()):
                return None
            self._code = secrets.token_urlsafe(24)
        if self._told is not None:
            self._told(self._code)
        return self._sessions.begin()


def form_token(session: str) -> str:
    """The token of a session's forms: it follows from the session and does not tell it.

    >>> form_token("a") == form_token("a") != form_token("b")
    True
    """
    return hmac.new(session.encode(), b"shoal studio forms", hashlib.sha256).hexdigest()


class Guard:
    """Stands before the pages; what it lets through has ``scope["session"]``."""

    entrance = "/enter"

    def __init__(self, app: ASGIApp, *, door: Door, sessions: Sessions, hosts: Sequence[str] = LOOPBACK) -> None:
        self._app = app
        self._door = door
        self._sessions = sessions
        self._hosts = frozenset(h.lower() for h in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        careful = with_headers(send, (*HEADERS, SECURE) if scope["scheme"] == "https" else HEADERS)
        request = Request(scope)
        answer = self._refused(request)
        if answer is not None:
            await answer(scope, receive, careful)
        else:
            await self._served(scope, receive, careful)

    async def _served(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The page. An error that its handler has answered goes no further: a log says where it was, never what it held."""
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception as error:
            ours = [f for f in traceback.extract_tb(error.__traceback__) if "shoal" in Path(f.filename).parts]
            where = f" at {Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else ""
            sys.stderr.write(f"studio: {type(error).__name__}{where}\n")
            if not begun:
                await notice(500, "Something went wrong inside.", "Your tables are intact. Go back.")(scope, receive, send)

    def _refused(self, request: Request) -> Response | None:
        """An answer instead of the page, or None where the page may come."""
        host = _one(request, "host")
        if host is None or _name(host) not in self._hosts:
            return notice(400, "This address is not served here.", "Use the link that 'shoal studio' printed.")
        path, safe = request.url.path, request.method in ("GET", "HEAD")
        if path.startswith("/static/") and safe:
            return None
        if path == self.entrance:
            return self._at_entrance(request, host)
        session = session_of(request)
        if session is None or not self._holds(request, session):
            return self._stranger(request)
        request.scope["session"] = session
        if safe:
            return None
        if not same_origin(request, host):
            return elsewhere()
        given = request.headers.get(HEADER, "")
        if given and not hmac.compare_digest(given.encode(), form_token(session).encode()):
            return notice(403, "This form belongs to another session.", "Load the page again.")
        request.scope["form_token_seen"] = bool(given)
        return None

    def _holds(self, request: Request, session: str) -> bool:
        return self._sessions.holds(session)

    def _stranger(self, request: Request) -> Response:
        return notice(401, "Your session is over, or this is another browser.", "Use the link that 'shoal studio' printed.")

    def _at_entrance(self, request: Request, host: str) -> Response | None:
        if request.method != "GET":
            return self._stranger(request)
        token = self._door.enter(request.query_params.get("code", ""))
        if token is None:
            return notice(401, "This link has been used already.", "The terminal of 'shoal studio' shows a new one.")
        return with_session(RedirectResponse("/", status_code=303), token, request)


def with_session(answer: Response, token: str, request: Request) -> Response:
    """An answer that gives the browser its session."""
    secure = request.url.scheme == "https"
    answer.set_cookie(COOKIE, token, max_age=int(3600 * HOURS), httponly=True, samesite="strict", secure=secure, path="/")
    return answer


def elsewhere() -> Response:
    return notice(403, "This came from another page than the studio's own.", "Go back and try again.")


def check_form(request: Request, fields: Any) -> bool:
    """Whether a form carries the token of its session, in a header or as a field."""
    if request.scope.get("form_token_seen"):
        return True
    return hmac.compare_digest(str(fields.get(FIELD, "")).encode(), form_token(request.scope["session"]).encode())


def session_of(request: Request) -> str | None:
    try:
        cookie = SimpleCookie(request.headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return None
    return cookie.value if cookie is not None and cookie.value else None


def _one(request: Request, name: str) -> str | None:
    """A header that must be there once."""
    values = request.headers.getlist(name)
    return values[0].lower() if len(values) == 1 else None


def _name(host: str) -> str:
    return host if host.endswith("]") else host.rsplit(":", 1)[0]


def same_origin(request: Request, host: str) -> bool:
    """Whether what changes something was sent by our own page; a browser says so in one of two headers."""
    origin = request.headers.get("origin")
    if origin is not None:
        return origin.lower() == f"{request.url.scheme}://{host}"
    return request.headers.get("sec-fetch-site", "same-origin") == "same-origin"


def notice(status: int, problem: str, do: str) -> HTMLResponse:
    """A page for people who may not enter, or may not do this."""
    return HTMLResponse(refusal(problem, do), status_code=status)
