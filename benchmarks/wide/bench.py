"""CPU seconds by columns: inspect, a draft, a release of generated wide tables."""

from __future__ import annotations

import math
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE.parent)]

from common import record  # noqa: E402

COLUMNS = (25, 100, 400, 1_600, 5_000)
LIMIT = 600
KNOWN = 5


def wide_table(rows: int, columns: int) -> pa.Table:
    draw = np.random.default_rng(columns)
    made = {
        "id": np.arange(rows) + 100_000,
        "age": draw.integers(18, 90, rows),
        "sex": draw.choice(["male", "female"], rows),
        "zip": draw.integers(10_000, 10_400, rows).astype(str),
        "diagnosis": draw.choice(["asthma", "flu", "diabetes", "cancer"], rows),
    }
    kinds = (
        ("q", lambda: draw.integers(1, 6, rows)),
        ("lab_", lambda: np.round(draw.normal(5, 1, rows), 2)),
        ("flag_", lambda: draw.choice(["yes", "no"], rows)),
        ("code_", lambda: draw.choice(list("ABCDEF"), rows)),
        ("count_", lambda: draw.poisson(3, rows)),
    )
    for i in range(columns - KNOWN):
        name, values = kinds[i % len(kinds)]
        made[f"{name}{i}"] = values()
    return pa.table(made)


def policy_of(table: pa.Table) -> str:
    names = ", ".join(table.column_names[KNOWN:])
    roles = "direct: [id], quasi: {age: {}, sex: {}, zip: {}}, sensitive: [diagnosis]"
    return f"roles: {{{roles}, insensitive: [{names}]}}\nrequire: {{k: 5}}\n"


def run(verb: str, rows: int, columns: int) -> float | None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        table = wide_table(rows, columns)
        pq.write_table(table, place / "t.parquet")
        (place / "policy.yml").write_text(policy_of(table), encoding="utf-8")
        more = {
            "inspect": ["inspect", "t.parquet", "--json"],
            "draft": ["anonymize", "t.parquet", "--draft", "draft.yml"],
            "anonymize": ["anonymize", "t.parquet", "--policy", "policy.yml", "--out", "release"],
        }[verb]
        command = [sys.executable, "-m", "shoal", *more]
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            done = subprocess.run(command, cwd=place, env=env, capture_output=True, timeout=LIMIT, check=False)
        except subprocess.TimeoutExpired:
            record(HERE, question=verb, rows=rows, columns=columns, cpu=None, answer={"ended": False})
            return None
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2)
        load = round(os.getloadavg()[0], 1)
        record(HERE, question=verb, rows=rows, columns=columns, cpu=used, load=load, answer={"exit": done.returncode})
        return used


def main(verb: str, rows: int = 10_000, columns: tuple[int, ...] = COLUMNS) -> None:
    used = [(n, run(verb, rows, n)) for n in columns]
    ended = [(n, seconds - (used[0][1] or 0)) for n, seconds in used[1:] if seconds is not None]
    if len(ended) > 1:
        (few, less), (many, most) = ended[0], ended[-1]
        exponent = math.log(max(most, 0.01) / max(less, 0.01)) / math.log(many / few)
        print(f"{verb}: exponent {exponent:.2f} from {few:,} to {many:,} columns")


if __name__ == "__main__":
    given = sys.argv[1:]
    sizes = tuple(map(int, given[2].split(","))) if len(given) > 2 else COLUMNS
    main(given[0], int(given[1]) if len(given) > 1 else 10_000, sizes)
