"""Routes of blind issuing: issuers, answers to blinded requests, and credentials that are used once."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, StringConstraints
from starlette.concurrency import run_in_threadpool

from shoal.server.protector.models import Needed, Short, Text

Hex = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{2,2048}$")]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class NewIssuer(_Body):
    """An issuer of one-time credentials for the people of a domain."""

    name: Needed
    domain: Needed


class IssuerView(BaseModel):
    """A public key; everybody must see the same ``key``."""

    name: str
    domain: str
    key: str
    n: str
    e: str


class Issuers(BaseModel):
    issuers: list[IssuerView]


class Blinded(_Body):
    """Who asks, and a number that tells nothing about the credential."""

    identity: Text
    blinded: Hex
    purpose: Short = ""


class Signed(BaseModel):
    answer: str


class Credential(_Body):
    message: Hex
    signature: Hex
    purpose: Short = ""


class Redeemed(BaseModel):
    pseudonym: str


async def _current(request: Request) -> Any:
    return request.state.vault_session


CurrentSession = Annotated[Any, Depends(_current)]


def add_issuing_routes(router: APIRouter) -> None:
    @router.post("/issuers", status_code=201, summary="Make an issuer of one-time credentials (owner)")
    async def create(body: NewIssuer, session: CurrentSession) -> IssuerView:
        return IssuerView(**await run_in_threadpool(session.create_issuer, body.name, body.domain))

    @router.get("/issuers", summary="The public keys of all issuers")
    async def issuers(session: CurrentSession) -> Issuers:
        return Issuers(issuers=[IssuerView(**one) for one in await run_in_threadpool(session.issuers)])

    @router.post("/issuers/{name}/issue", summary="Sign the blinded request of an enrolled person, once (operator)")
    async def issue(name: str, body: Blinded, session: CurrentSession) -> Signed:
        made = await run_in_threadpool(session.issue, name, body.identity, body.blinded, purpose=body.purpose)
        return Signed(answer=made)

    @router.post("/issuers/{name}/redeem", summary="Take a credential, once; its one-time pseudonym (operator)")
    async def redeem(name: str, body: Credential, session: CurrentSession) -> Redeemed:
        made = await run_in_threadpool(session.redeem, name, body.message, body.signature, purpose=body.purpose)
        return Redeemed(pseudonym=made)
