"""Memory and time of single steps on a CSV file, beside a plain copy by DuckDB in the same run. See README.md."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from common import record  # noqa: E402

STEPS: dict[str, dict[str, Any]] = {
    "round": {"column": "pay", "round": {"base": 10}},
    "noise": {"column": "pay", "noise": {"share": 0.1}},
    "keyed_hash": {"column": "person", "keyed_hash": {"key": "env:BENCH_KEY"}},
    "date_shift": {"column": "born", "date_shift": {"unit": "person", "key": "env:BENCH_KEY"}},
    "pram": {"column": "colour", "pram": {"keep": 0.7}},
    "permute": {"column": "pay", "permute": {}},
    "rank_swap": {"column": "pay", "rank_swap": {"percent": 5}},
    "groups": {"column": "pay", "groups": {"k": 1000}},
    "quantiles": {"column": "score", "quantiles": {"k": 1000}},
    "top_bottom": {"column": "pay", "top_bottom": {"people": 100}},
    "rare": {"column": "zip", "rare": {"min_count": 100}},
    "microaggregate": {"column": "exact", "microaggregate": {"k": 5}},
    "groups of all": {"column": "exact", "groups": {"k": 100}},
    "quantiles of all": {"column": "exact", "quantiles": {"k": 100}},
    "top_bottom of all": {"column": "exact", "top_bottom": {"people": 100}},
    "rare of all": {"column": "person", "rare": {"min_count": 2}},
    "microaggregate of three": {"column": "pay", "microaggregate": {"k": 5, "others": ["score", "exact"]}},
    "generalize of all": {"column": "exact", "generalize": {"hierarchy": {"intervals": [1000, 1000000]}, "level": 2}},
}
"""``exact`` has as many different numbers as the table has rows, and ``person`` half as many texts."""


def people_csv(n: int) -> Path:
    """About 88 bytes a row; half as many people as rows."""
    import duckdb

    folder = Path(os.environ.get("SHOAL_BENCH", Path(tempfile.gettempdir()) / "shoal-bench"))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"wages-exact-{n}.csv"
    if not path.exists():
        query = f"""
            SELECT 'P' || lpad(CAST(hash(i * 7 + 1) % {max(1, n // 2)} AS VARCHAR), 9, '0') AS person,
                18 + CAST(hash(i) % 80 AS INT) AS age,
                round(1500 * exp(0.6 * sqrt(-2 * ln((hash(i * 3 + 5) % 1000003 + 1) / 1000005.0))
                    * cos(6.2831853 * (hash(i * 11 + 2) % 1000003) / 1000003.0)), 2) AS pay,
                10000 + CAST(hash(i * 5) % 90000 AS INT) AS zip,
                DATE '1940-01-01' + CAST(hash(i * 13) % 28000 AS INT) AS born,
                ['red', 'green', 'blue', 'black', 'white'][1 + CAST(hash(i * 17) % 5 AS INT)] AS colour,
                ['f', 'm'][1 + CAST(hash(i * 19) % 2 AS INT)] AS sex,
                'note ' || CAST(hash(i * 29) % 1000000000000 AS VARCHAR) AS note,
                round((hash(i * 23) % 1000000) / 1000, 3) AS score,
                CAST(hash(i * 31) % 1000000000000 AS DOUBLE) / 64 AS exact
            FROM range({n}) AS t(i)"""
        with duckdb.connect(config={"memory_limit": "2GB", "preserve_insertion_order": "false"}) as connection:
            connection.execute(f"COPY ({query}) TO '{path}' (HEADER)")
    return path


def one(who: str, n: int) -> None:
    path = people_csv(n)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        out = Path(folder) / "out.csv"
        start = time.perf_counter()
        if who == "copy":
            import duckdb

            with duckdb.connect() as connection:
                connection.execute(f"COPY (FROM read_csv('{path}')) TO '{out}' (HEADER)")
        else:
            import shoal

            with shoal.open(path) as table:
                shoal.transform(table, {"steps": [STEPS[who]]}, out)
        seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{seconds:.1f} {time.process_time():.1f} {peak}")


def main(n: int, chosen: list[str]) -> None:
    path = people_csv(n)
    os.environ["BENCH_KEY"] = "correct horse battery staple 42!"
    runs: dict[str, list[float]] = {}
    for who in ["copy", *(chosen or STEPS)]:
        done = subprocess.run([sys.executable, __file__, "--one", who, str(n)], capture_output=True, text=True, check=True)
        runs[who] = [float(x) for x in done.stdout.split()]
        print(who, *runs[who], flush=True)
    record(
        HERE,
        question="single steps on a CSV file",
        n=n,
        file_mb=path.stat().st_size >> 20,
        seconds={who: r[0] for who, r in runs.items()},
        cpu_seconds={who: r[1] for who, r in runs.items()},
        peak={who: int(r[2]) for who, r in runs.items()},
        cpu_ratio={who: round(r[1] / runs["copy"][1], 2) for who, r in runs.items()},
        seconds_ratio={who: round(r[0] / runs["copy"][0], 2) for who, r in runs.items()},
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], int(sys.argv[3]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000, sys.argv[2:])
