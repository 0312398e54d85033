"""The unicity curve of a Parquet file with many records, read in pieces: ``python large.py FILE RECORDS`` makes it if needed."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import common  # noqa: E402

import shoal  # noqa: E402

MAKE = """
import duckdb, sys
file, n = sys.argv[1], int(sys.argv[2])
c = duckdb.connect()
c.execute("set preserve_insertion_order = false")
c.execute(f'''copy (select (hash(i) % {n // 20})::int card, timestamp '2026-03-02' + interval (hash(i + 7) % 40320) minute as at,
floor(5000 * power((hash(i * 3 + 1) % 1000000) / 1000000.0, 3))::int place from range({n}) t(i)) to '{file}' (format parquet)''')
"""


def main() -> None:
    file, n = Path(sys.argv[1]), int(sys.argv[2])
    if not file.exists():
        subprocess.run([sys.executable, "-c", MAKE, str(file), str(n)], check=True)  # apart: its memory is not ours
    began, cpu = time.perf_counter(), time.process_time()
    found = shoal.measure(file, unit="card", time="at", place="place", time_widths=["none"])
    seconds, cpu = round(time.perf_counter() - began, 1), round(time.process_time() - cpu, 1)
    curve = [[k.records, round(k.unique.value, 5), k.unique.grade] for k in found.curve]
    answer = {"people": found.people, "points": found.points, "alone": curve}
    common.record(HERE, question="a file read in pieces", n=found.records, seconds=[seconds], cpu=cpu, answer=answer)


if __name__ == "__main__":
    main()
