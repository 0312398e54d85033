"""Event tables, where a person has several rows: what a few known records reveal."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from shoal.errors import ShoalError
from shoal.server.studio.here import Here, Studio, here, table_page
from shoal.server.studio.views import events as views

TIMES = ("timestamp", "date", "time")


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
        return table_page(request, studio, at, "understand", template="events.html", **told)

    return router


def guessed_time(at: Here) -> str:
    """The first column that holds moments, then days; none where there is no such column."""
    found = [c.name for kind in TIMES for c in at.columns if c.kind == kind and c.name != at.policy.unit]
    return found[0] if found else ""
