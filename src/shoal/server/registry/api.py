"""The registry over HTTP: anybody may ask, holders with a token may publish.

:func:`create_router` gives the routes for mounting. Every answer to a question carries an ETag made from its bytes; answers
are kept in memory while the head of the log stands.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import nullcontext
from http import HTTPStatus
from threading import Lock
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import StringConstraints

from shoal.errors import AccessError, DataError
from shoal.kernels.signatures import Signer
from shoal.model import strict_json
from shoal.registry.answer.answer import shown
from shoal.registry.answer.exposure import places_of
from shoal.registry.answer.query import Registry
from shoal.registry.keep.heads import ServedHeads
from shoal.registry.keep.store import Store
from shoal.registry.records.notice import Notice
from shoal.registry.records.record import LARGEST_BYTES, SHARE_STEP, Record
from shoal.registry.records.trust import Statement
from shoal.report.pages import policy, render
from shoal.server.common import Limiter, Problem, neighbourhood, refusals
from shoal.server.registry import models
from shoal.server.registry.workers import AnswerCache, Question, Workers, answer, cost

MOST_GROUP = 10**9
_Plain = StringConstraints(pattern=r"^[^\x00]*$")
Codes = Annotated[str, Query(min_length=1, max_length=1000, description="Attribute codes, separated by commas."), _Plain]
People = Annotated[str, Query(min_length=1, max_length=500, description="place@period;filters"), _Plain]
Anchors = Annotated[str, Query(max_length=2000, description="Public keys that you trust, separated by commas."), _Plain]
Credentials = Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))]
GroupSize = Annotated[int, Query(ge=1, le=MOST_GROUP, description="How many people will be asked.")]
After = Annotated[str, Query(max_length=64, description="The last one of the page before."), _Plain]
Limit = Annotated[int, Query(ge=1, le=500)]
Size = Annotated[int | None, Query(ge=1, le=10**11, description="How many people the population has, if you know.")]
Calm = Callable[[Request], Coroutine[Any, Any, None]]
"""Refuses an address that asks too often."""
Target = Annotated[float, Query(gt=0, lt=1, description="Largest share that may be one of a kind.")]


LONG_RATE, LONG_BURST = 50.0, 2500
"""Cost of long questions that one address may ask a second, and at once: advice on fifty attributes is one burst."""


def create_router(
    store: Store,
    *,
    prefix: str = "/registry/v1",
    rate: float = 2000.0,
    burst: int = 4000,
    workers: Workers | None = None,
    signer: Signer | None = None,
) -> APIRouter:
    """Routes of the registry over one store; with ``workers`` long questions are answered in processes of their own.

    ``signer`` signs the head of the log (:mod:`shoal.registry.keep.heads`).
    """
    limiter = Limiter(rate, burst)

    async def calm(request: Request) -> None:
        if not limiter.allow(neighbourhood(request.client.host if request.client else "")):
            raise AccessError("too many questions from this address.", hint="Wait a moment, or mirror the registry.", status=429)

    problems = refusals(Problem, {c: HTTPStatus(c).phrase for c in (400, 401, 403, 404, 409, 413, 422, 429)})
    router = APIRouter(prefix=prefix, tags=["registry"], dependencies=[Depends(calm)], responses=problems)
    reply_long = _add_questions(router, store, calm, workers)  # first: the most frequent questions match first
    _add_reading(router, store, None if signer is None else ServedHeads(store.log, signer))
    add_publishing(router, store)
    add_catalogue(router, store, reply_long)
    _add_page(router, store)
    return router


def _add_page(router: APIRouter, store: Store) -> None:
    """The page "How exposed am I?": rebuilt when the log has grown; after it is loaded it asks for nothing."""
    kept: dict[str, bytes] = {}
    one_at_a_time = Lock()

    @router.get("/exposed", summary="How exposed am I? A page that computes in the browser", response_class=Response)
    def page(request: Request) -> Response:
        head = store.head()[1]
        with one_at_a_time:
            body = kept.get(head)
            if body is None:
                kept.clear()
                body = kept[head] = render(places_of(store), share_step=SHARE_STEP).encode("utf-8")
        return Response(body, media_type="text/html; charset=utf-8", headers={"Content-Security-Policy": policy()})


def _answer(request: Request, body: bytes) -> Response:
    """The answer with its mark, or only the mark when the asker has the answer already."""
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "public, max-age=0, must-revalidate"}
    known = request.headers.get("if-none-match", "")
    if known.strip() == "*" or tag in {mark.strip().removeprefix("W/") for mark in known.split(",")}:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/json", headers=headers)


def _add_reading(router: APIRouter, store: Store, heads: ServedHeads | None) -> None:
    as_given: dict[str, Any] = {"response_model_exclude_unset": True}

    @router.get("/", summary="Head of the log, signed where the service has a key", response_model=models.Head, **as_given)
    def head(since: Annotated[int, Query(ge=0, le=2**53, description="Lines of a log that you saw before.")] = 0) -> Any:
        line, digest = store.head()
        return {"format": "shoal-registry/1", "line": line, "head": digest, **(heads.since(since) if heads else {})}

    @router.get("/records", summary="Current records, a page at a time", response_model=models.RecordPage, **as_given)
    def records(after: After = "", limit: Limit = 100) -> dict[str, Any]:
        page = store.page(after=after, limit=limit)
        return {"records": [r.to_json() for r in page], "next": page[-1].id if len(page) == limit else None}

    @router.get("/history", summary="Every record ever taken, with its status", response_model=models.HistoryPage, **as_given)
    def history(after: After = "", limit: Limit = 100) -> dict[str, Any]:
        page = store.history(after=after, limit=limit)
        shown = [{"record": r.to_json(), "status": status} for r, status in page]
        return {"records": shown, "next": page[-1][0].id if len(page) == limit else None}

    @router.get("/records/{identity}", summary="One record and its status", response_model=models.RecordAndStatus, **as_given)
    def record(identity: Annotated[str, StringConstraints(max_length=64), _Plain]) -> dict[str, Any]:
        entry = store.get(identity)
        if entry is None:
            raise DataError("no record has this id.", hint="Query by attributes and population.", status=404)
        return {"record": entry[0].to_json(), "status": entry[1]}

    @router.get("/log", summary="Lines of the append-only log", response_model=models.LogPage)
    def log(
        after: Annotated[int, Query(ge=0, le=2**53)] = 0, limit: Annotated[int, Query(ge=1, le=1000)] = 1000
    ) -> dict[str, Any]:
        return {"lines": store.log(after=after, limit=limit)}

    @router.get("/statements", summary="Endorsements and revocations", response_model=models.StatementPage)
    def statements(
        after_key: After = "", after_number: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0, limit: Limit = 100
    ) -> dict[str, Any]:
        return {"statements": [s.to_json() for s in store.statements(after=(after_key, after_number), limit=limit)]}


class _Replies:
    """Answers to questions, from memory while the head of the log stands; long questions are charged to their asker."""

    def __init__(self, store: Store, registry: Registry, workers: Workers | None) -> None:
        self._store, self._registry, self._workers = store, registry, workers
        self._answers, self._long = AnswerCache(), Limiter(LONG_RATE, LONG_BURST)

    async def long(self, request: Request, question: Question) -> Response:
        """Answer a question that takes long: charged to its asker unless the answer is known, elsewhere if there are workers."""

        def make() -> Any:
            if not self._long.allow(neighbourhood(request.client.host if request.client else ""), cost(question)):
                hint = "Wait a minute, or mirror the registry."
                raise AccessError("too many long questions from this address.", hint=hint, status=429)
            return self._workers.ask(question) if self._workers is not None else answer(self._registry, question)

        return await self.reply(request, list(question), make, quick=False)

    async def reply(self, request: Request, question: list[Any], make: Callable[[], Any], *, quick: bool = True) -> Response:
        """Answer from memory or from the store. A local file is read here: that is quicker than to change threads."""
        store = self._store

        def answer() -> bytes:
            with store.reading() if quick else nullcontext():  # a long one is answered elsewhere, and would hold it in vain
                return self._answers.get(store.head()[1], "\x00".join(map(str, question)), make)

        return _answer(request, answer() if quick and store.local else await run_in_threadpool(answer))


def _quick(calm: Calm, query: Callable[[Request, str, str], Coroutine[Any, Any, Response]]) -> type[APIRoute]:
    """A route whose plain questions skip the framework's work on parameters."""

    class Quick(APIRoute):
        """Anything that is not plain goes through the framework, and is refused there."""

        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            usual = super().get_route_handler()

            async def answer(request: Request) -> Response:
                parameters = request.query_params.multi_items()
                texts = dict(parameters)
                plain = len(parameters) == 2 and texts.keys() == {"attributes", "population"}
                if plain and all(0 < len(t) <= 500 and t.isprintable() for t in texts.values()):
                    await calm(request)
                    return await query(request, texts["attributes"], texts["population"])
                return await usual(request)

            return answer

    return Quick


