"""RECODE against a plain copy of the same file by the same engine. See README.md."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from common import record  # noqa: E402
from make_people import people_file  # noqa: E402

KEYS = ("date_of_birth", "sex", "municipality", "education")


def shoal_recode(path: Path, out: Path, shuffle: bool) -> int:
    from shoal.engines.open import open as open_table
    from shoal.model.plan import Plan, Suppression
    from shoal.steps import Cut, Drop, Prefix

    bands = Cut("income", points=(20_000.0, 40_000.0, 80_000.0), labels=("<20k", "20-40k", "40-80k", "80k+"))
    steps = (Drop("person_id"), Drop("name"), Prefix("date_of_birth", length=3, fill="*"), Prefix("postcode", length=2), bands)
    with open_table(path) as table:
        done = table.recode(Plan(steps, Suppression(5, KEYS), seed=1, shuffle=shuffle), out)
    return done.records_out


def copy(path: Path, out: Path, shuffle: bool) -> int:
    """The same columns as they are; with ``shuffle``, in a random order."""
    import duckdb

    order = "ORDER BY hash(t)" if shuffle else ""
    query = f"SELECT * EXCLUDE (person_id, name) FROM '{path}' AS t {order}"
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({query}) TO '{out}' (FORMAT parquet, COMPRESSION zstd)")
        return int(connection.sql(f"SELECT count(*) FROM '{out}'").fetchall()[0][0])


def one(who: str, n: int, shuffle: bool) -> None:
    work = shoal_recode if who == "shoal" else copy
    with tempfile.TemporaryDirectory(dir=people_file(n).parent) as folder:
        work(people_file(300_000), Path(folder) / "small.parquet", shuffle)
        start, cpu = time.perf_counter(), time.process_time()
        rows = work(people_file(n), Path(folder) / "out.parquet", shuffle)
        seconds, used = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{seconds:.3f} {used:.3f} {peak} {rows}")


def main(n: int, repeats: int) -> None:
    people_file(n)
    for shuffle in (True, False):
        runs: dict[str, list[list[float]]] = {"shoal": [], "copy": []}
        for _ in range(repeats):
            for who in runs:
                out = subprocess.run(
                    [sys.executable, __file__, "--one", who, str(n), str(int(shuffle))],
                    capture_output=True,
                    text=True,
                    check=True,
                )
                runs[who].append([float(x) for x in out.stdout.split()])
        record(
            HERE,
            question="both in random order" if shuffle else "both in the order of the file",
            n=n,
            seconds={who: [r[0] for r in rs] for who, rs in runs.items()},
            cpu_seconds={who: [r[1] for r in rs] for who, rs in runs.items()},
            peak={who: int(max(r[2] for r in rs)) for who, rs in runs.items()},
            ratio=round(min(r[0] for r in runs["shoal"]) / min(r[0] for r in runs["copy"]), 3),
            cpu_ratio=round(min(r[1] for r in runs["shoal"]) / min(r[1] for r in runs["copy"]), 3),
            answer={"records_out": int(runs["shoal"][0][3]), "records_in": int(runs["copy"][0][3])},
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], int(sys.argv[3]), sys.argv[4] == "1")
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000, int(sys.argv[2]) if len(sys.argv) > 2 else 2)
