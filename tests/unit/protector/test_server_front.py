"""The front of the services: headers, time, connections and rates have bounds, ended tokens end, and secrets stay put."""

from __future__ import annotations

import asyncio
import configparser
import contextlib
import os
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from protector_support import House
from shoal.errors import AccessError, DataError, OutputError, RequirementError, ShoalError, TamperError, UsageError
from shoal.protector import keys
from shoal.protector.crypto.master_keys import KeyRefusedError
from shoal.server.common import Limiter, Limits
from shoal.server.limited_http import limited

pytest.importorskip("uvicorn")
ROOT = Path(__file__).parents[3]
GOOD = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def answer(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


def served(limits: Limits, visit: Callable[[Callable[[], Awaitable[Streams]]], Awaitable[Any]], app: Any = answer) -> Any:
    """What ``visit`` returns: it gets a function that connects to a server with these limits."""
    import uvicorn

    async def run() -> Any:
        config = uvicorn.Config(app, http=limited(limits), lifespan="off", log_level="critical", ws="none")
        config.load()
        state = uvicorn.server.ServerState()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: config.http_protocol_class(config, state, {}), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        opened: list[Streams] = []

        async def connect() -> Streams:
            opened.append(await asyncio.open_connection("127.0.0.1", port))
            return opened[-1]

        try:
            return await asyncio.wait_for(visit(connect), 20)
        finally:
            for _, writer in opened:
                writer.close()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()
            server.close()
            await asyncio.gather(*state.tasks)

    return asyncio.run(run())


async def ask(streams: Streams, text: bytes) -> bytes:
    streams[1].write(text)
    return await asyncio.wait_for(streams[0].read(4096), 10)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (GOOD, 200),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 3000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 3000, 431),
        (b"GET /" + b"a" * 3000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + b"X: 1\r\n" * 30 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + b"X: 1\r\n" * 30, 431),
        (b"nonsense\r\n\r\n", 400),
    ],
)
def test_headers_have_bounds(text: bytes, status: int) -> None:
    async def visit(connect: Any) -> bytes:
        return await ask(await connect(), text)

    assert served(Limits(header_bytes=2000, header_count=20), visit).startswith(b"HTTP/1.1 %d" % status)


@pytest.mark.parametrize(("count", "status"), [(20, 200), (21, 431)])
def test_as_many_headers_as_stated_may_come(count: int, status: int) -> None:
    async def visit(connect: Any) -> bytes:
        return await ask(await connect(), b"GET / HTTP/1.1\r\n" + b"X: 1\r\n" * count + b"\r\n")

    assert served(Limits(header_count=20), visit).startswith(b"HTTP/1.1 %d" % status)


def test_endless_headers_end_and_nobody_waits_for_them() -> None:
    """Bytes that trickle in do not move the end; an open request beside them is answered at once."""

    async def visit(connect: Any) -> tuple[bytes, bytes]:
        slow, quick = await connect(), await connect()

        async def trickle() -> None:
            for _ in range(100):
                slow[1].write(b"X: a\r\n")
                await asyncio.sleep(0.02)

        slow[1].write(b"GET / HTTP/1.1\r\n")
        task = asyncio.ensure_future(trickle())
        good = await ask(quick, GOOD)
        ended = await slow[0].read(4096)
        task.cancel()
        return good, ended

    good, ended = served(Limits(header_seconds=0.3), visit)
    assert good.endswith(b"ok")
    assert ended.startswith(b"HTTP/1.1 408")


def test_a_second_request_of_a_connection_has_a_deadline_too() -> None:
    async def visit(connect: Any) -> tuple[bytes, bytes]:
        streams = await connect()
        first = await ask(streams, GOOD)
        return first, await ask(streams, b"GET / HTTP/1.1\r\nX:")

    first, second = served(Limits(header_seconds=0.3), visit)
    assert (first[:12], second[:12]) == (b"HTTP/1.1 200", b"HTTP/1.1 408")


