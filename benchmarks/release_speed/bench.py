"""CSV of generated people → verified Parquet release, then verify: seconds, memory, answer."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import record

POLICY = """\
title: A million people
roles:
  direct: [name]
  quasi:
    date_of_birth: {hierarchy: {dates: [month, year, decade]}}
    sex: {}
    municipality: {}
    postcode: {hierarchy: {mask: right}}
    education: {}
    occupation: {}
    income: {}
    visits: {}
  sensitive: [diagnosis]
require: {k: 5}
allow: {suppress: 0.05}
"""


def run(words: list[str]) -> tuple[float, float, float, str]:
    """Seconds, seconds of processor, peak memory in MB and stdout of one command."""
    start = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    out = process.stdout.read() if process.stdout else ""
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{words[3:5]} failed with status {status}")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, out


def main(rows: int) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    from shoal.datasets import people

    shoal = [sys.executable, "-c", "from shoal.cli import main; main()"]
    with tempfile.TemporaryDirectory() as place:
        table = Path(place) / "people.csv"
        made = people(rows, seed=1).drop_columns(["person_id"])
        pyarrow.csv.write_csv(made, table)
        del made
        (Path(place) / "policy.yml").write_text(POLICY)
        out = Path(place) / "release"
        words = [*shoal, "anonymize", str(table), "--policy", str(Path(place) / "policy.yml"), "--out", str(out)]
        seconds, cpu, peak, told = run([*words, "--format", "parquet", "--json"])
        checked, verify_cpu, verify_peak, said = run([*shoal, "verify", str(out), "--json"])
        answer = json.loads(told)
        keep = {k: answer[k] for k in ("k", "records", "suppressed", "classes", "loss", "levels", "proven", "verified")}
        record(
            Path(__file__).parent,
            data=f"people({rows}, seed=1), {table.stat().st_size / 1e6:.0f} MB CSV",
            seconds=round(seconds, 2),
            cpu_seconds=round(cpu, 2),
            peak_mb=round(peak),
            verify_seconds=round(checked, 2),
            verify_cpu_seconds=round(verify_cpu, 2),
            verify_peak_mb=round(verify_peak),
            load=round(os.getloadavg()[0], 1),
            answer={**keep, "verify": json.loads(said)["verified"]},
        )


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