def _add_questions(router: APIRouter, store: Store, calm: Calm, workers: Workers | None) -> Reply:
    registry = Registry(store)
    replies = _Replies(store, registry, workers)

    async def query(request: Request, attributes: Codes, population: People, trust: Anchors = "") -> Response:
        def make() -> dict[str, Any]:
            return shown(registry.query(_split(attributes), population, anchors=_split(trust)))

        return await replies.reply(request, ["q", attributes, population, trust], make)

    documented = _document(models.QueryAnswer)
    summary = "What is known about a quasi-identifier"
    router.add_api_route("/query", query, summary=summary, responses=documented, route_class_override=_quick(calm, query))

    @router.get("/analyse", summary="Predictions for a group of people", responses=_document(models.AnalyseAnswer))
    async def predictions(
        request: Request, attributes: Codes, population: People, group_size: GroupSize, trust: Anchors = "", size: Size = None
    ) -> Response:
        question = Question("analyse", _split(attributes), population, group_size, 0.0, _split(trust), size)
        return await replies.long(request, question)

    @router.get("/decide", summary="Collect, collect in bands, or do not collect", responses=_document(models.DecideAnswer))
    async def advice(
        request: Request, attributes: Codes, population: People, group_size: GroupSize, target: Target = 0.05, trust: Anchors = ""
    ) -> Response:
        return await replies.long(request, Question("decide", _split(attributes), population, group_size, target, _split(trust)))

    return replies.long


