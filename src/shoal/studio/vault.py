"""The vault's console, for one role at a time: the studio is a client of the vault's service and knows only what the token may.

Tokens stay in memory, for one session of the studio, until they rest too long. A revealed identity is in one answer and nowhere
else: it is not kept, not logged, and a second look is refused by the vault.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from shoal.errors import AccessError, ShoalError, UsageError
from shoal.protector.care.reports import drawn
from shoal.protector.people.changes import SecondPersonNeeded
from shoal.protector.pseudonyms.tables import pseudonymize_table
from shoal.protector.remote import RemoteSession, RemoteVault
from shoal.server.common import status_of
from shoal.studio.here import Fields, Studio, page, posts, problem_of
from shoal.studio.views.measured import PHONE

IDLE = 1800.0
"""Seconds without a click after which the vault's token is forgotten."""
ROLES = ("operator", "requester", "approver", "auditor", "owner")


@dataclass(frozen=True)
class Console:
    """A person at the vault: what they may do there is the vault's to say; ``role`` is what the page shows."""

    role: str
    session: RemoteSession


class Consoles:
    """Consoles by session of the studio."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._open: dict[str, tuple[Console, float]] = {}

    def enter(self, studio_session: str, console: Console) -> None:
        with self._lock:
            self._open[_key(studio_session)] = (console, self._clock())

    def of(self, studio_session: str) -> Console | None:
        """The console of a session, if it did not rest too long."""
        now, key = self._clock(), _key(studio_session)
        with self._lock:
            for old in [k for k, (_, at) in self._open.items() if now - at >= IDLE]:
                del self._open[old]
            console = self._open.get(key)
            if console is None:
                return None
            self._open[key] = (console[0], now)
            return console[0]

    def leave(self, studio_session: str) -> None:
        with self._lock:
            self._open.pop(_key(studio_session), None)


def _key(studio_session: str) -> str:
    return hashlib.sha256(studio_session.encode("utf-8")).hexdigest()


MOST_EVENTS = 200
SEEN = {"pending": "waits for approval", "approved": "approved", "denied": "refused", "delivered": "revealed, once"}


def shown(console: Console) -> dict[str, Any]:
    """Everything that the page of a role needs; one list of calls per role, so that nobody's token asks for more."""
    return {"role": console.role} | {
        "operator": lambda session: {"domains": [d.name for d in session.domains() if not d.shredded]},
        "requester": _requests,
        "approver": _requests,
        "auditor": _auditor,
        "owner": _owner,
    }[console.role](console.session)


def _requests(session: RemoteSession) -> dict[str, Any]:
    rows = [
        {**r.to_json(), "made": day(r.created), "ends": day(r.expires), "sealed": bool(r.recipient)}
        | {"words": SEEN.get(r.status, r.status)}
        for r in sorted(session.requests(), key=lambda r: -r.created)
    ]
    return {"requests": rows}


def _auditor(session: RemoteSession) -> dict[str, Any]:
    events = session.care.read_log(session, last=MOST_EVENTS)
    rows = session.care.report(session, period="day", by="actor")
    return {
        "verdict": session.care.verify_log(session),
        "events": [_event(e) for e in reversed(events)],
        "chart": [drawn(rows, "reveal", "day", None, width) for width in (720, PHONE)],
        **_requests(session),
        **_changes(session),
    }


def _owner(session: RemoteSession) -> dict[str, Any]:
    domains = [
        {"name": d.name, "kind": d.kind, "scope": d.scope, "version": d.active, "shredded": bool(d.shredded)}
        for d in session.domains()
    ]
    return {"domains": domains, **_requests(session), **_changes(session)}


def _changes(session: RemoteSession) -> dict[str, Any]:
    texts = ((c, json.dumps(dict(c.what), ensure_ascii=False)) for c in session.changes())
    return {"changes": [{**c.to_json(), "what": text, "made": day(c.created)} for c, text in texts]}


