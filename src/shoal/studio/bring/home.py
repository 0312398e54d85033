"""The first page: drop a table in, name a database, try the demo, go on where you were; and light or dark."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from shoal.errors import DataError, ShoalError
from shoal.report.charts import fish
from shoal.server.common import status_of
from shoal.studio.here import LOOK, THEMES, Studio, fields_of, page, to
from shoal.studio.workspace.rows import Kept

FISHES = 20


def create_router(studio: Studio) -> APIRouter:
    router = APIRouter()

    @router.get("/")
    def home(request: Request) -> Response:
        return home_page(request, studio)

    @router.post("/look")
    async def look(request: Request) -> Response:
        fields = await fields_of(request)
        back = fields.get("back", "/")
        answer = to(back if back.startswith("/") and not back.startswith("//") and "\\" not in back else "/")
        theme = fields.get("theme", "")
        if theme in THEMES:
            answer.set_cookie(LOOK, theme, max_age=31_536_000, httponly=True, samesite="strict", path="/")
        return answer

    return router


def home_page(request: Request, studio: Studio, error: ShoalError | None = None) -> Response:
    """The first page; with what was wrong about a file that somebody dropped."""
    problem, status = None, 200
    if error is not None:
        status = status_of(error)
        message = error.message[:1].upper() + error.message[1:]
        problem = {"found": message.removeprefix("Found: "), "do": error.hint}
    try:
        databases, wrong = studio.databases.names(), ""
    except DataError as unread:
        databases, wrong = [], f"{unread.message} {unread.hint}"
    cards = [_card(studio, kept) for kept in studio.workspace.tables.all()]
    sign = fish(30, 1, fishes=30)
    return page(request, "home.html", status=status, cards=cards, problem=problem, sign=sign, databases=databases, wrong=wrong)


def _card(studio: Studio, kept: Kept) -> dict[str, Any]:
    """What the card of a table says: its sentence, its shoal, what was done last and what comes next."""
    told = dict(kept.told)
    released = studio.workspace.releases.of_table(kept.id)
    now = studio.workspace.history.now(kept.id)
    sentence, drawn = told.get("sentence", "Not measured yet."), None
    following = ("improve", "Continue with Improve") if "sentence" in told else ("measure", "Measure it")
    if told.get("people"):
        drawn = fish(told["people"], told["unique"], fishes=FISHES)
    if released:
        made = released[0].told
        said = made.get("says") or f"everyone hides among at least {made['k']:,}."
        sentence = f"In the release {said} {made['suppressed']:,} were left out."
        following = ("prove", "Open the release")
        drawn = fish(made["records"] + made["suppressed"], 0, out=made["suppressed"], fishes=FISHES)
    last = "Proved" if released else now.words if now is not None else "Brought"
    return {
        "kept": kept,
        "told": told,
        "released": bool(released),
        "sentence": sentence,
        "fish": drawn,
        "last": last,
        "next": following,
    }
