"""Understand: which columns give people away, how much each adds, and whether it is this table or the world."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from shoal.studio.here import Studio, here, table_page
from shoal.studio.views import understood

ASKED = ("a", "b", "c", "order", "example")


def create_router(studio: Studio) -> APIRouter:
    router = APIRouter()

    @router.get("/t/{table_id}/understand")
    def understand(request: Request, table_id: str) -> Response:
        at = here(studio, table_id)
        if not at.policy.quasi:
            return table_page(request, studio, at, "understand", m=None)
        asked = {name: value for name, value in request.query_params.items() if name in ASKED and len(value) <= 400}
        k, least = max(at.policy.smallest_class, 2), at.policy.cells.minimum
        told = studio.answers.measured(at.kept, at.policy, understood.shown, asked, k, least)
        return table_page(request, studio, at, "understand", unit=at.policy.unit, **told)

    return router
