"""What a large event release does with all records at once: processor time and the peak of memory of each step, of generated
records of 400 stations and ten days, two under each pseudonym, twenty of each person. The steps: the written file is copied by
the engine, its sets of known records are counted, the people behind the pseudonyms are counted in the private file, and the trips
are counted as ``verify`` does. Another process protects the flows of all people, of whom each has six. All other steps of a
release in groups hold one group of people.

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
        peak_mb=max(a["peak_mb"] for a in answer.values()),
        answer={**answer, "load": round(os.getloadavg()[2], 1)},
    )
    copy.unlink()


def protect(folder: Path, n: int) -> None:
    import tempfile

    import numpy as np
    import pyarrow as pa
    from common import record

    from shoal.release.events.group_flows import GroupFlows
    from shoal.release.policy.events import EventRules

    rng, weight = np.random.default_rng(1), np.arange(1, 401) ** -0.9
    names, many, none = pa.array([f"Station {i:03d}" for i in range(400)]), 1 + n // 3_000_000, np.zeros((2, 0), dtype=np.int32)
    people, entries = n // 20 // many, 0
    with tempfile.TemporaryDirectory(dir=folder) as place:
        flows = GroupFlows(Path(place), EventRules("card", time="at", place=("station",)), 5)
        for g in range(many):
            a, b, x, y = rng.choice(400, (4, people), p=weight / weight.sum())
            keys = [ends[0] * 400 + ends[1] for ends in ((a, b), (b, a), (a, x), (x, b), (b, y), (y, a))]
            both, which = np.unique(np.concatenate(keys) * people + np.tile(np.arange(people), 6), return_inverse=True)
            before = np.bincount(which, weights=np.repeat([8, 7, 1, 1, 1, 1], people))
            used, flow = np.unique(both // people, return_inverse=True)
            kept = {
                "flow": flow, "who": g * people + both % people, "before": before, "shown": 0 * flow, "barred": 0 * flow,
                "trip": none[0], "total": none, "most": none, "ends": none, "from": [used // 400], "to": [used % 400],
                "at": none[:1], "time": none[0],
            }  # fmt: skip
            np.savez(flows._file(g), **{name: np.asarray(column, dtype=np.int32) for name, column in kept.items()})
            flows._labels.append([names])
            flows._two, entries = False, entries + len(both)
        del a, b, x, y, keys, both, which, before, used, flow, kept
        _peak()
        began, cpu = time.perf_counter(), time.process_time()
        flows.protect()
        record(
            Path(__file__).parent,
            data="flows of all groups, protected once",
            records=n,
            peak_mb=_peak(),
            seconds=round(time.perf_counter() - began, 1),
            cpu_seconds=round(time.process_time() - cpu, 1),
            answer={
                "groups": many, "people": many * people, "entries": entries, "flows": len(flows.trips),
                "published": int((flows.trips > 0).sum()), "errors": {u.name: round(u.error or 0, 4) for u in flows.uses()},
                "load": round(os.getloadavg()[2], 1),
            },
        )  # fmt: skip


def main(folder: str, *counts: str) -> None:
    for text in counts:
        n = int(float(text))
        file = Path(folder) / f"written-{n}.parquet"
        for what in ("make", "count", "protect"):
            subprocess.run([sys.executable, __file__, what, str(file), str(n)], check=True)


if __name__ == "__main__":
    steps = {"make": make, "count": count, "protect": lambda file, n: protect(file.parent, n)}
    if sys.argv[1] in steps:
        steps[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main(*sys.argv[1:])
