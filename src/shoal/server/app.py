"""One application for everything that ``shoal serve`` offers: the registry, and the vault where one is given."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.responses import HTMLResponse

from shoal.kernels.signatures import FILE_ENV, KEY_ENV, signer
from shoal.registry.keep.store import Store
from shoal.server.common import LOOPBACK, check_address, new_app
from shoal.server.limited_http import run
from shoal.server.registry import api as registry_api
from shoal.server.registry.workers import Workers

if TYPE_CHECKING:
    from shoal.protector.vault import Vault


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
    own = signer() if os.environ.get(FILE_ENV) or os.environ.get(KEY_ENV) else None  # signs the head of the registry's log
    app.include_router(registry_api.create_router(store, workers=workers, signer=own))
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


@dataclass(frozen=True)
class Address:
    """Where and how a service listens; ``names`` are further host names that clients use."""

    host: str
    port: int
    names: Sequence[str] = ()
    proxy: str = ""
    tls_cert: Path | None = None
    tls_key: Path | None = None

    @property
    def url(self) -> str:
        return f"http{'s' if self.tls_cert else ''}://{self.host}:{self.port}"


def serve_registry(url: str, at: Address) -> None:
    app = create_app(Store(url), hosts=(*LOOPBACK, at.host, *at.names), workers=Workers(url))
    run(app, host=at.host, port=at.port, tls_cert=at.tls_cert, tls_key=at.tls_key, proxy=at.proxy)


@contextmanager
def registry_beside(url: str, at: Address) -> Iterator[BaseProcess]:
    """The registry served by another process while the block runs; it ends with this one, however that ends."""
    check_address(at.host, at.tls_cert, at.tls_key)
    Store(url).close()  # an error is raised here, not in the other process
    process = multiprocessing.get_context("spawn").Process(target=_beside, args=(url, at))
    process.start()
    try:
        yield process
    finally:
        process.terminate()
        process.join(30)


def _beside(url: str, at: Address) -> None:
    """In the other process: serve, and stop when the first one is gone."""
    first = multiprocessing.parent_process()

    def follow() -> None:
        if first is not None:
            first.join()
        os.kill(os.getpid(), signal.SIGTERM)

    Thread(target=follow, daemon=True).start()
    serve_registry(url, at)
