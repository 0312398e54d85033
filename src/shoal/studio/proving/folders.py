"""The files of a release, alone or as a zip; its policy, also with its seed; and any release that is dropped, counted again."""

from __future__ import annotations

import secrets
from pathlib import Path

from fastapi import APIRouter
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

import shoal
from shoal.disk.folder import scratch
from shoal.errors import ShoalError, UsageError
from shoal.release.certificate.outcome import Verification
from shoal.release.make import private_file
from shoal.server.common import status_of
from shoal.studio import forms, packed
from shoal.studio.here import Studio, fields_of, page, require_ours
from shoal.studio.workspace import edits
from shoal.studio.workspace.rows import Made


def create_router(studio: Studio) -> APIRouter:
    router = APIRouter()
    workspace = studio.workspace

    @router.get("/r/{release_id}/{name}.zip")
    def whole(release_id: str, name: str) -> Response:
        made = workspace.releases.get(release_id)
        place = workspace.files.root / "incoming" / secrets.token_hex(8)
        packed.pack(workspace.releases.folder(made), place, made.name)
        done = BackgroundTask(place.unlink, missing_ok=True)
        return FileResponse(place, filename=f"{made.name}.zip", media_type="application/zip", background=done)

    @router.get("/r/{release_id}/file/{number}")
    def file(release_id: str, number: int) -> Response:
        made = workspace.releases.get(release_id)
        found = files_of(workspace.releases.folder(made))
        if not 0 <= number < len(found):
            raise UsageError("there is no such file.", hint="Choose one of the list.", reason="unknown")
        path = found[number]
        if path.name != "report.html":
            return FileResponse(path, filename=path.name, media_type="application/octet-stream")
        text = path.read_text(encoding="utf-8")
        return HTMLResponse(text, headers={"content-security-policy": packed.policy_of(text), "x-frame-options": "SAMEORIGIN"})

    @router.get("/r/{release_id}/policy.yml")
    def asked(release_id: str) -> Response:
        made = workspace.releases.get(release_id)
        headers = {"content-disposition": 'attachment; filename="policy.yml"'}
        return Response(made.told.get("policy", ""), media_type="application/yaml", headers=headers)

    @router.post("/r/{release_id}/policy-with-seed.yml")
    async def repeats(request: Request, release_id: str) -> Response:
        """The policy with the seed of its random changes. Sent, not linked to, so that a viewer is refused."""
        await fields_of(request)
        made = await run_in_threadpool(workspace.releases.get, release_id)
        text = await run_in_threadpool(_with_seed, made, workspace.releases.folder(made))
        headers = {"content-disposition": 'attachment; filename="policy-with-seed.yml"', "cache-control": "no-store"}
        return Response(text, media_type="application/yaml", headers=headers)

    @router.get("/verify")
    def ask(request: Request) -> Response:
        return page(request, "verify.html", found=None, problem=None)

    @router.post("/verify")
    async def verify(request: Request) -> Response:
        boundary = forms.boundary_of(request.headers.get("content-type", ""))
        if boundary is None:
            raise UsageError("there is no file.", hint="Choose one.")
        try:
            with workspace.files.incoming(secrets.token_hex(8)) as arrived:
                sent = await forms.read_parts(request.stream(), boundary, arrived, studio.limit)
                require_ours(request, sent.fields)
                found = await run_in_threadpool(_verified, arrived, studio.limit)
        except ShoalError as error:
            said = error.message.removeprefix("Found: ")
            problem = {"found": said[:1].upper() + said[1:], "do": error.hint}
            return page(request, "verify.html", status=status_of(error), found=None, problem=problem)
        return page(request, "verify.html", found=found, problem=None)

    return router


def files_of(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file()) if folder.is_dir() else []


def _with_seed(made: Made, folder: Path) -> str:
    kept = private_file.read(private_file.place_of(folder)).seed if made.told.get("private") else None
    if kept is None:
        raise UsageError("nothing of this release was drawn.", hint="Its policy.yml alone repeats it.", reason="unknown")
    return edits.with_seed(made.told["policy"], kept)


def _verified(arrived: Path, limit: int) -> Verification:
    with scratch() as place:
        folder = packed.unpack(arrived, place / "release", limit)
        return shoal.verify(folder)
