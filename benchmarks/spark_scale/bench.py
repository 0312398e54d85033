"""A release on a small standalone cluster: does it complete, and what does every process hold at most?"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE.parents[1] / "tools"))
from common import record  # noqa: E402

from servers import HOST, start_spark_cluster  # noqa: E402

POLICY = """\
roles:
  quasi:
    age: {hierarchy: {intervals: [5, 20]}}
    sex: {}
    zip: {hierarchy: {prefix: [3, 2, 1]}}
    job: {hierarchy: jobs.csv}
  sensitive: [ill]
  insensitive: [cost]
require: {k: 5}
allow: {suppress: 0.02}
"""
ROWS = """
COPY (SELECT (hash(range) % 100)::INT AS age, CASE WHEN hash(range, 1) % 2 = 0 THEN 'f' ELSE 'm' END AS sex,
        (1000 + 7 * (hash(range, 2) % 500))::VARCHAR AS zip, 'job ' || lpad((hash(range, 3) % 50)::VARCHAR, 2, '0') AS job,
        'illness ' || (hash(range, 4) % 10) AS ill, (hash(range, 5) % 1000)::INT AS cost
      FROM range({first}, {end})) TO '{file}' (FORMAT parquet, ROW_GROUP_SIZE 500000)
"""
PIECE = 2_000_000


def make(place: Path, rows: int) -> None:
    """The rows as Parquet files, the policy and the levels of jobs."""
    import duckdb

    (place / "people").mkdir()
    for i, first in enumerate(range(0, rows, PIECE)):
        file = place / "people" / f"{i:03d}.parquet"
        duckdb.sql(ROWS.format(first=first, end=min(first + PIECE, rows), file=file))
    (place / "jobs.csv").write_text("".join(f"job {i:02d};branch {i // 10};*\n" for i in range(50)))
    (place / "policy.yml").write_text(POLICY)


class Watch:
    """Peak memory and CPU seconds of processes below this one, by what they are, looked at every second."""

    def __init__(self) -> None:
        self.peaks: dict[str, float] = {}
        self.cpu: dict[str, int] = {}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._end.wait(1.0):
            for name, mb, seconds in _below(os.getpid()):
                self.peaks[name] = max(self.peaks.get(name, 0.0), mb)
                self.cpu[name] = seconds


def _below(root: int) -> list[tuple[str, float, int]]:
    """Name, resident megabytes and CPU seconds of every process below another."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,rss,cputimes,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 4) for line in listed.splitlines()[1:]]
    ours, found = {root}, []
    for _ in range(6):
        ours |= {int(pid) for pid, parent, *_ in rows if int(parent) in ours}
    for pid, _, rss, seconds, words in rows:
        kinds = {"CoarseGrained": "executor", "SparkSubmit": "driver", "worker.Worker": "worker", "master.Master": "master"}
        name = next((v for k, v in kinds.items() if k in words), "shoal" if "shoal.cli" in words else "")
        if int(pid) in ours and name:
            found.append((f"{name} {pid}" if name in ("executor", "worker") else name, int(rss) / 1024, int(seconds)))
    return found


def environment(place: Path, events: str | None) -> dict[str, str]:
    """A driver and executors of 512 MB; what is too large for the driver goes through a folder that all see."""
    conf = {
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.local.dir": str(place / "local"),
        "spark.sql.warehouse.dir": str(place / "warehouse"),
        "spark.sql.shuffle.partitions": "64",
    }
    if events:
        conf |= {"spark.eventLog.enabled": "true", "spark.eventLog.dir": Path(events).absolute().as_uri()}
        conf |= {"spark.eventLog.rolling.enabled": "false", "spark.eventLog.compress": "false"}
    words = [x for k, v in conf.items() for x in ("--conf", f"{k}={v}")]
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
    staging = place / "staging"
    staging.mkdir()
    own = {"PYSPARK_SUBMIT_ARGS": shlex.join([*words, "pyspark-shell"]), "SPARK_LOCAL_IP": HOST}
    return {**clean, **own, "SHOAL_SPARK_STAGING": str(staging), "TMPDIR": str(place)}


def main(rows: int, memory: str = "", events: str | None = None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        make(place, rows)
        cluster = start_spark_cluster(memory="512m")
        try:
            command = [sys.executable, "-c", "from shoal.cli import main; main()", "anonymize", f"{cluster.url}::{place}/people/"]
            command += ["--policy", str(place / "policy.yml"), "--out", str(place / "out"), "--format", "parquet", "--json"]
            command += ["--memory", memory] if memory else []
            begun = time.perf_counter()
            with Watch() as watch:
                done = subprocess.run(command, capture_output=True, text=True, env=environment(place, events), check=False)
            seconds = time.perf_counter() - begun
        finally:
            cluster.stop()
        if done.returncode:
            sys.stderr.write(done.stderr[-2000:])
        answer: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr[-400:]}
        load = [round(x, 1) for x in os.getloadavg()]
        kept = {k: answer[k] for k in ("k", "records", "suppressed", "loss", "levels", "verified", "error") if k in answer}
        peaks = {name.split()[0] + f"_{i}": round(mb) for i, (name, mb) in enumerate(sorted(watch.peaks.items()))}
        cpu = {name.split()[0] + f"_{i}": used for i, (name, used) in enumerate(sorted(watch.cpu.items()))}
        told = {"seconds": round(seconds), "cpu_s": cpu, "load": load, "peaks_mb": peaks}
        record(HERE, rows=rows, memory=memory or None, **told, exit=done.returncode, answer=kept)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
