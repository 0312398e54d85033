"""What pages follow while they stand there: the step that holds and the job they show; and the end of a job on request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from shoal.errors import ShoalError
from shoal.studio.here import Fields, Studio, posts
from shoal.studio.workspace.database import Job

EVERY = 0.5
"""Seconds between two looks at what a page follows."""
QUIET = 5.0
"""Seconds after which it is sent again even if nothing has changed, so that nobody takes the line for dead."""
TABS = {"plans": "improve", "release": "prove", "tries": "prove"}


def create_router(studio: Studio) -> APIRouter:
    router = APIRouter()

    @router.get("/jobs/{job_id}")
    def job(job_id: str) -> Response:
        return JSONResponse(job_view(studio.workspace.jobs.get(job_id)))

    @router.get("/t/{table_id}/now")
    def now(table_id: str, job: str = "") -> Response:
        """What a page follows, once."""
        return JSONResponse(followed(studio, table_id, job))

    @router.get("/t/{table_id}/live")
    async def live(request: Request, table_id: str, job: str = "") -> Response:
        """What a page follows, as server-sent events."""

        async def look() -> dict[str, Any]:
            return await run_in_threadpool(followed, studio, table_id, job)

        await look()  # an unknown table or job is refused here
        return StreamingResponse(_events(look, request), media_type="text/event-stream", headers={"cache-control": "no-store"})

    @posts(router, "/jobs/{job_id}/cancel")
    def cancel(*_: Request | Fields, job_id: str) -> str:
        job = studio.workspace.jobs.get(job_id)
        studio.runner.cancel(job.id)
        return f"/t/{job.table_id}/{TABS[job.kind]}"

    return router


def job_view(job: Job) -> dict[str, Any]:
    """What a page hears of a job: how far, what is done; ``step`` changes when the page should be drawn again."""
    step = f"{job.state}/{job.doing}/{len(job.found.get('plans', []))}"
    return {"id": job.id, "open": job.open, "state": job.state, "share": job.share, "doing": job.doing, "step": step}


def followed(studio: Studio, table_id: str, job: str) -> dict[str, Any]:
    """Which step of a table's history holds, and where the job stands that the page shows."""
    step = studio.workspace.history.now(studio.workspace.tables.get(table_id).id)
    return {"state": "" if step is None else step.version, "job": job_view(studio.workspace.jobs.get(job)) if job else None}


async def _events(look: Callable[[], Awaitable[dict[str, Any]]], request: Request) -> AsyncIterator[str]:
    last, quiet = "", 0.0
    while not await request.is_disconnected():
        try:
            text = json.dumps(await look())
        except ShoalError:  # the table was deleted; the page then asks once, and is refused
            return
        if text != last or quiet >= QUIET:
            yield f"data: {text}\n\n"
            last, quiet = text, 0.0
        await asyncio.sleep(EVERY)
        quiet += EVERY
