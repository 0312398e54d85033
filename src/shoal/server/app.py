"""One application for everything that ``shoal serve`` offers: the registry, and the vault where one is given."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.responses import HTMLResponse

from shoal.server.common import LOOPBACK, new_app
from shoal.server.registry import api as registry_api

if TYPE_CHECKING:
    from shoal.protector.vault import Vault
    from shoal.registry.keep.store import Store
    from shoal.server.registry.workers import Workers


def create_app(
    store: Store, vault: Vault | None = None, *, hosts: Sequence[str] = LOOPBACK, workers: Workers | None = None
) -> FastAPI:
    """The registry under ``/registry/v1`` and, with a vault, the protector under ``/vault/v1``."""

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        if workers is not None:
            workers.close()
        store.close()
        if vault is not None:
            vault.close()

    app = new_app("Shoal", hosts=hosts, lifespan=lifespan)
    _add_front_page(app, vault is not None)
    app.include_router(registry_api.create_router(store, workers=workers))
    if vault is not None:
        from shoal.server.protector import api as protector_api

        app.router.routes.extend(protector_api.create_router(vault).routes)
        protector_api.install_errors(app)
    return app


def _add_front_page(app: FastAPI, with_vault: bool) -> None:
    """A small page at the address itself, for people who open it in a browser."""
    from shoal.report.pages import part

    page = part("front.html.j2", with_vault=with_vault)

    @app.get("/", include_in_schema=False)
    def front() -> HTMLResponse:
        return HTMLResponse(page, headers={"Content-Security-Policy": "default-src 'none'"})
