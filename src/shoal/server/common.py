"""What every service shares: only known host names, errors as answers, loopback unless TLS is given.

The front of every service: what a stranger may send before anything is known about the sender, and how much of it.

:mod:`shoal.server.limited_http` is the HTTP protocol with these bounds on headers, time, connections and requests per address.
A connection that has not completed its headers can always be dropped, so connections that wait cannot keep others out.
"""

from __future__ import annotations

import contextlib
import ctypes
import ipaddress
import itertools
import os
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, create_model
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shoal.errors import AccessError, DataError, RequirementError, ShoalError, TamperError, UsageError

LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
)
"""Set on every answer that does not set them itself."""


class Problem(BaseModel):
    """What went wrong, and what to do next; it never contains an identity."""

    model_config = ConfigDict(extra="forbid")

    error: str
    message: str
    hint: str = ""


def shape(name: str, doc: str = "", /, base: type[BaseModel] | None = None, **fields: Any) -> Any:
    """A model of an answer from the types of its fields; a field with a default is a pair."""
    given: dict[str, Any] = {field: kind if isinstance(kind, tuple) else (kind, ...) for field, kind in fields.items()}
    return create_model(name, __doc__=doc or None, __base__=base, **given)


def many(of: Any) -> Any:
    return list[of]


def refusals(model: type[BaseModel], words: Mapping[int, str]) -> dict[int | str, dict[str, Any]]:
    """Refusals as OpenAPI describes them. Only the first brings the model: FastAPI builds it for each code of each route."""
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}
    shapes: Iterator[dict[str, Any]] = itertools.chain([{"model": model}], itertools.repeat({"content": content}))
    return {code: {"description": text, **shape} for (code, text), shape in zip(words.items(), shapes, strict=False)}


