"""Jobs as the pages see them: where one is, by events or by asking; and its end on request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from shoal.studio.here import Fields, Studio, posts
from shoal.studio.workspace.database import Job

EVERY = 0.3
"""Seconds between two looks at a job."""
QUIET = 15.0
"""Seconds after which something is sent even if nothing has changed, so that nobody takes the line for dead."""
TABS = {"plans": "improve", "release": "prove", "tries": "prove"}


def create_router(studio: Studio) -> APIRouter:
    router = APIRouter()

    @router.get("/jobs/{job_id}")
    def job(job_id: str) -> Response:
        return JSONResponse(told(studio.workspace.jobs.get(job_id)))

    @router.get("/jobs/{job_id}/events")
    async def events(request: Request, job_id: str) -> Response:
        await run_in_threadpool(studio.workspace.jobs.get, job_id)  # an unknown one is refused here
        return StreamingResponse(_events(studio, job_id, request), media_type="text/event-stream")

    @posts(router, "/jobs/{job_id}/cancel")
    def cancel(*_: Request | Fields, job_id: str) -> str:
        found = studio.workspace.jobs.get(job_id)
        studio.runner.cancel(found.id)
        return f"/t/{found.table_id}/{TABS[found.kind]}"

    return router


def told(job: Job) -> dict[str, Any]:
    """What a page hears of a job: how far, what is done; ``step`` changes when the page should be drawn again."""
    step = f"{job.state}/{job.doing}/{len(job.found.get('plans', []))}"
    return {"open": job.open, "state": job.state, "share": job.share, "doing": job.doing, "step": step}


async def _events(studio: Studio, job_id: str, request: Request) -> AsyncIterator[str]:
    last, quiet = "", 0.0
    while not await request.is_disconnected():
        found = await run_in_threadpool(studio.workspace.jobs.get, job_id)
        text = json.dumps(told(found))
        if text != last:
            yield f"data: {text}\n\n"
            last, quiet = text, 0.0
        elif quiet >= QUIET:
            yield ": still there\n\n"
            quiet = 0.0
        if not found.open:
            return
        await asyncio.sleep(EVERY)
        quiet += EVERY
