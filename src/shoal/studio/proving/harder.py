"""Ways to try harder: a table that an attacker may have, an earlier release of the same people, kept here or dropped in."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from shoal.disk.atomic import scratch
from shoal.errors import UsageError
from shoal.studio import forms, packed
from shoal.studio.here import Studio, fields_of, require_ours, to
from shoal.studio.workspace.rows import Made


def create_router(studio: Studio) -> APIRouter:
    router = APIRouter()
    workspace = studio.workspace

    @router.post("/r/{release_id}/with")
    async def outside(request: Request, release_id: str) -> Response:
        made = await run_in_threadpool(workspace.releases.get, release_id)
        boundary = _boundary(request)
        with workspace.files.incoming(secrets.token_hex(8)) as arrived:
            sent = await forms.read_parts(request.stream(), boundary, arrived, studio.limit)
            require_ours(request, sent.fields)
            other = await run_in_threadpool(workspace.tables.add, arrived, sent.file)
        return _try(made, {"release": made.id, "other": other.id})

    @router.post("/r/{release_id}/earlier")
    async def earlier(request: Request, release_id: str) -> Response:
        fields = await fields_of(request)
        made = await run_in_threadpool(workspace.releases.get, release_id)
        before = await run_in_threadpool(workspace.releases.get, fields.get("release", ""))
        return _try(made, {"release": made.id, "earlier": before.id})

    @router.post("/r/{release_id}/earlier-file")
    async def dropped(request: Request, release_id: str) -> Response:
        """An earlier release as a zip: kept until it was tried, then gone."""
        made = await run_in_threadpool(workspace.releases.get, release_id)
        boundary = _boundary(request)
        with workspace.files.incoming(secrets.token_hex(8)) as arrived:
            sent = await forms.read_parts(request.stream(), boundary, arrived, studio.limit)
            require_ours(request, sent.fields)
            key = await run_in_threadpool(_unpacked, studio, arrived)
        return _try(made, {"release": made.id, "dropped": key})

    def _try(made: Made, asked: dict[str, str]) -> Response:
        workspace.jobs.add(made.table_id, "tries", asked)
        studio.runner.wake()
        return to(f"/t/{made.table_id}/prove?release={made.id}")

    return router


def _boundary(request: Request) -> bytes:
    found = forms.boundary_of(request.headers.get("content-type", ""))
    if found is None:
        raise UsageError("there is no file.", hint="Choose one.")
    return found


def _unpacked(studio: Studio, arrived: Path) -> str:
    """A dropped release, inside a folder of an id that no release has; it keeps the name it had in the zip."""
    key, folder = studio.workspace.releases.place()
    with scratch() as place:
        inside = packed.unpack(arrived, place / "release", studio.limit)
        shutil.copytree(inside, folder / inside.name[:100])
    return key
