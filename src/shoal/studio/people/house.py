"""The application for several people: behind the log-in, each workspace is a studio of its own.

A request goes to the pages of its user's workspace and to no other, so that an address of another workspace names nothing there.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool

from shoal.server.common import LOOPBACK
from shoal.studio import statics
from shoal.studio.app import LIMIT, pages_of
from shoal.studio.people import accounts, login
from shoal.studio.people.guard import PeopleGuard
from shoal.studio.workspace.people import People

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

    async def theirs(scope: Any, receive: Any, send: Any) -> None:
        """Everything else: the pages of the workspace of whoever asks."""
        app = await spaces.of(scope["person"].space)
        await app({**scope, "app": app, "router": app.router}, receive, send)

    app = FastAPI(title="Shoal studio", docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    for part in (statics.create_router(), login.create_router(people), accounts.create_router(people)):
        app.include_router(part)
    accounts.install_errors(app)
    app.mount("/", theirs)
    app.add_middleware(PeopleGuard, people=people, hosts=tuple(hosts))
    return app
