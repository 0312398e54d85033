"""The vault's console: the studio is a client of the vault's service and knows nothing that the token may not know.

A revealed identity is in one answer and nowhere else: it is not kept, not logged, and a second look is refused by the vault.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from shoal.errors import AccessError, ShoalError, UsageError
from shoal.protector.people.changes import SecondPersonNeeded
from shoal.protector.pseudonyms.tables import pseudonymize_table
from shoal.protector.remote import RemoteVault
from shoal.server.common import status_of
from shoal.studio.here import Studio, fields_of, page, problem_of, to
from shoal.studio.vault.consoles import ROLES, Console, Consoles, shown

Fields = dict[str, str]
Act = Callable[[Any, Fields], dict[str, Any]]


class Pages:
    """The door and the console as pages, and who is logged in."""

    def __init__(self, studio: Studio) -> None:
        self.studio, self.consoles = studio, Consoles()
        self.vault = RemoteVault(studio.vault) if studio.vault else None

    def door(self, request: Request, *, status: int = 200, **more: Any) -> Response:
        context = {"named": self.vault is not None, "roles": ROLES, "problem": None, "token_shown": ""} | more
        return page(request, "vault/door.html", status=status, **context)

    def console(self, request: Request, found: Console, **more: Any) -> Response:
        context: dict[str, Any] = {"problem": None, "done": "", "code": "", "identities": None, "sealed": "", "status": 200}
        context |= {"tables": self.studio.workspace.tables.all() if found.role == "operator" else [], "columns": {}} | more
        try:
            told = shown(found)
        except ShoalError as error:
            self.consoles.leave(request.scope["session"])
            return self.door(request, status=status_of(error), problem=problem_of(error))
        return page(request, "vault/console.html", **told, **context)

    def here(self, request: Request) -> Console:
        found = self.consoles.of(request.scope["session"])
        if found is None:
            raise AccessError("nobody is logged in to the vault.", hint="Go to Vault and log in there.", reason="token")
        return found


def create_router(studio: Studio) -> APIRouter:
    router, pages = APIRouter(), Pages(studio)
    _add_entrance(router, pages)
    _add_acts(router, pages)
    return router


def _add_entrance(router: APIRouter, pages: Pages) -> None:
    """Coming in with a token, claiming one with the halves of a code, and leaving."""

    @router.get("/vault")
    def look(request: Request) -> Response:
        found = pages.consoles.of(request.scope["session"])
        return pages.door(request) if found is None else pages.console(request, found)

    @router.post("/vault/enter")
    async def enter(request: Request) -> Response:
        fields = await fields_of(request)

        def work() -> Response:
            if pages.vault is None or fields.get("role", "") not in ROLES:
                raise UsageError("this role or vault does not exist.", hint="Choose one of those shown.")
            session = pages.vault.login(fields.get("secret", ""))
            try:
                session.domains() if fields["role"] == "operator" else session.requests()
            except ShoalError as error:
                return pages.door(request, status=status_of(error), problem=problem_of(error))
            pages.consoles.enter(request.scope["session"], Console(fields["role"], session))
            return to("/vault")

        return await run_in_threadpool(work)

    @router.post("/vault/enrol")
    async def enrol(request: Request) -> Response:
        fields = await fields_of(request)

        def work() -> Response:
            codes = [c for name in ("first", "second") if (c := fields.get(name, "").strip())]
            if pages.vault is None or not codes:
                raise UsageError("a code is needed.", hint="Type the halves of the code that you were given.")
            try:
                token = pages.vault.enrol(*codes)
            except ShoalError as error:
                return pages.door(request, status=status_of(error), problem=problem_of(error))
            return pages.door(request, token_shown=token)

        return await run_in_threadpool(work)

    @router.post("/vault/leave")
    async def leave(request: Request) -> Response:
        await fields_of(request)
        pages.consoles.leave(request.scope["session"])
        return to("/vault")


def _add_acts(router: APIRouter, pages: Pages) -> None:
    """What a role may do."""

    def acting(path: str, act: Act) -> None:
        @router.post(f"/vault/{path}", name=f"vault {path}")
        async def acted(request: Request) -> Response:
            fields = await fields_of(request)

            def work() -> Response:
                found = pages.here(request)
                try:
                    told = act(found.session, fields)
                except SecondPersonNeeded as error:
                    told = {"done": error.message}
                except ShoalError as error:
                    return pages.console(request, found, problem=problem_of(error), status=status_of(error))
                return pages.console(request, found, **told)

            return await run_in_threadpool(work)

    for path, act in ACTS.items():
        acting(path, act)

    @router.post("/vault/pseudonymize")
    async def pseudonymize(request: Request) -> Response:
        fields = await fields_of(request)
        return await run_in_threadpool(
            _pseudonymized,
            pages.studio,
            pages.here(request),
            fields,
            lambda **more: pages.console(request, pages.here(request), **more),
        )


def _pseudonymized(studio: Studio, found: Console, fields: Fields, again: Callable[..., Response]) -> Response:
    """A table of the workspace with its identities replaced, as a download that is not kept."""
    kept = studio.workspace.tables.get(fields.get("table", ""))
    wanted = [c.strip() for c in fields.get("columns", "").split(",") if c.strip()]
    place = studio.workspace.files.root / "incoming" / f"{secrets.token_hex(8)}.csv"
    try:
        if not wanted:
            raise UsageError("no column was named.", hint="Write the columns that name people, separated by commas.")
        pseudonymize_table(
            found.session,  # the same calls, through the service
            studio.workspace.tables.path(kept),
            place,
            domain=fields.get("domain", ""),
            columns=wanted,
            purpose=fields.get("purpose", ""),
        )
    except ShoalError as error:
        place.unlink(missing_ok=True)
        return again(problem=problem_of(error), status=status_of(error))
    done = BackgroundTask(place.unlink, missing_ok=True)
    return FileResponse(place, filename=f"{kept.name}-pseudonyms.csv", media_type="text/csv", background=done)


def _request(session: Any, fields: Fields) -> dict[str, Any]:
    named = [p.strip() for p in fields.get("pseudonyms", "").splitlines() if p.strip()]
    made = session.request(fields.get("domain", ""), named, purpose=fields.get("purpose", ""), case=fields.get("case", ""))
    return {"done": f"{made.id} waits for approval by another person."}


def _approve(session: Any, fields: Fields) -> dict[str, Any]:
    """Exactly what was seen is approved: a request that changed since has another digest."""
    made = session.approve(fields.get("id", ""), digest=fields.get("digest") or None)
    return {"done": f"{made.id} is approved. Its requester may reveal it, once."}


def _reveal(session: Any, fields: Fields) -> dict[str, Any]:
    found = session.reveal(fields.get("id", ""))
    identities = None if found.sealed else sorted(found.identities.items())
    return {"identities": identities, "sealed": found.sealed, "done": f"{found.request.id}: shown this once."}


def _confirm(session: Any, fields: Fields) -> dict[str, Any]:
    made = session.confirm(fields.get("id", ""))
    return {"done": f"{made.id} is confirmed.", "code": made.code}


def _actor(session: Any, fields: Fields) -> dict[str, Any]:
    made = session.add_actor(fields.get("name", "").strip(), [fields.get("role", "")])
    return {"done": f"{made.id} waits for a second person.", "code": made.code}


def _domain(session: Any, fields: Fields) -> dict[str, Any]:
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
