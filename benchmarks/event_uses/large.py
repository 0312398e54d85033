"""An event release of a large table: commuters of 400 stations (Zipf's law; ten days, two trips a day, one in ten
elsewhere), with ``known[2]>=5`` and nothing else named: processor time and the peak of memory.

    python benchmarks/event_uses/large.py FOLDER RECORDS …

Each table is generated once, in a process of its own, whose memory is not counted; the seed is fixed.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

DAYS, STATIONS = 10, 400
ROWS = 2_000_000


def make(file: Path, n: int) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    weight = np.arange(1, STATIONS + 1) ** -0.9
    share = weight / weight.sum()
    names, days = np.array([f"Station {i}" for i in range(STATIONS)]), np.array([d for d in range(2 * DAYS) if d % 7 < 5][:DAYS])
    writer = None
    for low in range(0, n, ROWS):
        m = min(ROWS, n - low)
        people = m // (2 * DAYS) + 1
        ends, leaves = rng.choice(STATIONS, (people, 2), p=share), rng.normal(480, 45, people)
        who, trip = np.divmod(np.arange(m), 2 * DAYS)
        place = ends[who, trip % 2]
        other = rng.random(m) < 0.1
        place[other] = rng.choice(STATIONS, int(other.sum()), p=share)
        minute = 1440 * days[trip // 2] + leaves[who] + 560 * (trip % 2) + rng.normal(0, 15, m)
        at = np.datetime64("2026-03-02", "us") + minute.astype(np.int64).astype("timedelta64[m]")
        order = rng.permutation(m)
        card = low // (2 * DAYS) + who
        part = pa.table({"card": card[order], "at": at[order], "station": names[place[order]]})
        writer = writer or pq.ParquetWriter(file, part.schema)
        writer.write_table(part, row_group_size=500_000)
    if writer is not None:
        writer.close()


def release(file: Path, n: int) -> None:
    import common

    import shoal

    policy = {"events": {"unit": "card", "time": "at", "place": "station"}, "require": ["known[2]>=5"], "seed": 10**18 + 1}
    began, cpu = time.perf_counter(), time.process_time()
    made = shoal.anonymize(file, policy, format="parquet")
    searched = time.process_time() - cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    folder = made.write(file.parent / f"release-{n}-{time.time_ns()}")
    cost, steps = made.certificate.cost, made.certificate.steps
    common.record(
        HERE,
        data=f"{DAYS} days of commuters",
        records=n,
        people=cost.people,
        seconds=round(time.perf_counter() - began, 1),
        cpu_seconds=round(time.process_time() - cpu, 1),
        answer={
            "search_cpu_seconds": round(searched[0], 1), "search_peak_mb": searched[1], "time": steps.time, "place": steps.place,
            "renew": steps.renew, "loss": round(cost.loss, 4), "tried": cost.tried, "people_share": made.k,
            "bytes": sum(f.stat().st_size for f in folder.iterdir()),
        },
    )  # fmt: skip


def main(folder: str, *counts: str) -> None:
    for text in counts:
        n = int(float(text))
        file = Path(folder) / f"commuters-{n}.parquet"
        if not file.exists():
            subprocess.run([sys.executable, __file__, "make", str(file), str(n)], check=True)
        subprocess.run([sys.executable, __file__, "release", str(file), str(n)], check=True)


if __name__ == "__main__":
    {"make": make, "release": release}[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3])) if sys.argv[1] in (
        "make",
        "release",
    ) else main(*sys.argv[1:])
