"""Admission to the vault's routes: the token is checked before the body is read, and the body is bounded in size and time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi import HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.concurrency import run_in_threadpool

from shoal.errors import AccessError

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
        from shoal.protector.people.accounts import token_digest

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
            return await inner(Request(request.scope, _bounded(request.receive, most)))

        return handle


async def read_body(request: Request, model: type[Model]) -> Model:
    """The body of a request as ``model``, refused like the framework refuses it."""
    try:
        return model.model_validate_json(await request.body())
    except ValidationError as error:
        found = [{**e, "loc": ("body", *e["loc"])} for e in error.errors(include_input=False, include_url=False)]
        raise RequestValidationError(found) from None


def _bounded(receive: Callable[[], Awaitable[Any]], most: int) -> Callable[[], Awaitable[Any]]:
    """The body of a request, cut off where it becomes too large or comes too slowly."""
    seen, whole = 0, False
    deadline = asyncio.get_running_loop().time() + BODY_SECONDS

    async def bounded() -> Any:
        nonlocal seen, whole
        try:
            async with asyncio.timeout_at(None if whole else deadline):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, f"the body did not come within {BODY_SECONDS:g} seconds.") from None
        whole = not message.get("more_body", False)
        seen += len(message.get("body", b""))
        if seen > most:
            raise HTTPException(413, f"the body is larger than {most:,} bytes.")
        return message

    return bounded
