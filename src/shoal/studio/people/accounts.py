"""One's own account, and for admins the list of those who may come in."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from shoal.errors import ShoalError, UsageError
from shoal.server.common import status_of
from shoal.studio.guard import with_session
from shoal.studio.here import fields_of, page, to, trouble
from shoal.studio.workspace.people import ROLES, People, User
from shoal.studio.workspace.people.passwords import invented


def create_router(people: People) -> APIRouter:
    router = APIRouter()

    @router.get("/account")
    def account(request: Request) -> Response:
        return page(request, "people/account.html", beside=_beside(people, request.scope["person"]))

    @router.post("/account/password")
    async def password(request: Request) -> Response:
        fields, person = await fields_of(request), request.scope["person"]
        if await run_in_threadpool(people.users.check, person.name, fields.get("old", "")) is None:
            raise UsageError("the old password is another one.", hint="Type it again; nothing was changed.")
        await run_in_threadpool(people.users.give_password, person.name, fields.get("new", ""))
        token = await run_in_threadpool(people.visits.begin, person)
        return with_session(to("/account"), token, request)

    @router.get("/users")
    def users(request: Request) -> Response:
        return _listed(request, people)

    @router.post("/users")
    async def add(request: Request) -> Response:
        """A new user; the first password is shown on this page and nowhere else."""
        fields, made = await fields_of(request), invented()
        beside = fields.get("beside", "") or None
        user = await run_in_threadpool(
            lambda: people.users.add(fields.get("name", ""), fields.get("role", ""), made, beside=beside)
        )
        return await run_in_threadpool(lambda: _listed(request, people, user, made))

    @router.post("/users/{name}/role")
    async def role(request: Request, name: str) -> Response:
        fields = await fields_of(request)
        await run_in_threadpool(people.users.give_role, _other(request, name), fields.get("role", ""))
        return to("/users")

    @router.post("/users/{name}/remove")
    async def remove(request: Request, name: str) -> Response:
        await fields_of(request)
        await run_in_threadpool(people.users.remove, _other(request, name))
        return to("/users")

    return router


def install_errors(app: FastAPI) -> None:
    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, ShoalError)
        back = "/users" if request.url.path.startswith("/users") else "/account"
        return trouble(request, error, status=status_of(error), back=back)

    app.add_exception_handler(ShoalError, refused)


def _listed(request: Request, people: People, made: User | None = None, password: str = "") -> Response:
    rows = [{"user": u, "beside": _beside(people, u)} for u in people.users.all()]
    return page(request, "people/users.html", rows=rows, roles=ROLES, made=made, password=password)


def _beside(people: People, person: User) -> list[str]:
    """Whoever else has the same workspace."""
    return [u.name for u in people.users.all() if u.space == person.space and u.name != person.name]


def _other(request: Request, name: str) -> str:
    """Somebody else: an admin who takes the role from herself would lock the door from inside."""
    if name == request.scope["person"].name:
        raise UsageError("this is you.", hint="Let another admin do it, or use 'shoal studio user' on the studio's computer.")
    return name
