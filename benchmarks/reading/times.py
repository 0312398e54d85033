"""CPU seconds of a first draft, and of reading a workbook: ``times.py [FILE…]`` for generated tables and the files named."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.csv

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE.parent)]

from common import record  # noqa: E402

ROWS, TIMES = 10_000, 3
READ = """\
import sys, time, shoal, shoal.engines.files.excel
begun = time.process_time()
with shoal.open(sys.argv[1]) as table:
    rows = sum(batch.num_rows for batch in table.scan())
print(rows, time.process_time() - begun)
"""


def people_table(columns: int) -> pa.Table:
    """Six columns of people, and details of few values and numbers."""
    draw = np.random.default_rng(3)
    made: dict[str, Any] = {
        "id": [f"P{i:06d}" for i in range(ROWS)],
        "age": draw.integers(0, 100, ROWS),
        "sex": draw.choice(["f", "m"], ROWS),
        "town": [f"town {i}" for i in draw.integers(0, 300, ROWS)],
        "occupation": [f"job {i}" for i in draw.integers(0, 60, ROWS)],
        "diagnosis": draw.choice(["flu", "cold", "asthma", "none"], ROWS),
        "income": draw.lognormal(10, 1, ROWS).round(),
    }
    for j in range(columns - len(made)):
        texts = [f"v{i}" for i in draw.integers(0, 3 + j % 9, ROWS)]
        made[f"detail {j}"] = texts if j % 2 else draw.integers(0, 5 + 3 * j, ROWS)
    return pa.table(made)


def sales_table() -> pa.Table:
    """Twenty columns of orders, many with a few frequent and very many rare values."""
    draw = np.random.default_rng(4)

    def rare(most: int) -> list[str]:
        return [f"k{min(i, most)}" for i in draw.zipf(1.3, ROWS).tolist()]

    return pa.table(
        {
            "order id": [f"IT-2014-{i // 2:05d}" for i in range(ROWS)],
            "customer name": [f"Anna {chr(65 + i % 26)}{i % 700}" for i in range(ROWS)],
            "city": rare(1000),
            "state": rare(120),
            "country": rare(15),
            "region": draw.choice(["n", "s", "w"], ROWS),
            "segment": draw.choice(["a", "b", "c"], ROWS),
            "order date": np.datetime64("2014-01-01") + draw.integers(0, 1400, ROWS),
            "ship mode": draw.choice(list("abcd"), ROWS),
            "product id": rare(1800),
            "category": draw.choice(list("xyz"), ROWS),
            "sub": rare(17),
            "product name": rare(1800),
            "sales": draw.lognormal(4, 1, ROWS).round(2),
            "quantity": draw.integers(1, 14, ROWS),
            "discount": draw.choice([0, 0.1, 0.2, 0.5], ROWS),
            "profit": draw.normal(30, 100, ROWS).round(2),
            "age": draw.integers(18, 90, ROWS),
            "sex": draw.choice(["f", "m"], ROWS),
            "occupation": rare(400),
        }
    )


def write_workbook(path: Path, rows: int = 15_000, columns: int = 11) -> None:
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("people")
    table = people_table(columns).to_pylist()
    sheet.append(list(table[0]))
    for i in range(rows):
        sheet.append(list(table[i % ROWS].values()))
    book.save(path)


def used(words: list[str], place: Path) -> tuple[float, str]:
    """CPU seconds (user and system, with its children) of one command, and what it said."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, *words], cwd=place, env=environment(), capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def environment() -> dict[str, str]:
    """As installed: with the compiled files that an installation has."""
    rest = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**rest, "PYTHONPATH": str(ROOT / "src")}


def draft(file: Path, place: Path) -> float:
    (place / "draft.yml").unlink(missing_ok=True)
    return used(["-m", "shoal", "anonymize", str(file), "--draft", "draft.yml"], place)[0]


def workbook(file: Path, place: Path) -> float:
    return float(used(["-c", READ, str(file)], place)[1].split()[1])


def best(question: str, data: str, work: Callable[[Path, Path], float], file: Path, place: Path) -> None:
    """The least of some runs after one that compiles; beside it a fixed loop, to see how busy the machine is."""
    work(file, place)
    seconds = [round(work(file, place), 2) for _ in range(TIMES)]
    begun = time.process_time()
    sum(i * i for i in range(10_000_000))
    loop = round(time.process_time() - begun, 2)
    load = round(os.getloadavg()[0], 1)
    record(HERE, question=question, data=data, cpu=min(seconds), runs=seconds, loop_cpu=loop, load=load)


def main(files: list[Path]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        tables = {"10,000 x 20": people_table(20), "10,000 x 60": people_table(60), "10,000 x 20, rare": sales_table()}
        for data, table in tables.items():
            pyarrow.csv.write_csv(table, place / "t.csv")
            best("draft", data, draft, place / "t.csv", place)
        for file in files:
            best("draft", file.name, draft, file, place)
        write_workbook(place / "t.xlsx")
        best("read", "15,000 x 11, xlsx", workbook, place / "t.xlsx", place)


if __name__ == "__main__":
    main([Path(name).resolve() for name in sys.argv[1:]])
