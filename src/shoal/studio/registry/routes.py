"""Registry pages: the map, one question, publishing, and "How exposed am I?"."""

from __future__ import annotations

import threading
from typing import Any

from fastapi import APIRouter
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from shoal.errors import ShoalError, UsageError
from shoal.registry.answer.exposure import places_of
from shoal.registry.records.record import SHARE_STEP
from shoal.report import exposed
from shoal.server.common import status_of
from shoal.studio.here import Studio, fields_of, page
from shoal.studio.registry import publishing
from shoal.studio.registry.browse import GROUPS, map_of, question
from shoal.studio.registry.shelf import OWN, SHIPPED, Shelf

MOST_TEXT = 200


def create_router(studio: Studio) -> APIRouter:
    router, shelf = APIRouter(), Shelf(studio)
    _browsing(router, shelf)
    _publishing(router, studio, shelf)
    _exposed(router, shelf)
    return router


def _browsing(router: APIRouter, shelf: Shelf) -> None:
    @router.get("/registry")
    def listed(request: Request) -> Response:
        which, group = _which(request, shelf), _group(request)
        text = request.query_params.get("text", "").strip()[:MOST_TEXT]
        with shelf.asked(which) as registry:
            found = map_of(registry, text, group)
        return page(request, "registry/map.html", which=which, own=shelf.has_own, text=text, group=group, groups=GROUPS, **found)

    @router.get("/registry/question")
    def one(request: Request) -> Response:
        which, group = _which(request, shelf), _group(request)
        codes = [c.strip() for c in request.query_params.get("attributes", "")[:MOST_TEXT].split(",") if c.strip()]
        place = request.query_params.get("population", "")[:MOST_TEXT]
        shown: dict[str, Any] = {
            "which": which,
            "own": shelf.has_own,
            "group": group,
            "groups": GROUPS,
            "codes": ",".join(codes),
            "place": place,
        }
        if not codes or not place:
            return page(request, "registry/question.html", **shown, found=None, problem=None)
        try:
            with shelf.asked(which) as registry:
                found = question(registry, codes, place, group)
        except ShoalError as error:
            problem = {"found": error.message[:1].upper() + error.message[1:], "do": error.hint}
            return page(request, "registry/question.html", status=status_of(error), **shown, found=None, problem=problem)
        return page(request, "registry/question.html", **shown, found=found, problem=None)


def _publishing(router: APIRouter, studio: Studio, shelf: Shelf) -> None:
    def form(request: Request, fields: dict[str, str], **more: Any) -> Response:
        tables = studio.workspace.tables.all()
        chosen = next((t for t in tables if t.id == fields.get("table", "")), None)
        names = [] if chosen is None else columns_of(chosen.id)
        shown: dict[str, Any] = {
            "leaves": "",
            "notes": (),
            "record": None,
            "problem": None,
            "proposal": None,
            "status": 200,
        } | more
        return page(request, "registry/publish.html", tables=tables, chosen=chosen, names=names, fields=fields, **shown)

    def columns_of(table_id: str) -> list[str]:
        return [c.name for c in studio.answers.columns(studio.workspace.tables.get(table_id)).columns]

    def work(request: Request, fields: dict[str, str]) -> Response:
        """Look, and publish only what was looked at."""
        try:
            asked = publishing.asked_of(studio, columns_of(fields.get("table", "")), fields)
            found = publishing.proposal_of(studio, shelf, asked)
            text = publishing.leaves(found)
            if fields.get("leaves", "").replace("\r\n", "\n") != text:
                return form(request, fields, leaves=text, notes=found.notes, proposal=found)
            record = publishing.published(shelf, found)
        except ShoalError as error:
            problem = {"found": error.message[:1].upper() + error.message[1:], "do": error.hint}
            return form(request, fields, problem=problem, status=status_of(error))
        return form(request, fields, leaves=publishing.as_file(record), notes=found.notes, record=record)

    @router.get("/registry/publish")
    def ask(request: Request) -> Response:
        return form(request, {"table": request.query_params.get("table", "")})

    @router.post("/registry/publish")
    async def send(request: Request) -> Response:
        fields = await fields_of(request)
        return await run_in_threadpool(work, request, fields)


def _exposed(router: APIRouter, shelf: Shelf) -> None:
    """The page computes in the browser from the records that it is sent with; it asks for nothing and sends nothing."""
    lock = threading.Lock()
    made: dict[tuple[str, str], Markup] = {}

    @router.get("/me")
    def me(request: Request) -> Response:
        which = _which(request, shelf)
        with lock, shelf.asked(which) as registry:
            head = (which, registry.source.head()[1])
            if head not in made:
                made.clear()
                made[head] = exposed.records_of(places_of(registry.source), share_step=SHARE_STEP)
        return page(request, "registry/me.html", body=exposed.body(), records=made[head], which=which, own=shelf.has_own)


def _which(request: Request, shelf: Shelf) -> str:
    return OWN if request.query_params.get("from") == OWN and shelf.has_own else SHIPPED


def _group(request: Request) -> int:
    said = request.query_params.get("group", "100")
    if not said.isdecimal() or not 1 <= int(said[:12]) <= 10**9:
        raise UsageError("a group is a number of people.", hint="Write for instance 100.")
    return int(said[:12])
