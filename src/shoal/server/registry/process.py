"""The registry in a process of its own: whatever it is asked, a vault beside it does not wait, and its key is not there."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Thread

from shoal.registry.keep.store import Store
from shoal.server.app import create_app
from shoal.server.common import LOOPBACK, check_address, run
from shoal.server.registry.workers import Workers


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
    """Serve the registry in a database until stopped."""
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