def test_waiting_connections_keep_nobody_out() -> None:
    """The one that waited longest makes room; a connection that is being answered is not dropped."""

    async def visit(connect: Any) -> tuple[list[bytes], bytes]:
        hostile = [await connect() for _ in range(30)]
        for _, writer in hostile:
            writer.write(b"GET / HTTP/1.1\r\nX")
        good = await ask(await connect(), GOOD)
        await asyncio.sleep(0.05)
        return [r._buffer for r, _ in hostile if r.at_eof()], good

    dropped, good = served(Limits(connections=10, header_seconds=10), visit)
    assert good.startswith(b"HTTP/1.1 200")
    assert len(dropped) >= 20


def test_as_many_connections_as_stated_stay_open() -> None:
    async def visit(connect: Any) -> list[bytes]:
        waiting = [await connect() for _ in range(3)]
        return [await ask(streams, GOOD) for streams in waiting]

    assert all(found.startswith(b"HTTP/1.1 200") for found in served(Limits(connections=3), visit))


def test_a_body_has_more_time_the_more_of_it_has_come() -> None:
    """The first look comes after ``body_seconds``; by then enough has arrived for many seconds more."""

    async def reading(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await answer(scope, receive, send)

    async def visit(connect: Any) -> bytes:
        streams = await connect()
        streams[1].write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n" + b"x" * 1000)
        await asyncio.sleep(0.3)
        return await ask(streams, b"x")

    assert served(Limits(body_seconds=0.05, body_rate=10.0), visit, reading).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("start", [b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999\r\n\r\n", GOOD])
def test_unread_bodies_and_idle_connections_keep_nobody_out(start: bytes) -> None:
    """A connection that was answered before its body came makes room, and so do idle ones."""

    async def visit(connect: Any) -> list[bytes]:
        hostile = [await connect() for _ in range(10)]
        for streams in hostile:
            await ask(streams, start)
        return [await ask(await connect(), GOOD) for _ in range(3)]

    assert all(found.startswith(b"HTTP/1.1 200") for found in served(Limits(connections=10), visit))


@pytest.mark.parametrize("late", [0, 1000, 1001, 200_000])
def test_an_answer_before_the_body_is_seen_and_the_connection_goes_on(late: int) -> None:
    """The rest of the body is dropped; up to the limit the next request of the same connection is answered."""

    async def visit(connect: Any) -> tuple[bytes, bytes]:
        streams = await connect()
        first = await ask(streams, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % (5 + late) + b"x" * 5)
        await asyncio.sleep(0.05)
        streams[1].write(b"x" * late)
        with contextlib.suppress(OSError):
            return first, await ask(streams, GOOD)
        return first, b""

    first, second = served(Limits(unread_bytes=1000), visit)
    assert first.startswith(b"HTTP/1.1 200")
    assert second.startswith(b"HTTP/1.1 200") == (late <= 1000)


def test_a_body_that_trickles_ends() -> None:
    async def reading(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await answer(scope, receive, send)

    async def visit(connect: Any) -> tuple[bytes, bytes]:
        slow, quick = await connect(), await connect()
        slow[1].write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999\r\n\r\nx")
        good = await ask(quick, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody")
        with contextlib.suppress(OSError):
            return good, await asyncio.wait_for(slow[0].read(100), 5)
        return good, b""

    good, ended = served(Limits(body_seconds=0.3, body_rate=1000.0), visit, reading)
    assert good.startswith(b"HTTP/1.1 200")
    assert ended == b""


@pytest.mark.parametrize(
    "text",
    [
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
        b"GET / HTTP/1.1\r\nHost: a\r\nX\x00: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
    ],
)
def test_requests_that_two_servers_could_read_differently_are_refused(text: bytes) -> None:
    async def visit(connect: Any) -> bytes:
        return await ask(await connect(), text)

    assert served(Limits(), visit).startswith(b"HTTP/1.1 400")


def test_addresses_have_a_rate_and_this_machine_has_none() -> None:
    limiter = Limiter(0.001, 2)
    assert [limiter.allow("192.0.2.1") for _ in range(3)] == [True, True, False]

    async def visit(connect: Any) -> list[bytes]:
        streams = await connect()
        return [await ask(streams, GOOD) for _ in range(5)]

    assert all(a.startswith(b"HTTP/1.1 200") for a in served(Limits(rate_per_address=0.1, connections_per_address=0), visit))


def test_other_addresses_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.server import limited_http

    monkeypatch.setattr(limited_http, "is_here", lambda address: False)

    async def rated(connect: Any) -> list[bytes]:
        return [await ask(await connect(), GOOD) for _ in range(3)]

    found = served(Limits(rate_per_address=0.2), rated)
    assert [a[9:12] for a in found] == [b"200", b"200", b"429"]

    async def many(connect: Any) -> tuple[bytes, bytes]:
        first, second = await connect(), await connect()
        await asyncio.sleep(0.05)
        return await second[0].read(10), await ask(first, GOOD)

    refused, good = served(Limits(connections_per_address=1), many)
    assert refused == b""
    assert good.startswith(b"HTTP/1.1 200")

    async def one_after_another(connect: Any) -> list[bytes]:
        answers = []
        for _ in range(3):
            streams = await connect()
            answers.append(await ask(streams, GOOD))
            streams[1].close()
            await streams[1].wait_closed()
            await asyncio.sleep(0.05)
        return answers

    found = served(Limits(connections_per_address=1), one_after_another)
    assert [a[9:12] for a in found] == [b"200"] * 3, "an ended connection counts no more"


@pytest.mark.parametrize(("tls", "proxy", "strict"), [(False, "", False), (True, "", True), (False, "192.0.2.1", True)])
def test_browsers_keep_to_tls_where_it_is_used(monkeypatch: pytest.MonkeyPatch, tls: bool, proxy: str, strict: bool) -> None:
    from shoal.server import limited_http

    options: dict[str, Any] = {}
    monkeypatch.setattr(limited_http.uvicorn, "run", lambda app, **more: options.update(more))
    monkeypatch.setattr(limited_http, "harden_process", lambda **_: None)
    monkeypatch.setattr(limited_http.gc, "freeze", lambda: None)
    pair = {"tls_cert": Path("c.pem"), "tls_key": Path("k.pem")} if tls else {}
    limited_http.run(answer, host="127.0.0.1", port=1, proxy=proxy, **pair)  # type: ignore[arg-type]
    assert ("headers" in options) == strict
    assert options["proxy_headers"] == bool(proxy)
    assert options.get("forwarded_allow_ips", "") == proxy


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "127.0.0.1"])
def test_beyond_this_machine_nothing_is_served_without_tls(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    from shoal.server import limited_http

    served_at: list[str] = []
    monkeypatch.setattr(limited_http.uvicorn, "run", lambda app, **more: served_at.append(more["host"]))
    monkeypatch.setattr(limited_http, "harden_process", lambda **_: None)
    monkeypatch.setattr(limited_http.gc, "freeze", lambda: None)
    if host == "127.0.0.1":
        limited_http.run(answer, host=host, port=1)  # type: ignore[arg-type]
        assert served_at == [host]
        return
    with pytest.raises(UsageError, match="without TLS"):
        limited_http.run(answer, host=host, port=1)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="both a certificate and its key"):
        limited_http.run(answer, host=host, port=1, tls_cert=Path("c.pem"))  # type: ignore[arg-type]
    assert served_at == []


def client_of(app: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from starlette.testclient import TestClient

        return TestClient(app, base_url="http://localhost")


def asked_of(hosts: tuple[str, ...] = ("localhost", "[::1]"), **headers: str) -> Any:
    """The answer of an application for ``hosts`` to a request with these headers."""
    from shoal.server.common import new_app

    app = new_app("test", hosts=hosts)

    @app.get("/here")
    def here() -> dict[str, str]:
        return {"fine": "yes"}

    @app.get("/number/{n}")
    def number(n: int) -> int:
        return n

    path = headers.pop("path", "/here")
    return client_of(app).get(path, headers=headers)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LocalHost:8000", 200),
        ("[::1]", 200),
        ("[::1]:8000", 200),
        ("localhost.evil.example", 400),
        ("evil.example:8000", 400),
        ("", 400),
    ],
)
def test_only_known_host_names_are_served(host: str, status: int) -> None:
    """A page of another name that points here (DNS rebinding) reads nothing."""
    answer = asked_of(host=host)
    assert answer.status_code == status
    if status == 200:
        for name in ("x-content-type-options", "x-frame-options", "referrer-policy", "content-security-policy", "cache-control"):
            assert name in answer.headers
    else:
        assert answer.json()["error"] == "WrongHost"


def test_two_host_names_are_none() -> None:
    from shoal.server.common import Guard

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("not let through")

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "headers": [(b"host", b"localhost"), (b"host", b"localhost")]}
    asyncio.run(Guard(inner, ["localhost"])(scope, None, send))
    assert sent[0]["status"] == 400


def test_headers_that_an_answer_sets_itself_are_kept() -> None:
    from shoal.server.common import with_headers

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    start = {"type": "http.response.start", "status": 200, "headers": [(b"cache-control", b"max-age=60")]}
    asyncio.run(with_headers(send, [(b"cache-control", b"no-store"), (b"x", b"y")])(start))
    assert sent[0]["headers"] == [(b"cache-control", b"max-age=60"), (b"x", b"y")]


def test_what_does_not_fit_is_refused_without_its_values() -> None:
    answer = asked_of(path="/number/secret")
    assert answer.status_code == 422
    assert answer.json()["message"] == "the request does not fit: path.n: int_parsing"
    assert "secret" not in answer.text
    assert asked_of(path="/nothing").json()["message"] == "there is nothing at this address."


def an_error(kind: type[ShoalError], **marks: Any) -> ShoalError:
    error = kind("it is so.")
    for name, value in marks.items():
        setattr(error, name, value)
    return error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (an_error(AccessError, reason="token"), 401),
        (an_error(AccessError, reason="unknown"), 404),
        (an_error(AccessError, reason="role"), 403),
        (an_error(AccessError), 403),
        (an_error(UsageError), 400),
        (an_error(UsageError, reason="unknown"), 404),
        (an_error(DataError), 400),
        (an_error(TamperError), 409),
        (an_error(RequirementError), 400),
        (an_error(OutputError), 500),
        (an_error(TamperError, status=423), 423),
    ],
)
def test_each_error_has_its_status(error: ShoalError, status: int) -> None:
    from shoal.server.common import new_app, status_of

    assert status_of(error) == status
    app = new_app("test")

    @app.get("/")
    def fail() -> None:
        raise error

    answer = client_of(app).get("/")
    assert answer.status_code == status
    assert answer.json() == {"error": type(error).__name__, "message": "it is so.", "hint": error.hint}
    assert ("www-authenticate" in answer.headers) == (status == 401)


