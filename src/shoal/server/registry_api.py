"""The registry over HTTP: anybody may ask, holders with a token may publish.

:func:`create_router` gives the routes for mounting. Every answer carries an ETag made from the head of the log, so that a
repeated question costs nothing while nothing changed; answers are kept in memory under the same mark.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, ConfigDict, StringConstraints

from shoal.errors import AccessError, DataError
from shoal.model.plain import plain
from shoal.registry.decide import decide
from shoal.registry.query import Registry
from shoal.registry.record import LARGEST_BYTES, Record
from shoal.registry.store import Store
from shoal.registry.tell import analysed, shown
from shoal.registry.trust import Statement

MOST_GROUP = 10**9
_Plain = StringConstraints(pattern=r"^[^\x00]*$")
Codes = Annotated[str, Query(min_length=1, max_length=1000, description="Attribute codes, separated by commas."), _Plain]
People = Annotated[str, Query(min_length=1, max_length=500, description="place@period;filters"), _Plain]
Credentials = Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))]
GroupSize = Annotated[int, Query(ge=1, le=MOST_GROUP, description="How many people will be asked.")]


class Problem(BaseModel):
    """What went wrong, and what to do next."""

    error: str
    message: str
    hint: str = ""


class Submitted(BaseModel):
    """A record or statement that was taken."""

    model_config = ConfigDict(extra="forbid")
    id: str
    line: int
    head: str


class Limiter:
    """At most ``rate`` calls a second from one address, with a burst; old addresses are forgotten."""

    def __init__(self, rate: float, burst: int) -> None:
        self.rate, self.burst = rate, burst
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def allow(self, who: str) -> bool:
        now = time.monotonic()
        with self._lock:
            left, then = self._left.pop(who, (float(self.burst), now))
            left = min(float(self.burst), left + (now - then) * self.rate)
            self._left[who] = (max(left - 1, 0.0), now) if left >= 1 else (left, now)
            while len(self._left) > 10_000:
                self._left.popitem(last=False)
            return left >= 1


class Answers:
    """Answers kept under the head of the log: a new record empties them."""

    def __init__(self, most: int = 20_000) -> None:
        self.most = most
        self._head = ""
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._lock = Lock()

    def get(self, head: str, question: str, make: Callable[[], Any]) -> bytes:
        with self._lock:
            if head != self._head:
                self._kept.clear()
                self._head = head
            found = self._kept.get(question)
        if found is None:
            found = json.dumps(plain(make()), ensure_ascii=False).encode("utf-8")
            with self._lock:
                if head == self._head:
                    self._kept[question] = found
                    while len(self._kept) > self.most:
                        self._kept.popitem(last=False)
        return found


def create_router(store: Store, *, prefix: str = "/registry/v1", rate: float = 2000.0, burst: int = 4000) -> APIRouter:
    """Routes of the registry over one store."""
    limiter = Limiter(rate, burst)

    def calm(request: Request) -> None:
        if not limiter.allow(request.client.host if request.client else ""):
            raise AccessError("too many questions from this address.", hint="Wait a moment, or mirror the registry.", status=429)

    problems: dict[int | str, dict[str, Any]] = {c: {"model": Problem} for c in (400, 401, 403, 404, 413, 422, 429)}
    router = APIRouter(prefix=prefix, tags=["registry"], dependencies=[Depends(calm)], responses=problems)
    _add_reading(router, store)
    _add_questions(router, store)
    _add_publishing(router, store)
    return router


def _answer(request: Request, head: str, body: bytes) -> Response:
    tag = f'"{hashlib.sha256(head.encode() + body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "public, max-age=0, must-revalidate"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/json", headers=headers)


def _add_reading(router: APIRouter, store: Store) -> None:
    @router.get("/", summary="Head of the log")
    def head() -> dict[str, Any]:
        line, digest = store.head()
        return {"format": "shoal-registry/1", "line": line, "head": digest}

    @router.get("/records", summary="Current records, a page at a time")
    def records(
        after: Annotated[str, Query(max_length=64), _Plain] = "", limit: Annotated[int, Query(ge=1, le=500)] = 100
    ) -> dict[str, Any]:
        page = store.page(after=after, limit=limit)
        return {"records": [r.to_json() for r in page], "next": page[-1].id if len(page) == limit else None}

    @router.get("/records/{identity}", summary="One record and its status")
    def record(identity: Annotated[str, StringConstraints(max_length=64), _Plain]) -> dict[str, Any]:
        found = store.get(identity)
        if found is None:
            raise DataError("no record has this id.", hint="Query by attributes and population.", status=404)
        return {"record": found[0].to_json(), "status": found[1]}

    @router.get("/log", summary="Lines of the append-only log")
    def log(
        after: Annotated[int, Query(ge=0, le=2**53)] = 0, limit: Annotated[int, Query(ge=1, le=1000)] = 1000
    ) -> dict[str, Any]:
        return {"lines": store.log(after=after, limit=limit)}

    @router.get("/statements", summary="Endorsements and revocations")
    def statements() -> dict[str, Any]:
        return {"statements": [s.to_json() for s in store.statements()]}


def _add_questions(router: APIRouter, store: Store) -> None:
    registry, answers = Registry(store), Answers()

    def reply(request: Request, question: str, make: Callable[[], Any]) -> Response:
        _, head = store.head()
        return _answer(request, head, answers.get(head, question, make))

    @router.get("/query", summary="What is known about a quasi-identifier in a population")
    def query(request: Request, attributes: Codes, population: People) -> Response:
        return reply(request, f"q|{attributes}|{population}", lambda: shown(registry.query(_split(attributes), population)))

    @router.get("/analyse", summary="Predictions for a group of people")
    def predictions(request: Request, attributes: Codes, population: People, group_size: GroupSize) -> Response:
        def make() -> dict[str, Any]:
            return analysed(registry.query(_split(attributes), population), group_size)

        return reply(request, f"a|{attributes}|{population}|{group_size}", make)

    @router.get("/decide", summary="Collect, collect in bands, or do not collect")
    def advice(
        request: Request,
        attributes: Codes,
        population: People,
        group_size: GroupSize,
        target: Annotated[float, Query(gt=0, lt=1)] = 0.05,
    ) -> Response:
        def make() -> dict[str, Any]:
            return decide(registry, _split(attributes), population, group_size=group_size, target=target).to_json()

        return reply(request, f"d|{attributes}|{population}|{group_size}|{target}", make)


def _add_publishing(router: APIRouter, store: Store) -> None:
    def holder(credentials: Credentials) -> None:
        if credentials is None or not store.knows_token(credentials.credentials):
            raise AccessError("publishing needs a token of this registry.", hint="Send: Authorization: Bearer TOKEN", status=401)

    def taken(identity: str) -> Submitted:
        line, head = store.head()
        return Submitted(id=identity, line=line, head=head)

    body = {"requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}, "required": True}}

    @router.post(
        "/records", summary="Publish a signed record", dependencies=[Depends(holder)], openapi_extra=body, status_code=201
    )
    async def submit(request: Request) -> Submitted:
        record = store.submit(Record.from_json(await _json(request)))
        return taken(record.id)

    @router.post("/statements", summary="Endorse or revoke", dependencies=[Depends(holder)], openapi_extra=body, status_code=201)
    async def state(request: Request) -> Submitted:
        statement = store.state(Statement.from_json(await _json(request)))
        return taken(statement.subject)


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
        return json.loads(content)
    except (ValueError, RecursionError):
        raise DataError("the submission is not JSON.", hint="Send what shoal registry publish writes.") from None


def _split(attributes: str) -> list[str]:
    return [a.strip() for a in attributes.split(",") if a.strip()]
