"""What holders with a token send: records, statements, and lines of the catalogue."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import StringConstraints

from shoal.errors import AccessError, DataError
from shoal.model import strict_json
from shoal.registry.keep.store import Store
from shoal.registry.records.notice import Notice
from shoal.registry.records.record import LARGEST_BYTES, Record
from shoal.registry.records.trust import Statement
from shoal.server.registry import models
from shoal.server.registry.workers import Question

Credentials = Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))]


def add_publishing(router: APIRouter, store: Store) -> None:
    def holder(credentials: Credentials) -> None:
        if credentials is None or not store.knows_token(credentials.credentials):
            raise AccessError("publishing needs a token of this registry.", hint="Send: Authorization: Bearer TOKEN", status=401)

    def taken(identity: str) -> models.Submitted:
        line, head = store.head()
        return models.Submitted(id=identity, line=line, head=head)

    def body(model: type[models.Strict]) -> dict[str, Any]:
        schema = model.model_json_schema()
        return {"requestBody": {"content": {"application/json": {"schema": schema}}, "required": True}}

    guarded: dict[str, Any] = {"dependencies": [Depends(holder)], "status_code": 201}

    def take_record(token: str, content: Any) -> models.Submitted:
        record = Record.from_json(content).verify()
        store.tokens.admit_record(token, record)
        return taken(store.submit(record).id)

    def take_statement(token: str, content: Any) -> models.Submitted:
        statement = Statement.from_json(content).verify()
        store.tokens.admit_statement(token, statement)
        return taken(store.state(statement).subject)

    def take_notice(token: str, content: Any) -> models.Submitted:
        notice = Notice.from_json(content).verify()
        store.tokens.admit_record(token, notice)
        return taken(store.notices.submit(notice).id)

    @router.post("/catalogue", summary="Say what you hold or ask for", openapi_extra=body(models.NoticeBody), **guarded)
    async def notice(request: Request, credentials: Credentials) -> models.Submitted:
        return await run_in_threadpool(take_notice, _token(credentials), await _json(request))

    @router.post("/records", summary="Publish a signed record", openapi_extra=body(models.RecordBody), **guarded)
    async def submit(request: Request, credentials: Credentials) -> models.Submitted:
        return await run_in_threadpool(take_record, _token(credentials), await _json(request))

    @router.post("/statements", summary="Endorse or revoke", openapi_extra=body(models.StatementBody), **guarded)
    async def state(request: Request, credentials: Credentials) -> models.Submitted:
        return await run_in_threadpool(take_statement, _token(credentials), await _json(request))


def _token(credentials: HTTPAuthorizationCredentials | None) -> str:
    return credentials.credentials if credentials is not None else ""


async def _json(request: Request) -> Any:
    """The body as JSON, read no further than a record can be long."""
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > LARGEST_BYTES:
            raise DataError(
                "the submission is larger than a record can be.", hint=f"At most {LARGEST_BYTES:,} bytes.", status=413
            )
    try:
        return strict_json.loads(content)
    except (ValueError, RecursionError):
        raise DataError("the submission is not JSON.", hint="Send what shoal registry publish writes.") from None


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
        summary="Who could join what, and which questions ask for data held elsewhere",
        responses={200: {"model": models.MatchesAnswer}},
    )
    async def matches(request: Request, text: Text = "", trust: Anchors = "") -> Response:
        anchors = [a.strip() for a in trust.split(",") if a.strip()]
        return await reply_long(request, Question("matches", [], text, 1, 0.0, anchors))
