"""Lines a second through the filter of logs: JSON lines with one and two fields, and text with a pattern."""

from __future__ import annotations

import io
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from common import record  # noqa: E402

from shoal.protector import Vault, keys  # noqa: E402
from shoal.protector.pseudonyms.filtering import LogFilter, arriving, encoded  # noqa: E402

LINES = 300_000
USERS = 5_000


def logs() -> tuple[bytes, bytes]:
    """The same made-up visits as JSON lines and as lines of a web server."""
    rng = random.Random(1)
    users = [f"u{rng.randrange(USERS):05d}" for _ in range(LINES)]
    objects = [
        {"time": f"2026-11-16T00:00:{i % 60:02d}Z", "user": u, "src": {"ip": f"10.0.{i % 7}.{i % 250}"}, "msg": "opened", "n": i}
        for i, u in enumerate(users)
    ]
    lines = [f'{u} - - [16/Nov/2026:00:00:{i % 60:02d} +0000] "GET /records/{i}" 200' for i, u in enumerate(users)]
    return "".join(json.dumps(o) + "\n" for o in objects).encode(), "".join(line + "\n" for line in lines).encode()


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="vault-bench-"))
    os.environ["BENCH_KEY"] = keys.generate()
    made = Vault.create(folder / "a.vault", key=keys.from_env("BENCH_KEY"), owner="a", auditor="b", anchor=folder / "anchor")
    owner, auditor = made.vault.login(made.owner_token), made.vault.login(made.auditor_token)
    owner.create_domain("ops")
    change = owner.add_actor("o", ["operator"])
    operator = made.vault.login(made.vault.enrol(change.code, auditor.confirm(change.id).code))
    objects, text = logs()
    asked: list[tuple[str, bytes, dict[str, Any]]] = [
        ("one field", objects, {"fields": ["user"]}),
        ("two fields", objects, {"fields": ["user", "src.ip"]}),
        ("pattern", text, {"pattern": r"^(\S+)"}),
    ]
    for question, data, given in asked:
        lines, source, left, written = LogFilter(operator, "ops", **given), io.BytesIO(data), 0, 0
        start, cpu = time.perf_counter(), time.process_time()
        for part in arriving(source.read):
            out = encoded(lines.part(part))
            written += out.count(b"\n")
            left += out.count(b'"u0') + out.startswith(b"u0")
        told = {
            "lines_per_second": round(LINES / (time.perf_counter() - start)),
            "lines_per_cpu_second": round(LINES / (time.process_time() - cpu)),
            "load": round(os.getloadavg()[0], 1),
        }
        record(HERE, question=question, n=LINES, **told, answer={"lines": written, "identities_left": left})
    made.vault.close()


if __name__ == "__main__":
    main()
