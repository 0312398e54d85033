"""Look-ups per second and their latency over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from common import record  # noqa: E402

from shoal.protector import (  # noqa: E402
    Limit,
    Vault,
    keys,
)
from shoal.protector.people.limits import DEFAULTS  # noqa: E402

STORED = 100_000
SERVER = """
import os, sys
from shoal.protector import Vault, keys
from shoal.server.protector.api import serve
serve(Vault.open(sys.argv[1], key=keys.from_env("BENCH_KEY"), anchor=sys.argv[2]), port=int(sys.argv[3]))
"""


HOSTILE = """
import selectors, socket, sys, time
port, wanted = int(sys.argv[1]), int(sys.argv[2])
held = []
while True:
    while len(held) < wanted:
        one = socket.create_connection(("127.0.0.1", port))
        one.setblocking(False)
        one.send(b"GET / HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n")
        held.append(one)
    for one in list(held):
        try:
            one.send(b"x-more: 1\\r\\n")
        except OSError:
            held.remove(one)
    time.sleep(1)
"""
"""Connections that never end their headers, opened again when the server closes them."""


async def caller(
    port: int, token: str, until: float, number: int, seconds: list[float], expected: dict[str, str], wrong: list[int]
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    i = number
    while time.perf_counter() < until:
        identity = f"{(i * 7919) % (2 * STORED):06d}"
        i += 1000
        body = json.dumps({"identity": identity}).encode()
        head = (
            f"POST /vault/v1/domains/d/find HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode()
        start = time.perf_counter()
        writer.write(head + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        size = int(answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        found = json.loads(await reader.readexactly(size)).get("pseudonym", "?")
        seconds.append(time.perf_counter() - start)
        if found != expected.get(identity):
            wrong.append(1)
    writer.close()


async def load(port: int, token: str, length: float, connections: int, expected: dict[str, str]) -> tuple[list[float], int]:
    seconds: list[float] = []
    wrong: list[int] = []
    until = time.perf_counter() + length
    await asyncio.gather(*[caller(port, token, until, k, seconds, expected, wrong) for k in range(connections)])
    return seconds, len(wrong)


def main(length: float, connections: int, hostile: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix="vault-http-"))
    os.environ["BENCH_KEY"] = keys.generate()
    made = Vault.create(folder / "a.vault", key=keys.from_env("BENCH_KEY"), owner="a", auditor="b", anchor=folder / "anchor")
    owner = made.vault.login(made.owner_token)
    owner.create_domain("d")
    auditor = made.vault.login(made.auditor_token)
    change = owner.add_actor("o", ["operator"])
    token = made.vault.enrol(change.code, auditor.confirm(change.id).code)
    for action in ("find", "pseudonymize"):
        for limit in DEFAULTS[action]:
            auditor.confirm(owner.set_limit(action, Limit(limit.seconds, 100_000_000, None)).id)
    ids = [f"{i:06d}" for i in range(STORED)]
    expected = dict(zip(ids, made.vault.login(token).pseudonymize("d", ids), strict=True))
    made.vault.close()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(folder / "a.vault"), str(folder / "anchor"), str(port)])
    try:
        for _ in range(200):
            time.sleep(0.1)
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
        asyncio.run(load(port, token, 2.0, connections, expected))  # warm up
        beside = subprocess.Popen([sys.executable, "-c", HOSTILE, str(port), str(hostile)])
        start = time.perf_counter()
        seconds, wrong = asyncio.run(load(port, token, length, connections, expected))
        took = time.perf_counter() - start
    finally:
        beside.kill()
        beside.wait(20)
        server.send_signal(signal.SIGINT)
        server.wait(20)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
    ordered = sorted(seconds)
    record(
        HERE,
        connections=connections,
        hostile=hostile,
        lookups=len(seconds),
        per_second=round(len(seconds) / took),
        lookups_per_server_cpu_second=round(len(seconds) / (used.ru_utime + used.ru_stime)),
        p50_ms=round(1000 * ordered[len(ordered) // 2], 2),
        p99_ms=round(1000 * ordered[int(len(ordered) * 0.99)], 2),
        answer={"wrong": wrong},
    )
    shutil.rmtree(folder)


if __name__ == "__main__":
    given = [float(word) for word in sys.argv[1:]]
    main(*given[:1] or [10.0], *map(int, given[1:2] or [12]), *map(int, given[2:3] or [0]))
