"""Routes of the intake: records of people recognised, what waits, and the clerk's decisions."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.concurrency import run_in_threadpool

from shoal.server.protector.models import Needed, Short

Key = Annotated[str, StringConstraints(min_length=1, max_length=100)]
Cell = Annotated[str, StringConstraints(max_length=1000)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class People(_Body):
    """Records of people: what is told of each, by kind of field."""

    records: Annotated[list[Annotated[dict[Key, Cell | None], Field(max_length=30)]], Field(min_length=1, max_length=10_000)]
    purpose: Short = ""
    source: Short = ""
    match: Annotated[float, Field(ge=0.5, lt=1)] = 0.99
    possible: Annotated[float, Field(gt=0, lt=1)] = 0.05


class Recognised(BaseModel):
    pseudonyms: list[str | None]
    outcomes: list[str]
    waiting: list[str]
    changes: dict[str, dict[str, int]]


class CandidateView(BaseModel):
    pseudonym: str
    probability: float
    record: dict[str, str]


class WaitingView(BaseModel):
    id: str
    domain: str
    created: float
    record: dict[str, str]
    candidates: list[CandidateView]


class Waiting(BaseModel):
    waiting: list[WaitingView]


class Decision(_Body):
    """The pseudonym of the person a waiting record is of, or ``new``."""

    same_as: Needed


class Decided(BaseModel):
    pseudonym: str


async def _current(request: Request) -> Any:
    return request.state.vault_session


CurrentSession = Annotated[Any, Depends(_current)]


def add_intake_routes(router: APIRouter) -> None:
    @router.post("/domains/{domain}/intake", summary="Pseudonyms for people recognised by what is told of them (operator)")
    async def intake(domain: str, body: People, session: CurrentSession) -> Recognised:
        told = body.model_dump(exclude={"records"})
        done = await run_in_threadpool(session.intake, domain, body.records, **told)
        return Recognised(
            pseudonyms=done.pseudonyms,
            outcomes=done.outcomes,
            waiting=done.waiting,
            changes={name: dict(seen) for name, seen in done.changes.items()},
        )

    @router.post("/domains/{domain}/waiting", summary="What waits for a decision; seeing it is logged (clerk)")
    async def waiting(domain: str, session: CurrentSession) -> Waiting:
        found = await run_in_threadpool(session.waiting, domain)
        return Waiting(waiting=[WaitingView(**one.to_json()) for one in found])

    @router.post("/waiting/{number}/decide", summary="Decide whom a waiting record is of (clerk)")
    async def decide(number: str, body: Decision, session: CurrentSession) -> Decided:
        return Decided(pseudonym=await run_in_threadpool(session.decide, number, body.same_as))
