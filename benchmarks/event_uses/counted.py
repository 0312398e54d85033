"""What a large event release does with all records at once: processor time and the peak of memory of each step, of generated
records of 400 stations and ten days, two under each pseudonym, twenty of each person. The steps: the written file is copied by
the engine, its sets of known records are counted, the people behind the pseudonyms are counted in the private file, and the trips
are counted as ``verify`` does. All other steps of a release in groups hold one group of people.

    python benchmarks/event_uses/counted.py FOLDER RECORDS …
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
ROWS = 2_000_000


def make(file: Path, n: int) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, weight = np.random.default_rng(1), np.arange(1, 401) ** -0.9
    names, writer = np.array([f"Station {i}" for i in range(400)]), None
    for low in range(0, n, ROWS):
        m = min(ROWS, n - low)
        day = (np.datetime64("2026-03-02") + rng.integers(0, 10, m)).astype("datetime64[D]")
        place = names[rng.choice(400, m, p=weight / weight.sum())]
        card = np.arange(low, low + m) // 2
        part = pa.table({"card": card + 1, "person": card * 7919 % (n // 20 + 1), "at": day, "station": place})
        writer = writer or pq.ParquetWriter(file, part.schema)
        writer.write_table(part, row_group_size=500_000)
    if writer is not None:
        writer.close()


def _peak() -> int:
    """The highest resident memory since it was last asked for, in MB."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    Path("/proc/self/clear_refs").write_text("5")
    return int(status["VmHWM"].split()[0]) >> 10


def count(file: Path, n: int) -> None:
    from common import record

    from shoal.engines.core.memory import give_back
    from shoal.release.events.publish import write_table
    from shoal.release.proof.events import recount_events, recount_uses

    copy, points = file.with_name(f"copied-{n}.parquet"), ["at", "station"]
    steps = {
        "write": lambda: write_table(file, copy),
        "count": lambda: recount_events(copy, unit="card", points=points, known=2).smallest,
        "people": lambda: recount_events(file, unit="card", points=points, known=2, person="person").smallest,
        "trips": lambda: int(recount_uses(copy, unit="card", time="at", place=["station"])[0]["trips"]),
    }
    began, cpu, answer = time.perf_counter(), time.process_time(), {}
    for name, step in steps.items():
        before = time.process_time()
        made = step()
        give_back()
        answer[name] = {"cpu_seconds": round(time.process_time() - before, 1), "peak_mb": _peak(), "answer": made}
        print(name, answer[name], file=sys.stderr, flush=True)
    record(
        Path(__file__).parent,
        data="a written file of events, whole",
        records=n,
        seconds=round(time.perf_counter() - began, 1),
        cpu_seconds=round(time.process_time() - cpu, 1),
        answer={**answer, "load": round(os.getloadavg()[2], 1)},
    )
    copy.unlink()


def main(folder: str, *counts: str) -> None:
    for text in counts:
        n = int(float(text))
        file = Path(folder) / f"written-{n}.parquet"
        for what in ("make", "count"):
            subprocess.run([sys.executable, __file__, what, str(file), str(n)], check=True)


if __name__ == "__main__":
    if sys.argv[1] in ("make", "count"):
        {"make": make, "count": count}[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main(*sys.argv[1:])
