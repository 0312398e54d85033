"""The guard of a studio with named users: a session belongs to somebody, and a viewer changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from shoal.server.common import LOOPBACK
from shoal.studio.guard import Guard, elsewhere, notice, same_origin, session_of
from shoal.studio.workspace.people import People

OWN = ("/look", "/leave", "/account/password")
"""What anybody may send: colours, the way out, their own password."""
ADMIN = "/users"
"""Pages of admins begin so."""


class PeopleGuard(Guard):
    """Lets through who is logged in, as far as their role goes; ``scope["person"]`` says who it is."""

    entrance = "/login"

    def __init__(self, app: Any, *, people: People, hosts: Sequence[str] = LOOPBACK) -> None:
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
