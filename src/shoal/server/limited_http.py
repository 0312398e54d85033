"""Serving: uvicorn's HTTP protocol with the limits of :mod:`shoal.server.common`; imported when a service starts."""

from __future__ import annotations

import gc
from asyncio import TimerHandle, Transport
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from shoal.server.common import Limiter, Limits, check_address, harden_process, is_here, neighbourhood

if TYPE_CHECKING:
    from fastapi import FastAPI


class Front:
    """What all connections of one service share."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.waiting: dict[Any, None] = {}
        """Connections without complete headers or idle, the oldest first."""
        self.sending: dict[Any, None] = {}
        """Connections whose body has not arrived."""
        self.by_address: Counter[str] = Counter()
        self.limiter = Limiter(limits.rate_per_address, int(10 * limits.rate_per_address))


class Refused(Exception):
    """The request is answered with an error; raised through the parser."""


class Limited(HttpToolsProtocol):
    """One connection. A subclass has ``front``, which all connections of a service share."""

    front: Front
    _timer: TimerHandle | None = None
    _body_timer: TimerHandle | None = None
    _received = 0  # bytes since the headers began, parsed or not
    _head = 0  # bytes of parsed headers
    _count = 0
    _body = 0
    _began = 0.0
    _answered_at: int | None = None  # bytes of the body that had arrived when it was answered, while the rest is awaited
    _status = 400
    _address = ""

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        peer = self.client[0] if self.client else ""
        self._address = "" if is_here(peer) else neighbourhood(peer)
        if self._address:
            self.front.by_address[self._address] += 1
            if self.front.by_address[self._address] > self.front.limits.connections_per_address:
                transport.abort()
                return
        if len(self.connections) > self.front.limits.connections:
            victim = next(iter(self.front.waiting), next(iter(self.front.sending), self))
            self.front.waiting.pop(victim, None)
            self.front.sending.pop(victim, None)
            victim.transport.abort()
            if victim is self:
                return
        self._await_headers()

    def _await_headers(self) -> None:
        self._received = self._head = self._count = 0
        self.front.waiting.pop(self, None)
        self.front.waiting[self] = None
        self._timer = self.loop.call_later(self.front.limits.header_seconds, self._too_slow)

    def _have_headers(self) -> None:
        self.front.waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _await_body(self) -> None:
        self._body, self._began = 0, self.loop.time()
        self.front.sending[self] = None
        self._body_timer = self.loop.call_later(self.front.limits.body_seconds, self._check_body)

    def _check_body(self) -> None:
        """End a connection whose body comes too slowly."""
        left = self._began + self.front.limits.body_seconds + self._body / self.front.limits.body_rate - self.loop.time()
        if left <= 0:
            self.transport.abort()
        else:
            self._body_timer = self.loop.call_later(left, self._check_body)

    def _have_body(self) -> None:
        self.front.sending.pop(self, None)
        if self._body_timer is not None:
            self._body_timer.cancel()
            self._body_timer = None

    def _too_slow(self) -> None:
        self.front.waiting.pop(self, None)
        self._status = 408
        self.send_400_response("The headers took too long.")

    def connection_lost(self, exc: Exception | None) -> None:
        self._have_headers()
        self._have_body()
        if self._address:
            self.front.by_address[self._address] -= 1
            if self.front.by_address[self._address] <= 0:
                del self.front.by_address[self._address]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._timer is not None:
            self._received += len(data)
        super().data_received(data)
        if self._timer is not None and self._received > self.front.limits.header_bytes and not self.transport.is_closing():
            self._status = 431
            self.send_400_response("The headers are too large.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._timer is None:
            self._await_headers()

    def on_url(self, url: bytes) -> None:
        self._add(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count += 1
        self._add(len(name) + len(value) + 4)
        super().on_header(name, value)

    def _add(self, size: int) -> None:
        self._head += size
        if self._head > self.front.limits.header_bytes or self._count > self.front.limits.header_count:
            self._status = 431
            raise Refused

    def on_headers_complete(self) -> None:
        self._have_headers()
        self.front.waiting.pop(self, None)
        if self._address and not self.front.limiter.allow(self._address):
            self._status = 429
            raise Refused
        self._await_body()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._body += len(body)
        if self._answered_at is not None and self._body - self._answered_at > self.front.limits.unread_bytes:
            self.transport.close()
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._have_body()
        if self._answered_at is not None:
            self._answered_at = None
            self.front.waiting.setdefault(self, None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if self in self.front.sending:
            # Answered before the body was there. Closing now would reset the connection, and the sender might never see the
            # answer: the rest is read and dropped, within the time of a body.
            self._answered_at = self._body
        else:
            self.front.waiting.setdefault(self, None)  # idle until the next request
        super().on_response_complete()

    def shutdown(self) -> None:
        if self.cycle is not None and self.scope["path"].endswith("/live"):
            self.transport.close()  # it would go on as long as somebody looks
        super().shutdown()

    def send_400_response(self, msg: str) -> None:
        self._have_headers()
        reason = STATUS_LINE[self._status].split(b" ", 2)[2].strip().decode()
        if self._status == 400:
            super().send_400_response(msg)
            return
        body = f'{{"error":"Refused","message":"{reason}.","hint":""}}'.encode()
        head = [b"content-type: application/json", b"connection: close", b"content-length: %d" % len(body)]
        head += [name + b": " + value for name, value in self.server_state.default_headers]
        self.transport.write(STATUS_LINE[self._status] + b"\r\n".join(head) + b"\r\n\r\n" + body)
        self.transport.close()


def limited(limits: Limits) -> Any:
    """The HTTP protocol with these limits, for ``uvicorn.run(http=…)``; all its connections are counted together."""
    return type("Limited", (Limited,), {"front": Front(limits)})


def run(
    app: FastAPI,
    *,
    host: str,
    port: int,
    socket: Path | None = None,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    proxy: str = "",
    limits: Limits | None = None,
    secrets: bool = False,
) -> None:
    """Serve until stopped: on ``host`` and ``port``, or on a unix ``socket``.

    Beyond loopback, TLS is required. Only ``proxy`` may say on whose behalf it asks. ``secrets``: the process holds keys that
    other processes must not read.
    """
    check_address(host, tls_cert, tls_key)
    harden_process(secrets=secrets)
    options: dict[str, Any] = {"log_level": "warning", "access_log": False, "server_header": False, "ws": "none"}
    options |= {"http": limited(limits or Limits()), "timeout_graceful_shutdown": 10}
    if tls_cert is not None or proxy:
        options["headers"] = [("strict-transport-security", "max-age=31536000")]
    options |= {"proxy_headers": True, "forwarded_allow_ips": proxy} if proxy else {"proxy_headers": False}
    if tls_cert is not None:
        options |= {"ssl_certfile": str(tls_cert), "ssl_keyfile": str(tls_key)}
    where = {"uds": str(socket)} if socket is not None else {"host": host, "port": port}
    gc.collect()
    gc.freeze()  # what is loaded by now stays: looking through it again would hold up every answer
    uvicorn.run(app, **where, **options)
