"""How a table comes in: a file that is dropped, a table of a named database, or people who do not exist."""

from __future__ import annotations

import secrets
from pathlib import Path
from urllib.parse import unquote

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

import shoal
from shoal.errors import DataError, EngineError, ShoalError
from shoal.studio import forms
from shoal.studio.answers import WHILE_CHANGING, patience
from shoal.studio.bring.home import home_page
from shoal.studio.here import Studio, fields_of, require_ours, to
from shoal.studio.workspace.rows import Kept

DEMO = 20_000


def create_router(studio: Studio) -> APIRouter:
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
                kept = await run_in_threadpool(_taken, studio, arrived, name)
        except ShoalError as error:
            return await run_in_threadpool(home_page, request, studio, error)
        place = f"/t/{kept.id}/measure"
        return to(place) if boundary is not None else Response(status_code=201, headers={"X-Place": place})

    @router.post("/databases")
    async def read(request: Request) -> Response:
        """A table of a database, copied as it is now."""
        fields = await fields_of(request)
        try:
            kept = await run_in_threadpool(_copied, studio, fields.get("database", ""), fields.get("table", ""))
        except ShoalError as error:
            return await run_in_threadpool(home_page, request, studio, error)
        return to(f"/t/{kept.id}/measure")

    @router.post("/demo")
    async def demo(request: Request) -> Response:
        await fields_of(request)
        kept = await run_in_threadpool(_demo, studio)
        return to(f"/t/{kept.id}/measure")

    return router


def _taken(studio: Studio, arrived: Path, name: str) -> Kept:
    """A table that can be opened; what cannot leaves nothing behind."""
    kept = studio.workspace.tables.add(arrived, name)
    patience.set(WHILE_CHANGING)
    try:
        studio.answers.columns(kept)
    except BaseException:
        studio.answers.forget(kept.id)
        studio.workspace.tables.delete(kept.id)
        raise
    return kept


def _copied(studio: Studio, database: str, table: str) -> Kept:
    source = studio.databases.source(database, table)
    with studio.workspace.files.incoming(secrets.token_hex(8)) as arrived:
        try:
            studio.answers.copied(source, arrived, studio.limit)
        except EngineError as error:
            raise NotGiven(error.message, hint=error.hint) from None
        return _taken(studio, arrived, f"{table.strip()}.parquet")


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
