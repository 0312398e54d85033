"""Routes of owners and of the second person, enrolment, health and metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Body, Depends, Request
from fastapi.responses import PlainTextResponse
from pydantic import Field, StringConstraints
from starlette.concurrency import run_in_threadpool

from shoal.protector import Limit, care
from shoal.protector.log.audit import recent
from shoal.server.protector import models
from shoal.server.protector.models import Needed, Short, Text

if TYPE_CHECKING:
    from shoal.protector.vault import Vault

Roles = Annotated[list[Needed], Body(max_length=5)]
Names = Annotated[list[Needed], Body(max_length=1000)]
Code = Annotated[str, StringConstraints(min_length=1, max_length=60)]


async def _current(request: Request) -> Any:
    return request.state.vault_session


CurrentSession = Annotated[Any, Depends(_current)]


def add_open_routes(router: APIRouter, vault: Vault) -> None:
    """What needs no token: claiming one, and whether the service is alive."""

    @router.post("/enrol", summary="Claim your token with your enrolment code, once")
    async def enrol(codes: Annotated[list[Code], Body(min_length=1, max_length=2, embed=True)]) -> models.Enrolled:
        return models.Enrolled(token=await run_in_threadpool(vault.enrol, *codes))

    @router.get("/health", summary="Whether the vault can be read and is not older than its anchor")
    async def health() -> models.Said:
        await run_in_threadpool(vault.store.check_anchor)
        return models.Said(done=True)


def add_owner_routes(router: APIRouter, vault: Vault) -> None:
    @router.post("/domains", status_code=201, summary="Make a domain (owner)")
    async def create_domain(body: models.NewDomain, session: CurrentSession) -> models.DomainView:
        settings = body.model_dump(exclude={"name"}, exclude_defaults=True)
        made = await run_in_threadpool(session.create_domain, body.name, **settings)
        return models.DomainView.of(made)

    @router.post("/domains/{domain}/allow", summary="Let operators translate into another domain, or end it (owner)")
    async def allow(
        domain: str, target: Annotated[Needed, Body()], session: CurrentSession, allowed: Annotated[bool, Body()] = True
    ) -> models.DomainView:
        return models.DomainView.of(await run_in_threadpool(session.allow_translation, domain, target, allowed=allowed))

    @router.post("/domains/{domain}/honeytokens", summary="Plant an invented identity (owner)")
    async def plant(
        domain: str,
        identity: Annotated[Text, Body()],
        session: CurrentSession,
        role: Annotated[Short, Body()] = "",
        relation: Annotated[Short, Body()] = "",
    ) -> models.Found:
        made = await run_in_threadpool(session.plant_honeytoken, domain, identity, role=role, relation=relation)
        return models.Found(pseudonym=made)

    @router.post("/domains/{domain}/shred", summary="Destroy every key of a domain, after a second person confirmed (owner)")
    async def shred(domain: str, confirm: Annotated[Needed, Body(embed=True)], session: CurrentSession) -> dict[str, Any]:
        return await run_in_threadpool(care.shred, session, domain, confirm=confirm)

    @router.post("/domains/{domain}/merge", summary="Two identities are one person, after a second person confirmed (owner)")
    async def merge(
        domain: str, identity: Annotated[Text, Body()], into: Annotated[Text, Body()], session: CurrentSession
    ) -> dict[str, Any]:
        return await run_in_threadpool(care.merge, session, domain, identity, into)

    @router.post("/domains/{domain}/split", summary="Take a merge back, after a second person confirmed (owner)")
    async def split(domain: str, identity: Annotated[Text, Body(embed=True)], session: CurrentSession) -> dict[str, Any]:
        return await run_in_threadpool(care.split, session, domain, identity)

    @router.post("/domains/{domain}/export", summary="What is held about a person, after a second person confirmed (owner)")
    async def export(domain: str, identity: Annotated[Text, Body(embed=True)], session: CurrentSession) -> dict[str, Any]:
        return await run_in_threadpool(care.export, session, domain, identity)

    @router.post("/domains/{domain}/forget", summary="Overwrite all about a person, after a second person confirmed (owner)")
    async def forget(domain: str, identity: Annotated[Text, Body(embed=True)], session: CurrentSession) -> dict[str, Any]:
        return await run_in_threadpool(care.forget, session, domain, identity)

    @router.post("/domains/{domain}/rotate", summary="New data keys for a domain, after a second person confirmed (owner)")
    async def rotate(domain: str, session: CurrentSession) -> models.KeyInUse:
        return models.KeyInUse(key_id=(await run_in_threadpool(care.rotate_domain, session, domain)).key_id)

    @router.post("/domains/{domain}/destroy", summary="Destroy a retired key, after a second person confirmed (owner)")
    async def destroy(
        domain: str, version: Annotated[int, Body(ge=1, le=250, embed=True)], session: CurrentSession
    ) -> models.KeyInUse:
        return models.KeyInUse(key_id=(await run_in_threadpool(care.destroy_key, session, domain, version)).key_id)

    _add_care_routes(router, vault)


def _add_care_routes(router: APIRouter, vault: Vault) -> None:
    """The vault as a whole: its signing key, its log, its state."""

    @router.post("/rotate-signing", summary="New key for signing the log, after a second person confirmed (owner)")
    async def rotate_signing(session: CurrentSession) -> models.KeyInUse:
        return models.KeyInUse(key_id=await run_in_threadpool(care.rotate_signer, session))

    @router.post("/checkpoint", summary="Sign the log as it stands, to be kept outside (owner)")
    async def checkpoint(session: CurrentSession) -> dict[str, Any]:
        return await run_in_threadpool(care.checkpoint, session)

    @router.get("/verify", summary="Check every row, object and event (owner)")
    async def verify(session: CurrentSession, acknowledged: Annotated[int, Field(ge=0, le=1000)] = 0) -> dict[str, Any]:
        return (await run_in_threadpool(care.verify, session, acknowledged=acknowledged)).to_json()

    @router.get("/status", summary="Ids and places; that key and data are kept apart")
    async def status(session: CurrentSession) -> dict[str, Any]:
        return await run_in_threadpool(vault.status)

    @router.get(
        "/metrics", summary="Numbers for monitoring, as Prometheus reads them (any token)", response_class=PlainTextResponse
    )
    async def metrics(session: CurrentSession) -> str:
        found = await run_in_threadpool(vault.status)
        told = {name: found[name] for name in ("generation", "audit_events", "domains", "waiting_changes", "waiting_requests")}
        told |= await run_in_threadpool(recent, vault.store)
        return "".join(f"# TYPE shoal_vault_{name} gauge\nshoal_vault_{name} {value}\n" for name, value in told.items())


def add_people_routes(router: APIRouter) -> None:
    @router.post("/actors", status_code=201, summary="Propose a person (owner)")
    async def add_actor(name: Annotated[Needed, Body()], roles: Roles, session: CurrentSession) -> models.ChangeView:
        return models.ChangeView.of(await run_in_threadpool(session.add_actor, name, roles))

    @router.post("/actors/{name}/tokens", status_code=201, summary="Propose another token for a person (owner)")
    async def issue_token(
        name: str,
        session: CurrentSession,
        scopes: Roles = [],  # noqa: B006  FastAPI copies it
        domains: Names = [],  # noqa: B006
        expires: Annotated[float | None, Body()] = None,
    ) -> models.ChangeView:
        asked = {"scopes": scopes, "domains": domains, "expires": expires}
        return models.ChangeView.of(await run_in_threadpool(session.issue_token, name, **asked))

    @router.post("/actors/{name}/grant", summary="Set roles: fewer at once, more with a second person (owner)")
    async def grant(
        name: str, roles: Roles, session: CurrentSession, enabled: Annotated[bool, Body()] = True
    ) -> models.ChangeView | None:
        made = await run_in_threadpool(session.grant, name, roles, enabled=enabled)
        return None if made is None else models.ChangeView.of(made)

    @router.post("/actors/{name}/revoke", summary="Take back every token of a person, at once (owner)")
    async def revoke(name: str, session: CurrentSession) -> dict[str, int]:
        return {"revoked": await run_in_threadpool(session.revoke_tokens, name)}

    @router.post("/factor", status_code=201, summary="Set up your second factor: told once (everybody)")
    async def set_up_factor(session: CurrentSession) -> models.Factor:
        return models.Factor(uri=await run_in_threadpool(session.set_up_factor))

    @router.post("/factor/required", status_code=201, summary="Propose which roles decide with a one-time code (owner)")
    async def require_factor(
        roles: Annotated[list[Needed], Body(max_length=5, embed=True)], session: CurrentSession
    ) -> models.ChangeView:
        return models.ChangeView.of(await run_in_threadpool(session.require_factor, roles))

    @router.post("/tokens", status_code=201, summary="Lend a token of yours for one action and a short time (everybody)")
    async def delegate(body: models.Lending, session: CurrentSession) -> models.Enrolled:
        told = {"domains": body.domains, "seconds": body.seconds}
        return models.Enrolled(token=await run_in_threadpool(session.delegate, body.action, **told))

    @router.post("/limits", status_code=201, summary="Propose another limit (owner)")
    async def limit(body: models.NewLimit, session: CurrentSession) -> models.ChangeView:
        wanted = Limit(body.seconds, body.max, body.alarm)
        return models.ChangeView.of(await run_in_threadpool(session.set_limit, body.action, wanted, purpose=body.purpose))

    @router.get("/changes", summary="Changes that wait for a second person (owner, auditor)")
    async def changes(session: CurrentSession, everything: bool = False) -> models.Changes:
        found = await run_in_threadpool(session.changes, everything=everything)
        return models.Changes(changes=[models.ChangeView.of(c) for c in found])

    @router.post("/changes/{change_id}/confirm", summary="Agree to somebody else's change (owner, auditor)")
    async def confirm(change_id: str, session: CurrentSession, body: models.Confirmation | None = None) -> models.ChangeView:
        factor = "" if body is None else body.factor
        return models.ChangeView.of(await run_in_threadpool(session.confirm, change_id, factor=factor))

    @router.post("/changes/{change_id}/refuse", summary="Refuse somebody else's change (owner, auditor)")
    async def refuse(change_id: str, session: CurrentSession) -> models.ChangeView:
        return models.ChangeView.of(await run_in_threadpool(session.refuse, change_id))