class Guard:
    """Refuse requests for other host names (DNS rebinding); forbid caching and guessing of content types."""

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self._app = app
        self._hosts = frozenset(h.lower().encode() for h in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        hosts = [value.lower() for name, value in scope["headers"] if name == b"host"]
        names = [host if host.endswith(b"]") else host.rsplit(b":", 1)[0] for host in hosts]
        if len(names) != 1 or names[0] not in self._hosts:
            refusal = JSONResponse(
                _problem("WrongHost", "this address is not served here.", "Serve it with --name."), status_code=400
            )
            await refusal(scope, receive, send)
            return

        await self._app(scope, receive, with_headers(send, HEADERS))


def with_headers(send: Send, headers: Sequence[tuple[bytes, bytes]]) -> Send:
    """Send answers with these headers, unless they set them themselves."""

    async def careful(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name for name, _ in message["headers"]}
            message = {**message, "headers": [*message["headers"], *(h for h in headers if h[0] not in given)]}
        await send(message)

    return careful


def new_app(title: str, *, hosts: Sequence[str] = LOOPBACK, **options: Any) -> FastAPI:
    """An application that answers only under the given host names and turns errors into answers."""
    app = FastAPI(title=title, version="1", docs_url=None, redoc_url=None, **options)
    app.add_middleware(Guard, hosts=tuple(hosts))
    install_errors(app)
    return app


def install_errors(app: FastAPI) -> None:
    """ShoalErrors as answers: 400 usage and data, 401/403 refusals, 404 unknown, 409 tampering; never a value."""

    async def refused(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, ShoalError)
        code = status_of(error)
        headers = {"WWW-Authenticate": "Bearer"} if code == 401 else None
        return JSONResponse(_problem(type(error).__name__, error.message, error.hint), status_code=code, headers=headers)

    async def misshaped(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        parts = [".".join(str(p) for p in e["loc"]) + ": " + e["type"] for e in error.errors()]
        message = "the request does not fit: " + "; ".join(parts[:5])
        return JSONResponse(_problem("Unprocessable", message, "See /openapi.json."), status_code=422)

    async def unserved(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        reasons = {404: "there is nothing at this address.", 405: "this address does not take that method."}
        problem = _problem("Refused", reasons.get(error.status_code, str(error.detail)), "See /openapi.json.")
        return JSONResponse(problem, status_code=error.status_code, headers=error.headers)

    app.add_exception_handler(ShoalError, refused)
    app.add_exception_handler(HTTPException, unserved)
    app.add_exception_handler(RequestValidationError, misshaped)


def status_of(error: ShoalError) -> int:
    """The HTTP status of an error: its own ``status`` if it has one, else by its kind."""
    own = getattr(error, "status", None)
    if isinstance(own, int):
        return own
    reason = getattr(error, "reason", "")
    if isinstance(error, AccessError):
        return {"token": 401, "unknown": 404}.get(reason, 403)
    if isinstance(error, UsageError | DataError):
        return 404 if reason == "unknown" else 400
    if isinstance(error, TamperError):
        return 409
    return 400 if isinstance(error, RequirementError) else 500


def _problem(kind: str, message: str, hint: str) -> dict[str, str]:
    return {"error": kind, "message": message, "hint": hint}


def check_address(host: str, tls_cert: Path | None, tls_key: Path | None) -> None:
    """Refuse an address beyond loopback without TLS, and half a pair of certificate and key."""
    if (tls_cert is None) != (tls_key is None):
        raise UsageError("TLS needs both a certificate and its key.", hint="Give --tls-cert and --tls-key.")
    if host not in LOOPBACK and tls_cert is None:
        hint = "Give --tls-cert and --tls-key, or use 127.0.0.1."
        raise UsageError(f"serving on '{host}' without TLS would send tokens in the clear.", hint=hint)


@dataclass(frozen=True)
class Limits:
    """Bounds of a service. Those per address do not hold for this machine, where a reverse proxy speaks for everybody."""

    header_bytes: int = 32_768
    """Bytes of the request line and all headers together."""
    header_count: int = 100
    header_seconds: float = 10.0
    """Seconds until the headers of a request are complete, from the connection or from the first byte of the next request."""
    body_seconds: float = 60.0
    body_rate: float = 10_000.0
    """A body has this many seconds, and one more for each so many bytes that have arrived."""
    unread_bytes: int = 2**26
    """Bytes that are read and dropped of a body that was answered before it had arrived; beyond them the connection ends."""
    connections: int = 2_000
    """Open connections. Above it, the one that has been idle or without complete headers for longest is dropped, else the one
    that has sent its body for longest, else the new one."""
    connections_per_address: int = 200
    rate_per_address: float = 500.0
    """Requests a second from one address, with a burst of ten seconds."""


class Limiter:
    """At most ``rate`` calls a second from one address, with a burst; old addresses are forgotten."""

    def __init__(self, rate: float, burst: int) -> None:
        self.rate, self.burst = rate, burst
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def allow(self, who: str, cost: float = 1.0) -> bool:
        """Whether a call that costs so much may be made now; it is then counted."""
        now = time.monotonic()
        with self._lock:
            left, then = self._left.pop(who, (float(self.burst), now))
            left = min(float(self.burst), left + (now - then) * self.rate)
            self._left[who] = (max(left - cost, 0.0), now) if left >= cost else (left, now)
            while len(self._left) > 10_000:
                self._left.popitem(last=False)
            return left >= cost


def neighbourhood(address: str) -> str:
    """Whom a limit is for: an IPv4 address, or the 64 bits of an IPv6 network, whose every address one machine may use.

    >>> neighbourhood("192.0.2.7"), neighbourhood("2001:db8:0:1:aaaa::7") == neighbourhood("2001:db8:0:1::9")
    ('192.0.2.7', True)
    """
    try:
        address_found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(address_found, ipaddress.IPv4Address):
        return address
    return str(address_found.ipv4_mapped or ipaddress.IPv6Network((int(address_found) >> 64 << 64, 64)))


def is_here(address: str) -> bool:
    """Whether an address is this machine (also an empty one: a unix socket).

    >>> is_here("127.0.0.1"), is_here("::1"), is_here(""), is_here("192.0.2.7")
    (True, True, True, False)
    """
    if not address:
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(address).is_loopback
    return False


def harden_process(*, secrets: bool = False) -> None:
    """No core dumps; with ``secrets``, other processes of the same user cannot read this one's memory (Linux)."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if secrets and os.uname().sysname == "Linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