def test_a_limiter_fills_with_its_rate_up_to_its_burst(monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.server import common

    now = [0.0]
    monkeypatch.setattr(common.time, "monotonic", lambda: now[0])
    limiter = Limiter(2.0, 3)
    assert [limiter.allow("a") for _ in range(4)] == [True, True, True, False]
    now[0] = 0.5
    assert [limiter.allow("a") for _ in range(2)] == [True, False], "two a second: one after half a second"
    now[0] = 1000.0
    assert [limiter.allow("a") for _ in range(4)] == [True, True, True, False], "never more than the burst"
    now[0] = 1000.25
    assert not limiter.allow("a")
    assert not limiter.allow("a"), "a refused call does not fill it"
    assert limiter.allow("b"), "another address has its own"


def test_a_limiter_forgets_the_oldest_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.server import common

    monkeypatch.setattr(common.time, "monotonic", lambda: 0.0)
    limiter = Limiter(1.0, 1)
    for i in range(10_000):
        limiter.allow(f"a{i}")
    assert not limiter.allow("a1"), "ten thousand are remembered"
    limiter.allow("new")
    assert limiter.allow("a0"), "the oldest is not"
    assert not limiter.allow("a1")
    assert not limiter.allow("new")


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("", True),
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("10.0.0.1", False),
        ("fe80::1", False),
        ("name", False),
    ],
)
def test_only_this_machine_is_here(address: str, here: bool) -> None:
    """Other machines of a private network are not."""
    from shoal.server.common import is_here

    assert is_here(address) == here


