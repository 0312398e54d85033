"""Event tables, where a person has several rows: what a few known records reveal, and a release that they do not."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from shoal.errors import ShoalError
from shoal.find.finding import Scale
from shoal.studio import changes
from shoal.studio.here import Here, Studio, fields_of, here, table_page, to
from shoal.studio.proving.page import FORMATS, queue_release
from shoal.studio.views import events as views
from shoal.studio.workspace.event_policy import MOST_KNOWN, event_policy

TIMES = ("timestamp", "date", "time")
KNOWN = tuple(range(1, MOST_KNOWN + 1))


def create_router(studio: Studio) -> APIRouter:
    router = APIRouter()

    @router.get("/t/{table_id}/events")
    def events(request: Request, table_id: str) -> Response:
        at = here(studio, table_id)
        asked = {name: request.query_params.get(name) for name in ("time", "place")}
        chosen = {name: at.column(number) if number else "" for name, number in asked.items()}
        if asked["time"] is None and asked["place"] is None:
            chosen["time"] = guessed_time(at)
        found, problem = None, None
        if at.policy.unit and any(chosen.values()):
            try:
                found = studio.answers.table(at.kept, views.revealed, at.policy.unit, chosen["time"], chosen["place"])
            except ShoalError as error:
                problem = {"found": error.message, "do": error.hint}
        names = [{"number": i, "name": c.name} for i, c in enumerate(at.columns) if c.name != at.policy.unit]
        told = {"unit": at.policy.unit, "names": names, "chosen": chosen, "found": found, "problem": problem}
        told |= {"places": {c.name: i for i, c in enumerate(at.columns)}, "formats": FORMATS, "known": KNOWN}
        return table_page(request, studio, at, "understand", template="events.html", **told)

    @router.post("/t/{table_id}/event-release")
    async def release(request: Request, table_id: str) -> Response:
        fields = await fields_of(request)
        await run_in_threadpool(_release, studio, table_id, fields)
        return to(f"/t/{table_id}/prove")

    return router


def _release(studio: Studio, table_id: str, fields: dict[str, str]) -> None:
    """The release as a job; its policy is its own, the table's stays as it is."""
    at = here(studio, table_id)
    text = event_policy(
        at.policy,
        [c.name for c in at.columns],
        time=at.column(fields["time"]) if fields.get("time") else "",
        place=at.column(fields["place"]) if fields.get("place") else "",
        records=changes.whole(fields.get("records", "")),
        k=changes.whole(fields.get("k", "")),
        suppress=float(f"{changes.finite(fields.get('suppress', '')) / 100:.6g}"),
    )
    queue_release(studio, at.kept.id, text, fields.get("format", "csv"))


def guessed_time(at: Here) -> str:
    """The first column that holds moments, then days, then texts that are read as such; none where there is no such column."""
    columns = [c for c in at.columns if c.name != at.policy.unit]
    found = [c.name for kind in TIMES for c in columns if c.kind == kind]
    found += [c.name for c in columns if c.kind == "text" and c.scale is Scale.DATE]
    return found[0] if found else ""
