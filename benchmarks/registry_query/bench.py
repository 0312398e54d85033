"""Load a million records, serve them, ask different questions over eight connections; see README.md.

``bench.py build FILE [N]`` makes the store, ``bench.py ask FILE`` measures on it, ``bench.py [N]`` does both.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tests"))

from common import record

from registry_support import AGES, make

HERE = Path(__file__).parent
PORT = 8722
BASE = f"http://127.0.0.1:{PORT}/registry/v1"
QUESTIONS = (
    ("query, as fast as answered", "/registry/v1/query?attributes=age/years", 8000, 0),
    ("query, 600 a second", "/registry/v1/query?attributes=age/years", 8000, 600),
    ("analyse, 100 people", "/registry/v1/analyse?attributes=age/years&group_size=100", 1500, 0),
    ("analyse, 20 people", "/registry/v1/analyse?attributes=age/years&group_size=20", 400, 0),
)


def place(i: int) -> str:
    return f"XX/Region{i // 1000}/Place{i}@2021"


def build(path: Path, n: int) -> float:
    """Copies of one signed record with the population changed; log lines as a submission would write them."""
    from shoal.kernels.signatures import canonical
    from shoal.model.roles import look
    from shoal.registry.keep.store import Store
    from shoal.registry.records.chain import START, digest_of, link

    Store(f"sqlite:///{path}").close()
    one = make(AGES, cells=95)
    content, body = canonical(one.content()).decode(), canonical(one.to_json()).decode()
    lines: list[tuple[int, str, str, str, str]] = []
    start = time.perf_counter()

    def rows() -> Iterator[tuple[str | int | float, ...]]:
        previous = START
        for i in range(n):
            people = place(i)
            identity = hashlib.sha256(content.replace("NL/Utrecht@2021", people).encode()).hexdigest()
            text = body.replace("NL/Utrecht@2021", people).replace(one.id, identity)
            digest = digest_of(text.encode())
            previous = link(previous, i + 1, "record", identity, digest)
            lines.append((i + 1, "record", identity, digest, previous))
            area = people.partition("@")[0].rpartition("/")[0].casefold()
            yield (identity, "age/years", people.casefold(), area, look(one.holder), one.key, 1, "current", 0.05, text)

    with sqlite3.connect(path) as db:
        for setting in ("synchronous=OFF", "cache_size=-2000000", "temp_store=MEMORY"):
            db.execute(f"PRAGMA {setting}")
        indexes = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL").fetchall()
        for name, _ in indexes:
            db.execute(f"DROP INDEX {name}")
        names = "id, codes, population, area, holder, key, version, status, kappa, body"
        db.executemany(f"INSERT INTO registry_records ({names}) VALUES (?,?,?,?,?,?,?,?,?,?)", rows())
        db.executemany("INSERT INTO registry_log (line, kind, subject, digest, hash) VALUES (?,?,?,?,?)", lines)
        for _, sql in indexes:
            db.execute(sql)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    return time.perf_counter() - start


def cpu(pid: int) -> float:
    """Processor seconds that a process has used, without its children."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def worker(numbers: list[tuple[float, int]], path: str, times: list[float]) -> None:
    """Ask one question after the other, each when it is due; waiting for its turn counts as waiting for the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
    begin = time.perf_counter()
    for due, i in numbers:
        await asyncio.sleep(max(0.0, begin + due - time.perf_counter()))
        start = begin + due if due else time.perf_counter()
        writer.write(f"GET {path}&population={place(i)} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        length = int(next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")).split(b":")[1])
        await reader.readexactly(length)
        times.append(time.perf_counter() - start)
    writer.close()


async def ask(path: str, numbers: list[int], connections: int, rate: float) -> tuple[float, list[float]]:
    """All questions over some connections: ``rate`` a second, or as fast as they are answered (0)."""
    times: list[float] = []
    start = time.perf_counter()
    due = [((n + 1) / rate if rate else 0.0, i) for n, i in enumerate(numbers)]
    await asyncio.gather(*(worker(due[c::connections], path, times) for c in range(connections)))
    return time.perf_counter() - start, sorted(times)


def measure(path: Path) -> None:
    """Every question is asked once, of places all over the store, in an order that has nothing to do with where they lie."""
    import random

    with sqlite3.connect(path) as db:
        n = db.execute("SELECT max(line) FROM registry_log").fetchone()[0]
    db.close()
    server = subprocess.Popen(
        [sys.executable, "-m", "shoal.cli", "serve", "--registry", str(path), "--port", str(PORT)], stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(100):
            try:
                urllib.request.urlopen(f"{BASE}/").read()
                break
            except OSError:
                time.sleep(0.2)
        for name, question, requests, rate in QUESTIONS:
            numbers = random.Random(name).sample(range(n), min(requests, n))
            used = cpu(server.pid)
            seconds, times = asyncio.run(ask(question, numbers, 8, rate))
            used = cpu(server.pid) - used
            reply = urllib.request.urlopen(f"{BASE}/analyse?attributes=age/years&population={place(7)}&group_size=100")
            figures = {"per_second": round(len(times) / seconds), "p50_ms": round(1000 * times[len(times) // 2], 2)}
            figures |= {"p99_ms": round(1000 * times[int(len(times) * 0.99)], 2), "longest_ms": round(1000 * times[-1], 2)}
            figures |= {"server_cpu_ms": round(1000 * used / len(times), 2), "load": round(os.getloadavg()[0], 1)}
            answer = json.load(reply)["unique_share"]["value"]
            record(HERE, question=name, records=n, requests=len(times), seconds=round(seconds, 2), **figures, answer=answer)
    finally:
        server.terminate()
        server.wait()


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["build"]:
        print(f"{build(Path(arguments[1]), int(arguments[2]) if len(arguments) > 2 else 1_000_000):.1f} s")
    elif arguments[:1] == ["ask"]:
        measure(Path(arguments[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            build(Path(folder) / "registry.db", int(arguments[0]) if arguments else 1_000_000)
            measure(Path(folder) / "registry.db")


if __name__ == "__main__":
    main(sys.argv[1:])
