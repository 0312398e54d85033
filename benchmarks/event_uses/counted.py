"""Counting a written event file again: processor time and the peak of memory, of generated records of 400 stations and ten
days, two under each pseudonym.

    python benchmarks/event_uses/counted.py FOLDER RECORDS …
"""

from __future__ import annotations

import resource
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
        part = pa.table({"card": np.arange(low, low + m) // 2 + 1, "at": day, "station": place})
        writer = writer or pq.ParquetWriter(file, part.schema)
        writer.write_table(part, row_group_size=500_000)
    if writer is not None:
        writer.close()


def count(file: Path, n: int) -> None:
    from common import record

    from shoal.release.proof.events import recount_events

    began, cpu = time.perf_counter(), time.process_time()
    facts = recount_events(file, unit="card", points=["at", "station"], known=2)
    record(
        Path(__file__).parent,
        data="sets of up to two records of a written file",
        records=n,
        seconds=round(time.perf_counter() - began, 1),
        cpu_seconds=round(time.process_time() - cpu, 1),
        answer={
            "traces": facts.traces,
            "smallest": facts.smallest,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
        },
    )


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
