"""An event release of a large table: commuters of 400 stations (Zipf's law; ten days, two trips a day, one in ten
elsewhere), with ``known[2]>=5``, and above three million records one plan: processor time and the peak of memory, also of
``verify`` in a process of its own.

    python benchmarks/event_uses/large.py FOLDER RECORDS …

Each table is generated once, in a process of its own, whose memory is not counted; the seed is fixed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

DAYS, STATIONS = 10, 400
ROWS = 2_000_000
MOST_SEARCHED = 3_000_000


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


def _peak() -> int:
    """In MB. What ``getrusage`` states of a process that another one started includes the peak of the latter."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) >> 10


def release(file: Path, n: int) -> None:
    import common

    import shoal

    choices = {"time_widths": ["day"], "place_levels": ["local"], "renew": ["as needed"]} if n > MOST_SEARCHED else {}
    events = {"unit": "card", "time": "at", "place": "station", **choices}
    policy = {"events": events, "require": ["known[2]>=5"], "seed": 10**18 + 1}
    began, cpu, last = time.perf_counter(), time.process_time(), [""]

    def progress(_: float, what: str) -> None:
        if what != last[0]:
            print(f"{time.process_time() - cpu:8.1f} s, peak {_peak():5} MB: {what}", file=sys.stderr, flush=True)
        last[0] = what

    made = shoal.anonymize(file, policy, format="parquet", progress=progress)
    searched = time.process_time() - cpu, _peak()
    folder = made.write(file.parent / f"release-{n}-{time.time_ns()}", progress=progress)
    cost, steps = made.certificate.cost, made.certificate.steps
    print(f"{time.process_time() - cpu:8.1f} s, peak {_peak():5} MB: written", file=sys.stderr, flush=True)
    used = time.process_time() - cpu
    command = [sys.executable, __file__, "verify", str(folder), str(n)]
    verify_cpu, verify_peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    common.record(
        HERE,
        data=f"{DAYS} days of commuters",
        records=n,
        peak_mb=_peak(),
        people=cost.people,
        seconds=round(time.perf_counter() - began, 1),
        cpu_seconds=round(used, 1),
        answer={
            "search_cpu_seconds": round(searched[0], 1), "search_peak_mb": searched[1], "time": steps.time, "place": steps.place,
            "renew": steps.renew, "loss": round(cost.loss, 4), "tried": cost.tried, "groups": cost.groups or 1,
            "people_share": made.k,
            "errors": {u.name: round(u.error, 4) for u in made.certificate.uses if u.error is not None},
            "bytes": sum(f.stat().st_size for f in folder.iterdir()),
            "verify_cpu_seconds": float(verify_cpu), "verify_peak_mb": int(verify_peak), "load": round(os.getloadavg()[2], 1),
        },
    )  # fmt: skip


def verify(folder: Path, _: int) -> None:
    import shoal

    if not shoal.verify(folder).ok:
        raise SystemExit("the release is not verified")
    print(round(time.process_time(), 1), _peak())


def main(folder: str, *counts: str) -> None:
    for text in counts:
        n = int(float(text))
        file = Path(folder) / f"commuters-{n}.parquet"
        if not file.exists():
            subprocess.run([sys.executable, __file__, "make", str(file), str(n)], check=True)
        subprocess.run([sys.executable, __file__, "release", str(file), str(n)], check=True)


if __name__ == "__main__":
    steps = {"make": make, "release": release, "verify": verify}
    if sys.argv[1] in steps:
        steps[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main(*sys.argv[1:])
