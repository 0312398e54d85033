"""Shared by all benchmarks: one JSON line per run, appended, never edited."""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def best_of(work: Callable[[], Any], *, repeats: int = 3) -> tuple[list[float], Any]:
    """Wall-clock seconds of each repeat, and the last answer."""
    seconds, answer = [], None
    for _ in range(repeats):
        start = time.perf_counter()
        answer = work()
        seconds.append(round(time.perf_counter() - start, 4))
    return seconds, answer


def machine() -> str:
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {gib:.0f} GiB, Python {platform.python_version()}"


def commit() -> tuple[str, bool]:
    here = Path(__file__).parent
    head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=here, capture_output=True, text=True, check=False)
    dirty = subprocess.run(["git", "status", "--porcelain", "-uno"], cwd=here, capture_output=True, text=True, check=False)
    return head.stdout.strip(), bool(dirty.stdout.strip())


def record(folder: str | Path, **fields: Any) -> dict[str, Any]:
    """Append one line to ``folder/results.jsonl`` and show it."""
    head, dirty = commit()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    line = {
        "date": time.strftime("%Y-%m-%d"),
        "commit": head,
        "dirty": dirty,
        "machine": machine(),
        "peak_mb": round(peak),
        **fields,
    }
    text = json.dumps(line, sort_keys=False, default=str)
    with (Path(folder) / "results.jsonl").open("a", encoding="utf-8") as out:
        out.write(text + "\n")
    print(text, file=sys.stdout)
    return line
