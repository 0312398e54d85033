"""The vault's door: who calls is asked before anything is read, and look-ups that arrive together share one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from shoal.errors import AccessError, ShoalError

if TYPE_CHECKING:
    from shoal.protector.session import Session
    from shoal.protector.vault import Vault

MOST_BYTES = 64_000_000
"""The largest body of a request: 10,000 identities of the longest kind, and some room."""


class Unauthorized(Exception):
    """No token, or one that is not valid."""


class Gathered:
    """Look-ups that arrive together, answered from one transaction per token, domain and purpose."""

    def __init__(self, most: int = 256) -> None:
        self._most = most
        self._waiting: list[tuple[tuple[Session, str, str], str, asyncio.Future[str | None]]] = []
        self._running = False

    async def find(self, session: Session, domain: str, identity: str, purpose: str) -> str | None:
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(((session, domain, purpose), identity, answer))
        if not self._running:
            self._running = True
            self._task = asyncio.create_task(self._run())
        return await answer

    async def _run(self) -> None:
        try:
            while self._waiting:
                part, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
                groups: dict[tuple[Session, str, str], list[tuple[str, asyncio.Future[str | None]]]] = {}
                for key, identity, answer in part:
                    groups.setdefault(key, []).append((identity, answer))
                for (session, domain, purpose), members in groups.items():
                    await self._answer(session, domain, purpose, members)
        finally:
            self._running = False

    async def _answer(
        self, session: Session, domain: str, purpose: str, members: Sequence[tuple[str, asyncio.Future[str | None]]]
    ) -> None:
        identities = [identity for identity, _ in members]
        try:
            found = await run_in_threadpool(session.find_many, domain, identities, purpose=purpose)
        except ShoalError as error:
            for _, answer in members:
                if not answer.cancelled():
                    answer.set_exception(error)
            return
        for (_, answer), pseudonym in zip(members, found, strict=True):
            if not answer.cancelled():
                answer.set_result(pseudonym)


class Doorman:
    """Sessions by token, so that a token is looked up once; its rights are checked again in every transaction."""

    def __init__(self, vault: Vault, most: int = 1024) -> None:
        self._vault = vault
        self._known: dict[str, Session] = {}
        self._most = most

    async def admit(self, request: Request) -> Session:
        """The session of the caller's token."""
        from shoal.protector.actors import token_digest

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

    def route_class(self) -> type[APIRoute]:
        """Routes that admit the caller first and only then read the body, up to :data:`MOST_BYTES`."""
        doorman = self

        class Guarded(APIRoute):
            def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
                inner = super().get_route_handler()

                async def handle(request: Request) -> Response:
                    request.state.vault_session = await doorman.admit(request)
                    return await inner(Request(request.scope, _bounded(request.receive)))

                return handle

        return Guarded


def _bounded(receive: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[Any]]:
    """The body of a request, cut off where it becomes too large."""
    seen = 0

    async def bounded() -> Any:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > MOST_BYTES:
            raise HTTPException(413, f"the body is larger than {MOST_BYTES:,} bytes.")
        return message

    return bounded
