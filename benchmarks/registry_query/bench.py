"""Load a million records, serve them, ask different questions over eight connections; see README.md."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tests"))

from common import record

from registry_support import AGES, make

HERE = Path(__file__).parent
PORT = 8722


def load(path: Path, n: int) -> float:
    import hashlib
    import sqlite3

    from shoal.registry.store import Store
    from shoal.release.sign import canonical

    Store(f"sqlite:///{path}").close()
    one = make(AGES, cells=95)
    content, body = canonical(one.content()).decode(), canonical(one.to_json()).decode()
    start = time.perf_counter()

    def rows():
        for i in range(n):
            place = f"XX/Region{i // 1000}/Place{i}@2021"
            identity = hashlib.sha256(content.replace("NL/Utrecht@2021", place).encode()).hexdigest()
            text = body.replace("NL/Utrecht@2021", place).replace(one.id, identity)
            yield (identity, "age/years", place, one.holder, one.key, 1, "current", 0.05, text)

    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode=WAL")
        names = "id, codes, population, holder, key, version, status, kappa, body"
        db.executemany(f"INSERT INTO registry_records ({names}) VALUES (?,?,?,?,?,?,?,?,?)", rows())
    return time.perf_counter() - start


async def worker(numbers: range, path: str, times: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
    for i in numbers:
        place = f"XX/Region{i // 1000}/Place{i}@2021"
        start = time.perf_counter()
        writer.write(f"GET {path}&population={place} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        length = int(next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")).split(b":")[1])
        await reader.readexactly(length)
        times.append(time.perf_counter() - start)
    writer.close()


async def ask(path: str, total: int, connections: int, step: int) -> tuple[float, list[float]]:
    times: list[float] = []
    start = time.perf_counter()
    each = total // connections
    await asyncio.gather(*(worker(range(c * each * step, (c + 1) * each * step, step), path, times) for c in range(connections)))
    return time.perf_counter() - start, sorted(times)


def main(n: int = 1_000_000) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "registry.db"
        loading = load(path, n)
        server = subprocess.Popen(
            [sys.executable, "-m", "shoal.cli", "serve", "--registry", str(path), "--port", str(PORT)], stderr=subprocess.DEVNULL
        )
        try:
            for _ in range(100):
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{PORT}/registry/v1/").read()
                    break
                except OSError:
                    time.sleep(0.2)
            for name, path_ in (
                ("query", "/registry/v1/query?attributes=age/years"),
                ("analyse", "/registry/v1/analyse?attributes=age/years&group_size=100"),
            ):
                seconds, times = asyncio.run(ask(path_, 4000, 8, 199))
                reply = urllib.request.urlopen(
                    f"http://127.0.0.1:{PORT}/registry/v1/analyse?attributes=age/years&population=XX/Region0/Place7@2021&group_size=100"
                )
                figures = {"per_second": round(len(times) / seconds), "p50_ms": round(1000 * times[len(times) // 2], 2)}
                figures |= {"p99_ms": round(1000 * times[int(len(times) * 0.99)], 2), "load_seconds": round(loading, 1)}
                answer = json.load(reply)["unique_share"]["value"]
                record(HERE, question=name, records=n, requests=len(times), **figures, answer=answer)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
