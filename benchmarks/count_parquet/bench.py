"""COUNT of generated people from Parquet against the same GROUP BY in plain DuckDB, in one run. See README.md."""

from __future__ import annotations

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
from make_people import QUASI, people_file  # noqa: E402

QUESTIONS: dict[str, dict[str, int]] = {  # how many characters of a column are kept
    "raw": {},
    "coarse": {"date_of_birth": 4},
    "release": {"date_of_birth": 3, "municipality": 1, "postcode": 1, "occupation": 1, "diagnosis": 1, "visits": 1},
    "wide": {},
    "wider": {},
}
COLUMNS: dict[str, tuple[str, ...]] = {  # other columns than the eight: key spaces beyond 2⁶³ and near 2¹²⁸
    "wide": tuple("income" if c == "diagnosis" else c for c in QUASI),
    "wider": (*QUASI, "income", "name", "person_id"),
}


def columns_of(question: str) -> tuple[str, ...]:
    return COLUMNS.get(question, QUASI)


def shoal_count(path: Path, question: str) -> tuple[int, int]:
    from shoal.engines.open import open as open_table
    from shoal.steps import Prefix

    through: dict[str, Any] = {c: Prefix(c, length=n, fill="") for c, n in QUESTIONS[question].items()}
    with open_table(path) as table:
        counts = table.count(columns_of(question), through=through)
    return counts.n_classes, int((counts.sizes == 1).sum())


def duckdb_count(path: Path, question: str) -> tuple[int, int]:
    """The plain GROUP BY with half of the memory, spilling beyond it; its result is taken as Arrow batches and not kept."""
    import duckdb
    import pyarrow.compute as pc

    kept = QUESTIONS[question]
    columns = ", ".join(f"left({c}::VARCHAR, {kept[c]}) AS {c}" if c in kept else c for c in columns_of(question))
    classes = unique = 0
    with (
        tempfile.TemporaryDirectory() as spill,
        duckdb.connect(config={"temp_directory": spill, "memory_limit": "50%"}) as connection,
    ):
        for batch in connection.sql(f"SELECT {columns}, count(*) AS n FROM '{path}' GROUP BY ALL").to_arrow_reader(1 << 20):
            classes += batch.num_rows
            unique += pc.sum(pc.equal(batch["n"], 1)).as_py() or 0
    return classes, unique


def one(who: str, n: int, question: str) -> None:
    """One count in a process of its own: wall and processor seconds, peak memory, answer; after a warm-up on few rows."""
    count = shoal_count if who == "shoal" else duckdb_count
    count(people_file(300_000), question)
    path = people_file(n)
    start, cpu = time.perf_counter(), time.process_time()
    answer = count(path, question)
    seconds, used = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{seconds:.3f} {used:.3f} {peak} {answer[0]} {answer[1]}")


def main(n: int, repeats: int, questions: tuple[str, ...]) -> None:
    people_file(n)
    for question in questions:
        runs: dict[str, list[list[float]]] = {"shoal": [], "duckdb": []}
        for _ in range(repeats):
            for who in runs:
                out = subprocess.run(
                    [sys.executable, __file__, "--one", who, str(n), question], capture_output=True, text=True, check=True
                )
                runs[who].append([float(x) for x in out.stdout.split()])
        assert runs["shoal"][0][3:] == runs["duckdb"][0][3:], "the answers differ"
        best = {who: min(r[0] for r in rs) for who, rs in runs.items()}
        cpu = {who: min(r[1] for r in rs) for who, rs in runs.items()}
        record(
            HERE,
            question=question,
            n=n,
            columns=len(columns_of(question)),
            seconds={who: [r[0] for r in rs] for who, rs in runs.items()},
            cpu_seconds={who: [r[1] for r in rs] for who, rs in runs.items()},
            peak={who: int(max(r[2] for r in rs)) for who, rs in runs.items()},
            ratio=round(best["shoal"] / best["duckdb"], 3),
            cpu_ratio=round(cpu["shoal"] / cpu["duckdb"], 3),
            answer={"classes": int(runs["shoal"][0][3]), "unique": int(runs["shoal"][0][4])},
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        given = sys.argv[1:] + ["10000000", "3"][len(sys.argv) - 1 :]
        main(int(given[0]), int(given[1]), tuple(given[2:]) or tuple(QUESTIONS))
