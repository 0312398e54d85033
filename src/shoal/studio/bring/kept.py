"""What is kept here: everything that the workspace holds, and how to delete it."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from shoal.studio.here import Studio, fields_of, page, to


def create_router(studio: Studio) -> APIRouter:
    router = APIRouter()
    workspace = studio.workspace

    @router.get("/kept")
    def kept(request: Request) -> Response:
        tables = [
            {
                "kept": one,
                "steps": len(workspace.history.steps(one.id)),
                "releases": workspace.releases.of_table(one.id),
                "jobs": workspace.jobs.of_table(one.id),
            }
            for one in workspace.tables.all()
        ]
        asked, own = workspace.questionnaires.all(), (workspace.files.root / "registry").is_dir()
        return page(request, "kept.html", tables=tables, questionnaires=asked, registry=own)

    @router.post("/t/{table_id}/delete")
    async def delete(request: Request, table_id: str) -> Response:
        await fields_of(request)
        await run_in_threadpool(_delete, studio, table_id)
        return to("/kept")

    @router.post("/r/{release_id}/delete")
    async def delete_release(request: Request, release_id: str) -> Response:
        await fields_of(request)
        await run_in_threadpool(lambda: workspace.releases.delete(workspace.releases.get(release_id).id))
        return to("/kept")

    @router.post("/kept/delete")
    async def delete_all(request: Request) -> Response:
        fields = await fields_of(request)
        if fields.get("sure") == "1":
            for one in workspace.tables.all():
                await run_in_threadpool(_delete, studio, one.id)
            await run_in_threadpool(workspace.delete_everything)
        return to("/kept")

    return router


def _delete(studio: Studio, table_id: str) -> None:
    kept = studio.workspace.tables.get(table_id)
    for job in studio.workspace.jobs.of_table(kept.id):
        if job.open:
            studio.runner.cancel(job.id)
    studio.answers.forget(kept.id)
    studio.workspace.delete_table(kept.id)