def _document(model: type[models.Strict]) -> dict[int | str, dict[str, Any]]:
    tag = {"ETag": {"schema": {"type": "string"}, "description": "Send it back as If-None-Match."}}
    same = {"description": "The answer you have still stands.", "headers": tag}
    return {200: {"model": model, "headers": tag}, 304: same}


def _split(names: str) -> list[str]:
    return [a.strip() for a in names.split(",") if a.strip()]


def add_publishing(router: APIRouter, store: Store) -> None:
    def holder(credentials: Credentials) -> None:
        if credentials is None or not store.tokens.knows(credentials.credentials):
            raise AccessError("publishing needs a token of this registry.", hint="Send: Authorization: Bearer TOKEN", status=401)

    def submitted(identity: str) -> models.Submitted:
        line, head = store.head()
        return models.Submitted(id=identity, line=line, head=head)

    def body(model: type[models.Strict]) -> dict[str, Any]:
        schema = model.model_json_schema()
        return {"requestBody": {"content": {"application/json": {"schema": schema}}, "required": True}}

    guarded: dict[str, Any] = {"dependencies": [Depends(holder)], "status_code": 201}

    def take_record(token: str, content: Any) -> models.Submitted:
        record = Record.from_json(content).verify()
        store.tokens.admit_record(token, record)
        return submitted(store.submit(record).id)

    def take_statement(token: str, content: Any) -> models.Submitted:
        statement = Statement.from_json(content).verify()
        store.tokens.admit_statement(token, statement)
        return submitted(store.state(statement).subject)

    def take_notice(token: str, content: Any) -> models.Submitted:
        notice = Notice.from_json(content).verify()
        store.tokens.admit_record(token, notice)
        return submitted(store.notices.submit(notice).id)

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
Text = Annotated[str, Query(max_length=200, description="A part of the name of a population."), _Plain]


def add_catalogue(router: APIRouter, store: Store, reply_long: Reply) -> None:
    """Routes that read the catalogue."""

    @router.get("/catalogue", summary="What holders hold and ask for", response_model=models.NoticeList)
    def notices(text: Text = "", limit: Limit = 100) -> dict[str, Any]:
        current = store.notices.current(text, limit=limit + 1)
        return {"notices": [n.to_json() for n in current[:limit]], "more": len(current) > limit}

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
