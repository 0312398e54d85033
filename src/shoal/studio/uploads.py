"""Tables that people upload, and the home page that lists them."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

import shoal
from shoal.errors import DataError, EngineError, ShoalError
from shoal.report.charts import fish
from shoal.server.common import status_of
from shoal.studio import forms
from shoal.studio.answers import WHILE_CHANGING, patience
from shoal.studio.here import LOOK, THEMES, Fields, Studio, page, posts, problem_of, require_ours, to
from shoal.studio.registry.routes import DECIDING
from shoal.studio.workspace.database import Kept
from shoal.studio.workspace.work import claim_of

DEMO = 20_000


def create_upload_router(studio: Studio) -> APIRouter:
    router = APIRouter()

    @router.post("/tables")
    async def bring(request: Request) -> Response:
        """A table, as a form with a file or as the file itself (sent by our script, with its name in a header)."""
        boundary = forms.boundary_of(request.headers.get("content-type", ""))
        try:
            with studio.workspace.files.incoming(secrets.token_hex(8)) as arrived:
                if boundary is None:
                    require_ours(request, {})
                    name = unquote(request.headers.get("x-file-name", ""))
                    await forms.write_body(request.stream(), arrived, studio.limit)
                else:
                    sent = await forms.read_parts(request.stream(), boundary, arrived, studio.limit)
                    require_ours(request, sent.fields)
                    name = sent.file
                kept = await run_in_threadpool(_take, studio, arrived, name)
        except ShoalError as error:
            return await run_in_threadpool(home_page, request, studio, error)
        place = f"/t/{kept.id}/measure"
        return to(place) if boundary is not None else Response(status_code=201, headers={"X-Place": place})

    @posts(router, "/databases")
    def read(request: Request, fields: Fields) -> Response | str:
        """A table of a database, copied as it is now."""
        try:
            return f"/t/{_copy(studio, fields.get('database', ''), fields.get('table', '')).id}/measure"
        except ShoalError as error:
            return home_page(request, studio, error)

    @posts(router, "/demo")
    def demo(*_: Request | Fields) -> str:
        return f"/t/{_demo(studio).id}/measure"

    return router


def _take(studio: Studio, arrived: Path, name: str) -> Kept:
    """A table that can be opened, or about which the reader asks; what cannot be opened leaves nothing behind."""
    kept = studio.workspace.tables.add(arrived, name)
    patience.set(WHILE_CHANGING)
    try:
        studio.answers.columns(kept)
    except BaseException as error:
        studio.answers.forget(kept.id)
        if getattr(error, "answers", ()):
            return kept  # its first page asks
        studio.workspace.tables.delete(kept.id)
        raise
    return kept


def _copy(studio: Studio, database: str, table: str) -> Kept:
    source = studio.databases.source(database, table)
    with studio.workspace.files.incoming(secrets.token_hex(8)) as arrived:
        try:
            studio.answers.copied(source, arrived, studio.limit)
        except EngineError as error:
            raise NotGiven(error.message, hint=error.hint) from None
        return _take(studio, arrived, f"{table.strip()}.parquet")


class NotGiven(DataError):
    """A database refused, or did not answer."""

    status = 502


def _demo(studio: Studio) -> Kept:
    """People who do not exist."""
    with studio.workspace.files.incoming(secrets.token_hex(8)) as arrived:
        made = arrived.with_suffix(".parquet")
        try:
            shoal.datasets.write_people(made, DEMO, 1)
            made.replace(arrived)
        finally:
            made.unlink(missing_ok=True)
        return studio.workspace.tables.add(arrived, "people.parquet")


FISHES = 20


def create_home_router(studio: Studio) -> APIRouter:
    router = APIRouter()

    @router.get("/")
    def home(request: Request) -> Response:
        return home_page(request, studio)

    @posts(router, "/look")
    def look(_: Request, fields: Fields) -> Response:
        back = fields.get("back", "/")
        answer = to(back if back.startswith("/") and not back.startswith("//") and "\\" not in back else "/")
        theme = fields.get("theme", "")
        if theme in THEMES:
            answer.set_cookie(LOOK, theme, max_age=31_536_000, httponly=True, samesite="strict", path="/")
        return answer

    return router


def home_page(request: Request, studio: Studio, error: ShoalError | None = None) -> Response:
    """The first page; with what was wrong about a file that somebody dropped."""
    problem: dict[str, str] | None = None
    status = 200
    if error is not None:
        status, problem = status_of(error), problem_of(error)
    try:
        databases, wrong = studio.databases.names(), ""
    except DataError as unread:
        databases, wrong = [], f"{unread.message} {unread.hint}"
    cards = [_card(studio, kept) for kept in studio.workspace.tables.all()]
    shown = {"cards": cards, "problem": problem, "sign": fish(30, 1, fishes=30), "databases": databases, "wrong": wrong}
    return page(request, "home.html", status=status, deciding=DECIDING, **shown)


def _card(studio: Studio, kept: Kept) -> dict[str, Any]:
    """What the card of a table says: its sentence, its shoal, what was done last and what comes next."""
    content = dict(kept.told)
    released = studio.workspace.releases.of_table(kept.id)
    now = studio.workspace.history.now(kept.id)
    sentence, drawn = content.get("sentence", "Not measured yet."), None
    following = ("improve", "Continue with Improve") if "sentence" in content else ("measure", "Measure it")
    if content.get("people"):
        drawn = fish(content["people"], content["unique"], fishes=FISHES)
    if released:
        made = released[0].told
        sentence = f"In the release {claim_of(made)} {made['suppressed']:,} were left out."
        following = ("prove", "Open the release")
        drawn = fish(made["records"] + made["suppressed"], 0, out=made["suppressed"], fishes=FISHES)
    last = "Proved" if released else now.words if now is not None else "Brought"
    card = {"kept": kept, "told": content, "released": bool(released), "sentence": sentence}
    return {**card, "fish": drawn, "last": last, "next": following}


def create_tables_router(studio: Studio) -> APIRouter:
    router = APIRouter()
    workspace = studio.workspace

    @router.get("/kept")
    def kept(request: Request) -> Response:
        history, releases, jobs = workspace.history, workspace.releases, workspace.jobs
        tables = [
            {"kept": t, "steps": len(history.steps(t.id)), "releases": releases.of_table(t.id), "jobs": jobs.of_table(t.id)}
            for t in workspace.tables.all()
        ]
        asked, own = workspace.questionnaires.all(), (workspace.files.root / "registry").is_dir()
        return page(request, "kept.html", tables=tables, questionnaires=asked, registry=own)

    @posts(router, "/t/{table_id}/delete")
    def delete(*_: Request | Fields, table_id: str) -> str:
        _delete(studio, table_id)
        return "/kept"

    @posts(router, "/r/{release_id}/delete")
    def delete_release(*_: Request | Fields, release_id: str) -> str:
        workspace.releases.delete(workspace.releases.get(release_id).id)
        return "/kept"

    @posts(router, "/kept/delete")
    def delete_all(_: Request, fields: Fields) -> str:
        if fields.get("sure") == "1":
            for one in workspace.tables.all():
                _delete(studio, one.id)
            workspace.delete_everything()
        return "/kept"

    return router


def _delete(studio: Studio, table_id: str) -> None:
    kept = studio.workspace.tables.get(table_id)
    for job in studio.workspace.jobs.of_table(kept.id):
        if job.open:
            studio.runner.cancel(job.id)
    studio.answers.forget(kept.id)
    studio.workspace.delete_table(kept.id)