def _event(event: dict[str, Any]) -> dict[str, str]:
    details = {k: v for k, v in event.items() if k not in ("n", "time", "action", "actor") and v not in ("", None, [], {})}
    return {
        "n": str(event.get("n", "")),
        "time": event["time"] if isinstance(event.get("time"), str) else day(float(event.get("time", 0))),
        "action": str(event.get("action", "")),
        "actor": str(event.get("actor", "")),
        "told": ", ".join(f"{k} {v if not isinstance(v, dict | list) else json.dumps(v)}" for k, v in details.items())[:300],
    }


def day(moment: float) -> str:
    """
    >>> day(0.0)
    '1970-01-01 00:00'
    """
    return datetime.datetime.fromtimestamp(moment, datetime.UTC).strftime("%Y-%m-%d %H:%M")


Act = Callable[[RemoteSession, Fields], dict[str, Any]]


class Pages:
    """The door and the console as pages, and who is logged in."""

    def __init__(self, studio: Studio) -> None:
        self.studio, self.consoles = studio, Consoles()
        self.vault = RemoteVault(studio.vault) if studio.vault else None

    def door(self, request: Request, *, status: int = 200, **more: Any) -> Response:
        context = {"named": self.vault is not None, "roles": ROLES, "problem": None, "token_shown": ""} | more
        return page(request, "vault/door.html", status=status, **context)

    def console(self, request: Request, console: Console, **more: Any) -> Response:
        context: dict[str, Any] = {"problem": None, "done": "", "code": "", "identities": None, "sealed": "", "status": 200}
        context |= {"tables": self.studio.workspace.tables.all() if console.role == "operator" else [], "columns": {}} | more
        try:
            content = shown(console)
        except ShoalError as error:
            self.consoles.leave(request.scope["session"])
            return self.door(request, status=status_of(error), problem=problem_of(error))
        return page(request, "vault/console.html", **content, **context)

    def here(self, request: Request) -> Console:
        console = self.consoles.of(request.scope["session"])
        if console is None:
            raise AccessError("nobody is logged in to the vault.", hint="Go to Vault and log in there.", reason="token")
        return console


def create_router(studio: Studio) -> APIRouter:
    router, pages = APIRouter(), Pages(studio)
    _add_entrance(router, pages)
    _add_acts(router, pages)
    return router


def _add_entrance(router: APIRouter, pages: Pages) -> None:
    """Coming in with a token, claiming one with the halves of a code, and leaving."""

    @router.get("/vault")
    def look(request: Request) -> Response:
        console = pages.consoles.of(request.scope["session"])
        return pages.door(request) if console is None else pages.console(request, console)

    @posts(router, "/vault/enter")
    def enter(request: Request, fields: Fields) -> Response | str:
        if pages.vault is None or fields.get("role", "") not in ROLES:
            raise UsageError("this role or vault does not exist.", hint="Choose one of those shown.")
        session = pages.vault.login(fields.get("secret", ""))
        try:
            session.domains() if fields["role"] == "operator" else session.requests()
        except ShoalError as error:
            return pages.door(request, status=status_of(error), problem=problem_of(error))
        pages.consoles.enter(request.scope["session"], Console(fields["role"], session))
        return "/vault"

    @posts(router, "/vault/enrol")
    def enrol(request: Request, fields: Fields) -> Response:
        codes = [c for name in ("first", "second") if (c := fields.get(name, "").strip())]
        if pages.vault is None or not codes:
            raise UsageError("a code is needed.", hint="Type the halves of the code that you were given.")
        try:
            token = pages.vault.enrol(*codes)
        except ShoalError as error:
            return pages.door(request, status=status_of(error), problem=problem_of(error))
        return pages.door(request, token_shown=token)

    @posts(router, "/vault/leave")
    def leave(request: Request, _: Fields) -> str:
        pages.consoles.leave(request.scope["session"])
        return "/vault"