def test_ended_tokens_read_nothing(sqlite_house: House) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from starlette.testclient import TestClient

    from shoal.server.protector.api import create_app

    client = TestClient(create_app(sqlite_house.vault, hosts=("testserver",)))
    token = {"Authorization": f"Bearer {sqlite_house.tokens['Olga']}"}
    for path in ("/status", "/metrics"):
        assert client.get("/vault/v1" + path, headers=token).status_code == 200
    sqlite_house.owner.revoke_tokens("Olga")
    for path in ("/status", "/metrics", "/issuers", "/domains"):
        assert client.get("/vault/v1" + path, headers=token).status_code == 401


def test_tokens_end_by_default_and_are_renewed(sqlite_house: House) -> None:
    house = sqlite_house
    token = house.add("Oda", ["operator"])
    oda = house.vault.login(token)
    house.clock.now += 300 * 86400
    renewed = oda.renew()
    with pytest.raises(Exception, match="not valid"):
        house.vault.login(token)
    house.clock.now += 300 * 86400
    assert house.vault.login(renewed).name == "Oda"
    house.clock.now += 66 * 86400
    with pytest.raises(Exception, match="not valid"):
        house.vault.login(renewed)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_key_leaves_the_environment_and_no_memory_is_dumped() -> None:
    code = """
import os, resource
from shoal.errors import AccessError, DataError, OutputError, RequirementError, ShoalError, TamperError, UsageError
from shoal.protector import keys
from shoal.server.common import harden_process
keys.from_env("SHOAL_VAULT_KEY", forget=True)
found = open("/proc/self/environ", "rb").read()
harden_process(secrets=True)
import ctypes
print(os.environ["WANTED"].encode() in found, b"SHOAL_OTHER=stays" in found, "SHOAL_VAULT_KEY" in os.environ,
      resource.getrlimit(resource.RLIMIT_CORE), ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
"""
    key = keys.generate()
    half = key[:20] + "?" + key[21:]  # what to look for must not be found because it is named
    code = code.replace('os.environ["WANTED"].encode()', f'{half!r}.replace("?", {key[20]!r}).encode()')
    env = {**os.environ, "SHOAL_VAULT_KEY": key, "SHOAL_OTHER": "stays", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split(maxsplit=3)[:3] == ["False", "True", "False"]
    assert done.stdout.endswith("(0, 0) 0\n")


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux")
def test_a_service_without_keys_can_be_looked_into_but_leaves_no_dump() -> None:
    code = """
import ctypes, resource
from shoal.server.common import harden_process
before = ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)
harden_process()
print(resource.getrlimit(resource.RLIMIT_CORE) == (0, 0), ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) == before)
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n"


def test_a_credential_of_systemd_is_a_key_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "vault.key"
    file.write_text(keys.generate())
    file.chmod(0o440)
    with pytest.raises(KeyRefusedError, match="other users can read"):
        keys.from_file(file)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    if file.stat().st_uid == 0:
        assert keys.from_file(file).key_id
    file.chmod(0o444)
    with pytest.raises(KeyRefusedError, match="other users can read"):
        keys.from_file(file)


def options_of(words: list[str]) -> None:
    """Refuse a command line that names a command or option that does not exist."""
    from shoal.cli import build

    command: Any = typer.main.get_command(build(words[0]))
    while words and not words[0].startswith("-"):
        command = command.get_command(None, words.pop(0))
        assert command is not None
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known


def test_the_unit_of_systemd() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(ROOT / "deploy" / "shoal-vault.service")
    service = unit["Service"]
    program, *words = shlex.split(service["ExecStart"])
    assert Path(program).name == "shoal"
    options_of(words)
    assert service["LoadCredential"].split(":")[0] == Path(words[words.index("--key-file") + 1]).name
    assert (service["LimitCORE"], service["NoNewPrivileges"], service["ProtectSystem"]) == ("0", "yes", "strict")
    assert not re.search(r"SHOAL_VAULT_KEY\b", (ROOT / "deploy" / "shoal-vault.service").read_text())


def test_the_compose_file() -> None:
    body = yaml.safe_load((ROOT / "deploy" / "compose.yml").read_text())
    for service in body["services"].values():
        options_of(shlex.split(service["command"]))
        assert service["cap_drop"] == ["ALL"]
        assert service["ulimits"]["core"] == 0
        assert "environment" not in service
    named = {volume.split(":")[0] for service in body["services"].values() for volume in service["volumes"]}
    assert named == set(body["volumes"])
    assert {s["source"] for s in body["services"]["vault"]["secrets"]} == set(body["secrets"])
