"""The catalogue over HTTP: who holds what, who asks for what, and what that means together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import StringConstraints

from shoal.registry.keep.store import Store
from shoal.server.registry import models
from shoal.server.registry.workers import Question

Reply = Callable[[Request, Question], Awaitable[Response]]
"""How a long question is answered: charged to its asker, elsewhere if there are workers."""
_Plain = StringConstraints(pattern=r"^[^\x00]*$")
Text = Annotated[str, Query(max_length=200, description="A part of the name of a population."), _Plain]
After = Annotated[str, Query(max_length=64, description="The last one of the page before."), _Plain]
Anchors = Annotated[str, Query(max_length=2000, description="Public keys that you trust, separated by commas."), _Plain]
Limit = Annotated[int, Query(ge=1, le=500)]


def add_catalogue(router: APIRouter, store: Store, reply_long: Reply) -> None:
    """Routes that read the catalogue."""

    @router.get("/catalogue", summary="What holders hold and ask for", response_model=models.NoticeList)
    def notices(text: Text = "", limit: Limit = 100) -> dict[str, Any]:
        found = store.notices.current(text, limit=limit + 1)
        return {"notices": [n.to_json() for n in found[:limit]], "more": len(found) > limit}

    @router.get("/catalogue/history", summary="Every notice ever taken", response_model=models.NoticePage)
    def history(after: After = "", limit: Limit = 100) -> dict[str, Any]:
        page = store.notices.history(after=after, limit=limit)
        shown = [{"notice": n.to_json(), "status": status} for n, status in page]
        return {"notices": shown, "next": page[-1][0].id if len(page) == limit else None}

    @router.get(
        "/catalogue/matches",
        summary="Who could join what, and what is asked that is held elsewhere",
        responses={200: {"model": models.MatchesAnswer}},
    )
    async def matches(request: Request, text: Text = "", trust: Anchors = "") -> Response:
        anchors = [a.strip() for a in trust.split(",") if a.strip()]
        return await reply_long(request, Question("matches", [], text, 1, 0.0, anchors))