def _add_acts(router: APIRouter, pages: Pages) -> None:
    """What a role may do."""

    def acting(path: str, act: Act) -> None:
        @posts(router, f"/vault/{path}")
        def acted(request: Request, fields: Fields) -> Response:
            console = pages.here(request)
            try:
                result = act(console.session, fields)
            except SecondPersonNeeded as error:
                result = {"done": error.message}
            except ShoalError as error:
                return pages.console(request, console, problem=problem_of(error), status=status_of(error))
            return pages.console(request, console, **result)

    for path, act in ACTS.items():
        acting(path, act)

    @posts(router, "/vault/pseudonymize")
    def pseudonymize(request: Request, fields: Fields) -> Response:
        console = pages.here(request)
        return _pseudonymize(pages.studio, console, fields, lambda **more: pages.console(request, pages.here(request), **more))


def _pseudonymize(studio: Studio, console: Console, fields: Fields, again: Callable[..., Response]) -> Response:
    """A table of the workspace with its identities replaced, as a download that is not kept."""
    kept = studio.workspace.tables.get(fields.get("table", ""))
    wanted = [c.strip() for c in fields.get("columns", "").split(",") if c.strip()]
    place = studio.workspace.files.root / "incoming" / f"{secrets.token_hex(8)}.csv"
    try:
        if not wanted:
            raise UsageError("no column was named.", hint="Write the columns that name people, separated by commas.")
        source, (domain, purpose) = studio.workspace.tables.path(kept), (fields.get(part, "") for part in ("domain", "purpose"))
        # the same calls, through the service
        pseudonymize_table(console.session, source, place, domain=domain, columns=wanted, purpose=purpose)
    except ShoalError as error:
        place.unlink(missing_ok=True)
        return again(problem=problem_of(error), status=status_of(error))
    done = BackgroundTask(place.unlink, missing_ok=True)
    return FileResponse(place, filename=f"{kept.name}-pseudonyms.csv", media_type="text/csv", background=done)


def _request(session: RemoteSession, fields: Fields) -> dict[str, Any]:
    named = [p.strip() for p in fields.get("pseudonyms", "").splitlines() if p.strip()]
    made = session.request(fields.get("domain", ""), named, purpose=fields.get("purpose", ""), case=fields.get("case", ""))
    return {"done": f"{made.id} waits for approval by another person."}


def _approve(session: RemoteSession, fields: Fields) -> dict[str, Any]:
    """Exactly what was seen is approved: a request that changed since has another digest."""
    made = session.approve(fields.get("id", ""), digest=fields.get("digest") or None)
    return {"done": f"{made.id} is approved. Its requester may reveal it, once."}


def _reveal(session: RemoteSession, fields: Fields) -> dict[str, Any]:
    revealed = session.reveal(fields.get("id", ""))
    identities = None if revealed.sealed else sorted(revealed.identities.items())
    return {"identities": identities, "sealed": revealed.sealed, "done": f"{revealed.request.id}: shown this once."}


def _confirm(session: RemoteSession, fields: Fields) -> dict[str, Any]:
    made = session.confirm(fields.get("id", ""))
    return {"done": f"{made.id} is confirmed.", "code": made.code}


def _actor(session: RemoteSession, fields: Fields) -> dict[str, Any]:
    made = session.add_actor(fields.get("name", "").strip(), [fields.get("role", "")])
    return {"done": f"{made.id} waits for a second person.", "code": made.code}


def _domain(session: RemoteSession, fields: Fields) -> dict[str, Any]:
    made = session.create_domain(fields.get("name", "").strip())
    return {"done": f"Domain {made.name} is there."}


ACTS: dict[str, Act] = {
    "request": _request,
    "withdraw": lambda session, fields: {"done": f"{session.withdraw(fields.get('id', '')).id} is withdrawn."},
    "reveal": _reveal,
    "approve": _approve,
    "deny": lambda session, fields: {"done": f"{session.deny(fields.get('id', '')).id} is refused."},
    "confirm": _confirm,
    "refuse": lambda session, fields: {"done": f"{session.refuse(fields.get('id', '')).id} is refused."},
    "actor": _actor,
    "domain": _domain,
}
